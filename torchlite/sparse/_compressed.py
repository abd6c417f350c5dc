"""Tensors of the layouts CSR, CSC, BSR and BSC: conversions, values, masks."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from . import _tensor as _t
from ._tensor import SparseTensor, compressed, coo, is_compressed, is_coo, parts

ROWS = (torch.sparse_csr, torch.sparse_bsr)
BLOCKS = (torch.sparse_bsr, torch.sparse_bsc)


def batch_dims(x: Any) -> int:
    """How many dims in front of the matrices."""
    return x._parts[0].dim() - 1


def dense_dims(x: Any) -> int:
    """How many dims each value, or each element of a block, has."""
    return x.dim() - 2 - batch_dims(x)


def values_of(x: Any) -> Any:
    """x.values(); gradients flow through."""
    if not x.requires_grad or not torch.is_grad_enabled():
        return x._parts[2].detach()
    return Values.apply(x)


class Values(torch.autograd.Function):
    """The values of a compressed tensor."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mask = x.detach()
        return x._parts[2].detach()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        from ._autograd import FromCompressed

        heads, others, _ = ctx.mask._parts
        return FromCompressed.apply(ctx.mask.layout, heads, others, g, ctx.mask.shape)


def block_of(x: Any) -> tuple[int, int]:
    """Rows and columns of a block; (1, 1) where the layout has none."""
    n = batch_dims(x)
    rows, columns = x._parts[2].shape[n + 1 : n + 3] if x.layout in BLOCKS else (1, 1)
    return rows, columns


def _each(x: Any) -> list[Any]:
    """The matrices of a batch, in order; the tensor itself where there is no batch."""
    if not batch_dims(x):
        return [x]
    heads, others, values = (p.flatten(0, batch_dims(x) - 1) for p in x._parts)
    size = x.shape[batch_dims(x) :]
    return [compressed(x.layout, *three, size) for three in zip(heads, others, values)]


def places_of(x: Any) -> Any:
    """(2, nnz): row and column of each value, or of each block, of one matrix."""
    heads, others, _ = x._parts
    counts = heads[1:] - heads[:-1]
    own = torch.repeat_interleave(torch.arange(counts.shape[0], device=heads.device), counts.to(torch.int64))
    pair = (own, others.to(torch.int64))
    return torch.stack(pair if x.layout in ROWS else pair[::-1])


def to_coo(x: Any, sort: bool = True) -> Any:
    """The COO tensor of the same elements; a batch's dims become sparse ones. sort: in order of the rows."""
    rows = x.layout is torch.sparse_csr
    if batch_dims(x):
        n = batch_dims(x)
        batch = x.shape[:n]
        found = [to_coo(m, sort) for m in _each(x)]
        indices = []
        for i, m in enumerate(found):
            at = torch.tensor([i], device=x.device)
            head = _t.unflatten(at, batch).expand(n, parts(m)[0].shape[1])
            indices.append(torch.cat((head, parts(m)[0])))
        return coo(torch.cat(indices, 1), torch.cat([parts(m)[1] for m in found]), x.shape, sort or rows)
    places, values = places_of(x), x._parts[2]
    height, width = block_of(x)
    if x.layout in BLOCKS:
        inner = torch.stack(
            torch.meshgrid(torch.arange(height, device=x.device), torch.arange(width, device=x.device), indexing="ij")
        )
        scale = torch.tensor([[height], [width]], device=x.device)
        places = (places * scale).reshape(2, -1, 1, 1) + inner.reshape(2, 1, height, width)
        places, values = places.reshape(2, -1), values.reshape(-1, *values.shape[3:])
    if not sort:
        return coo(places, values, x.shape, rows)
    order = torch.argsort(_t.flatten(places, x.shape), stable=True)
    return coo(places[:, order], values[order], x.shape, True)


def as_it_lies(x: Any) -> Any:
    """to_coo, with the elements in the order of the compressed tensor."""
    return to_coo(x, False)


def check_conversion(x: Any, layout: Any, blocksize: Any) -> None:
    """PyTorch's errors for what it does not convert a compressed tensor to."""
    who = "to_sparse" if x.layout is layout else "sparse_compressed_to_sparse"
    names = _t.layout_name(x.layout), _t.layout_name(layout)

    def refuse(why: str) -> RuntimeError:
        return RuntimeError("%s: conversion from %s to %s %s is not supported" % (who, *names, why))

    if layout not in BLOCKS:
        if blocksize is not None:
            raise refuse("with blocksize argument given")
        if x.layout in BLOCKS and layout in (torch.sparse_csr, torch.sparse_csc):
            short = str(layout).removeprefix("torch.")
            raise RuntimeError(
                "sparse_compressed_to_%s: expected SparseCsr or SparseCsc layout but got %s" % (short, names[0])
            )
        return
    if batch_dims(x) and x.layout not in BLOCKS:
        raise refuse("for batched inputs")
    if blocksize is None:
        raise refuse("without blocksize argument given")
    if x.layout in BLOCKS and tuple(blocksize) != block_of(x):
        raise refuse("with blocksize changed from %s to %s" % (list(block_of(x)), list(blocksize)))


def to_dense(x: Any) -> Any:
    """The dense tensor of a sparse one of any layout."""
    return _t.dense(x if is_coo(x) else to_coo(x))


def convert(x: Any, layout: Any, blocksize: Any = None, dense_dim: Any = None) -> Any:
    """A tensor of any layout as a compressed one."""
    from ._autograd import ConvertLayout

    if layout not in (*ROWS, torch.sparse_csc, torch.sparse_bsc):
        raise RuntimeError("to_sparse: unsupported layout %s" % layout)
    blocks = layout in BLOCKS
    if blocks and blocksize is None:
        raise RuntimeError(
            "to_sparse for %s to %s conversion requires blocksize" % (_t.layout_name(x.layout), _t.layout_name(layout))
        )
    if not blocks and blocksize is not None and not is_compressed(x):
        raise RuntimeError(
            "to_sparse for %s to %s conversion does not use specified blocksize"
            % (_t.layout_name(x.layout), _t.layout_name(layout))
        )
    if x.layout is layout and (not blocks or tuple(blocksize) == block_of(x)):
        return x
    if is_coo(x) and parts(x)[0].shape[0] != 2:
        raise RuntimeError(
            "conversion from Sparse to %s for input tensors with sparse_dim()!=2 is not supported"
            % _t.layout_name(layout)
        )
    if x.dim() < 2:
        raise RuntimeError(
            "to_sparse: conversion of a tensor with %d dimensions to %s is not supported"
            % (x.dim(), _t.layout_name(layout))
        )

    def step(t: Any) -> Any:
        made = _convert(t, layout, tuple(blocksize) if blocks else (1, 1), dense_dim or 0)
        if is_compressed(t) and t._parts[0].dtype is torch.int32:
            heads, others, values = made._parts
            return compressed(layout, heads.int(), others.int(), values, made.shape)
        return made

    if x.requires_grad and torch.is_grad_enabled():
        return ConvertLayout.apply(x, step)
    return step(x.detach())


def _convert(x: Any, layout: Any, block: tuple[int, int], inner: int) -> Any:
    values: Any
    batch = x.dim() - 2 - inner
    if isinstance(x, SparseTensor):
        batch = 0 if is_coo(x) else batch_dims(x)
    if batch:
        matrices = _each(x) if is_compressed(x) else x.flatten(0, batch - 1)  # a COO tensor has none: batch is 0
        found = [_convert(m, layout, block, inner) for m in matrices]
        if len({m._parts[1].shape[0] for m in found}) > 1:
            raise RuntimeError("Expect the same number of specified elements per batch.")
        heads, others, values = (torch.stack(p).unflatten(0, x.shape[:batch]) for p in zip(*(m._parts for m in found)))
        return compressed(layout, heads, others, values, x.shape)
    height, width = block
    if min(block) <= 0:
        raise RuntimeError(
            "dense_to_%s: blocksize needs to be positive, but got %s"
            % (str(layout).removeprefix("torch."), list(block))
        )
    if x.shape[0] % height or x.shape[1] % width:
        raise RuntimeError(
            "tensor sparse size (%d, %d) must be divisible by given blocksize (%d, %d)"
            % (x.shape[0], x.shape[1], height, width)
        )
    rows = layout in ROWS
    if layout in BLOCKS:
        dense = x if x.layout is torch.strided else to_dense(x)
        tiles = dense.reshape(x.shape[0] // height, height, x.shape[1] // width, width, *x.shape[2:]).transpose(1, 2)
        used = (tiles != 0).flatten(2).any(-1)
        places = used.nonzero().t()
        values = tiles[tuple(places)]
    else:
        if is_compressed(x):
            x = to_coo(x)
        made = _t.coalesced(x) if is_coo(x) else _t.from_dense(x, 2)
        places, values = parts(made)
    own, others = (places[0], places[1]) if rows else (places[1], places[0])
    if not rows:
        order = torch.argsort(own, stable=True)
        own, others, values = own[order], others[order], values[order]
    count = x.shape[0] // height if rows else x.shape[1] // width
    heads = torch.zeros(count + 1, dtype=torch.int64, device=values.device)
    heads[1:] = torch.bincount(own, minlength=count).cumsum(0)
    return compressed(layout, heads, others.contiguous(), values.contiguous(), x.shape)


def resize_as(x: Any, template: Any) -> Any:
    """Gives x, in place, the indices of another compressed tensor of its shape; new values are not set."""
    if not is_compressed(template):
        raise RuntimeError(
            "resize_as_sparse_compressed_: src  expected sparse compressed tensor layout but got %s"
            % _t.layout_name(template.layout)
        )
    if template.layout is not x.layout:
        raise RuntimeError(
            "resize_as_sparse_compressed_tensor_: self and src must have the same layout, but got: self (%s) and "
            "source (%s)" % (_t.layout_name(x.layout), _t.layout_name(template.layout))
        )
    if x.shape != template.shape:
        raise NotImplementedError(
            "resize_as_sparse_(): torchlite does not change the size of a sparse tensor in place; clone the other one"
        )
    index, values = x._parts[0].dtype, template._parts[2]
    kept = x._parts[2]
    if kept.shape != values.shape:
        kept = torch.empty_like(values, dtype=x.dtype, device=x.device)
    heads, others = (p.to(index, copy=True) for p in template._parts[:2])
    x._parts = (heads, others, kept)
    return x


# ---- masks -----------------------------------------------------------------------------------------------------------
def values_at(g: Any, mask: Any) -> Any:
    """The values of a gradient of any layout where a compressed tensor has its own."""
    if is_compressed(g) and g.layout is mask.layout and all(a.equal(b) for a, b in zip(g._parts[:2], mask._parts[:2])):
        return values_of(g)
    dense = g if g.layout is torch.strided else g.to_dense()
    n = batch_dims(mask)
    height, width = block_of(mask)
    flat = dense.flatten(0, n - 1) if n else dense.unsqueeze(0)
    found = []
    for matrix, one in zip(_each(mask), flat):
        places = places_of(matrix)
        if mask.layout in BLOCKS:
            one = one.reshape(one.shape[0] // height, height, one.shape[1] // width, width, *one.shape[2:])
            one = one.transpose(1, 2)
        found.append(one[tuple(places)])
    return torch.stack(found).reshape(mask._parts[2].shape)


def mask_like(g: Any, mask: Any) -> Any:
    """A gradient as a tensor of the layout and the indices of `mask`."""
    from ._autograd import FromCompressed

    if is_coo(mask):
        return g.sparse_mask(mask)
    heads, others, _ = mask._parts
    values = values_at(g, mask)
    if values.requires_grad and torch.is_grad_enabled():
        return FromCompressed.apply(mask.layout, heads, others, values, mask.shape)
    return compressed(mask.layout, heads, others, values.detach(), mask.shape)
