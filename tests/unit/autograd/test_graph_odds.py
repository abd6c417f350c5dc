"""Corners of the graph, compared with PyTorch: saved tensors and their hooks, parts that are no views, names of nodes,
views of inference mode, empty convolutions."""

import re

import pytest

import torchlite
from alike import cases, outcome, torch

LEAD = "x = torch.ones(2, 2, requires_grad=True); "


def shown(lib, line):
    return re.sub(r"object at 0x\w+", "object", repr(outcome(lib, LEAD + line)))


@cases("""
y = x * x; y.grad_fn._raw_saved_self, y.grad_fn._raw_saved_other
type((x * x).grad_fn._raw_saved_self)()
y = x.exp(); y.grad_fn._raw_saved_result.register_hooks(lambda t: t * 2, lambda t: t / 2); y.sum().backward(); x.grad
y = x * x; y.grad_fn._raw_saved_self.register_hooks(lambda t: t * 2, lambda t: t * 3); y.sum().backward(); x.grad
y = x * x; y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t); y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
y = x * x; y.sum().backward(); y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
y = x * x; y.grad_fn._raw_saved_self.register_hooks(lambda t: t.mul_(2), lambda t: t)
y = x * x; y.grad_fn._raw_saved_self.register_hooks(lambda t: 1, lambda t: t); y.sum().backward()
(x * x).grad_fn._raw_saved_nothing
torch.ones(4).unsafe_split(2), torch.unsafe_chunk(torch.ones(5), 2), torch.unsafe_split_with_sizes(torch.ones(4), [1, 3])
torch.ones(4).unsafe_chunk(0)
torch.ones(()).unsafe_chunk(1)
y = x.unsafe_split(1); y[0].mul_(2); y[0]._is_view(), y[0]._base, y[0].grad_fn.name(), y[1].grad_fn.name()
y = (x * 1).unsafe_chunk(2); y[0].mul_(2); (y[0].sum() + y[1].sum()).backward(); x.grad
y = (x * 1).unsafe_split_with_sizes([1, 1]); n = y[0].grad_fn.name(); y[0].mul_(2); (y[0].sum() + y[1].sum()).backward(); n, x.grad
b = torch.ones(4); c = b.unsafe_split(2); c[0].mul_(3); b, b._version, c[0]._version, c[1]._version
x.T.grad_fn.name(), x.mT.grad_fn.name(), x.t().grad_fn.name()
y = x * 1; y.set_(torch.ones(3)); y.grad_fn.name()
y = x * 1; c = torch.inference_mode(); c.__enter__(); v = y.view(4); c.__exit__(None, None, None); v.mul_(2)
y = x * 1; c = torch.inference_mode(); c.__enter__(); v = y.view(4); c.__exit__(None, None, None); v.view(2, 2).mul_(2)
y = x * 1; c = torch.inference_mode(); c.__enter__(); v = y.unbind(0)[0]; c.__exit__(None, None, None); v.mul_(2)
y = x * 1; c = torch.no_grad(); c.__enter__(); v = y.view(4); c.__exit__(None, None, None); v.mul_(2)
torch.ones(1, 2).expand(3, 2).copy_(1)
torch.ones(1, 2).expand(3, 2).copy_(torch.ones(4, 2))
torch.ones(1, 2, requires_grad=True).expand(3, 2).copy_(torch.ones(4, 2))
torch.ones(1, 2, requires_grad=True).mul(1).expand(3, 2).copy_(torch.ones(4, 2))
x.copy_(1)
F.conv1d(torch.ones(1, 0, 4), torch.ones(2, 0, 1))
F.conv1d(torch.ones(0, 4), torch.ones(2, 0, 1))
F.conv2d(torch.ones(1, 0, 4, 4), torch.ones(3, 0, 2, 2))
F.conv2d(torch.ones(0, 0, 4, 4), torch.ones(2, 0, 2, 2))
F.conv3d(torch.ones(1, 0, 4, 4, 4), torch.ones(2, 0, 1, 1, 1))
F.conv1d(torch.ones(1, 0, 4), torch.ones(2, 0, 1), groups=2)
F.conv_transpose1d(torch.ones(1, 0, 4), torch.ones(0, 2, 1))
i, w, b = torch.ones(1, 0, 4, requires_grad=True), torch.ones(2, 0, 1, requires_grad=True), torch.ones(2, requires_grad=True); F.conv1d(i, w, b).sum().backward(); i.grad, w.grad, b.grad
""")
def test_as_pytorch(line):
    assert shown(torchlite, line) == shown(torch, line)


@pytest.mark.parametrize("lib", [torchlite, torch], ids=["torchlite", "torch"])
def test_allow_mutation_on_saved_tensors(lib):
    graph = lib.autograd.graph
    a = lib.full((2,), 3.0, requires_grad=True)
    with graph.allow_mutation_on_saved_tensors() as context:
        b = a.clone()
        out = (b**2).sum() + b.view(2).exp().mul_(2).sum()
        b[0] = 5
        b.mul_(3)
        out.backward()
        assert [round(v, 3) for v in a.grad.tolist()] == [46.171] * 2
        late = (a.clone() ** 2).sum()
        cleared = (a.clone() ** 2).sum()
        context.clear()
    for loss in (late, cleared):
        with pytest.raises(
            AssertionError, match="Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
        ):
            loss.backward()
    with graph.allow_mutation_on_saved_tensors():
        with pytest.raises(RuntimeError, match="allow_mutation_on_saved_tensors contexts cannot be nested"):
            with graph.allow_mutation_on_saved_tensors():
                pass
