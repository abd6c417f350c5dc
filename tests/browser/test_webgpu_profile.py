"""torch.profiler and torch.webgpu.debug in pages: by either way to enter Python, with timestamps and without,
and over a GPU worker."""

from __future__ import annotations

import json
import re

import pages
from pages import Asking, load_text, python, run_sync_entry
from test_webgpu_worker import NO_CANVAS, NO_JSPI, SETUP

PROFILE = """
import contextlib, io, json, torch, warnings
from torch.profiler import DeviceType, ProfilerActivity, profile
x = torch.randn(64, 64).to("webgpu")
x.sum().item()
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.WebGPU]) as p:
        (x * x + 1).relu().sum().item()
        y = x @ x
rows = {e.key: e for e in p.key_averages()}
kernels = [e for e in p.events() if e.device_type is DeviceType.WebGPU]
has = "timestamp-query" in torch.webgpu.get_device_properties().features
out = dict(has=has, kernels=[e.name for e in kernels], said=[str(w.message) for w in said], rows=sorted(rows),
           columns="Self WebGPU" in p.key_averages().table(), reads=rows["webgpu::read"].cpu_time_total)
err = io.StringIO()
with contextlib.redirect_stderr(err), torch.webgpu.debug("kernels", "timing"):
    (x * x - 5).exp().sum().item()
json.dumps({**out, "debug": err.getvalue()})
"""


def check(found, waits):
    assert {"aten::mul", "aten::relu", "aten::sum", "aten::item", "webgpu::read", "webgpu::submit"} <= set(
        found["rows"]
    )
    assert found["reads"] > 0
    assert re.search(
        r"^\[webgpu\] reduce sum\(exp\(sub\(mul\(a, a\), 5\)\)\) float32( \(\w+\))?  rows=1 n=4096 ",
        found["debug"],
        re.M,
    ), found["debug"]
    if not found["has"]:
        assert (
            found["kernels"] == []
            and not found["columns"]
            and "timestamp-query" in found["said"][0]
            and "no timestamps" in found["debug"]
        )
    elif waits:
        assert not found["said"] and found["columns"]
        assert any("relu(add(mul(a, a), c0))" in k for k in found["kernels"]) and any(
            "matmul float32" in k for k in found["kernels"]
        )
        assert "GPU time" in found["debug"]
    else:  # the times come with the event loop, which has not run: what is missing is said
        assert found["kernels"] or "cannot wait for the GPU's times" in found["said"][0]


def test_where_python_can_wait(page):
    check(json.loads(python(page, "import torch; await torch.ready()\n" + PROFILE)), True)


def test_synchronous_code(page):
    python(page, "import torch; await torch.ready()")
    check(json.loads(run_sync_entry(page, PROFILE)), False)


def test_async_with_waits(page):
    found = json.loads(
        python(
            page,
            """
import json, os, torch
os.environ["TORCHLITE_WEBGPU_READ"] = "canvas"          # synchronous code does not wait for promises
await torch.ready()
from torch.profiler import DeviceType, ProfilerActivity, profile
x = torch.randn(64, 64).to("webgpu")
has = "timestamp-query" in torch.webgpu.get_device_properties().features
import warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    async with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.WebGPU]) as p:
        y = (x @ x).exp()
json.dumps([has, [e.name for e in p.events() if e.device_type is DeviceType.WebGPU]])
""",
        )
    )
    assert not found[0] or any("matmul float32" in k for k in found[1])


def test_gpu_worker(driver, dist_folder, wheel_name):
    """There synchronous code waits for the times too."""
    with pages.serve({"/dist/": dist_folder}, {"/empty.html": pages.EMPTY}, pages.ISOLATED) as base:
        ask = Asking(driver, base, NO_JSPI + NO_CANVAS + load_text(base, wheel_name))
        try:
            ask("async", SETUP + "\nNone")
            check(json.loads(ask("sync", PROFILE)), True)
        finally:
            ask.end()
