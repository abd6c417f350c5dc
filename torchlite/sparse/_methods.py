"""Bodies of Tensor's methods about sparse layouts; the first argument is the tensor, dense or sparse."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from . import _autograd, _compressed, _tensor as _t
from ._build import check_dims
from ._tensor import is_compressed, is_coo, parts


def _of_backend(name: str, x: Any) -> NotImplementedError:
    return NotImplementedError(
        "Could not run 'aten::%s' with arguments from the '%sCPU' backend. It is for sparse COO tensors; "
        "Tensor.to_sparse() makes one." % (name, "SparseCsr" if is_compressed(x) else "")
    )


def _need(name: str, x: Any) -> None:
    if not is_coo(x):
        raise _of_backend(name, x)


def sparse_dim(x: Any) -> int:
    """How many dims the indices have; 0 of a dense tensor."""
    if is_coo(x):
        return parts(x)[0].shape[0]
    return 2 if is_compressed(x) else 0


def dense_dim(x: Any) -> int:
    """How many dims each value has; all of a dense tensor."""
    if is_compressed(x):
        return _compressed.dense_dims(x)
    return parts(x)[1].dim() - 1 if is_coo(x) else x.dim()


def _dimI(x: Any) -> int:
    _need("_dimI", x)
    return sparse_dim(x)


def _dimV(x: Any) -> int:
    _need("_dimV", x)
    return dense_dim(x)


def _nnz(x: Any) -> int:
    """How many values there are, those that could be added up counted each."""
    if is_compressed(x):
        return x._parts[1].shape[-1]
    _need("_nnz", x)
    return parts(x)[1].shape[0]


def _indices(x: Any) -> Any:
    _need("_indices", x)
    return parts(x)[0]


def _values(x: Any) -> Any:
    """The values without autograd."""
    _need("_values", x)
    return parts(x)[1]


def _coalesced_(x: Any, coalesced: bool) -> Any:
    """Says that the indices are sorted and unique, without looking."""
    _need("_coalesced_", x)
    x._sorted = bool(coalesced)
    return x


def _coo_only(name: str, x: Any) -> None:
    if not is_coo(x):
        raise RuntimeError("%s expected sparse coordinate tensor layout but got %s" % (name, _t.layout_name(x.layout)))


def is_coalesced(x: Any) -> bool:
    _coo_only("is_coalesced", x)
    return x._sorted


def coalesce(x: Any) -> Any:
    """Each index once, sorted; values of the same index are added up."""
    _coo_only("coalesce", x)
    if x._sorted:
        return x
    return _autograd.Coalesce.apply(x) if _records(x) else _t.coalesced(x)


def _records(x: Any) -> bool:
    return x.requires_grad and torch.is_grad_enabled()


def values(x: Any) -> Any:
    """The values (nnz, *dense sizes) of a coalesced or compressed tensor; gradients flow through."""
    if is_compressed(x):
        return _compressed.values_of(x)
    if not is_coo(x):
        raise RuntimeError("values expected sparse tensor layout but got Strided")
    if not x._sorted:
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    return _autograd.Values.apply(x) if _records(x) else parts(x)[1].detach()


def indices(x: Any) -> Any:
    """The indices (sparse dims, nnz) of a coalesced tensor."""
    _coo_only("indices", x)
    if not x._sorted:
        raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
    return parts(x)[0].detach()


def _compressed_part(name: str, kind: str, layouts: tuple[Any, ...], at: int) -> Any:
    def method(x: Any) -> Any:
        if x.layout not in layouts:
            raise RuntimeError(
                "%s expected sparse %s compressed tensor layout but got %s" % (name, kind, _t.layout_name(x.layout))
            )
        return x._parts[at].detach()

    return method


_ROWS, _COLUMNS = (torch.sparse_csr, torch.sparse_bsr), (torch.sparse_csc, torch.sparse_bsc)
crow_indices = _compressed_part("crow_indices", "row", _ROWS, 0)
col_indices = _compressed_part("col_indices", "row", _ROWS, 1)
ccol_indices = _compressed_part("ccol_indices", "column", _COLUMNS, 0)
row_indices = _compressed_part("row_indices", "column", _COLUMNS, 1)


# ---- conversions -----------------------------------------------------------------------------------------------------
def to_dense(x: Any, dtype: Any = None, *, masked_grad: Any = None) -> Any:
    """A dense tensor. masked_grad=False: the gradient keeps what is outside of the indices."""
    if is_compressed(x):
        made = _autograd.ConvertLayout.apply(x, _compressed.to_dense) if _records(x) else _compressed.to_dense(x)
        return made if dtype is None else made.to(dtype)
    if not is_coo(x):
        return x if dtype is None else x.to(dtype)
    if _records(x):
        return _autograd.ToDense.apply(x, dtype, masked_grad)
    made = _t.dense(x)
    return made if dtype is None else made.to(dtype)


def _to_dense(x: Any, dtype: Any = None, masked_grad: Any = None) -> Any:
    return to_dense(x, dtype, masked_grad=masked_grad)


def to_sparse(
    x: Any, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: Any = None
) -> Any:
    """A COO tensor, or one of another sparse layout. sparse_dim: how many of the first dims the indices have."""
    if isinstance(sparse_dim, type(torch.strided)):
        layout, sparse_dim = sparse_dim, None
    if is_compressed(x):
        if sparse_dim not in (None, 2):
            raise RuntimeError(
                "sparse_compressed_to_sparse: conversion from %s to Sparse with sparse_dim argument !=2 is not "
                "supported" % _t.layout_name(x.layout)
            )
        _compressed.check_conversion(x, torch.sparse_coo if layout is None else layout, blocksize)
    if layout not in (None, torch.sparse_coo):
        if layout is torch.strided:
            return to_dense(x)
        return _compressed.convert(x, layout, blocksize, dense_dim)
    if is_coo(x):
        if sparse_dim not in (None, parts(x)[0].shape[0]):
            raise RuntimeError(
                "to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is not "
                "supported"
            )
        return x
    if is_compressed(x):
        turn = _compressed.as_it_lies
        return _autograd.ConvertLayout.apply(x, turn) if _records(x) else turn(x)
    if dense_dim is not None and sparse_dim is None:
        sparse_dim = x.dim() - dense_dim
    if sparse_dim is not None and not 0 <= sparse_dim <= x.dim() or sparse_dim == 0 and x.dim():
        raise RuntimeError(
            "dense_to_sparse: sparse_dim argument must be in [0,%d] range, but %d is given" % (x.dim(), sparse_dim)
        )
    return _autograd.ToSparse.apply(x, sparse_dim) if _records(x) else _t.from_dense(x, sparse_dim)


def _to_sparse(x: Any, *args: Any, **kwargs: Any) -> Any:
    return to_sparse(x, *args, **kwargs)


def to_sparse_coo(x: Any) -> Any:
    return to_sparse(x)


def _to_compressed(x: Any, layout: Any, blocksize: Any, dense_dim: Any) -> Any:
    if is_compressed(x):
        _compressed.check_conversion(x, layout, blocksize)
    return _compressed.convert(x, layout, blocksize, dense_dim)


def to_sparse_csr(x: Any, dense_dim: Any = None) -> Any:
    return _to_compressed(x, torch.sparse_csr, None, dense_dim)


def to_sparse_csc(x: Any, dense_dim: Any = None) -> Any:
    return _to_compressed(x, torch.sparse_csc, None, dense_dim)


def to_sparse_bsr(x: Any, blocksize: Any, dense_dim: Any = None) -> Any:
    return _to_compressed(x, torch.sparse_bsr, blocksize, dense_dim)


def to_sparse_bsc(x: Any, blocksize: Any, dense_dim: Any = None) -> Any:
    return _to_compressed(x, torch.sparse_bsc, blocksize, dense_dim)


def sparse_mask(x: Any, mask: Any) -> Any:
    """The elements of `x` at the indices of the sparse tensor `mask`; sparse, with these indices."""
    if x.shape != mask.shape:
        raise RuntimeError(
            "sparse_mask(): operands have incompatible sizes; self has size %s but mask has size %s"
            % (list(x.shape), list(mask.shape))
        )
    if is_compressed(mask):
        return _compressed.mask_like(x if x.layout is torch.strided else to_dense(x), mask)
    _need("sparse_mask", mask)
    return _autograd.Masked.apply(x, mask.detach()) if _records(x) else _autograd.masked(x, mask)


def _sparse_mask_projection(x: Any, mask: Any, accumulate_matches: bool = False) -> Any:
    return sparse_mask(x, mask)


# ---- in place --------------------------------------------------------------------------------------------------------
def _resize(x: Any, size: Any, sparse_dim: int, dense_dim: int, clear: bool) -> Any:
    _need("sparse_resize_and_clear_" if clear else "sparse_resize_", x)
    check_dims(size, sparse_dim, dense_dim)
    raise NotImplementedError(
        "sparse_resize_(): torchlite does not change the size of a sparse tensor in place; make a new one of its "
        "indices and values with torch.sparse_coo_tensor"
    )


def sparse_resize_(x: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    return _resize(x, size, sparse_dim, dense_dim, False)


def sparse_resize_and_clear_(x: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    return _resize(x, size, sparse_dim, dense_dim, True)


def resize_as_sparse_(x: Any, template: Any) -> Any:
    if is_compressed(x):
        return _compressed.resize_as(x, template)
    _need("resize_as_sparse_", x)
    if x.shape == template.shape and sparse_dim(x) == sparse_dim(template):
        return x
    return _resize(x, template.shape, sparse_dim(template), dense_dim(template), False)


def smm(x: Any, mat: Any) -> Any:
    return torch.smm(x, mat)


def sspaddmm(x: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return torch.sspaddmm(x, mat1, mat2, beta=beta, alpha=alpha)
