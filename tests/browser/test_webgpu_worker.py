"""Reads through a GPU worker and shared memory:
Python in a worker of a page that is cross-origin isolated, in which neither stack switching nor the canvas works.
And what is said where that cannot be."""

from __future__ import annotations

import os

import pages
import pytest
from pages import WORKER, Asking, load_text, run_async
from test_webgpu import ANSWER, READ

TARGET = os.environ.get("TORCHLITE_PYODIDE", "314")
once = pytest.mark.skipif(TARGET != "314", reason="the worker is the same on each Pyodide; once is enough")
pytestmark = pytest.mark.timeout(240)

NO_JSPI = "delete WebAssembly.Suspending; delete WebAssembly.promising;"
NO_CANVAS = "OffscreenCanvas.prototype.getContext = () => null;"

# what tests do to the GPU worker, from outside; Python's worker runs the same script
HOOKS = """
  if (self.name === "torchlite GPU") {
    const { requestDevice } = GPUAdapter.prototype;
    let device;
    GPUAdapter.prototype.requestDevice = async function (...args) {
        return (device = await requestDevice.apply(this, args));
    };
    new BroadcastChannel("gpu").onmessage = ({ data }) => data === "lose" ? device.destroy() : self.close();
  }
"""
SETUP = f"""
import asyncio, js, torch
from torch import nn
from torchlite.webgpu.transport import bridge as _bridge; from torchlite.webgpu.transport import page as _page
_text = _page._text
_page._text = lambda: {HOOKS!r} + _text()
_page.options["worker"] = {{"tick": 50, "silent": 40}}
assert await torch.webgpu.ready(), torch.webgpu.why_not()
gpu = js.BroadcastChannel.new("gpu")
{pages.CHECKS}
def wait_for_loss():
    while torch.webgpu.is_available():
        pass
"""


@pytest.fixture(scope="module")
def isolated(dist_folder):
    with pages.serve({"/dist/": dist_folder}, {"/empty.html": pages.EMPTY}, pages.ISOLATED) as base:
        yield base


@pytest.fixture(scope="module", params=["script", "python"])
def opened(driver, isolated, wheel_name, request):
    """Python's end of the wire is JavaScript, or Python where no script of a package may run
    in its thread (as without eval)."""
    before = "" if request.param == "script" else "delete globalThis.eval;"
    ask = Asking(driver, isolated, before + NO_JSPI + NO_CANVAS + load_text(isolated, wheel_name))
    ask.end_of_wire = request.param
    ask("async", SETUP + "\nNone")
    assert ask("sync", "type(_bridge.current._js).__name__") == (
        "JsProxy" if request.param == "script" else "WorkerBridge"
    )
    yield ask
    ask.end()


@pytest.fixture
def ask(opened):
    """One worker for all that leave a working device behind."""
    if not opened("sync", "torch.webgpu.is_available()"):
        opened("async", "await torch.webgpu.reset()")
    return opened


def test_way(ask):
    """Neither of the others is open, and the worker is found without being asked for."""
    assert ask(
        "async", "from pyodide.ffi import can_run_sync; [can_run_sync(), _bridge.current._js.readProblem(4)]"
    ) == [False, ""]
    assert ("canvas" if ask.end_of_wire == "script" else "may not run in this thread") in ask(
        "sync", "_bridge.current._js.readProblem(2)"
    )
    for entry in ("async", "sync"):
        assert ask(entry, READ) == ANSWER
    assert ask("sync", "s = torch.webgpu.memory_stats(); [s['webgpu.reads'], s['webgpu.sync_reads'] >= 4]") == [0, True]


@pytest.mark.parametrize("entry", ["sync", "async"])
def test_reads(ask, entry):
    assert ask(
        entry,
        """
x = torch.tensor([[1.5, 0.0, -2.0], [0.0, 4.0, 1.5]]).to("webgpu")
try:
    import numpy
    array = x.cpu().numpy().tolist()
except ImportError:
    array = x.tolist()
[x.sum().item(), x.tolist(), repr(x), bool((x > 3).any()), "yes" if x[0, 0] > 1 else "no", int(x[1, 1]),
 x.nonzero().tolist(), x[x > 1].tolist(),
 torch.unique(x).tolist(), torch.equal(x, x.clone()), torch.masked_select(x, x < 0).tolist(), array]
""",
    ) == [
        5.0,
        [[1.5, 0, -2], [0, 4, 1.5]],
        "tensor([[ 1.5000,  0.0000, -2.0000],\n        [ 0.0000,  4.0000,  1.5000]], device='webgpu:0')",
        True,
        "yes",
        4,
        [[0, 0], [0, 2], [1, 1], [1, 2]],
        [1.5, 4.0, 1.5],
        [-2.0, 0.0, 1.5, 4.0],
        True,
        [-2.0],
        [[1.5, 0, -2], [0, 4, 1.5]],
    ]


def test_more_than_the_shared_memory(ask):
    assert (
        ask(
            "sync",
            """
g = torch.Generator().manual_seed(3)
wrong = []
for n in (1, 3, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5_000_001):
    x = torch.randint(0, 256, (n,), generator=g, dtype=torch.uint8)
    if not torch.equal(x.to("webgpu").cpu(), x):
        wrong.append(n)
wrong
""",
        )
        == []
    )


TRAIN = """
def train(device):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x, y, losses = torch.randn(16, 1, 8, 8).to(device), torch.randint(0, 3, (16,)).to(device), []
    for step in range(12):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
"""


@pytest.mark.parametrize("entry", ["sync", "async"])
def test_training(ask, entry):
    there, here = ask(entry, TRAIN + "[train('webgpu'), train('cpu')]")
    assert len(there) == 12 and there[-1] < 0.8 * there[0]
    assert there == pytest.approx(here, rel=1e-4, abs=1e-5)


def test_asynchronous_reads(ask):
    """Several wait while blocking reads come in between, and the tensors change."""
    assert ask(
        "async",
        """
x = torch.arange(1000, dtype=torch.float32).to("webgpu")
async def work(k):
    ok = []
    for i in range(10):
        y = (x[:k] + i).sum()
        waiting = asyncio.ensure_future(y.item_async())
        await asyncio.sleep(0)
        want = sum(range(k)) + i * k
        ok += [(x[:k] * 2).sum().item() == 2 * sum(range(k)), await waiting == want, y.item() == want]
    return all(ok)
answers = await asyncio.gather(*(work(k) for k in (3, 50, 1000)))
await torch.webgpu.synchronize_async()
torch.webgpu.synchronize()
[*answers, torch.webgpu.memory_stats()["webgpu.reads"] >= 30]
""",
    ) == [True, True, True, True]


@once
def test_errors(ask):
    """Of a plan, of memory, of an index that the GPU checks, of a stream that was handed over and not waited for."""
    answers = ask(
        "sync",
        """
x = torch.arange(6.0).to("webgpu")
broken = [error_of(lambda: _bridge.current.plan("fused:{}")), error_of(lambda: _bridge.current.plan("nonsense:{}"))]
memory = error_of(lambda: torch.empty(1 << 40, device="webgpu"), torch.OutOfMemoryError)
index = [error_of(lambda: x[torch.tensor([1, 9]).to("webgpu") + 0].tolist(), IndexError)]
def late():
    _bridge.current.run([5 | 6 << 8, 0x00ffff0, 0, 0x00ffff1, 0, 16])     # a copy between buffers that are not there
    return [(x + i).sum().item() for i in range(3)]
[broken, memory, index, error_of(late), late.__name__ and (x + 1).sum().item(), works()]
""",
    )
    broken, memory, index, late, total, works = answers
    assert all(e.startswith("Unsupported: ") for e in broken), broken
    assert memory.startswith("OutOfMemoryError: ") and "iB" in memory
    assert index[0].startswith("IndexError: index 9 is out of bounds"), index
    assert late.startswith("RuntimeError: [copy] slot ") and "not in use" in late
    assert total == 21 and works


@once
def test_lost_device(ask):
    answers = ask(
        "sync",
        """
x = torch.arange(4.0).to("webgpu")
gpu.postMessage("lose")
wait_for_loss()
[error_of(lambda: x.sum().item()), error_of(lambda: torch.ones(2, device="webgpu").tolist()),
 error_of(lambda: torch.webgpu.synchronize()),
 torch.webgpu.is_available(), torch.webgpu.why_not() != ""]
""",
    )
    assert all(e.startswith("DeviceLostError: ") and "reset()" in e for e in answers[:3]), answers
    assert answers[3:] == [False, True]
    answers = ask(
        "async", "[await torch.webgpu.reset(), torch.webgpu.is_available(), works(), error_of(lambda: x.tolist())]"
    )
    assert answers[:3] == [True, True, True] and "lived on a webgpu device that is gone" in answers[3]
    # while one reads
    error = ask(
        "sync",
        """
x = torch.randn(1 << 16).to("webgpu")
gpu.postMessage("lose")
error_of(lambda: [(x * i).sum().item() for i in range(100000)].clear())
""",
    )
    assert error.startswith("DeviceLostError: "), error
    assert ask("async", "[await torch.webgpu.reset(), works()]") == [True, True]


@once
def test_worker_that_ends(ask):
    """An error in place of waiting for ever, for who blocks and for who awaits; then a worker anew."""
    error = ask(
        "sync",
        "x = torch.ones(4).to('webgpu'); gpu.postMessage('end'); error_of(lambda: "
        "[x.sum().item() for i in range(1000000)].clear())",
    )
    assert (
        error.startswith("DeviceLostError: ")
        and "the GPU worker gave no sign of life for 2 s" in error
        and "reset()" in error
    ), error
    answers = ask(
        "sync",
        "[error_of(lambda: x.tolist()), torch.webgpu.is_available(), torch.webgpu.why_not(), "
        "torch.webgpu.memory_allocated()]",
    )
    assert answers[0].startswith("DeviceLostError: ") and answers[1:] == [
        False,
        "the GPU worker gave no sign of life for 2 s",
        0,
    ], answers
    assert ask("async", "[await torch.webgpu.reset(), works(), (torch.ones(5, device='webgpu') * 3).sum().item()]") == [
        True,
        True,
        15.0,
    ]
    error = ask(
        "async",
        """
x = torch.ones(4).to("webgpu")
gpu.postMessage("end")
try:
    while True:
        await x.sum().item_async()
except torch.webgpu.DeviceLostError as e:
    error = str(e)
[error, await torch.webgpu.reset(), works()]
""",
    )
    assert "no sign of life" in error[0] and error[1:] == [True, True]


@once
def test_forced(driver, isolated, wheel_name):
    """The switch for tests takes this way where the others are open as well."""
    ask = Asking(driver, isolated, load_text(isolated, wheel_name))
    assert ask("async", "import os; os.environ['TORCHLITE_WEBGPU_READ'] = 'worker'\n" + READ) == ANSWER
    assert ask("async", "s = torch.webgpu.memory_stats(); [s['webgpu.reads'], s['webgpu.sync_reads']]") == [0, 2]
    # stack switching lets others run meanwhile, so it is taken where it can be
    answers = ask(
        "async",
        """
from pyodide.ffi import can_run_sync
from torchlite.webgpu.transport import bridge as _bridge
_bridge.current.read_mode = None
y = torch.ones(3, device="webgpu").sum().item()
s = torch.webgpu.memory_stats()
[can_run_sync(), y, s["webgpu.reads"], s["webgpu.sync_reads"]]
""",
    )
    assert answers == [True, 3.0, 1, 2]
    ask.end()


@once
def test_not_asked_for(driver, isolated, wheel_name):
    """Where the canvas works the device stays with Python."""
    ask = Asking(driver, isolated, load_text(isolated, wheel_name))
    assert ask("async", READ) == ANSWER
    assert ask("sync", READ) == ANSWER
    assert ask(
        "sync",
        "bridge = torch.webgpu.transport.bridge.current\n[torch.webgpu.memory_stats()['webgpu.sync_reads'], "
        "bridge._js.readProblem(4)]",
    ) == [2, "the canvas works"]
    ask.end()


REFUSED = """
import torch
assert await torch.webgpu.ready()
x = torch.ones(3).to("webgpu")
try:
    text = str(x.tolist())
except torch.webgpu.transport.bridge.CannotWait as e:
    text = str(e)
[text, await x.sum().item_async(), torch.ones(2).tolist()]
"""


@once
@pytest.mark.parametrize("where", ["worker", "window"])
def test_no_way(driver, site, isolated, wheel_name, where):
    """A page without the headers, and Python in the window, which may not wait: the error says so."""
    base = site if where == "worker" else isolated
    if where == "worker":
        ask = Asking(driver, base, NO_JSPI + NO_CANVAS + load_text(base, wheel_name))
        text, *rest = ask("async", REFUSED)
        ask.end()
        assert "there is no GPU worker (the page is not cross-origin isolated (COOP and COEP headers))" in text
    else:
        driver.get(base + "/empty.html")
        text, *rest = run_async(
            driver,
            NO_JSPI
            + NO_CANVAS
            + load_text(base, wheel_name)
            + f"return (await pyodide.runPythonAsync({REFUSED!r})).toJs();",
        )
        assert "there is no GPU worker (Python does not run in a worker)" in text
    assert rest == [3.0, [1.0, 1.0]]
    assert "item_async" in text and "runPythonAsync" in text


@once
def test_policy_without_blob_workers(driver, dist_folder, wheel_name, tmp_path):
    (tmp_path / "worker.mjs").write_text(WORKER % (NO_JSPI + NO_CANVAS + load_text("", wheel_name)))
    headers = {**pages.ISOLATED, "Content-Security-Policy": "script-src 'self' 'unsafe-eval'; worker-src 'self'"}
    with pages.serve({"/dist/": dist_folder, "/t/": tmp_path}, {"/empty.html": pages.EMPTY}, headers) as base:
        ask = Asking(driver, base, "", url="/t/worker.mjs")
        text, *rest = ask("async", REFUSED)
        ask.end()
    assert "there is no GPU worker (" in text and "a Content-Security-Policy must allow blob: in worker-src" in text, (
        text
    )
    assert rest == [3.0, [1.0, 1.0]]
