"""Scans along one dim: cumsum, cumprod, cummax, cummin, logcumsumexp."""

from __future__ import annotations


import torchlite as torch

from ... import _C
from .reduce import dims_of, own
from ..fallback import ask_core
from ..registry import planner
from ..tensors import DTYPES, FLOATS, contiguous, empty
from ..lazy.stream import family, launch, ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from ..._types import DType, Overload, Tensor


geometry = _C.geometry
_plan = family("scan", "op", "dtype", "out")


def _scan(t: Tensor, op: Any, dim: int, want: DType) -> list[Tensor]:
    """The scan of t in a type, and for the running extremes the positions."""
    t = contiguous(t)
    buffer, shape, _, offset, dtype, _, _ = geometry(t)
    number = _plan(op, dtype, want)
    outer = inner = n = 1
    for d, m in enumerate(shape):
        if d < dim:
            outer *= m
        elif d == dim:
            n = m
        else:
            inner *= m
    results = [empty(shape, want)]
    if op in ("cummax", "cummin"):
        results.append(empty(shape, torch.int64))
    launch(number, [ready(buffer), *[ready(geometry(r)[0]) for r in results]], [outer, n, inner, offset, 0])
    return results


def _dim(t: Tensor, dim: int) -> int | None:
    dims = dims_of(dim, t.dim())
    if dims is None:
        return None
    if dims:
        return dims[0]
    return 0


@planner("cumsum", "cumprod")
def _cumsum(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    t, dim, dtype = args
    at = _dim(t, dim)
    given = t.dtype
    if dtype is not None:
        want = dtype
    elif given.is_floating_point or given.is_complex:
        want = given
    else:
        want = torch.int64
    if at is None or not t.numel():
        return ask_core(ov, args)
    if given is torch.complex64 and want is given and ov.kernel == "cumsum":
        if not t.dim():
            return t.clone()
        return own(torch.view_as_complex(_scan(torch.view_as_real(t.detach()), "cumsum", at, torch.float32)[0]))
    if given is torch.complex64 and want is given:
        from .complex import running_product

        return running_product(t, at)
    if given not in DTYPES or want not in DTYPES:
        return NotImplemented if want is not torch.float64 else empty(tuple(t.shape), want)
    if want is torch.bool:
        return ask_core(ov, args)  # raises
    return _scan(t, ov.kernel, at, want)[0]


@planner("cummax", "cummin")
def _cummax(ov: Any, args: tuple[Any, ...]) -> Any:
    t, dim = args
    at = _dim(t, dim)
    if at is None or not t.numel() or t.dtype not in DTYPES:
        return ask_core(ov, args)
    return tuple(_scan(t, ov.kernel, at, t.dtype))


@planner("logcumsumexp")
def _logcumsumexp(ov: Overload, args: tuple[Any, ...]) -> Any:
    t, dim = args
    at = _dim(t, dim)
    if at is None or not t.numel() or t.dtype not in FLOATS:
        return ask_core(ov, args)
    return _scan(t, "logcumsumexp", at, t.dtype)[0]
