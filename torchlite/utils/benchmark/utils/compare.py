"""Compare: measurements as a table."""

from __future__ import annotations

import enum
import math
from typing import TYPE_CHECKING

from .common import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Colorize", "Compare"]


class Colorize(enum.Enum):
    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


def _painted(text: str, time: float, best: float) -> str:
    if time <= max(best * 1.01, best + 1e-7):
        paint = "\033[92m\033[1m"
    elif time <= best * 1.1:
        paint = "\033[34m\033[1m"
    elif time >= best * 5:
        paint = "\033[31m\033[1m"
    elif time >= best * 2:
        paint = "\033[2m\033[91m"
    else:
        return text
    return paint + text + "\033[0m\033[0m"


class Compare:
    """A table for each label: descriptions are columns; numbers of threads, environments and sub-labels are rows."""

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim_significant_figures = False
        self._colorize = Colorize.NONE
        self._highlight_warnings = False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        for r in results:
            if not isinstance(r, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(r)} instead.")
            self._results.append(r)

    def trim_significant_figures(self) -> None:
        self._trim_significant_figures = True

    def colorize(self, rowwise: bool = False) -> None:
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        self._highlight_warnings = True

    def print(self) -> None:
        print(self)

    def __str__(self) -> str:
        results = Measurement.merge(self._results)
        labels = ordered_unique(r.label for r in results)
        return "\n".join(self._table([r for r in results if r.label == label]) for label in labels)

    def _number_format(self, column: list[Measurement], scale: float) -> str:
        """One for a column: its digits before the point, and after it."""
        whole = [math.ceil(math.log10(m.median / scale)) for m in column]
        after = 1
        if self._trim_significant_figures:
            after = min(max(m.significant_figures - digits, 0) for m, digits in zip(column, whole))
        noisy = self._highlight_warnings and any(m.has_warnings for m in column)
        return f"{{:>{max(whole) + after + (after > 0)}.{after}f}}{{:>{7 if noisy else 0}}}"

    def _number(self, m: Measurement, form: str, scale: float) -> str:
        value, spread = m.median / scale, ""
        if self._trim_significant_figures:
            value = trim_sigfig(value, m.significant_figures)
        if self._highlight_warnings and m.has_warnings:
            spread = f" (! {m.iqr / m.median * 100:.0f}%)"
        return form.format(value, spread)

    def _table(self, results: list[Measurement]) -> str:
        unit, scale = select_unit(min(m.median for m in results))
        cells = {(m.num_threads, m.env, m.as_row_name, m.description): m for m in results}
        rows = sorted(ordered_unique(key[:3] for key in cells), key=lambda row: (row[0], row[1] or ""))
        columns = ordered_unique(key[3] for key in cells)
        envs = {m.env for m in results}
        room = max(len(str(env)) for env in envs) + 4 if len(envs) > 1 else 4
        forms = [self._number_format([m for key, m in cells.items() if key[3] == c], scale) for c in columns]

        lines: list[list[str]] = [["", *(c or "" for c in columns)]]
        before: tuple[object, object] = (None, None)
        for row in rows:
            env = f"({row[1]})" if len(envs) > 1 and before != row[:2] else ""
            found = [cells.get((*row, c)) for c in columns]
            numbers = [self._number(m, f, scale) if m else " " * len(f.format(1, "")) for m, f in zip(found, forms)]
            lines.append(["  " + env.ljust(room) + row[2], *numbers])
            before = row[:2]

        widths = [max(map(len, texts)) for texts in zip(*lines)]
        text = ["  |  ".join(name.center(w) for name, w in zip(lines[0], widths))]
        wide, threads = len(text[0]), None
        for row, line in zip(rows, lines[1:]):
            if row[0] != threads:
                threads = row[0]
                text.append(f"{threads} threads: ".ljust(wide, "-"))
            line = [line[0].ljust(widths[0]), *(t.center(w) for t, w in zip(line[1:], widths[1:]))]
            for i, c in enumerate(columns):
                m = cells.get((*row, c))
                if m and self._colorize is not Colorize.NONE:
                    by_row = self._colorize is Colorize.ROWWISE
                    rivals = [o for key, o in cells.items() if (key[:3] == row if by_row else key[::3] == (threads, c))]
                    line[i + 1] = _painted(line[i + 1], m.median, min(o.median for o in rivals))
            text.append("  |  ".join(line))
        text += ["", f"Times are in {unit_to_english(unit)}s ({unit})."]
        if self._highlight_warnings and any(m.has_warnings for m in results):
            text.append("(! XX%) Measurement has high variance, where XX is the IQR / median * 100.")
        title = f" {results[0].label or ''} ".center(wide - 2, "-")
        return "\n".join([f"[{title}]", *text, ""])
