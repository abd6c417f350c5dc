"""Gradients of each sample: call_for_per_sample_grads beside PyTorch's, and beside a loop over the samples."""

import pytest
import torchlite
from alike import alike, cases

_HEAD = """
from torch.nn.utils._per_sample_grad import call_for_per_sample_grads
from torch.nn.utils._expanded_weights import ExpandedWeight
from torch.nn.utils._expanded_weights import expanded_weights_utils as utils
def t(*shape):
    return (torch.arange(math.prod(shape)).double() * 1.3).sin().reshape(shape)
def shown(g):
    return g if g is None else g.contiguous().mul(1e6).round() + 0.0
def fill(m):
    for p in m.parameters():
        p.data = t(*p.shape)
    return m
def run(m, x, **options):
    call_for_per_sample_grads(fill(m), **options)(x).sum().backward()
    return [shown(p.grad_sample) for p in m.parameters()], [p.grad for p in m.parameters()], shown(x.grad)
w, b = t(5, 4).requires_grad_(), t(5).requires_grad_()
"""


@cases("""
run(nn.Linear(4, 5), t(3, 4).requires_grad_())
run(nn.Linear(4, 5, bias=False), t(3, 2, 4), loss_reduction="mean")
run(nn.Sequential(nn.Conv2d(2, 3, 3, padding=1, groups=1), nn.ReLU(), nn.Flatten(), nn.Linear(27, 2)), t(2, 2, 3, 3))
run(nn.Conv1d(2, 4, 3, stride=2, padding="valid"), t(3, 2, 7).requires_grad_())
run(nn.Conv3d(1, 2, 2, dilation=2), t(2, 1, 4, 4, 4))
run(nn.Embedding(5, 3), torch.tensor([[0, 1, 4], [2, 2, 3]]))
run(nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)), t(3, 4))
run(nn.Sequential(nn.Conv1d(2, 4, 3), nn.GroupNorm(2, 4)), t(3, 2, 7))
run(nn.Sequential(nn.Conv1d(2, 4, 3), nn.InstanceNorm1d(4, affine=True)), t(3, 2, 7))
m = nn.Linear(4, 5); m.weight.requires_grad_(False); run(m, t(3, 4))
run(nn.BatchNorm1d(4), t(3, 4))
run(nn.Linear(4, 5), t(4))
run(nn.Embedding(5, 3), torch.tensor([0, 1, 4]))
run(nn.LayerNorm((3, 4)), t(3, 4))
run(nn.Linear(4, 5), t(3, 4), batch_size=2)
m = nn.Linear(4, 5); run(m, t(3, 4)); call_for_per_sample_grads(fill(m))
call_for_per_sample_grads(nn.Linear)
call_for_per_sample_grads(nn.Linear(2, 2), batch_size=1.5)
call_for_per_sample_grads(nn.Linear(2, 2), batch_size=0)
call_for_per_sample_grads(nn.Linear(2, 2), loss_reduction="none")
call_for_per_sample_grads(nn.Bilinear(2, 2, 2))(t(3, 2), t(2, 2))
call_for_per_sample_grads(nn.Linear(2, 2))(2)
e = ExpandedWeight(w, 3, "sum"); e.shape, e.dtype, e.batch_size, e.orig_weight is w, e.get_device()
ExpandedWeight(3, 3, "sum")
ExpandedWeight(t(3), 3, "sum")
ExpandedWeight(w, 3, "sum") + 1
F.linear(t(3, 4), ExpandedWeight(w, 3, "sum"), b).sum().backward()
F.linear(t(3, 4), ExpandedWeight(w, 3, "sum"), ExpandedWeight(b, 3, "mean"))
F.linear(ExpandedWeight(w, 5, "sum"), w); 0
F.linear(t(0, 4), ExpandedWeight(w, 3, "sum"), None)
utils.standard_kwargs(("bias",), (1, 2, 3)), utils.sum_over_all_but_batch_and_last_n(t(2, 3, 4, 5), 1)
utils.sum_over_all_but_batch_and_last_n(t(2, 3), 1), utils.unpack_expanded_weight_or_tensor(3)
utils.unpack_expanded_weight_or_tensor(w)
""")
def test_alike(line):
    alike(_HEAD + line)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("batch_first", [False, True])
def test_recurrent_layers(kind, batch_first):
    from torchlite.nn.utils._per_sample_grad import call_for_per_sample_grads

    torchlite.manual_seed(0)
    layer = getattr(torchlite.nn, kind)(3, 4, num_layers=2, bidirectional=True, batch_first=batch_first)
    dim = 0 if batch_first else 1
    x = torchlite.randn(2, 2, 3)  # as many steps as samples
    out, _ = call_for_per_sample_grads(layer, batch_first=batch_first)(x)
    out.pow(2).sum().backward()
    for sample in range(2):
        out, _ = layer(x.narrow(dim, sample, 1))
        wanted = torchlite.autograd.grad(out.pow(2).sum(), list(layer.parameters()))
        for p, g in zip(layer.parameters(), wanted):
            torchlite.testing.assert_close(p.grad_sample[sample], g)


def test_packed_sequences():
    from torchlite.nn.utils import rnn
    from torchlite.nn.utils._per_sample_grad import call_for_per_sample_grads

    torchlite.manual_seed(0)
    layer, parts = torchlite.nn.GRU(3, 4), [torchlite.randn(5, 3), torchlite.randn(2, 3)]
    packed, _ = call_for_per_sample_grads(layer, batch_size=2)(rnn.pack_sequence(parts))
    packed.data.pow(2).sum().backward()
    for sample, part in enumerate(parts):
        wanted = torchlite.autograd.grad(layer(part)[0].pow(2).sum(), list(layer.parameters()))
        for p, g in zip(layer.parameters(), wanted):
            torchlite.testing.assert_close(p.grad_sample[sample], g)


def test_a_function_asks_nobody_but_in_its_forward():
    seen = []

    class Kind(torchlite.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    class Twice(torchlite.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torchlite.ones(2).as_subclass(Kind).requires_grad_()
    seen.clear()
    Twice.apply(x)
    assert seen == ["mul"]
