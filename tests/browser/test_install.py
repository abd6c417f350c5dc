"""An empty page: Pyodide, one micropip.install from a package index, and a training step."""

from __future__ import annotations

import json

import pytest
from pages import python, run_async

TRAIN = """
import time, js
t0 = time.perf_counter()
import torch
import_ms = (time.perf_counter() - t0) * 1000
import torch.nn as nn
import torchlite, sys
assert torch is torchlite and nn is torchlite.nn and sys.modules["torch.nn"] is nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(32, 4)
y = x.sum(1, keepdim=True)
losses = []
for _ in range(20):
    opt.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    opt.step()
    losses.append(loss.item())
from torchlite._core import native
{"first": losses[0], "last": losses[-1], "variant": native.variant, "import_ms": import_ms,
 "version": torch.__version__}
"""

NEEDS_TORCH = """
import importlib.metadata, needs_torch
[needs_torch.answer(), importlib.metadata.version("needs-torch"), importlib.metadata.version("torch")]
"""


def load(driver, base):
    driver.get(base + "/empty.html")
    run_async(
        driver,
        f"""
      const {{ loadPyodide }} = await import("{base}/dist/pyodide.mjs");
      globalThis.pyodide = await loadPyodide({{ indexURL: "{base}/dist/" }});
      await pyodide.loadPackage("micropip");
    """,
    )


@pytest.fixture
def page(driver, site):
    load(driver, site)
    return driver


@pytest.fixture(scope="session")
def with_lock(dist_folder):
    """Writes a lock file that names torchlite beside the wheels, as `python -m torchlite.lock` does."""
    from torchlite import lock

    wheels = sorted((dist_folder / "torchlite").glob("*.whl"))
    made = lock.extend(json.loads((dist_folder / "pyodide-lock.json").read_text()), [str(w) for w in wheels], "..")
    (dist_folder / "torchlite" / "pyodide-lock.json").write_text(json.dumps(made))


BY_NAME = {
    "imports": 'await pyodide.loadPackagesFromImports("import torch");',
    "packages": "",
    "micropip": """await pyodide.loadPackage("micropip");
        await pyodide.runPythonAsync('import micropip; await micropip.install("torchlite")');""",
    "torch": """await pyodide.loadPackage("micropip");
        await pyodide.runPythonAsync('import micropip; await micropip.install("torch>=2")');""",
}


@pytest.mark.parametrize("way", BY_NAME)
def test_by_name(driver, site, with_lock, way):
    """From an empty page, without an address or an index: the lock file is all that the page names."""
    driver.get(site + "/empty.html")
    options = ', packages: ["torch"]' if way == "packages" else ""
    run_async(
        driver,
        f"""
      const {{ loadPyodide }} = await import("{site}/dist/pyodide.mjs");
      const lockFileURL = "{site}/dist/torchlite/pyodide-lock.json";
      const pyodide = await loadPyodide({{ indexURL: "{site}/dist/", lockFileURL {options} }});
      {BY_NAME[way]}
      globalThis.pyodide = pyodide;
    """,
    )
    assert python(driver, "import torch; float(torch.arange(4.).sum())") == 6.0


def install(base, *what):
    names = ", ".join(repr(w) for w in what)
    return f"""
import micropip
await micropip.install([{names}], index_urls=["{base}/dist/torchlite/simple", "{base}/extra/simple"])
None
"""


def test_index_install_and_training_step(page, site, record_property):
    python(page, install(site, "torchlite"))
    result = python(page, TRAIN)
    assert result["last"] < result["first"] * 0.7, result
    assert result["variant"] in ("relaxed", "simd128")
    assert result["version"].startswith("2.13.0")
    record_property("import_ms", round(result["import_ms"]))
    print(f"import torch: {result['import_ms']:.0f} ms, {result['variant']}")


def test_wheel_url_install(page, site, wheel_name):
    python(page, f'import micropip; await micropip.install("{site}/dist/torchlite/{wheel_name}"); None')
    assert python(page, "import torch; float(torch.ones(3).sum())") == 3.0


def test_load_package_without_micropip(page, site, wheel_name):
    run_async(page, f'await pyodide.loadPackage("{site}/dist/torchlite/{wheel_name}")')
    assert python(page, "import torch; float(torch.ones(3).sum())") == 3.0


def test_package_that_requires_torch_in_the_same_call(page, site):
    python(page, install(site, "needs-torch"))
    assert python(page, NEEDS_TORCH)[:2] == [6.0, "1.0"]


def test_package_that_requires_torch_later(page, site, wheel_name):
    python(page, f'import micropip; await micropip.install("{site}/dist/torchlite/{wheel_name}"); None')
    python(page, f'await micropip.install("needs-torch", index_urls=["{site}/extra/simple"]); None')
    assert python(page, NEEDS_TORCH)[:2] == [6.0, "1.0"]


def test_simd128_on_request(page, site):
    python(page, install(site, "torchlite"))
    code = (
        "import os; os.environ['TORCHLITE_NATIVE'] = 'simd128'; import torch; "
        "from torchlite._core import native; native.variant"
    )
    assert python(page, code) == "simd128"
