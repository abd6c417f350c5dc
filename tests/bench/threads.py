"""What threads bring: each program of thread_workloads.py with one thread and with more, in turns, in one process.

    python tests/bench/threads.py [--threads 2] [--where host node window worker] [--only TEXT] [--seconds S]

window, worker: Chromium, Python in the page's window and in a worker, both cross-origin isolated.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

import run

PAGE = """
const start = async (base, name, threads, only, seconds) => {
  const { loadPyodide } = await import(base + "/dist/pyodide.mjs");
  const py = await loadPyodide({ indexURL: base + "/dist/" });
  await py.loadPackage("micropip", { messageCallback: () => {} });
  py.globals.set("wheel", base + "/dist/torchlite/" + name);
  await py.runPythonAsync("import micropip; await micropip.install(wheel)");
  py.FS.writeFile("/home/pyodide/thread_workloads.py", await (await fetch(base + "/bench/thread_workloads.py")).text());
  py.globals.set("asked", py.toPy([threads, only, seconds]));
  return py.runPythonAsync("import thread_workloads; thread_workloads.measure(*asked)");
};
const asked = [location.origin, "%s", %d, "%s", %g];
if (!%s) return start(...asked);
const text = `onmessage = async (e) => postMessage(await (${start})(...e.data));`;
const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })), { type: "module" });
worker.postMessage(asked);
return new Promise((done, failed) => {
  worker.onmessage = (e) => done(e.data);
  worker.onerror = (e) => failed(new Error(e.message));
});
"""


def in_chromium(worker: bool, threads: int, only: str, seconds: float) -> str:
    folder = run.dist.prepare("314")
    script = PAGE % (run.dist.wheel("314", folder).name, threads, only, seconds, str(worker).lower())
    routes = {"/empty.html": run.pages.EMPTY}
    with run.pages.serve({"/dist/": folder, "/bench/": run.HERE}, routes, run.pages.ISOLATED) as base:
        driver = run.pages.chromium()
        try:
            driver.set_script_timeout(600)
            driver.get(base + "/empty.html")
            printed: str = run.pages.run_async(driver, script)
            return printed
        finally:
            driver.quit()


def measure(where: str, threads: int, only: str, seconds: float) -> dict[str, list[float]]:
    if where in ("window", "worker"):
        return json.loads(in_chromium(where == "worker", threads, only, seconds))  # type: ignore[no-any-return]
    argv = [str(threads), only, str(seconds)]
    if where == "host":
        env = {**os.environ, "PYTHONPATH": str(run.ROOT)}
        cmd = [sys.executable, str(run.HERE / "thread_workloads.py"), *argv]
        done = subprocess.run(cmd, capture_output=True, text=True, env=env, check=False)
    else:
        script = "/project/tests/bench/thread_workloads.py"
        done = run.run_node.run(run.run_node.SCRIPT, [script, *argv], capture=True)
    for line in done.stdout.splitlines():
        if line.startswith("BENCH "):
            return json.loads(line[6:])  # type: ignore[no-any-return]
    raise SystemExit(f"threads, {where}: {done.stdout}{done.stderr}")


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    places = ("host", "node", "window", "worker")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--where", nargs="*", choices=places, default=places)
    p.add_argument("--only", default="")
    p.add_argument("--seconds", type=float, default=0.3, help="for each program and number of threads")
    a = p.parse_args()
    for where in a.where:
        print(f"{where + ', ms':36} {'1 thread':>10} {f'{a.threads} threads':>10} {'times':>6}")
        for name, (one, more) in measure(where, a.threads, a.only, a.seconds).items():
            print(f"  {name:34} {one:10.3f} {more:10.3f} {one / more:6.2f}", flush=True)


if __name__ == "__main__":
    main()
