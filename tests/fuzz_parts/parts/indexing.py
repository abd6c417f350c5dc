"""Index expressions of every kind, read, written, with gradients."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from fuzz_parts.case import Case, chance

DTYPES = ["float32", "int64", "bool", "complex64", "float16"]


def index(r: Random, length: int) -> tuple[Any, str]:
    """One entry of an index for a dim of a length: (the value, the dtype if it becomes a tensor)."""
    inside = lambda: r.randint(-length, length - 1)
    bound = lambda: r.choice([None, 0, 1, 2, -1, -2, 5])
    kinds = [
        (20, lambda: (r.randint(-length - 1, length), "")),
        (20, lambda: (slice(bound(), bound(), r.choice([None, 1, 2, 3])), "")),
        (8, lambda: (None, "")),
        (8, lambda: (..., "")),
        (6, lambda: (chance(r), "")),
        (
            10,
            lambda: (
                np.array([inside() for _ in range(r.choice([0, 1, 2, 3]))], dtype=int).reshape(
                    r.choice([(-1,), (-1, 1)])
                ),
                r.choice(["int64", "int32", "uint8", "int16"]),
            ),
        ),
        (8, lambda: (np.array([chance(r) for _ in range(length)]), "bool")),
        (4, lambda: (np.array(inside()), "int64")),
        (6, lambda: ([inside() for _ in range(r.choice([1, 2]))], "")),
        (3, lambda: (np.int64(inside()), "")),
        (2, lambda: (range(min(2, length)), "")),
        (2, lambda: (np.array([0, 0]), "")),
        (1, lambda: (r.choice([1.0, "a", 1j]), "")),
        (2, lambda: ([True] * length, "")),
    ]
    return r.choices([make for _, make in kinds], [weight for weight, _ in kinds])[0]()


def draw(r: Random) -> Case:
    shape = [r.choice([1, 2, 3, 4]) for _ in range(r.randint(0, 4))]
    entries = [index(r, r.choice(shape or [1])) for _ in range(r.randint(0, len(shape) + 1))]
    bare = len(entries) == 1 and chance(r, 0.1)
    dtype = r.choice(DTYPES)
    use = r.choice(["read", "write a number", "write a tensor", "gradient", "write a row", "add"])

    def run(torch: Any) -> Any:
        t = (torch.arange(int(np.prod(shape, dtype=int))).reshape(shape) + 1).to(getattr(torch, dtype))
        key: Any = tuple(
            torch.tensor(v.tolist(), dtype=torch.int64).reshape(v.shape).to(getattr(torch, d)) if d else v
            for v, d in entries
        )
        key = key[0] if bare else key
        if use == "read":
            return t[key], t[key]._is_view()
        if use == "gradient":
            if not (t.is_floating_point() or t.is_complex()):
                return None
            part = t.requires_grad_()[key]
            return part, torch.autograd.grad(part, [t], torch.ones_like(part))
        if use == "write a number":
            t[key] = 7
        elif use == "write a tensor":
            part = t[key]
            t[key] = (torch.arange(part.numel()).reshape(part.shape) * 3).float()
        elif use == "write a row":
            t[key] = torch.tensor([5])
        else:
            t[key] += 2
        return t

    return Case(f"{use}: {dtype} {shape}{'' if bare else ' tuple'} {[v for v, _ in entries]}", run)
