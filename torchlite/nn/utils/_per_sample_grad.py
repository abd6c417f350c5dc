"""A module whose backward keeps the gradient of each sample."""

from __future__ import annotations

import functools
from typing import Any

import torchlite as torch

from ._expanded_weights.expanded_weights_impl import ExpandedWeight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["call_for_per_sample_grads"]


def call_for_per_sample_grads(
    module: torch.nn.Module, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True
) -> Callable[..., Any]:
    """The module as a function. backward() through it puts the gradients of the samples of its parameters into their
    field grad_sample, of shape (batch, *parameter). loss_reduction says how the loss sums up the samples: with "mean"
    they are multiplied by the batch size. Without batch_size it is that of the tensors in the arguments."""
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError("Expected loss_reduction argument to be sum or mean, got %s" % loss_reduction)
    if not isinstance(module, torch.nn.Module):
        raise RuntimeError("Module passed must be nn.Module, got %s" % type(module).__name__)
    if batch_size is not None and not isinstance(batch_size, int):
        raise RuntimeError("Batch size passed must be None or an integer, got %s" % type(batch_size).__name__)
    if batch_size is not None and batch_size < 1:
        raise RuntimeError("Batch size must be positive, got %d" % batch_size)
    for weight in module.parameters():
        if getattr(weight, "grad_sample", None) is not None:
            raise RuntimeError(
                "Current Expanded Weights accumulates the gradients, which will be incorrect for multiple "
                "calls without clearing gradients. Please clear out the grad_sample parameter of %s or "
                "post an issue to pytorch/pytorch to prioritize correct behavior" % weight
            )

    @functools.wraps(module.forward)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        samples = batch_size
        if samples is None:
            samples = _batch_size(args, kwargs, 0 if batch_first else 1)
        weights = {
            name: ExpandedWeight(weight, samples, loss_reduction) if weight.requires_grad else weight
            for name, weight in module.named_parameters()
        }
        return torch.func.functional_call(module, weights, args, kwargs)

    return wrapper


def _batch_size(args: Any, kwargs: Any, dim: int) -> int:
    from ...utils._pytree import tree_leaves

    found = None
    for arg in tree_leaves((args, kwargs)):
        if not isinstance(arg, torch.Tensor):
            continue
        if found not in (None, arg.shape[dim]):
            raise RuntimeError(
                "When computing batch size, found at least one input with batch size "
                "%s and one with batch size %s. Please specify it "
                "explicitly using the batch size kwarg in call_for_per_sample_grads" % (found, arg.shape[dim])
            )
        found = arg.shape[dim]
    if found is None:
        raise RuntimeError(
            "Unable to find a tensor in the passed args and kwargs. They may not be pytree-able "
            "and so ExpandedWeights cannot compute the batch size from the inputs. Please specify "
            "it explicitly"
        )
    return found
