"""What the masked functions share: dims, the mask in the shape and layout of the input, and the values that count for
nothing in a reduction."""

from __future__ import annotations

import sys
from typing import Any

import torchlite as torch

from .. import _C

_ROOT = {"sum": 0, "cumsum": 0, "prod": 1, "cumprod": 1}
_LARGEST = frozenset(("amax", "argmax", "logaddexp", "logsumexp"))
_SMALLEST = frozenset(("amin", "argmin"))
_REDUCTIONS = frozenset("sum prod amax amin argmax argmin mean median norm var std logsumexp".split())
_NORMALIZATIONS = frozenset("softmax log_softmax softmin normalize cumsum cumprod".split())


def is_masked_tensor(x: Any) -> bool:
    """Whether `x` is a MaskedTensor; nothing is while nobody has imported their class."""
    core = sys.modules.get("torchlite.masked.maskedtensor.core")
    return core is not None and isinstance(x, core.MaskedTensor)


def _canonical_dim(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dims of a reduction, sorted and not negative; None and () are all of them."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    found: list[int] = []
    for d in dim if isinstance(dim, (tuple, list)) else (dim,):
        if d in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        found.append(_C.wrap_dim(d, ndim))
    return tuple(sorted(found))


def _number(value: Any, dtype: Any, like: Any) -> Any:
    return torch.tensor(value, dtype=dtype, device=like.device)


def _end(input: Any, sign: int) -> Any:
    """The largest or smallest number of a dtype, as a tensor; None where the dtype has no order."""
    dtype = input.dtype
    if dtype.is_floating_point:
        return _number(sign * float("inf"), dtype, input)
    if dtype.is_signed or dtype is torch.uint8:
        limits = torch.iinfo(dtype)
        return _number(limits.max if sign > 0 else limits.min, dtype, input)
    return None


def _reduction_identity(op_name: str, input: Any, *args: Any) -> Any:
    """The value, a 0-d tensor of the input's dtype and device, that leaves a reduction as it is. None where it has
    none (mean, var, std); NotImplementedError for other operations and dtypes. args: those of norm, its ord first."""
    name = op_name.rsplit(".", 1)[-1]
    made = None
    if name in _ROOT:
        return _number(_ROOT[name], input.dtype, input)
    if name == "logsumexp" and input.dtype.is_complex:
        return _number(complex(-float("inf"), 0.0), input.dtype, input)
    if name in _LARGEST:
        made = _end(input, -1)
    elif name in _SMALLEST:
        made = _end(input, 1)
    elif name in ("mean", "var", "std"):
        return None
    elif name == "norm":
        if args and args[0] == -float("inf"):
            assert input.dtype.is_floating_point, f"input must be floating point, got {input.dtype}"
            return _number(float("inf"), input.dtype, input)
        return _number(0, input.dtype, input)
    elif name == "median":
        return _number(float("nan"), input.dtype if input.dtype.is_floating_point else torch.float32, input)
    if made is None:
        raise NotImplementedError(f"identity of {op_name} on {input.dtype} input")
    return made


def _broadcast(mask: Any, shape: Any) -> Any:
    if mask.layout is torch.strided:
        return torch.broadcast_to(mask.clone(), shape).to(dtype=torch.bool)
    wide = torch.broadcast_to(mask.to_dense(), shape)
    return wide.to_sparse() if mask.layout is torch.sparse_coo else wide.to_sparse_csr()


def _in_layout(mask: Any, input: Any) -> Any:
    """The mask in the layout of the input."""
    if mask.layout is not input.layout:
        if input.layout is torch.strided:
            mask = mask.to_dense()
        elif input.layout is torch.sparse_csr:
            mask = mask.to_sparse_csr()
        elif mask.layout is torch.strided:
            mask = mask.to_sparse(input.sparse_dim())
        else:
            mask = mask.to_sparse()
    return mask.coalesce() if mask.layout is torch.sparse_coo else mask


def _input_mask(input: Any, *args: Any, **kwargs: Any) -> Any:
    """The argument mask= as a bool tensor of the shape and layout of the input. The mask broadcasts; it may be of any
    dtype and layout. ValueError without a mask, and for inputs that are not strided, COO or CSR."""
    if input.layout not in (torch.strided, torch.sparse_coo, torch.sparse_csr):
        raise ValueError(f"_input_mask expects strided or sparse COO or sparse CSR tensor but got {input.layout}")
    mask = kwargs.get("mask")
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if mask.shape != input.shape:
        if mask.ndim > input.ndim:
            raise IndexError(
                "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
            )
        mask = _broadcast(mask, input.shape)
    return _in_layout(mask, input).to(dtype=torch.bool)


def _any(input: Any, dim: Any, keepdim: bool) -> Any:
    """any() over several dims."""
    for d in reversed(dim):
        input = input.any(dim=d, keepdim=keepdim)
    return input


def _output_mask(op: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    """Which elements of op(input, *args, **kwargs) come from at least one element that is not masked out: a bool
    tensor of the result's shape. op: a masked reduction or normalisation, else ValueError."""
    if not callable(op):
        raise ValueError(f"_output_mask expected masked operation (got {type(op).__name__} object)")
    if op.__name__ in _NORMALIZATIONS:
        return _input_mask(input, *args, **kwargs)
    if op.__name__ not in _REDUCTIONS:
        raise ValueError(f"_output_mask expected masked operation (got callable {op.__module__}.{op.__name__})")
    rest = args[1:] if op.__name__ == "norm" else args
    dims = _canonical_dim(rest[0] if rest else kwargs.get("dim"), input.ndim)
    return _any(_input_mask(input, *args, **kwargs), dims, bool(kwargs.get("keepdim", False)))


def _where(mask: Any, input: Any, fill_value: Any) -> Any:
    """`input` where the mask is True, else `fill_value`. A sparse result has the indices at which the mask is True:
    elements that the input does not have are 0 there, and what is masked out is left out."""
    from . import _sparse

    if mask.layout is torch.strided:
        return torch.where(mask, input, fill_value)
    if mask.layout is torch.sparse_coo:
        return _sparse._sparse_coo_where(mask, input, fill_value)
    if mask.layout is torch.sparse_csr:
        return _sparse._sparse_csr_where(mask, input, fill_value)
    raise ValueError(f"_where expects strided or sparse COO or sparse CSR tensor but got {mask.layout}")


def _filled(op: Any, input: Any, mask: Any, args: tuple[Any, ...]) -> Any:
    if mask is None:
        return input
    canonical = _input_mask(input, mask=mask)
    if not callable(op):
        raise ValueError(f"_combine_input_and_mask expected masked operation (got {type(op).__name__} object)")
    return _where(canonical, input, _reduction_identity(op.__name__, input, *args))


class _Fill(torch.autograd.Function):
    """The data of a MaskedTensor with the identity of `op` where it is masked out. Its gradient is a MaskedTensor with
    the same mask."""

    @staticmethod
    def forward(ctx: Any, data: Any, mask: Any, op: Any, args: tuple[Any, ...]) -> Any:
        ctx.mask = mask
        return _filled(op, data.detach(), mask, args)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        from .maskedtensor.core import MaskedTensor

        data = g.get_data() if is_masked_tensor(g) else g
        return MaskedTensor._from_values(data, ctx.mask), None, None, None


def _combine_input_and_mask(op: Any, input: Any, mask: Any, *args: Any) -> Any:
    """`input` with the identity of `op` where it is masked out. A MaskedTensor is masked by its own mask."""
    if is_masked_tensor(input):
        return _Fill.apply(input.get_data(), input.get_mask(), op, args)
    return _filled(op, input, mask, args)
