"""torchlite in Chromium against other libraries there, in one run: TensorFlow.js, ONNX Runtime Web and jax-js,
one thread each, or as many as --threads says.

    python tests/bench/peers.py [--gpu | --threads 2] [--peers DIR] [--workloads REGEX] [--repeat N] [--native]
        [--out FILE] [-- options of run.mjs]

--gpu compares the WebGPU devices, on the adapter that Chromium has;
a software one ranks them and says nothing about a real GPU.

DIR is the peer benchmark (default: ../shared/peers);
it is copied to a scratch folder, where its npm packages are installed once. Its Python part needs numpy,
onnx and ziglang: BENCH_PYTHON names a Python that has them, otherwise it makes its own.
Prints a table with the ratio ours / best peer. With --repeat, each cell keeps the better of its medians.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "pyodide"))
import dist

PEERS = ("tfjs-wasm-%dt", "ort-wasm-%dt", "jaxjs-wasm-%dt")
PEERS_GPU = ("tfjs-webgpu", "ort-webgpu", "jaxjs-webgpu")
MOUNT = "torchlite"
DEFAULT = ROOT.parent / "shared" / "peers"


def prepared(source: pathlib.Path, scratch: pathlib.Path) -> pathlib.Path:
    """A copy of the peer benchmark with its packages installed and bundled."""
    key = hashlib.sha256()
    for p in sorted(source.rglob("*")):
        if p.is_file() and p.suffix in (".mjs", ".js", ".json", ".py", ".html", ".c") and p.name != "results.json":
            key.update(p.relative_to(source).as_posix().encode() + p.read_bytes())
    folder = scratch / key.hexdigest()[:12]
    if not (folder / "ready").exists():
        skip = shutil.ignore_patterns("node_modules", "build", ".venv", "results.json")
        shutil.copytree(source, folder, dirs_exist_ok=True, ignore=skip)
        for p in [folder, *folder.rglob("*")]:
            p.chmod(p.stat().st_mode | 0o200)
        for cmd in (["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], ["npm", "run", "--silent", "setup"]):
            subprocess.run(cmd, cwd=folder, check=True, stdout=sys.stderr)
        (folder / "ready").write_text("")
    return folder


def measure(folder: pathlib.Path, out: pathlib.Path, a: argparse.Namespace) -> dict:
    pyodide = dist.prepare("314")
    peers = [*a.columns[1:], *(("torch-1t",) if a.native else ())]
    wanted = "device=webgpu" if a.gpu else f"threads={a.threads}"
    page = f"{MOUNT}/bench.html?wheel={dist.wheel('314', pyodide).name}&{wanted}"
    cmd = [
        "node",
        "run.mjs",
        "--mount",
        f"{MOUNT}={HERE / 'peers'}",
        "--mount",
        f"pyodide={pyodide}",
        "--out",
        str(out),
        "--column",
        f"{a.columns[0]}=page:{page}",
        "--peers",
        ",".join(peers),
        *a.rest,
    ]
    if a.workloads:
        cmd += ["--workloads", a.workloads]
    out.unlink(missing_ok=True)
    for i in range(a.repeat):
        subprocess.run([*cmd, *(["--best"] if i else [])], cwd=folder, check=True, stdout=sys.stderr)
    return json.loads(out.read_text())  # type: ignore[no-any-return]


def shown(ms: float, us: bool) -> str:
    value = ms * 1e3 if us else ms
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def table(results: dict, native: bool, columns: tuple[str, ...]) -> list[tuple[str, float]]:
    """Prints the table; returns the workloads where a peer was faster, with the ratio."""
    wrong = {(d["peer"], d["workload"]) for d in results["disagreements"]}
    why = {s["workload"]: s["reason"] for s in results["skips"] if s["peer"] == columns[0]}
    cells = {(r["peer"], r["workload"]): r for r in results["results"] if (r["peer"], r["workload"]) not in wrong}
    slower, ratios = [], []
    names = [p.split("-")[0] for p in columns[1:]]
    print(
        f"\n{'ms (op/*: us)':24}{MOUNT:>12}"
        + "".join(f"{n:>10}" for n in names)
        + f"{'ratio':>8}"
        + ("   native" if native else "")
    )
    for w in (w for w in results["workloads"] if any(k[1] == w["id"] for k in cells)):
        name, us = w["id"], bool(w.get("us"))
        row = [cells.get((p, name)) for p in columns]
        texts = [shown(r["ms"], us) + "~" * bool(r.get("noisy")) if r else "-" for r in row]
        others = [r["ms"] for r in row[1:] if r]
        ratio = row[0]["ms"] / min(others) if row[0] and others else float("nan")
        if row[0] and others:
            ratios.append(ratio)
        if ratio > 1:
            slower.append((name, ratio))
        if row[0]:
            note = ""
        else:
            note = "  " + ("wrong result" if (columns[0], name) in wrong else why.get(name, ""))
        torch = cells.get(("torch-1t", name))
        print(
            f"{name:24}{texts[0]:>12}"
            + "".join(f"{t:>10}" for t in texts[1:])
            + f"{ratio:8.2f}"
            + (f"{shown(torch['ms'], us):>9}" if torch else "")
            + note
        )
    print("ratio: ours over the fastest peer; ~: other programs used the machine during every sample")
    if ratios:
        ahead = len(ratios) - len(slower)
        print(f"geometric mean {statistics.geometric_mean(ratios):.2f}, {ahead} of {len(ratios)} ahead")
    return slower


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--peers", type=pathlib.Path, default=DEFAULT)
    p.add_argument("--scratch", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "torchlite-peers")
    p.add_argument("--workloads", default="")
    p.add_argument("--repeat", type=int, default=1)
    p.add_argument("--gpu", action="store_true", help="the WebGPU devices")
    p.add_argument("--threads", type=int, default=1, choices=(1, 2), help="of torchlite and of each peer")
    p.add_argument("--native", action="store_true", help="native PyTorch as well (BENCH_PYTHON has to have it)")
    p.add_argument("--out", type=pathlib.Path, default=ROOT / ".out" / "peers.json")
    p.add_argument("rest", nargs="*")
    a = p.parse_args(argv)
    a.columns = ("torchlite-webgpu", *PEERS_GPU) if a.gpu else ("torchlite", *(name % a.threads for name in PEERS))
    missing = None
    if not (a.peers / "run.mjs").exists():
        missing = f"there is no peer benchmark in {a.peers} (--peers names its folder)"
    elif not shutil.which("npm"):
        missing = "npm is not installed: apt-get install nodejs npm"
    elif not (os.environ.get("CHROMIUM") or shutil.which("chromium")):
        missing = "Chromium is not installed: apt-get install chromium"
    if missing:
        print(f"peers: skipped, {missing}")
        return 0
    a.out.parent.mkdir(parents=True, exist_ok=True)
    try:
        results = measure(prepared(a.peers.resolve(), a.scratch), a.out.resolve(), a)
    except (dist.runtime.Missing, subprocess.CalledProcessError) as e:
        print(f"peers: {e}", file=sys.stderr)
        return 1
    table(results, a.native, a.columns)
    return 0


if __name__ == "__main__":
    sys.exit(main())
