"""What operators do with compressed tensors: products go through COO, element-wise ops work on the values."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from . import _products, _tensor as _t
from ._compressed import BLOCKS, ROWS, batch_dims, block_of, convert, to_coo, to_dense
from ._tensor import compressed, is_compressed, is_coo

COMPRESSED_TABLE: dict[str, Any] = {}


def _op(*names: str) -> Any:
    def register(fn: Any) -> Any:
        COMPRESSED_TABLE.update(dict.fromkeys(names, fn))
        return fn

    return register


def _with(x: Any, values: Any) -> Any:
    heads, others, _ = x._parts
    return compressed(x.layout, heads, others, values, x.shape)


def _same(a: Any, b: Any) -> bool:
    return a.layout is b.layout and all(p.equal(q) for p, q in zip(a._parts[:2], b._parts[:2]))


@_op("detach", "alias")
def _detach(x: Any) -> Any:
    return _with(x, x._parts[2])


@_op("clone")
def _clone(x: Any, memory_format: Any = None) -> Any:
    heads, others, values = (p.clone() for p in x._parts)
    return compressed(x.layout, heads, others, values, x.shape)


@_op("_to_copy")
def _to_copy(x: Any, dtype: Any = None, device: Any = None, layout: Any = None, **kwargs: Any) -> Any:
    if layout is torch.strided:
        return to_dense(x).to(dtype=dtype or x.dtype, device=device)
    heads, others, values = x._parts
    where = x.device if device is None else device
    values = values.to(device=where, dtype=dtype or x.dtype, copy=True)
    return compressed(x.layout, heads.to(where), others.to(where), values, x.shape)


@_op("copy_")
def _copy_(x: Any, source: Any, non_blocking: bool = False) -> Any:
    if not is_compressed(source) or not _same(x, source):
        if source.layout is not x.layout:
            raise RuntimeError(
                "torch.copy_: copy of sparse compressed tensors having different layouts is not supported. self layout "
                "is %s and src layout is %s" % (_t.layout_name(x.layout), _t.layout_name(source.layout))
            )
        if x._parts[2].shape != source._parts[2].shape or x._parts[0].shape != source._parts[0].shape:
            raise RuntimeError(
                "torch.copy_: only sparse compressed tensors with the same number of specified elements are supported."
            )
        index = x._parts[0].dtype
        x._parts = (*(p.to(index, copy=True) for p in source._parts[:2]), x._parts[2])
    x._parts[2].copy_(source._parts[2])
    return x


def _other_layout(x: Any, layout: Any) -> RuntimeError:
    return RuntimeError(
        "empty_like with different sparse layout is not supported (self is %s but you requested %s)"
        % (_t.layout_name(x.layout), _t.layout_name(layout))
    )


@_op("empty_like")
def empty_like(x: Any, dtype: Any = None, device: Any = None, layout: Any = None, **kwargs: Any) -> Any:
    """A tensor with the same indices, whose values are not set."""
    if layout not in (None, x.layout):
        raise _other_layout(x, layout)
    heads, others, values = x._parts
    where = x.device if device is None else device
    values = torch.empty_like(values, dtype=dtype or x.dtype, device=where)
    return compressed(x.layout, heads.to(where, copy=True), others.to(where, copy=True), values, x.shape)


@_op("zeros_like")
def zeros_like(x: Any, dtype: Any = None, device: Any = None, layout: Any = None, **kwargs: Any) -> Any:
    """A tensor without values, of the same or another compressed layout."""
    layout = layout or x.layout
    if layout is torch.strided:
        raise _other_layout(x, layout)
    if layout in BLOCKS and x.layout not in BLOCKS:
        raise RuntimeError("sparse_compressed_tensor_with_dims: blocksize needs to be a tuple of size 2, but got 0")
    n = batch_dims(x)
    block = block_of(x) if layout in BLOCKS else ()
    rows = layout in ROWS
    count = x.shape[n] // (block or (1, 1))[0] if rows else x.shape[n + 1] // (block or (1, 1))[1]
    where = x.device if device is None else device
    heads = torch.zeros((*x.shape[:n], count + 1), dtype=x._parts[0].dtype, device=where)
    none = heads.new_zeros((*x.shape[:n], 0))
    values = torch.zeros((*x.shape[:n], 0, *block, *x.shape[n + 2 :]), dtype=dtype or x.dtype, device=where)
    return compressed(layout, heads, none, values, x.shape)


@_op("add.Tensor", "sub.Tensor")
def _add(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    if _t.is_number(y):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if is_compressed(x) and is_compressed(y):
        if _same(x, y):
            return _with(x, torch.add(x._parts[2], y._parts[2], alpha=alpha))
        return convert(
            torch.add(to_coo(x), to_coo(y), alpha=alpha), x.layout, block_of(x) if x.layout in BLOCKS else None
        )
    if is_compressed(x):
        return torch.add(to_dense(x), y, alpha=alpha)
    return torch.add(x, to_coo(y), alpha=alpha)


COMPRESSED_TABLE["sub.Tensor"] = lambda x, y, alpha=1: _add(x, y, alpha=-alpha)


@_op("add_.Tensor")
def _add_(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    x._parts = tuple(p.to(q.dtype) for p, q in zip(_add(x, y, alpha=alpha)._parts, x._parts))
    return x


@_op("mul.Tensor")
def _mul(x: Any, y: Any) -> Any:
    if not is_compressed(x):
        x, y = y, x
    if _t.is_number(y) or y.dim() == 0:
        return _with(x, x._parts[2] * y)
    if is_compressed(y) and _same(x, y):
        return _with(x, x._parts[2] * y._parts[2])
    y = to_coo(y) if is_compressed(y) else y
    return convert(to_coo(x) * y, x.layout, block_of(x) if x.layout in BLOCKS else None)


@_op("div.Tensor", "div.Scalar")
def _div(x: Any, y: Any) -> Any:
    return _with(x, x._parts[2] / y)


def _through_coo(fn: Any) -> Any:
    """The same function of COO tensors; a matrix that comes out sparse gets the layout of the first argument."""

    def call(*args: Any, **kwargs: Any) -> Any:
        layout = next(a.layout for a in args if isinstance(a, torch.Tensor) and is_compressed(a))
        made = fn(*(to_coo(a) if isinstance(a, torch.Tensor) and is_compressed(a) else a for a in args), **kwargs)
        return convert(made, layout) if is_coo(made) and layout not in BLOCKS and made.dim() == 2 else made

    return call


@_op("mm")
def _mm(a: Any, b: Any) -> Any:
    if a.dim() == b.dim() == 2:
        if a.shape[1] != b.shape[0]:
            raise _products.not_multiplied(a, b)
        if a.layout is torch.sparse_csr and b.layout is torch.strided and a.dtype is b.dtype:
            heads, columns, values = a._parts
            rows = torch.repeat_interleave(heads.diff())
            return _products.sum_rows(b, columns, rows, values, a.shape[0])
    return _mm_of_coo(a, b)


_mm_of_coo = _through_coo(_products.mm)
_op("mv")(_through_coo(_products.mv))
_op("addmm")(_through_coo(_products.addmm))
_op("sum.dim_IntList")(_through_coo(_products.sum_dims))


@_op("sum")
def _sum(x: Any, *, dtype: Any = None) -> Any:
    return x._parts[2].sum(dtype=dtype)


@_op("transpose.int")
def _transpose(x: Any, dim0: int, dim1: int) -> Any:
    dim0, dim1 = (torch._C.wrap_dim(d, x.dim()) for d in (dim0, dim1))
    if dim0 == dim1:
        return x
    n = batch_dims(x)
    kind0, kind1 = (("Batch", "Sparse", "Dense")[(n <= d) + (n + 2 <= d)] for d in (dim0, dim1))
    if kind0 != kind1:
        raise RuntimeError(
            "transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got %d(%s) and %d(%s)"
            % (dim0, kind0, dim1, kind1)
        )
    size = list(x.shape)
    size[dim0], size[dim1] = size[dim1], size[dim0]
    heads, others, values = x._parts
    if kind0 == "Batch":
        heads, others, values = (p.transpose(dim0, dim1) for p in x._parts)
        return compressed(x.layout, heads, others, values, size)
    if kind0 == "Dense":
        shift = 2 * (x.layout in BLOCKS) - 1  # where the values have them
        return compressed(x.layout, heads, others, values.transpose(dim0 + shift, dim1 + shift), size)
    other = {
        torch.sparse_csr: torch.sparse_csc,
        torch.sparse_csc: torch.sparse_csr,
        torch.sparse_bsr: torch.sparse_bsc,
        torch.sparse_bsc: torch.sparse_bsr,
    }[x.layout]
    if x.layout in BLOCKS:
        values = values.transpose(n + 1, n + 2)
    return compressed(other, heads, others, values, size)


COMPRESSED_TABLE["t"] = lambda x: _transpose(x, 0, 1)


@_op("mul_.Tensor")
def _mul_(x: Any, y: Any) -> Any:
    x._parts = (*x._parts[:2], _mul(x, y)._parts[2].to(x.dtype))
    return x


@_op("fill_.Scalar")
def _fill_(x: Any, value: Any) -> Any:
    x._parts[2].fill_(value)
    return x


@_op("zero_")
def _zero_(x: Any) -> Any:
    """No element is left, as in PyTorch."""
    x._parts = zeros_like(x)._parts
    return x


def _values_like(fill: Any) -> Any:
    """torch.randn_like and so on, of the values: the indices stay."""

    def call(x: Any, *args: Any, dtype: Any = None, device: Any = None, **kwargs: Any) -> Any:
        return _with(x, fill(x._parts[2], *args, dtype=dtype, device=device))

    return call


for _name in ("randn_like", "rand_like", "ones_like", "full_like"):
    _op(_name)(_values_like(getattr(torch, _name)))


def _selects(name: str) -> Any:
    def select(x: Any, dim: int, index: int) -> Any:
        """A batch or dense dim keeps the layout; a row or column of a single matrix is a COO tensor."""
        dim, batch = dim % x.dim(), batch_dims(x)
        heads, others, values = x._parts
        size = [k for d, k in enumerate(x.shape) if d != dim]
        if dim < batch:
            heads, others, values = (p.select(dim, index) for p in x._parts)
        elif dim >= batch + 2:
            values = values.select(dim - 1 + 2 * (x.layout in BLOCKS), index)
        elif batch:
            raise RuntimeError(
                "%s(): selecting sparse dimensions is not supported for batched sparse compressed tensors." % name
            )
        else:
            return to_coo(x).select(dim, index)
        return compressed(x.layout, heads, others, values, size)

    return select


for _name in ("select", "select_copy"):
    _op(_name + ".int")(_selects(_name))


@_op("linalg_vector_norm")
def _norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return torch.linalg.vector_norm(x._parts[2], ord, dtype=dtype)


@_op("equal")
def _equal(x: Any, y: Any) -> bool:
    return is_compressed(y) and x.shape == y.shape and _same(x, y) and x._parts[2].equal(y._parts[2])
