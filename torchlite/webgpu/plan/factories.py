"""Factories: empty, zeros, full, their *_like and new_* forms; and those whose numbers the CPU makes."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from ... import _C
from ..fallback import LIKE_ONLY, MADE_ON_CPU, RANDOM_IN_PLACE, like_only, made_on_cpu, random_in_place
from ..lazy.expression import dense_strides
from ..registry import planner
from ..tensors import device_fill, empty, filled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..._types import DType, Overload, Tensor


planner(*MADE_ON_CPU)(made_on_cpu)
planner(*RANDOM_IN_PLACE)(random_in_place)
planner(*LIKE_ONLY)(like_only)


def _dtype_of(dtype: DType | None, value: Any = None) -> DType:
    if dtype is not None:
        return dtype
    if value is not None:
        if value is True or value is False:
            return torch.bool
        if isinstance(value, int):
            return torch.int64
        if isinstance(value, complex):
            return torch.complex64
        return torch.get_default_dtype()
    return torch.get_default_dtype()


@planner("empty")
def _empty(ov: Overload, a: tuple[Any, ...]) -> Any:
    if a[5] is not None and a[5] is not torch.contiguous_format and a[5] is not torch.preserve_format:
        return NotImplemented
    return empty(a[0], _dtype_of(a[1]))


@planner("zeros", "ones")
def _zeros(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    return filled(a[0], _dtype_of(a[1]), 0 if ov.kernel == "zeros" else 1)


@planner("full")
def _full(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    return filled(a[0], _dtype_of(a[2], a[1]), a[1])


_LIKE = {
    "zeros_like": 0,
    "ones_like": 1,
    "empty_like": None,
    "full_like": None,
    "new_zeros": 0,
    "new_ones": 1,
    "new_empty": None,
    "new_full": None,
}


@planner(*_LIKE)
def _like(ov: Any, a: tuple[Any, ...]) -> Tensor:
    """*_like and new_*: on self's device unless another is named."""
    kind = ov.kernel
    self, rest = a[0], list(a[1:])
    size = tuple(self.shape) if kind.endswith("_like") else tuple(rest.pop(0))
    value = rest.pop(0) if "full" in kind else _LIKE[kind]
    dtype, _, device = rest[:3]
    dtype = self.dtype if dtype is None else dtype
    on: Any = self.device if device is None else torch.device(device)
    if on.type == "cpu":
        return torch.full(size, value, dtype=dtype) if value is not None else _C.empty(size, dtype)
    format_ = rest[4] if len(rest) > 4 else None
    kept = kind.endswith("_like") and format_ in (None, torch.preserve_format)
    if kept and self.stride() != dense_strides(size):  # sizes of 1 too keep their strides
        like = _C.empty_like(
            _C.empty_strided(tuple(self.shape), self.stride(), torch.uint8) if self.is_cpu else self, dtype
        )
        r = empty(size, dtype, like.stride())
    elif format_ in (torch.channels_last, torch.channels_last_3d):
        from ...ops.copying import _channels_last_strides

        r = empty(size, dtype, _channels_last_strides(size, format_))
    else:
        r = empty(size, dtype)
    if value is not None and r.numel():
        device_fill(r, value)
    return r
