"""Tensor.grad_dtype: the dtype that the gradient of a leaf has."""

from __future__ import annotations

from . import _node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def of_leaf(t: Any) -> Any:
    """The dtype of t.grad, None for any."""
    m = t._meta
    return t.dtype if m is None or m.grad_dtype is False else m.grad_dtype


def get(t: Any) -> Any:
    """The dtype of .grad of a leaf, None where any will do."""
    if not t.is_leaf:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    return of_leaf(t)


def set_(t: Any, dtype: Any) -> None:
    if not t.is_leaf:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    if dtype is not None and type(dtype) is not type(t.dtype):
        raise RuntimeError("grad_dtype must be a torch.dtype or None, but got %s" % type(dtype).__name__)
    if dtype is not None and t.grad is not None and t.grad.dtype is not dtype:
        raise RuntimeError(
            "Cannot set grad_dtype to '%s' because there is already a gradient with dtype '%s'. Please clear the "
            "gradient (.grad = None) before changing grad_dtype, or ensure the new grad_dtype matches the existing "
            "gradient's dtype." % (dtype._scalar_type, t.grad.dtype._cpp_type)
        )
    _node.meta(t).grad_dtype = dtype
