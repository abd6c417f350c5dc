"""The arithmetic of recurrent layers: one step of each kind, a layer over a sequence with its gradient, and stacks.

A sequence is (steps, samples, features), or packed rows with the number of samples of each step, or one step alone.
A step takes the already projected input (W_ih x + b_ih, found for all steps in one product). Weights with a copy for
each sample (`samples_first`) take part here too, so what can be one product for all steps is not always one.
"""

from __future__ import annotations

import torchlite as torch

from .. import _C
from .._core import autocasting, dispatch_modes
from ..nn.parameter import Parameter
from ._out import written_over
from .recurrent import GRU, LSTM, TANH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

GATES = (4, 3, 1, 1)  # by mode


def linear(x: Any, weight: Any, bias: Any) -> Any:
    return torch.nn.functional.linear(x, weight, bias)


def _project_steps(x: Any, sizes: Sequence[int] | None, params: Params) -> list[Any]:
    """W_ih x + b_ih for each step."""
    apart = getattr(type(params.w_ih), "samples_first", False)
    if sizes is None:
        if apart:
            return [*linear(x.transpose(0, 1), params.w_ih, params.b_ih).transpose(0, 1).unbind(0)]
        return [*linear(x, params.w_ih, params.b_ih).unbind(0)]
    found, at = [], 0
    if apart:
        for weight in params:
            if weight is not None:
                weight.set_allow_smaller_batches(True)  # they live as long as this call of the module
    projected = x if apart else linear(x, params.w_ih, params.b_ih)
    for n in sizes:
        step = projected.narrow(0, at, n)
        found.append(linear(step, params.w_ih, params.b_ih) if apart else step)
        at += n
    return found


class Params:
    """Weights and biases of one layer in one direction; None where it has none."""

    __slots__ = ("w_ih", "w_hh", "b_ih", "b_hh", "w_hr")

    def __init__(self, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None, w_hr: Any = None) -> None:
        self.w_ih, self.w_hh, self.b_ih, self.b_hh, self.w_hr = w_ih, w_hh, b_ih, b_hh, w_hr

    def __iter__(self) -> Any:
        return iter((self.w_ih, self.w_hh, self.b_ih, self.b_hh, self.w_hr))


def _step(mode: int, step: Any, state: Any, params: Params) -> tuple[Any, Any]:
    """(next state, gates after their activations); a state is (h,), or (h, c) of an LSTM."""
    hidden = linear(state[0], params.w_hh, params.b_hh)
    if mode == LSTM:
        i, f, g, o = written_over(hidden, hidden + step).chunk(4, 1)
        i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
        c = f * state[1] + i * g
        h = o * torch.tanh(c)
        return (h if params.w_hr is None else linear(h, params.w_hr, None), c), (i, f, g, o)
    if mode == GRU:
        xr, xz, xn = step.chunk(3, 1)
        hr, hz, hn = hidden.chunk(3, 1)
        r, z = torch.sigmoid(written_over(hr, hr + xr)), torch.sigmoid(written_over(hz, hz + xz))
        n = torch.tanh(xn + hn * r)
        return ((state[0] - n) * z + n,), (r, z, hn, n)
    h = written_over(hidden, hidden + step)
    return (torch.tanh(h) if mode == TANH else torch.relu(h),), ()


def _rows(state: Any, start: int, end: int) -> Any:
    return tuple(s[start:end] for s in state)


def _appended(above: Any, below: Any) -> Any:
    return tuple(torch.cat(pair, 0) for pair in zip(above, below))


def walk(
    mode: int, x: Any, state: Any, params: Params, sizes: Sequence[int] | None, reverse: bool
) -> tuple[list[Any], list[Any], list[Any], Any]:
    """One layer in one direction: of each step the state before it, the state after it and its gates; the last state.

    In a packed sequence the samples become fewer, as short ones end; backwards more, as they begin."""
    if sizes is None and x.shape[0] and x.shape[1] != state[0].shape[0]:  # an error, before a step is taken
        _step(mode, linear(x[0], params.w_ih, params.b_ih), state, params)
    steps = _project_steps(x, sizes, params)
    count = len(steps)
    before: list[Any] = [None] * count
    after: list[Any] = [None] * count
    gates: list[Any] = [None] * count
    if not count:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    first, ended = state, []
    last = 0
    if sizes is not None:
        last = sizes[-1] if reverse else sizes[0]
        state = _rows(first, 0, last) if reverse else first
    for t in range(count - 1, -1, -1) if reverse else range(count):
        if sizes is not None:
            n = sizes[t]
            if n < last and not reverse:
                ended.append(_rows(state, n, last))
                state = _rows(state, 0, n)
            elif n > last and reverse:
                state = _appended(state, _rows(first, last, n))
            last = n
        before[t] = state
        state, gates[t] = _step(mode, steps[t], state, params)
        after[t] = state
    for done in reversed(ended):
        state = _appended(state, done)
    return before, after, gates, state


# ---- one layer in one direction, as an op ----------------------------------------------------------------------------
def _checked(mode: int, state: Any, given: Any) -> tuple[Any, Params]:
    """State and weights as `walk` takes them, or an error."""
    if not 0 <= mode < len(GATES):
        raise ValueError("_rnn_layer: the mode %d is none of 0 to 3" % mode)
    if mode == LSTM and state[1] is None:
        raise RuntimeError("_rnn_layer: LSTM expects two hidden states")
    if mode != LSTM and given[4] is not None:
        raise RuntimeError("_rnn_layer: only LSTM has projections")
    return state if mode == LSTM else state[:1], Params(*given)


def _sequence(x: Any, batch_sizes: Any) -> tuple[Any, Any]:
    """The input and the sizes as `walk` takes them: a single step gets a dim."""
    if batch_sizes is None and x.dim() == 2:
        return x.unsqueeze(0), None
    return x, None if batch_sizes is None else batch_sizes.tolist()


def layer(x: Any, state: Any, given: Any, batch_sizes: Any, mode: int, reverse: bool, keep: bool) -> Any:
    """The body of _rnn_layer."""
    state, params = _checked(mode, state, given)
    if x.is_complex():
        raise NotImplementedError(
            "_rnn_layer takes real numbers; the layers of torch.nn take complex ones, step by step"
        )
    steps, sizes = _sequence(x, batch_sizes)
    _, after, gates, last = walk(mode, steps, state, params, sizes, reverse)
    none = x.new_empty(0)
    outputs = torch.cat([s[0] for s in after])
    kept_gates, states = none, none
    if keep:
        if gates[0]:
            kept_gates = torch.cat([torch.cat(g, 1) for g in gates])
        states = torch.cat([*(torch.cat([s[1] for s in after]).reshape(-1) for _ in last[1:]), outputs.reshape(-1)])
    output = outputs if x.dim() == 2 else outputs.view(*x.shape[:2], outputs.shape[-1])
    return output, last[0].clone(), last[1].clone() if mode == LSTM else none, kept_gates, states


def _step_grads(mode: int, dh: Any, dc: Any, before: Any, after: Any, gates: Any) -> tuple[Any, Any, Any, Any]:
    """From the gradients of a step's state (h before its projection): those of W_ih x + b_ih and W_hh h + b_hh,
    the part of the gradient of the h before it that does not go through these, and that of its c."""
    if mode == LSTM:
        i, f, g, o = gates
        squashed = torch.tanh(after[1])
        dc = dc + dh * o * (1 - squashed * squashed)
        parts = (dc * g * ((1 - i) * i), dc * before[1] * ((1 - f) * f), dc * i * (1 - g * g))
        d = torch.cat([*parts, dh * squashed * ((1 - o) * o)], 1)
        return d, d, None, dc * f
    if mode == GRU:
        r, z, hn, n = gates
        dn = dh * (1 - z) * (1 - n * n)
        dr, dz = dn * hn * ((1 - r) * r), dh * (before[0] - n) * ((1 - z) * z)
        return torch.cat([dr, dz, dn], 1), torch.cat([dr, dz, dn * r], 1), dh * z, None
    h = after[0]
    d = dh * (1 - h * h) if mode == TANH else dh.masked_fill(h <= 0, 0)
    return d, d, None, None


def layer_grads(
    grads: Any, x: Any, state: Any, given: Any, batch_sizes: Any, mode: int, reverse: bool, mask: Any
) -> tuple[Any, ...]:
    """The body of _rnn_layer_backward. The steps are taken again, so that this can be differentiated."""
    state, params = _checked(mode, state, given)
    steps, sizes = _sequence(x, batch_sizes)
    before, after, gates, last = walk(mode, steps, state, params, sizes, reverse)
    dy = grads[0]
    if dy is not None:
        dy = dy.unsqueeze(0) if x.dim() == 2 and sizes is None else dy
        dy = dy.unbind(0) if sizes is None else dy.split(sizes)
    dh = torch.zeros_like(last[0]) if grads[1] is None else grads[1]
    dc = None
    if mode == LSTM:
        dc = torch.zeros_like(last[1]) if grads[2] is None else grads[2]
    of_input: list[Any] = [None] * len(gates)
    of_hidden: list[Any] = [None] * len(gates)
    of_hr = None
    for t in range(len(gates)) if reverse else range(len(gates) - 1, -1, -1):
        n = before[t][0].shape[0]
        rest_h, rest_c = dh[n:], None if dc is None else dc[n:]  # of samples that ended, or have not begun
        dh, dc = dh[:n], None if dc is None else dc[:n]
        if dy is not None:
            dh = dh + dy[t]
        if params.w_hr is not None:
            part = dh.t().mm(gates[t][3] * torch.tanh(after[t][1]))
            of_hr = part if of_hr is None else of_hr + part
            dh = dh.mm(params.w_hr)
        of_input[t], of_hidden[t], rest, dc = _step_grads(mode, dh, dc, before[t], after[t], gates[t])
        dh = of_hidden[t].mm(params.w_hh)
        dh = dh if rest is None else dh + rest
        if rest_h.shape[0]:
            dh = torch.cat([dh, rest_h])
            dc = None if dc is None or rest_c is None else torch.cat([dc, rest_c])
    d, d_hidden = torch.cat(of_input), torch.cat(of_hidden)
    wanted, flat = mask[1], x.reshape(-1, x.shape[-1])
    return (
        d.mm(params.w_ih).view(x.shape) if mask[0] else None,
        dh,
        dc,
        d.t().mm(flat) if wanted else None,
        d_hidden.t().mm(torch.cat([s[0] for s in before])) if wanted else None,
        d.sum(0) if wanted and params.b_ih is not None else None,
        d_hidden.sum(0) if wanted and params.b_hh is not None else None,
        of_hr if wanted else None,
    )


def _by_columns(t: Any) -> bool:
    """Whether t is a matrix by columns, or one time step or one example of a batch is."""
    if t.is_contiguous() or t.stride(-1) == 1:
        return False
    return t.dim() == 2 or (t.dim() == 3 and 1 in t.shape[:2])


def _one_kernel(tensors: Any) -> bool:
    """Whether the layer is one op here: plain numbers that its kernel takes, and nobody who looks at the ops inside."""
    dtype = tensors[0].dtype
    if dtype is not torch.float32 and dtype is not torch.float64:
        return False
    for t in tensors:
        if t is None:
            continue
        if not ((type(t) is torch.Tensor or type(t) is Parameter) and t.dtype is dtype and t.is_cpu):
            return False
        if _by_columns(t):
            return False  # results and gradients of the single ops have that layout, too
    return not dispatch_modes.stack and not autocasting.enabled("cpu")


def _as_one_op(mode: int, x: Any, state: Any, params: Params, batch_sizes: Any, reverse: bool) -> Any:
    c = state[1] if mode == LSTM else None
    y, h, c, _, _ = torch.ops.functions._rnn_layer(
        x, state[0], c, *params, batch_sizes, mode, reverse, torch.is_grad_enabled()
    )
    return y, (h, c) if mode == LSTM else (h,)


def _run_layer(mode: int, x: Any, state: Any, params: Params, batch_sizes: Any, reverse: bool) -> Any:
    """(output, last state) of one layer in one direction."""
    if _one_kernel((x, *state, *params)):
        return _as_one_op(mode, x, state, params, batch_sizes, reverse)
    sizes = None if batch_sizes is None else batch_sizes.tolist()
    _, after, _, last = walk(mode, x, state, params, sizes, reverse)
    return (torch.stack if sizes is None else torch.cat)([s[0] for s in after], 0), last


# ---- stacks of layers ------------------------------------------------------------------------------------------------
def _gathered(params: Sequence[Any], has_biases: bool, projects: bool) -> list[Params]:
    size = 2 + 2 * has_biases + projects
    if len(params) % size:
        raise RuntimeError("got an incorrect number of RNN parameters")
    found = []
    for at in range(0, len(params), size):
        of_one = [*params[at : at + size]]
        w_hr = of_one.pop() if projects else None
        b_ih, b_hh = of_one[2:] if has_biases else (None, None)
        found.append(Params(of_one[0], of_one[1], b_ih, b_hh, w_hr))
    return found


def run(
    mode: int,
    x: Any,
    states: Sequence[Any],
    params: Sequence[Any],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_sizes: Any = None,
) -> tuple[Any, ...]:
    """The bodies of lstm, gru, rnn_tanh and rnn_relu: (output, last state of all layers and directions ...)."""
    projects = mode == LSTM and states[0].size(2) != states[1].size(2)
    layers = _gathered(params, has_biases, projects)
    if batch_sizes is not None and batch_sizes.dtype is not torch.int64:
        raise RuntimeError("expected scalar type Long but found %s" % batch_sizes.dtype._scalar_type)
    directions = 1 + bidirectional
    total = num_layers * directions
    if bidirectional and (len(layers) % 2 or states[0].size(0) % 2):
        raise RuntimeError("Odd number of params or hiddens given to a bidirectional RNN")
    if any(s.size(0) != total for s in states):
        raise RuntimeError("Expected more hidden states in stacked_rnn")
    if len(layers) != total:
        raise RuntimeError("Expected more weights in stacked_rnn")
    begin = [*zip(*(s.unbind(0) for s in states))]
    ends = []
    for number in range(num_layers):
        outs = []
        for reverse in range(directions):
            k = number * directions + reverse
            y, last = _run_layer(mode, x, begin[k], layers[k], batch_sizes, bool(reverse))
            outs.append(y)
            ends.append(last)
        x = outs[0] if directions == 1 else torch.cat(outs, -1)
        if dropout != 0 and train and number < num_layers - 1:
            x = torch.dropout(x, dropout, True)
    return x, *(torch.stack(each, 0) for each in zip(*ends))


# ---- cells -----------------------------------------------------------------------------------------------------------
def cell(mode: int, x: Any, state: Any, weights: Any) -> Any:
    """The bodies of lstm_cell, gru_cell, rnn_tanh_cell and rnn_relu_cell: the next state."""
    params = Params(*weights)
    if x.size(1) != params.w_ih.size(1):
        raise RuntimeError("input has inconsistent input_size: got %d expected %d" % (x.size(1), params.w_ih.size(1)))
    hidden = params.w_hh.size(1)
    for k, s in enumerate(state):
        if x.size(0) != s.size(0):
            raise RuntimeError("Input batch size %d doesn't match hidden%d batch size %d" % (x.size(0), k, s.size(0)))
        if s.size(1) != hidden:
            raise RuntimeError("hidden%d has inconsistent hidden_size: got %d, expected %d" % (k, s.size(1), hidden))
    for name, weight in (("weight_ih", params.w_ih), ("weight_hh", params.w_hh)):
        if weight.size(0) != GATES[mode] * hidden:
            raise RuntimeError(
                "%s first dim must be %d * hidden_size = %d, but got %d"
                % (name, GATES[mode], GATES[mode] * hidden, weight.size(0))
            )
    given = (x, *state, *params)
    # c lies on the way to h: what a hook or retain_grad of c sees comes through h, too
    apart = mode == LSTM and _C.differentiated(*(t for t in given if t is not None))
    if not apart and _one_kernel(given):
        return _as_one_op(mode, x, state, params, None, False)[1]
    return _step(mode, linear(x, params.w_ih, params.b_ih), state, params)[0]
