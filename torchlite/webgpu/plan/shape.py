"""Ops that move elements to other places: cat, stack, repeat, roll, flip, triangles, diagonals.

If the result is the input read with other strides, it is a lazy expression, and later ops are fused with it. cat, stack
and roll have a kernel that chooses its input by the coordinate.
"""

from __future__ import annotations


import torchlite as torch

from ... import _C
from ..lazy.expression import Coord, Leaf, Number, assign, expression, operand, result
from .index import geometry
from .reduce import own
from ..fallback import cpu_result
from ..registry import planner
from ..tensors import contiguous, empty, filled, laid_back, laid_like
from ..lazy.stream import core, on_device, ready
from ..layout import as_on_cpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from ..._types import DType, Overload, Tensor


join, join_tensors = core.join, core.join_tensors  # native/src/gpu/gpu_index.c


def moved(t: Tensor) -> Tensor:
    """A complex tensor as one of int64, whose elements the kernels can move."""
    return t.view(torch.int64) if t.dtype.is_complex else t


def _restored(r: Tensor, dtype: DType) -> Tensor:
    return r.view(dtype) if dtype.is_complex else r


# ---- cat, stack, roll ------------------------------------------------------------------------------------------------
@planner("cat", "stack")
@as_on_cpu()
def _cat(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    tensors, dim = a
    if not tensors or not on_device(*tensors):
        return cpu_result(ov, a)
    dtype, mixed = tensors[0].dtype, False
    for t in tensors:
        if t.dtype is not dtype:
            dtype, mixed = torch.promote_types(dtype, t.dtype), True
    if mixed:
        tensors = [t if t.dtype is dtype else t.to(dtype) for t in tensors]
    r = join_tensors(tensors, dim, ov.kernel == "stack")
    return cpu_result(ov, a) if r is NotImplemented else r


def _rolled(x: Tensor, shift: int, dim: int) -> Tensor:
    buffer, shape, strides, offset, dtype, _, _ = geometry(x)
    size = shape[dim]
    shift = shift % size if size else 0
    if not shift:
        return x
    return join(
        [(buffer, strides, offset + (size - shift) * strides[dim], shift), (buffer, strides, offset, size - shift)],
        dim,
        shape,
        dtype,
    )


@planner("roll")
@as_on_cpu()
def _roll(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    self, shifts, dims = a
    shifts = (shifts,) if type(shifts) is int else tuple(shifts)
    dims = (dims,) if type(dims) is int else tuple(dims or ())
    nd = self.dim()
    flat = not dims and len(shifts) == 1
    if not shifts or not flat and (len(shifts) != len(dims) or not nd or any(not -nd <= d < nd for d in dims)):
        return cpu_result(ov, a)
    if flat:
        r = _rolled(contiguous(self).reshape(-1), shifts[0], 0)
    else:
        r = self
        for s, d in zip(shifts, dims):
            r = _rolled(r, s, d % nd)
    if geometry(r)[0] is geometry(self)[0] or not r.is_contiguous():
        copy = empty(self.shape, self.dtype)
        if r.numel():
            _C.copy(copy, r.reshape(self.shape), False)
        return copy
    return own(r.reshape(self.shape))


# ---- other strides ---------------------------------------------------------------------------------------------------
def _read_as(t: Tensor, shape: list[int] | tuple[int, ...], strides: list[int], offset: int) -> Tensor:
    """A new tensor whose elements are t's storage read with strides; lazy."""
    name = t.dtype.name
    buffer = geometry(t)[0]
    if buffer.pending is not None:
        ready(buffer)
    return result(expression("cast", [Leaf(buffer, name, tuple(strides), offset)], name, None, tuple(shape)), t.dtype)


@planner("flip")
def _flip(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    self, dims = a
    nd = self.dim()
    if any(type(d) is not int or not -max(nd, 1) <= d < max(nd, 1) for d in dims) or len(
        {d % max(nd, 1) for d in dims}
    ) != len(dims):
        return cpu_result(ov, a)
    if not self.numel():
        return empty(self.shape, self.dtype)
    like, order, back = laid_like(self)
    x = moved(like)
    _, shape, strides, offset, _, _, _ = geometry(x)
    strides = list(strides)
    for d in {order.index(d % nd) for d in dims} if nd else ():
        offset += strides[d] * (shape[d] - 1)
        strides[d] = -strides[d]
    return laid_back(_restored(_read_as(x, shape, strides, offset), self.dtype), back)


@planner("repeat")
def _repeat(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    self, repeats = a
    repeats = (repeats,) if type(repeats) is int else tuple(repeats)
    lead = len(repeats) - self.dim()
    if lead < 0 or any(r < 0 for r in repeats):
        return cpu_result(ov, a)
    x = moved(self)
    _, own, strides, offset, _, _, _ = geometry(x)
    sizes: list[int] = []
    steps: list[int] = []
    shape: list[int] = []
    for i, r in enumerate(repeats):
        n, s = (own[i - lead], strides[i - lead]) if i >= lead else (1, 0)
        sizes.extend((r, n))
        steps.extend((0, s))
        shape.append(r * n)
    if 0 in shape:
        return empty(shape, self.dtype)
    return _restored(_read_as(x, sizes, steps, offset).reshape(shape), self.dtype)


# ---- by coordinate ---------------------------------------------------------------------------------------------------
@planner("tril", "triu")
def _triangle(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    self, diagonal = a
    nd = self.dim()
    if nd < 2:
        return cpu_result(ov, a)
    if not self.numel():
        return self if ov.inplace else empty(self.shape, self.dtype)
    x = moved(self)
    shape, name = tuple(x.shape), x.dtype.name
    rows, columns = shape[-2:]
    diagonal = max(-rows, min(columns, diagonal))
    offset = expression("sub", [Coord(nd - 1), Coord(nd - 2)], "int32", "int32", shape)
    inside = expression(
        "le" if ov.kernel == "tril" else "ge", [offset, Number(diagonal, "int32")], "bool", "int32", shape
    )
    if x.dtype.is_floating_point:
        zero = Number(0.0, "float32")
    else:
        zero = Number(0, "int64" if name == "int64" else "int32")
    node = expression("where", [inside, operand(x, shape), zero], name, name, shape)
    if ov.inplace:
        assign(x, node)
        return self
    return _restored(result(node, x.dtype), self.dtype)


@planner("diag_embed")
def _diag_embed(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    self, offset, dim1, dim2 = a
    nd = self.dim() + 1
    if nd < 2 or not -nd <= dim1 < nd or not -nd <= dim2 < nd or dim1 % nd == dim2 % nd or abs(offset) > 1 << 30:
        return cpu_result(ov, a)
    dim1, dim2 = dim1 % nd, dim2 % nd
    size = self.shape[-1] + abs(offset)
    rest = list(self.shape[:-1])
    shape = [size if d in (dim1, dim2) else rest.pop(0) for d in range(nd)]
    r = filled(shape, self.dtype, 0)
    if self.numel():
        _C.copy(r.diagonal(offset, dim1, dim2), self, False)
    return r
