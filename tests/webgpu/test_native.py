"""The native half of the webgpu device: lifetime of buffers, the command stream under errors and nested use,
new kernels."""

import gc
import random
import sys
import weakref

import pytest
import torchlite as torch

pytestmark = pytest.mark.usefixtures("bridge")


@pytest.fixture
def stream():
    torch.zeros(1, device="webgpu").item()
    from torchlite.webgpu.lazy import stream as _stream

    return _stream


@pytest.fixture
def instead(bridge, monkeypatch):
    """Replaces the bridge's run_at, whose original is the new one's first argument."""

    def replace(f):
        own = bridge.run_at
        monkeypatch.setattr(bridge, "run_at", lambda address, count: f(own, address, count), raising=False)

    return replace


def slots(bridge):
    gc.collect()
    torch.webgpu.synchronize()
    return bridge.stats()["slots"]


def test_buffers_go(bridge, stream):
    """After loops, exceptions, cycles and kernels with several results as many buffers are there as before."""
    a, c = torch.randn(8, 8, device="webgpu"), torch.randn(8, 8, device="webgpu")

    def work():
        x = a
        for _ in range(100):
            x = x + c
        for _ in range(30):
            x = (x @ c).tanh_()
        kept = [x * i for i in range(10)]
        assert len({t.sum().item() for t in kept}) > 1
        y = x * 2
        y += c
        y[1:3, ::2].mul_(3)
        for bad in (
            lambda: x + c[:3],
            lambda: x.add_(torch.ones(3, 8, 8, device="webgpu")),
            lambda: (x > 0).add_(0.5),
            lambda: x + torch.ones(5),
        ):
            with pytest.raises(RuntimeError):
                bad()
        z = x + 1
        z.itself = [z]  # only the garbage collector frees this
        p = c.clone().requires_grad_()
        (p * a).relu().sum().backward()
        assert p.grad is not None

    work()
    before, waiting = slots(bridge), len(stream.pending_buffers())
    for _ in range(3):
        work()
    assert slots(bridge) == before and len(stream.pending_buffers()) == waiting


def test_reference_counts(stream):
    """Parts of expressions own what they are made of, and nothing else."""
    Buffer, core = stream.Buffer, stream.core
    t = torch.ones(4, device="webgpu")
    t.tolist()
    buffer = torch._C.geometry(t)[0]
    refs, number = sys.getrefcount(buffer), float("1234.5")
    of_number = sys.getrefcount(number)
    leaf = core.Leaf(buffer, "float32", (1,), 0)
    node = core.expression("add", [leaf, core.Number(number, "float32")], "float32", None, (4,))
    assert (
        node.args[0] is leaf
        and node.args[1].value == 1234.5
        and node.leaves == {(id(buffer), (1,), 0): buffer}
        and node.shape == (4,)
    )
    assert (node.op, node.dtype, node.compute, node.count, node.holder) == ("add", "float32", None, 1, None)
    assert (leaf.strides, leaf.offset, leaf.dtype, core.Leaf(buffer, "bool", None, 3).strides) == (
        (1,),
        0,
        "float32",
        None,
    )
    r = core.result(node, torch.float32)
    holder = torch._C.geometry(r)[0]
    assert holder.pending is node and node.holder is holder and [b for b in stream.pending_buffers() if b is holder]
    assert r.tolist() == [1235.5] * 4 and holder.pending is None and node.holder is None
    gone = weakref.ref(holder)
    del node, leaf, r, holder
    gc.collect()
    assert gone() is None and sys.getrefcount(buffer) == refs and sys.getrefcount(number) == of_number
    waits = Buffer(16)
    waits.pending = core.Node("neg", [core.Leaf(buffer, "float32", None, 0)], "float32", None, (4,))
    before = len(stream.pending_buffers())
    del waits
    assert len(stream.pending_buffers()) == before - 1 and sys.getrefcount(buffer) == refs


@pytest.mark.parametrize(
    "make",
    [
        lambda c: c.Node("add", [1], "float32", None, (2,)),
        lambda c: c.Node("add", [], "float31", None, (2,)),
        lambda c: c.Node(1),
        lambda c: c.Leaf(3, "float32", None, 0),
        lambda c: c.Number(1, None),
        lambda c: c.expression("add", None, "int32", None, (1,)),
        lambda c: c.launch(1, [1.5], []),
        lambda c: c.launch(1, [1], ["x"]),
        lambda c: c.run(None, []),
        lambda c: c.ready(None),
        lambda c: c.words.extend([None]),
        lambda c: c.result(3, torch.float32),
        lambda c: c.operand(3, (2,)),
        lambda c: c.assign(3, 3),
    ],
)
def test_wrong_arguments(stream, make):
    n = len(stream.words)
    with pytest.raises(TypeError):
        make(stream.core)
    assert len(stream.words) == n


def test_new_kernels(stream, bridge, monkeypatch):
    """A kernel is described once; an error while that is done changes nothing."""
    keys = []
    real = bridge.plan
    monkeypatch.setattr(bridge, "plan", lambda key: keys.append(key) or real(key), raising=False)
    x = torch.arange(6, dtype=torch.float32, device="webgpu").reshape(2, 3)
    seen = []
    for _ in range(3):
        y = x
        for _ in range(3):
            y = torch.where(y > 1.25, y * 0.5, y.exp() - 3)
        y.cpu()
        seen.append(len(keys))
    assert seen[0] > 0 and seen == seen[:1] * 3

    def fail(key):
        raise RuntimeError("no plan today")

    z = (x - 7.5).abs().sqrt().neg()
    kept = z * 2
    monkeypatch.setattr(bridge, "plan", fail, raising=False)
    waiting = len(stream.pending_buffers())
    with pytest.raises(RuntimeError, match="no plan today"):
        kept.cpu()
    assert len(stream.pending_buffers()) == waiting  # both still wait
    monkeypatch.setattr(bridge, "plan", real, raising=False)
    wanted = (x.cpu() - 7.5).abs().sqrt().neg()
    torch.testing.assert_close(kept.cpu(), wanted * 2)
    torch.testing.assert_close(z.cpu(), wanted)


def test_commands_while_others_are_handed_over(stream, instead):
    """What other code does meanwhile goes into a stream of its own, in order and complete."""
    seen = []

    def nested(run, address, count):
        run(address, count)
        seen.append(count)
        if len(seen) == 1:
            t = torch.ones(5, device="webgpu") * 3
            assert t.tolist() == [3.0] * 5

    x = torch.zeros(3, device="webgpu")
    y = x + 4
    stream.ready(torch._C.geometry(y)[0])
    instead(nested)
    stream.flush()
    assert len(seen) >= 2 and len(stream.words) == 2  # t is gone
    assert (y + 1).tolist() == [5.0] * 3


def test_a_batch_that_fails(stream, instead):
    """Its error is raised; the stream goes on."""
    fail = [True]

    def run(own, address, count):
        own(address, count)
        if fail:
            raise RuntimeError("the bridge is upset")

    instead(run)
    x = torch.ones(3, device="webgpu")
    with pytest.raises(RuntimeError, match="upset"):
        (x + 1).cpu()
    fail.clear()
    assert (x + 1).tolist() == [2.0] * 3


def test_many_commands(stream, instead):
    batches = []
    instead(lambda own, address, count: (batches.append(count), own(address, count)))
    a = torch.ones(4, device="webgpu")
    for _ in range(3000):
        a = a * 1.0
        stream.ready(torch._C.geometry(a)[0])
    assert a.tolist() == [1.0] * 4 and len(batches) > 3 and max(batches) < 9000


def test_the_same_op_with_other_numbers():
    """What is remembered of a call depends on its types only;
    a number that chooses the operation does not count as type."""
    x = torch.tensor([1.0, -2.0], device="webgpu")
    for alpha in (1, 1.0, 2.0, 2, 1.0, 3):
        assert torch.add(x, x, alpha=float(alpha)).tolist() == torch.add(x.cpu(), x.cpu(), alpha=float(alpha)).tolist()
        assert torch.rsub(x, 3, alpha=alpha).tolist() == torch.rsub(x.cpu(), 3, alpha=alpha).tolist()
        assert torch.rsub(x, x, alpha=alpha).tolist() == torch.rsub(x.cpu(), x.cpu(), alpha=alpha).tolist()
        y = x * 2
        assert torch.rsub(x, y, alpha=alpha).tolist() == torch.rsub(x.cpu(), y.cpu(), alpha=alpha).tolist()
    for numbers in ((0, 2, 3), (5, 2, 3), (1, 2, 3.0), (4, 2, 3.0), (1.0, 1.0, 1.0), (2.0, 3.0, 1.0)):
        for f in (torch.nn.functional.elu,):
            assert torch.allclose(f(x, numbers[0]).cpu(), f(x.cpu(), numbers[0]), atol=1e-6)
        assert torch.allclose(torch.ops.aten.elu(x, *numbers).cpu(), torch.ops.aten.elu(x.cpu(), *numbers), atol=1e-5)
    i = torch.tensor([1, 2], device="webgpu")
    for n in (1, 2, 1.5, 2**40, -3):
        for f in (lambda t, n: t * n, lambda t, n: t + n, lambda t, n: t < n, lambda t, n: n - t):
            assert f(i, n).tolist() == f(i.cpu(), n).tolist() and f(i, n).dtype == f(i.cpu(), n).dtype


def test_in_place_on_what_is_put_off(stream):
    x = torch.arange(6, dtype=torch.float32, device="webgpu")
    y = x * 2
    view, twice = y[2:4], y + y
    y += 1
    y.mul_(3)
    later = y - 1
    view -= 100
    assert y.tolist() == [3.0, 9.0, -85.0, -79.0, 27.0, 33.0]
    assert twice.tolist() == [0.0, 4.0, 8.0, 12.0, 16.0, 20.0] and later.tolist() == [2.0, 8.0, 14.0, 20.0, 26.0, 32.0]
    z = x.to(torch.int32) + 1
    z += x.to(torch.int32) * 2
    assert z.tolist() == [1, 4, 7, 10, 13, 16] and z.dtype is torch.int32
    with pytest.raises(RuntimeError, match="can't be cast"):
        z += 0.5
    h = (x / 3).half()
    h += x / 7
    assert h.dtype is torch.float16 and torch.allclose(
        h.cpu().float(), (x.cpu() / 3).half().float() + x.cpu() / 7, rtol=2e-3
    )


def test_layouts():
    """A repeated op finds the CPU's values, shape and strides for any order of dims, broadcast or expanded operands,
    in place too."""
    rng = random.Random(1)
    torch.manual_seed(1)
    for _ in range(40):
        size = [rng.choice((1, 2, 3, 5)) for _ in range(rng.randrange(1, 5))]
        n = len(size)
        whole = torch.randn([k + 1 for k in size])
        there = whole.to("webgpu")
        order, cut = rng.sample(range(n), n), rng.random() < 0.3
        wide = rng.randrange(n) if rng.random() < 0.3 else None
        drop = rng.randrange(n)

        def operands(t):
            x = t[tuple(slice(k) for k in size)] if cut else t * 1
            x = x.permute(order)
            y = x.clone() if wide is None else x.select(wide, 0).unsqueeze(wide).expand(x.shape)
            return x, y, (x * 2 + 1).abs()[(0,) * drop]

        for _ in range(2):
            results = []
            for t in (whole, there):
                x, y, z = operands(t)
                w = x + y
                w *= z
                v = x.clone()
                v.sub_(y).mul_(0.5)
                (v.t() if v.dim() == 2 else v).add_(1.0)
                results.append((w, y * x, torch.where(z > 1, y, x), v, -x, x - 1.5))
            for a, b in zip(*results):
                assert b.stride() == a.stride() or wide is not None or 1 in a.shape  # strides of size-1 dims are free
                torch.testing.assert_close(b.cpu(), a, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("taken", [False, True])
def test_interrupted_on_the_way(stream, instead, taken):
    """Commands that were on their way to the bridge when the user interrupted are neither lost nor run twice."""
    x = torch.zeros(5, device="webgpu")
    calls = []

    def interrupted(run, address, count):
        calls.append(count)
        if len(calls) % 2 == 0:
            return run(address, count)
        if taken:
            run(address, count)
        stream.flush()
        torch.ones(3, device="webgpu").add_(1)  # finalizers may add commands meanwhile
        raise KeyboardInterrupt

    instead(interrupted)
    for _ in range(3):
        x += 1
        y = x.cumsum(0)
        with pytest.raises(KeyboardInterrupt):
            stream.flush()
        assert y.tolist() == [x[0].item() * k for k in range(1, 6)]
        calls[:] = []
    assert x.tolist() == [3] * 5
