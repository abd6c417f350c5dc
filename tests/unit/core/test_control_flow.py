"""torch.cond, torch.while_loop and torch._higher_order_ops: values, nesting, gradients, vmap, errors.

PyTorch captures them with its compiler, which takes seconds; the numbers here were compared with it once."""

import operator

import pytest

import torchlite as torch
from torchlite import _higher_order_ops as ops

X = torch.arange(4.0)


@pytest.mark.parametrize("pred", (True, 2, torch.tensor(True), torch.tensor([3])))
def test_cond_takes_one_branch(pred):
    def fail(x):
        raise AssertionError("this branch must not run")

    assert torch.equal(torch.cond(pred, lambda x: x + 1, fail, (X,)), X + 1)
    assert torch.equal(
        torch.cond(pred * 0 if isinstance(pred, int) else ~pred.bool(), fail, lambda x: x - 1, (X,)), X - 1
    )


def test_cond_with_vmap_and_gradients():
    def call(p, x):
        return torch.cond(p, lambda x: {"y": x * 3}, lambda x: {"y": x - 1}, (x,))["y"]

    x = torch.ones(2, 2, requires_grad=True)
    y = torch.vmap(call)(torch.tensor([True, False]), x)
    assert y.tolist() == [[3, 3], [0, 0]]
    (grad,) = torch.autograd.grad(y.sum(), x)
    assert grad.tolist() == [[3, 3], [1, 1]]


@pytest.mark.parametrize(
    "args, text",
    [
        ((X > 0, abs, abs, (X,)), "single-element tensor"),
        (("a", abs, abs, (X,)), "Expected pred to be bool or tensor"),
        ((torch.tensor(True), 1, abs, (X,)), "both branches to be callable"),
        ((torch.tensor(True), abs, abs, (1,)), "only consists of tensor leaves"),
        ((torch.tensor(True), abs, abs, X), "Expect operands to be a tuple"),
    ],
)
def test_cond_refuses(args, text):
    with pytest.raises(RuntimeError, match=text):
        torch.cond(*args)


def test_while_loop():
    i, found = torch.while_loop(
        lambda i, d: i < 3, lambda i, d: (i + 1, {"a": d["a"] * 2}), (torch.tensor(0), {"a": X})
    )
    assert i.item() == 3 and torch.equal(found["a"], X * 8)
    assert torch.while_loop(lambda i: i < 3, lambda i: (i + 2,), (0,)) == (4,)
    (same,) = torch.while_loop(lambda x: False, lambda x: (x,), (X,))
    assert torch.equal(same, X) and same.data_ptr() != X.data_ptr()
    with pytest.raises(RuntimeError, match="boolean scalar tensor"):
        torch.while_loop(lambda x: x > 0, lambda x: (x,), (X,))
    with pytest.raises(AssertionError, match="same number of elements"):
        torch.while_loop(lambda x: True, lambda x: (x, x), (X,))
    with pytest.raises(AssertionError, match="can only be of"):
        torch.while_loop(lambda x: True, lambda x: (x,), (1.0,))


@pytest.mark.parametrize("reverse", (False, True))
@pytest.mark.parametrize("n", range(1, 10))
def test_associative_scan_is_the_running_result(n, reverse):
    xs = torch.rand(2, n, dtype=torch.float64, requires_grad=True)
    found = ops.associative_scan(operator.mul, xs, 1, reverse=reverse, combine_mode="generic")
    want = xs.flip(1).cumprod(1).flip(1) if reverse else xs.cumprod(1)
    torch.testing.assert_close(found, want)
    torch.testing.assert_close(*(torch.autograd.grad(y.square().sum(), xs)[0] for y in (found, want)))


def test_scan_carries():
    def step(carry, x):
        return {"a": carry["a"] + x[0]}, [carry["a"] * 2, x[1].sum()]

    carry, (y, z) = ops.scan(step, {"a": torch.zeros(2)}, (torch.ones(3, 2), torch.ones(3, 2)))
    assert carry["a"].tolist() == [3, 3] and y.tolist() == [[0, 0], [2, 2], [4, 4]] and z.tolist() == [2, 2, 2]
    carry, y = ops.scan(
        lambda c, x: (c + x, c * 2), torch.zeros(2), torch.arange(6.0).reshape(2, 3), dim=1, reverse=True
    )
    assert carry.tolist() == [3, 12] and y.tolist() == [[6, 4, 0], [18, 10, 0]]
    with pytest.raises(RuntimeError, match="a carry of the same sizes"):
        ops.scan(lambda c, x: (c[:1], c), torch.ones(2), torch.ones(2, 2))


def test_map_stacks():
    y, d = ops.map(lambda xs, k: (xs[0] + xs[1], {"k": xs[0] * k}), (torch.ones(2, 2), torch.ones(2, 2)), 3)
    assert y.tolist() == [[2, 2], [2, 2]] and d["k"].tolist() == [[3, 3], [3, 3]]
    with pytest.raises(RuntimeError, match="cannot be 0"):
        ops.map(abs, torch.ones(0, 2))
