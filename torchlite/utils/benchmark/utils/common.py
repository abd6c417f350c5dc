"""What was measured, and how times are written."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass, fields
from statistics import fmean, pstdev
from textwrap import indent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

__all__ = ["TaskSpec", "Measurement", "select_unit", "unit_to_english", "trim_sigfig", "ordered_unique"]
__all__ += ["set_torch_threads"]

_UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3), "s": ("second", 1)}


@dataclass(repr=False, frozen=True)
class TaskSpec:
    """What a Timer runs, but for its variables."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        sub = self.sub_label
        if self.label is None and "\n" in self.stmt:
            return f"stmt:{sub and f' ({sub})' or ''}\n{indent(self.stmt, '  ')}"
        return (self.stmt if self.label is None else self.label) + (f": {sub}" if sub else "")

    def setup_str(self) -> str:
        if self.setup in ("", "pass"):
            return ""
        return "setup:" + ("\n" + indent(self.setup, "  ") if "\n" in self.setup else " " + self.setup)

    def summarize(self) -> str:
        parts = (self.title, self.description, self.setup_str())
        return "\n".join(part + "\n" * ("\n" in part) for part in parts if part)


_FIELDS = {field.name for field in fields(TaskSpec)}


@dataclass(repr=False)
class Measurement:
    """Times of a statement: each of raw_times is that of number_per_run runs. Has the attributes of its TaskSpec."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in _FIELDS:
            return getattr(self.task_spec, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        """Seconds of one run."""
        return [t / self.number_per_run for t in self.raw_times]

    def _quantile(self, q: float) -> float:
        times = sorted(self.times)
        if not times:
            return -1.0
        below, part = divmod(q * (len(times) - 1), 1)
        low, high = times[int(below)], times[math.ceil(below + part)]
        return low + part * (high - low)

    @property
    def median(self) -> float:
        return self._quantile(0.5)

    @property
    def mean(self) -> float:
        return fmean(self.raw_times) / self.number_per_run if self.raw_times else -1.0

    @property
    def iqr(self) -> float:
        """From the first quartile to the third."""
        return self._quantile(0.75) - self._quantile(0.25)

    @property
    def significant_figures(self) -> int:
        """How many digits of the median the times between the quartiles bear out, 1 to 4."""
        n = len(self.raw_times)
        middle = sorted(self.times)[n // 4 : math.ceil(3 * n / 4)]
        interval = max(1.645 * pstdev(middle) / len(middle) ** 0.5, 25e-9)
        return min(max(math.floor(math.log10(self.median / interval)), 1), 4)

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        return self.iqr / self.median < threshold

    @property
    def has_warnings(self) -> bool:
        return bool(self.raw_times) and not self.meets_confidence()

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self) -> str:
        n, runs, threads = len(self.raw_times), self.number_per_run, self.num_threads
        unit, scale = select_unit(self.median)

        def time(q: float) -> str:
            return f"{self._quantile(q) / scale:.2f}"

        lines = [object.__repr__(self), self.task_spec.summarize()]
        lines.append(f"  {'Median: ' * (n > 1)}{time(0.5)} {unit}")
        if n > 3:
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({time(0.25)} to {time(0.75)})")
        times = f"{n} measurements, {runs} runs per measurement," if n > 1 else f"{n} measurement, {runs} runs ,"
        lines.append(f"  {times} {threads} thread{'s' * (threads > 1)}")
        if self.has_warnings:
            percent = self.iqr / self.median * 100
            lines.append(f"  WARNING: Interquartile range is {percent:.1f}% of the median measurement.")
            doubt = (
                "could indicate system fluctuation" if percent < 25 else "suggests significant environmental influence"
            )
            lines.append(f"           This {doubt}.")
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One for each TaskSpec, with the times of all."""
        times: dict[TaskSpec, list[float]] = {}
        for m in measurements:
            times.setdefault(m.task_spec, []).extend(m.times)
        return [Measurement(1, t, spec) for spec, t in times.items()]


def select_unit(t: float) -> tuple[str, float]:
    """A unit in which a time has few digits, and its seconds."""
    power = math.log10(t) // 3 if t > 0 else 0
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(int(power), "s")
    return unit, _UNITS[unit][1]


def unit_to_english(u: str) -> str:
    return _UNITS[u][0]


def trim_sigfig(x: float, n: int) -> float:
    """x with n significant digits."""
    if n != int(n):
        raise AssertionError("Number of significant figures must be an integer")
    return float(round(x, n - math.ceil(math.log10(abs(x)))))


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(elements))


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    from torchlite import get_num_threads, set_num_threads

    before = get_num_threads()
    try:
        set_num_threads(n)
        yield
    finally:
        set_num_threads(before)
