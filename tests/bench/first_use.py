"""What the first use of an op costs on webgpu, beside the GPU's and the bridge's own work: Python frames, the
descriptions of kernels that are sent ("plans"), and milliseconds outside of the bridge; up to the result, and up to
the submission of its commands. The last column is the second use of the same op up to the submission: what a call costs
that has nothing left to plan, and so the least that a first use can cost.

    python tests/bench/first_use.py [--runs 5] [--frames CASE]
    python tests/bench/first_use.py --instructions

On this Python, over a node process; each run is a process of its own, and the least time of all runs counts. The op has
run on the CPU before, so that its schema is parsed. --frames prints the functions that a case calls.
--instructions counts machine instructions of the first and the third use, with valgrind and a bridge that does nothing:
the milliseconds of a busy machine say little.
"""

from __future__ import annotations

import argparse
import functools
import gc
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from typing import Any

ROOT = pathlib.Path(os.environ.get("ROOT") or pathlib.Path(__file__).resolve().parent.parent.parent)
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "webgpu")]

CASES = {
    "add": lambda t, a, b: a + b,
    "sub, a number": lambda t, a, b: a - 2,
    "sinh": lambda t, a, b: a.sinh(),
    "lt": lambda t, a, b: a < b,
    "where": lambda t, a, b: t.where(a > 0, a, b),
    "add, int32": lambda t, a, b: a + b.int(),
    "add_": lambda t, a, b: a.clone().add_(b),
    "sum(dim)": lambda t, a, b: a.sum(1),
    "matmul": lambda t, a, b: a @ b,
    "softmax": lambda t, a, b: a.softmax(1),
    "cat": lambda t, a, b: t.cat([a, b]),
    "gather": lambda t, a, b: a.gather(1, b.long()),
    "conv2d": lambda t, a, b: t.nn.functional.conv2d(a[None, None], b[None, None, :3, :3]),
}
UNDER_VALGRIND = "under valgrind"
FIGURES = "frames", "+submit", "plans", "+submit", "ms", "+submit", "2nd use"


def measure(shown: str) -> dict[str, list[float]]:
    import remote

    bridge = remote.install()
    import torchlite as torch
    from torchlite.webgpu.lazy import stream

    apart = {"plans": 0, "ms": 0.0, "inside": 0}
    frames: list[str] = []

    def outside(name: str) -> None:
        """What the bridge does is not counted."""
        own = getattr(bridge, name)

        def call(*args: Any) -> Any:
            apart["plans"] += name == "plan"
            apart["inside"] += 1
            start = time.perf_counter()
            try:
                return own(*args)
            finally:
                apart["ms"] += 1e3 * (time.perf_counter() - start)
                apart["inside"] -= 1

        setattr(bridge, name, call)

    def note(frame: Any, event: str, arg: Any) -> None:
        code = frame.f_code
        if event == "call" and not apart["inside"] and code.co_filename != __file__:
            frames.append(f"{os.path.basename(code.co_filename)}: {code.co_name}")

    for name in ("plan", "run_at", "backlogged", "alloc"):
        outside(name)
    here = torch.ones(64, 64), torch.zeros(64, 64)
    a, b = (t.to("webgpu") for t in here)
    ((a * b).exp() > 1).tolist()
    kinds = [k(t).tolist() for t in (a, b) for k in (torch.Tensor.int, torch.Tensor.long, torch.Tensor.clone)]
    results: dict[str, list[float]] = {}
    for name, f in CASES.items():
        f(torch, *here)
        torch.webgpu.synchronize()
        gc.collect()
        gc.disable()
        frames.clear()
        apart.update(plans=0, ms=0.0)
        sys.setprofile(note if shown else None)
        start = time.perf_counter()
        r = f(torch, a, b)
        made = [len(frames), apart["plans"], 1e3 * (time.perf_counter() - start) - apart["ms"]]
        stream.run_pending()
        stream.flush()
        sent = [len(frames), apart["plans"], 1e3 * (time.perf_counter() - start) - apart["ms"]]
        sys.setprofile(None)
        gc.enable()
        if shown == name:
            print(*frames, sep="\n", file=sys.stderr)
        r.sum().item()
        gc.disable()
        apart.update(ms=0.0)
        start = time.perf_counter()
        r = f(torch, a, b)
        stream.run_pending()
        stream.flush()
        again = 1e3 * (time.perf_counter() - start) - apart["ms"]
        gc.enable()
        results[name] = [x for pair in zip(made, sent) for x in pair] + [again]
        r.sum().item()
    assert len(kinds) == 6
    return results


def run_under_valgrind() -> None:
    """Each use of each case runs inside functools.reduce, the function whose calls valgrind counts."""
    import remote

    bridge = remote.install()
    import torchlite as torch
    from torchlite.webgpu.lazy import stream

    here = torch.ones(64, 64), torch.zeros(64, 64)
    a, b = (t.to("webgpu") for t in here)
    kinds = [k(t).tolist() for t in (a, b) for k in (torch.Tensor.int, torch.Tensor.long, torch.Tensor.clone)]
    assert len(kinds) == 6
    for f in CASES.values():
        f(torch, *here)
    torch.webgpu.synchronize()
    # functions in C that take any arguments, so that the bridge costs next to nothing
    bridge.plan = functools.partial(next, itertools.count(5000))
    bridge.run_at = bridge.alloc = max
    bridge.backlogged = bool
    gc.collect()
    gc.disable()

    def use(f: Any) -> None:
        r = f(torch, a, b)
        stream.run_pending()
        stream.flush()
        del r

    for _ in range(3):
        use(lambda t, a, b: (a * b).exp_())
    for f in [lambda t, a, b: a, *CASES.values()]:
        for _ in range(3):
            functools.reduce(lambda _, f: use(f), [f], None)
    os._exit(0)  # without what Python does at its end


def instructions() -> None:
    with tempfile.TemporaryDirectory() as folder:
        counting = ["--tool=callgrind", "--toggle-collect=functools_reduce", "--dump-after=functools_reduce"]
        command = ["valgrind", *counting, f"--callgrind-out-file={folder}/use", sys.executable, __file__]
        env = {**os.environ, "PYTHONHASHSEED": "0"}
        subprocess.run([*command, "--child", UNDER_VALGRIND], check=True, env=env, stderr=subprocess.DEVNULL)
        uses = [pathlib.Path(folder, f"use.{i + 1}").read_text() for i in range(3 * (1 + len(CASES)))]
    counts = [int(re.findall(r"^(?:summary|totals): (\d+)", text, re.M)[0]) for text in uses]
    nothing = counts[1]  # what the measuring itself takes
    print(f"{'instructions':16}{'first use':>12}{'third use':>12}")
    for i, name in enumerate(CASES):
        print(f"{name:16}{counts[3 * i + 3] - nothing:12}{counts[3 * i + 5] - nothing:12}")


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--frames", metavar="CASE", choices=CASES)
    p.add_argument("--instructions", action="store_true")
    p.add_argument("--child", metavar="SHOWN", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.child == UNDER_VALGRIND:
        run_under_valgrind()
    if a.instructions:
        instructions()
        return
    if a.child is not None:
        print(json.dumps(measure(a.child)))
        return

    def run(shown: str) -> dict[str, list[float]]:
        out = subprocess.run([sys.executable, __file__, "--child", shown], check=True, stdout=subprocess.PIPE).stdout
        return json.loads(out)  # type: ignore[no-any-return]

    counted = run(a.frames or "none of them")
    if a.frames:
        return
    timed = [run("") for _ in range(a.runs)]
    print(f"{'':16}" + "".join(f"{name:>9}" for name in FIGURES))
    for name in CASES:
        ms = [min(t[name][i] for t in timed) for i in (4, 5, 6)]
        print(f"{name:16}" + "".join(f"{n:9}" for n in counted[name][:4]) + "".join(f"{n:9.3f}" for n in ms))


if __name__ == "__main__":
    main()
