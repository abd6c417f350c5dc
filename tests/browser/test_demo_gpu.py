"""The Digits page on WebGPU: the choice of a device, the same losses as on the CPU, drawing, Stop and Run again;
a page without a GPU says why."""

from __future__ import annotations

import json
import os

import pytest
import short_digits
from strokes import DIGITS
from test_demo import CONSOLE, KINDS, READY, RUNNING, SHOTS, read_drawing, run_script, text

pytestmark = pytest.mark.skipif(
    os.environ.get("TORCHLITE_PYODIDE", "314") != "314", reason="the demo site is built with Pyodide 314"
)

SHORT = short_digits.source(steps=6, epochs=2)
ENDLESS = SHORT.replace("EPOCHS = 2", "EPOCHS = 2000")
NOTE = "document.querySelector('#gpu').textContent"


def choose(page, device):
    page.eval(f"(document.querySelector('#device').value = {device!r}, 1)")


def train(page, source):
    """The losses of a whole run, and what the network then makes of a drawing."""
    page.eval("(window.losses = [], 1)")
    run_script(page, source)
    page.wait(RUNNING, 10)
    page.wait(READY, 240)
    assert "Finished in" in page.eval(CONSOLE), page.eval(CONSOLE)
    assert "Warning" not in page.eval(CONSOLE)  # nothing fell back to the CPU
    pixels = [(i * 7) % 17 for i in range(64)]
    return page.eval("losses"), page.eval(f"demo.engine.predict({json.dumps(pixels)})")["probabilities"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_same_run_on_both_devices(visit, kind):
    page = visit(kind, "/digits/index.html", gpu=True)
    page.wait(READY, 90)
    page.wait("!document.querySelector('#device-choice').hidden", 30)
    assert page.eval("[...document.querySelectorAll('#device option')].map(o => o.text)") == ["CPU", "GPU (WebGPU)"]
    # a real GPU would be chosen
    assert page.eval("document.querySelector('#device').value") == "cpu" and "software" in page.eval(NOTE)
    page.eval("(demo.engine.addEventListener('losses', e => losses.push(...e.detail.values)), 1)")

    losses, answer = train(page, SHORT)
    assert "on cpu" in page.eval(CONSOLE)
    choose(page, "webgpu")
    gpu_losses, gpu_answer = train(page, SHORT)
    assert "on webgpu" in page.eval(CONSOLE)
    assert len(losses) == 12 and short_digits.close(gpu_losses, losses), (gpu_losses, losses)
    assert gpu_answer == pytest.approx(answer, rel=1e-3)
    page.screenshot(SHOTS / f"{kind}-gpu.png", whole=True)
    page.resize(390, 844)
    assert page.eval("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.screenshot(SHOTS / f"{kind}-gpu-phone.png", whole=True)
    page.resize(1360, 1000)

    run_script(page, ENDLESS)
    page.wait("/^[1-9]/.test(document.querySelector('#epoch').textContent)", 60)
    # a drawing is read while the script trains on the GPU
    page.click("#clear")
    page.draw("#pad", DIGITS[0])
    page.wait("document.querySelector('#verdict strong') !== null", 20)
    assert page.eval(RUNNING)
    page.screenshot(SHOTS / f"{kind}-gpu-training.png")
    page.click("#stop")
    page.wait(READY, 20)
    assert "Stopped" in page.eval(CONSOLE) and "Traceback" not in page.eval(CONSOLE)
    page.click("#clear")
    page.draw("#pad", DIGITS[1])
    read_drawing(page)  # by the half-trained network
    again, _ = train(page, short_digits.source(steps=6))
    assert short_digits.close(again, losses[:6]), (again, losses)


@pytest.mark.parametrize("kind", KINDS)
def test_page_without_gpu(visit, kind):
    page = visit(kind, "/digits/index.html")
    page.wait(READY, 90)
    page.wait(NOTE, 10)
    why = "it offers no adapter" if kind == "chromium" else "has no WebGPU"
    assert why in page.eval(NOTE) and text(page, "#gpu").startswith("Runs on the CPU; no GPU can be used: ")
    assert page.eval("document.querySelector('#device-choice').hidden")
    run_script(
        page,
        "import torch\nprint(torch.accelerator.is_available(), torch.accelerator.current_accelerator(), "
        "torch.webgpu.device_count())\ntorch.ones(2, device='webgpu')\n",
    )
    page.wait("document.querySelector('.traceback') !== null", 20)
    shown = page.eval(CONSOLE)
    assert "False None 0" in shown and "line 3, in <module>" in shown
    assert "RuntimeError: device webgpu is not available: " in shown and why in shown
    page.screenshot(SHOTS / f"{kind}-no-gpu.png", whole=True)


@pytest.mark.parametrize(
    "isolated", [pytest.param(True, id="isolated"), pytest.param(False, id="plain", marks=pytest.mark.slow)]
)
def test_gpu_without_stack_switching(visit, isolated):
    """Python is entered synchronously: it reads the GPU through a canvas."""
    page = visit("firefox", "/digits/index.html" + ("" if isolated else "?isolate=0"), jspi=False, gpu=True)
    page.wait(READY, 90)
    assert page.eval("demo.engine.about.jspi") is False
    page.wait("!document.querySelector('#device-choice').hidden", 30)
    page.eval("(demo.engine.addEventListener('losses', e => losses.push(...e.detail.values)), 1)")
    if isolated:
        losses, _ = train(page, short_digits.source(steps=4))
    choose(page, "webgpu")
    if isolated:
        gpu_losses, _ = train(page, short_digits.source(steps=4))
        assert short_digits.close(gpu_losses, losses), (gpu_losses, losses)
    run_script(page, ENDLESS)
    page.wait("/^[1-9]/.test(document.querySelector('#epoch').textContent)", 60)
    page.click("#stop")
    page.wait(READY, 60)
    assert "Stopped" in page.eval(CONSOLE)
    # where no memory can be shared Stop replaced Python: its GPU is opened anew
    choose(page, "webgpu")
    run_script(
        page,
        "import torch\nx = torch.ones(2, device=torch.accelerator.current_accelerator())\n"
        "print(x.device, x.sum().item())\n",
    )
    page.wait(f"{CONSOLE}.includes('webgpu:0 2.0')", 30)
