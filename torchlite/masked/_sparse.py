"""Masked reductions of COO and CSR tensors: what is not there counts as masked out."""

from __future__ import annotations

from typing import Any

import torchlite as torch

_SCATTER = {"sum": "sum", "prod": "prod", "amax": "amax", "amin": "amin"}


def _sparse_coo_flatten_indices(indices: Any, shape: Any) -> Any:
    """The positions of indices (sparse dims, nnz) in a tensor of `shape`, row by row."""
    flat = indices.new_zeros(indices.size(1))
    for row, extent in zip(indices, shape):
        flat = flat * extent + row
    return flat


def _sparse_coo_where(mask: Any, input: Any, fill_value: Any) -> Any:
    """_where of COO tensors; the mask may have explicit False values."""
    assert input.layout is torch.sparse_coo, f"input.layout must be sparse_coo, got {input.layout}"
    assert mask.layout == input.layout, f"mask.layout ({mask.layout}) must match input.layout ({input.layout})"
    assert mask.shape == input.shape, f"mask.shape ({mask.shape}) must match input.shape ({input.shape})"
    mask, input = mask.coalesce(), input.coalesce()
    chosen = mask.values()
    used = chosen.flatten(1).any(1) if chosen.dim() > 1 else chosen
    chosen = chosen[used]
    pattern = torch.sparse_coo_tensor(mask.indices()[:, used], chosen, mask.shape, is_coalesced=True)
    found = input.sparse_mask(pattern)
    values = torch.where(chosen, found.coalesce().values(), fill_value)
    return torch.sparse_coo_tensor(pattern.indices(), values, input.shape, is_coalesced=True)


def _sparse_csr_where(mask: Any, input: Any, fill_value: Any) -> Any:
    """_where of CSR tensors."""
    return _sparse_coo_where(mask.to_sparse_coo(), input.to_sparse_coo(), fill_value).to_sparse_csr()


def _over(op: Any, values: Any, dims: Any, keepdim: bool) -> Any:
    """A reduction over several dims, none of them left out."""
    if op.__name__ == "prod":
        for d in sorted(dims, reverse=True):
            values = values.prod(d, keepdim=keepdim)
        return values
    return op(values, tuple(dims), keepdim) if dims else values


def _whole(op: Any, values: Any, ndim: int, keepdim: bool) -> Any:
    """The reduction of all values as a COO tensor: without an index where it is 0."""
    from ._mask import _reduction_identity

    total = values.flatten()
    total = _over(op, total, (0,), False) if total.numel() else _reduction_identity(op.__name__, total)
    total = total.to(values.dtype)
    n = ndim if keepdim else 0
    count = int(bool(total != 0)) if ndim else values.numel()
    indices = torch.zeros((n, count), dtype=torch.int64, device=values.device)
    return torch.sparse_coo_tensor(indices, total.expand(count).clone(), (1,) * n, is_coalesced=True)


def _sparse_coo_scatter_reduction_helper(op: Any, mask_input: Any, dims: Any, keepdim: bool, dtype: Any = None) -> Any:
    """sum, prod, amax or amin of a COO tensor over dims: COO again. Each index of the result has at least one value."""
    name = op.__name__
    if name not in _SCATTER:
        raise ValueError("%s is not supported for sparse COO tensors" % name)
    mask_input = mask_input.coalesce()
    indices, values = mask_input.indices(), mask_input.values()
    values = values if dtype is None else values.to(dtype)
    n, shape = mask_input.sparse_dim(), list(mask_input.shape)
    if len(dims) >= len(shape):
        return _whole(op, values, len(shape), keepdim)
    values = _over(op, values, [d - n + 1 for d in dims if d >= n], keepdim).to(values.dtype)
    left = [d for d in range(n) if d not in dims]
    size = [1 if d in dims else k for d, k in enumerate(shape) if keepdim or d not in dims]
    rows = indices[left]
    if len(left) == n:
        return torch.sparse_coo_tensor(indices, values, size, is_coalesced=True)
    flat = _sparse_coo_flatten_indices(rows, [shape[d] for d in left])
    groups, at = torch.unique(flat, return_inverse=True)
    reduced = _by_group(values, at, groups.numel(), name)
    first = at.new_zeros(groups.numel()).scatter_(0, at, torch.arange(at.numel(), device=at.device))
    if keepdim:
        rows = indices.clone()
        rows[[d for d in range(n) if d in dims]] = 0
    return torch.sparse_coo_tensor(rows[:, first], reduced, size, is_coalesced=True)


def _by_group(values: Any, at: Any, count: int, name: str) -> Any:
    """The values of each group put together."""
    if not count:
        return values.new_zeros((0, *values.shape[1:]))
    kind = values.dtype
    if kind is torch.bool:
        values = values.to(torch.uint8)
    if kind.is_complex and name == "prod":
        rows = [values[at == i].prod(0) for i in range(count)]
        return torch.stack(rows)
    if name == "sum":
        made = values.new_zeros((count, *values.shape[1:])).index_add_(0, at, values)
    else:
        index = at.reshape(-1, *(1,) * (values.dim() - 1)).expand(values.shape)
        made = values.new_zeros((count, *values.shape[1:]))
        made = made.scatter_reduce(0, index, values, _SCATTER[name], include_self=False)
    return (made != 0) if kind is torch.bool else made


def _csr(crow: Any, columns: Any, values: Any, size: Any) -> Any:
    return torch.sparse_csr_tensor(crow, columns, values, size)


def _csr_groups(x: Any, dims: tuple[int, ...]) -> tuple[Any, Any]:
    """Which group of the result each value of a CSR matrix belongs to, and the group's columns or rows."""
    crow, columns = x.crow_indices(), x.col_indices()
    rows = torch.repeat_interleave(torch.arange(x.shape[0], device=crow.device), crow[1:] - crow[:-1])
    return rows, columns


def _csr_reduced(name: str, x: Any, dims: Any, keepdim: bool, dtype: Any) -> Any:
    """Sums and products of a CSR matrix over its rows, columns or both: CSR of shape (1, m), (n, 1) or (1, 1)."""
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    values = x.values() if dtype is None else x.values().to(dtype)
    if values.dtype is torch.bool:
        raise NotImplementedError("\"_sparse_csr_%s_cpu\" not implemented for 'Bool'" % name)
    if not (values.dtype.is_floating_point or values.dtype.is_complex):
        values = values.to(torch.int64)
    rows, columns = _csr_groups(x, dims)
    heads = torch.zeros(1, dtype=columns.dtype, device=columns.device)
    if tuple(dims) == (0, 1):
        count = min(1, values.numel())
        total = values.sum() if name == "sum" else values.prod()
        crow = torch.tensor([0, count], dtype=columns.dtype, device=columns.device)
        return _csr(crow, heads[:count], total.reshape(1)[:count], (1, 1))
    if tuple(dims) == (0,):
        groups, at = torch.unique(columns, return_inverse=True)
        made = _by_group(values, at, groups.numel(), name)
        crow = torch.tensor([0, groups.numel()], dtype=columns.dtype, device=columns.device)
        return _csr(crow, groups, made, (1, x.shape[1]))
    groups, at = torch.unique(rows, return_inverse=True)
    made = _by_group(values, at, groups.numel(), name)
    used = (x.crow_indices().diff() > 0).to(columns.dtype)
    crow = torch.cat((heads, used.cumsum(0).to(columns.dtype)))
    return _csr(crow, torch.zeros_like(groups), made, (x.shape[0], 1))


def _sparse_csr_segment_reduction_helper(op: Any, mask_input: Any, dims: Any, keepdim: bool, dtype: Any = None) -> Any:
    """mean, amax or amin of a CSR matrix over its rows, columns or both; floating-point dtypes only."""
    assert keepdim, "reduction operations on CSR tensors with keepdim=False is unsupported"
    name = op.__name__
    assert name in ("sum", "prod", "amax", "amin", "mean"), name
    if dtype is not None:
        mask_input = mask_input.to(dtype)
    values, columns = mask_input.values(), mask_input.col_indices()
    if not values.dtype.is_floating_point:
        kind = values.dtype._scalar_type
        raise NotImplementedError("\"_segment_reduce_cpu\" not implemented for '%s'" % kind)
    size = list(mask_input.shape)
    if not dims:
        return mask_input
    if len(dims) == 1 and dims[0] == 0:
        flipped = mask_input.to_sparse_coo().transpose(0, 1).coalesce()
        lines, extent = flipped.indices()[0], size[1]
        values = flipped.values()
        size[0] = 1
    elif len(dims) == 1:
        lines, _ = _csr_groups(mask_input, dims)
        extent = size[0]
        size[1] = 1
    else:
        lines, extent = torch.zeros_like(columns), 1
        size = [1, 1]
    lengths = torch.bincount(lines, minlength=extent).to(columns.dtype)
    made = torch.segment_reduce(values, name.removeprefix("a"), lengths=lengths, unsafe=False)
    return _lines(made, size, extent, columns, tuple(dims), lengths)


def _lines(values: Any, size: list[int], extent: int, like: Any, dims: tuple[int, ...], lengths: Any) -> Any:
    """The CSR tensor of a reduction's values: those of lines that have any."""
    used = lengths > 0
    values = values[used]
    at = torch.arange(extent, dtype=like.dtype, device=like.device)[used]
    if dims == (0,):
        crow = torch.tensor([0, at.numel()], dtype=like.dtype, device=like.device)
        return _csr(crow, at, values, size)
    crow = torch.cat((like.new_zeros(1), used.cumsum(0).to(like.dtype)))
    return _csr(crow, torch.zeros_like(at), values, size)
