"""What a part of the fuzzer draws."""

from __future__ import annotations

import dataclasses
from random import Random
from typing import Any, Callable

import numpy as np


@dataclasses.dataclass
class Case:
    """`run(torch)` uses one of the libraries and returns what is compared: tensors, containers, numbers, texts."""

    text: str  # all that was drawn: what a person reads, and known.py searches
    run: Callable[[Any], Any]
    rounding: float = 1.0  # so many times the rounding of one op may differ
    texts: bool = True  # the words of errors count


def code(lines: str, rounding: float = 1.0, texts: bool = True, **names: Any) -> Case:
    """A case that is a few lines of Python, in which `torch`, `F`, `nn` and `np` are there.
    What they call `out` is compared."""
    compiled = compile(lines, "<case>", "exec")

    def run(torch: Any) -> Any:
        space = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "np": np, **names}
        exec(compiled, space)
        return space["out"]

    return Case(lines, run, rounding, texts)


def chance(r: Random, p: float = 0.5) -> bool:
    return r.random() < p


def outcome(f: Callable[[], Any]) -> Any:
    """What a step inside of a case returns, or its error: so that the steps after it are compared too."""
    try:
        return f()
    except Exception as e:
        return type(e).__name__, str(e).split("\n")[0].replace("torchlite", "torch")[:60]


def tensor(torch: Any, values: Any, dtype: Any = None) -> Any:
    """A tensor with an array's numbers, in either library."""
    values = np.asarray(values)
    kinds = {"b": torch.bool, "i": torch.int64, "u": torch.int64, "f": torch.float64, "c": torch.complex128}
    t = torch.tensor(values.tolist(), dtype=kinds[values.dtype.kind]).reshape(values.shape)
    dtype = getattr(torch, dtype) if isinstance(dtype, str) else dtype
    return t.to(dtype) if dtype else t
