"""quantile and nanquantile are made of PyTorch's ops: same history, views, values and gradients."""

import itertools

import pytest

import torchlite

torch = pytest.importorskip("torch")
SHAPES = [(), (1,), (3,), (3, 4), (2, 3, 4), (4, 1)]


def names(node):
    found = []
    while node is not None:
        found.append(node.name().rstrip("0123456789"))
        node = node.next_functions[0][0] if node.next_functions else None
    return found


def outcome(lib, function, shape, dim, keepdim, q, mode):
    x = lib.linspace(-1, 1, lib.Size(shape).numel()).reshape(shape).requires_grad_()
    q = q if isinstance(q, float) else lib.tensor(q)
    y = getattr(lib, function)(x, q, dim, keepdim, interpolation=mode)
    (g,) = lib.autograd.grad(y.sum(), [x])
    facts = tuple(y.shape), y.stride(), y._is_view(), names(y.grad_fn), g._is_view(), g.stride()
    return facts, y.tolist(), g.tolist()


@pytest.mark.parametrize("function", ["quantile", "nanquantile"])
@pytest.mark.parametrize("shape", SHAPES)
def test_history(function, shape):
    dims = [None, *range(-max(1, len(shape)), len(shape))]
    for case in itertools.product(dims, (False, True), (0.4, [0.1, 0.6], [0.5]), ("linear", "lower", "midpoint")):
        ours, theirs = (outcome(lib, function, shape, *case) for lib in (torchlite, torch))
        assert ours[0] == theirs[0], case
        for mine, expected in zip(ours[1:], theirs[1:], strict=True):
            torch.testing.assert_close(torch.tensor(mine), torch.tensor(expected), msg=str(case))


def test_gradient_may_be_written_to():
    x = torchlite.tensor([-1.5], requires_grad=True)
    y = x.quantile(0.4, -1)
    (g,) = torchlite.autograd.grad(y.sum(), [x])
    g -= y
    assert g.tolist() == [2.5]
