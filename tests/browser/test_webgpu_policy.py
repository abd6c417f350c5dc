"""Pages whose Content-Security-Policy forbids eval: the webgpu device in windows and in module workers,
with nothing loaded by the page."""

from __future__ import annotations

import os

import pytest
from policies import BLOB, STRICT, WORKERS

pytestmark = pytest.mark.timeout(240)
once = pytest.mark.skipif(
    os.environ.get("TORCHLITE_PYODIDE", "314") != "314",
    reason="once is enough; windows and module workers run on each Pyodide",
)

NO_JSPI = "delete WebAssembly.Suspending; delete WebAssembly.promising;"
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
