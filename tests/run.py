"""Runs the layers of the test suite and adds up their counts.

    python tests/run.py [--list] [--all] [--jobs N] [LAYER ...]

Layers that cannot run here say why and count as one skip.
Each layer keeps a representative set: what takes long, or runs the same code as another layer, runs with --all.
So do the long layers (`fuzz`, `firefox-029`), which also run when they are named.
Two layers run at once where there are two cores, as most of them keep only one busy;
each one's output is shown when it ends.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time
import traceback
from typing import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / ".out"
PY = sys.executable
sys.path[:0] = [str(ROOT / "tests" / "webgpu"), str(ROOT / "tests" / "pyodide"), str(ROOT / "wheels")]
import dawn
import dist
import runtime


@dataclasses.dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


class Output(threading.local):
    """What a layer prints: at once, or kept until the layer ends where another runs beside it."""

    kept: list[str] | None = None

    def write(self, text: str) -> None:
        if self.kept is None:
            print(text, end="", flush=True)
        else:
            self.kept.append(text)


output = Output()


def say(*words: object) -> None:
    output.write(" ".join(map(str, words)) + "\n")


def run(
    cmd: list[str], env: dict[str, str] | None = None, cwd: pathlib.Path = ROOT, timeout: float = 1500
) -> tuple[int, str]:
    """Runs a command, showing its output; returns the status and the text."""
    say("$", " ".join(os.path.relpath(c, ROOT) if c.startswith(str(ROOT)) else c for c in cmd))
    # One arena of malloc: a process with threads opens others, each 128 MB of addresses that nothing is in, and
    # tests/hostile counts addresses.
    full = {"MALLOC_ARENA_MAX": "1", **os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    process = subprocess.Popen(cmd, cwd=cwd, env=full, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout
    watchdog = threading.Timer(timeout, process.kill)
    watchdog.start()
    parts = []
    while chunk := os.read(process.stdout.fileno(), 65536):  # as it comes: pytest's dots have no line ends
        text = chunk.decode(errors="replace")
        output.write(text)
        parts.append(text)
    status = process.wait()
    if not watchdog.is_alive():
        parts.append(f"\nstopped after {timeout:.0f} s\n")
        output.write(parts[-1])
    watchdog.cancel()
    return status, "".join(parts)


class Choice:
    """What of each layer runs: with --all everything."""

    whole = False


SUMMARY = re.compile(r"(\d+) (passed|failed|skipped|errors?|xfailed|xpassed)\b")


def count(status: int, text: str) -> Count:
    """Counts from the last line of pytest's kind ("3 passed, 1 skipped in 2.10s")."""
    c = Count()
    for text_line in reversed(text.splitlines()):
        found = SUMMARY.findall(text_line)
        if found:
            for n, kind in found:
                if kind in ("passed", "xpassed", "xfailed"):
                    c.passed += int(n)
                elif kind == "skipped":
                    c.skipped += int(n)
                else:
                    c.failed += int(n)
            break
    if status not in (0, 5) and not c.failed:
        c.failed = 1
    if status == 5:
        c.skipped = max(c.skipped, 1)
    return c


def skip(reason: str) -> Count:
    say(f"skipped: {reason}")
    return Count(skipped=1)


def chosen() -> list[str]:
    """pytest's option that leaves the tests marked as slow to --all."""
    return [] if Choice.whole else ["-m", "not slow"]


def pytest(*args: str, env: dict[str, str] | None = None) -> Count:
    return count(
        *run([PY, "-m", "pytest", "-ra", "--tb=short", "--durations=8", "--durations-min=10", *chosen(), *args], env)
    )


def every(n: int, files: str = "") -> tuple[list[str], dict[str, str]]:
    """pytest's options and variables that run every n-th test of the files with that in their names; all with --all."""
    if Choice.whole:
        return [], {}
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support")])
    return ["-p", "sample_of_tests"], {"TORCHLITE_EVERY": f"{n} {files}", "PYTHONPATH": path}


def host() -> Count:
    """Tests on this Python, compared with PyTorch where that is installed."""
    status, text = run([PY, "native/build.py", "host", "--strict"])
    if status:
        return Count(failed=1)
    folders = [
        str(p)
        for p in sorted((ROOT / "tests").iterdir())
        # the others have layers of their own
        if p.is_dir() and p.name not in ("browser", "packaging", "pyodide", "webgpu") and any(p.rglob("test_*.py"))
    ]
    return pytest("-n", "2", "--timeout", "600", *folders)


def sanitized() -> dict[str, str] | Count:
    """Builds the core with the address and undefined-behaviour sanitizers; the environment that runs Python on it."""
    gcc = shutil.which("gcc")
    if gcc is None or sys.platform != "linux":
        return skip("needs gcc on Linux")
    libraries = []
    for name in ("libasan.so", "libubsan.so", "libstdc++.so"):
        found = subprocess.run(
            [gcc, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        if not os.path.isabs(found):
            return skip(f"gcc has no {name}: apt-get install gcc g++")
        libraries.append(found)
    status, _ = run([PY, "native/build.py", "host", "--sanitize", "--strict"])
    if status:
        return Count(failed=1)
    core = ROOT / ".build" / "sanitized" / "_C.abi3.so"
    return {
        "TORCHLITE_NATIVE": str(core),
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4000",
    }


# Python code over kernels that other tests call
WITHOUT_KERNELS = ("fx", "distributions", "docs", "profiler", "autograd/test_refcounts.py")


def sanitize() -> Count:
    """The unit tests, and some thousand calls with hostile arguments, on a core built with the sanitizers."""
    env = sanitized()
    if isinstance(env, Count):
        return env
    log = OUT / "sanitizer"
    for old in OUT.glob("sanitizer.*"):
        old.unlink()
    env["ASAN_OPTIONS"] += f":log_path={log}"
    env["UBSAN_OPTIONS"] = f"log_path={log}"
    rest = [] if Choice.whole else [f"--ignore=tests/unit/{name}" for name in WITHOUT_KERNELS]
    half, variables = every(2)  # the host runs all of them
    options = ["--tb=line", "--timeout", "600", "--continue-on-collection-errors", *chosen(), *rest, *half]
    c = count(*run([PY, "-m", "pytest", *options, "tests/unit"], env | variables))
    status, _ = run([PY, "tests/fuzz_ops.py", "--seed", "1", "--calls", "4", "--seconds", "45"], env)
    findings = [
        line
        for f in OUT.glob("sanitizer.*")
        for line in f.read_text(errors="replace").splitlines()
        if "runtime error" in line or "ERROR: AddressSanitizer" in line
    ]
    say("\n".join(sorted(set(findings))) or "no findings")
    # a wrong result is the host layer's business; here it counts whether the tests ran and what the sanitizers saw
    return Count(passed=c.passed, failed=len(set(findings)) + (c.passed == 0) + (status != 0), skipped=c.skipped)


def wheels() -> Count:
    """The wheels for Pyodide: made twice with the same bytes, within the budget; installing the package from source."""
    status, _ = run([PY, "wheels/make.py"])
    return (
        pytest("tests/packaging")
        if status == 0 and (ROOT / "tests" / "packaging").is_dir()
        else Count(failed=int(status != 0))
    )


def fresh_wheels() -> bool:
    """Makes the wheels where they are not up to date; the layers in Pyodide test what a page would install."""
    done = subprocess.run([PY, "wheels/make.py"], cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode:
        say(done.stdout + done.stderr)
    return done.returncode == 0


def node(target: str) -> Count:
    """The unit tests inside Pyodide on node."""
    if not fresh_wheels():
        return Count(failed=1)
    # the older Pyodide has another Python and another compiler: the core and its use show that
    files = [] if Choice.whole or target == "314" else ["tests/unit/core", "tests/unit/ops", "tests/unit/files"]
    return count(*run([PY, "tests/pyodide/run_node.py", "--target", target, *chosen(), *files]))


def conformance() -> Count:
    """PyTorch's recorded answers inside Pyodide; an op that passes on the host must pass there."""
    if not fresh_wheels():
        return Count(failed=1)
    status, text = run([PY, "tests/pyodide/conformance.py", "--compare"])
    return skip("no fixtures beside the project") if "conformance: skipped" in text else count(status, text)


@functools.cache
def _built_site() -> bool:
    return fresh_wheels() and run([PY, "demos/build.py", "--tested"])[0] == 0


def built_site() -> bool:
    """Builds the demo site once, which several layers serve."""
    with BUILDING:
        return _built_site()


BROWSERS = {  # name here -> name in pytest-pyodide, its program, how it is installed
    "chromium": ("chrome", "chromedriver", "apt-get install chromium chromium-driver"),
    "firefox": ("firefox", "firefox-esr", "apt-get install firefox-esr"),
}


# what the page does when the GPU or the browser's policy fails it, the demo's GPU switch, the docs, caches of weights,
# PyScript: the same code in every browser and Pyodide; chromium-314 runs them
SAME_CODE = [
    f"tests/browser/test_{name}.py"
    for name in ("webgpu_faults", "webgpu_policy", "webgpu_profile", "demo_gpu", "docs", "hub", "pyscript")
]


def browser(target: str, *names: str) -> Count:
    """Real browsers: installation, training, PyScript, WebGPU, the demos."""
    first = Choice.whole or (target, names) == ("314", ("chromium",))
    files = ["tests/browser", *([] if first else (f"--ignore={name}" for name in SAME_CODE))]
    if not built_site():
        return Count(failed=1)
    there = [name for name in names if shutil.which(BROWSERS[name][1])]
    if not there:
        return skip("; ".join(f"{name} is not installed: {BROWSERS[name][2]}" for name in names))
    half, variables = every(2, "test_webgpu_")  # `webgpu` has the device; here it is in a window and a worker
    env = {"TORCHLITE_PYODIDE": target, "TORCHLITE_BROWSERS": ",".join(there), "TORCHLITE_SITE": "built", **variables}
    return pytest(*files, *half, "--rt", ",".join(BROWSERS[n][0] for n in there), "--timeout", "600", env=env)


def javascript() -> Count:
    """The WebGPU bridge's own tests."""
    try:
        dawn.modules()
    except runtime.Missing as e:
        return skip(str(e))
    # the workers' patience is longer than by hand: another layer runs beside this one
    return count(*run(["npm", "test", "--silent"], {"TORCHLITE_TICK": "100"}, cwd=ROOT / "js_bridge"))


def webgpu() -> Count:
    """The webgpu device on this Python, over the bridge in a node process with a software GPU."""
    status, _ = run([PY, "native/build.py", "host", "--strict"])
    if status:
        return Count(failed=1)
    half, variables = every(2, "test_declared")  # webgpu-conformance has most of these ops
    return pytest("--timeout", "600", *half, "tests/webgpu", env=variables)


def webgpu_node() -> Count:
    """The core's part of these inside Pyodide on node, with Dawn as the page's WebGPU;
    the ops differ in nothing there, and take minutes."""
    if not fresh_wheels():
        return Count(failed=1)
    cmd = [PY, "tests/pyodide/run_node.py", "--webgpu"]
    here = count(
        *run([*cmd, *(f"tests/webgpu/test_{name}.py" for name in ("core", "native", "index", "models", "profiler"))])
    )
    # the device in a GPU worker, and reads that block on shared memory
    there = count(
        *run([*cmd, "tests/webgpu/test_core.py", "tests/webgpu/test_index.py"], {"TORCHLITE_WEBGPU_READ": "worker"})
    )
    return Count(here.passed + there.passed, here.failed + there.failed, here.skipped + there.skipped)


def webgpu_deno() -> Count:
    """A part of them inside Pyodide on Deno, with Deno's WebGPU; with --all float16 on a driver that has shader-f16."""
    if not fresh_wheels():
        return Count(failed=1)
    cmd = [PY, "tests/pyodide/run_node.py", "--deno"]
    try:
        dawn.deno()
    except runtime.Missing as e:
        return skip(str(e))
    here = count(*run([*cmd, *(f"tests/webgpu/test_{name}.py" for name in ("core", "index", "models"))]))
    if not Choice.whole:
        return here  # `webgpu` has float16 on such a driver
    try:
        driver = dawn.lavapipe()
    except runtime.Missing as e:
        half = skip(str(e))
    else:
        half = count(*run([*cmd, "tests/webgpu/test_half.py"], {"VK_ICD_FILENAMES": driver}))
    return Count(here.passed + half.passed, here.failed + half.failed, here.skipped + half.skipped)


def webgpu_conformance() -> Count:
    """PyTorch's recorded answers with every tensor on webgpu, one sample of each op (with --all two),
    and inside Pyodide on node of each tenth op; what passes on the CPU must pass there."""
    cmd = [PY, "tests/webgpu/conformance.py", "--max-samples", "2" if Choice.whole else "1"]
    status, text = run([*cmd, "--fresh"])
    if "conformance: skipped" in text:
        return skip("no fixtures beside the project")
    host = count(status, text)
    if not fresh_wheels():
        return Count(host.passed, host.failed + 1, host.skipped)
    there = count(*run([*cmd, "--where", "node", "--every", "10"]))
    return Count(host.passed + there.passed, host.failed + there.failed, host.skipped + there.skipped)


def demos() -> Count:
    """The demo site builds."""
    built = built_site()
    return Count(passed=int(built), failed=int(not built))


def fuzz() -> Count:
    """Random programs beside PyTorch and calls with bad arguments, with new seeds, for FUZZ_SECONDS (1800) in all."""
    seconds = float(os.environ.get("FUZZ_SECONDS", "1800"))
    seed = os.environ.get("FUZZ_SEED") or str(int(time.time()) % 1_000_000)
    total = Count()
    for share, cmd in (
        (0.5, ["tests/fuzz"]),
        (0.25, ["tests/fuzz", "--device", "webgpu"]),
        (0.25, ["tests/fuzz_ops.py", "--calls", "300"]),
    ):
        status, text = run([PY, *cmd, "--seconds", f"{share * seconds:.0f}", "--seed", seed], timeout=2 * seconds + 600)
        done = re.findall(r"^(\d+) (?:programs|calls), .*?(\d+) (?:differences|findings)", text, re.M)
        if not done:
            missing = "skipped: " in text
            total.skipped += missing
            total.failed += not missing
            continue
        ran, found = map(int, done[-1])
        total.passed += max(ran - found, 0)
        total.failed += found
    return total


LAYERS: dict[str, Callable[[], Count]] = {
    "host": host,
    "sanitize": sanitize,
    "wheels": wheels,
    "node-314": lambda: node("314"),
    "node-029": lambda: node("029"),
    "conformance": conformance,
    "javascript": javascript,
    "webgpu": webgpu,
    "webgpu-node": webgpu_node,
    "webgpu-deno": webgpu_deno,
    "webgpu-conformance": webgpu_conformance,
    "demos": demos,
    "chromium-314": lambda: browser("314", "chromium"),
    "firefox-314": lambda: browser("314", "firefox"),
    "chromium-029": lambda: browser("029", "chromium"),
    "firefox-029": lambda: browser("029", "firefox"),
    "fuzz": fuzz,
}
LONG = {"firefox-029", "fuzz"}
ALONE = {"host", "fuzz"}  # these keep both cores busy
# begun first, so that none of them is left alone at the end
SLOW = ("webgpu", "chromium-314", "firefox-314", "sanitize", "chromium-029")
BUILDING = threading.Lock()


def prepare() -> bool:
    """Builds what layers that run side by side share; for them it is up to date then."""
    if run([PY, "native/build.py", "host", "--strict"])[0] or run([PY, "wheels/make.py"])[0]:
        return False
    for install in (dawn.modules, dawn.deno, lambda: dist.prepare("314"), lambda: dist.prepare("029")):
        try:
            install()
        except runtime.Missing as e:  # the layers that need it say so, and skip
            say(e)
    return True


def machine_state() -> str:
    """What a layer may have run out of: the disk's and the memory's free space."""
    folders = [folder for folder in (str(ROOT), "/tmp", "/dev/shm") if os.path.isdir(folder)]
    free = [f"{folder} {shutil.disk_usage(folder).free >> 20} MB" for folder in folders]
    meminfo = pathlib.Path("/proc/meminfo")
    memory = re.search(r"MemAvailable: +(\d+)", meminfo.read_text()) if meminfo.exists() else None
    return f"free: {', '.join(free)}, memory {int(memory[1]) >> 10 if memory else '?'} MB"


def run_layers(names: list[str], jobs: int) -> list[tuple[str, Count, float]]:
    """Runs layers, `jobs` at once, and returns each one's count and seconds."""
    rows: list[tuple[str, Count, float]] = []

    def one(name: str, keep: bool) -> None:
        output.kept = [] if keep else None
        say(f"\n==== {name} ====")
        start = time.monotonic()
        try:
            c = LAYERS[name]()
        except Exception:
            say(traceback.format_exc())
            c = Count(failed=1)
        if c.failed:
            say(machine_state())
        rows.append((name, c, time.monotonic() - start))
        if output.kept is not None:
            print("".join(output.kept), end="", flush=True)
            output.kept = None

    alone = [n for n in names if n in ALONE or jobs == 1]
    others = sorted((n for n in names if n not in alone), key=lambda n: SLOW.index(n) if n in SLOW else len(SLOW))
    for name in alone:
        one(name, keep=False)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done in [pool.submit(one, name, True) for name in others]:
            done.result()
    return sorted(rows, key=lambda row: names.index(row[0]))


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("layers", nargs="*", metavar="LAYER")
    p.add_argument("--list", action="store_true")
    p.add_argument("--all", action="store_true", help="every test, and the long layers as well")
    p.add_argument(
        "--jobs",
        type=int,
        default=min(2, os.cpu_count() or 1),
        help="layers that run at once (default: 2, or 1 on one core)",
    )
    a = p.parse_args()
    if a.list:
        print("\n".join(LAYERS))
        return 0
    unknown = set(a.layers) - set(LAYERS)
    if unknown:
        p.error(f"no such layer: {', '.join(sorted(unknown))} (there are {', '.join(LAYERS)})")
    OUT.mkdir(exist_ok=True)
    Choice.whole = a.all
    names = a.layers or [n for n in LAYERS if a.all or n not in LONG]
    jobs = a.jobs if len(names) > 1 else 1
    if jobs > 1 and not prepare():
        return 1
    rows = run_layers(names, jobs)
    total = Count()
    for _, c, _ in rows:
        total.passed += c.passed
        total.failed += c.failed
        total.skipped += c.skipped
    print("\n" + "\n".join(f"{name:18} {c!s:44} {seconds:6.0f} s" for name, c, seconds in rows))
    print(total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
