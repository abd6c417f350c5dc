"""Makes programs: random lines, each tried in PyTorch as it is made, so that most of them succeed."""

from __future__ import annotations

import contextlib
import random
import re
import warnings
from typing import Any, Callable

from fuzz import declared_ops, lines_of
from fuzz.program import environment, memory

LARGEST = 400  # elements of a tensor
FLOATS = ("float64", "float64", "float64", "float64", "float32", "complex128")


def overlaps(t: Any) -> bool:
    """Whether two elements may lie at one place."""
    room = 1
    for n, stride in sorted(((n, s) for n, s in zip(t.shape, t.stride()) if n > 1), key=lambda p: p[1]):
        if stride < room:
            return True
        room = stride * (n - 1) + room
    return False


def same(a: Any, b: Any) -> bool:
    """Whether two tensors have the same elements of memory in the same order."""
    return a.data_ptr() == b.data_ptr() and a.shape == b.shape and a.stride() == b.stride()


class Generator:
    """One program in the making: `env` are its variables, as PyTorch has them so far."""

    def __init__(self, real: Any, ops: list[declared_ops.Declared], seed: int, device: str = "cpu") -> None:
        self.real, self.ops, self.device = real, ops, device
        self.rng = random.Random(seed)
        self.env = environment(real, own=device != "cpu")
        self.lines: list[str] = []
        self.count = 0
        self.fills = 0
        self.dtype = "float32" if device != "cpu" else self.rng.choice(FLOATS)

    # --- variables ---

    def new(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def tensors(self, want: Callable[[Any], bool] = lambda t: True) -> list[str]:
        def wanted(t: Any) -> bool:
            try:
                return bool(want(t))
            except RuntimeError:  # a view of several, whose base was changed: it cannot be asked any more
                return False

        return [k for k, v in self.env.items() if isinstance(v, self.real.Tensor) and wanted(v)]

    def pick(self, want: Callable[[Any], bool] = lambda t: True, views: bool = False) -> str | None:
        """A variable; later ones more often, views (`views`) more often."""
        names = self.tensors(want)
        if not names:
            return None
        weights = [1 + 2 * i / len(names) + (3 if views and self.env[n]._is_view() else 0) for i, n in enumerate(names)]
        return self.rng.choices(names, weights)[0]

    def floating(self, min_dim: int = 0, views: bool = False) -> str | None:
        return self.pick(
            lambda t: (t.is_floating_point() or t.is_complex()) and t.dim() >= min_dim and t.numel() > 0, views
        )

    def fill(self, shape: Any, dtype: str = "", lo: float = -2, hi: float = 2) -> str:
        self.fills += 1
        args = ", ".join(str(s) for s in (self.fills, *shape))
        dtype = dtype or self.dtype
        more = "" if (lo, hi) == (-2, 2) else f", lo={lo}, hi={hi}"
        return f"fill({args}{more})" if dtype == "float64" else f'fill({args}, dtype="{dtype}"{more})'

    def within(self, name: str, lo: float, hi: float) -> str:
        """The variable's numbers brought to a range where the op is defined."""
        if lo <= -1 and hi >= 1:
            return name
        if self.env[name].is_complex():
            return name
        return f"({name}.sigmoid() * {round(hi - lo, 3)} + {lo})"

    def operand(self, shape: Any, lo: float = -2, hi: float = 2) -> str:
        """Something that broadcasts to a shape, without growing it."""

        def fits(t: Any) -> bool:
            return t.dim() <= len(shape) and all(a in (1, b) for a, b in zip(reversed(t.shape), reversed(shape)))

        name = self.pick(lambda t: fits(t) and (t.is_floating_point() or t.is_complex()))
        if name is None or self.rng.random() < 0.15:
            drop = self.rng.choice((0, 0, 0, 1))
            return self.fill([s if self.rng.random() < 0.8 else 1 for s in shape[drop:]], lo=lo, hi=hi)
        return self.within(name, lo, hi)

    # --- lines ---

    def run(self, line: str) -> bool:
        """Tries a line; keeps it where it works (and, seldom, where it raises: the other library has to raise too)."""
        before = dict(self.env)
        shapes = {
            name: (tuple(t.shape), t.requires_grad or t._is_view() or overlaps(t))
            for name in self.tensors()
            for t in [self.env[name]]
        }
        settled = self.settled(line)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(line, "<program>", "exec"), self.env)
        except Exception:
            self.real.set_grad_enabled(True)
            # what a call that fails leaves in out=, and in what it writes by indices, is open
            if self.rng.random() > 0.04 or re.search(r"out=|tensor\(.*\] = |index_put", line):
                return self.refuse(before, "out=" in line)
            self.env = before
            self.lines.append(line)
            return True
        if not settled:
            return self.refuse(before)
        for name in self.tensors():
            t = self.env[name]
            if (
                "out=" in line
                and name in before
                and self.written(name, line)
                and tuple(t.shape) != shapes[name][0]
                and (t.requires_grad or shapes[name][1])
            ):
                return self.refuse(before)  # the graph knows it in another shape
            if name not in before and self.device != "cpu" and t.dtype in (self.real.float64, self.real.complex128):
                return self.refuse(before)  # a GPU has no float64
            if name not in before and t.numel() > LARGEST or self.written(name, line) and overlaps(t):
                return self.refuse(
                    before
                )  # numbers written through overlapping elements depend on the order of the loop
        self.lines.append(line)
        return True

    def refuse(self, before: dict[str, Any], changed: bool = True) -> bool:
        """Goes back to before a line; what the line may have changed in place is made anew from the lines before."""
        self.env = before
        if changed:
            self.env = environment(self.real)
            for line in self.lines:
                with contextlib.suppress(Exception), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    exec(compile(line, "<program>", "exec"), self.env)
                self.real.set_grad_enabled(True)
        return False

    def named(self, text: str) -> list[str]:
        """The variables that a text names."""
        return [
            n
            for n in dict.fromkeys(re.findall(r"\b[gh]?\w*t\d+\b", text))
            if isinstance(self.env.get(n), self.real.Tensor)
        ]

    def settled(self, line: str) -> bool:
        """False where the numbers depend on what no library promises:
        the order in which a loop reads memory that it writes, the sign of a NaN,
        what autograd kept of numbers that are changed behind its back."""
        names = self.named(line)
        if re.search(r"copysign|signbit", line) and any(self.env[n].isnan().any() for n in names):
            return False
        if ".data." in line:
            return not self.tensors(lambda t: t.grad_fn is not None)
        if re.search(r"\] .?= .*[-+*/(]", line):
            return True  # the value is computed before it is written
        for n in [n for n in names if self.written(n, line)]:
            t = self.env[n]
            shared = [m for m in names if memory(self.env[m]) == memory(t)]
            for m in shared:
                parts = len(re.findall(rf"\b{m}(?=\[|\.(?!sigmoid|clone|\w+_\())", line)) - (m == n and "] =" in line)
                if parts > 0 or not same(self.env[m], t):
                    return False
        return True

    def written(self, name: str, line: str) -> bool:
        """Whether a line writes to a variable itself."""
        n = re.escape(name)
        return (
            re.search(
                rf"(^|: |; ){n}(\.\w+_\(|\[.*\] .?.?= | [-+*/]+= )"
                rf"|F\.\w+\({n}, .*inplace|out={n}\b|{n}\.(data|detach\(\))\.",
                line,
            )
            is not None
        )

    def add(self, make: Callable[[Generator], str | None], tries: int = 6) -> bool:
        for _ in range(tries):
            line = make(self)
            if line is not None and self.run(line):
                return True
        return False

    def program(self) -> list[str]:
        for _ in range(self.rng.randint(1, 3)):
            self.add(lines_of.leaf)
        if self.rng.random() < 0.6:
            self.add(lines_of.copy)
        kinds, weights = zip(*lines_of.KINDS)
        for _ in range(self.rng.randint(5, 18)):
            self.add(self.rng.choices(kinds, weights)[0])
        for line in lines_of.ending(self):
            self.run(line)
        return self.lines


def programs(real: Any, seed: int, device: str = "cpu") -> Callable[[int], list[str]]:
    """n -> the n-th program of a seed."""
    ops = declared_ops.collect(real)
    return lambda n: Generator(real, ops, seed * 1_000_003 + n, device).program()
