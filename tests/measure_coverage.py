"""Which lines the tests run: of the C core (gcov), of torchlite (coverage.py), of the WebGPU bridge (vitest with V8).

    python tests/measure_coverage.py [--only native] [--only torchlite] [--only js_bridge] [--no-kernels] [TEST ...]

TEST are files or folders for pytest; by default those of the layers host and webgpu.
The whole takes about half an hour on a machine with nothing else to do; --no-kernels leaves out the run of the bridge's
kernels one by one, the longest part of js_bridge.
The tables of single files go to .out/coverage.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / ".out" / "coverage"
OBJECTS = ROOT / ".build" / "host-cov"
Files = dict[str, tuple[int, int]]  # name -> (lines, lines that ran)


def build() -> pathlib.Path:
    subprocess.run([sys.executable, "native/build.py", "host", "--coverage"], cwd=ROOT, check=True)
    for old in OBJECTS.glob("*.gcda"):
        old.unlink()
    return ROOT / ".build" / "coverage" / "_C.abi3.so"


def run_tests(tests: list[str], native: pathlib.Path | None, python: bool) -> None:
    """The tests in two processes; a failing one is the host layer's business."""
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "COVERAGE_FILE": str(OUT / "data"),
    }
    if native:
        env["TORCHLITE_NATIVE"] = str(native)
    measured = ["-m", "coverage", "run", "--parallel-mode", "--source", "torchlite"] if python else []
    pytest = [
        sys.executable,
        *measured,
        "-m",
        "pytest",
        "-q",
        "--tb=no",
        "--timeout",
        "1200",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
    ]
    webgpu = [t for t in tests if "webgpu" in pathlib.Path(t).parts]  # some files are called as others in tests/unit
    rest = [t for t in tests if t not in webgpu]
    running = [subprocess.Popen([*pytest, *some], cwd=ROOT, env=env) for some in (rest, webgpu) if some]
    if any(p.wait() > 1 for p in running):  # 1: a test failed, which other commands show
        sys.exit("pytest did not run all tests")


def native_files() -> Files:
    lines: dict[str, dict[int, int]] = collections.defaultdict(dict)
    for data in sorted(OBJECTS.glob("*.gcda")):
        done = subprocess.run(
            ["gcov", "--json-format", "--stdout", str(data)], cwd=OBJECTS, capture_output=True, text=True, check=False
        )
        for text in done.stdout.splitlines():
            for file in json.loads(text)["files"]:
                if "/native/src/" in file["file"]:
                    seen = lines[file["file"].rpartition("/native/src/")[2]]
                    for line in file["lines"]:
                        seen[line["line_number"]] = max(seen.get(line["line_number"], 0), line["count"])
    return {name: (len(seen), sum(n > 0 for n in seen.values())) for name, seen in lines.items()}


def python_files() -> Files:
    env = {**os.environ, "COVERAGE_FILE": str(OUT / "data")}
    coverage = [sys.executable, "-m", "coverage"]
    subprocess.run([*coverage, "combine", "--quiet"], cwd=ROOT, env=env, check=True)
    subprocess.run([*coverage, "json", "--quiet", "-o", str(OUT / "torchlite.json")], cwd=ROOT, env=env, check=True)
    found: dict[str, Any] = json.loads((OUT / "torchlite.json").read_text())["files"]
    return {name: (f["summary"]["num_statements"], f["summary"]["covered_lines"]) for name, f in found.items()}


def js_files(with_kernels: bool) -> Files:
    folder = ROOT / "js_bridge"
    if not (folder / "node_modules" / "@vitest" / "coverage-v8").is_dir():
        subprocess.run(
            ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder, check=True
        )
    total: dict[str, list[int]] = {}
    for kernels in ("", "1") if with_kernels else ("",):  # the kernels have a run of their own
        report = OUT / f"js{kernels}"
        options = [
            "--coverage.enabled",
            "--coverage.reporter=json-summary",
            f"--coverage.reportsDirectory={report}",
            "--coverage.include=src/**/*.ts",
            "--coverage.reportOnFailure",
        ]
        # a measured worker answers late
        env = {
            **os.environ,
            "TORCHLITE_TICK": "200",
            **({"KERNELS": kernels} if kernels else {}),
        }
        subprocess.run(["node", "tools/test.mjs", *options], cwd=folder, env=env, check=False)
        for name, f in json.loads((report / "coverage-summary.json").read_text()).items():
            if name != "total":
                old = total.setdefault(os.path.relpath(name, folder), [0, 0])
                total[os.path.relpath(name, folder)] = [
                    max(old[0], f["lines"]["total"]),
                    max(old[1], f["lines"]["covered"]),
                ]
    return {name: (n, hit) for name, (n, hit) in total.items()}


def report(part: str, files: Files) -> None:
    (OUT / f"{part}.txt").write_text(
        "".join(
            f"{100 * hit / max(n, 1):5.1f} %  {hit:6} of {n:6}  {name}\n" for name, (n, hit) in sorted(files.items())
        )
    )
    lines, ran = (sum(v[i] for v in files.values()) for i in (0, 1))
    least = sorted((f for f in files.items() if f[1][0] >= 20), key=lambda f: f[1][1] / f[1][0])[:5]
    shown = ", ".join(f"{name} {100 * hit / n:.0f} %" for name, (n, hit) in least)
    print(
        f"{part:10} {100 * ran / max(lines, 1):5.1f} % of {lines} lines in {len(files)} files; least: {shown}",
        flush=True,
    )


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", action="append", choices=["native", "torchlite", "js_bridge"])
    p.add_argument("--no-kernels", action="store_true")
    p.add_argument("tests", nargs="*", metavar="TEST")
    a = p.parse_args()
    parts = a.only or ["native", "torchlite", "js_bridge"]
    if "torchlite" in parts and importlib.util.find_spec("coverage") is None:
        print("coverage.py is missing: pip install -r tests/requirements.txt", file=sys.stderr)
        return 1
    if "native" in parts and not (shutil.which("gcc") and shutil.which("gcov")):
        print("native left out: gcc and gcov are missing", file=sys.stderr)
        parts.remove("native")
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    folders = a.tests or [
        str(f)
        for name in ("unit", "ops", "programs", "webgpu")
        for f in sorted((ROOT / "tests" / name).rglob("test_*.py"))
    ]
    if set(parts) & {"native", "torchlite"}:
        run_tests(folders, build() if "native" in parts else None, "torchlite" in parts)
    found = {"native": native_files, "torchlite": python_files, "js_bridge": lambda: js_files(not a.no_kernels)}
    print()
    for part in parts:
        report(part, found[part]())
    return 0


if __name__ == "__main__":
    sys.exit(main())
