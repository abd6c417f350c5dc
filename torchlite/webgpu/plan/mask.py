"""Masks: masked_fill, masked_select, masked_scatter, nonzero, one_hot."""

from __future__ import annotations

from functools import partial

import torchlite as torch

from ... import _C
from ..lazy.checks import known as known_bounds
from ..lazy.expression import Coord, Number, assign, before_write, expression, operand, result
from .index import MOVE, Pick, geometry, outside, put_at
from ..fallback import cpu_result
from ..registry import planner
from ..tensors import contiguous, empty, filled
from ..lazy.stream import family, launch, ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from ..._types import Buffer, DType, Node, Overload, Tensor


_plan = family("compact", "op", "dtype", "data", "ndim")


def _counted(x: Tensor) -> tuple[Buffer, Tensor]:
    """(handle of the ends of pieces, how many elements of a dense tensor are not zero); waits for the GPU."""
    n = x.numel()
    ends = empty((n + 31 >> 5,), torch.int32)
    buffer = geometry(ends)[0]
    launch(_plan("count", x.dtype), [ready(geometry(x)[0]), ready(buffer)], [n, x.storage_offset()])
    return buffer, ends[-1]


def positions(x: Tensor) -> Tensor:
    """nonzero: the coordinates of what is not zero, int64 [count, dims]; waits for the GPU."""
    nd = x.dim()
    if not x.numel():
        return empty((0, nd), torch.int64)
    if x.dtype.is_complex:
        x = (torch.view_as_real(x) != 0).any(-1)
    if not nd:
        return empty((int(bool(x.item())), 0), torch.int64)
    x = contiguous(x)
    ends, count = _counted(x)
    total = int(count.item())
    r = empty((total, nd), torch.int64)
    if total:
        buffer = geometry(r)[0]
        launch(
            _plan("index", x.dtype, None, nd),
            [ready(geometry(x)[0]), ready(ends), ready(buffer)],
            [x.numel(), *x.shape, x.storage_offset(), 0],
        )
        buffer.bounds = (0, max(x.shape) - 1) if len(set(x.shape)) == 1 else None
    return r


@planner("nonzero")
def _nonzero(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    x = a[0]
    return positions(x)


@planner("nonzero_numpy")
def _nonzero_numpy(ov: Overload, a: tuple[Any, ...]) -> Any:
    x = a[0]
    rows = positions(x.reshape(1) if not x.dim() else x)
    return tuple([rows[:, d].contiguous() for d in range(rows.shape[1])])


# ---- masked_* --------------------------------------------------------------------------------------------------------
def _value_node(value: Any, dtype: DType, shape: tuple[int, ...]) -> Any:
    """A fill value as an operand."""
    name = dtype.name
    if isinstance(value, torch.Tensor):
        if not value.is_cpu:
            return (
                expression("cast", [operand(value, shape)], name, None, shape)
                if value.dtype is not dtype
                else operand(value, shape)
            )
        value = value.to(dtype).item()
    probe = _C.fill(_C.empty((1,), dtype), value)  # the core's conversion and its errors
    if dtype.is_floating_point:
        return Number(probe.item(), "float32")
    return Number(probe.item(), "int64" if name == "int64" else "int32")


def where_node(self: Tensor, mask: Tensor, value: Any, shape: tuple[int, ...]) -> Node:
    name = self.dtype.name
    return expression(
        "where", [operand(mask, shape), _value_node(value, self.dtype, shape), operand(self, shape)], name, name, shape
    )


def _complex_node(pair: Tensor, mask: Tensor, value: Any, shape: tuple[int, ...]) -> Node:
    """Of a complex tensor's real and imaginary parts, with the value's where the mask is true."""
    if isinstance(value, torch.Tensor):
        value = value.item()
    parts = [Number(float(x), "float32") for x in (complex(value).real, complex(value).imag)]
    first = expression("eq", [Coord(len(shape) - 1), Number(0, "int32")], "bool", "int32", shape)
    number = expression("where", [first, *parts], "float32", "float32", shape)
    return expression(
        "where", [operand(mask.unsqueeze(-1), shape), number, operand(pair, shape)], "float32", "float32", shape
    )


def fill_where(target: Tensor, mask: Tensor, value: Any) -> None:
    """target = value where mask (broadcast to it), in place."""
    if target.dtype.is_complex:
        pair = torch.view_as_real(target)
        assign(pair, _complex_node(pair, mask, value, tuple(pair.shape)))
        return
    assign(target, where_node(target, mask, value, tuple(target.shape)))


@planner("masked_fill")
def _masked_fill(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    self, mask, value = a
    tensor = isinstance(value, torch.Tensor)
    other = isinstance(value, complex) or tensor and value.dtype.is_complex
    if (
        mask.dtype is not torch.bool
        or tensor
        and value.dim()
        or other
        and not self.dtype.is_complex
        or self.is_cpu
        or mask.is_cpu
        and mask.dim()
    ):
        return cpu_result(ov, a)
    if tuple(mask.shape) == tuple(self.shape):
        shape = tuple(self.shape)
    else:
        try:
            shape = tuple(torch.broadcast_shapes(tuple(self.shape), tuple(mask.shape)))
        except RuntimeError:
            return cpu_result(ov, a)
    if not ov.inplace and self.dtype.is_complex:
        pair = (*shape, 2)
        node = _complex_node(torch.view_as_real(self.expand(shape)), mask, value, pair)
        return torch.view_as_complex(result(node, torch.float32))
    if not ov.inplace:
        return result(where_node(self, mask, value, shape), self.dtype)
    if shape != tuple(self.shape):
        return cpu_result(ov, a)
    fill_where(self, mask, value)
    return self


def _both(self: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, tuple[int, ...]] | None:
    """self and mask of one shape, dense; None where they do not broadcast."""
    try:
        shape = tuple(torch.broadcast_shapes(tuple(self.shape), tuple(mask.shape)))
    except RuntimeError:
        return None
    return contiguous(self.expand(shape)), contiguous(mask.expand(shape)), shape


def _select(x: Tensor, mask: Tensor) -> Tensor:
    if not mask.numel():
        return empty((0,), x.dtype)
    ends, count = _counted(mask)
    total = int(count.item())
    r = empty((total,), x.dtype)
    if total:
        data = MOVE.get(x.dtype.name, x.dtype.name)
        launch(
            _plan("select", torch.bool, data),
            [ready(geometry(mask)[0]), ready(ends), ready(geometry(x)[0]), ready(geometry(r)[0])],
            [mask.numel(), mask.storage_offset(), x.storage_offset(), 0],
        )
    return r


@planner("masked_select")
def _masked_select(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    self, mask = a
    both = _both(self, mask) if mask.dtype is torch.bool and not self.is_cpu and not mask.is_cpu else None
    return cpu_result(ov, a) if both is None else _select(both[0], both[1])


@planner("masked_scatter")
def _masked_scatter(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    self, mask, source = a
    both = (
        _both(self, mask)
        if mask.dtype is torch.bool and source.dtype is self.dtype and not (self.is_cpu or mask.is_cpu or source.is_cpu)
        else None
    )
    if both is None or ov.inplace and both[2] != tuple(self.shape):
        return cpu_result(ov, a)
    x, m, shape = both
    if not m.numel():
        return self if ov.inplace else empty(shape, self.dtype)
    ends, total = _counted(m)
    if source.numel() < m.numel() and int(total.item()) > source.numel():
        raise RuntimeError("Number of elements of source < number of ones in mask")
    inplace = ov.inplace and self.is_contiguous()
    if inplace:
        r = self
    else:
        r = empty(shape, self.dtype)
        _C.copy(r, x, False)
    source = contiguous(source)
    buffer = geometry(r)[0]
    data = MOVE.get(r.dtype.name, r.dtype.name)
    from_ = ready(geometry(source)[0]) if source.numel() else ready(geometry(m)[0])
    handles = [ready(geometry(m)[0]), ready(ends), from_]
    before_write(buffer)
    launch(
        _plan("scatter", torch.bool, data),
        [*handles, ready(buffer)],
        [m.numel(), m.storage_offset(), source.storage_offset(), r.storage_offset()],
    )
    return r


@planner("one_hot")
def _one_hot(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    self, classes = a
    if self.dtype is not torch.int64 or not self.numel() and classes <= 0 or self.is_cpu:
        return cpu_result(ov, a)
    if classes == -1:
        low, high = torch.aminmax(self)
        if low.item() < 0:
            raise RuntimeError("Class values must be non-negative.")
        classes = int(high.item()) + 1
        known: tuple[int, int] | None = (0, classes - 1)
    else:
        known = known_bounds(geometry(self)[0], 8)
    shape = (*self.shape, classes)
    if known is not None and 0 <= known[0] and known[1] < classes:
        index = self.unsqueeze(-1)
        nd = len(shape)
        node = expression("eq", [operand(index, shape), Coord(nd - 1)], "bool", "int64", shape)
        return result(expression("cast", [node], "int64", None, shape), torch.int64)
    r = filled(shape, torch.int64, 0)
    grid = tuple(self.shape)
    return put_at(
        r,
        grid,
        list(range(len(grid))),
        [Pick(self, self.stride(), len(grid))],
        False,
        partial(outside, "one_hot", None),
        "set",
        scalar=1,
    )
