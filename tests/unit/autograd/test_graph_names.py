"""The graph that products and linear layers show: PyTorch's nodes, also where one node here stands for several."""

import pytest
from alike import alike

import torchlite

HEAD = """
def names(g):
    return None if g is None else (g.name(), type(g).__name__, [(names(n), i) for n, i in g.next_functions])
def linear(s, b, w, x): return nn.Linear(3, 2, bias=b).requires_grad_(w)(r(*s).requires_grad_(x)).grad_fn
def model(s): return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))(torch.ones(*s)).sum().grad_fn
def r(*shape): return torch.ones(shape, requires_grad=True)
shapes = ((3,), (4, 3), (2, 4, 3), (0, 3), (2, 0, 3), (5, 2, 4, 3))
"""


@pytest.mark.parametrize(
    "line",
    """
[names(linear(s, b, w, x)) for s in shapes for b in (0, 1) for w in (0, 1) for x in (0, 1)]
[names(F.linear(r(*s).mT, r(5, 2), bias).grad_fn) for s in ((2, 4), (3, 2, 4), (6, 3, 2, 4)) for bias in (None, r(5))]
[names(F.linear(r(*s)[..., 1:], r(5, 2), bias).grad_fn) for s in shapes[1:] for bias in (None, r(5))]
[names(F.linear(r(*s), r(3)).grad_fn) for s in shapes[:3]]
[names((r(*a) @ r(*b)).grad_fn) for a in shapes for b in ((3,), (3, 2))]
[names((r(*a) @ r(*a).mT).grad_fn) for a in shapes[2:] if 0 not in a]
x = r(2, 5, 3, 4).transpose(1, 2); names((x @ x.mT).grad_fn)
[names((r(2, 3, 4).movedim(i, 0) @ r(2, 3, 4).movedim(i, 0).mT).grad_fn) for i in (0, 1, 2)]
names((torch.ones(2, 4, 3) @ r(3, 5)).grad_fn)
x = r(3); [names(y.grad_fn) for y in (x * 2, 2 * x, x + 2, x - 2, 2 - x, x / 2, 2 / x, x.clone().mul_(2), x ** 2)]
x, y = r(3), r(2, 3); [names(torch.where(y > 0, a, b).grad_fn) for a in (x, y, 0.) for b in (x, y, torch.ones(3))[:2]]
x, y = r(3), torch.ones(2, 3); [names(z.grad_fn) for z in (x * y, y * x, x + y, x - y, y / x, x * torch.tensor(2.))]
[names(model(s)) for s in shapes]
""".strip().split("\n"),
)
def test_names(line):
    alike(HEAD + line)


@pytest.mark.parametrize(
    "line",
    """
seen(F.linear(r(4, 3), r(5, 3), r(5)))
seen(F.linear(r(2, 4, 3), r(5, 3), r(5)))
seen(F.linear(r(2, 4, 3), r(5, 3)))
seen(F.linear(r(2, 3, 4).mT, r(5, 3), r(5)))
seen(F.linear(r(3), r(5, 3)))
seen(F.linear(torch.ones(2, 4, 3), r(3)))
seen(r(2, 4, 3) @ r(2, 3, 5))
seen(r(2, 4, 3) @ r(3))
""".strip().split("\n"),
)
def test_hooks_of_all_nodes(line):
    """As programs that look for the node of a NaN do."""
    alike(
        HEAD
        + """
def shapes_of(gs): return [None if g is None else (tuple(g.shape), g.sum().item()) for g in gs]
def seen(y):
    found, todo = {}, [y.grad_fn]
    while todo:
        node = todo.pop(0)
        def hook(into, out, name=node.name()): found.setdefault(name, []).append((shapes_of(into), shapes_of(out)))
        node.register_hook(hook)
        node.register_prehook(lambda out, name=node.name(): found.setdefault('pre' + name, []).append(shapes_of(out)))
        todo += [n for n, _ in node.next_functions if n is not None]
    (y * torch.arange(1., 1 + y.numel()).reshape(y.shape)).sum().backward()
    return sorted((k, sorted(map(str, v))) for k, v in found.items() if 'Accumulate' not in k)
"""
        + line
    )


def test_parts_stay_and_lead_on():
    layer = torchlite.nn.Linear(3, 2)
    y = layer(torchlite.ones(4, 5, 3)).sum()
    top = y.grad_fn.next_functions[0][0]
    inner = top.next_functions[0][0]
    assert top.next_functions[0][0] is inner
    assert inner.next_functions[0][0].variable is layer.bias
    turned = inner.next_functions[2][0]
    assert turned.next_functions[0][0].variable is layer.weight
    handle = top.register_hook(lambda into, out: (2 * into[0],))
    with pytest.raises(NotImplementedError, match="hooks of ViewBackward0 cannot change gradients"):
        y.backward(retain_graph=True)
    handle.remove()
    inner.register_hook(lambda into, out: (into[0], into[1], into[2] + 1))
    turned.register_hook(lambda into, out: (2 * into[0],))
    y.backward()
    assert top.next_functions[0][0] is inner
    assert layer.weight.grad.tolist() == [[42.0] * 3] * 2 and layer.bias.grad.tolist() == [20.0, 20.0]
