"""torch._check and its relatives: an error unless a condition holds. Packages' shape functions call them."""

from __future__ import annotations

import warnings
from typing import Any

import torchlite as torch

_BOOL = bool
_NO_TEXT = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
    "enhancement request to PyTorch.)"
)


def _check_with(error_type: Any, cond: Any, message: Any = None) -> None:
    if isinstance(cond, torch.Tensor):
        raise TypeError(
            "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert "
            "that all elements are true."
        )
    if not isinstance(cond, _BOOL):
        raise TypeError("cond must be a bool, but got %s" % type(cond))
    if cond:
        return
    if not issubclass(error_type, Exception) or issubclass(error_type, Warning):
        raise AssertionError("error_type must be a subclass of Exception but not Warning, got %s" % error_type)
    if message is None:
        raise error_type(_NO_TEXT)
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond: Any, message: Any = None) -> None:
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Any = None) -> None:
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Any = None) -> None:
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Any = None) -> None:
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Any = None) -> None:
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: Any, message: Any = None, *, max: Any = None) -> None:
    warnings.warn(
        "_check_is_size will be removed in a future PyTorch release along with guard_size_oblivious.     Use _check(i "
        ">= 0) instead.",
        FutureWarning,
        stacklevel=2,
    )
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(error_type: Any, cond: Any, message: Any = None) -> None:
    if not isinstance(cond, torch.Tensor):
        raise TypeError("cond must be a tensor, but got %s" % type(cond))
    if cond.dtype is not torch.bool:
        raise TypeError("cond tensor must have dtype torch.bool, but got %s" % cond.dtype)
    _check_with(error_type, cond.all().item(), message)


def _check_tensor_all(cond: Any, message: Any = None) -> None:
    _check_tensor_all_with(RuntimeError, cond, message)


def _is_all_true(tensor: Any) -> Any:
    """Whether all elements of a bool tensor are True, as a tensor."""
    _check(tensor.dtype is torch.bool, lambda: "_is_all_true: the tensor must have dtype torch.bool")
    return tensor._is_all_true()


def _is_any_true(tensor: Any) -> Any:
    """Whether one element of a bool tensor is True, as a tensor."""
    _check(tensor.dtype is torch.bool, lambda: "_is_any_true: the tensor must have dtype torch.bool")
    return tensor._is_any_true()


def _shape_as_tensor(tensor: Any) -> Any:
    """The shape as an int64 tensor."""
    return torch.tensor(tensor.shape, dtype=torch.int64, device="cpu")


for _name in [name for name in globals() if name.startswith(("_check", "_is_", "_shape"))]:
    globals()[_name].__module__ = "torch"
