"""Masked variances and standard deviations."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from .._prims_common import corresponding_real_dtype


def _std_var(
    input: Any, dim: Any, unbiased: Any, correction: Any, keepdim: Any, dtype: Any, mask: Any, take_sqrt: bool = False
) -> Any:
    """The sum of the squares of x - mean(x), over the number of elements less the correction.

    unbiased: True is a correction of 1, False of 0. Computed in dtype, or float32 where that is no floating one.
    """
    from . import _ops

    assert unbiased is None or correction is None, "Only one of unbiased and correction may be given"
    if correction is None:
        correction = 1 if unbiased is None else int(bool(unbiased))
    if dtype is None:
        dtype = input.dtype
        if not (dtype.is_floating_point or dtype.is_complex):
            dtype = torch.float32
    compute = dtype if dtype.is_floating_point or dtype.is_complex else torch.float32
    if input.layout is not torch.strided:
        raise _ops._refuse("std/var", input)
    count = _ops._count(input, dim, True, mask)
    centre = _ops.sum(input, dim, keepdim=True, dtype=dtype, mask=mask) / count
    x = torch.subtract(input, centre)
    square = x * x.conj() if x.dtype.is_complex else x * x
    total = _ops.sum(square, dim, keepdim=keepdim, dtype=compute, mask=mask)
    count = count if keepdim else count.reshape(total.shape)
    real = corresponding_real_dtype(compute) if compute.is_complex else compute
    if correction:
        count = torch.maximum(count.to(real) - correction, torch.zeros((), dtype=real, device=count.device))
    made = (total / count).to(dtype=dtype)
    return torch.sqrt(made) if take_sqrt else made
