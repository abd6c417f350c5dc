"""Speed of the host build and of both WASM builds (Pyodide on node), side by side, in microseconds a call.

    python tests/bench/run.py [--where host simd128 relaxed] [--only TEXT]
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
sys.path.insert(0, str(ROOT / "tests" / "pyodide"))
import run_node  # noqa: E402

WHERE = ("host", "simd128", "relaxed")


def measure(where: str, only: str) -> dict[str, float]:
    if where == "host":
        done = subprocess.run([sys.executable, str(HERE / "workloads.py"), only], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    else:
        done = run_node.run(run_node.SCRIPT, ["/project/tests/bench/workloads.py", only], env={"TORCHLITE_NATIVE": where}, capture=True)
    for line in done.stdout.splitlines():
        if line.startswith("BENCH "):
            return json.loads(line[6:])  # type: ignore[no-any-return]
    raise SystemExit(f"bench, {where}: {done.stdout}{done.stderr}")


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--where", nargs="*", choices=WHERE, default=list(WHERE))
    p.add_argument("--only", default="")
    a = p.parse_args()
    results = {w: measure(w, a.only) for w in a.where}
    names = list(dict.fromkeys(n for r in results.values() for n in r))
    print(f"{'us a call':28}" + "".join(f"{w:>12}" for w in results))
    for n in names:
        print(f"{n:28}" + "".join(f"{results[w].get(n, float('nan')):12.2f}" for w in results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
