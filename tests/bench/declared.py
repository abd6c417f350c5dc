"""Every declared op at an everyday size beside real PyTorch, so that none is slow unseen.

    python tests/bench/declared.py [--only TEXT] [--worst N] [--host] [--avx2] [--out FILE]

The calls are made from the samples of the declarations: their tensors grow to some 65,000 elements, in the first of
several ways that both libraries take. Times are of torchlite in Pyodide on node (--host: on this machine), forward and
back, one thread. Prints the mean of the ratios and the worst.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import resource
import sys
import tempfile
import time
import warnings
from typing import Any, Callable, Iterator

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(HERE)]  # torchlite, fuzz, the program
from steps import NARROW, measured

PROGRAM = "tests/bench/declared_program.py"
ELEMENTS = 1 << 16
LONGEST = 0.3  # seconds of a call
MEMORY = 8 << 30  # bytes of addresses, while calls are looked for: a product of sizes may be any

Shape = tuple[int, ...]
Growth = Callable[[Shape, int], Shape]  # the larger shape of one, by a factor


def each_dim(shape: Shape, factor: int) -> Shape:
    root = max(2, round(factor ** (1 / max(1, sum(s > 1 for s in shape)))))
    return tuple(s * root if s > 1 else s for s in shape)


def first_dim(shape: Shape, factor: int) -> Shape:
    return (shape[0] * factor, *shape[1:]) if shape else shape


def last_dim(shape: Shape, factor: int) -> Shape:
    return (*shape[:-1], shape[-1] * factor) if shape else shape


def new_dim(shape: Shape, factor: int) -> Shape:
    return (factor, *shape)


def second_dim(shape: Shape, factor: int) -> Shape:
    return (shape[0], shape[1] * factor, *shape[2:]) if len(shape) > 1 else shape


GROWTHS: tuple[Growth, ...] = (each_dim, first_dim, last_dim, second_dim, new_dim)


def slots(plans: list[Any]) -> Iterator[Any]:
    from fuzz.declared_ops import Slot

    for p in plans:
        if isinstance(p, Slot):
            yield p
        elif isinstance(p, list):
            yield from slots(p)


def entry(name: str, function: str, sample: Any, grow: Growth, only_first: bool) -> dict[str, Any]:
    """A call with tensors grown: text that both libraries take."""
    args, kwargs = sample
    found = list(slots([*args, *kwargs.values()]))
    largest = max((math.prod(s.shape) for s in found), default=0)
    factor = max(1, ELEMENTS // max(1, largest))
    roots = [max(2, round(factor ** (1 / max(1, len([d for d in s.shape if d > 1]))))) for s in found]
    tensors: list[tuple[str, str]] = []

    def text(p: Any) -> str:
        if isinstance(p, str):
            return p
        if isinstance(p, list):
            return f"[{', '.join(map(text, p))}]"
        k, own = len(tensors), f"x{len(tensors)}"
        by = min(roots) ** len([d for d in p.shape if d > 1]) if grow is each_dim else factor
        shape = p.shape if only_first and k else grow(p.shape, by)
        if not p.text:
            dtype = {"float64": "float32", "complex128": "complex64"}.get(p.dtype, p.dtype)
            tensors.append((own, f"T({shape}, {p.low}, {p.high}, {dtype!r})"))
        else:
            old = (1,) * (len(shape) - len(p.shape)) + p.shape
            times = tuple(a // b if b else 1 for a, b in zip(shape, old))
            made = p.text.replace("torch.float64", "torch.float32").replace("torch.complex128", "torch.complex64")
            tensors.append((own, f"{made}.repeat({times})" if shape else made))
        return own

    words = [*map(text, args), *(f"{k}={text(v)}" for k, v in kwargs.items())]
    return {"name": name, "tensors": tensors, "call": f"{function}({', '.join(words)})"}


def results(library: Any, e: dict[str, Any]) -> list[Shape]:
    """The shapes of a call's results; raises for a call that takes too long to be timed or has too large ones."""
    import declared_program

    declared_program.torch = library
    call = declared_program.prepared(e, False)
    start = time.perf_counter()
    got = call()
    shapes = [tuple(r.shape) for r in ([got] if isinstance(got, library.Tensor) else got)]
    if time.perf_counter() - start > LONGEST or sum(map(math.prod, shapes)) > 64 * ELEMENTS:
        raise ValueError("too large")
    return shapes


def calls(only: str) -> list[dict[str, Any]]:
    import torch

    import torchlite
    from fuzz import declared_ops

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    out = []
    for op in declared_ops.collect(torch):
        if only not in op.name or not op.functions:
            continue
        tries = (
            entry(op.name, op.functions[0], sample, grow, only_first)
            for only_first in (False, True)
            for grow in GROWTHS
            for sample in op.samples[:2]
        )
        for e in tries:
            try:
                if results(torch, e) == results(torchlite, e):
                    out.append(e)
                    break
            except Exception:  # this way does not fit the op
                continue
        else:
            print(f"no larger call of {op.name}", file=sys.stderr)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return out


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", default="", help="ops whose name has this text")
    p.add_argument("--worst", type=int, default=10)
    p.add_argument("--host", action="store_true")
    p.add_argument("--avx2", action="store_true", help="hold PyTorch to 256-bit vectors")
    p.add_argument("--out", type=pathlib.Path, help="all figures, as JSON")
    a = p.parse_args()
    warnings.simplefilter("ignore")
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    with tempfile.TemporaryDirectory(dir=ROOT / ".build") as folder:
        file = pathlib.Path(folder, "calls.json")
        entries = calls(a.only)
        file.write_text(json.dumps(entries))
        native = measured([PROGRAM, str(file)], {**env, **(NARROW if a.avx2 else {})})
        if a.host:
            ours = measured([PROGRAM, str(file), "--torchlite"], env)
        else:
            inside = f"/project/{file.relative_to(ROOT)}"
            ours = measured(["tests/pyodide/run_node.py", "--script", PROGRAM, inside], env)
    text = {e["name"]: f"{e['call']} with {', '.join(f'{n} = {t}' for n, t in e['tensors'])}" for e in entries}
    rows = sorted(((ours[n] / us, us, ours[n], n) for n, us in native.items() if n in ours), reverse=True)
    if a.out:
        a.out.write_text(json.dumps({n: {"native_us": us, "us": own} for _, us, own, n in rows}, indent=1))
    if not rows:
        return
    mean = math.exp(sum(math.log(r[0]) for r in rows) / len(rows))
    print(f"{len(rows)} calls and passes back: geometric mean {mean:.2f} of PyTorch's time")
    for ratio, us, own, name in rows[: a.worst]:
        print(f"{ratio:7.2f} {name:36}{us:10.1f}{own:10.1f} us  {text[name.removesuffix(', gradient')][:140]}")


if __name__ == "__main__":
    main()
