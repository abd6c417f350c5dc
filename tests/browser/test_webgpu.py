"""The webgpu device in pages and workers:
when it is opened, how it is read under each entry into Python, and what pages with a Content-Security-Policy need."""

from __future__ import annotations

import json
import os
import zipfile

import pages
import pytest
from dist import wheel
from pages import Asking, load_text, python, run_async, run_sync_entry


TARGET = os.environ.get("TORCHLITE_PYODIDE", "314")
READ = """
import torch
x = torch.arange(6, dtype=torch.float32).to("webgpu")
y = (x * 2 + 1).reshape(2, 3) @ torch.ones(3, 1, device="webgpu")
[str(y.device), *y.flatten().tolist(), y.sum().item()]
"""
ANSWER = ["webgpu:0", 9.0, 27.0, 36.0]


def test_import_opens_nothing(page):
    assert python(
        page,
        """
import sys, asyncio, torch, js
await asyncio.sleep(0.3)
from torchlite._core import adapter
[adapter.answer, "torchlite.webgpu" in sys.modules, hasattr(js, "torchlite_webgpu"), float(torch.ones(2).sum())]
""",
    ) == [True, False, False, 2.0]


def test_opened_when_first_asked_for(page):
    assert python(page, READ) == ANSWER
    info = python(
        page,
        """
p = torch.webgpu.get_device_properties()
[torch.accelerator.is_available(), str(torch.accelerator.current_accelerator()), torch.webgpu.device_count(),
 bool(p.name), p.max_buffer_size > 0,
 torch.webgpu.memory_allocated() > 0, torch.webgpu.why_not()]
""",
    )
    assert info == [True, "webgpu", 1, True, True, True, ""]


def test_synchronous_code(page):
    """runPython cannot wait: an error that says so, then reads through a canvas."""
    error = run_sync_entry(
        page,
        """
import torch
assert not torch.webgpu.is_available()
try:
    torch.ones(2, device="webgpu")
    text = ""
except RuntimeError as e:
    text = str(e)
text
""",
    )
    assert "not there yet" in error and "await torch.webgpu.ready()" in error
    assert python(page, "import torch; await torch.ready()") is True
    assert run_sync_entry(page, READ) == ANSWER
    assert (
        run_sync_entry(page, "torch.webgpu.synchronize(); torch.webgpu.memory_stats()['webgpu.sync_reads'] == 3")
        is True
    )


def test_canvas_reads_are_exact(page):
    python(page, "import torch; await torch.ready()")
    assert (
        run_sync_entry(
            page,
            """
import torch
from torchlite.webgpu.transport import bridge as _bridge
_bridge.current.read_mode = "canvas"
wrong = []
g = torch.Generator().manual_seed(3)
for n in (1, 3, 4, 191, 192, 1000, 65537):
    x = torch.randint(0, 256, (n,), generator=g, dtype=torch.uint8)
    if not torch.equal(x.to("webgpu").cpu(), x):
        wrong.append(n)
wrong
""",
        )
        == []
    )


@pytest.mark.parametrize("way", ["jspi", "canvas"])
def test_one_way_only(page, way):
    python(page, f"import os; os.environ['TORCHLITE_WEBGPU_READ'] = '{way}'")
    assert python(page, READ) == ANSWER


def test_no_way_to_read(page):
    text = python(
        page,
        """
import os
os.environ["TORCHLITE_WEBGPU_READ"] = "none"
import torch
x = torch.ones(2).to("webgpu")
try:
    x.tolist()
    text = ""
except RuntimeError as e:
    text = str(e)
text + str((await x.cpu_async()).tolist() if hasattr(x, "cpu_async") else [1.0, 1.0])
""",
    )
    assert "item_async" in text and "runPythonAsync" in text and text.endswith("[1.0, 1.0]")


def test_event_handler(page):
    """A plain function as DOM listener is entered synchronously."""
    python(page, "import torch; await torch.ready()")
    assert run_async(
        page,
        """
      pyodide.runPython(`
import torch
from pyodide.ffi import create_proxy
seen = []
w = torch.ones(3).to("webgpu")
def clicked(event):
    global w
    w = w * 2
    seen.append(w.sum().item())
clicked = create_proxy(clicked)
`);
      const clicked = pyodide.globals.get("clicked");
      document.body.addEventListener("click", clicked);
      for (let i = 0; i < 3; i++) document.body.click();
      return pyodide.globals.get("seen").toJs();""",
    ) == [6.0, 12.0, 24.0]


def test_others_run_while_a_read_waits(page):
    assert python(
        page,
        """
import asyncio, torch
await torch.ready()
from torchlite.webgpu.transport import bridge as _bridge
_bridge.current.read_mode = "jspi"
x = torch.arange(1000, dtype=torch.float32).to("webgpu")
async def work(k):
    out = []
    for i in range(20):
        out.append((x[:k] + i).sum().item() == sum(range(k)) + i * k)
        await asyncio.sleep(0)
    return all(out)
await asyncio.gather(*(work(k) for k in (3, 50, 1000)))
""",
    ) == [True, True, True]


def test_lost_device(page):
    text = python(
        page,
        """
import torch
await torch.ready()
from torchlite.webgpu.transport import bridge as _bridge
x = torch.ones(3).to("webgpu")
assert x.sum().item() == 3
assert await torch.webgpu.reset()
try:
    x.sum().item()
    text = "no error"
except torch.webgpu.DeviceLostError as e:
    text = str(e)
assert torch.ones(3, device="webgpu").sum().item() == 3
text
""",
    )
    assert "gone" in text


@pytest.mark.parametrize("kind", ["module", "classic"])
def test_worker(driver, site, wheel_name, kind):
    if kind == "classic" and TARGET != "029":
        pytest.skip("this Pyodide runs in module workers only")
    load = load_text(site, wheel_name)
    if kind == "classic":
        load = load.replace(
            f'const {{ loadPyodide }} = await import("{site}/dist/pyodide.mjs");',
            f'importScripts("{site}/dist/pyodide.js");',
        )
    ask = Asking(driver, site, load, type=kind)
    assert "not there yet" in ask("sync", "import torch; torch.webgpu.why_not()")
    assert ask("async", READ) == ANSWER
    assert ask("sync", READ) == ANSWER


POLICIES = {
    # what Pyodide itself needs; such a page loads the script of the wheel as one of its own
    "strict": "script-src 'self' 'wasm-unsafe-eval'",
    "blob": "script-src 'self' 'wasm-unsafe-eval' blob:",
    "eval": "script-src 'self' 'unsafe-eval'",
}


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_content_security_policy(driver, dist_folder, wheel_name, tmp_path, policy):
    """The page's own scripts do everything here: what a driver evaluates may pass the policy by."""
    with zipfile.ZipFile(dist_folder / "torchlite" / wheel_name) as z:
        (tmp_path / "bridge.js").write_bytes(z.read("torchlite/webgpu/bridge.js"))
    own = (
        ""
        if policy != "strict"
        else """
      result.first = await pyodide.runPythonAsync("import torch; await torch.ready(); torch.webgpu.why_not()");
      await new Promise((ok, no) => {
        const script = document.createElement("script");
        Object.assign(script, { src: "/t/bridge.js", onload: ok, onerror: no });
        document.head.append(script);
      });
      await pyodide.runPythonAsync("assert await torch.ready(), torch.webgpu.why_not()");"""
    )
    (tmp_path / "page.mjs").write_text(f"""
      globalThis.done = (async () => {{
        const result = {{}};
        {load_text("", wheel_name)}
        {own}
        result.answer = (await pyodide.runPythonAsync({json.dumps(READ)})).toJs();
        return result;
      }})();""")
    html = pages.EMPTY.replace("</body>", '<script type="module" src="/t/page.mjs"></script></body>')
    headers = {"Content-Security-Policy": POLICIES[policy]}
    with pages.serve({"/dist/": dist_folder, "/t/": tmp_path}, {"/page.html": html}, headers) as base:
        driver.get(base + "/page.html")
        result = run_async(driver, "return await globalThis.done;")
    assert result["answer"] == ANSWER
    if policy == "strict":
        assert "Content-Security-Policy" in result["first"] and "bridge.js" in result["first"]


def test_wheel_has_the_script(dist_folder):
    for target in ("314", "029"):
        try:
            path = wheel(target, dist_folder)
        except StopIteration:
            continue
        assert "torchlite/webgpu/bridge.js" in zipfile.ZipFile(path).namelist()
