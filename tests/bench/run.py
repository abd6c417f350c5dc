"""Speed of the host build, of both WASM builds (Pyodide on node) and of Chromium, side by side,
against the project's budgets.

    python tests/bench/run.py [--where host simd128 relaxed chromium] [--only TEXT] [--runs N] [--no-peers] [--peers
    DIR]

The places are measured in turns, `--runs` times; each figure is the best. Afterwards torchlite is compared with other
libraries in Chromium (peers.py) where their benchmark is at hand. The status is 1 when a budget is not kept.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "pyodide"), str(ROOT / "tests" / "browser"), str(ROOT / "wheels")]
import dist
import make
import pages
import peers
import run_node

WHERE = ("host", "simd128", "relaxed", "chromium")
BUDGET_US = {"a + b, 8 elements": 3.0, "a + b, recording": 4.0, "3-layer MLP, and backward": 500.0}  # in Pyodide
IMPORT_BUDGET_US = 150e3  # in Chromium

PAGE = """
const { loadPyodide } = await import("/dist/pyodide.mjs");
const py = await loadPyodide({ indexURL: "/dist/" });
await py.loadPackage("micropip", { messageCallback: () => {} });
py.globals.set("wheel", new URL("/dist/torchlite/%s", location.href).href);
await py.runPythonAsync("import micropip; await micropip.install(wheel)");
py.FS.writeFile("/home/pyodide/workloads.py", await (await fetch("/bench/workloads.py")).text());
return py.pyimport("workloads").measure("%s", %g);
"""


def in_chromium(only: str, seconds: float) -> str:
    folder = dist.prepare("314")
    with pages.serve({"/dist/": folder, "/bench/": HERE}, {"/empty.html": pages.EMPTY}, pages.ISOLATED) as base:
        driver = pages.chromium()
        try:
            driver.get(base + "/empty.html")
            printed: str = pages.run_async(driver, PAGE % (dist.wheel("314", folder).name, only, seconds))
            return printed
        finally:
            driver.quit()


def measure(where: str, only: str, seconds: float) -> dict[str, float]:
    if where == "chromium":
        return json.loads(in_chromium(only, seconds))  # type: ignore[no-any-return]
    if where == "host":
        done = subprocess.run(
            [sys.executable, str(HERE / "workloads.py"), only, str(seconds)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=False,
        )
    else:
        done = run_node.run(
            run_node.SCRIPT,
            ["/project/tests/bench/workloads.py", only, str(seconds)],
            env={"TORCHLITE_NATIVE": where},
            capture=True,
        )
    for line in done.stdout.splitlines():
        if line.startswith("BENCH "):
            return json.loads(line[6:])  # type: ignore[no-any-return]
    raise SystemExit(f"bench, {where}: {done.stdout}{done.stderr}")


def over_budget(results: dict[str, dict[str, float]]) -> list[str]:
    """Budgets that are not kept, one line each."""
    out = []
    for where, r in results.items():
        limits = dict(BUDGET_US) if where != "host" else {}
        if where == "chromium":
            limits["import"] = IMPORT_BUDGET_US
        out += [
            f"{where}, {n}: {r[n]:.2f} us, the budget is {most:.0f}" for n, most in limits.items() if r.get(n, 0) > most
        ]
    for wheel in sorted((ROOT / "wheels" / "dist").glob("torchlite-*.whl")):
        bridge = make.bridge_size(wheel)
        rest = wheel.stat().st_size - bridge
        print(
            f"{wheel.name}: {rest / 1e3:.0f} kB and {bridge / 1e3:.0f} of WebGPU script, "
            f"the budgets are {make.BUDGET / 1e3:.0f} and {make.BUDGET_BRIDGE / 1e3:.0f}"
        )
        if rest > make.BUDGET or bridge > make.BUDGET_BRIDGE:
            out.append(
                f"{wheel.name}: {rest} and {bridge} bytes, the budgets are {make.BUDGET} and {make.BUDGET_BRIDGE}"
            )
    return out


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--where", nargs="*", choices=WHERE, default=list(WHERE))
    p.add_argument("--only", default="")
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--seconds", type=float, default=0.25, help="for each program in a run")
    p.add_argument("--no-peers", action="store_true")
    p.add_argument("--peers", type=pathlib.Path, default=peers.DEFAULT)
    a = p.parse_args()
    missing = pages.chromium_available()
    if missing and "chromium" in a.where:
        print(f"bench: no figures of Chromium: {missing}")
        a.where.remove("chromium")
    results: dict[str, dict[str, float]] = {w: {} for w in a.where}
    for _ in range(a.runs):
        for w in a.where:
            for n, us in measure(w, a.only, a.seconds).items():
                results[w][n] = min(us, results[w].get(n, us))
    print(f"{'us a call':28}" + "".join(f"{w:>12}" for w in results) + f"{'budget':>12}")
    for n in dict.fromkeys(n for r in results.values() for n in r):
        budget = IMPORT_BUDGET_US if n == "import" else BUDGET_US.get(n)
        print(
            f"{n:28}"
            + "".join(f"{results[w].get(n, float('nan')):12.2f}" for w in results)
            + (f"{budget:12.0f}" if budget else "")
        )
    over = over_budget(results)
    for line in over:
        print("over budget:", line)
    status = 0 if a.no_peers else peers.main(["--peers", str(a.peers)])
    return 1 if over else status


if __name__ == "__main__":
    sys.exit(main())
