"""The npm package in pages without a bundler: in the window, in a worker of the page's own, and its own worker."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import time

import pages
import pytest
from dist import ROOT

sys.path.insert(0, str(ROOT / "wheels"))
import npm
import runtime

TOOLS = ROOT / "tests" / "npm"
# the package has the wheel for this generation of Pyodide
pytestmark = pytest.mark.skipif(
    os.environ.get("TORCHLITE_PYODIDE", "314") != "314", reason="the npm package is for Pyodide 314"
)

LOAD = """
  const { load } = await import("%(base)s/npm/index.js");
  const torch = await load({ indexURL: "%(base)s/dist/"%(more)s });
"""
PROGRAM = """
  const { nn } = torch;
  torch.manual_seed(0);
  const x = torch.randn(128);
  const y = torch.randn(128);
  const total = x.add(y).mul(2).sum();
  class Net extends nn.Module {
    constructor() { super(); this.fc = nn.Linear(4, 2, { bias: false }); }
    forward(x) { return this.fc(x); }
  }
  const model = new Net();
  const optimizer = new torch.optim.SGD(model.parameters(), { lr: 0.1 });
  const input = torch.randn(16, 4);
  let first, last;
  for (let step = 0; step < 20; step++) {
    const loss = model(input).pow(2).mean();
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    last = await loss.data();
    first ??= last;
  }
  const loaded = nn.Linear(3, 1, { bias: false });
  await loaded.load_state_dict(FILE);
  return [(await x.data())[0], total.shape, last[0] < first[0], loaded(torch.ones(1, 3)).item()];
"""
EXPECTED = [pytest.approx(-1.1258398), [], True, 7]
FILE = '"npm/weights.safetensors"'  # relative to the page


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = npm.make(tmp_path_factory.mktemp("npm"))
    # a file of weights: a header of JSON, after its size, then numbers
    head = b'{"weight": {"dtype": "F32", "shape": [1, 3], "data_offsets": [0, 12]}}'
    data = struct.pack("<Q", len(head)) + head + struct.pack("<3f", 1, 2, 4)
    (folder / "weights.safetensors").write_bytes(data)
    return folder


def serve(package, dist_folder, headers=None):
    roots = {"/dist/": dist_folder, "/npm/": package, "/tests/": TOOLS}
    return pages.serve(roots, {"/empty.html": pages.EMPTY}, headers)


@pytest.fixture(scope="module")
def served(package, dist_folder):
    with serve(package, dist_folder) as base:
        yield base


def only_in_chromium(driver) -> None:
    """For what no other browser does differently."""
    if driver.name_ != "chromium":
        pytest.skip("the same code as in Chromium")


def load(base: str, more: str = "") -> str:
    return LOAD % {"base": base, "more": more}


def run(driver, base: str, body: str, more: str = ""):
    driver.get(base + "/empty.html")
    return pages.run_async(driver, load(base, more) + body)


def test_in_the_window(driver, served):
    assert run(driver, served, PROGRAM.replace("FILE", FILE)) == EXPECTED


def test_in_a_worker_of_the_page(driver, served):
    only_in_chromium(driver)
    # the helper's worker calls what it takes for Pyodide
    code = PROGRAM.replace("FILE", f'"{served}/npm/weights.safetensors"')
    program = "globalThis.pyodide = { runPythonAsync: async () => { %s } };" % code
    ask = pages.Asking(driver, served, load(served) + program)
    assert ask("async", "") == EXPECTED
    ask.end()


ON_THE_GPU = """
  const x = torch.arange(6, { dtype: torch.float32 }).view(2, 3);
  const y = x.matmul(x.t()).relu().sub(1);
  const data = await y.data();
  return [String(x.device), [...data], y.sum().item(), torch.memory().bytes > 0];
"""


def test_on_the_gpu(driver, served):
    assert run(driver, served, ON_THE_GPU, ', device: "webgpu"') == ["webgpu:0", [4, 13, 13, 49], 79, True]


COSTS = """
  const { costs } = await import("/tests/cost.mjs");
  let least = await costs(torch);
  for (let again = 0; again < 3 && least.some(([, here, python]) => here - python > 12); again++) {
    const more = await costs(torch);
    least = least.map(([name, here, python], at) => [name, Math.min(here, more[at][1]), Math.min(python, more[at][2])]);
  }
  return least.slice(0, -2); // the last are several calls
"""


@pytest.mark.slow
def test_a_call_costs_little_more_than_in_python(driver, served):
    """2 us where nothing else runs; the limit, and some repetitions, leave room for a busy machine."""
    if driver.name_ != "chromium":
        pytest.skip("a busy machine's times are too coarse there")
    rows = run(driver, served, COSTS)
    assert {name: round(here - python, 1) for name, here, python in rows if here - python > 12} == {}


WORKER = """
  const x = torch.randn(128, { dtype: torch.float64 });
  const y = x.add(1).mul(2).view([x.size(0), -1]).squeeze(1); // a number that was not awaited
  const [first] = await torch.arange(4).split(2);
  const second = await torch.arange(4).split(2)[1].tolist();
  if ((await first.tolist()).join() + second.join() !== "0,12,3") throw new Error("wrong parts");
  const [shape, data, sum] = [await y.shape, await y.data(), await y.sub(x.mul(2)).sum().item()];
  const { values } = await torch.tensor([1, 3, 2]).max({ dim: 0 });
  const model = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.ReLU());
  const grad = await torch.no_grad(() => model(torch.ones(1, 2))).requires_grad;
  const error = await torch.ones(2, 3).matmul(torch.ones(2, 3)).sum().then(() => "none", (e) => e.name + e.message);
  const loaded = torch.nn.Linear(3, 1, { bias: false });
  await loaded.load_state_dict(FILE);
  const seven = await loaded(torch.ones(1, 3)).item();
  return [shape, data.constructor.name, sum, await values.item(), grad, error, seven];
"""


def test_its_own_worker(driver, served):
    message = "RuntimeErrormat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"
    program = WORKER.replace("FILE", FILE)
    assert run(driver, served, program, ", worker: true") == [[128], "Float64Array", 256, 3, False, message, 7]


SCRIPTS = """
  const seen = [];
  const script = "import torch\\ndef twice(x):\\n    return 2 * x\\nprint('hello', torch.ones(2).sum().item())\\n";
  const names = await torch.run(script, { stdout: (text) => seen.push(text) });
  const four = await names.twice(2);
  const stopped = new AbortController();
  const endless = torch.run("print('on')\\nwhile True: pass", {
    signal: stopped.signal,
    stdout: () => setTimeout(() => stopped.abort(), 50),
  }).then(() => "ended", (error) => error.name);
  const wrong = await endless.then(() => torch.run("x = 1\\nx / 0\\n").catch((e) => [e.name, e.message, e.traceback]));
  torch.terminate();
  return [seen.join(""), four, await endless, wrong];
"""


@pytest.mark.parametrize("headers", [None, pages.ISOLATED], ids=["plain", "isolated"])
def test_scripts_with_streams_and_stop(driver, package, dist_folder, headers):
    if headers:
        only_in_chromium(driver)
    with serve(package, dist_folder, headers) as base:
        printed, four, stopped, (name, message, traceback) = run(driver, base, SCRIPTS, ", worker: true")
    assert (printed, four, stopped) == ("hello 2.0\n", 4, "AbortError")
    assert (name, message) == ("ZeroDivisionError", "division by zero")
    assert 'File "script.py", line 2' in traceback


def title_of(driver):
    return driver.execute_async_script("arguments[arguments.length - 1](document.title)")


@pytest.mark.slow
@pytest.mark.parametrize("bundler", ["vite", "webpack"])
def test_a_bundled_page(driver, package, dist_folder, tmp_path, bundler):
    """A page that imports the package, built without settings: the wheel and the worker come along."""
    runtime.npm_packages(TOOLS)
    app = tmp_path / "app"
    shutil.copytree(TOOLS / "consumer", app)
    shutil.copytree(package, app / "node_modules" / "torchlite")
    command = [runtime.node(), str(TOOLS / "bundle.mjs"), bundler, str(app), str(tmp_path / "built")]
    subprocess.run(command, check=True, env=runtime.environment())
    with pages.serve({"/dist/": dist_folder, "/app/": tmp_path / "built"}) as base:
        driver.get(f"{base}/app/index.html?pyodide={base}/dist/")
        end = time.monotonic() + 120
        while (title := title_of(driver)) == "running" and time.monotonic() < end:
            time.sleep(0.2)
        assert title == "done 6 6"
