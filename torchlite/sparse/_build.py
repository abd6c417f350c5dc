"""What makes sparse tensors: sparse_coo_tensor, sparse_csr_tensor and its relatives, spdiags.

Indices are always checked against the size. PyTorch does so on request (check_invariants), and reads outside of memory
without.
"""

from __future__ import annotations

from typing import Any

import torchlite as torch

from .. import _C
from ..autograd._node import as_leaf
from . import _tensor as _t

_INTS = (torch.int32, torch.int64)


def _tensor(data: Any, dtype: Any, device: Any) -> Any:
    made = data if isinstance(data, torch.Tensor) else torch.tensor(data)
    return made.to(device=made.device if device is None else device, dtype=made.dtype if dtype is None else dtype)


def _check_dtype(values: Any) -> None:
    if values.layout is not torch.strided:
        raise RuntimeError(
            "expected values to be a strided tensor, but got a tensor of layout %s" % _t.layout_name(values.layout)
        )


def check_dims(size: Any, sparse_dim: int, dense_dim: int) -> None:
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = %d, sparse_dim = %d, dense_dim = %d"
            % (len(size), sparse_dim, dense_dim)
        )


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Any:
    """A COO tensor: `values` (nnz, *dense sizes) at `indices` (sparse dims, nnz). Values of the same place add up.

    size: by default the smallest that has all indices. is_coalesced=True: the caller says that the indices are sorted
    and each is there once. Gradients go to `values`. Without values, `indices` is the size of an empty tensor.
    """
    if values is None:
        if (indices is None) == (size is None):
            raise TypeError("sparse_coo_tensor(): indices and values, or a size, must be given")
        size = tuple(size if indices is None else indices)
        empty = torch.empty(0, dtype=torch.get_default_dtype() if dtype is None else dtype, device=device)
        return _t.coo(empty.new_empty((len(size), 0), dtype=torch.int64), empty, size, True, requires_grad)
    source = _tensor(values, dtype, device)
    _check_dtype(source)
    indices = _tensor(indices, torch.int64, source.device)
    if indices.dim() != 2:
        raise RuntimeError("indices must be sparse_dim x nnz, but got: %s" % list(indices.shape))
    if source.dim() == 0:
        raise (
            RuntimeError(
                "indices and values must have same nnz, but got nnz from indices: %d, nnz from values: 1"
                % indices.shape[1]
            )
            if indices.shape[1] != 1
            else RuntimeError("values must be at least 1-D")
        )
    if indices.shape[1] != source.shape[0]:
        raise RuntimeError(
            "indices and values must have same nnz, but got nnz from indices: %d, nnz from values: %d"
            % (indices.shape[1], source.shape[0])
        )
    dims = indices.shape[0]
    low, high = _range(indices)
    if size is None:
        size = (*(n + 1 for n in high), *source.shape[1:])
    size = tuple(int(n) for n in size)
    check_dims(size, dims, source.dim() - 1)
    for d in range(dims):
        if low[d] < 0:
            raise RuntimeError("found negative index %d for dim %d" % (low[d], d))
        if high[d] >= size[d]:
            raise RuntimeError(
                "size is inconsistent with indices: for dim %d, size is %d but found index %d" % (d, size[d], high[d])
            )
    if size[dims:] != tuple(source.shape[1:]):
        raise RuntimeError(
            "values has incorrect size, expected %s, got %s" % ([indices.shape[1], *size[dims:]], list(source.shape))
        )
    if is_coalesced and indices.shape[1] > 1:
        flat = _t.flatten(indices, size)
        if not bool((flat[1:] > flat[:-1]).all()):
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
    made = _assemble(indices, source, size, bool(is_coalesced))
    if requires_grad:
        made = as_leaf(made.detach())
    return made


def _assemble(indices: Any, values: Any, size: Any, coalesced: bool) -> Any:
    if values.requires_grad and torch.is_grad_enabled():
        from ._autograd import FromParts

        return FromParts.apply(indices, values, size, coalesced)
    return _t.coo(indices, values.detach(), size, coalesced)


def _range(indices: Any) -> tuple[list[int], list[int]]:
    """The least and the greatest index of each dim; 0 and -1 of none."""
    if not indices.shape[1]:
        return [0] * indices.shape[0], [-1] * indices.shape[0]
    return indices.amin(1).tolist(), indices.amax(1).tolist()


def _sparse_coo_tensor_unsafe(indices: Any, values: Any, size: Any, **kwargs: Any) -> Any:
    """sparse_coo_tensor; it checks all the same."""
    return sparse_coo_tensor(indices, values, size, **kwargs)


def factory(ov: Any, args: Any) -> Any:
    """What torch.zeros, torch.empty and their relatives give for a sparse layout: a tensor without values."""
    given = {p[0]: a for p, a in zip(ov.params, args)}
    name, layout = ov.spec.name, given["layout"]
    source: Any = given.get("self")
    if name not in ("empty", "zeros", "empty_like", "zeros_like", "new_empty", "new_zeros"):
        raise RuntimeError("%s(...) is not implemented for sparse layout" % ("full" if name == "ones" else name))
    of_coo = name == "zeros_like" and layout is torch.sparse_coo
    if name in ("empty_like", "zeros_like") and _t.is_compressed(source) and not of_coo:
        from . import _compressed_ops

        make = _compressed_ops.empty_like if name == "empty_like" else _compressed_ops.zeros_like
        made = make(source, given.get("dtype"), given.get("device"), layout)
        return as_leaf(made) if given.get("requires_grad") else made
    size = tuple(given["size"]) if "size" in given else tuple(source.shape)
    dtype, device = given.get("dtype"), given.get("device")
    if source is not None:
        dtype = source.dtype if dtype is None else dtype
        device = source.device if device is None else device
    if layout is torch.sparse_coo:
        return sparse_coo_tensor(size, dtype=dtype, device=device, requires_grad=bool(given.get("requires_grad")))
    if layout not in (torch.sparse_csr, torch.sparse_csc):
        raise NotImplementedError(
            "%s(): layout %s needs a block size; use torch.sparse_compressed_tensor" % (name, layout)
        )
    if len(size) < 2:
        raise RuntimeError(
            "torch.%s: Only batched sparse compressed (non-block) tensors are supported, but got size %s"
            % (name, list(size))
        )
    values = torch.empty(0, dtype=torch.get_default_dtype() if dtype is None else dtype, device=device)
    count = size[-2] if layout is torch.sparse_csr else size[-1]
    heads = torch.zeros((*size[:-2], count + 1), dtype=torch.int64, device=values.device)
    none = heads.new_zeros((*size[:-2], 0))
    return _t.compressed(layout, heads, none, values.new_zeros((*size[:-2], 0)), size, bool(given.get("requires_grad")))


class _Legacy(type):
    """The classes torch.sparse.FloatTensor and so on: calls make COO tensors, isinstance asks for dtype and layout."""

    dtype: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """(indices, values[, size]), or the sizes of an empty tensor."""
        torch._C.warn_once(
            "torch.sparse.SparseTensor(indices, values, shape, *, device=) is deprecated.  Please use "
            "torch.sparse_coo_tensor(indices, values, shape, dtype=, device=)."
        )
        device = kwargs.pop("device", None)
        if kwargs:
            raise TypeError("torch.sparse.%s(): unexpected keyword arguments %s" % (cls.__name__, sorted(kwargs)))
        if args and isinstance(args[0], torch.Tensor):
            indices, values, *size = args
            if values.dtype is not cls.dtype:
                raise TypeError(
                    "expected torch.%sTensor (got %s)" % (cls.__name__.removesuffix("Tensor"), values.type())
                )
            return sparse_coo_tensor(indices, values, *size, dtype=cls.dtype, device=device)
        sizes = args[0] if args and isinstance(args[0], (tuple, list)) else args
        return sparse_coo_tensor(tuple(sizes), dtype=cls.dtype, device=device)

    def __instancecheck__(cls, x: Any) -> bool:
        return _t.is_coo(x) and x.dtype is cls.dtype


LEGACY = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "LongTensor": torch.int64,
    "IntTensor": torch.int32,
    "ShortTensor": torch.int16,
    "CharTensor": torch.int8,
    "ByteTensor": torch.uint8,
}


def legacy(name: str) -> Any:
    """torch.sparse.FloatTensor by its name."""
    return _Legacy(name, (), {"dtype": LEGACY[name], "__module__": "torch.sparse"})


# ---- compressed layouts ----------------------------------------------------------------------------------------------
_HEADS = {
    torch.sparse_csr: ("crow_indices", "col_indices"),
    torch.sparse_csc: ("ccol_indices", "row_indices"),
    torch.sparse_bsr: ("crow_indices", "col_indices"),
    torch.sparse_bsc: ("ccol_indices", "row_indices"),
}


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """A matrix, or a batch of them, in a compressed layout: of each row (csr, bsr) or column (csc, bsc) where its
    values begin, `compressed_indices` (*batch, n + 1); of each value its column or row, `plain_indices` (*batch, nnz);
    and `values` (*batch, nnz), or (*batch, nnz, rows, columns) of the blocks of bsr and bsc."""
    if layout not in _HEADS:
        raise RuntimeError("expected compressed sparse layout but got %s" % layout)
    head_name, other_name = _HEADS[layout]
    source = _tensor(values, dtype, device)
    _check_dtype(source)
    heads, others = _tensor(compressed_indices, None, source.device), _tensor(plain_indices, None, source.device)
    for name, x in ((head_name, heads), (other_name, others)):
        if x.dtype not in _INTS:
            raise RuntimeError(
                "%s and %s dtype must be Int or Long, but got %s" % (head_name, other_name, x.dtype._scalar_type)
            )
    if heads.dtype is not others.dtype:
        raise RuntimeError(
            "%s and %s must have the same dtype, bot got %s and %s, respectively"
            % (head_name, other_name, heads.dtype._scalar_type, others.dtype._scalar_type)
        )
    by_rows = layout in (torch.sparse_csr, torch.sparse_bsr)
    blocks = layout in (torch.sparse_bsr, torch.sparse_bsc)
    batch = tuple(heads.shape[:-1])
    n = len(batch)
    if others.dim() != n + 1 or source.dim() < n + 1 + 2 * blocks:
        raise RuntimeError(
            "%s and %s dimensionalities must be equal but got %d and %d, respectively"
            % (head_name, other_name, heads.dim(), others.dim())
        )
    if others.shape != source.shape[: n + 1]:
        raise RuntimeError(
            "number of elements in %s and values must match: got %s and %s"
            % (other_name, list(others.shape), list(source.shape))
        )
    block = tuple(source.shape[n + 1 : n + 3]) if blocks else (1, 1)
    if 0 in block:
        raise RuntimeError("the blocks of layout %s have no elements: %s" % (layout, list(block)))
    ends = heads.shape[-1] - 1
    if size is None:
        other = int(others.max()) + 1 if others.numel() else 0
        plain = (ends, other) if by_rows else (other, ends)
        size = (*batch, plain[0] * block[0], plain[1] * block[1], *source.shape[n + 1 + 2 * blocks :])
    size = tuple(int(k) for k in size)
    if len(size) < n + 2:
        raise RuntimeError("size must have dimensionality >= %d, got %d" % (n + 2, len(size)))
    rows, columns = size[n] // block[0], size[n + 1] // block[1]
    mine, theirs = (rows, columns) if by_rows else (columns, rows)
    _check_compressed(heads, others, mine, theirs, head_name, other_name)
    if torch.sparse.check_sparse_tensor_invariants.is_enabled() if check_invariants is None else check_invariants:
        _check_sorted(heads, others, head_name, other_name)
    parts = heads, others, source.detach(), size
    if source.requires_grad and torch.is_grad_enabled():
        from ._autograd import FromCompressed

        made = FromCompressed.apply(layout, heads, others, source, size)
    else:
        made = _t.compressed(layout, *parts)
    return as_leaf(made.detach()) if requires_grad else made


def _check_compressed(heads: Any, others: Any, mine: int, theirs: int, head_name: str, other_name: str) -> None:
    nnz = others.shape[-1]
    if heads.shape[-1] != mine + 1:
        raise RuntimeError(
            "%s.shape[-1] must be equal to the number of %s + 1 (=%d), but got %d"
            % (head_name, "rows" if head_name == "crow_indices" else "columns", mine + 1, heads.shape[-1])
        )
    if not bool((heads[..., 0] == 0).all()):
        raise RuntimeError("`%s[..., 0] == 0` is not satisfied." % head_name)
    if not bool((heads[..., -1] == nnz).all()):
        raise RuntimeError("`%s[..., -1] == nnz` is not satisfied." % head_name)
    steps = heads[..., 1:] - heads[..., :-1]
    if not bool(((steps >= 0) & (steps <= theirs)).all()):
        raise RuntimeError(
            "`0 <= %s[..., 1:] - %s[..., :-1] <= %s` is not satisfied."
            % (head_name, head_name, "ncols" if head_name == "crow_indices" else "nrows")
        )
    if nnz and not bool(((others >= 0) & (others < theirs)).all()):
        raise RuntimeError(
            "`0 <= %s < %s` is not satisfied." % (other_name, "ncols" if head_name == "crow_indices" else "nrows")
        )


def _check_sorted(heads: Any, others: Any, head_name: str, other_name: str) -> None:
    """Whether each row's columns rise. Only on request: products and sums do not need it."""
    if others.shape[-1] < 2:
        return
    places = torch.arange(others.shape[-1], device=others.device, dtype=heads.dtype)
    rows = torch.searchsorted(heads.contiguous(), places.expand(others.shape).contiguous(), right=True)
    falls = (rows[..., 1:] == rows[..., :-1]) & (others[..., 1:] <= others[..., :-1])
    if bool(falls.any()):
        raise RuntimeError(
            "`%s[..., %s[..., i - 1]:%s[..., i]] for all i = 1, ..., %s are sorted and distinct along the last "
            "dimension values` is not satisfied."
            % (other_name, head_name, head_name, "nrows" if head_name == "crow_indices" else "ncols")
        )


def _of_layout(layout: Any) -> Any:
    first, second = _HEADS[layout]

    def make(*args: Any, **kwargs: Any) -> Any:
        named = {"compressed_indices": kwargs.pop(first, None), "plain_indices": kwargs.pop(second, None)}
        kwargs.update({k: v for k, v in named.items() if v is not None})
        return sparse_compressed_tensor(*args, layout=layout, **kwargs)

    short = str(layout).rpartition(".")[2]
    make.__name__ = make.__qualname__ = short + "_tensor"
    make.__doc__ = "torch.sparse_compressed_tensor with layout=%s, by the names %s and %s." % (layout, first, second)
    return make


sparse_csr_tensor = _of_layout(torch.sparse_csr)
sparse_csc_tensor = _of_layout(torch.sparse_csc)
sparse_bsr_tensor = _of_layout(torch.sparse_bsr)
sparse_bsc_tensor = _of_layout(torch.sparse_bsc)


def _validate_sparse_coo_tensor_args(indices: Any, values: Any, size: Any, is_coalesced: Any = None, **_: Any) -> None:
    """The errors of sparse_coo_tensor; nothing where the arguments fit."""
    sparse_coo_tensor(indices, values.detach(), size, is_coalesced=is_coalesced)


def _validate_sparse_compressed_tensor_args(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Any, layout: Any, **_: Any
) -> None:
    """The errors of sparse_compressed_tensor; nothing where the arguments fit."""
    sparse_compressed_tensor(compressed_indices, plain_indices, values.detach(), size, layout=layout)


def _validates(layout: Any) -> Any:
    def validate(compressed_indices: Any, plain_indices: Any, values: Any, size: Any, **_: Any) -> None:
        _validate_sparse_compressed_tensor_args(compressed_indices, plain_indices, values, size, layout)

    short = str(layout).rpartition(".")[2]
    validate.__name__ = validate.__qualname__ = "_validate_%s_tensor_args" % short
    return validate


_validate_sparse_csr_tensor_args = _validates(torch.sparse_csr)
_validate_sparse_csc_tensor_args = _validates(torch.sparse_csc)
_validate_sparse_bsr_tensor_args = _validates(torch.sparse_bsr)
_validate_sparse_bsc_tensor_args = _validates(torch.sparse_bsc)


def spdiags(diagonals: Any, offsets: Any, shape: Any, layout: Any = None) -> Any:
    """A matrix (shape) with the rows of `diagonals` (k, n) as its diagonals `offsets` (k,): row i, from its column
    max(offset, 0) on, as scipy's dia_matrix. layout: COO by default, CSR or CSC."""
    diagonals = diagonals.unsqueeze(0) if diagonals.dim() == 1 else diagonals
    offsets = offsets.unsqueeze(0) if offsets.dim() == 0 else offsets
    if layout not in (None, torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
        raise RuntimeError("Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got %s" % layout)
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if diagonals.dim() != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if offsets.dim() != 1:
        raise RuntimeError("Offsets must be scalar or vector")
    if diagonals.shape[0] != offsets.shape[0]:
        raise RuntimeError(
            "Number of diagonals (%d) does not match the number of offsets (%d)"
            % (diagonals.shape[0], offsets.shape[0])
        )
    if offsets.unique().shape[0] != offsets.shape[0]:
        raise RuntimeError("Offset tensor contains duplicate values")
    columns = torch.arange(diagonals.shape[1], device=diagonals.device).expand(diagonals.shape)
    rows = columns - offsets.to(torch.int64).unsqueeze(1)
    used = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    made = sparse_coo_tensor(torch.stack((rows[used], columns[used])), diagonals[used], tuple(shape))
    return made if layout in (None, torch.sparse_coo) else made.to_sparse(layout=layout)


for _name in ("coo", "compressed", "csr", "csc", "bsr", "bsc"):  # as other makers of tensors they ask modes only
    _name = "sparse_%s_tensor" % _name
    globals()[_name] = _C.Function(globals()[_name], True)
