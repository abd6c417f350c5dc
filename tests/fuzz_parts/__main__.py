"""Random uses of the library's parts in PyTorch and in torchlite, and what differs.

    python tests/fuzz_parts [--part NAME ...] [--cases N | --seconds S] [--seed S] [--first N] [--kind REGEX] [--all]

Of differences that read alike the first two are printed; --all prints each. A case depends only on part, seed and
number: `--part einsum --seed 3 --first 17 --cases 1` runs it again.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import re
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "support")]


def main() -> int:
    import torch as real

    import torchlite as lite
    from fuzz_parts import compare, parts

    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--part", nargs="+", choices=parts.NAMES, default=parts.NAMES)
    p.add_argument("--cases", type=int, default=100, help="of each part")
    p.add_argument("--seconds", type=float, default=0.0, help="for all parts together, in place of --cases")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--kind", default="", help="only differences whose kind matches")
    p.add_argument("--all", action="store_true")
    a = p.parse_args()
    real.set_num_threads(1)
    start, alike = time.monotonic(), collections.Counter[str]()
    cases = {name: 0 for name in a.part}
    for name in a.part:
        end = time.monotonic() + a.seconds / len(a.part)
        while time.monotonic() < end if a.seconds else cases[name] < a.cases:
            n = a.first + cases[name]
            cases[name] += 1
            case = parts.draw(name, a.seed, n)
            for d in compare.check(real, lite, case):
                if not re.search(a.kind, d.kind):
                    continue
                same = re.sub(r"[-\d.e+]+|\[.*\]", "#", f"{name} {d.kind} {d.theirs} {d.ours}")[:100]
                alike[same] += 1
                if a.all or alike[same] <= 2:
                    print(f"\n# {name} {n}: {d}\n{case.text}", flush=True)
    print(
        f"\n{sum(cases.values())} cases, {time.monotonic() - start:.0f} s; "
        f"{alike.total()} differences of {len(alike)} causes"
    )
    return 1 if alike else 0


if __name__ == "__main__":
    sys.exit(main())
