"""The tables of functions and operators of MaskedTensors."""

from __future__ import annotations

from functools import partial
from typing import Any

import torchlite as torch

from ..._core import dispatch_modes as _modes
from .binary import NATIVE_BINARY_FNS, NATIVE_INPLACE_BINARY_FNS, _apply_native_binary, _binary_helper
from .core import MaskedTensor, _get_data, _masks_match, _maybe_get_mask, is_masked_tensor, packets
from .passthrough import PASSTHROUGH_FNS, _apply_pass_through_fn
from .reductions import NATIVE_REDUCE_FNS, TENSOR_REDUCE_FNS, TORCH_REDUCE_FNS, _apply_reduction
from .unary import NATIVE_INPLACE_UNARY_FNS, NATIVE_UNARY_FNS, _apply_native_unary

__all__ = []


def _check_args_kwargs_length(
    args: Any, kwargs: Any, error_prefix: str, len_args: int | None = None, len_kwargs: int | None = None
) -> None:
    if len_args is not None and len_args != len(args):
        raise ValueError(f"{error_prefix}: len(args) must be {len_args} but got {len(args)}")
    if len_kwargs is not None and len_kwargs != len(kwargs):
        raise ValueError(f"{error_prefix}: len(kwargs) must be {len_kwargs} but got {len(kwargs)}")


# ---- functions, above autograd ---------------------------------------------------------------------------------------
class _MaskedContiguous(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return MaskedTensor(x._masked_data.contiguous(), x._masked_mask.contiguous())

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class _MaskedToDense(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.layout = x.layout
        return MaskedTensor(x._masked_data.to_dense(), x._masked_mask.to_dense())

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return to_sparse_csr(g) if ctx.layout is torch.sparse_csr else to_sparse(g)


class _MaskedToSparse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        mask = x._masked_mask.to_sparse().coalesce()
        return MaskedTensor(_dense(x._masked_data).sparse_mask(mask), mask)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return to_dense(g)


class _MaskedToSparseCsr(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        if x.dim() != 2:
            raise ValueError(f"Only 2D tensors can be converted to the SparseCsr layout but got shape: {x.size()}")
        mask = x._masked_mask.to_sparse_csr()
        return MaskedTensor(_dense(x._masked_data).sparse_mask(mask), mask)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return to_dense(g)


class _MaskedWhere(torch.autograd.Function):
    """torch.where: each gradient is masked out where the element was not taken."""

    @staticmethod
    def forward(ctx: Any, cond: Any, x: Any, other: Any) -> Any:
        ctx.cond, ctx.masked = cond, (is_masked_tensor(x), is_masked_tensor(other))
        return torch.ops.aten.where.self(
            cond, *(t if isinstance(t, torch.Tensor) else _full(t, cond) for t in (x, other))
        )

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        data, mask = _get_data(g), _maybe_get_mask(g)
        mask = torch.ones_like(data, dtype=torch.bool) if mask is None else mask
        found: list[Any] = [None]
        for chosen, needed in zip((ctx.cond, ~ctx.cond), ctx.needs_input_grad[1:]):
            kept = data.masked_fill(~chosen, 0)
            found.append(MaskedTensor(kept, mask & chosen) if needed else None)
        return tuple(found)


def _full(value: Any, like: Any) -> Any:
    return torch.tensor(value, device=like.device)


def _dense(x: Any) -> Any:
    return x if x.layout is torch.strided else x.to_dense()


def _only(name: str, args: Any, kwargs: Any, count: int = 1) -> None:
    _check_args_kwargs_length(args, kwargs, "__torch_function__, torch." + name, len_args=count, len_kwargs=0)


def _check_condition(cond: Any) -> None:
    if is_masked_tensor(cond) or not isinstance(cond, torch.Tensor):
        raise ValueError("torch.where: the condition must be a Tensor, not a MaskedTensor")


def where(*args: Any, **kwargs: Any) -> Any:
    _only("where", args, kwargs, 3)
    cond = args[0]
    _check_condition(cond)
    if cond.dtype is not torch.bool:
        kind = cond.dtype._scalar_type
        raise RuntimeError("where expected condition to be a boolean tensor, but got a tensor with dtype %s" % kind)
    return _MaskedWhere.apply(*args)


def contiguous(x: Any, *args: Any, **kwargs: Any) -> Any:
    return x if is_contiguous(x) else _MaskedContiguous.apply(x)


def is_contiguous(x: Any, *args: Any, **kwargs: Any) -> bool:
    if x.is_sparse:
        raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
    return x._masked_data.is_contiguous()


def to_dense(x: Any, *args: Any, **kwargs: Any) -> Any:
    return _MaskedToDense.apply(x) if x.is_sparse else x


def to_sparse(x: Any, *args: Any, **kwargs: Any) -> Any:
    return x if x.is_sparse_coo() else _MaskedToSparse.apply(x)


def to_sparse_csr(x: Any, *args: Any, **kwargs: Any) -> Any:
    return x if x.is_sparse_csr() else _MaskedToSparseCsr.apply(x)


def _part(x: Any, name: str) -> Any:
    """The indices or values of a COO one, none of them masked out."""
    part = getattr(x._masked_data, name)()
    return MaskedTensor(part, torch.ones_like(part, dtype=torch.bool))


def _refused(name: str, x: Any, *args: Any, **kwargs: Any) -> Any:
    """The error for an operator without an entry, where no operator is called."""
    func = getattr(torch.ops.aten, name).default
    MaskedTensor.__torch_dispatch__(func, (MaskedTensor,), (x,), {})
    raise _modes._refused(func, [], [MaskedTensor])


def is_same_size(x: Any, other: Any) -> bool:
    return x.shape == other.shape


def _is_any_true(x: Any) -> Any:
    if x.dtype is not torch.bool:
        raise ValueError("__torch_dispatch__, aten._is_any_true: expected a boolean tensor")
    data, mask = (t.values() if x.is_sparse else t for t in (x._masked_data, x._masked_mask))
    return MaskedTensor((data & mask).any(), torch.tensor(True, device=x.device))


_Tensor: Any = torch.Tensor
_MASKEDTENSOR_FUNCTION_TABLE: dict[Any, Any] = {
    **{fn: partial(_apply_reduction, fn) for fn in (*NATIVE_REDUCE_FNS, *TORCH_REDUCE_FNS, *TENSOR_REDUCE_FNS)},
    _Tensor.where: lambda x, condition, other: where(condition, x, other),
    torch.where: where,
    _Tensor.contiguous: contiguous,
    _Tensor.is_contiguous: is_contiguous,
    _Tensor.to_dense: to_dense,
    _Tensor.to_sparse: to_sparse,
    _Tensor.is_same_size: is_same_size,
    _Tensor.values: partial(_refused, "values"),
    _Tensor.indices: partial(_refused, "indices"),
    _Tensor.is_coalesced: partial(_refused, "is_coalesced"),
    _Tensor.coalesce: partial(_refused, "is_coalesced"),
}


# ---- operators, below autograd ---------------------------------------------------------------------------------------
def _on_data(fn: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    return MaskedTensor(fn(x._masked_data, *args, **kwargs), x._masked_mask)


def _to_copy(fn: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    mask = x._masked_mask if kwargs.get("device") is None else x._masked_mask.to(kwargs["device"])
    return MaskedTensor(fn(x._masked_data, *args, **kwargs), mask)


def _item(fn: Any, x: Any) -> Any:
    if not bool(x._masked_mask):
        raise ValueError("__torch_dispatch__, aten._local_scalar_dense: expected a mask tensor")
    return x._masked_data.item()


def _softmax(fn: Any, x: Any, dim: int, half_to_float: bool) -> Any:
    from .. import _ops

    return MaskedTensor(_ops.softmax(x._masked_data, dim, mask=x._masked_mask), x._masked_mask)


def _softmax_backward_data(fn: Any, grad: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    if is_masked_tensor(grad) and is_masked_tensor(output):
        if not _masks_match(grad, output):
            raise ValueError("__torch_dispatch__, aten._softmax_backward_data: expected the masks to match")
        mask = grad._masked_mask
        g, y = (t._masked_data.masked_fill(~mask, 0) for t in (grad, output))
        return MaskedTensor(fn(g, y, dim, input_dtype), mask)
    raise ValueError("__torch_dispatch__, aten._softmax_backward_data: grad and output must both be MaskedTensors")


def _copy_(fn: Any, x: Any, source: Any, *args: Any) -> Any:
    if not is_masked_tensor(x):
        raise TypeError("a MaskedTensor cannot be copied into a Tensor; use to_tensor() first")
    x._set_data_mask(x._masked_data.copy_(_get_data(source)), x._masked_mask)
    return x


def _where_data(fn: Any, cond: Any, x: Any, other: Any) -> Any:
    _check_condition(cond)
    masks = [_maybe_get_mask(t) for t in (x, other)]
    full = torch.ones((), dtype=torch.bool, device=cond.device)
    mask = fn(cond, *(full if m is None else m for m in masks))
    made = fn(cond, _get_data(x), _get_data(other))
    return MaskedTensor(made, mask.expand(made.shape))


def _packets(fns: Any, apply: Any) -> dict[Any, Any]:
    return {fn: partial(apply, fn) for fn in fns}


def _own(apply: Any, *names: str) -> dict[Any, Any]:
    return _packets(packets(names).values(), apply)


_MOVES, _SUMS = packets(["unbind"]).values(), packets(["rsub"]).values()
IN_BACKWARD = [*_MOVES, *_SUMS]  # what only gradients may use

_MASKEDTENSOR_DISPATCH_TABLE: dict[Any, Any] = {
    **_packets(NATIVE_REDUCE_FNS, _apply_reduction),
    **_packets((*PASSTHROUGH_FNS, *_MOVES), _apply_pass_through_fn),
    **_packets(_SUMS, lambda fn, *args: _binary_helper(fn, args, {}, False)),
    **_packets((*NATIVE_UNARY_FNS, *NATIVE_INPLACE_UNARY_FNS), _apply_native_unary),
    **_packets((*NATIVE_BINARY_FNS, *NATIVE_INPLACE_BINARY_FNS), _apply_native_binary),
    **_own(_on_data, "detach", "alias", "clone", "ones_like"),
    **_own(_to_copy, "_to_copy"),
    **_own(_item, "_local_scalar_dense"),
    **_own(_softmax, "_softmax"),
    **_own(_softmax_backward_data, "_softmax_backward_data"),
    **_own(_copy_, "copy_"),
    **_own(_where_data, "where"),
}
