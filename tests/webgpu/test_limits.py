"""What the webgpu device's native half does at its limits: buffers of a kernel, counts of elements,
memory of what waits, interrupts, other tasks."""

import gc

import pytest
import torchlite as torch

pytestmark = pytest.mark.usefixtures("bridge")
D = "webgpu"


@pytest.fixture
def stream():
    torch.zeros(1, device=D).item()
    from torchlite.webgpu.lazy import stream as _stream

    return _stream


def test_sums_of_many_products(stream, bridge, monkeypatch):
    """Each product is an input of the expression it is part of, and browsers bind eight buffers to a kernel."""
    keys = []
    real = bridge.plan
    monkeypatch.setattr(bridge, "plan", lambda key: keys.append(key) or real(key), raising=False)

    def f(x):
        w = x[:4, :4].clone().requires_grad_()
        loss = sum((w[i] ** 2).sum() for i in range(4)) + sum(x[i].mean() for i in range(20)) / 3
        loss.backward()
        each = (
            x.sum()
            + x.mean()
            + x.amax()
            + x.amin()
            + x.std()
            + x.var()
            + torch.linalg.vector_norm(x)
            + x.logsumexp((0, 1))
        )
        rows = sum((x[i : i + 2] @ x[:4, :4] for i in range(0, 20, 2)), 0.5)
        kinds = sum((x.view(torch.int32) >> k) * 1e-9 + x * k for k in range(5))
        return loss.detach(), w.grad, each, rows, kinds

    x = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))
    for got, want in zip(f(x.to(D)), f(x)):
        torch.testing.assert_close(got.cpu(), want, rtol=1e-4, atol=1e-4)
    counts = [buffers(key) for key in keys if key.startswith("expression:\0")]
    assert counts and max(counts) <= stream.core.MAX_BUFFERS


def buffers(key):
    """Of a kernel without a product, from its description (make_key in native/src/gpu/gpu_run.c)."""
    data = key.removeprefix("expression:").encode("latin-1")
    at = 3
    for _ in range(data[2]):
        at += 2 if data[at] else 6 + data[at + 5]
    inputs = data[at]
    aliases = data[at + 2 : at + 2 + 2 * inputs : 2]
    return aliases.count(255) + (len(data) - at - 1 - 2 * inputs) // 2


def test_too_many_elements():
    a, b = torch.ones(65536, 1, device=D), torch.ones(1, 65537, device=D)
    wide = torch.ones(1, device=D).expand(65536, 65537)
    for f in (
        lambda: a * b,
        lambda: (a * b).sum(),
        lambda: wide.sum(),
        lambda: wide.count_nonzero(),
        lambda: wide.argmax(),
        lambda: wide.sum(1),
        lambda: wide.softmax(1),
        lambda: wide + 1,
    ):
        with pytest.raises(RuntimeError, match="at most 2147483647 elements"):
            f().cpu()
    assert wide[:100, :100].sum().item() == 10000


@pytest.mark.slow
def test_what_waits_keeps_little_memory():
    w = torch.ones(1024, 4, device=D)

    def kept(f):
        torch.webgpu.synchronize()
        before = torch.webgpu.memory_allocated()
        results = [f(torch.ones(1024, 1024, device=D) + k) for k in range(40)]  # 4 MiB each
        after = torch.webgpu.memory_allocated() - before
        assert [r.cpu().isfinite().all().item() for r in results] == [True] * 40
        return after

    forms = (lambda x: x @ w, lambda x: torch.relu(x @ w), lambda x: 100 * x.mean(), lambda x: x[0, 0] * 2)
    for f in forms:
        assert kept(f) < 60 << 20
    failing = []  # they can never run
    for _ in range(20):
        row = torch.ones(4, device=D)[torch.tensor([9], device=D) + 0]
        failing.append(row.sum() * 2)
        for read in (row.tolist, failing[-1].item):
            with pytest.raises(IndexError):
                read()
    for f in forms:
        assert kept(f) < 60 << 20
    with pytest.raises(IndexError):
        failing[0].item()


@pytest.mark.slow
def test_collections_during_small_writes():
    class Cycle:
        pass

    x = torch.arange(20)
    x.to(D).cpu()
    for k in range(1, 40):
        gc.disable()
        gc.collect()
        c = Cycle()
        c.me, c.t = c, torch.ones(4, device=D)
        del c
        gc.set_threshold(gc.get_count()[0] + k)
        gc.enable()
        y = x.to(D)
        gc.set_threshold(700)
        assert y.tolist() == list(range(20))


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError, RecursionError, MemoryError])
def test_stopped_before_the_bridge_has_a_batch(bridge, monkeypatch, error):
    x = torch.zeros(4, device=D)
    x.cpu()
    x.add_(1)

    def stopped(address, count):
        raise error("stop")

    with monkeypatch.context() as m:
        m.setattr(bridge, "run_at", stopped, raising=False)
        with pytest.raises(error):
            x.cpu()
    assert x.tolist() == [1.0] * 4
    assert (torch.ones(4, device=D) * 3).tolist() == [3.0] * 4


def test_interrupted_after_an_allocation(bridge, monkeypatch):
    torch.webgpu.synchronize()
    slots = bridge.stats()["slots"]
    real = bridge.alloc

    def alloc(handle, nbytes):
        real(handle, nbytes)
        raise KeyboardInterrupt

    with monkeypatch.context() as m:
        m.setattr(bridge, "alloc", alloc, raising=False)
        with pytest.raises(KeyboardInterrupt):
            torch.empty(1 << 20, device=D).fill_(1).cpu()
    for k in range(3):
        assert (torch.ones(4, device=D) + k).tolist() == [1.0 + k] * 4
    gc.collect()
    torch.webgpu.synchronize()
    assert bridge.stats()["slots"] <= slots


def test_interrupts_while_room_is_made_are_told(bridge, monkeypatch):
    a = torch.ones(4, 4, device=D)
    a.cpu()
    waiting = [torch.tanh(a * (k + 0.5)) @ a for k in range(8)]

    def plan(key):
        raise KeyboardInterrupt

    with monkeypatch.context() as m:
        m.setattr(bridge, "plan", plan, raising=False)
        with pytest.raises(KeyboardInterrupt):
            for k in range(3):
                waiting.append(torch.cosh(a * (k + 9.5)) @ a)
    for k, t in enumerate(waiting[:8]):
        torch.testing.assert_close(t.cpu(), torch.tanh(torch.ones(4, 4) * (k + 0.5)) @ torch.ones(4, 4))


def test_other_tasks_run_between_ops(bridge, monkeypatch):
    """Where very much is under way Python waits, and other tasks may run: never while an op is taken apart."""
    n = 1 << 19  # allocated at once, which hands over what was recorded
    ran = []

    def check(make, others, want):
        once = []

        def drain():
            if not once:
                once.append(1)
                ran.append(others(x, y))

        x = torch.ones(n, device=D)
        torch.webgpu.synchronize()
        y = make(x)
        with monkeypatch.context() as m:
            m.setattr(bridge, "backlogged", lambda: True, raising=False)
            m.setattr(bridge, "drain", drain, raising=False)
            torch.zeros(5, device=D).cpu()
            out = y[:2].tolist()
        assert out == want

    check(lambda x: x * 2, lambda x, y: y[:2].tolist(), [2.0, 2.0])
    check(lambda x: x * 2, lambda x, y: x.add_(10), [2.0, 2.0])
    check(lambda x: (x * 2) + 1, lambda x, y: x.add_(10), [3.0, 3.0])
    check(lambda x: x.view(-1, 2) @ torch.eye(2, device=D), lambda x, y: x.add_(10), [[1.0, 1.0], [1.0, 1.0]])
    assert len(ran) >= 4
