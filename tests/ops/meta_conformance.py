"""Geometry on the meta device: dtype, shape, strides and device of every recorded answer of PyTorch, without numbers.

    python tests/ops/meta_conformance.py [--module torch] [--groups a,b] [--only REGEX]

The fixtures and their runner lie outside the project, in the folder conformance of TORCHLITE_SHARED (default:
../shared). --module torch judges PyTorch itself.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "pyodide"), str(pathlib.Path(__file__).resolve().parent)]
import dist as distribution

CHECKS = ("fwd", "bwd", "inplace", "out")


def folder() -> pathlib.Path | None:
    shared = distribution.shared()
    found = shared / "conformance" if shared else None
    return found if found and (found / "run_conformance.py").exists() else None


def names_meta(sample: dict[str, Any]) -> bool:
    """Whether a call takes a tensor or a device: torch.mul(2.0, 3.0) gives a CPU tensor anywhere."""
    return any(mark in json.dumps([sample.get("a"), sample.get("k")]) for mark in ('{"t":', '"cpu"'))


def install(R: Any, torch: Any) -> None:
    """Changes the runner module R: tensors are built on meta, and geometry is all that is compared."""

    class Lib(R.Lib):  # type: ignore[misc, name-defined]
        def flat(self, dtype: str, raw: bytes) -> Any:
            return torch.empty(len(raw) // R.ITEM[dtype], dtype=self.dtype(dtype), device="meta")

    class Decoder(R.Decoder):  # type: ignore[misc, name-defined]
        def __call__(self, v: Any) -> Any:
            if v == "cpu":  # a device argument
                return "meta"
            return torch.device("meta") if v == {"dev": "cpu"} else super().__call__(v)

    class Cmp(R.Cmp):  # type: ignore[misc, name-defined]
        on_meta = strided = True

        def tensor(self, meta: Any, got: Any, meta_only: bool = False) -> Any:
            wrong = super().tensor(meta, got, True)
            if wrong is None and self.strided and len(meta) > 6:
                want = R.contig(meta[1]) if meta[6] is None else meta[6]
                if list(got.stride()) != list(want):
                    wrong = "strides: expected %s, got %s" % (list(want), list(got.stride()))
            if wrong is None and self.on_meta and got.device.type != "meta":
                wrong = "device: the result is on %s" % got.device
            return wrong

        def value(self, exp: Any, got: Any, meta_only: bool = False) -> Any:
            return super().value(exp, got, True)

    def counted(kind: Any) -> Any:
        class Run(kind):  # type: ignore[misc]
            strided = True

            def __init__(self, *args: Any) -> None:
                super().__init__(*args)
                self.op.pop("gauge", None)
                self.op["err"] = ()
                self.raised: list[str] = []
                for s in self.op["s"]:
                    s.pop("vw", None)

            def construct(self, s: Any, d: Any) -> Any:
                with torch.device("meta"):
                    return super().construct(s, d)

            def cmp(self, s: Any, *args: Any) -> Any:
                c = super().cmp(s, *args)
                c.on_meta, c.strided = names_meta(s), self.strided
                return c

            def guard(self, check: str, i: int, s: Any, fn: Any) -> Any:
                self.strided = not check.startswith(
                    ("out", "inplace")
                )  # the recorded strides are those of a new result
                with contextlib.nullcontext() if names_meta(s) else torch.device("meta"):
                    return super().guard(check, i, s, fn)

            def fail(self, kind: str, i: int, reason: str) -> None:
                self.raised.append("%s #%s %s" % (kind, i, reason))

            def inplace(self, s: Any, v: str) -> Any:
                self.lib.need(v)
                d, a, k = self.dec(s)
                strides = a[0].stride()
                got = R.call(self.lib, v, a, k)
                if got is not a[0]:
                    return "type: another tensor than self"
                self.strided = got.stride() != strides  # transpose_ and its like: then those of the result
                return self.compare(s, got)[0]

            def out(self, s: Any, spec: str) -> Any:
                with torch.device("meta"):
                    return super().out(s, spec)

            def grads(self, d: Any, outs: Any, bw: Any, ins: Any, _names: Any, s: Any) -> Any:
                pairs = [(outs[j], d.tensor(c)) for j, c in bw["cot"]]
                got = torch.autograd.grad([x for x, _ in pairs], ins, [y for _, y in pairs], allow_unused=True)
                c = self.cmp(s, "gm")
                for n, (e, g) in enumerate(zip(bw["g"], got)):
                    if e is not None and g is not None and (wrong := c.tensor(self.T[e], g)):
                        return "gradient of input %d %s" % (n, wrong)
                return None

            def run(self) -> Any:
                result = super().run()
                result["notes"] = self.raised
                return result

        return Run

    R.Lib, R.Cmp, R.Decoder = Lib, Cmp, Decoder
    R.KINDS = {name: counted(kind) for name, kind in R.KINDS.items() if name in ("op", "module")}
    R.KINDS["optim"] = R.KINDS["sched"] = Nothing


class Nothing:
    """Optimizers and schedulers: their steps are ops that are judged as such."""

    def __init__(self, *args: Any) -> None:
        self.c: dict[str, list[int]] = {}

    def reset(self) -> None:
        pass

    def run(self) -> Any:
        return {"status": "empty", "counts": {}, "by_dtype": {}, "why": {}, "notes": [], "missing": []}


def run(module: str = "torchlite", **options: Any) -> dict[str, Any]:
    found = folder()
    assert found
    sys.path.insert(0, str(found))
    import run_conformance  # type: ignore[import-not-found]

    install(run_conformance, __import__(module))
    result: dict[str, Any] = run_conformance.run(module, str(found / "fixtures" / "open"), **options)
    return result


# what an error says where the geometry, or whether there is an error, depends on numbers
BY_NUMBERS = ("meta tensor", "Meta tensor", "on the meta device")
# a result without rows, times a weight of one number; PyTorch's own meta device gives these strides too
KNOWN = {"nn_functional/nn.functional.rms_norm": 2}


def judged(result: dict[str, Any]) -> tuple[dict[str, list[int]], list[str]]:
    """By check: how many agree, how many are refused for want of numbers, of how many. And the notes of all others."""
    counts: dict[str, list[int]] = {}
    notes = []
    for name, r in result["per_op"].items():
        for check, (good, total) in r["counts"].items():
            if check in CHECKS:
                c = counts.setdefault(check, [0, 0, 0])
                c[0], c[2] = c[0] + good, c[2] + total
        for note in r["notes"]:
            check = note.partition(" ")[0]
            if any(text in note for text in BY_NUMBERS):
                if check in counts:
                    counts[check][1] += 1
            else:
                notes.append("%s %s" % (name, note))
    return counts, notes


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--module", default="torchlite")
    p.add_argument("--groups")
    p.add_argument("--only")
    a = p.parse_args()
    if folder() is None:
        print("meta conformance: skipped, there are no fixtures (set TORCHLITE_SHARED)")
        return 0
    result = run(a.module, only=a.only, groups=a.groups.split(",") if a.groups else None)
    counts, notes = judged(result)
    print("\n".join(notes))
    for check, (good, refused, total) in counts.items():
        print("%s: %d of %d agree, %d refused for want of numbers" % (check, good, total, refused))
    print("%d differ; %s s" % (len(notes), result["seconds"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
