"""The differences from PyTorch that are meant, each with its reason. Everything else is a finding."""

from __future__ import annotations

import re
from typing import Any

# (kind, text of the program: regular expressions; the largest distance of numbers; reason)
MEANT: list[tuple[str, str, float, str]] = [
    ("value|grad", r"hardsigmoid|hardswish", 1e-6, "PyTorch's derivative has 1/6 as a float32 in float64 too"),
    ("stride, unused", r"", 0, "the stride of a dimension of size 1, or of an empty tensor, reaches no element"),
    ("grad's stride, unused", r"", 0, "the same"),
]


def justified(d: Any, lines: list[str]) -> bool:
    text = "\n".join(lines)
    return any(re.fullmatch(kind, d.kind) and re.search(what, text) and (d.size <= most or not most) for kind, what, most, _ in MEANT)
