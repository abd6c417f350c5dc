"""Element-wise functions of one tensor: of the data; the mask stays."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from .core import MaskedTensor, _map_mt_args_kwargs, _wrap_result, packets

__all__ = []

UNARY_NAMES = """abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh
    bitwise_not ceil clamp clip conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac
    lgamma log log10 log1p log2 logit i0 isnan nan_to_num neg negative positive pow rad2deg reciprocal round rsqrt
    sigmoid sign sgn signbit sin sinc sinh sqrt square tan tanh trunc""".split()
INPLACE_UNARY_NAMES = [n + "_" for n in UNARY_NAMES if n not in ("angle", "positive", "signbit", "isnan")]
UNARY_NAMES_UNSUPPORTED = """atan2 arctan2 bitwise_left_shift bitwise_right_shift copysign float_power fmod frexp
    gradient imag ldexp lerp logical_not hypot igamma igammac mvlgamma nextafter polygamma real remainder true_divide
    xlogy""".split()


def _unary_helper(fn: Any, args: Any, kwargs: Any, inplace: bool) -> Any:
    if kwargs:
        raise ValueError(
            "MaskedTensor unary ops require that len(kwargs) == 0. If you need support for this, please open an issue "
            "on Github."
        )
    if any(isinstance(a, torch.Tensor) for a in args[1:]):
        raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    (_, *mask_args), _ = _map_mt_args_kwargs(args, kwargs, lambda x: x._masked_mask)
    x = args[0]
    data, mask = x._masked_data, x._masked_mask
    if x.layout is torch.strided:
        made = fn(data, *mask_args)
    else:
        made = with_values(data, fn(data.values(), *mask_args))
    if inplace:
        x._set_data_mask(made, mask)
        return x
    return _wrap_result(made, mask)


def with_values(like: Any, values: Any) -> Any:
    """A COO or CSR tensor with the indices of `like`."""
    if like.layout is torch.sparse_coo:
        return torch.sparse_coo_tensor(like.indices(), values, size=like.shape, is_coalesced=True)
    return torch.sparse_csr_tensor(like.crow_indices(), like.col_indices(), values, size=like.shape)


def _function(name: str, inplace: bool) -> Any:
    fn = getattr(torch.ops.aten, name)

    def unary_fn(*args: Any, **kwargs: Any) -> Any:
        return _unary_helper(fn, args, kwargs, inplace)

    return unary_fn


def _torch_unary(fn_name: str) -> Any:
    """What the operator of this name does with a MaskedTensor."""
    return _function(fn_name, False)


def _torch_inplace_unary(fn_name: str) -> Any:
    return _function(fn_name, True)


NATIVE_UNARY_MAP = {fn: _torch_unary(name) for name, fn in packets(UNARY_NAMES).items()}
NATIVE_INPLACE_UNARY_MAP = {fn: _torch_inplace_unary(name) for name, fn in packets(INPLACE_UNARY_NAMES).items()}
NATIVE_UNARY_FNS = list(NATIVE_UNARY_MAP)
NATIVE_INPLACE_UNARY_FNS = list(NATIVE_INPLACE_UNARY_MAP)


def _is_native_unary(fn: Any) -> bool:
    return fn in NATIVE_UNARY_MAP or fn in NATIVE_INPLACE_UNARY_MAP


def _apply_native_unary(fn: Any, *args: Any, **kwargs: Any) -> MaskedTensor:
    """The operator `fn` of a MaskedTensor; NotImplemented for one that is no unary operator."""
    found = NATIVE_UNARY_MAP.get(fn) or NATIVE_INPLACE_UNARY_MAP.get(fn)
    return found(*args, **kwargs) if found else NotImplemented
