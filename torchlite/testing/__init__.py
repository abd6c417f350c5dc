"""torch.testing: assert_close and make_tensor."""

import math
from typing import Any

import torchlite as torch

from ._compare import assert_close as assert_close


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """Old form of assert_close, without the dtype check."""
    assert_close(
        actual, torch.as_tensor(expected), rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None
    )


def _bounds(dtype, low, high, least, end, low_default, high_default):
    """The interval to draw from: asked for, within [least, end) of the dtype; whole numbers for integers."""
    low, high = low_default if low is None else low, high_default if high is None else high
    whole = not (dtype.is_floating_point or dtype.is_complex)
    if low != low or high != high:
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if low == high and not whole:
        import warnings

        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since "
            "2.1 and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= end:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
            f"[{least}, {end})"
        )
    low, high = min(max(low, least), end), min(max(high, least), end)
    return (math.ceil(low), math.ceil(high)) if whole else (low, high)


def make_tensor(
    *shape,
    dtype,
    device,
    low=None,
    high=None,
    requires_grad=False,
    noncontiguous=False,
    exclude_zero=False,
    memory_format=None,
):
    """A tensor of values drawn uniformly from [low, high): by default [-9, 9), of integers [-9, 10)."""
    shape = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous!r} and memory_format={memory_format!r}"
        )
    whole = not (dtype.is_floating_point or dtype.is_complex)
    if requires_grad and whole:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype!r}"
        )
    apart = noncontiguous and math.prod(shape) > 1
    full = (*shape[:-1], 2 * shape[-1]) if apart else shape
    info: Any  # its kind follows dtype's
    if whole:
        info = None if dtype is torch.bool else torch.iinfo(dtype)
        ends = (0, 2, 0, 2) if info is None else (info.min, info.max + (dtype is not torch.int64), -9, 10)
        low, high = _bounds(dtype, low, high, *ends)
        t = torch.randint(low, high, full, device=device, dtype=dtype)
    else:
        info = torch.finfo(dtype)
        low, high = _bounds(dtype, low, high, info.min, info.max, -9, 9)
        t = torch.empty(full, device=device, dtype=dtype)
        parts = torch.view_as_real(t) if dtype.is_complex else t
        if high - low >= info.max:  # more than uniform_ can span
            parts.uniform_(low / 2, high / 2).mul_(2)
        else:
            parts.uniform_(low, high)
    if apart:
        t = t[..., 1::2]
    elif memory_format is not None:
        t = t.clone(memory_format=memory_format)
    if exclude_zero:
        t[t == 0] = 1 if whole else info.tiny
    if not whole:
        t.requires_grad = requires_grad
    return t


from .._core import absent as _absent

__getattr__ = _absent.of(__name__)
