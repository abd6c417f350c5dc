"""Types of arguments that are one value for all dims or one for each: annotations of modules in packages use them."""

from __future__ import annotations

from typing import Any, TypeVar

from .. import Tensor

T = TypeVar("T")
_scalar_or_tuple_any_t: Any = T | tuple[T, ...]  # type: ignore[valid-type]
_size_any_t = _scalar_or_tuple_any_t[int]
_size_any_opt_t = _scalar_or_tuple_any_t[int | None]
_ratio_any_t = _scalar_or_tuple_any_t[float]
_tensor_list_t = _scalar_or_tuple_any_t[Tensor]
for _n in range(1, 7):
    _some: Any = T | tuple[(T,) * _n]  # type: ignore[misc]
    vars()["_scalar_or_tuple_%d_t" % _n] = _some
    vars()["_size_%d_t" % _n] = _some[int]
    if _n in (2, 3):
        vars()["_size_%d_opt_t" % _n] = _some[int | None]
        vars()["_ratio_%d_t" % _n] = _some[float]
        if _n == 2:
            _maybe_indices_t = _some[Tensor]
