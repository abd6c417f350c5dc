"""Recurrent layers and cells beside PyTorch: results, their geometry, gradients, packed sequences, refusals."""

import gc
import math

import pytest
import torchlite
from alike import alike, cases

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")


def ours(t):
    """The same tensor in torchlite."""
    t = t.detach().clone()
    made = torchlite.empty_strided(t.shape, t.stride(), dtype=getattr(torchlite, str(t.dtype)[6:]))
    return made.copy_(torchlite.from_numpy(t.numpy()))


def pair(kind, *args, dtype="float64", **options):
    """The same layer with the same weights in both libraries."""
    theirs = getattr(torch.nn, kind)(*args, dtype=getattr(torch, dtype), **options)
    mine = getattr(torchlite.nn, kind)(*args, dtype=getattr(torchlite, dtype), **options)
    mine.load_state_dict({name: ours(t) for name, t in theirs.state_dict().items()})
    return theirs, mine


def flat(x):
    if isinstance(x, (torch.Tensor, torchlite.Tensor)):
        return [x]
    return [t for part in x if part is not None for t in flat(part)]


def check(layers, inputs, call, first_only=False):
    """Results and gradients of call(library, layer, *inputs) in both libraries; inputs are PyTorch's tensors.

    first_only: of the first result alone, so that the others have no gradient."""
    theirs, mine = layers
    left = [t.detach().clone().requires_grad_() for t in inputs]
    right = [ours(t).requires_grad_() for t in inputs]
    want, found = flat(call(torch, theirs, *left)), flat(call(torchlite, mine, *right))
    tol = 2e-5 if want[0].dtype is torch.float32 else 1e-10
    assert [(tuple(t.shape), t.stride()) for t in want] == [(tuple(t.shape), t.stride()) for t in found]
    sources = [(*left, *theirs.parameters()), (*right, *mine.parameters())]
    ends = slice(0, 1 if first_only else None)
    given = [torch.randn_like(t) for t in want[ends]]
    want += torch.autograd.grad(want[ends], sources[0], given, allow_unused=True)
    found += torchlite.autograd.grad(found[ends], sources[1], [ours(g) for g in given], allow_unused=True)
    for w, f in zip(want, found, strict=True):
        assert (w is None) == (f is None)
        if w is not None:
            torch.testing.assert_close(
                torch.from_numpy(f.detach().numpy()), w.detach(), rtol=tol, atol=tol, equal_nan=True
            )


def states(kind, layer, batch, dtype):
    """One state for a batch, or without a batch for None."""
    dims = (layer.num_layers * (1 + layer.bidirectional), *(() if batch is None else (batch,)))
    dtype = getattr(torch, dtype)
    h = torch.randn(*dims, layer.proj_size or layer.hidden_size, dtype=dtype)
    return [h, torch.randn(*dims, layer.hidden_size, dtype=dtype)] if kind == "LSTM" else [h]


def with_states(lib, layer, x, *hx):
    if len(hx) == 1:
        return layer(x, hx[0])
    return layer(x, hx or None)


LAYERS = [
    ("LSTM", (3, 5), {}),
    ("LSTM", (3, 5, 2), {"bias": False, "bidirectional": True}),
    ("LSTM", (3, 6, 2), {"proj_size": 2, "batch_first": True}),
    ("LSTM", (3, 6, 2), {"proj_size": 5, "bidirectional": True, "bias": False}),
    ("LSTM", (3, 90), {}),  # products deeper than one block
    ("GRU", (3, 5), {}),
    ("GRU", (3, 8, 2), {"bidirectional": True, "batch_first": True}),
    ("GRU", (3, 110), {"bias": False}),
    ("RNN", (3, 5, 2), {"bidirectional": True}),
    ("RNN", (3, 9), {"nonlinearity": "relu", "batch_first": True, "bias": False}),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind, args, options", LAYERS)
def test_layers(kind, args, options, dtype):
    torch.manual_seed(3)
    layers = pair(kind, *args, dtype=dtype, **options)
    of = getattr(torch, dtype)
    x = torch.randn(4, 6, 3, dtype=of)
    batch = 4 if options.get("batch_first") else 6
    check(layers, [x], with_states)
    check(layers, [x], with_states, first_only=True)
    check(layers, [x, *states(kind, layers[0], batch, dtype)], with_states)
    check(layers, [x[:, 0], *states(kind, layers[0], None, dtype)], with_states)
    check(layers, [x.transpose(0, 1).contiguous().transpose(0, 1)[:, :, [2, 1, 0]]], with_states)


def packed(lib, layer, data, *hx):
    rows = lib.nn.utils.rnn.PackedSequence(data, lib.tensor([5, 5, 4, 1, 1]))
    out, last = with_states(lib, layer, rows, *hx)
    return out.data, last


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind, args, options", LAYERS)
def test_packed_sequences(kind, args, options, dtype):
    torch.manual_seed(4)
    layers = pair(kind, *args, dtype=dtype, **options)
    data = torch.randn(16, 3, dtype=getattr(torch, dtype))
    check(layers, [data], packed)
    check(layers, [data, *states(kind, layers[0], 5, dtype)], packed)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("kind", ["LSTMCell", "GRUCell", "RNNCell"])
def test_cells(kind, dtype, bias):
    if dtype == "bfloat16":
        y = getattr(torchlite.nn, kind)(3, 5, bias, dtype=torchlite.bfloat16)(torchlite.ones(2, 3).bfloat16())
        assert all(t.dtype is torchlite.bfloat16 for t in flat(y))
        return
    torch.manual_seed(5)
    layers = pair(kind, 3, 5, bias, dtype=dtype)
    of = getattr(torch, dtype)
    x, h, c = torch.randn(2, 3, dtype=of), torch.randn(2, 5, dtype=of), torch.randn(2, 5, dtype=of)
    hx = [h, c] if kind == "LSTMCell" else [h]
    check(layers, [x], with_states)
    check(layers, [x, *hx], with_states)
    check(layers, [x[0], *(s[1] for s in hx)], with_states)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_what_is_not_finite(kind):
    torch.manual_seed(6)
    layers = pair(kind, 3, 5, dtype="float32", **({"nonlinearity": "relu"} if kind == "RNN" else {}))
    x = torch.randn(4, 6, 3)
    x[1, 0, 0], x[2, 1, 1], x[0, 2, 2], x[3, 3] = math.nan, math.inf, -math.inf, 1e30
    check(layers, [x], with_states)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_dropout_draws_the_same_numbers(kind):
    layers = pair(kind, 3, 5, 3, dropout=0.5)
    torch.manual_seed(7)

    def run(lib, layer, x):
        lib.manual_seed(1)
        return layer(x)

    check(layers, [torch.randn(4, 2, 3, dtype=torch.float64)], run)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_the_output_may_be_changed_in_place(kind):
    def run(lib, layer, x):
        out, _ = layer(x)
        return out.mul_(2)

    check(pair(kind, 3, 5), [torch.randn(4, 2, 3, dtype=torch.float64)], run)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_frozen_parts(kind):
    """Gradients of the input alone, and of the weights alone."""
    torch.manual_seed(8)
    for frozen in ("input", "parameters"):
        got = []
        theirs, mine = pair(kind, 3, 5)
        left = torch.randn(4, 2, 3, dtype=torch.float64)
        for layer, x in ((theirs, left), (mine, ours(left))):
            x.requires_grad_(frozen != "input")
            layer.requires_grad_(frozen != "parameters")
            layer(x)[0].square().sum().backward()
            got.append([None if t.grad is None else t.grad.numpy() for t in (x, *layer.parameters())])
        for w, f in zip(*got, strict=True):
            assert (w is None) == (f is None) and (w is None or abs(w - f).max() < 1e-12)


def test_a_layer_is_one_op_and_keeps_nothing_without_gradients():
    layer = torchlite.nn.GRU(3, 4)
    x = torchlite.ones(2, 2, 3)
    assert layer(x)[0].grad_fn.name() == "RnnLayerBackward0"
    assert torchlite.nn.LSTM(3, 4)(x)[0].grad_fn.name() == "MkldnnRnnLayerBackward0"
    with torchlite.no_grad():
        *_, gates, kept = torchlite.ops.functions._rnn_layer(
            *(x, torchlite.zeros(2, 4), None, *layer._flat_weights, None, None, 1, False, False)
        )
    assert gates.numel() == kept.numel() == 0


_HEAD = """
torch.set_default_dtype(torch.float64)
def t(*shape):
    return (torch.arange(math.prod(shape)).double() * 1.3).sin().reshape(shape)
def w(gates, inputs=3):
    return [t(gates * 4, inputs), t(gates * 4, 4), t(gates * 4), t(gates * 4)]
x, h, c, hx = t(5, 2, 3), t(1, 2, 4), t(1, 2, 4) * 2, [t(1, 2, 4), t(1, 2, 4) * 2]
one = (True, 1, 0.0, False, False, False)
two = (True, 1, 0.0, False, False)
"""


@cases("""
torch.lstm(x, hx, w(4), *one)
torch.ops.aten.lstm.input(x, hx, w(4), *one)
torch.ops.aten.gru.data(t(5, 3), torch.tensor([2, 2, 1]), h, w(3), *two)
torch.gru(x, h, w(3), *one), torch.rnn_tanh(x, h, w(1), *one), torch.rnn_relu(x, h, w(1), *one)
torch.lstm(t(5, 3), torch.tensor([2, 2, 1, 0]), hx, w(4), *two)
torch.lstm(t(5, 3), torch.tensor([2, 2]), hx, w(4), *two)
torch.lstm(x, hx[:1], w(4), *one)
torch.lstm(x, [h, c.float()], w(4), *one)
torch.lstm(x, hx, [w(4)[0].float(), *w(4)[1:]], *one)
torch.lstm(x, hx, w(4)[:3], *one)
torch.lstm(x, [h[..., :2], c], w(4), *one)
torch.lstm(x, hx, w(4), True, 2, 0.0, False, False, False)
torch.lstm(x, hx, w(4), True, 1, 0.0, False, True, False)
torch.lstm(x, hx, w(4), False, 1, 0.0, False, False, False)
torch.lstm(x[:0], hx, w(4), *one)
torch.lstm(x[..., :2], hx, w(4), *one)
torch.lstm(x, [h[:, :1], c], w(4), *one)
torch.lstm(x, [h, c[:, :1]], w(4), *one)
torch.lstm(x, [h[0], c[0]], w(4), *one)
torch.gru(x, h, w(4), *one)
torch.gru(x, h[:, :1], w(3), *one)
torch.gru(x[:, :0], h[:, :0], w(3), *one)
torch.gru(x, h[..., :0], [w(3)[0][:0], w(3)[1][:0, :0], w(3)[2][:0], w(3)[3][:0]], *one)
torch.lstm(t(5, 3), torch.tensor([2., 2., 1.]), hx, w(4), *two)
torch.lstm(t(5, 3), torch.tensor([2, 1, 2]), hx, w(4), *two)
torch.lstm(t(5, 3), torch.tensor([3, 1, 1]), hx, w(4), *two)
torch.lstm(t(5, 3), torch.tensor([2, 2, 2]), hx, w(4), *two)
torch.lstm_cell(x[0], [h[0], c[0]], *w(4)), torch.gru_cell(x[0], h[0], *w(3)), torch.rnn_tanh_cell(x[0], h[0], *w(1))
torch.rnn_relu_cell(x[0], h[0], *w(1)[:2])
torch.lstm_cell(x[0], [h[0], c[0]], *w(4)[:3])
torch.lstm_cell(x[0], [h[0]], *w(4))
torch.lstm_cell(x[0], [h[0], c[0, :, :3]], *w(4))
torch.lstm_cell(x[0], [h[0, :1], c[0]], *w(4))
torch.lstm_cell(x[0], [h[0], c[0]], *w(3))
torch.lstm_cell(x[0, 0], [h[0, 0], c[0, 0]], *w(4))
torch.gru_cell(x[0, :, :2], h[0], *w(3))
torch.gru_cell(x[0], h[0], *w(4))
torch.gru_cell(x[0], h[0], w(3)[0], w(3)[1][:8])
torch.rnn_tanh_cell(x[0], h[0].float(), *w(1))
p = w(1)[1::2]; torch.rnn_tanh_cell(x[0].float(), h[0], w(1)[0].float(), p[0], None, p[1])
p = w(1)[:4:2]; torch.rnn_tanh_cell(x[0], h[0].float(), p[0], w(1)[1].float(), p[1], None)
p = w(4)[:4:2]; torch.lstm_cell(x[0], [h[0].float(), c[0].float()], p[0], w(4)[1].float(), p[1], None)
torch.gru_cell(x[0].cfloat(), h[0], w(3)[0].cfloat(), w(3)[1])
""")
def test_functions(line):
    before = torchlite.get_default_dtype(), torch.get_default_dtype()
    try:
        alike(_HEAD + line)
    finally:
        torchlite.set_default_dtype(before[0])
        torch.set_default_dtype(before[1])


def test_hostile_arguments_of_the_kernels():
    """What does not fit is an error of the body; the kernels index by nothing that they have not checked."""
    f, t = torchlite.ops.functions, torchlite.ones
    layer = [t(3, 2, 3), t(2, 4), t(2, 4), t(16, 3), t(16, 4), t(16), t(16), None]
    out = f._rnn_layer(*layer, None, 0, False, True)
    wanted = f._rnn_layer_backward(out[0], None, None, *layer, *out[3:], None, 0, False, (True, True))
    # what was kept is of another call: the steps are taken again
    for gates, kept in ((t(1), out[4]), (out[3], t(1)), (t(6, 16).double(), out[4])):
        found = f._rnn_layer_backward(out[0], None, None, *layer, gates, kept, None, 0, False, (True, True))
        for a, b in zip(wanted, found, strict=True):
            assert a is b is None or torchlite.allclose(a, b, atol=1e-5)
    wrong = {0: [t(3, 2, 2), t(0, 2, 3), t(2, 3, 3)], 1: [t(2, 3), t(1, 4), t(2, 4).double()], 2: [None]}
    wrong |= {3: [t(12, 3), t(16, 2)], 4: [t(12, 4), t(16, 3)], 5: [t(4)], 6: [t(12)], 7: [t(4, 3)]}
    for at, values in wrong.items():
        for value in values:
            given = [*layer[:at], value, *layer[at + 1 :]]
            with pytest.raises((RuntimeError, TypeError, ValueError)):
                f._rnn_layer(*given, None, 0, False, True)
    rows = [t(6, 3), *layer[1:]]
    for sizes in ([2, 3, 1], [7, -1], [2, 2, 3], [3, 3], [2**62, 2**62], []):
        with pytest.raises((RuntimeError, IndexError)):
            f._rnn_layer(*rows, torchlite.tensor(sizes, dtype=torchlite.int64), 0, True, True)
    for mode in (-1, 4, 2**40):
        with pytest.raises(ValueError):
            f._rnn_layer(*layer, None, mode, False, True)
    gc.collect()
