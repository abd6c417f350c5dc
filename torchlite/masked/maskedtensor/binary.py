"""Element-wise functions of two tensors. Two MaskedTensors must have the same mask."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from .core import _map_mt_args_kwargs, _masks_match, _wrap_result, in_backward, is_masked_tensor, packets
from .unary import with_values

__all__ = []

BINARY_NAMES = """add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div divide
    floor_divide fmod logaddexp logaddexp2 mul multiply nextafter remainder sub subtract true_divide eq ne le ge greater
    greater_equal gt less_equal lt less maximum minimum fmax fmin not_equal""".split()
_NOT_INPLACE = ("logaddexp", "logaddexp2", "maximum", "minimum", "fmax", "fmin")
INPLACE_BINARY_NAMES = [n + "_" for n in BINARY_NAMES if n not in _NOT_INPLACE]


def _get_at_least_one_mask(a: Any, b: Any) -> Any:
    if not (is_masked_tensor(a) or is_masked_tensor(b)):
        raise TypeError("At least one of `a` and `b` must be a MaskedTensor")
    if not _masks_match(a, b):
        raise ValueError("a and b must have matching masks")
    return a.get_mask() if is_masked_tensor(a) else b.get_mask()


def _values(x: Any) -> Any:
    return x.values() if isinstance(x, torch.Tensor) and x.layout is not torch.strided else x


def _binary_helper(fn: Any, args: Any, kwargs: Any, inplace: bool) -> Any:
    if kwargs:
        raise ValueError("len(kwargs) must equal 0")
    if any(isinstance(a, torch.Tensor) for a in args[2:]):
        raise TypeError("MaskedTensor binary ops do not support additional Tensor arguments")
    if not _masks_match(*args[:2]):
        raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
    data, _ = _map_mt_args_kwargs(args, kwargs, lambda x: x._masked_data)
    mask = _get_at_least_one_mask(*args[:2])
    pattern = next((x for x in data[:2] if isinstance(x, torch.Tensor) and x.layout is not torch.strided), None)
    if pattern is None:
        made = fn(*data)
        if mask.layout is torch.strided:
            mask = mask.expand_as(made if in_backward() or not isinstance(data[0], torch.Tensor) else data[0])
    elif mask.layout is torch.strided:
        made = fn(*(x.to_dense() if isinstance(x, torch.Tensor) else x for x in data))
    else:
        for x in data[:2]:
            if isinstance(x, torch.Tensor) and x.layout is not pattern.layout and x.dim():
                raise ValueError(f"`a` and `b` must have the same layout. Got {data[0].layout} and {data[1].layout}")
            if isinstance(x, torch.Tensor) and x.layout is torch.sparse_coo and not x.is_coalesced():
                raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
        made = with_values(pattern, fn(*map(_values, data)))
    if inplace:
        if not is_masked_tensor(args[0]):
            raise TypeError("a MaskedTensor cannot be the argument of an in-place operator of a Tensor")
        args[0]._set_data_mask(made, mask)
        return args[0]
    return _wrap_result(made, mask)


def _function(name: str, inplace: bool) -> Any:
    fn = getattr(torch.ops.aten, name)

    def binary_fn(*args: Any, **kwargs: Any) -> Any:
        return _binary_helper(fn, args, kwargs, inplace)

    return binary_fn


def _torch_binary(fn_name: str) -> Any:
    """What the operator of this name does with MaskedTensors."""
    return _function(fn_name, False)


def _torch_inplace_binary(fn_name: str) -> Any:
    return _function(fn_name, True)


NATIVE_BINARY_MAP = {fn: _torch_binary(name) for name, fn in packets(BINARY_NAMES).items()}
NATIVE_INPLACE_BINARY_MAP = {fn: _torch_inplace_binary(name) for name, fn in packets(INPLACE_BINARY_NAMES).items()}
NATIVE_BINARY_FNS = list(NATIVE_BINARY_MAP)
NATIVE_INPLACE_BINARY_FNS = list(NATIVE_INPLACE_BINARY_MAP)


def _is_native_binary(fn: Any) -> bool:
    return fn in NATIVE_BINARY_MAP or fn in NATIVE_INPLACE_BINARY_MAP


def _apply_native_binary(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """The operator `fn` of MaskedTensors; NotImplemented for one that is no binary operator."""
    found = NATIVE_BINARY_MAP.get(fn) or NATIVE_INPLACE_BINARY_MAP.get(fn)
    return found(*args, **kwargs) if found else NotImplemented
