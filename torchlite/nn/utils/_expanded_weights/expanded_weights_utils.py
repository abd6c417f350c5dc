"""What layers with expanded weights check, run and keep."""

from __future__ import annotations

from typing import Any

import torchlite as torch
from torchlite import Tensor

from .expanded_weights_impl import ExpandedWeight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def is_batch_first(expanded_args_and_kwargs: Any) -> bool | None:
    """Whether the expanded weights have samples in dim 0; None without any."""
    found = {arg.batch_first for arg in expanded_args_and_kwargs if isinstance(arg, ExpandedWeight)}
    if len(found) > 1:
        raise RuntimeError("Got conflicting batch_first arguments in the same layer")
    return found.pop() if found else None


def standard_kwargs(kwarg_names: Any, expanded_args: Any) -> tuple[Any, dict[str, Any]]:
    """(positional arguments, keywords) of arguments of which the last ones have these names."""
    at = len(expanded_args) - len(kwarg_names)
    return expanded_args[:at], dict(zip(kwarg_names, expanded_args[at:]))


def _plain(arg: Any) -> Any:
    return arg.orig_weight if isinstance(arg, ExpandedWeight) else arg


def forward_helper(func: Any, expanded_args: Any, expanded_kwargs: dict[str, Any]) -> Any:
    """func with the weights themselves, after a look at the batch size and the reductions. The first argument is the
    input, whose first dim is that of the samples."""
    _check_input(func, expanded_args[0])
    weights = [a for a in (*expanded_args, *expanded_kwargs.values()) if isinstance(a, ExpandedWeight)]
    for weight in weights:
        samples = expanded_args[0].shape[0 if weight.batch_first else 1]
        if samples > weight.batch_size or samples < weight.batch_size and not weight.allow_smaller_batches:
            raise RuntimeError(
                "Expected ExpandedWeights to have batch size matching input but got "
                "input batch size of %d with ExpandedWeight of batch size %d" % (samples, weight.batch_size)
            )
    for weight in weights:
        if weight.loss_reduction != weights[0].loss_reduction:
            raise RuntimeError(
                "Expected ExpandedWeights to all have the same loss_reduction argument but got one"
                "with %s and one with %s" % (weights[0].loss_reduction, weight.loss_reduction)
            )
    return func(*map(_plain, expanded_args), **{k: _plain(v) for k, v in expanded_kwargs.items()})


def _check_input(func: Any, given: Any) -> None:
    name = func.__name__
    if isinstance(given, ExpandedWeight):
        raise RuntimeError(
            "Expanded Weights do not support inputs that are also ExpandedWeights. "
            "Input must be a Tensor, got %s in function %s" % (type(given).__name__, name)
        )
    if not isinstance(given, Tensor):
        raise RuntimeError(
            "Expanded Weights requires a Tensor as the first input to get the batch dimension, "
            "got %s in function %s" % (type(given).__name__, name)
        )
    if not given.dim():
        raise RuntimeError(
            "Expanded Weights requires a batch dimension but got an input of size 0 in function %s" % name
        )
    if not given.shape[0]:
        raise RuntimeError(
            "0 is not a valid batch size for Expanded Weights but got input tensor of %s in function %s" % (given, name)
        )


def maybe_scale_by_batch_size(grad_sample: Tensor, expanded_weight: ExpandedWeight) -> Tensor:
    """A mean over the samples divided each one's gradient by their number."""
    return grad_sample * expanded_weight.batch_size if expanded_weight.loss_reduction == "mean" else grad_sample


def set_grad_sample_if_exists(maybe_expanded_weight: Any, per_sample_grad_fn: Callable[[Any], Any]) -> None:
    """Adds per_sample_grad_fn(weight) to the weight's grad_sample, if it is an expanded one."""
    weight: Any = unpack_expanded_weight_or_tensor(maybe_expanded_weight)
    if not isinstance(maybe_expanded_weight, ExpandedWeight):
        return
    found = maybe_scale_by_batch_size(per_sample_grad_fn(weight), maybe_expanded_weight)
    missing = maybe_expanded_weight.batch_size - found.shape[0]
    if missing > 0:
        found = torch.cat([found, found.new_zeros((missing, *found.shape[1:]))])
    old = getattr(weight, "grad_sample", None)
    weight.grad_sample = found if old is None else old + found


def unpack_expanded_weight_or_tensor(maybe_expanded_weight: Any, func: Callable[[Any], Any] = lambda x: x) -> Any:
    """func of the weight itself; None for what is no tensor. A RuntimeError for a weight that is not expanded."""
    if isinstance(maybe_expanded_weight, ExpandedWeight):
        return func(maybe_expanded_weight.orig_weight)
    if not isinstance(maybe_expanded_weight, Tensor):
        return None
    if maybe_expanded_weight.requires_grad:
        raise RuntimeError(
            "ExpandedWeights currently does not support a mixture of ExpandedWeight parameters "
            "and normal Parameters. Please file and issue with pytorch/pytorch"
        )
    return func(maybe_expanded_weight)


def sum_over_all_but_batch_and_last_n(tensor: Tensor, n_dims: int) -> Tensor:
    """The sum over all dims but the first one and the last n_dims."""
    between = range(1, tensor.dim() - n_dims)
    return tensor.sum(dim=list(between)) if between else tensor
