"""repr, str and format of tensors under random print options."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from fuzz_parts.case import Case, chance, tensor

DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool", "complex64", "complex128"]
OPTIONS: dict[str, list[Any]] = {
    "precision": [0, 1, 2, 6, 10],
    "threshold": [0, 5, 100, 1000],
    "edgeitems": [0, 1, 2, 5],
    "linewidth": [10, 40, 80, 200],
    "sci_mode": [True, False, None],
    "profile": ["short", "full", "default"],
}
LAYOUTS: dict[str, Any] = {
    "plain": lambda torch, t: t,
    "transposed": lambda torch, t: t.mT if t.dim() >= 2 else t,
    "conjugate": lambda torch, t: t.conj(),
    "sliced": lambda torch, t: t[..., ::2] if t.dim() else t,
    "expanded": lambda torch, t: t.expand(2, *t.shape),
    "parameter": lambda torch, t: torch.nn.Parameter(t, requires_grad=t.is_floating_point() or t.is_complex()),
    "a result": lambda torch, t: t.requires_grad_() * 1 if t.is_floating_point() else t * 1,
}


def draw(r: Random) -> Case:
    shape = [r.choice([0, 1, 2, 3, 5, 7, 20]) for _ in range(r.randint(0, 4))]
    shape = shape if np.prod(shape) <= 3000 else shape[:2]
    dtype, layout = r.choice(DTYPES), r.choice(list(LAYOUTS))
    options = {k: r.choice(v) for k, v in OPTIONS.items() if chance(r, 0.25)}
    scale = 10.0 ** r.randint(-9, 9)
    rng = np.random.default_rng(r.randrange(10**9))
    x = np.asarray(rng.standard_normal(shape) * scale)
    if chance(r, 0.3):
        x = np.round(x)
    if chance(r, 0.3) and x.size:
        x.ravel()[0] = r.choice([np.nan, np.inf, -np.inf, 0, 1e-40])
    if dtype.startswith("complex"):
        x = x + 1j * rng.standard_normal(shape) * scale * r.choice([1, 1e-3])
    elif "float" not in dtype:
        low, high = (0, 250) if dtype in ("uint8", "bool") else (-(2**31), 2**30)
        x = np.clip(np.nan_to_num(x), low, high).astype(np.int64)

    def run(torch: Any) -> Any:
        t = LAYOUTS[layout](torch, tensor(torch, x, dtype))
        torch.set_printoptions(profile="default")
        torch.set_printoptions(**options)
        try:
            shown = [repr(t), str(t), f"{t}"]
            return shown + [f"{t:.3f}"] if t.numel() == 1 and not t.is_complex() else shown
        finally:
            torch.set_printoptions(profile="default")

    return Case(f"{layout} {dtype} {shape}, scale {scale}, {options}", run)
