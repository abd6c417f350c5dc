"""Recurrent layers and cells; their arithmetic is in _recurrent.py."""

import torchlite as torch

from ._declare import op, recurrent as steps

LSTM, GRU, TANH, RELU = range(4)  # modes, as native/src/nn/rnn.h numbers them
_LAYER = (
    "Tensor input, Tensor h0, Tensor? c0, Tensor w_ih, Tensor w_hh, Tensor? b_ih, Tensor? b_hh, Tensor? w_hr, "
    "%sTensor? batch_sizes, int mode, bool reverse, "
)


def _layer_grads(c, g):
    of_c = g[2] if c.mode == LSTM else None
    weights = c.needs_w_ih or c.needs_w_hh or c.needs_b_ih or c.needs_b_hh or c.needs_w_hr
    found = torch.ops.functions._rnn_layer_backward(
        *(g[0], g[1], of_c, c.input, c.h0, c.c0, c.w_ih, c.w_hh, c.b_ih, c.b_hh, c.w_hr, c.result3, c.result4),
        *(c.batch_sizes, c.mode, c.reverse, (c.needs_input, weights)),
    )
    return dict(zip(("input", "h0", "c0", "w_ih", "w_hh", "b_ih", "b_hh", "w_hr"), found))


def _layer_samples(t):
    sizes = torch.tensor([2, 2, 1])
    return [
        (t(3, 2, 3), t(2, 4), t(2, 4), *_weights(t, 4), None, None, LSTM, False, True),
        (t(3, 2, 3), t(2, 2), t(2, 4), *_weights(t, 4, 3, 2), t(2, 4), None, LSTM, True, True),
        (t(5, 3), t(2, 4), t(2, 4), *_weights(t, 4), None, sizes, LSTM, True, True),
        (t(5, 3), t(2, 4), None, *_weights(t, 3), None, sizes, GRU, False, True),
        (t(2, 3), t(2, 4), None, *_weights(t, 3)[:2], None, None, None, None, GRU, False, True),
        (t(3, 2, 3), t(2, 4), None, *_weights(t, 1), None, None, TANH, True, True),
        (t(5, 3), t(2, 4), None, *_weights(t, 1), None, sizes, RELU, False, True),
    ]


@op(
    "_rnn_layer(%sbool keep) -> (Tensor, Tensor, Tensor, Tensor, Tensor)" % (_LAYER % ""),
    variants="function",
    module="aten",
    kernel="_rnn_layer",
    nondiff=(3, 4),
    node=lambda args: "MkldnnRnnLayerBackward0" if args[9] == LSTM else "RnnLayerBackward0",
    grad=_layer_grads,
    samples=_layer_samples,
)
def _rnn_layer(input, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes, mode, reverse, keep):
    """One recurrent layer in one direction: (output, h_n, c_n, gates, states); the last two, for the gradient, are
    empty unless `keep`. The mode is 0 for LSTM, 1 for GRU, 2 and 3 for RNN with tanh and relu. `input` is (steps,
    samples, features), with `batch_sizes` the rows of a packed sequence, or else (samples, features) of one step."""
    return steps.layer(input, (h0, c0), (w_ih, w_hh, b_ih, b_hh, w_hr), batch_sizes, mode, reverse, keep)


@op(
    "_rnn_layer_backward(Tensor? grad_output, Tensor? grad_h, Tensor? grad_c, %sbool[2] output_mask) -> "
    "(Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)" % (_LAYER % "Tensor gates, Tensor states, "),
    variants="function",
    module="aten",
    kernel="_rnn_layer_backward",
)
def _rnn_layer_backward(
    grad_output,
    grad_h,
    grad_c,
    input,
    h0,
    c0,
    w_ih,
    w_hh,
    b_ih,
    b_hh,
    w_hr,
    gates,
    states,
    batch_sizes,
    mode,
    reverse,
    output_mask,
):
    """Gradients of _rnn_layer; None for what is not there, and what `output_mask` (input, parameters) leaves out."""
    grads, params = (grad_output, grad_h, grad_c), (w_ih, w_hh, b_ih, b_hh, w_hr)
    return steps.layer_grads(grads, input, (h0, c0), params, batch_sizes, mode, reverse, output_mask)


# ---- layers ----------------------------------------------------------------------------------------------------------
_SETTINGS = "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"


def _weights(t, gates, inputs=3, out=4):
    return [t(gates * 4, inputs), t(gates * 4, out), t(gates * 4), t(gates * 4)]


def _input_samples(gates, states):
    """Samples of a form with padded input, with this many tensors for a state; a list of them when there are two."""

    def samples(t):
        def hx(*size):
            return t(*size) if states == 1 else [t(*size) for _ in range(states)]

        twice = _weights(t, gates) + _weights(t, gates)
        stacked = _weights(t, gates)[:2] + _weights(t, gates, 4)[:2]
        return [
            (t(3, 2, 3), hx(2, 2, 4), twice, True, 1, 0.0, False, True, False),
            (t(2, 3, 3), hx(2, 2, 4), stacked, False, 2, 0.0, True, False, True),
        ]

    return samples


def _data_samples(gates, states):
    """Samples of a form with packed rows."""

    def samples(t):
        hx = t(2, 2, 4) if states == 1 else [t(2, 2, 4) for _ in range(states)]
        twice = _weights(t, gates) + _weights(t, gates)
        return [(t(5, 3), torch.tensor([2, 2, 1]), hx, twice, True, 1, 0.0, False, True)]

    return samples


def _turned(result, batch_first):
    return (result[0].transpose(0, 1), *result[1:]) if batch_first else result


def _checked(hx, name):
    if len(hx) != 2:
        raise RuntimeError("%s expects two hidden states" % name)
    return hx


@op(
    "lstm.input(Tensor input, Tensor[] hx, %s, bool batch_first) -> (Tensor, Tensor, Tensor)" % _SETTINGS,
    variants="function",
    tags="own",
    samples=_input_samples(4, 2),
)
def lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    """Layers of long short-term memory: (output, h_n, c_n) for `hx` (h, c). `params` has for each layer and direction
    the weights of input and state, their biases where it `has_biases`, and the projection where h is smaller than c."""
    x = input.transpose(0, 1) if batch_first else input
    settings = has_biases, num_layers, dropout, train, bidirectional
    return _turned(steps.run(LSTM, x, _checked(hx, "lstm"), params, *settings), batch_first)


@op(
    "lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, %s) -> (Tensor, Tensor, Tensor)" % _SETTINGS,
    variants="function",
    samples=_data_samples(4, 2),
)
def lstm_data(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional):
    """The same for the rows of packed sequences."""
    settings = has_biases, num_layers, dropout, train, bidirectional
    return steps.run(LSTM, data, _checked(hx, "lstm"), params, *settings, batch_sizes)


def _declare_layer(name, mode, gates, what):
    def layer(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
        x = input.transpose(0, 1) if batch_first else input
        settings = has_biases, num_layers, dropout, train, bidirectional
        return _turned(steps.run(mode, x, (hx,), params, *settings), batch_first)

    def packed(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional):
        settings = has_biases, num_layers, dropout, train, bidirectional
        return steps.run(mode, data, (hx,), params, *settings, batch_sizes)

    layer.__doc__ = "Layers of %s: (output, h_n). The arguments are those of lstm, with one tensor as state." % what
    packed.__doc__ = "The same for the rows of packed sequences."
    head = "%s.input(Tensor input, Tensor hx, %s, bool batch_first) -> (Tensor, Tensor)" % (name, _SETTINGS)
    op(head, variants="function", tags="own", samples=_input_samples(gates, 1))(layer)
    head = "%s.data(Tensor data, Tensor batch_sizes, Tensor hx, %s) -> (Tensor, Tensor)" % (name, _SETTINGS)
    op(head, variants="function", samples=_data_samples(gates, 1))(packed)


_declare_layer("gru", GRU, 3, "gated recurrent units")
_declare_layer("rnn_tanh", TANH, 1, "Elman's network with tanh")
_declare_layer("rnn_relu", RELU, 1, "Elman's network with relu")

# ---- cells -----------------------------------------------------------------------------------------------------------
_CELL = "Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None"


@op(
    "lstm_cell(Tensor input, Tensor[] hx, %s) -> (Tensor, Tensor)" % _CELL,
    variants="function",
    samples=lambda t: [
        (t(2, 3), [t(2, 4), t(2, 4)], *_weights(t, 4)),
        (t(2, 3), [t(2, 4), t(2, 4)], *_weights(t, 4)[:2]),
    ],
)
def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of an LSTM: the next (h, c)."""
    return steps.cell(LSTM, input, _checked(hx, "lstm_cell"), (w_ih, w_hh, b_ih, b_hh))


def _declare_cell(name, mode, gates, what):
    def cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
        return steps.cell(mode, input, (hx,), (w_ih, w_hh, b_ih, b_hh))[0]

    def samples(t):
        return [(t(2, 3), t(2, 4), *_weights(t, gates)), (t(2, 3), t(2, 4), *_weights(t, gates)[:2])]

    cell.__doc__ = "One step of %s: the next h." % what
    op("%s(Tensor input, Tensor hx, %s) -> Tensor" % (name, _CELL), variants="function", samples=samples)(cell)


_declare_cell("gru_cell", GRU, 3, "a gated recurrent unit")
_declare_cell("rnn_tanh_cell", TANH, 1, "Elman's network with tanh")
_declare_cell("rnn_relu_cell", RELU, 1, "Elman's network with relu")
