"""The workers that large products run on inside Pyodide: started, used, missing, dead."""

import os
import sys

import pytest
import torchlite as torch

F = torch.nn.functional
pytestmark = pytest.mark.skipif(sys.platform != "emscripten", reason="a page's workers")

if sys.platform == "emscripten":
    from torchlite._core import page_threads as page


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def product(n=420):
    a = torch.arange(float(n * n)).view(n, n) / 1e5
    return a @ a


def started(n=2):
    if not page.possible():
        pytest.skip("no workers for this build")
    torch.set_num_threads(1)
    want = product()
    torch.set_num_threads(n)
    assert torch.equal(product(), want)  # starts them, and waits where Python may be suspended
    if page._pool is None:
        pytest.skip("Python cannot wait for workers here: " + (page.problem or "no stack switching"))
    return want


def test_default():
    import js

    cores = getattr(getattr(js, "navigator", None), "hardwareConcurrency", 1)
    assert page.default() == (max(1, min(page.MOST, cores)) if page.possible() else 1)


def test_workers_take_parts():
    want = started()
    assert page._pool.workers() == 1
    taken = 0
    for _ in range(300):
        assert torch.equal(product(), want)
        taken |= page._pool.debug.exports.results()
        if taken:
            break
    assert taken


def test_one_thread_ends_them():
    started()
    torch.set_num_threads(1)
    assert page._pool is None
    product()
    assert page._pool is None


@pytest.mark.slow
def test_many_workers():
    want = started(4)
    assert page._pool.workers() == 3
    assert torch.equal(product(), want)


# the caller comes back when workers have done all parts but its own
PATIENT = """(debug) => {
    const start = debug.calls[0];
    debug.calls[0] = (order) => {
        const started = start(order);
        const end = performance.now() + 5000;
        while (started && !debug.exports.finished(0) && performance.now() < end) {}
        return started;
    };
}"""


def convolution(x, w, **options):
    """The result and all gradients."""
    x, w, bias = torch.randn(x), torch.randn(w), torch.randn(w[0])

    def run():
        leaves = [t.detach().requires_grad_() for t in (x, w, bias)]
        y = F.conv2d(*leaves, **options)
        return (y, *torch.autograd.grad(y, leaves, torch.linspace(-1, 1, y.numel()).view(y.shape)))

    return run


def cases():
    a, b, c = torch.randn(300, 290), torch.randn(290, 310), torch.randn(300, 310)
    tall, q = torch.randn(1900, 64), torch.randn(6, 9, 130, 20)
    long, wide = torch.randn(9500, 90), torch.randn(40, 9500)
    yield "columns", lambda: a @ b
    yield "a transposed operand", lambda: a.t() @ c
    yield "rows", lambda: tall @ b[:64, :90]
    yield "added to", lambda: torch.addmm(c, a, b)
    yield "a bias", lambda: F.linear(a, b.t().contiguous(), c[0])
    yield "a batch", lambda: q @ q.transpose(-1, -2)
    yield "a batch that repeats", lambda: q @ q[:, :1].transpose(-1, -2)
    yield "dot products", lambda: F.linear(a[:40], torch.cat([b, b], 1).t().contiguous())
    yield "deep", lambda: wide @ long
    yield "convolution of images", convolution((5, 16, 31, 33), (24, 16, 3, 3), padding=1)
    yield "convolution with a stride", convolution((3, 16, 64, 64), (32, 16, 3, 3), stride=2, padding=1)
    yield "convolution of groups", convolution((2, 32, 40, 40), (64, 16, 3, 3), groups=2)


def test_all_that_workers_compute():
    import js

    started()
    debug = page._pool.debug
    js.eval(PATIENT)(debug)
    torch.manual_seed(0)
    for name, run in cases():
        torch._C.set_threads(1)
        want = run()
        torch._C.set_threads(2)
        debug.exports.publish(0, 1)  # no part of an earlier product
        got = run()
        pairs = zip(want, got) if isinstance(want, tuple) else [(want, got)]
        assert all(torch.equal(x, y) for x, y in pairs), name
        assert debug.exports.results(), name


SPOIL = """(pyodide, debug) => {
    const start = debug.calls[0];
    debug.calls[0] = (order) => {
        const heap = pyodide._module.HEAPU32;
        const parts = heap[(order >> 2) + 1];
        const [from, to, bytes] = heap.subarray((order >> 2) + 3, (order >> 2) + 6);
        heap[(from + bytes / parts + 24) >> 2] = 0xffffff00; // where part 1 finds its first operand
        const started = start(order);
        const end = performance.now() + 20;
        while (performance.now() < end) {}
        return started;
    };
}"""


def test_a_worker_that_dies(monkeypatch):
    import js
    import pyodide_js

    monkeypatch.setattr(page, "PATIENCE", 100)
    want = started()
    # workers get a wrong address and the time to take a part: they end with an error
    js.eval(SPOIL)(pyodide_js, page._pool.debug)
    for _ in range(50):
        assert torch.equal(product(), want)
        if not page._pool.alive():
            break
    assert not page._pool.alive()
    assert torch.equal(product(), want)


def test_a_page_without_shared_memory(monkeypatch):
    monkeypatch.setattr(page, "possible", lambda: False)
    assert page.default() == 1
    torch.set_num_threads(2)
    want = product()
    assert page._pool is None and page._task is None
    assert torch.equal(product(), want)


def test_a_page_that_forbids_workers(monkeypatch):
    def refuse(*_):
        raise RuntimeError("blob: is not allowed")

    monkeypatch.setattr(page, "_file", refuse)
    monkeypatch.setattr(page, "possible", lambda: True)
    torch.set_num_threads(2)
    product()
    assert page._pool is None
    if page._task.done():
        assert page.problem == "blob: is not allowed"


def test_transformers_starts_no_threads():
    assert os.environ["HF_DEACTIVATE_ASYNC_LOAD"] == "1"
