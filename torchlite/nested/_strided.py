"""What functions do with nested tensors of layout strided: part by part, and on views where PyTorch gives views."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import torchlite as torch

from .._core.errors import invalid_shape, several_inferred
from . import _tensor as _t
from ._ops import STRIDED, name_of, op, pointwise, refused, sizes_in

_op = functools.partial(op, STRIDED)
_PLEASE = "if you need this feature, please open an issue on github describing your use case."


def _dim(x: Any, dim: int) -> int:
    return _t.wrap_dim(dim, x.dim())


@_op("select")
def _select(func: Any, x: Any, dim: int, index: int) -> Any:
    d = _dim(x, dim)
    if d == 0:
        return x._part_at(index)
    return _t.from_views(x, [p.select(d - 1, index) for p in x._parts()])


@_op("__getitem__")
def _getitem(func: Any, x: Any, key: Any) -> Any:
    keys = key if isinstance(key, tuple) else (key,)
    if keys and isinstance(keys[0], int) and not isinstance(keys[0], bool):
        found = _select(func, x, 0, keys[0])
        return found[keys[1:]] if len(keys) > 1 else found
    if keys == (Ellipsis,):
        return x
    if keys and keys[0] is Ellipsis and len(keys) == 2 and isinstance(keys[1], int):
        return _select(func, x, -1, keys[1])
    raise refused(func, "slice.Tensor", x)


@_op("transpose", "swapaxes", "swapdims")
def _transpose(func: Any, x: Any, dim0: int, dim1: int) -> Any:
    a, b = _dim(x, dim0), _dim(x, dim1)
    if a == b:
        return x
    if 0 in (a, b):
        raise RuntimeError("Nested tensor dimension 0 cannot be transposed")
    return _t.from_views(x, [p.transpose(a - 1, b - 1) for p in x._parts()])


@_op("max", "min")
def _extreme(func: Any, x: Any, other: Any = None, *args: Any, **kwargs: Any) -> Any:
    name = name_of(func)
    if isinstance(other, torch.Tensor):
        return pointwise(func, name, (x, other, *args), kwargs)
    raise refused(func, name if other is None and not kwargs else name + ".dim", x)


@_op("mT")
def _mt(func: Any, x: Any) -> Any:
    return _transpose(func, x, -1, -2)


@_op("squeeze")
def _squeeze(func: Any, x: Any, dim: Any = None) -> Any:
    if dim is None:
        raise RuntimeError(
            "squeeze(): For nested tensors, squeeze without the dim argument is not supported at the moment, however "
            "you can use squeeze(Tensor self, int dim) instead " + _PLEASE
        )
    d = _dim(x, dim)
    if d == 0:
        raise RuntimeError(
            "squeeze(): For nested tensors, squeezing dimension 0 is not supported at the moment " + _PLEASE
        )
    if any(s[d - 1] != 1 for s in x._sizes):
        return x
    if x.dim() == 2:
        raise RuntimeError(
            "squeeze(): For nested tensors, squeezing a nested tensor of singleton tensors is not "
            "supported at the moment " + _PLEASE
        )
    return _t.from_views(x, [p.squeeze(d - 1) for p in x._parts()])


@_op("unsqueeze")
def _unsqueeze(func: Any, x: Any, dim: int) -> Any:
    d = _t.wrap_dim(dim, x.dim() + 1)
    if d == 0:
        raise RuntimeError(
            "unsqueeze(): For nested tensors, unsqueezing dimension 0 is not supported at the moment " + _PLEASE
        )
    return _t.from_views(x, [p.unsqueeze(d - 1) for p in x._parts()])


def _resized(x: Any, size: Any, name: str) -> list[tuple[int, ...]]:
    """The size that each part gets: -1 keeps it, or, once, is what is left."""
    if not size:
        raise RuntimeError("shape '[]' is invalid for a nested tensor")
    count = len(x._sizes)
    if not count:
        raise RuntimeError("empty nested tensor cannot be reshaped")
    if size[0] != count:
        raise RuntimeError("%s: For now nested %s cannot change or infer the implicit batch dimension" % (name, name))
    if len(size) == 1 < x.dim():
        raise invalid_shape(size, x.numel())
    found = []
    for own in x._sizes:
        inner = list(size[1:])
        if len(inner) > len(own) and inner.count(-1) > 1:
            raise several_inferred()
        if len(inner) >= len(own):  # -1 keeps the size of the same place
            inner = [own[d] if n == -1 and d < len(own) else n for d, n in enumerate(inner)]
        if inner.count(-1) > 1:
            raise several_inferred()
        found.append(tuple(inner))
    return found


@_op("view")
def _view(func: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], torch.dtype):
        raise refused(func, "view.dtype", x)
    size = sizes_in(args, kwargs)
    sizes = _resized(x, size, "view")
    for p, s in zip(x._parts(), sizes):
        if -1 not in s and math.prod(s) != p.numel():
            raise invalid_shape(size, math.prod(s) * len(sizes))
    return _t.from_views(x, [p.view(s) for p, s in zip(x._parts(), sizes)])


@_op("reshape")
def _reshape(func: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    sizes = _resized(x, sizes_in(args, kwargs), "reshape")
    if x._packed:
        return _t.from_views(x, [p.view(s) for p, s in zip(x._parts(), sizes)])
    return _t.from_parts([p.reshape(s) for p, s in zip(x._parts(), sizes)], x)


@_op("reshape_as")
def _reshape_as(func: Any, x: Any, other: Any) -> Any:
    return _t.from_parts([p.reshape(s) for p, s in zip(x._parts(), other._sizes)], x)


@_op("chunk")
def _chunk(func: Any, x: Any, chunks: int, dim: int = 0) -> Any:
    d = _dim(x, dim)
    if d == 0 or d != x.dim() - 1:
        raise RuntimeError("Chunk for nested tensors is currently only supported for the last dimension.")
    if chunks <= 0:
        raise RuntimeError("chunk expects `chunks` to be greater than 0, got: %d" % chunks)
    if not x._packed:
        raise RuntimeError("chunk expects `self` to be contiguous.")
    last = x.size(-1)
    if last % chunks:
        raise RuntimeError(
            "Chunk for nested tensors is only supported for nested tensors with trailing dimension divisible by "
            "chunks, got: %d %% %d != 0" % (last, chunks)
        )
    columns = zip(*(p.chunk(chunks, -1) for p in x._parts()))
    return tuple(_t.from_views(x, list(column)) for column in columns)


@_op("split_with_sizes")
def _split_with_sizes(func: Any, x: Any, split_sizes: Any, dim: int = 0) -> Any:
    d = _dim(x, dim)
    if d != x.dim() - 1:
        raise RuntimeError("split_with_sizes for nested tensors is currently only supported for the last dimension.")
    if not split_sizes:
        raise RuntimeError("split_with_sizes expects number of splits to be at least 1, got: 0")
    if not x._packed:
        raise RuntimeError("split_with_sizes expects `self` to be contiguous.")
    if sum(split_sizes) != x.size(-1):
        raise RuntimeError(
            "split_with_sizes expects split_sizes to sum exactly to %d (input tensor's size at dimension -1), but got "
            "split_sizes=%s" % (x.size(-1), list(split_sizes))
        )
    columns = zip(*(p.split(list(split_sizes), -1) for p in x._parts()))
    return tuple(_t.from_views(x, list(column)) for column in columns)


@_op("split")
def _split(func: Any, x: Any, split_size: Any, dim: int = 0) -> Any:
    if isinstance(split_size, (list, tuple)):
        return _split_with_sizes(func, x, split_size, dim)
    raise refused(func, "split.Tensor", x)


@_op("narrow")
def _narrow(func: Any, x: Any, dim: int, start: int, length: int) -> Any:
    d = _dim(x, dim)
    if d != 0:
        raise RuntimeError("narrow(): only dim=0 supported for nested tensors, but got: %d" % dim)
    if not x._packed:
        raise RuntimeError("narrow(): only contiguous nested tensors supported")
    count = len(x._sizes)
    if not -count <= start <= count:
        raise IndexError(
            "start out of range (expected to be in range of [-%d, %d], but got %d)" % (count, count, start)
        )
    start = start + count if start < 0 else start
    if length < 0 or start + length > count:
        raise RuntimeError("start (%d) + length (%d) exceeds dimension size (%d)." % (start, length, count))
    return _t.from_views(x, x._parts()[start : start + length])


@_op("cat")
def _cat(func: Any, tensors: Any, dim: int = 0) -> Any:
    if not all(t.is_nested for t in tensors):
        raise RuntimeError("cat(): expected each tensor in given list to be nested")
    if len({t.dim() for t in tensors}) > 1:
        raise RuntimeError(
            "cat(): expected all nested tensors to have matching ragged structures outside of the concatenated dim"
        )
    if any(not t._packed for t in tensors):
        raise RuntimeError("Expected each tensor in given list to be contiguous.")
    d = _dim(tensors[0], dim)
    if d == 0:
        return _t.from_parts([p for t in tensors for p in t._parts()], tensors[0])
    return _t.from_parts([torch.cat(column, d - 1) for column in zip(*(t._parts() for t in tensors))], tensors[0])


@_op("sum")
def _sum(func: Any, x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dim is None or isinstance(dim, (list, tuple)) and not dim:
        raise refused(func, "sum", x)
    dims = dim if isinstance(dim, (list, tuple)) else [dim]
    if len(dims) != 1:
        raise RuntimeError("NestedTensor only allows reduction of a single dimension for now.")
    d = _dim(x, dims[0])
    if d != x.dim() - 1:
        raise RuntimeError(
            "NestedTensor can only be reduced across the last dimension for now got dimension %d instead." % dims[0]
        )
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    if not x._packed:
        raise RuntimeError("NestedTensor must be contiguous to get buffer.")
    return _t.from_parts([p.sum(-1, keepdim=True, dtype=dtype) for p in x._parts()], x)


@_op("to_dense")
def _to_dense(func: Any, x: Any, dtype: Any = None, *, masked_grad: Any = None) -> Any:
    return x if dtype is None else x.to(dtype)


@_op("_nested_tensor_size", "_nested_tensor_strides", "_nested_tensor_storage_offsets")
def _table(func: Any, x: Any) -> Any:
    return operator.methodcaller(name_of(func))(x)
