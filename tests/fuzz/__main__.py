"""Random programs in PyTorch and in torchlite, and what differs.

    python tests/fuzz [--programs N | --seconds S] [--seed S] [--first N] [--device cpu|webgpu] [--jobs N]
                      [--kind REGEX] [--quick]

A finding prints as a script that runs: `python finding.py torch` and `python finding.py torchlite`.
All go to .out/fuzz too.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import time
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
OUT = ROOT / ".out" / "fuzz"
AGAIN = 75  # a child's status: a new one has to go on


def signature(kind: str, text: str, lines: list[str]) -> str:
    """What findings of one cause have in common:
    the kind, and the words of the errors or the functions called, not the names and numbers."""
    if kind.startswith("raises"):
        words = re.sub(r"^.*?: PyTorch|\w+\(\)|[\d\[\]().,-]+", "", text)
        return f"{kind} | {words[:120]}"
    calls = re.findall(
        r"(?<![\w.])(?:torch\.|F\.)[\w.]+(?=\()|\.\w+(?=\()|\w+(?==True)|[-+*/%]+= |\] = ",
        re.sub(r"^t\d+ = fill.*$", "", "\n".join(lines), flags=re.M),
    )
    plain = {
        ".requires_grad_",
        ".sum",
        "torch.autograd.grad",
        ".reshape",
        ".sin",
        ".square",
        ".exp",
        "create_graph",
        "allow_unused",
        "retain_graph",
        "torch.tensor",
        ".real",
        "torch.no_grad",
    }
    return kind + " | " + " ".join(sorted(set(c.strip() for c in calls) - plain))


def child(a: argparse.Namespace) -> int:
    """Runs programs and prints a JSON line for each: what differed, minimised."""
    import torch as real

    import torchlite as lite
    from fuzz import compare, generate, minimise, program

    real.set_num_threads(1)
    if a.device == "webgpu":
        sys.path.insert(0, str(ROOT / "tests" / "webgpu"))
        import dawn  # type: ignore[import-not-found]
        import remote  # type: ignore[import-not-found]

        try:
            remote.install()
        except dawn.runtime.Missing as e:
            print(json.dumps({"skip": str(e)}), flush=True)
            return 0
    make = generate.programs(real, a.seed, a.device)
    end = time.monotonic() + a.seconds if a.seconds else None
    seen: collections.Counter[str] = collections.Counter()
    for n in range(a.first, a.last if not end else sys.maxsize, a.jobs):
        if end and time.monotonic() > end:
            break
        print(json.dumps({"start": n}), flush=True)
        lines = make(n)
        print(json.dumps({"made": n}), flush=True)
        try:
            found = compare.check(real, lite, lines, a.device)
        except program.TooSlow:
            print(
                json.dumps(
                    {"n": n, "kind": "too slow", "text": "too slow: a line took more than two minutes", "lines": lines}
                ),
                flush=True,
            )
            print(json.dumps({"done": n, "lines": len(lines)}), flush=True)
            return AGAIN
        if a.kind:
            found = [d for d in found if re.search(a.kind, d.kind)]
        for d in found:
            small = lines
            seen[d.kind] += 1
            if not a.quick and seen[d.kind] <= 40:

                def keeps(less: list[str], kind: str = d.kind, device: str = a.device) -> bool:
                    return any(x.kind == kind for x in compare.check(real, lite, less, device))

                # a GPU compiles kernels for each try:
                # what the CPU has as well is made small there, in a tenth of the time
                there = a.device != "cpu" and keeps(lines, device="cpu")
                small = minimise.minimise(
                    lines,
                    functools.partial(keeps, device="cpu") if there else keeps,
                    20 if a.device == "cpu" or there else 60,
                )
                shown = [x for x in compare.check(real, lite, small, a.device) if x.kind == d.kind]
                if shown:
                    d = shown[0]
                else:
                    small = lines
            print(json.dumps({"n": n, "kind": d.kind, "text": str(d), "lines": small}), flush=True)
        print(json.dumps({"done": n, "lines": len(lines)}), flush=True)
    return 0


class Findings:
    """Prints one example of each cause, the shortest first seen, and counts them all."""

    def __init__(self, quick: bool) -> None:
        self.causes: dict[str, int] = {}
        self.quick = quick
        OUT.mkdir(parents=True, exist_ok=True)

    def add(self, n: int, seed: int, kind: str, text: str, lines: list[str]) -> None:
        from fuzz.program import script

        cause = kind if self.quick else signature(kind, text, lines)
        self.causes[cause] = self.causes.get(cause, 0) + 1
        if self.causes[cause] == 1:
            name = f"{seed}-{n}-{re.sub(r'[^a-z]+', '-', kind.lower()).strip('-')}.py"
            (OUT / name).write_text(f"# {text}\n" + script(lines))
            print(f"\n# program {n}: {text}\n" + "\n".join(lines), flush=True)


def run(a: argparse.Namespace, findings: Findings, first: int) -> tuple[int, int]:
    """Starts children until each a.jobs-th program from `first` on is done; one that dies has found something.
    Programs and lines run."""
    programs = total = 0
    end = time.monotonic() + a.seconds if a.seconds else None
    while True:
        options = [
            "--child",
            "--seed",
            str(a.seed),
            "--first",
            str(first),
            "--device",
            a.device,
            "--jobs",
            str(a.jobs),
            *(["--quick"] if a.quick else []),
            *(["--kind", a.kind] if a.kind else []),
            *(["--seconds", str(max(1.0, end - time.monotonic()))] if end else ["--last", str(a.first + a.programs)]),
        ]
        process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", __file__, *options],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])},
        )
        started: Any = None
        made = False
        assert process.stdout
        for line in process.stdout:
            if not line.startswith("{"):
                continue
            event = json.loads(line)
            if "skip" in event:
                raise Missing(event["skip"])
            if "start" in event:
                started, made = event["start"], False
            elif "made" in event:
                made = True
            elif "done" in event:
                started, programs, total = None, programs + 1, total + event["lines"]
                first = event["done"] + a.jobs
            else:
                findings.add(event["n"], a.seed, event["kind"], event["text"], event["lines"])
        status = process.wait()
        if status == 0:
            return programs, total
        if started is None and status != AGAIN:
            raise SystemExit(f"the fuzzer itself failed with status {status}")
        if started is not None and not made:  # PyTorch alone makes the programs
            print(f"\n# program {started}: PyTorch died while it was made", flush=True)
            first = started + a.jobs
        elif started is not None:
            findings.add(
                started,
                a.seed,
                "died",
                f"the process ended with status {status}: run --first {started} --programs 1",
                [],
            )
            first = started + a.jobs


class Missing(Exception):
    """What the programs cannot be run without."""


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--programs", type=int, default=300)
    p.add_argument("--seconds", type=float, default=0.0)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--device", choices=["cpu", "webgpu"], default="cpu")
    p.add_argument("--jobs", type=int, default=1, help="so many processes at once, each with programs of its own")
    p.add_argument("--kind", help="only differences whose kind matches")
    p.add_argument("--quick", action="store_true", help="do not minimise")
    p.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    p.add_argument("--last", type=int, default=0, help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.child:
        return child(a)
    start = time.monotonic()
    findings = Findings(a.quick)
    try:
        with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
            programs, total = map(sum, zip(*pool.map(lambda i: run(a, findings, a.first + i), range(a.jobs))))
    except Missing as e:
        raise SystemExit(f"skipped: {e}") from None
    count = f"{sum(findings.causes.values())} differences of {len(findings.causes)} causes"
    print(f"\n{programs} programs, {total} lines, {time.monotonic() - start:.0f} s; {count}")
    kinds: collections.Counter[str] = collections.Counter()
    for cause, n in findings.causes.items():
        kinds[cause.partition(" |")[0]] += n
    for kind, n in kinds.most_common():
        print(f"{n:6} {kind}")
    return 1 if findings.causes else 0


if __name__ == "__main__":
    sys.exit(main())
