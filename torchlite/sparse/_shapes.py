"""Ops of COO tensors that move, choose or join: transpose, select, index_select, narrow, cat and their relatives."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from .. import _C
from ._table import op, replace
from ._tensor import coo, is_coo, parts


@op("transpose.int")
def transpose(x: Any, dim0: int, dim1: int) -> Any:
    indices, values = parts(x)
    n = indices.shape[0]
    a, b = sorted((_dim(dim0, x), _dim(dim1, x)))
    size = list(x.shape)
    size[a], size[b] = size[b], size[a]
    if a == b:
        return coo(indices, values, size, x._sorted)
    if b < n:
        order = list(range(n))
        order[a], order[b] = order[b], order[a]
        return coo(indices[order], values, size)
    if a >= n:
        return coo(indices, values.transpose(a - n + 1, b - n + 1), size, x._sorted)
    raise RuntimeError("transpose: can't transpose between sparse and dense dimensions. Got dims %d, %d" % (a, b))


op("t")(lambda x: transpose(x, 0, x.dim() - 1) if x.dim() > 1 else coo(*parts(x), x.shape, x._sorted))


@op("transpose_")
def transpose_(x: Any, dim0: int, dim1: int) -> Any:
    if x.shape[dim0] != x.shape[dim1]:
        raise NotImplementedError("transpose_(): torchlite keeps the size of a sparse tensor; use transpose()")
    return replace(x, transpose(x, dim0, dim1))


@op("permute")
def permute(x: Any, dims: Any) -> Any:
    indices, values = parts(x)
    n = indices.shape[0]
    dims = [_dim(d, x) for d in dims]
    if len(dims) != x.dim():
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            "ordering of dimensions i.e. input.dim() = %d is not equal to len(dims) = %d" % (x.dim(), len(dims))
        )
    if sorted(dims[:n]) != list(range(n)):
        raise RuntimeError(
            "permute(sparse_coo): cannot permute between sparse and dense dimensions; got dims %s" % (dims,)
        )
    values = values.permute(0, *(d - n + 1 for d in dims[n:]))
    return coo(indices[dims[:n]], values, [x.shape[d] for d in dims], x._sorted and dims[:n] == list(range(n)))


@op("unsqueeze")
def unsqueeze(x: Any, dim: int) -> Any:
    indices, values = parts(x)
    n = indices.shape[0]
    dim = dim % (x.dim() + 1)
    size = (*x.shape[:dim], 1, *x.shape[dim:])
    if dim <= n:
        zeros = indices.new_zeros((1, indices.shape[1]))
        return coo(torch.cat((indices[:dim], zeros, indices[dim:])), values, size, x._sorted)
    return coo(indices, values.unsqueeze(dim - n + 1), size, x._sorted)


@op("squeeze", "squeeze.dim")
def squeeze(x: Any, dim: Any = None) -> Any:
    indices, values = parts(x)
    n = indices.shape[0]
    gone = [d for d in range(x.dim()) if x.shape[d] == 1 and (dim is None or d == dim % x.dim())]
    values = values.reshape(values.shape[0], *(k for d, k in enumerate(x.shape) if d >= n and d not in gone))
    left = [d for d in range(n) if d not in gone]
    return coo(indices[left], values, [k for d, k in enumerate(x.shape) if d not in gone], x._sorted)


@op("select.int", "select")
def select(x: Any, dim: int, index: int) -> Any:
    """One place of a dim: dense where that was the only sparse dim."""
    dim = _dim(dim, x)
    extent = x.shape[dim]
    if not -extent <= index < extent:
        raise IndexError(
            "select(): index %d out of range for tensor of size %s at dimension %d" % (index, list(x.shape), dim)
        )
    index %= extent
    indices, values = parts(x)
    n = indices.shape[0]
    size = (*x.shape[:dim], *x.shape[dim + 1 :])
    if dim >= n:
        return coo(indices, values.select(dim - n + 1, index), size, x._sorted)
    here = indices[dim] == index
    if n == 1:
        return values[here].sum(0)
    rest = [d for d in range(n) if d != dim]
    return coo(indices[rest][:, here], values[here], size, x._sorted)


@op("index_select")
def index_select(x: Any, dim: int, index: Any) -> Any:
    dim = _dim(dim, x)
    indices, values = parts(x)
    n = indices.shape[0]
    if index.dim() != 1 or index.dtype is not torch.int64:
        raise RuntimeError("index_select(): index should be a 1-D LongTensor")
    extent = x.shape[dim]
    if index.numel() and not (-extent <= int(index.min()) and int(index.max()) < extent):
        raise IndexError(
            "index_select(): index contains an index out of range for tensor of size %s at dimension %d"
            % (list(x.shape), dim)
        )
    index = torch.where(index < 0, index + extent, index)
    size = (*x.shape[:dim], index.shape[0], *x.shape[dim + 1 :])
    if dim >= n:
        return coo(indices, values.index_select(dim - n + 1, index), size, x._sorted)
    order = torch.argsort(indices[dim], stable=True)
    counts = torch.bincount(indices[dim], minlength=extent)
    first = (counts.cumsum(0) - counts)[index]
    found = counts[index]
    place = torch.repeat_interleave(torch.arange(index.shape[0], device=index.device), found)
    inner = torch.arange(place.shape[0], device=index.device) - (found.cumsum(0) - found)[place]
    at = order[first[place] + inner]
    rows = [place if d == dim else indices[d][at] for d in range(n)]
    return coo(torch.stack(rows), values[at], size, x._sorted and dim == 0)


@op("narrow_copy", "narrow", "slice.Tensor")
def narrow(x: Any, dim: int = 0, start: Any = 0, end: Any = None, step: int = 1, *, length: Any = None) -> Any:
    dim = _dim(dim, x)
    extent = x.shape[dim]
    start, end, _ = slice(start, end).indices(extent)
    chosen = torch.arange(start, max(end, start), step, device=x.device)
    return index_select(x, dim, chosen)


op("narrow_copy", "narrow")(lambda x, dim, start, length: narrow(x, dim, start, start + length))


@op("unbind.int")
def unbind(x: Any, dim: int = 0) -> Any:
    return tuple(select(x, dim, i) for i in range(x.shape[dim]))


@op("cat")
def cat(tensors: Any, dim: int = 0) -> Any:
    tensors = list(tensors)
    if not all(map(is_coo, tensors)):
        raise RuntimeError("Concatenating sparse tensors, but a dense tensor was found among the arguments")
    first = tensors[0]
    dim, n = _dim(dim, first), parts(first)[0].shape[0]
    for i, t in enumerate(tensors):
        if (
            t.dim() != first.dim()
            or parts(t)[0].shape[0] != n
            or any(a != b for d, (a, b) in enumerate(zip(t.shape, first.shape)) if d != dim)
        ):
            raise RuntimeError(
                "All tensors must have the same shape: %s (except in the concatenating dimension), but tensor %d has "
                "shape: %s" % (list(first.shape), i, list(t.shape))
            )
    size = [*first.shape]
    size[dim] = sum(t.shape[dim] for t in tensors)
    indices, values, start = [], [], 0
    for t in tensors:
        own, numbers = parts(t)
        if dim < n:
            own = own.clone()
            own[dim] += start
        else:
            before = numbers.new_zeros((*numbers.shape[: dim - n + 1], start, *numbers.shape[dim - n + 2 :]))
            after = numbers.new_zeros(
                (*numbers.shape[: dim - n + 1], size[dim] - start - t.shape[dim], *numbers.shape[dim - n + 2 :])
            )
            numbers = torch.cat((before, numbers, after), dim - n + 1)
        indices.append(own)
        values.append(numbers)
        start += t.shape[dim]
    return coo(torch.cat(indices, 1), torch.cat(values), size)


@op("stack")
def stack(tensors: Any, dim: int = 0) -> Any:
    return cat([unsqueeze(t, dim) for t in tensors], dim % (tensors[0].dim() + 1))


@op("_values")
def values_of(x: Any) -> Any:
    return parts(x)[1]


@op("_indices")
def indices_of(x: Any) -> Any:
    return parts(x)[0]


def _dim(dim: int, x: Any) -> int:
    return _C.wrap_dim(dim, x.dim())
