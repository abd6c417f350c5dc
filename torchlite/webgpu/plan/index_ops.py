"""gather, scatter, the index_* ops, take and put as grids for the two kernels of index.py."""

from __future__ import annotations

from functools import partial

import torchlite as torch

from ... import _C
from ..lazy.checks import guard, known, status
from ..lazy.expression import Number, assign, expression, operand
from .index import INTEGERS, MOVE, Pick, gather_plan, geometry, in_range, outside, put_at, take_at, writable
from ..fallback import cpu_result
from ..registry import planner
from ..tensors import contiguous, empty, filled
from ..lazy.stream import core, fresh, launch, on_device, ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from ..._types import Overload, Tensor


gather_words = core.gather_words
_MODES = {"sum": "add", "mean": "add", "prod": "prod", "amax": "amax", "amin": "amin", "add": "add", "multiply": "prod"}
_NAMES = {
    "scatter": (None, "add", "multiply"),
    "scatter_add": ("sum",),
    "scatter_reduce": ("sum", "prod", "mean", "amax", "amin"),
}


def _dim(dim: int, nd: int) -> int | None:
    """A dim from 0 on; None where it is not one."""
    if type(dim) is not int or not -max(nd, 1) <= dim < max(nd, 1):
        return None
    return dim % max(nd, 1)


# ---- gather, scatter -------------------------------------------------------------------------------------------------
def _along_dim(nd: int, dim: int) -> list[int | None]:
    return [None if d == dim else d for d in range(nd)]


def _along(dim: Any, shape: Any, grid: Any) -> tuple[int, list[int | None]] | None:
    """(the dim from 0 on, for each dim of an index tensor the dim of `shape` that it runs along, or None); None where
    the CPU has an error to raise."""
    nd = len(shape) or 1
    if type(dim) is not int or not -nd <= dim < nd or (len(grid) or 1) != nd:
        return None
    dim %= nd
    along: list[int | None] = list(range(len(grid)))
    for d, m in enumerate(grid):
        if d == dim or not shape:
            along[d] = None
        elif m > shape[d]:
            return None
    return dim, along


@planner("gather")
def _gather(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    self, dim, index = a[:3]
    found, dtype, itype = gather_words(self, dim, index), self.dtype, index.dtype
    if found is None:
        return cpu_result(ov, a)
    dim, ndim, extent, words, source, picks, grid = found
    if 0 in grid:
        return empty(grid, dtype)
    if itype.name not in INTEGERS:
        return cpu_result(ov, a)
    error, check = partial(outside, "gather", dim), 0
    if picks.bounds is None or not in_range(index, known(picks, itype.itemsize), extent, False, error):
        check = guard(error)
    handles = ready(source), ready(picks)
    r, to = fresh(grid, dtype)
    name = dtype.name
    launch(gather_plan(ndim, MOVE.get(name, name), (itype.name,), False), (*handles, to, status()), (*words, 0, check))
    return r


def _scatter_parts(
    ov: Overload, a: tuple[Any, ...], self: Tensor, index: Tensor, src: Any
) -> tuple[int, tuple[int, ...], list[int | None], list[Pick]] | None:
    """(dim, grid, along, picks) of a scatter; None where the CPU has an error to raise."""
    _, grid, ist, _, itype, _, _ = geometry(index)
    found = _along(a[1], tuple(self.shape), grid)
    if found is None or itype.name not in INTEGERS or not on_device(self, index):
        return None
    dim, along = found
    if src is not None:
        whole, other = grid or (1,), tuple(src.shape) or (1,)
        if (
            src.dtype is not self.dtype
            or len(other) != len(whole)
            or not on_device(src)
            or any(i > s for i, s in zip(whole, other))
        ):
            return None
    return dim, grid, along, [Pick(index, ist, dim)]


def source_of(t: Any, grid: tuple[int, ...]) -> Any:
    buffer, shape, strides, offset, _, _, _ = geometry(t)
    return buffer, list(strides) if len(shape) == len(grid) else [0] * len(grid), offset


@planner("scatter", "scatter_add", "scatter_reduce")
def _scatter(ov: Any, a: tuple[Any, ...]) -> Any:
    self, index, src = a[0], a[2], a[3]
    is_tensor = isinstance(src, torch.Tensor)
    reduce, include = "sum" if ov.kernel == "scatter_add" else None, True
    if ov.kernel == "scatter_reduce":
        reduce, include = a[4], a[5]
    elif ov.kernel == "scatter" and len(a) > 4:
        reduce = a[4]
    has_mode = reduce in _NAMES[ov.kernel]
    if has_mode and not index.numel():
        return writable(ov, self)
    parts = _scatter_parts(ov, a, self, index, src if is_tensor else None)
    if parts is None or not has_mode:
        return cpu_result(ov, a)
    if reduce not in (None, "add", "sum") and self.dtype.is_complex:
        return NotImplemented
    dim, grid, along, picks = parts
    error = partial(outside, "gather", dim)
    if not is_tensor:
        mode = "set" if reduce is None else _MODES[reduce]
        _C.fill(_C.empty((1,), self.dtype), src)  # the core's errors of conversion
        if mode != "set" and not (self.dtype.is_floating_point or self.dtype.is_complex or self.dtype is torch.bool):
            src = int(src)
        return put_at(writable(ov, self), grid, along, picks, False, error, mode, scalar=src)
    source = source_of(src, grid)
    if reduce is None:
        return put_at(writable(ov, self), grid, along, picks, False, error, "set", source)
    return reduce_at(writable(ov, self), grid, along, picks, error, reduce, include, source)


def reduce_at(
    target: Tensor,
    grid: tuple[int, ...],
    along: list[int | None],
    picks: list[Pick],
    error: Callable[..., Any],
    reduce: str,
    include: bool,
    source: tuple[Any, ...],
) -> Tensor:
    """target's elements at the grid's places combined with source's."""
    mode = _MODES[reduce]
    put_at(target, grid, along, picks, False, error, mode, source, fresh=not include)
    if reduce == "mean":
        shape, dtype = tuple(target.shape), target.dtype
        counts = filled(shape, torch.int32, int(include))
        put_at(counts, grid, along, picks, False, error, "add", scalar=1)
        by = expression("maximum", [operand(counts, shape), Number(1, "int32")], "int32", "int32", shape)
        if dtype.is_floating_point:
            node = expression("div", [operand(target, shape), by], dtype.name, dtype.name, shape)
        else:
            wide = "int64" if dtype is torch.int64 else "int32"
            node = expression("floor_divide", [operand(target, shape), by], wide, wide, shape)
        assign(target, node)
    return target


# ---- one index vector along a dim ------------------------------------------------------------------------------------
def _vector(index: Tensor) -> Tensor:
    """An index of 0 or 1 dims as a vector's geometry."""
    return index if index.dim() else index.reshape(1)


@planner("index_select")
def _index_select(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    self, index = a[0], a[2]
    buffer, shape, strides, offset, dtype, _, _ = geometry(self)
    dim = _dim(a[1], len(shape))
    if (
        dim is None
        or index.dim() > 1
        or index.dtype.name not in INTEGERS
        or not on_device(self, index)
        or not shape
        and index.numel() != 1
    ):
        return cpu_result(ov, a)
    index = _vector(index)
    n, nd = index.numel(), len(shape)
    grid = (*shape[:dim], n, *shape[dim + 1 :]) if shape else ()
    over = [0] * nd
    if shape:
        over[dim] = index.stride(0)
    return take_at(
        buffer,
        shape,
        strides,
        offset,
        dtype,
        grid,
        _along_dim(nd, dim),
        [Pick(index, over, dim)],
        False,
        partial(outside, "rows", None),
    )


def rows_of(self: Tensor, dim: int, index: Tensor) -> tuple[tuple[int, ...], list[int | None], list[Pick]]:
    """(grid, along, picks) for the index.numel() slices of self along dim."""
    nd, shape = self.dim(), tuple(self.shape)
    grid = (*shape[:dim], index.numel(), *shape[dim + 1 :]) if nd else (index.numel(),)
    over = [0] * len(grid)
    over[dim] = index.stride(0) if index.numel() > 1 else 0
    return grid, _along_dim(nd, dim) if nd else [None], [Pick(index, over, dim)]


def _add_checks(ov: Overload, a: tuple[Any, ...], dtypes: tuple[str, ...] = INTEGERS) -> int | None:
    """dim of index_add, index_reduce, index_copy where their arguments fit, else None."""
    self, index, source = a[0], a[2], a[3]
    dim = _dim(a[1], self.dim())
    if (
        dim is None
        or index.dim() > 1
        or index.dtype.name not in dtypes
        or source.dtype is not self.dtype
        or not on_device(self, index, source)
    ):
        return None
    shape, other = tuple(self.shape) or (1,), tuple(source.shape) or (1,)
    if other != (*shape[:dim], index.numel(), *shape[dim + 1 :]):
        return None
    return dim


@planner("index_add", "index_reduce", "index_copy")
def _index_into(ov: Overload, a: tuple[Any, ...]) -> Any:
    self, index, source = a[0], a[2], a[3]
    kind = ov.kernel
    if kind == "index_add" and (isinstance(a[4], complex) or a[4] != 1):
        return NotImplemented
    reduce, include = (a[4], a[5]) if kind == "index_reduce" else ("sum", True)
    dim = _add_checks(ov, a, ("int64",) if kind == "index_copy" else INTEGERS)
    if dim is None or kind == "index_reduce" and reduce not in ("prod", "mean", "amax", "amin"):
        return cpu_result(ov, a)
    if kind == "index_reduce" and self.dtype.is_complex:
        return NotImplemented
    grid, along, picks = rows_of(self, dim, _vector(index))
    place = source_of(source, grid)
    if kind == "index_copy":
        return put_at(writable(ov, self), grid, along, picks, False, partial(outside, "copy", dim), "set", place)
    error = partial(outside, "gather", dim) if kind == "index_add" else partial(outside, "rows", None)
    return reduce_at(writable(ov, self), grid, along, picks, error, reduce, include, place)


@planner("index_fill")
def _index_fill(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    self, index, value = a[0], a[2], a[3]
    dim = _dim(a[1], self.dim())
    if dim is None or index.dim() > 1 or index.dtype is not torch.int64 or not on_device(self, index):
        return cpu_result(ov, a)
    source = None
    if isinstance(value, torch.Tensor):
        if value.dim():
            return cpu_result(ov, a)
        if value.is_cpu:
            value = value.to(self.dtype).item()
        else:
            source = value if value.dtype is self.dtype else value.to(self.dtype)
    elif isinstance(value, complex) and not self.dtype.is_complex:
        return cpu_result(ov, a)
    elif self.numel() == 0 or not index.numel():
        _C.fill(_C.empty((1,), self.dtype), value)
    grid, along, picks = rows_of(self, dim, _vector(index))
    error = partial(outside, "fill", dim)
    target = writable(ov, self, True)
    if source is None:
        return put_at(target, grid, along, picks, True, error, "set", scalar=value)
    place = geometry(source)[0], [0] * len(grid), source.storage_offset()
    return put_at(target, grid, along, picks, True, error, "set", place)


# ---- flat positions --------------------------------------------------------------------------------------------------
@planner("take")
def _take(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    self, index = a
    if index.dtype is not torch.int64 or not on_device(self, index) or not self.numel() and index.numel():
        return cpu_result(ov, a)
    flat = contiguous(self)
    grid = tuple(index.shape)
    return take_at(
        geometry(flat)[0],
        (flat.numel(),),
        (1,),
        flat.storage_offset(),
        self.dtype,
        grid,
        [None] * len(grid),
        [Pick(index, index.stride(), 0)],
        True,
        partial(outside, "flat", None),
    )


@planner("put")
def _put(ov: Any, a: Any) -> Tensor:
    self, index, source, accumulate = a
    if (
        index.dtype is not torch.int64
        or source.dtype is not self.dtype
        or index.numel() != source.numel()
        or not on_device(self, index, source)
    ):
        return cpu_result(ov, a)
    target = writable(ov, self, True)
    flat = target if target.is_contiguous() else contiguous(target)
    vector = flat.reshape(-1)
    index, source = index.reshape(-1), source.reshape(-1)
    parts = (vector, (index.numel(),), [None], [Pick(index, index.stride(), 0)], True, partial(outside, "flat", None))
    put_at(*parts, "add" if accumulate else "set", source_of(source, (0,)))
    if flat is not target:
        _C.copy(target, flat, False)
    return target
