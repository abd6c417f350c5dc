"""Reading and writing by index tensors: gather and scatter, x[i, j], the index_* family, embedding, take and put.

All of them are one of two kernels over a grid of positions. An element's place in the source (or destination) is a sum
of coordinates times strides and of indices times strides.

Float sums and products over repeated indices are made in the order of the positions, after a sort, so they are the same
every time. Integers are added with atomic operations. Where plain writes meet at one place, one of them stays, and it
is not defined which, as in PyTorch. The last one stays of int64 and complex elements, since two words make up each,
and of all elements under torch.use_deterministic_algorithms(True).
"""

from __future__ import annotations


import torchlite as torch

from ... import _C
from ..._core.settings import deterministic
from ..lazy import stream
from ..lazy.checks import guard, known, status
from ..lazy.expression import before_write
from ..tensors import empty, host_copy, upload
from ..lazy.stream import core, family, fresh, launch, ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from ..._types import DType, Overload, Tensor


geometry, grid_words = _C.geometry, _C.grid_words
MOVE = core.MOVE  # name of a dtype -> name of the one of its size as which its elements are moved, to keep every bit
INTEGERS = ("int64", "int32")
MOST_INDICES = 5  # a kernel binds 8 buffers: source, result, status


# ---- errors ----------------------------------------------------------------------------------------------------------
_OUTSIDE = {
    "index": (IndexError, "index %(v)d is out of bounds for dimension %(which)d with size %(n)d"),
    "rows": (IndexError, "index out of range in self"),
    "flat": (IndexError, "out of range: tried to access index %(v)d on a tensor of %(n)d elements."),
    "fill": (IndexError, "index %(v)d is out of bounds for dimension %(dim)d with size %(n)d"),
    "copy": (IndexError, "index_copy_(): index %(v)d is out of bounds for dimension %(dim)d with size %(n)d"),
    "gather": (RuntimeError, "index %(v)d is out of bounds for dimension %(dim)d with size %(n)d"),
    "negative": (RuntimeError, "Class values must be non-negative."),
    "one_hot": (RuntimeError, "Class values must be smaller than num_classes."),
}


def outside(kind: str, dim: int | None, v: int, n: int, which: int) -> Exception:
    """The error for the value v of the index number `which`, in a dim of n elements."""
    error, text = _OUTSIDE["negative" if kind == "one_hot" and v < 0 else kind]
    return error(text % {"v": v, "n": n, "which": which, "dim": dim})


class Pick:
    """An index tensor: where its elements are over the grid, and the dim it picks along."""

    __slots__ = ("buffer", "dtype", "strides", "offset", "dim", "bounds", "tensor")

    def __init__(self, t: Any, strides: list[int] | tuple[int, ...], dim: int) -> None:
        self.tensor, self.strides, self.dim = t, strides, dim
        self.buffer, _, _, self.offset, dtype, _, _ = geometry(t)
        self.dtype = dtype.name
        self.bounds = known(self.buffer, dtype.itemsize) if self.buffer.bounds is not None else None


def in_range(
    t: Tensor, bounds: tuple[int, int] | None, extent: int, wrap: bool, error: Callable[..., Any], which: int = 0
) -> bool:
    """Whether all elements of the index tensor number `which` are known to be in range; `bounds` are those of its
    buffer. Raises where one is known not to be."""
    low = -extent if wrap else 0
    if bounds is None:
        return False
    if bounds[0] < low or bounds[1] >= extent:
        values = host_copy(t)  # a part of that buffer may still be in range
        bad = values[(values < low) | (values >= extent)]
        if bad.numel():
            raise error(int(bad[0].item()), extent, which)
    return True


def places(
    picks: list[Pick], shape: tuple[int, ...], strides: tuple[int, ...], wrap: bool, error: Callable[..., Any]
) -> tuple[list[Any], int]:
    """The picks as operands of _C.grid_words, and what the launch is to check: 0 where every index is known to be in
    range. Raises where one is known not to be."""
    found, unknown, extents = [], False, shape or (1,)
    for which, p in enumerate(picks):
        extent = extents[p.dim]
        found.append((p.strides, p.offset, strides[p.dim] if strides else 0, extent))
        if not in_range(p.tensor, p.bounds, extent, wrap, error, which):
            unknown = True
    return found, guard(error) if unknown else 0


# ---- the two kernels -------------------------------------------------------------------------------------------------
gather_plan = family("gather", "ndim", "dtype", "indices", "wrap")
_scatter_plan = family(
    "scatter", "ndim", "dtype", "indices", "wrap", "mode", "scalar", "skip", "ordered", "wide", "fresh"
)


def take_at(
    source: Any,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    dtype: DType,
    grid: tuple[int, ...],
    along: Any,
    picks: list[Pick],
    wrap: bool,
    error: Callable[..., Any],
) -> Tensor:
    """result[c] = source at c's place. `along`: for each dim of the grid the source's dim it runs along, or None."""
    if 0 in grid:
        return empty(grid, dtype)
    picked, check = places(picks, shape, strides, wrap, error)
    own = [0] * len(grid)
    for i, d in enumerate(along):
        if d is not None:
            own[i] = strides[d]
    handles, dtypes = [ready(source)], []
    for p in picks:
        handles.append(ready(p.buffer))
        dtypes.append(p.dtype)
    values, keep = grid_words(grid, [(own, offset), *picked])
    values += (0, check)
    name = dtype.name
    number = gather_plan(len(keep) or 1, MOVE.get(name, name), tuple(dtypes), wrap)
    r, to = fresh(grid, dtype)
    launch(number, (*handles, to, status()), values)
    return r


def _needs_order(mode: str, dtype: DType, meet: int, various: bool) -> bool:
    """Whether elements that meet at one place must be taken in order. various: the source has more than one value."""
    if dtype.name == "int64" and mode not in ("set", "add"):
        return True
    if meet == 1:
        return False
    strict = bool(deterministic["mode"])
    if mode == "set":
        return various and (dtype.itemsize == 8 or strict)
    # sums and products are rounded; the greatest of 0 and -0 is the one that was there first
    return dtype.is_floating_point and (mode in ("add", "prod") or mode in ("amax", "amin") and strict)


def put_at(
    target: Any,
    grid: tuple[int, ...],
    along: Any,
    picks: list[Pick],
    wrap: bool,
    error: Callable[..., Any],
    mode: str,
    source: Any = None,
    scalar: Any = None,
    skip: Any = None,
    fresh: bool = False,
) -> Any:
    """Changes target's elements at the grid's places: by source (buffer, strides over the grid, offset) or a number.
    fresh: what was there before does not count."""
    if 0 in grid:
        return target
    if mode != "set" and target.dtype.is_complex:
        _put_complex(target, grid, along, picks, wrap, error, mode, source, scalar, skip, fresh)
        return target
    buffer, shape, strides, offset, dtype, _, _ = geometry(target)
    name = dtype.name
    picked, check = places(picks, shape, strides, wrap, error)
    own = [0 if d is None else strides[d] for d in along]
    meet = 1  # how many positions can have one place
    for d, m in zip(along, grid):
        if d is None:
            meet *= m
    ordered = source is not None and (fresh or _needs_order(mode, dtype, meet, any(source[1])))
    operands: list[Any] = [(own, offset), *([] if source is None else [(source[1], source[2])]), *picked]
    values, keep = grid_words(grid, operands)
    ndim = len(keep) or 1
    row = None
    if ordered and len(keep) > 1 and own[keep[-1]] and not any(p.strides[keep[-1]] for p in picks):
        row = keep.pop()  # no index along the last dim: whole rows are added
        columns, ndim = values[1 + len(keep)], ndim - 1
        rest = [([steps[d] for d in keep], *more) for steps, *more in operands]
        values, _ = grid_words(values[1 : 1 + len(keep)], rest)
    if skip is not None:
        values.append(skip)
    if row is not None:
        values.extend((columns, own[row], source[1][row]))
    if scalar is not None:
        values.extend(bits(scalar, dtype) if mode == "set" else stream.scalar_words(scalar, name))
    values.append(check)
    number = _scatter_plan(
        ndim,
        MOVE.get(name, name) if mode == "set" else name,
        tuple([p.dtype for p in picks]),
        wrap,
        mode,
        scalar is not None,
        skip is not None,
        ordered,
        row is not None,
        fresh,
    )
    handles = [] if source is None else [ready(source[0])]
    handles.extend([ready(p.buffer) for p in picks])
    before_write(buffer)
    handles.extend((ready(buffer), status()))
    launch(number, handles, values)
    return target


def _put_complex(
    target: Tensor,
    grid: tuple[int, ...],
    along: list[int | None],
    picks: list[Pick],
    wrap: bool,
    error: Callable[..., Any],
    mode: str,
    source: Any,
    scalar: complex | None,
    skip: Any,
    fresh: bool,
) -> None:
    """Sums of complex numbers, as pairs of real ones."""
    if source is None:
        number = upload(_C.fill(_C.empty((1,), target.dtype), scalar))
        source = geometry(number)[0], [0] * len(grid), 0
    pair = torch.view_as_real(target)
    for p in picks:
        p.strides = (*p.strides, 0)
    put_at(
        pair,
        (*grid, 2),
        [*along, target.dim()],
        picks,
        wrap,
        error,
        mode,
        (source[0], [*[2 * s for s in source[1]], 1], 2 * source[2]),
        skip=skip,
        fresh=fresh,
    )


def bits(value: Any, dtype: DType) -> list[int]:
    """A number as the words of an element, for a kernel that only moves elements;
    the core's conversion and its errors."""
    probe = _C.empty((1,), dtype)
    _C.fill(probe, value)
    raw = bytes(memoryview(probe._storage).cast("B")[: dtype.itemsize])
    return [int.from_bytes(raw[i : i + 4], "little") for i in range(0, len(raw), 4)]


def writable(ov: Overload, self: Tensor, keep: bool = False) -> Tensor:
    """The tensor that an op writes to: self of an in-place overload, else a copy; `keep`: laid out as a clone."""
    if ov.inplace:
        return self
    r = _C.empty_like(self) if keep else empty(self.shape, self.dtype)
    if r.numel():
        _C.copy(r, self, False)
    return r


def strides_over(t: Any, grid: tuple[int, ...], at: range | None = None) -> Any:
    """t's strides over the grid; `at` names the grid's dims that t's dims lie along (default: the last ones)."""
    shape, strides = tuple(t.shape), t.stride()
    out = [0] * len(grid)
    lead = len(grid) - len(shape)
    for d, (n, s) in enumerate(zip(shape, strides)):
        g = at[d] if at is not None else lead + d
        if g >= 0 and n != 1:
            out[g] = s
    return out
