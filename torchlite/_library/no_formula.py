"""Operators that say nothing of their gradient: the kernel was recorded as it ran, and a backward pass through it
warns, because it is likely to be a mistake."""

from __future__ import annotations

import warnings
from typing import Any

import torchlite as torch

_WARNING = (
    "%s: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop through it. "
    "This may lead to silently incorrect behavior. This behavior is deprecated and will be removed in a future version "
    "of PyTorch. If your operator is differentiable, please ensure you have registered an autograd kernel to the "
    "correct Autograd key (e.g. DispatchKey::Autograd, DispatchKey::CompositeImplicitAutograd). If your operator is "
    "not differentiable, or to squash this warning and use the previous behavior, please register "
    "torch::CppFunction::makeFallthrough() to DispatchKey::Autograd."
)


def _warn(name: str) -> None:
    warnings.warn(_WARNING % name, stacklevel=2)


class WarnNotImplemented(torch.autograd.Function):
    """What a kernel made without a graph, though an argument requires a gradient: its gradient is none."""

    @staticmethod
    def forward(ctx: Any, name: str, result: Any, *tensors: Any) -> Any:
        ctx.name = name
        return result.detach()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        _warn(ctx.name)
        return (None,) * len(ctx.needs_input_grad)


def marked(name: str, result: Any, tensors: list[Any]) -> Any:
    """The result of a call with these tensors, with the warning at each of its tensors that has a dtype for gradients
    and is no argument."""
    if isinstance(result, (tuple, list)):
        return type(result)(marked(name, t, tensors) for t in result)
    if not isinstance(result, torch.Tensor) or any(result is t for t in tensors):
        return result
    if not (result.is_floating_point() or result.is_complex()):
        return result
    if not result.requires_grad:
        return WarnNotImplemented.apply(name, result, *tensors)
    result.register_hook(lambda grad: _warn(name))
    return result
