"""Gradients of leaves: what nobody else sees is not copied, and nothing waits longer than it must."""

import pytest

import torchlite as torch
from torchlite import _C

COPIES = ("aten::clone", "aten::copy_", "aten::add", "aten::add_")
LAYERS = {
    "linear": lambda: (torch.nn.Linear(6, 5), torch.randn(4, 6)),
    "linear of a batch": lambda: (torch.nn.Linear(6, 5), torch.randn(2, 4, 6)),
    "convolution": lambda: (torch.nn.Conv2d(2, 3, 3), torch.randn(2, 2, 5, 5)),
    "transposed": lambda: (lambda x: x @ weight.t(), torch.randn(4, 6)),
}
weight = torch.randn(5, 6, requires_grad=True)


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_are_not_copied(name):
    """What a node computed for a leaf becomes its gradient, also as a view that is alone with its memory."""
    layer, x = LAYERS[name]()
    loss = layer(x).sum()
    with torch.profiler.profile() as seen:
        loss.backward()
    assert not [e.key for e in seen.key_averages() if e.key in COPIES]
    given = [weight] if name == "transposed" else list(layer.parameters())
    assert all(p.grad._base is None and p.grad.is_contiguous() for p in given)


@pytest.mark.parametrize("kept", ["base", "view"])
def test_gradients_that_others_see_are_copied(kept):
    found = []

    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            base = torch.ones(6)
            view = base.view(2, 3)
            found.append(base if kept == "base" else base.view(6))
            return view

    x = torch.zeros(2, 3, requires_grad=True)
    Keeps.apply(x).sum().backward()
    x.grad.zero_()
    assert found[0].tolist() == [1] * 6


def test_gradients_are_freed_one_by_one():
    """Those that are copied to their leaf do not wait for the others."""
    leaves = [torch.zeros(1 << 18, requires_grad=True) for _ in range(8)]
    live, _ = _C.memory_stats()
    most = []
    for leaf in leaves:
        leaf.register_post_accumulate_grad_hook(lambda t: most.append(_C.memory_stats()[0] - live))
    sum(leaf.view(512, 512).t().sum() for leaf in leaves).backward()
    assert max(most) < 9.5 * (1 << 20)
