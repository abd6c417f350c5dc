"""ExpandedWeight, and the layers that take it."""

from __future__ import annotations

import functools
from typing import Any

import torchlite as torch
from torchlite import Tensor
from torchlite.autograd._node import as_leaf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class ExpandedWeight(torch.Tensor):
    """A weight of which each sample of a batch has a copy; layers take it as if it were the weight itself."""

    batch_size: int
    orig_weight: Tensor
    loss_reduction: str
    samples_first = True  # recurrent layers put them there

    def __new__(cls, orig_weight: Any, batch_size: int, loss_reduction: str) -> ExpandedWeight:
        if not isinstance(orig_weight, Tensor):
            raise RuntimeError("Can only make Expanded Weights of Tensors, got %s" % type(orig_weight).__name__)
        if not orig_weight.requires_grad:
            raise RuntimeError("Can only build ExpandedWeights objects of tensors that requires_grad")
        made: Any = torch.Tensor._make_subclass(cls, orig_weight, True)
        return made

    def __init__(self, orig_weight: Tensor, batch_size: int, loss_reduction: str) -> None:
        self.batch_size, self.orig_weight, self.loss_reduction = batch_size, orig_weight, loss_reduction
        self.batch_first, self.allow_smaller_batches = True, False

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        check = _layers().get(func)
        if check is not None:
            return _PerSample.apply(tuple(kwargs), func, *args, *kwargs.values())
        if func in _recurrent():  # what they are made of has the gradients
            packed = isinstance(args[3], (list, tuple))
            return func.overloads[packed].spec.body(*args)
        field: Any = getattr(func, "__self__", None)
        if getattr(func, "__name__", "") == "__get__" and getattr(field, "__name__", "") in _FIELDS:
            return getattr(args[0].orig_weight, field.__name__)
        if func in (torch.Tensor.data_ptr, torch.Tensor.get_device):
            return func(args[0].orig_weight)
        raise RuntimeError("Expanded Weights encountered but cannot handle function %s" % func.__name__)

    def set_allow_smaller_batches(self, is_allow_smaller_batches: bool) -> None:
        """Whether inputs may have fewer samples than the weight."""
        self.allow_smaller_batches = is_allow_smaller_batches

    def set_batch_first(self, is_batch_first: bool = True) -> None:
        """Whether samples are in dim 0 of an input, not in dim 1."""
        self.batch_first = is_batch_first


_FIELDS = ("dtype", "data", "shape", "device", "is_cuda")


def _check_linear(func: Any, args: Any) -> None:
    if len(args[0].shape) < 2:
        raise RuntimeError(
            "Input does not have a batch dimension. Expanded Weights expected input of at least rank 2, got of rank %d"
            % len(args[0].shape)
        )


def _check_conv(dims: int, func: Any, args: Any) -> None:
    if len(args[0].shape) != dims + 2:
        raise RuntimeError(
            "Expanded Weights only support convolution with batched input, got %s with an"
            "unbatched input of dim %d, expected input of dim %d" % (func, len(args[0].shape), dims + 2)
        )


def _check_embedding(func: Any, args: Any) -> None:
    if len(args[0].shape) == 1:
        raise RuntimeError("Expanded Weights needs an input with a batch size, got a 1D tensor, %s" % (args[0],))


def _check_layer_norm(func: Any, args: Any) -> None:
    if len(args[0].shape) <= len(args[1]):
        raise RuntimeError(
            "Expanded Weights: Layer norm should not normalize over batch dimension for per sample gradient"
            "computations but got that normalized shape, %s, matched input shape." % (args[1],)
        )


def _no_check(func: Any, args: Any) -> None:
    """Its forward checks all."""


@functools.lru_cache(None)
def _layers() -> dict[Any, Callable[[Any, Any], None]]:
    """{function: its check of the arguments}."""
    F: Any = torch.nn.functional
    convs = {getattr(F, "conv%dd" % n): functools.partial(_check_conv, n) for n in (1, 2, 3)}
    return {
        F.linear: _check_linear,
        F.embedding: _check_embedding,
        F.layer_norm: _check_layer_norm,
        F.group_norm: _no_check,
        F.instance_norm: _no_check,
        **convs,
    }


@functools.lru_cache(None)
def _recurrent() -> tuple[Any, ...]:
    return torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu


def _call(func: Any, names: tuple[str, ...], values: Any) -> Tensor:
    """func(*values), the last ones by name."""
    at = len(values) - len(names)
    return func(*values[:at], **dict(zip(names, values[at:])))


def _copied(value: Any) -> Any:
    """What a second run of a layer may change: running statistics."""
    return value.clone() if isinstance(value, Tensor) and not isinstance(value, ExpandedWeight) else value


class _PerSample(torch.autograd.Function):
    """A layer whose backward fills grad_sample of its expanded weights."""

    @staticmethod
    def forward(ctx: Any, names: tuple[str, ...], func: Any, *values: Any) -> Tensor:
        from .expanded_weights_utils import forward_helper

        at = len(values) - len(names)
        _layers()[func](func, values)
        ctx.names, ctx.func, ctx.values = names, func, values
        ctx.rest = [_copied(v) for v in values[1:]]
        return forward_helper(func, values[:at], dict(zip(names, values[at:])))

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        from .expanded_weights_utils import set_grad_sample_if_exists

        values = [ctx.values[0], *ctx.rest]
        weights = [i for i, v in enumerate(values) if isinstance(v, ExpandedWeight)]
        found = _sample_gradients(ctx.func, ctx.names, values, weights, grad)
        for i, v in enumerate(ctx.values[1:], 1):
            if i in weights or isinstance(v, Tensor) and v.requires_grad:
                set_grad_sample_if_exists(v, lambda _: found.get(i))
        given = None
        if ctx.needs_input_grad[2]:
            plain = [v.orig_weight.detach() if isinstance(v, ExpandedWeight) else _copied(v) for v in values]
            with torch.enable_grad():
                plain[0] = as_leaf(values[0].detach())
                (given,) = torch.autograd.grad(_call(ctx.func, ctx.names, plain), plain[0], grad)
        return None, None, given, *[None] * (len(values) - 1)


def _sample_gradients(
    func: Any, names: tuple[str, ...], values: list[Any], weights: list[int], grad: Tensor
) -> dict[int, Tensor]:
    """The gradients of the weights at these positions, of each sample."""
    dim = 0 if values[weights[0]].batch_first else 1
    found: list[Any] = []
    for sample in range(values[0].shape[dim]):
        plain = [_copied(v) for v in values]
        plain[0] = values[0].detach().narrow(dim, sample, 1)
        leaves = [as_leaf(values[i].orig_weight.detach()) for i in weights]
        for i, leaf in zip(weights, leaves):
            plain[i] = leaf
        with torch.enable_grad():
            result = _call(func, names, plain)
        found.append(torch.autograd.grad(result, leaves, grad.narrow(dim, sample, 1)))
    return {i: torch.stack(each) for i, each in zip(weights, zip(*found))}
