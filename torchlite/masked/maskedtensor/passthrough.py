"""Operators that move, choose or join elements: once with the data, once with the mask."""

from __future__ import annotations

from typing import Any

from .core import _map_mt_args_kwargs, _wrap_result, packets

__all__ = []

_NAMES = """select transpose split t slice slice_backward select_backward index expand view _unsafe_view _reshape_alias
    cat unsqueeze unfold unfold_backward im2col col2im stack"""
PASSTHROUGH_FNS = list(packets(_NAMES.split()).values())


def _is_pass_through_fn(fn: Any) -> bool:
    return fn in PASSTHROUGH_FNS


def _apply_pass_through_fn(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """fn of the data, with the mask that fn makes of the masks."""
    data_args, data_kwargs = _map_mt_args_kwargs(args, kwargs, lambda x: x._masked_data)
    mask_args, mask_kwargs = _map_mt_args_kwargs(args, kwargs, lambda x: x._masked_mask)
    return _wrap_result(fn(*data_args, **data_kwargs), fn(*mask_args, **mask_kwargs))
