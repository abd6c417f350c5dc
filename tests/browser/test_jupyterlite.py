"""A JupyterLite site with the wheels, without a network: a notebook imports torch by name, trains and plots.

The site is built in .cache/jupyterlite, with its own environment; all that the kernel needs is in it.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import sys
import threading

import dist as distribution
import page_driver
import pytest
import serve
from test_demo import KINDS, SHOTS, pytestmark  # noqa: F401

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".cache" / "jupyterlite"
RUN = '[data-command="notebook:run-cell-and-select-next"]'
TOOLS = ["jupyterlite-core==0.8.6", "jupyterlite-pyodide-kernel==0.8.6", "jupyter-server==2.21.1"]
COMM = "comm==0.2.3"  # the kernel's, beyond what IPython needs

TRAIN = """import torch

torch.manual_seed(0)
x = torch.linspace(-1, 1, 64).unsqueeze(1)
y = 2 * x + 1
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for step in range(200):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"y = {model.weight.item():.2f} x + {model.bias.item():.2f}")"""
PLOT = """from IPython.display import SVG

top = max(losses)
line = " ".join(f"{i * 2},{100 - 98 * loss / top:.1f}" for i, loss in enumerate(losses))
SVG(f'<svg xmlns="http://www.w3.org/2000/svg" width="400" height="104" id="losses">'
    f'<polyline points="{line}" fill="none" stroke="#b93c0a" stroke-width="2"/></svg>')"""
INSTALL = (
    "%pip install torchlite\nimport importlib.metadata\nprint('installed', importlib.metadata.version('torchlite'))"
)


def notebook(*cells):
    def cell(source):
        return {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None}

    kernel = {"display_name": "Python (Pyodide)", "language": "python", "name": "python"}
    return json.dumps(
        {"cells": [cell(c) for c in cells], "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    )


def build(way):
    """The site's folder. "lock": Pyodide's lock file knows torch; "pip": the site's own index of wheels does;
    "package": the package for JupyterLite does both."""
    import lite
    import offline

    env = FOLDER / "env"
    mark = env / "ready"
    if not mark.exists() or mark.read_text() != " ".join(TOOLS):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(env)], check=True)
        subprocess.run([str(env / "bin" / "pip"), "install", "--quiet", *TOOLS], check=True)
        mark.write_text(" ".join(TOOLS))
    source = distribution.prepare("314")
    work, site = FOLDER / "work", FOLDER / "site"
    for folder in (work, site):
        shutil.rmtree(folder, ignore_errors=True)
    static = work / "static" / "pyodide"
    wheels = sorted((source / "torchlite").glob("*.whl"))
    piplite = work / "wheels"
    piplite.mkdir(parents=True)
    if way == "lock":
        served = [w for w in wheels if "2026_0" in w.name or w.name.startswith("torch-")]
        offline.collect(static, ["ipython", "jedi", COMM], served)
    else:
        offline.collect(static, ["ipython", "jedi"], [])
        shutil.copy(distribution._download(COMM, "3.14", ROOT / ".cache" / "pypi"), piplite)
    pip = [str(env / "bin" / "pip"), "--disable-pip-version-check"]
    subprocess.run([*pip, "uninstall", "--quiet", "--yes", lite.NAME], check=True, capture_output=True)
    if way == "package":
        package = lite.build(source / "torchlite", work / "package")
        subprocess.run([*pip, "install", "--quiet", "--no-deps", str(package)], check=True)
    elif way == "pip":
        # one wheel of a name: JupyterLite's index keeps one file for each version
        for wheel in (distribution.wheel("314", source), *(w for w in wheels if w.name.startswith("torch-"))):
            shutil.copy(wheel, piplite)
    (work / "files").mkdir()
    cells = {"lock": [TRAIN, PLOT], "pip": [INSTALL, TRAIN, PLOT], "package": [TRAIN, INSTALL, PLOT]}
    (work / "files" / "line.ipynb").write_text(notebook(*cells[way]))
    command = [str(env / "bin" / "jupyter"), "lite", "build", "--output-dir", str(site)]
    command += ["--contents", "files", "--piplite-wheels", str(piplite)]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return site


@pytest.mark.slow
@pytest.mark.parametrize("way", ["lock", "pip", "package"])
@pytest.mark.parametrize("kind", KINDS)
def test_notebook(kind, way):
    reason = page_driver.missing(kind)
    if reason:
        pytest.skip(reason)
    server = serve.make_server(quiet=True, site=build(way))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = page_driver.open_browser(kind)
    try:
        page.resize(1280, 900)
        page.open(f"http://localhost:{server.server_port}/notebooks/index.html?path=line.ipynb")
        page.wait("document.querySelectorAll('.jp-CodeCell').length >= 2", 60)
        page.wait("document.querySelector('.jp-CodeCell .cm-content') !== null", 30)
        # a busy machine starts the kernel so late that the page asks which one to take
        asked = "document.querySelector('.jp-Dialog .jp-mod-accept')"
        page.wait(
            "document.querySelector('.jp-Notebook-ExecutionIndicator[data-status=idle]') !== null"
            f" || ({asked}?.click(), false)",
            90,
        )
        page.click(".jp-CodeCell .cm-content")
        trained, installed = "y = 2.00 x + 1.00", "installed 0.3.0"
        said = {"lock": [trained], "pip": [installed, trained], "package": [trained, installed]}[way]
        for text in said:
            page.click(RUN)
            page.wait(f"document.querySelector('.jp-Notebook').innerText.includes({text!r})", 120)
        page.click(RUN)
        page.wait("document.querySelector('.jp-OutputArea svg#losses, .jp-OutputArea img') !== null", 60)
        page.screenshot(SHOTS / f"{kind}-jupyterlite-{way}.png")
    finally:
        page.quit()
        server.shutdown()
        server.server_close()
