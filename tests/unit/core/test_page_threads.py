"""The workers that large products run on inside Pyodide: started, used, missing, dead."""

import contextlib
import os
import sys

import pytest
import torchlite as torch
from page_workers import PATIENT

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
    long, wide, deep = torch.randn(9500, 90), torch.randn(40, 9500), torch.randn(9, 32, 9000)
    yield "columns", lambda: a @ b
    yield "a transposed operand", lambda: a.t() @ c
    yield "rows", lambda: tall @ b[:64, :90]
    yield "added to", lambda: torch.addmm(c, a, b)
    yield "a bias", lambda: F.linear(a, b.t().contiguous(), c[0])
    yield "a batch", lambda: q @ q.transpose(-1, -2)
    yield "a batch that repeats", lambda: q @ q[:, :1].transpose(-1, -2)
    yield "dot products", lambda: F.linear(a[:40], torch.cat([b, b], 1).t().contiguous())
    yield "deep", lambda: wide @ long
    yield "a batch of deep ones", lambda: deep @ deep.transpose(-1, -2)
    yield "convolution of images", convolution((5, 16, 31, 33), (24, 16, 3, 3), padding=1)
    yield "convolution with a stride", convolution((3, 16, 64, 64), (32, 16, 3, 3), stride=2, padding=1)
    yield "convolution of groups", convolution((2, 32, 40, 40), (64, 16, 3, 3), groups=2)


def test_all_that_workers_compute():
    import js

    started()
    debug = page._pool.debug
    js.eval(PATIENT)(debug, 5000)
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
        const [, parts, job, copies] = heap.subarray(order >> 2, (order >> 2) + 4);
        for (let i = (order >> 2) + 4; i < (order >> 2) + 4 + 6 * copies; i += 6) {
            const [from, to, bytes] = heap.subarray(i, i + 3);
            if (to === job) heap[(from + bytes / parts + 24) >> 2] = 0xffffff00; // part 1's first operand
        }
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


# ---- copies of operands that stay with the workers ----
SHAPES = ROW, LINEAR, FEW, MANY = (1, 900, 1100), (1, 1000, 700), (7, 300, 3000), (64, 300, 400)


def repeated(shape):
    """A weight, and its product with another operand: once the copy is kept, and on one thread."""
    m, k, n = shape
    x, w = torch.randn(m, k), torch.randn(k, n)
    if shape is LINEAR:
        w = w.t().contiguous()

    def run():
        return F.linear(x, w) if shape is LINEAR else x @ w

    def check():
        torch._C.set_threads(1)
        want = run()
        torch._C.set_threads(2)
        for _ in range(4):
            assert torch.equal(run(), want)

    return w, check


@pytest.mark.parametrize("shape", SHAPES)
def test_a_copy_is_kept_and_used(shape):
    import js

    started()
    js.eval(PATIENT)(page._pool.debug, 5000)
    w, check = repeated(shape)
    check()
    held = torch._C.page_copies()
    assert 0.3 * w.nbytes < held
    page._pool.debug.exports.publish(0, 1)
    check()
    assert torch._C.page_copies() == held and page._pool.debug.exports.results()
    del w, check
    assert torch._C.page_copies() < held


def write_by_address(w):
    import ctypes

    ctypes.memset(w.data_ptr() + 4 * (w.numel() - 1), 0, 4)


def write_by_numpy(w):
    pytest.importorskip("numpy")
    w.numpy()[-1] = 3


def write_by_memory(w):
    with memoryview(w.untyped_storage()).cast("B") as bytes_:
        bytes_[-4:] = bytes(4)


def write_by_page(w):
    from pyodide.ffi import create_proxy

    import js

    js.eval("(s) => { const view = s.getBuffer('u8'); view.data.fill(0, view.data.length - 40); view.release(); }")(
        create_proxy(w.untyped_storage())
    )


def write_by_optimizer(w):
    w.requires_grad_()
    w.grad = torch.ones_like(w)
    torch.optim.AdamW([w], lr=0.1).step()
    w.requires_grad_(False)


@contextlib.contextmanager
def interrupt():
    """One of the next fifty looks for signals finds SIGINT: those of a kernel's loop, after each of its pieces."""
    import js
    import pyodide_js

    buffer = js.Uint8Array.new(1)
    pyodide_js.setInterruptBuffer(buffer)
    buffer[0] = 2
    try:
        yield
    finally:
        pyodide_js.setInterruptBuffer(None)


WRITES = {
    "in place": lambda w: w.mul_(2),
    "a view": lambda w: w[-1].add_(1),
    "an item": lambda w: w.__setitem__((-1, -1), 7),
    ".data": lambda w: w.data.neg_(),
    "out=": lambda w: torch.add(w, 1, out=w),
    "foreach": lambda w: torch._foreach_add_([w], 1.0),
    "inference mode": lambda w: torch.inference_mode()(w.add_)(1),
    "storage": lambda w: w.untyped_storage().fill_(0),
    "initialisation": torch.nn.init.xavier_uniform_,
    "optimizer": write_by_optimizer,
    "address": write_by_address,
    "memory": write_by_memory,
    "buffer": lambda w: torch.frombuffer(memoryview(w.untyped_storage()), dtype=torch.float32).mul_(2),
    "dlpack": lambda w: torch.from_dlpack(w.__dlpack__()).mul_(2),
    "page": write_by_page,
    "numpy": write_by_numpy,
}


@pytest.mark.parametrize("write", WRITES)
def test_no_copy_outlives_a_write(write):
    started()
    for shape in SHAPES:
        w, check = repeated(shape)
        check()
        for _ in range(2):
            WRITES[write](w)
            check()


# memory for Pyodide's interrupts, and a thread that sends one a while after it is told to
LATER = """() => {
    const { Worker } = process.getBuiltinModule("node:worker_threads");
    const memory = new Int32Array(new SharedArrayBuffer(8));
    const send = (memory) => {
        for (;;) {
            Atomics.wait(memory, 1, 0);
            const end = performance.now() + Atomics.exchange(memory, 1, 0);
            while (performance.now() < end) {}
            Atomics.store(memory, 0, 2);
        }
    };
    const text = `(${send})(require("node:worker_threads").workerData)`;
    const worker = new Worker(text, { eval: true, workerData: memory });
    worker.unref();
    const tell = (ms) => (Atomics.store(memory, 1, ms), Atomics.notify(memory, 1));
    return { memory, tell, end: () => worker.terminate() };
}"""


def test_no_copy_outlives_an_interrupted_write():
    import js
    import pyodide_js

    if not hasattr(js, "process"):
        pytest.skip("a thread that interrupts: node's")
    started()
    w, check = repeated((1, 3000, 3000))
    check()
    later = js.eval(LATER)()
    pyodide_js.setInterruptBuffer(later.memory)
    try:
        for _ in range(50):
            before, version = w.clone(), w._version
            with pytest.raises(KeyboardInterrupt):
                later.tell(3)
                while True:
                    w.tanh_()
                    w.normal_()
            if w._version == version and not torch.equal(w, before):
                return check()
    finally:
        pyodide_js.setInterruptBuffer(None)
        later.end()
    raise AssertionError("never in the middle of a write")


def test_no_copies_of_temporaries():
    started()
    x, w = torch.randn(1, 1500, dtype=torch.bfloat16), torch.randn(1500, 1500, dtype=torch.bfloat16)
    held = torch._C.page_copies()
    for _ in range(8):
        F.linear(x, w)  # each converts w to float32, where the one before did
        x.float() @ (w.float() * 2)
    assert torch._C.page_copies() == held


def test_no_copies_that_writes_make_useless():
    started()
    x, w = torch.randn(1, 1500), torch.randn(1500, 1500)
    held = torch._C.page_copies()
    for _ in range(3):
        for _ in range(3):
            x @ w
        kept = torch._C.page_copies()
        w[0, 0] += 1
    assert kept == held


def test_the_number_of_threads_cannot_change_during_a_product():
    import signal

    started()
    a = torch.randn(1200, 1200)
    before = signal.signal(signal.SIGINT, lambda *_: torch.set_num_threads(1))
    try:
        with pytest.raises(RuntimeError, match="cannot change while a product runs"), interrupt():
            a @ a
    finally:
        signal.signal(signal.SIGINT, before)
    product()
    assert torch.get_num_threads() == 2


def test_copies_make_way_for_those_in_use():
    started()
    x, old = torch.randn(1, 2000), [torch.randn(2000, 2000) for _ in range(40)]
    for w in old * 4:
        x @ w
    assert torch._C.page_copies() > 200 << 20  # not of all: there is no room
    new = [torch.randn(2000, 1500) for _ in range(20)]
    for w in new * 25:
        x @ w
    del old
    assert torch._C.page_copies() > 50 << 20
    del w, new
    assert torch._C.page_copies() == 0


def test_memory_of_copies_is_bounded():
    started()
    x, weights = torch.randn(1, 1500), []
    for _ in range(60):  # of 9 MB, half of which is copied
        weights.append(torch.randn(1500, 1500))
        for _ in range(4):
            x @ weights[-1]
    assert 100 << 20 < torch._C.page_copies() <= 256 << 20
    want = [x @ w for w in weights]
    torch._C.set_threads(1)
    assert all(torch.equal(x @ w, y) for w, y in zip(weights, want))
    torch.set_num_threads(1)
    assert torch._C.page_copies() == 0
