"""Reductions of MaskedTensors, through the functions of torch.masked. The result's mask is any() of the mask."""

from __future__ import annotations

import warnings
from typing import Any

import torchlite as torch

from .core import _WISH, is_masked_tensor, packets
from .creation import as_masked_tensor, masked_tensor

__all__ = []

REDUCE_NAMES = "sum mean amin amax argmin argmax prod all norm var std".split()


def _masked_all_all(data: Any, mask: Any = None) -> Any:
    if mask is None:
        return data.all()
    return data.masked_fill(~mask, True).all()


def _masked_all_dim(data: Any, dim: Any, keepdim: bool = False, mask: Any = None) -> Any:
    if mask is None:
        return torch.all(data, dim=dim, keepdim=keepdim)
    return torch.all(data.masked_fill(~mask, True), dim=dim, keepdim=keepdim)


def _masked_all(*args: Any, **kwargs: Any) -> Any:
    """all() of the elements that count: of the tensor, or along a dim."""
    if len(args) == 1 and len(kwargs) == 1:
        return _masked_all_all(args[0], mask=kwargs["mask"])
    return _masked_all_dim(*args, **kwargs)


def _multidim_any(mask: Any, dim: Any, keepdim: bool) -> Any:
    if isinstance(dim, int):
        return torch.any(mask, dim=dim, keepdim=keepdim)
    for d in sorted((d % max(mask.dim(), 1) for d in dim), reverse=True):
        mask = torch.any(mask, dim=d, keepdim=keepdim)
    return mask


def _get_masked_fn(fn: str) -> Any:
    """torch.masked's function of this name."""
    from .. import _ops

    return _masked_all if fn == "all" else getattr(_ops, fn)


def _torch_reduce_all(fn: str) -> Any:
    """What a reduction of all elements does with a MaskedTensor."""

    def reduce_all(x: Any) -> Any:
        masked = _get_masked_fn(fn)
        data, mask = x.get_data(), x.get_mask()
        if x.is_sparse:
            mask = mask.values()
        if fn == "all":
            made = masked(data.values() if x.is_sparse else data, mask=mask)
        elif fn in ("argmin", "argmax") and x.is_sparse_coo():
            from .._sparse import _sparse_coo_flatten_indices

            at = masked(data.values(), mask=mask).to(dtype=torch.int64)
            made = _sparse_coo_flatten_indices(data.indices(), x.shape)[at].to(dtype=data.dtype)
        elif x.is_sparse:
            made = masked(masked_tensor(data.values(), mask), mask=mask)
        else:
            made = masked(x, mask=mask)
        return as_masked_tensor(made, torch.any(mask))

    return reduce_all


def _reduce_dim_args(input: Any, dim: Any, keepdim: bool = False, dtype: Any = None) -> Any:
    return input, dim, keepdim, dtype


def _torch_reduce_dim(fn: str) -> Any:
    """What a reduction over dims does with a MaskedTensor."""

    def reduce_dim(x: Any, dim: Any, keepdim: bool = False, dtype: Any = None) -> Any:
        if x.is_sparse:
            warnings.warn(
                f"The sparse version of {fn} is not implemented in reductions." + _WISH, UserWarning, stacklevel=2
            )
            return NotImplemented
        if not is_masked_tensor(x):
            raise TypeError("Input to reduce must be a MaskedTensor")
        masked = _get_masked_fn(fn)
        data, mask = x.get_data(), x.get_mask()
        if fn == "all":
            made = masked(data, dim=dim, keepdim=keepdim, mask=mask)
        else:
            made = masked(x, dim=dim, keepdim=keepdim, dtype=dtype, mask=mask)
        return as_masked_tensor(made, _multidim_any(mask, dim, keepdim))

    return reduce_dim


def _torch_reduce(fn: str) -> Any:
    """What the function or operator of this name does with a MaskedTensor."""

    def reduce_fn(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs:
            return _torch_reduce_all(fn)(args[0])
        return _torch_reduce_dim(fn)(*_reduce_dim_args(*args, **kwargs))

    return reduce_fn


def _torch_grad_reduce(fn: str) -> Any:
    return _torch_reduce(fn)


NATIVE_REDUCE_MAP = {fn: _torch_reduce(name) for name, fn in packets(REDUCE_NAMES).items()}
TORCH_REDUCE_MAP = {getattr(torch, name): _torch_grad_reduce(name) for name in REDUCE_NAMES}
TENSOR_REDUCE_MAP = {getattr(torch.Tensor, name): _torch_grad_reduce(name) for name in REDUCE_NAMES}
NATIVE_REDUCE_FNS = list(NATIVE_REDUCE_MAP)
TORCH_REDUCE_FNS = list(TORCH_REDUCE_MAP)
TENSOR_REDUCE_FNS = list(TENSOR_REDUCE_MAP)
_ALL = {**NATIVE_REDUCE_MAP, **TORCH_REDUCE_MAP, **TENSOR_REDUCE_MAP}


def _is_reduction(fn: Any) -> bool:
    return fn in _ALL


def _apply_reduction(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """The reduction `fn` of a MaskedTensor; NotImplemented for anything else."""
    return _ALL[fn](*args, **kwargs) if fn in _ALL else NotImplemented
