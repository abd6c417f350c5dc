"""One module for each part; its `draw` makes a case from a random generator."""

from __future__ import annotations

import importlib
from random import Random

from fuzz_parts.case import Case

NAMES = [
    "arguments",
    "copies",
    "data",
    "distributions",
    "einsum",
    "files",
    "functions",
    "indexing",
    "masked",
    "modules",
    "nested",
    "numpy_interop",
    "optimizers",
    "printing",
    "random_state",
    "sparse",
    "utils",
    "windows",
]


def draw(part: str, seed: int, n: int) -> Case:
    """The n-th case of a part; it depends on nothing else."""
    case = importlib.import_module(f"fuzz_parts.parts.{part}").draw(Random(f"{part} {seed} {n}"))
    assert isinstance(case, Case)
    return case
