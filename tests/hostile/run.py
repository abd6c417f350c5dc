"""The hostile files in one table: size, outcome, time and memory of each, here and inside Pyodide.

python tests/hostile/run.py [--pyodide] [-k TEXT]       --pyodide: there as well (needs make wheel)
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
if sys.platform != "emscripten":  # there the wheel is installed
    sys.path.insert(1, str(HERE.parents[1]))
import make_corpus
import measure


def rows(cases):
    """(case, facts, what is wrong) of each case, in this interpreter."""
    for case in cases:
        facts = measure.measure(case)
        yield case, facts, measure.wrong(case, *facts)


def in_pyodide(text):
    """{name: (facts, what is wrong)} from a run inside Pyodide."""
    cmd = [
        sys.executable,
        str(HERE.parent / "pyodide" / "run_node.py"),
        "--script",
        str(HERE / "run.py"),
        "--json",
        "-k",
        text,
    ]
    done = subprocess.run(cmd, stdout=subprocess.PIPE, text=True, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    if done.returncode:
        print(f"Pyodide ended with status {done.returncode} after {len(found)} files")
    return {name: (facts, fault) for name, facts, fault in found}


def summary(where, found):
    """Lines that sum up [(name, facts)]."""
    outcomes = collections.Counter(facts[1] for _, facts in found)
    slow = max(found, key=lambda one: one[1][2])
    large = max(found, key=lambda one: one[1][3] / (measure.FACTOR * one[1][0] + measure.FREE))
    size, _, _, memory = large[1]
    yield f"{where}: {len(found)} files, {sum(f[2] for _, f in found):.1f} s; slowest {slow[0]} {slow[1][2]:.2f} s; "
    yield (
        f"  most memory against the limit {large[0]}: {memory / 2**20:.1f} MB for {size} bytes, "
        f"{memory / (measure.FACTOR * size + measure.FREE):.0%} of {measure.FACTOR} x size + {measure.FREE >> 20} MB"
    )
    yield "  outcomes: " + ", ".join(f"{name} {n}" for name, n in outcomes.most_common())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pyodide", action="store_true")
    parser.add_argument("--json", action="store_true", help="a line for each file, for --pyodide")
    parser.add_argument("-k", default="", help="only files whose name contains this")
    args = parser.parse_args()
    cases = [case for case in make_corpus.CASES if args.k in case.name]
    if args.json:
        for case, facts, fault in rows(cases):
            print(json.dumps([case.name, facts, fault]), flush=True)
        return 0
    there = in_pyodide(args.k) if args.pyodide else {}
    faults, here = [], []
    print(f"{'file':46} {'bytes':>9}  {'outcome':22} {'ms':>6} {'MB':>6}" + ("   in Pyodide" if there else ""))
    for case, facts, fault in rows(cases):
        here.append((case.name, facts))
        size, outcome, seconds, memory = facts
        line = f"{case.name:46} {size:9}  {outcome:22} {seconds * 1e3:6.0f} {memory / 2**20:6.1f}"
        faults += [f"{case.name}: {fault}"] if fault else []
        if args.pyodide:
            other, fault = there.get(case.name, ((0, "no answer", 0.0, 0), "no answer"))
            faults += [f"{case.name} in Pyodide: {fault}"] if fault else []
            line += f"   {other[1]:22} {other[2] * 1e3:6.0f} {other[3] / 2**20:6.1f}"
        print(line)
    for where, found in (("here", here), ("Pyodide", [(name, facts) for name, (facts, _) in there.items()])):
        print(*(summary(where, found) if found else ()), sep="\n")
    print(*faults, sep="\n")
    print(f"{len(cases) * (1 + args.pyodide) - len(faults)} passed, {len(faults)} failed")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
