"""vmap of torch.autograd.Function, by the names of PyTorch's module."""

from __future__ import annotations

from typing import Any

from .custom import VmapInfo

__all__ = ["CtxWithSavedTensors", "VmapInfo", "WrappedCtx", "reductify", "reductify_leaf"]


class WrappedCtx:
    """A ctx around another: attributes are read from and written to the one inside, but for its own."""

    _pt_reserved_attrs: tuple[str, ...] = ("_pt_reserved_attrs", "_pt_inner_ctx")

    def __init__(self, ctx: Any) -> None:
        if not isinstance(ctx, WrappedCtx):
            reserved = type(self)._pt_reserved_attrs
            for name in reserved:
                if hasattr(ctx, name):
                    raise RuntimeError(
                        f"PyTorch reserves the {reserved} field on ctx. Please name your fields on ctx something else "
                        "to avoid name collision."
                    )
        self._pt_inner_ctx = ctx

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_pt_inner_ctx"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self)._pt_reserved_attrs:
            self.__dict__[name] = value
        else:
            setattr(self._pt_inner_ctx, name, value)


class CtxWithSavedTensors(WrappedCtx):
    """A ctx with other saved tensors."""

    _pt_reserved_attrs = ("_pt_new_saved_tensors", *WrappedCtx._pt_reserved_attrs)

    def __init__(self, ctx: Any, new_saved_tensors: Any) -> None:
        super().__init__(ctx)
        self._pt_new_saved_tensors = new_saved_tensors

    @property
    def saved_tensors(self) -> Any:
        return self._pt_new_saved_tensors


def reductify_leaf(
    grad_input: Any, grad_input_bdim: int | None, input_bdim: int | None, batch_size: int, target_shape: Any = None
) -> Any:
    """A gradient with the batch dim of its input: summed over the batch if the input has none, expanded if only the
    input has one. Then it is summed to target_shape, the shape of one example."""
    if grad_input is None or grad_input_bdim is None and input_bdim is None:
        return grad_input
    if grad_input_bdim is not None and input_bdim is None:
        return grad_input.sum(grad_input_bdim)
    if grad_input_bdim is None:
        shape = list(grad_input.shape)
        shape.insert(input_bdim or 0, batch_size)
        grad_input, grad_input_bdim = grad_input.unsqueeze(input_bdim).expand(shape), input_bdim
    if target_shape is not None:
        grad_input = grad_input.movedim(grad_input_bdim, 0)
        more = grad_input.dim() - 1 - len(target_shape)
        if more > 0:
            grad_input = grad_input.flatten(1, more).sum(1)
        return grad_input.sum_to_size(batch_size, *target_shape).movedim(0, input_bdim)
    return grad_input.movedim(grad_input_bdim, input_bdim)


def reductify(
    grad_input: Any, grad_input_bdim: Any, input_bdim: Any, batch_size: int, target_shape_without_bdim_to_reduce_to=None
) -> Any:
    """reductify_leaf of each of the gradients."""
    if not isinstance(grad_input, tuple):
        grad_input, grad_input_bdim, input_bdim = (grad_input,), (grad_input_bdim,), (input_bdim,)
    shapes = target_shape_without_bdim_to_reduce_to or (None,) * len(grad_input)
    found = zip(grad_input, grad_input_bdim, input_bdim, shapes)
    return tuple(reductify_leaf(g, d, at, batch_size, shape) for g, d, at, shape in found)
