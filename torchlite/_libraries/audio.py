"""The operators of torchaudio's library: torch.ops.torchaudio, and torch.ops._torchaudio, which says what there is."""

from __future__ import annotations

from typing import Any

import torchlite as torch
from torchlite._core.checks import _check

BLOCK = 128  # samples of a recursive filter that are computed at once


def responses(coefficients: Any) -> tuple[Any, Any]:
    """What a recursive filter makes of a block: of its input (C, L, L), and of the outputs before it (C, L, order).

    coefficients: (C, order), of the latest output before a sample first."""
    channels, order = coefficients.shape
    impulse = coefficients.new_zeros(channels, BLOCK + order)  # 0 before the impulse
    impulse[:, order] = 1
    back = coefficients.flip(1)
    for i in range(order + 1, BLOCK + order):
        impulse[:, i] = -(impulse[:, i - order : i] * back).sum(1)
    steps = torch.arange(BLOCK, device=coefficients.device)
    delay = steps[:, None] - steps
    toeplitz = torch.where(delay >= 0, impulse[:, delay.clamp(min=0) + order], 0.0)
    # the output j samples before the block adds -a[k + j - 1] of itself to the block's input k
    lag = steps[:, None] + torch.arange(order, 0, -1, device=coefficients.device)
    entering = torch.where(lag <= order, -coefficients[:, (lag - 1).clamp(max=order - 1)], 0.0)
    return toeplitz, toeplitz @ entering


def recursive(input: Any, coefficients: Any, state: Any) -> Any:
    """y[t] = x[t] - sum of coefficients[k] * y[t - 1 - k]; (B, C, T). state: the outputs before, (B, C, order).

    Blocks of samples are matrix products; one by one a second of sound would take 10 000 calls."""
    order = coefficients.size(1)
    if order == 0 or input.size(2) == 0:
        return input.clone()
    of_input, of_state = (m.transpose(1, 2) for m in responses(coefficients))
    done = []
    before = state.transpose(0, 1)  # (C, B, order), the oldest first
    for block in input.transpose(0, 1).split(BLOCK, 2):
        size = block.size(2)
        out = block @ of_input[:, :size, :size] + before @ of_state[:, :, :size]
        before = torch.cat([before, out], 2)[:, :, -order:]
        done.append(out)
    return torch.cat(done, 2).transpose(0, 1)


def lfilter_core_loop(input_signal_windows: Any, a_coeff_flipped: Any, padded_output_waveform: Any) -> Any:
    """Writes the filter's output behind its first order - 1 samples."""
    for tensor in (a_coeff_flipped, padded_output_waveform):
        _check(
            tensor.dtype == input_signal_windows.dtype and tensor.dtype in (torch.float32, torch.float64),
            lambda: "lfilter: the coefficients and the waveforms need one dtype, float32 or float64",
        )
    order = a_coeff_flipped.size(1) - 1
    with torch.no_grad():
        coefficients = a_coeff_flipped[:, :order].flip(1).double()
        state = padded_output_waveform[:, :, :order].double()
        out = recursive(input_signal_windows.double(), coefficients, state)
        padded_output_waveform[:, :, order:].copy_(out)
    return padded_output_waveform


def overdrive_core_loop(waveform: Any, temp: Any, last_in: Any, last_out: Any, output_waveform: Any) -> Any:
    """out[t] = temp[t] - temp[t - 1] + 0.995 * out[t - 1], mixed with the waveform; (C, T)."""
    with torch.no_grad():
        change = torch.diff(temp.double(), prepend=last_in.double()[:, None])
        coefficients = change.new_full((1, 1), -0.995)
        out = recursive(change[:, None], coefficients, last_out.double()[:, None, None])[:, 0]
        output_waveform.copy_(waveform * 0.5 + (out * 0.75).to(waveform.dtype))
        if temp.size(1):
            last_in.copy_(temp[:, -1])
            last_out.copy_(out[:, -1])
    return last_in, last_out, output_waveform


def forced_align(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int) -> Any:
    """The likeliest way of the target through (1, T, C) of log probabilities: its label at each time."""
    _check(targets.dtype in (torch.int32, torch.int64), lambda: "targets must be int32 or int64 type")
    _check(log_probs.dim() == 3, lambda: "log_probs must be a 3-D tensor")
    _check(
        log_probs.size(0) == 1,
        lambda: "The batch dimension for log_probs must be 1 at the current version.",
    )
    _check(targets.dim() == 2 and targets.size(0) == 1, lambda: "targets must be a 2-D tensor of one row")
    _check(0 <= blank < log_probs.size(2), lambda: "blank must be within [0, num classes)")
    steps, labels = log_probs.size(1), targets[0]
    _check(int(input_lengths.max()) == steps, lambda: "input length mismatch")
    _check(int(target_lengths.max()) == len(labels), lambda: "target length mismatch")
    repeats = int((labels[1:] == labels[:-1]).sum())
    _check(
        steps >= len(labels) + repeats,
        lambda: (
            "targets length is too long for CTC. Found log_probs length: %d, targets length: %d, and number of "
            "repeats: %d" % (steps, len(labels), repeats)
        ),
    )
    states = labels.new_full((2 * len(labels) + 1,), blank)  # a blank before, between and behind the labels
    states[1::2] = labels
    emitted = log_probs[0][:, states]
    skips = torch.zeros(len(states), dtype=torch.bool)
    skips[3::2] = labels[1:] != labels[:-1]
    best = torch.full((len(states),), -torch.inf, dtype=log_probs.dtype)
    best[:2] = emitted[0, :2]
    came, none = [], best.new_full((2,), -torch.inf)
    for t in range(1, steps):
        one, two = torch.cat([none[:1], best[:-1]]), torch.cat([none, best[:-2]])[: len(best)]
        before = torch.stack([best, one, torch.where(skips, two, -torch.inf)])
        before = torch.where(torch.isnan(before), -torch.inf, before)
        # of equals the smallest step: staying, then the neighbour
        value, step = before.max(0)
        best = value + emitted[t]
        came.append(step)
    state = len(states) - 1
    if len(states) > 1 and not (best[state] > best[state - 1]).item():
        state -= 1
    path = [state]
    for step in reversed(came):
        state -= int(step[state])
        path.append(state)
    return states[torch.tensor(path[::-1])][None].to(targets.dtype), log_probs


def rnnt_loss_forward(
    logits: Any,
    targets: Any,
    logit_lengths: Any,
    target_lengths: Any,
    blank: int,
    clamp: float,
    fused_log_softmax: bool,
) -> Any:
    """The transducer's loss of each example, and its gradient of the logits (B, T, U + 1, C)."""
    checks = (
        (logits.dtype in (torch.float32, torch.float16), "logits must be float32 or float16 (half) type"),
        (targets.dtype == torch.int32, "targets must be int32 type"),
        (logit_lengths.dtype == torch.int32, "logit_lengths must be int32 type"),
        (target_lengths.dtype == torch.int32, "target_lengths must be int32 type"),
        (logits.dim() == 4, "logits must be 4-D (batch, time, target, class)"),
        (targets.dim() == 2, "targets must be 2-D (batch, max target length)"),
        (0 <= blank < logits.size(-1), "blank must be within [0, logits.shape[-1])"),
        (int(logit_lengths.max()) == logits.size(1), "input length mismatch"),
        (int(target_lengths.max()) == targets.size(1), "target length mismatch"),
        (targets.size(1) + 1 == logits.size(2), "output length mismatch"),
    )
    for holds, text in checks:
        _check(holds, lambda text=text: text)
    with torch.enable_grad():
        leaf = logits.detach().float().requires_grad_()
        scores = leaf.log_softmax(-1) if fused_log_softmax else leaf
        costs = transducer_costs(scores, targets.long(), logit_lengths.tolist(), target_lengths.tolist(), blank)
    (grad,) = torch.autograd.grad(costs, leaf, torch.ones_like(costs))
    if clamp > 0:
        grad = grad.clamp(-clamp, clamp)
    return costs.detach().to(logits.dtype), grad.to(logits.dtype)


def transducer_costs(scores: Any, targets: Any, steps: list[int], lengths: list[int], blank: int) -> Any:
    """Minus the log of the probability of all ways through the grid, along its diagonals."""
    batch, times, places, _ = scores.shape
    stay = scores[..., blank]
    at = torch.cat([targets, targets.new_zeros(batch, 1)], 1)[:, None, :, None].expand(-1, times, -1, 1)
    emit = scores.gather(3, at)[..., 0]
    index = torch.arange(places)
    alpha = torch.where(index == 0, 0.0, -torch.inf).expand(batch, places)
    alphas = [alpha]
    for diagonal in range(1, times + places - 1):
        t = diagonal - index  # the time of each place on this diagonal
        later = alpha + stay[:, (t - 1).clamp(0, times - 1), index]
        later = torch.where((t >= 1) & (t < times), later, -torch.inf)
        moved = torch.cat(
            [alpha.new_full((batch, 1), -torch.inf), (alpha + emit[:, t.roll(-1).clamp(0, times - 1), index])[:, :-1]],
            1,
        )
        moved = torch.where((t >= 0) & (t < times), moved, -torch.inf)
        alpha = torch.logaddexp(later, moved)
        alphas.append(alpha)
    ends = [alphas[t - 1 + u][b, u] + stay[b, t - 1, u] for b, (t, u) in enumerate(zip(steps, lengths))]
    return -torch.stack(ends)


OPERATORS: dict[str, Any] = {
    "_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) padded_output_waveform) -> "
    "Tensor(a!)": lfilter_core_loop,
    "_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, Tensor(c!) "
    "output_waveform) -> (Tensor(a!), Tensor(b!), Tensor(c!))": overdrive_core_loop,
    "forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank) -> "
    "(Tensor, Tensor)": forced_align,
    "rnnt_loss_forward(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths, int blank, float "
    "clamp, bool fused_log_softmax) -> (Tensor, Tensor)": rnnt_loss_forward,
}
FACTS: dict[str, Any] = {"is_align_available() -> bool": lambda: True, "cuda_version() -> int?": lambda: None}

libraries = {}
for namespace, operators in (("torchaudio", OPERATORS), ("_torchaudio", FACTS)):
    library = libraries[namespace] = torch.library.Library(namespace, "FRAGMENT")
    for schema, kernel in operators.items():
        library.impl(library.define(schema), kernel, "CompositeExplicitAutograd")
