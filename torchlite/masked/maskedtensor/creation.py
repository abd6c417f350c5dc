"""The functions that make MaskedTensors."""

from __future__ import annotations

from typing import Any

from .core import MaskedTensor

__all__ = ["as_masked_tensor", "masked_tensor"]


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """A MaskedTensor, a leaf, of copies of `data` and `mask`: shapes and layouts are the same, the mask's dtype is
    bool, and True means that an element counts."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """The same, differentiable: gradients flow back to `data`."""
    return MaskedTensor._from_values(data, mask)
