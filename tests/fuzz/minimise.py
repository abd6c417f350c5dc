"""Shrinks a program whose results differ from PyTorch's: fewer lines, smaller shapes, simpler inputs, as long as the
same kind of difference remains."""

from __future__ import annotations

import re
import time
from typing import Callable, Iterator

Keeps = Callable[[list[str]], bool]
FILL = re.compile(r"fill\((\d+)((?:, \d+)*)((?:, \w+=[^,()]+)*)\)")


def fewer_lines(lines: list[str], keeps: Keeps) -> list[str]:
    """Delta debugging: leaves out runs of lines, in rounds of ever shorter runs."""
    size = max(1, len(lines) // 2)
    while True:
        i = len(lines)
        while i > 0:
            i = max(0, i - size)
            less = lines[:i] + lines[i + size :]
            if less and keeps(less):
                lines = less
        if size == 1:
            return lines
        size //= 2


def plainer(line: str) -> Iterator[str]:
    """Simpler forms of one line."""
    name, equals, text = line.partition(" = ")
    if equals and name.isidentifier():
        for inner in re.findall(r"\bt\d+\b", text):
            if text != inner:
                yield f"{name} = {inner} * 1"
                yield f"{name} = {inner}"
        if not text.startswith("fill("):
            yield f"{name} = fill(1, 3).requires_grad_()"
    if line.startswith("with torch.no_grad(): "):
        yield line.removeprefix("with torch.no_grad(): ")
    for old, new in (
        (r"\((\w+)\.sigmoid\(\) \* [\d.]+ \+ -?[\d.e-]+\)", r"\1"),
        (r"\.(square|sin|exp|abs)\(\)\.sum\(\)", ".sum()"),
        (r", allow_unused=True", ""),
        (r"\.to\(memory_format=[\w.]+\)", ""),
        (r"\((t\d+) \* fill\([^()]*\)\)\.sum\(\)", r"\1.sum()"),
        (r"torch\.view_as_real\((\w+)\.resolve_conj\(\)\)", r"\1.real"),
    ):
        new_line = re.sub(old, new, line)
        if new_line != line:
            yield new_line
    for found in re.finditer(r"\[((?:t\d+, )*t\d+)\]", line):
        names = found[1].split(", ")
        left = line.partition(", = ")[0].split(", ")
        if len(names) > 1 and len(left) == len(names) and ", = " in line:
            for i in range(len(names)):
                rest = line.partition(", = ")[2].replace(found[0], "[" + ", ".join(names[:i] + names[i + 1 :]) + "]")
                yield ", ".join(left[:i] + left[i + 1 :]) + ", = " + rest


def smaller_shapes(text: str) -> Iterator[str]:
    """The whole program with one size made smaller everywhere, or one input made simpler."""
    sizes = sorted({int(s) for m in FILL.finditer(text) for s in m[2].split(", ") if s}, reverse=True)
    for old in sizes:
        for new in (1, 2, 3):
            if new < old:
                yield FILL.sub(
                    lambda m, o=old, n=new: (
                        f"fill({m[1]}{', '.join(str(n) if s == str(o) else s for s in m[2].split(', '))}{m[3]})"
                    ),
                    text,
                )
    for m in FILL.finditer(text):
        shape = [s for s in m[2].split(", ") if s]
        for less in [shape[1:], shape[:-1]] if len(shape) > 0 else []:
            yield text[: m.start()] + f"fill({', '.join([m[1], *less])}{m[3]})" + text[m.end() :]
        for i, s in enumerate(shape):
            if int(s) > 1:
                yield (
                    text[: m.start()]
                    + f"fill({', '.join([m[1], *shape[:i], '1', *shape[i + 1 :]])}{m[3]})"
                    + text[m.end() :]
                )
        if "dtype" in m[3]:
            yield text[: m.start()] + f"fill({', '.join([m[1], *shape])})" + text[m.end() :]


def minimise(lines: list[str], keeps: Keeps, seconds: float = 20) -> list[str]:
    end = time.monotonic() + seconds

    def tried(less: list[str]) -> bool:
        return time.monotonic() < end and keeps(less)

    def weight(some: list[str]) -> tuple[int, int]:
        return len(some), sum(map(len, some))

    while True:
        before = list(lines)
        lines = fewer_lines(lines, tried)
        for i in range(len(lines)):
            for new in plainer(lines[i]):
                less = [*lines[:i], new, *lines[i + 1 :]]
                if new != lines[i] and len(new) < len(lines[i]) + 4 and tried(less):
                    lines = less
                    break
        again = True
        while again:
            again = False
            for text in smaller_shapes("\n".join(lines)):
                less = text.split("\n")
                if less != lines and sum(map(len, less)) <= sum(map(len, lines)) and tried(less):
                    lines, again = less, True
                    break
            again = again and time.monotonic() < end
        if lines == before or time.monotonic() > end or weight(lines) >= weight(before):
            return lines
