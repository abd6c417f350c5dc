"""torch.autograd.grad and backward of nested tensors: those of their values."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from ._tensor import Nested


def rows(tensors: Any, grads: Any) -> tuple[Any, Any]:
    """The values of tensors, and of the gradients that flow into them."""
    flowing = tuple(t._aligned(g) if isinstance(t, Nested) and g is not None else g for t, g in zip(tensors, grads))
    return tuple(t._values if isinstance(t, Nested) else t for t in tensors), flowing


def grad(outputs: Any, inputs: Any, grad_outputs: Any, settings: tuple[Any, ...]) -> Any:
    """torch.autograd.grad, with nested gradients for nested inputs."""
    if grad_outputs is None:
        grad_outputs = (None,) * len(outputs)
    elif isinstance(grad_outputs, torch.Tensor):
        grad_outputs = (grad_outputs,)
    outputs, flowing = rows(outputs, grad_outputs)
    own = tuple(t._values if isinstance(t, Nested) else t for t in inputs)
    found = torch.autograd.grad(outputs, own, flowing, *settings)
    return tuple(t._with(g) if isinstance(t, Nested) and g is not None else g for t, g in zip(inputs, found))
