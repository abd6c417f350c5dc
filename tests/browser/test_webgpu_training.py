"""Training on webgpu in a page: the Digits script under each way of entering Python and of reading the GPU,
how long the first result takes, what a page on the CPU leaves alone, and that nothing is left behind."""

from __future__ import annotations

import base64
import os

import pytest
import short_digits
from pages import load_text, python, run_async, run_sync_entry

pytestmark = pytest.mark.skipif(
    os.environ.get("TORCHLITE_PYODIDE", "314") != "314", reason="once is enough; the shorter tests run on each Pyodide"
)

# counts devices, and the memory of GPU buffers that were made and not destroyed
HOOKS = """
  globalThis.gpu = { devices: [], buffers: 0, bytes: 0 };
  const { requestDevice } = GPUAdapter.prototype;
  const { createBuffer } = GPUDevice.prototype;
  const { destroy } = GPUBuffer.prototype;
  const alive = new WeakSet();
  GPUAdapter.prototype.requestDevice = async function (...args) {
    const device = await requestDevice.apply(this, args);
    gpu.devices.push(device);
    return device;
  };
  GPUDevice.prototype.createBuffer = function (...args) {
    const buffer = createBuffer.apply(this, args);
    alive.add(buffer);
    gpu.buffers++;
    gpu.bytes += buffer.size;
    return buffer;
  };
  GPUBuffer.prototype.destroy = function () {
    if (alive.delete(this)) {
      gpu.buffers--;
      gpu.bytes -= this.size;
    }
    return destroy.call(this);
  };"""

TRAIN = """
import base64, js, os, sys
with open("/home/pyodide/digits.bin.gz", "wb") as f:
    f.write(base64.b64decode(data))

class Enough(Exception):
    pass

class Losses(list):
    def append(self, loss):
        super().append(loss)
        if len(self) == self.most:
            raise Enough

def train(source, way=None, most=None):
    if way:
        from torchlite.webgpu.transport import bridge as _bridge
        _bridge.require().read_mode = None if way == "any" else way
    losses = Losses()
    losses.most = most
    try:
        exec(compile(source, "digits.py", "exec"),
             {"__name__": "__main__", "__file__": "/home/pyodide/digits.py", "losses": losses})
    except Enough:
        pass
    return list(losses)

def reads():
    import torch
    s = torch.webgpu.memory_stats()
    return [s["webgpu.reads"], s["webgpu.sync_reads"]]
"""


SCRIPT = short_digits.source(steps=6, epochs=2).replace(
    "total += loss.item()", "losses.append(loss.item())\n        total += losses[-1]"
)
ON_CPU = SCRIPT.replace("torch.accelerator.is_available()", "False")


def open_page(driver, site, wheel_name):
    driver.get(site + "/empty.html")
    run_async(driver, HOOKS + load_text(site, wheel_name))
    python(driver, f"data = {base64.b64encode(short_digits.DATA.read_bytes()).decode()!r}\n" + TRAIN)


@pytest.fixture(scope="module")
def page(driver, site, wheel_name):
    open_page(driver, site, wheel_name)
    driver.losses = python(driver, f"train({ON_CPU!r})")
    return driver


def test_page_on_the_cpu_opens_no_device(page):
    assert len(page.losses) == 12
    assert run_async(page, "return [gpu.devices.length, gpu.buffers];") == [0, 0]


FIRST = """
from time import perf_counter
import torch
began = perf_counter()
x = (torch.arange(6, dtype=torch.float32, device="webgpu") * 2).sum().item()
assert x == 30
perf_counter() - began
"""


def test_first_result(page, site, wheel_name, record_property):
    """At most 1.5 s after `import torch`; another page gets a chance on a busy machine."""
    seconds = [python(page, FIRST)]
    while seconds[-1] > 1.5 and len(seconds) < 3:
        open_page(page, site, wheel_name)
        seconds.append(python(page, FIRST))
    print(page.name_, "first result on the GPU after", [round(s, 2) for s in seconds], "s")
    record_property("first_result", seconds)
    assert min(seconds) <= 1.5
    # one device, and one on which canvas reads were tried
    assert run_async(page, "return gpu.devices.length;") == 2
    assert (
        python(page, "import asyncio; await asyncio.gather(torch.webgpu.ready(), torch.webgpu.ready(), torch.ready())")
        == [True] * 3
    )
    assert run_async(page, "return gpu.devices.length;") == 2


def test_script_reads_by_stack_switching(page):
    before = python(page, "import torch; await torch.ready(); reads()")
    losses = python(page, f"train({SCRIPT!r}, 'any')")
    assert short_digits.close(losses, page.losses), (losses, page.losses)
    after = python(page, "reads()")
    assert after[0] >= before[0] + 13 and after[1] == before[1]
    assert python(page, f"train({SCRIPT!r}, 'jspi', 2)") == losses[:2]


def test_script_reads_by_canvas(page):
    before = python(page, "import torch; await torch.ready(); reads()")
    losses = python(page, f"train({SCRIPT!r}, 'canvas', 2)")
    assert short_digits.close(losses, page.losses[:2]), (losses, page.losses)
    after = python(page, "reads()")
    assert after[0] == before[0] and after[1] >= before[1] + 2
    # entered synchronously there is no other way
    assert run_sync_entry(page, f"train({SCRIPT!r}, 'any', 2)") == losses
    assert run_sync_entry(page, "reads()")[0] == before[0]


FIGURES = """
import asyncio, gc, json, pyodide_js
await asyncio.sleep(0.2)
from pyodide.ffi import run_sync
gc.collect()
torch.webgpu.synchronize()
torch.webgpu.empty_cache()
gc.collect()
from torchlite.webgpu.lazy import stream as _stream
s = torch.webgpu.memory_stats()
json.dumps([s["webgpu.slots"], s["webgpu.allocated"], len(_stream.pending_buffers()), js.gpu.buffers, js.gpu.bytes,
            pyodide_js._module._hiwire_num_refs(), pyodide_js._module.pyproxy_alloc_map.size])
"""


def test_nothing_is_left_behind(page):
    python(
        page,
        "import pyodide_js; pyodide_js._module.enable_pyproxy_allocation_tracing(); import torch; "
        "await torch.ready(); None",
    )
    python(page, f"train({SCRIPT!r}, 'any', 2); train({SCRIPT!r}, 'canvas', 2); None")
    run_sync_entry(page, "1")  # Pyodide keeps a proxy of its own from the first time on
    before = python(page, FIGURES)
    for _ in range(2):
        python(page, f"train({SCRIPT!r}, 'any', 2); None")
        run_sync_entry(page, f"train({SCRIPT!r}, most=2); None")
    # graphs with cycles, errors and tasks that were given up
    python(
        page,
        """
import asyncio
class Node: pass
for i in range(50):
    n = Node(); n.me = n; n.x = torch.randn(100, device="webgpu", requires_grad=True)
    n.y = (n.x * i).exp().sum(); n.y.backward()
    try:
        torch.ones(3, device="webgpu") @ torch.ones(4, device="webgpu")
    except RuntimeError as e:
        n.e = e
    t = asyncio.ensure_future(n.x.sum().item_async() if i % 2 else asyncio.sleep(10))
    await asyncio.sleep(0)
    t.cancel()
del n, t
""",
    )
    after = python(page, FIGURES)
    print(page.name_, before, after)
    assert after == before
