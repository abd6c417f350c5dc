"""Pages whose Content-Security-Policy forbids eval: the webgpu device in windows and in module workers,
with nothing loaded by the page."""

from __future__ import annotations

import json
import os
import zipfile

import pages
import pytest
from pages import run_async
from test_webgpu import load_text

pytestmark = pytest.mark.timeout(240)
once = pytest.mark.skipif(
    os.environ.get("TORCHLITE_PYODIDE", "314") != "314",
    reason="once is enough; windows and module workers run on each Pyodide",
)

# Pyodide's own needs, and what a wheel can only be: text in this page
BLOB = "script-src 'self' 'wasm-unsafe-eval' blob:; worker-src 'self' blob:"
# scripts of packages may run in workers only
WORKERS = "script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:"
# nowhere
STRICT = "script-src 'self' 'wasm-unsafe-eval'"
NO_JSPI = "delete WebAssembly.Suspending; delete WebAssembly.promising;"
NO_EVAL = """
try { (0, eval)("1"); throw new Error("eval is allowed"); } catch (e) { if (!(e instanceof EvalError)) throw e; }
"""
IMPORTER = "globalThis.torchlite_import = (url) => import(url);"

TRAIN = """
import torch
from torch import nn
def step(n):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)).to("webgpu")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    x = torch.randn(64, 4, device="webgpu")
    y = x.sum(1, keepdim=True)
    losses = []
    for _ in range(n):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses
"""
NUMBERS = (
    TRAIN
    + """
losses = [x.item() for x in step(8)]
[str(step(1)[0].device), losses[-1] < losses[0] * 0.9, (torch.arange(6).to("webgpu") * 2).tolist()]
"""
)
AWAITED = (
    TRAIN
    + """
losses = [await x.item_async() for x in step(8)]
[str(step(1)[0].device), losses[-1] < losses[0] * 0.9, (await (torch.arange(6).to("webgpu") * 2).cpu_async()).tolist()]
"""
)
RIGHT = ["webgpu:0", True, [0, 2, 4, 6, 8, 10]]
READY = "import torch; [await torch.ready(), torch.webgpu.why_not()]"
WHERE = "from torchlite.webgpu.transport import bridge as _bridge; type(_bridge.current._js).__name__"

# a GPU worker that never answers one call
DEAF = (
    """
from torchlite.webgpu.transport import bridge as _bridge; from torchlite.webgpu.transport import page as _page
text = _page._text() + '''
const { serve } = torchlite_webgpu;
torchlite_webgpu.serve = (scope) => {
  serve(scope);
  const { onmessage } = scope;
  scope.onmessage = (e) => { if (e.data.name !== "spans") onmessage(e); };
};
'''
_page._text = lambda: text
_page.options["worker"] = {"tick": 50, "silent": 1200}
"""
    + READY
)
UNANSWERED = """
link = _bridge.current._js
patient, link._patient = link._patient, 20
try:
    found = await _bridge.current.spans_async()
except torch.webgpu.DeviceLostError as e:
    found = torch.webgpu.why_not() if torch.webgpu.why_not() in str(e) else str(e)
link._patient = patient
[found, await torch.webgpu.reset()]
"""


RUN = """
let ready;
export const run = async ([entry, code]) => {
  try {
    ready ??= (async () => { %s })();
    await ready;
    const r = entry === "async" ? await pyodide.runPythonAsync(code) : pyodide.runPython(code);
    return { ok: r && r.toJs ? r.toJs() : r };
  } catch (e) { return { error: String(e && e.message || e) }; }
};"""
WORKER = """
import { run } from "/t/run.mjs";
onmessage = async ({ data }) => postMessage(await run(data));"""
ASK = {
    "window": 'import { run as ask } from "/t/run.mjs";',
    "worker": """
const worker = new Worker("/t/worker.mjs", { type: "module" });
const ask = (call) => new Promise((ok) => {
  worker.onmessage = ({ data }) => ok(data);
  worker.onerror = (e) => ok({ error: "worker: " + e.message });
  worker.postMessage(call);
});
ask.end = () => worker.terminate();""",
}


class Policy:
    """Python in a window or a worker of a page with a policy. The page's own scripts do all:
    what a driver evaluates may pass the policy by."""

    def __init__(self, driver, folder, dist_folder, wheel_name):
        self.driver, self.folder, self.dist_folder, self.wheel_name = driver, folder, dist_folder, wheel_name
        with zipfile.ZipFile(dist_folder / "torchlite" / wheel_name) as z:
            (folder / "bridge.js").write_bytes(z.read("torchlite/webgpu/bridge.js"))

    def __call__(self, where, policy, calls, before="", isolated=False):
        """What some calls (entry, code) of Python gave; an error is a text that begins with "error: "."""
        (self.folder / "run.mjs").write_text(RUN % (before + NO_EVAL + load_text("", self.wheel_name)))
        (self.folder / "worker.mjs").write_text(WORKER)
        (self.folder / "page.mjs").write_text(
            ASK[where]
            + f"""
          globalThis.done = (async () => {{
            const results = [];
            const late = (call) => new Promise((ok) => {{
                setTimeout(ok, 100_000, {{ error: "no answer for 100 s: " + call }});
            }});
            for (const call of {json.dumps(calls)}) {{
              const {{ ok, error }} = await Promise.race([ask(call), late(call)]); // what hangs is named
              results.push(error === undefined ? ok : "error: " + error);
            }}
            ask.end?.();
            return results;
          }})();"""
        )
        html = pages.EMPTY.replace("</body>", '<script type="module" src="/t/page.mjs"></script></body>')
        headers = {"Content-Security-Policy": policy, **(pages.ISOLATED if isolated else {})}
        with pages.serve({"/dist/": self.dist_folder, "/t/": self.folder}, {"/page.html": html}, headers) as base:
            self.driver.get(base + "/page.html")
            return run_async(self.driver, "return await globalThis.done;")


@pytest.fixture
def policy(driver, tmp_path, dist_folder, wheel_name):
    return Policy(driver, tmp_path, dist_folder, wheel_name)


def test_window(policy):
    assert policy("window", BLOB, [("async", NUMBERS), ("sync", NUMBERS)]) == [RIGHT, RIGHT]


def test_module_worker(policy):
    """By stack switching and messages: there is no shared memory."""
    ready, where, trained, synchronous, info = policy(
        "worker",
        WORKERS,
        [
            ("async", READY),
            ("sync", WHERE),
            ("async", NUMBERS),
            ("sync", "torch.ones(2, device='webgpu').sum().item()"),
            (
                "async",
                "p = torch.webgpu.get_device_properties(); torch.webgpu.synchronize(); "
                "[p.max_buffer_size > 0, torch.webgpu.memory_allocated() > 0, "
                "torch.webgpu.memory_stats()['webgpu.sync_reads']]",
            ),
        ],
    )
    assert [ready, where, trained] == [[True, ""], "WorkerBridge", RIGHT]
    assert "CannotWait" in synchronous and "not cross-origin isolated" in synchronous and "item_async" in synchronous
    assert info == [True, True, 0]


@once
def test_window_without_scripts(policy):
    """What is allowed to workers only is enough for a window as well."""
    assert policy("window", WORKERS, [("async", READY), ("sync", WHERE), ("async", NUMBERS)]) == [
        [True, ""],
        "WorkerBridge",
        RIGHT,
    ]


@once
def test_module_worker_that_cannot_wait(policy):
    """No shared memory and no stack switching: numbers are awaited."""
    assert policy(
        "worker",
        WORKERS,
        [("async", READY), ("async", AWAITED), ("sync", TRAIN + "len(step(3))"), ("async", AWAITED)],
        NO_JSPI,
    ) == [[True, ""], RIGHT, 3, RIGHT]


@once
@pytest.mark.parametrize("jspi", [True, False])
def test_isolated_module_worker(policy, jspi):
    """Everything works at once, on shared memory."""
    assert policy(
        "worker",
        WORKERS,
        [("async", READY), ("sync", WHERE), ("sync", NUMBERS), ("async", NUMBERS), ("async", AWAITED)],
        "" if jspi else NO_JSPI,
        isolated=True,
    ) == [[True, ""], "WorkerBridge", RIGHT, RIGHT, RIGHT]


@once
@pytest.mark.parametrize("isolated", [True, False])
def test_answer_that_never_comes(policy, isolated):
    """A GPU worker that lives and does not answer is a lost device in the end, for who awaits as well."""
    assert policy(
        "worker",
        WORKERS,
        [("async", DEAF), ("async", NUMBERS), ("async", UNANSWERED), ("async", NUMBERS)],
        isolated=isolated,
    ) == [[True, ""], RIGHT, ["the GPU worker gave no answer for 1 s", True], RIGHT]


@once
def test_module_worker_with_an_importer(policy):
    """A line in the worker's own script, and the device is in its thread."""
    ready, where, *numbers = policy(
        "worker", BLOB, [("async", READY), ("sync", WHERE), ("async", NUMBERS), ("sync", NUMBERS)], IMPORTER
    )
    assert [ready, where, *numbers] == [[True, ""], "JsProxy", RIGHT, RIGHT]


@once
@pytest.mark.parametrize("where", ["window", "worker"])
def test_nothing_allowed(policy, where):
    """The error says what to do, and that works."""
    (ok, text), *_ = policy(where, STRICT, [("async", READY)])
    assert (
        not ok
        and "Content-Security-Policy" in text
        and "bridge.js" in text
        and ("torchlite_import" in text) == (where == "worker")
    )
    assert policy(where, STRICT, [("async", NUMBERS), ("sync", NUMBERS)], 'await import("/t/bridge.js");') == [
        RIGHT,
        RIGHT,
    ]
