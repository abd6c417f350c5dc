"""Objects and memory after many calls are where they were before:
results, errors, in-place, views, cycles, deep graphs."""

import gc
import sys

import pytest
import torchlite as torch
from torchlite import _C

BROWSER = sys.platform == "emscripten"


def live():
    return _C.memory_stats()[0]


def steady(call, times=50, objects=True):
    """Bytes in storages, and counted Python objects, do not grow with calls."""
    for _ in range(3):
        call()
    gc.collect()
    bytes_before, count_before = live(), len(gc.get_objects())
    for _ in range(times):
        call()
    gc.collect()
    assert live() == bytes_before
    if objects:
        assert len(gc.get_objects()) - count_before < times / 2


def fails(call, kind=Exception):
    def run():
        try:
            call()
        except kind:
            return
        raise AssertionError("no exception")

    return run


x = torch.arange(12.0).reshape(3, 4)
mask = x > 3
index = torch.tensor([0, 2])

CALLS = {
    "pointwise": lambda: (x + x * 2).sin().clamp(0, 1),
    "number": lambda: 2.5 * x - 1,
    "promote": lambda: x + torch.ones(4, dtype=torch.int64),
    "compare": lambda: (x > 1) & (x < 5),
    "reduce": lambda: (x.sum(), x.mean(1), x.max(0), x.std(), x.argmax(), x.prod(0)),
    "view": lambda: x.t()[1:].unsqueeze(0).expand(2, 3, 3)[0].reshape(-1),
    "index": lambda: (x[mask], x[index], x[index, index], x[:, None, ..., 1:], x[-1]),
    "setitem": lambda: (
        x.__setitem__((0, 0), 0.0),
        x.clone().__setitem__(mask, 1.0),
        x.clone().__setitem__(index, x[index]),
    ),
    "cat": lambda: (torch.cat([x, x]), torch.stack([x, x], 1), x.split(2), x.chunk(2, 1), torch.where(mask, x, 0.0)),
    "matmul": lambda: (x @ x.t(), torch.einsum("ij,kj->ik", x, x), torch.baddbmm(torch.ones(1), x[None], x.t()[None])),
    "sort": lambda: (x.sort(1), x.topk(2), x.unique(), x.argsort()),
    "nn": lambda: torch.nn.functional.conv2d(x[None, None], torch.ones(2, 1, 2, 2)),
    "norm": lambda: torch.nn.functional.layer_norm(x, (4,), torch.ones(4)),
    "loss": lambda: torch.nn.functional.cross_entropy(x, torch.tensor([0, 1, 3])),
    "in place": lambda: x.clone().add_(1).mul_(x).t_().zero_(),
    "out": lambda: (
        torch.add(x, x, out=torch.empty(3, 4)),
        torch.max(x, 1, out=(torch.empty(3), torch.empty(3, dtype=torch.int64))),
    ),
    "cast": lambda: (x.half().double().to(torch.int8), x.tolist(), x.sum().item()),
    "create": lambda: (
        torch.zeros(3),
        torch.eye(3),
        torch.arange(4),
        torch.linspace(0, 1, 5),
        torch.tensor([[1, 2], [3, 4]]),
        torch.randn(2),
    ),
    "linalg": lambda: torch.linalg.svd(x),
    "format": lambda: repr(x),
    "keywords": lambda: torch.sum(input=x, dim=(0, 1), keepdim=True),
    "parameter": lambda: torch.nn.Parameter(x),
    "binding error": fails(lambda: torch.add(x, "text"), TypeError),
    "binding error of a keyword": fails(lambda: x.sum(nonsense=1), TypeError),
    "binding error of a list": fails(lambda: torch.cat([x, 1]), TypeError),
    "shape error": fails(lambda: x + torch.ones(7), RuntimeError),
    "view error": fails(lambda: x.view(5), RuntimeError),
    "dim error": fails(lambda: x.sum(9), IndexError),
    "dtype error": fails(lambda: torch.ones(2, dtype=torch.int64).sin_(), RuntimeError),
    "index error": fails(lambda: x[torch.tensor([99])], IndexError),
    "out error": fails(lambda: torch.add(x, x, out=torch.empty(3, 4, dtype=torch.int64)), RuntimeError),
    "data error": fails(lambda: torch.tensor([[1, 2], [3]]), ValueError),
    "memory error": fails(lambda: torch.empty(10**15), torch.OutOfMemoryError),
    "leaf error": fails(lambda: torch.ones(2, requires_grad=True).add_(1), RuntimeError),
    "kernel error": fails(lambda: torch.linalg.cholesky(-torch.eye(3)), RuntimeError),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_keeps_no_reference(name):
    steady(CALLS[name])


def step():
    w = torch.nn.Parameter(torch.ones(4, 2))
    y = (x @ w).relu() * 2
    y[0] = 1.0
    y.mul_(2).sum().backward()
    return w.grad


def failing_backward():
    a = torch.ones(3, requires_grad=True)
    b = a.exp()
    b.add_(1)
    try:
        b.sum().backward()
    except RuntimeError:
        return
    raise AssertionError


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 2

    @staticmethod
    def backward(ctx, g):
        ctx.saved_tensors  # noqa: B018
        return g * 2


def custom():
    a = torch.ones(3, requires_grad=True)
    Double.apply(a).sum().backward()


def second_order():
    a = torch.ones(3, requires_grad=True)
    (g,) = torch.autograd.grad((a**3).sum(), a, create_graph=True)
    torch.autograd.grad(g.sum(), a)


def hooks():
    a = torch.ones(3, requires_grad=True)
    a.register_hook(lambda g: g * 2)
    b = a * 2
    b.retain_grad()
    b.register_hook(lambda g: None)
    b.sum().backward()


def cycle():
    a = torch.ones(100, requires_grad=True)
    b = a * 2
    b.me = b


def unused_graph():
    a = torch.ones(3, requires_grad=True)
    for _ in range(5):
        a = (a * a).view(3)[1:].expand(3, 2).sum(1)


GRAPHS = {f.__name__: f for f in (step, failing_backward, custom, second_order, hooks, cycle, unused_graph)}


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(name):
    steady(GRAPHS[name], times=30)


def test_graphs_need_no_collector():
    """Nothing but the objects the user made in a circle waits for the cycle collector."""
    gc.collect()
    gc.disable()
    try:
        for call in (step, custom, second_order, unused_graph, failing_backward):
            call()
            before = live()
            for _ in range(20):
                call()
            assert live() == before, call.__name__
    finally:
        gc.enable()


def test_arguments_keep_their_counts():
    y, dims, name = torch.ones(3, 4), (0, 1), "reflect"
    pads, shape = (1, 1), [2, 6]
    before = [sys.getrefcount(o) for o in (y, dims, name, pads, shape, torch.float64, None if BROWSER else torch.Size)]
    for _ in range(200):
        y.sum(dims)
        y.reshape(shape)
        torch.nn.functional.pad(y, pads, name)
        y.to(torch.float64)
        y + 1
        y[0, 1:]
        with pytest.raises(TypeError):
            torch.add(y, name)
        with pytest.raises(TypeError):
            y.sum(dims, dims, dims)
    after = [sys.getrefcount(o) for o in (y, dims, name, pads, shape, torch.float64, None if BROWSER else torch.Size)]
    assert all(abs(a - b) < 20 for a, b in zip(after, before)), (before, after)


# ---- deep graphs: neither the backward pass nor the end of a graph may use the C stack for its depth -----------------
DEPTH = 100_000


@pytest.mark.parametrize(
    "op",
    [
        lambda y: y + 1,
        lambda y: y.sin(),
        lambda y: y.view(2),
        lambda y: y * y,
        lambda y: y.mul_(1.0) if y.grad_fn else y.clone(),
    ],
    ids=["add", "sin", "view", "mul", "in place"],
)
@pytest.mark.parametrize("backward", [True, False])
def test_deep_graphs(op, backward):
    a = torch.ones(2, requires_grad=True)
    y = a
    for _ in range(DEPTH if op(a).grad_fn.name() == "AddBackward0" else DEPTH // 3):
        y = op(y)
    if backward:
        y.sum().backward()
        assert a.grad.shape == (2,)
    del y


def test_deep_graph_of_functions():
    y = torch.ones(2, requires_grad=True)
    for _ in range(DEPTH // 10):
        y = Double.apply(y)
    del y


def test_deep_graph_of_gradients():
    a = y = torch.ones(2, requires_grad=True)
    for _ in range(DEPTH // 10):
        y = y.sin()
    (g,) = torch.autograd.grad(y.sum(), a, create_graph=True)
    del y, g


@pytest.mark.skipif(
    BROWSER, reason="chains of plain Python objects are the interpreter's business: they overflow there"
)
def test_chain_of_attributes():
    y = torch.ones(1)
    for _ in range(DEPTH):
        z = torch.ones(1)
        z.before = y
        y = z
    del y, z


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0, 2**31)])
def test_size_is_its_tuple_to_a_dict(shape):
    """From Python 3.14 on tuples keep their hash."""
    size = torch.Size(shape)
    assert hash(size) == hash(shape) and size == shape and shape == size and {shape: 1}[size] == 1
    assert size != (*shape, 1) and size != torch.Size((*shape, 1))
