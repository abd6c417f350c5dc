"""Finds what differs between two runs of a program."""

from __future__ import annotations

import cmath
import contextlib
import dataclasses
import math
import re
import warnings
from typing import Any, Callable

from fuzz import known
from fuzz.program import EPS, FIELDS, PICKS, Trace, environment, execute


@dataclasses.dataclass
class Difference:
    """`kind` is what a minimised program must keep:
    "raises Theirs Ours", a trait of FIELDS, "value", "grad" or "grad's trait"."""

    kind: str
    line: int
    name: str
    theirs: Any
    ours: Any
    size: float = math.inf  # of a difference of numbers, beside the numbers

    def __str__(self) -> str:
        where = "at the end" if self.line < 0 else f"after line {self.line + 1}"
        return f"{self.kind}: {self.name} {where}: PyTorch {self.theirs}, torchlite {self.ours}"


def distance(a: Any, b: Any) -> float:
    """|a - b|, 0 for two NaN; infinite where only one of them is finite. What the parts of a complex number are
    that is not finite is nobody's promise: PyTorch's own loops differ there, as C's products of complex numbers may."""
    if isinstance(a, complex) or isinstance(b, complex):
        a, b = complex(a), complex(b)
        if not cmath.isfinite(a) and not cmath.isfinite(b):
            return 0.0
        return max(distance(a.real, b.real), distance(a.imag, b.imag))
    if a == b or (a != a and b != b):
        return 0.0
    a, b = float(a), float(b)
    return abs(a - b) if math.isfinite(a) and math.isfinite(b) else math.inf


def strided(shape: Any, a: Any, b: Any) -> str:
    """The kind of a difference of strides: those that reach no element are a kind of their own."""
    if len(a) == len(b) and (0 in shape or all(n == 1 or x == y for n, x, y in zip(shape, a, b))):
        return "stride, unused"
    return "stride"


def size(values: Any) -> float:
    """The largest finite number; of a complex one, the larger part counts."""
    parts = (p for v in values if isinstance(v, (int, float, complex)) for p in (v.real, v.imag))
    return max((abs(p) for p in parts if abs(p) < math.inf), default=0.0)


def far(theirs: list[Any], ours: list[Any], eps: float) -> list[tuple[int, float]]:
    """The places where two lists of numbers differ by more than rounding explains, with the distance."""
    if len(theirs) != len(ours):
        return [(0, math.inf)]
    if theirs == ours:
        return []
    room = (1e-10 if 0 < eps < 1e-10 else eps * 64) * (1 + size(theirs))
    pairs = ((i, distance(a, b)) for i, (a, b) in enumerate(zip(theirs, ours)))
    return [(i, d) for i, d in pairs if d > room]


def tolerance(dtype: str, floor: float) -> float:
    return max(EPS.get(dtype.removeprefix("torch."), 0.0), floor if dtype.removeprefix("torch.") in EPS else 0.0)


def differences(
    lines: list[str], theirs: Trace, ours: Trace, floor: float, device: str, meant: Callable[[Difference], bool]
) -> list[Difference]:
    """The first difference of each kind that is not meant, in the order of the program.
    `floor` is the least rounding error that counts."""
    found: dict[str, Difference] = {}

    def add(kind: str, line: int, name: str, a: Any, b: Any, size: float = math.inf) -> None:
        d = Difference(kind, line, name, a, b, size)
        if kind not in found and not meant(d):
            found[kind] = d

    for i, (a, b) in enumerate(zip(theirs.errors, ours.errors)):
        if a != b:
            add(
                f"raises {a or 'nothing'}, {b or 'nothing'}",
                i,
                "",
                theirs.texts[i] or "nothing",
                ours.texts[i] or "nothing",
            )
            return list(found.values())  # what follows are consequences
        for name in theirs.traits[i].keys() & ours.traits[i].keys():
            for field, x, y in zip(FIELDS, theirs.traits[i][name], ours.traits[i][name]):
                if field == "device":
                    x = device
                if x != y and field == "graph" and theirs.traits[i][name][0].removeprefix("torch.") not in EPS:
                    add(field, i, name + " (integers)", x, y)
                elif x != y:
                    add(strided(theirs.traits[i][name][1], x, y) if field == "stride" else field, i, name, x, y)
        if any(not kind.startswith("stride") for kind in found):
            return list(found.values())
    last = theirs.traits[-1] if theirs.traits else {}
    halted = any(error and ".backward(" in line for error, line in zip(theirs.errors, lines))
    for name, a in theirs.values.items():
        if name not in ours.values:
            continue
        b = ours.values[name]
        if name.endswith(".grad") and halted:
            continue  # how far a pass came before its error is open
        if name.endswith(".grad"):
            if (a is None) != (b is None):
                add("grad's presence", -1, name, a and "a tensor", b and "a tensor")
            elif a is not None:
                for field, x, y in zip(FIELDS, a[0], b[0]):
                    if x != y:
                        add("grad's " + (strided(a[0][1], x, y) if field == "stride" else field), -1, name, x, y)
                places = far(a[1], b[1], tolerance(a[0][0], floor))
                if places and a[0][1] == b[0][1]:
                    add("grad", -1, name, *show(a[1], b[1], places))
        elif isinstance(a, list) and isinstance(b, list):
            places = far(a, b, tolerance(last[name][0], floor)) if name in last else []
            if places:
                exact = last[name][0].removeprefix("torch.") not in EPS
                add("value of integers" if exact else "value", -1, name, *show(a, b, places))
        elif b is None and isinstance(a, list) and not any(a):
            pass  # a gradient of zeros, where nothing here depends on the variable
        elif type(a) is not type(b):
            add("type", -1, name, a, b)
        elif distance_of(a, b) > 1e-9 + floor * 64:
            add("value", -1, name, a, b)
    return list(found.values())


def distance_of(a: Any, b: Any) -> float:
    if isinstance(a, (str, type(None))):
        return 0.0 if a == b else math.inf
    return distance(a, b) / (1 + abs(a)) if abs(a) < math.inf else distance(a, b)


def show(a: list[Any], b: list[Any], places: list[tuple[int, float]]) -> tuple[str, str, float]:
    at = [i for i, _ in places[:4]]
    if len(a) != len(b):
        return f"{len(a)} numbers", f"{len(b)} numbers", math.inf
    return f"{[a[i] for i in at]} at {at}", f"{[b[i] for i in at]}", max(d for _, d in places) / (1 + size(a))


class Rounding:
    """How far PyTorch's own numbers move when its inputs, or the results of its lines, are moved by a rounding."""

    def __init__(self, torch: Any, lines: list[str], theirs: Trace, ours: Trace, floor: float, copies: bool) -> None:
        self.torch, self.lines, self.floor, self.copies = torch, lines, floor, copies
        self.theirs, self.ours = theirs, ours
        self.moved: dict[str, float] | None = None
        self.errors: list[list[str]] = []  # of the lines, where PyTorch itself raises otherwise if a number is moved
        self.coarse = 0.0  # the rounding error of the least precise dtype on the way

    def measure(self) -> dict[str, float]:
        moved: dict[str, float] = {}
        # a tensor of lower precision on the way rounds more
        traits = (t[0].removeprefix("torch.") for now in self.theirs.traits for t in now.values())
        self.coarse = coarse = max((EPS.get(dtype, 0.0) for dtype in traits), default=0.0)
        ties = [11, 12, 13, 14] if any(map(PICKS.search, self.lines)) else []
        for jitter in (1, 2, 3, 4, 5, 6, 7, 8, 9, 0, *ties):
            shaken = jitter in (5, 6, 7, 8, 9, 0)
            other = execute(
                self.torch,
                self.lines,
                jitter=0 if jitter in ties else jitter,
                look=False,
                coarse=coarse,
                own=self.floor > 0,
                shaken=shaken,
                copies=self.copies,
                picks=jitter if jitter in ties else 0,
            )
            if other.errors != self.theirs.errors and jitter not in ties:
                self.errors.append(other.errors)
            for k, v in other.values.items():
                v, was = plain(v), plain(self.theirs.values.get(k))
                if isinstance(v, list) and isinstance(was, list) and len(v) == len(was):
                    moved[k] = max([moved.get(k, 0.0), *(distance(x, y) for x, y in zip(was, v))])
        return moved

    def explains(self, d: Difference) -> bool:
        """Whether the numbers of a variable moved as far there, or so far that nothing can be said of them; of an
        error, whether PyTorch raises what torchlite raises."""
        if self.moved is None:
            self.moved = self.measure()
        if d.kind.startswith("raises"):
            until = d.line + 1
            return any(errors[:until] == self.ours.errors[:until] for errors in self.errors)
        if self.errors:
            return True
        name, moved = d.name, self.moved.get(d.name, 0.0)
        a, b = plain(self.theirs.values[name]), plain(self.ours.values[name])
        if not isinstance(a, list) or moved > 0.01 * size(a):
            return isinstance(a, list)  # noise: not even the largest number has two digits
        dtype = self.theirs.traits[-1].get(name.removesuffix(".grad"), ("",))[0]
        grown = 1600 if self.floor else 100  # a GPU's functions are rounded more coarsely
        # what a line computes and keeps to itself is rounded too: a gradient of float64 that went through float32
        least = max(tolerance(dtype, self.floor), self.coarse)
        return all(far_by <= moved * grown for _, far_by in far(a, b, least))


def plain(v: Any) -> Any:
    """The numbers of a variable's entry in a trace: a gradient's has its traits before them."""
    return v[1] if isinstance(v, tuple) else v


def is_constant(real: Any, lines: list[str], d: Difference, device: str) -> bool:
    """Whether a tensor that PyTorch says to depend on the leaves has no gradient there but 0."""
    env = environment(real, own=device != "cpu")
    # copies of what is saved: a later write makes no gradient an error
    copies = real.autograd.graph.saved_tensors_hooks(real.clone, lambda t: t)
    for line in lines[: d.line + 1] if d.line >= 0 else lines:
        with copies, contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(line, "<program>", "exec"), env)
        real.set_grad_enabled(True)
    leaves = []
    for t in env.values():
        with contextlib.suppress(RuntimeError):  # a view of several, whose base was changed
            if isinstance(t, real.Tensor) and t.requires_grad and t.is_leaf:
                leaves.append(t)
    try:
        t = env[d.name.removesuffix(".grad")]
        t = t.grad if d.name.endswith(".grad") else t
        found = real.autograd.grad(t.real.exp().sum() if t.is_complex() else t.exp().sum(), leaves, allow_unused=True)
    except Exception:  # an error in a hook, too
        return False
    return all(g is None or g.abs().max() < 1e-9 for g in found)  # a 0 that PyTorch computes as a difference is not one


# errors of gradients that need a tensor as it was before a write
STALE = r"one of the variables needed for gradient|Output \d+ of \w+ is a view and its base or another view of its base"


def refused_needlessly(lines: list[str], theirs: Trace, ours: Trace) -> bool:
    """Whether PyTorch refuses a gradient because something that it saved was changed, and torchlite computes it.

    PyTorch saves some tensors whose numbers it does not need. The gradient must be that of PyTorch with copies of all
    that it saves, or torchlite missed the change."""
    for line, a, b, text in zip(lines, theirs.errors, ours.errors, theirs.texts):
        if a != b:
            stale = a == "RuntimeError" and re.match(STALE, text) and re.search(r"\b(grad|backward)\(", line)
            return bool(stale and not b)
    return False


def check(real: Any, lite: Any, lines: list[str], device: str = "cpu") -> list[Difference]:
    """Runs the lines in both; returns the differences that count."""
    floor = 2.0**-18 if device != "cpu" else 0.0
    theirs = execute(real, lines, own=device != "cpu")
    ours = execute(lite, lines, device)
    kept = refused_needlessly(lines, theirs, ours)
    if kept:
        theirs = execute(real, lines, own=device != "cpu", copies=True)
    rounding = Rounding(real, lines, theirs, ours, floor, kept)
    constant: list[Difference] = []

    def meant(d: Difference) -> bool:
        if (
            d.kind in ("graph", "grad's graph")
            and "grad_fn=True" in d.theirs
            and "requires_grad=False" in d.ours
            and is_constant(real, lines, d, device)
        ):
            constant.append(d)  # a gradient that is constant has no graph here; PyTorch's depends on its inputs in form
            return True
        if constant and d.kind == "raises nothing, RuntimeError" and "does not require grad" in d.ours:
            return True
        if kept and d.kind == "raises nothing, RuntimeError" and re.match(STALE, d.ours):
            return True
        return (
            known.justified(d, lines, device)
            or (d.kind in ("value", "value of integers", "grad") or d.kind.startswith("raises"))
            and rounding.explains(d)
        )

    return differences(lines, theirs, ours, floor, device, meant)
