"""torch.einsum of random equations, some of them wrong, with gradients."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from fuzz_parts.case import Case, chance

DTYPES = ["float32", "float64", "complex64", "int64", "bool"]


def draw(r: Random) -> Case:
    sizes = {c: r.choice([1, 2, 3, 4]) for c in "abcdAZ"}
    ellipsis = chance(r, 0.3)
    terms, shapes = [], []
    for _ in range(r.randint(1, 3)):
        letters = "".join(r.choice(list(sizes)) for _ in range(r.randint(0, 3)))
        dots = ellipsis and chance(r, 0.7)
        at = r.randint(0, len(letters))
        shape = [sizes[c] if chance(r, 0.95) else 1 for c in letters]
        shape[at:at] = [r.choice([1, 2]) for _ in range(r.randint(0, 2))] if dots else []
        terms.append(letters[:at] + "..." * dots + letters[at:])
        shapes.append(shape)
    equation = ",".join(terms)
    if chance(r, 0.7):
        kept = [c for c in sorted(set(equation) - set(",.")) if chance(r)]
        r.shuffle(kept)
        if ellipsis:
            kept.insert(r.randint(0, len(kept)), "...")
        equation += "->" + "".join(kept) + "q" * chance(r, 0.03)
    if chance(r, 0.1):
        equation = equation.replace(",", " , ").replace("->", " -> ")
    dtype = r.choice(DTYPES)

    def run(torch: Any) -> Any:
        operands = [
            (torch.arange(int(np.prod(s, dtype=int))).reshape(s) % 7 - 2).to(getattr(torch, dtype)) for s in shapes
        ]
        if dtype in ("int64", "bool"):
            return torch.einsum(equation, *operands)
        operands = [t.requires_grad_() for t in operands]
        result = torch.einsum(equation, *operands)
        return result, *torch.autograd.grad((result * result).abs().sum(), operands)

    return Case(f"einsum({equation!r}) of {dtype} {shapes}", run)
