"""PyScript pages, on the main thread and in a worker: the wheel by URL, then a gradient, and a sum on webgpu."""

from __future__ import annotations

import json
import pathlib
import sys
import time

import pytest
from pages import run_async

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pyodide"))
import dist as distribution

SLOW = pytest.mark.slow
CODE = """
import torch
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(x * x).sum().backward()
y = torch.arange(4.0).to("webgpu")
result = str(x.grad.tolist()) + f", on {y.device}: {(y * y).sum().item()}"
from pyscript import document
document.title = "done " + result
"""


def pages(target: str) -> dict[str, str]:
    """Pages by path: the wheel by its address, or by the name torch in an index of the site."""
    wheel = distribution.wheel(target, distribution.prepare(target)).name
    config = json.dumps({"interpreter": "/dist/pyodide.mjs", "packages": [f"./dist/torchlite/{wheel}"]})
    out = {}
    for name, attribute in (("main", ""), ("worker", " worker")):
        out[f"/pyscript-{name}.html"] = (
            '<!DOCTYPE html><html><head><meta charset="utf-8"><link rel="icon" href="data:,">'
            '<link rel="stylesheet" href="/pyscript/core.css">'
            '<script type="module" src="/pyscript/core.js"></script></head>'
            f"<body><script type=\"py\"{attribute} config='{config}'>{CODE}</script></body></html>"
        )
        # an index is named by a whole address
        out[f"/pyscript-{name}-by-name.html"] = (
            '<!DOCTYPE html><html><head><meta charset="utf-8"><link rel="icon" href="data:,">'
            '<link rel="stylesheet" href="/pyscript/core.css"></head><body><script type="module">'
            f"const tag = Object.assign(document.createElement('script'), {{ type: 'py', textContent: {CODE!r} }});"
            f"if ({json.dumps(name == 'worker')}) tag.setAttribute('worker', '');"
            "const index_urls = [`${location.origin}/dist/torchlite/simple`];"
            "const config = { interpreter: '/dist/pyodide.mjs', packages: ['torch'], index_urls };"
            "tag.setAttribute('config', JSON.stringify(config)); document.body.append(tag);"
            "await import('/pyscript/core.js');</script></body></html>"
        )
    return out


@pytest.mark.parametrize("where", ["main", "worker", "main-by-name", pytest.param("worker-by-name", marks=SLOW)])
def test_gradient_in_pyscript(driver, isolated_site, where):
    # the worker reaches the page's title only where the page is cross-origin isolated
    driver.get(f"{isolated_site}/pyscript-{where}.html")
    end = time.monotonic() + 120
    title = ""
    while time.monotonic() < end:
        title = run_async(driver, "return document.title")
        if title.startswith("done"):
            break
        time.sleep(0.3)
    else:
        body = run_async(driver, "return document.body.innerText")
        raise AssertionError(f"the page did not finish: {title!r} {body[:2000]!r}")
    assert title == "done [2.0, 4.0, 6.0], on webgpu:0: 14.0"
