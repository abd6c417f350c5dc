"""torch.nested: batches of tensors of different sizes, in the layouts strided and jagged (_tensor.py, _ops.py)."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from .._core import absent as _absent

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]

_PROTOTYPE = (
    "The PyTorch API of nested tensors is in prototype stage and will change in the near future. We recommend "
    "specifying layout=torch.jagged when constructing a nested tensor, as this layout receives active development, has "
    "better operator coverage, and works with torch.compile."
)


def _refuse_layout(layout: Any) -> RuntimeError:
    return RuntimeError("Specified layout is unsupported for nested tensors: %s" % layout)


def _check_dims(parts: list[Any], name: str) -> None:
    for i in range(1, len(parts)):
        if parts[i].dim() != parts[i - 1].dim():
            raise RuntimeError(
                "All Tensors given to %s must have the same dimension. Found dimension %d for Tensor at index %d and "
                "dimension %d for Tensor at index %d." % (name, parts[i].dim(), i, parts[i - 1].dim(), i - 1)
            )


def _converted(parts: list[Any], dtype: Any, device: Any) -> list[Any]:
    first = parts[0] if parts else torch.empty(0)
    dtype, device = dtype or first.dtype, device if device is not None else first.device
    return [p.to(dtype=dtype, device=device) for p in parts]


def _as_tensor(x: Any, dtype: Any) -> Any:
    return x if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=dtype)


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Any:
    """A nested tensor of a list of tensors, or of a tensor's slices; gradients flow back to them."""
    from . import _tensor as _t

    layout = torch.strided if layout is None else layout
    if isinstance(ts, _t.Nested):
        if ts.layout is not layout:
            raise RuntimeError("as_nested_tensor(): Converting between nested tensor layouts is not supported")
        return ts.to(device=ts.device if device is None else device, dtype=dtype or ts.dtype)
    whole = isinstance(ts, torch.Tensor)
    if not whole and not (isinstance(ts, (list, tuple)) and all(isinstance(t, torch.Tensor) for t in ts)):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    if whole and ts.dim() < 2:
        raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
    if layout not in (torch.strided, torch.jagged):
        raise _refuse_layout(layout)
    if whole:
        own = ts
        ts = ts.to(dtype=dtype or ts.dtype, device=ts.device if device is None else device).contiguous()
        if layout is torch.strided:
            made = _t.packed(ts.view(-1), [ts.shape[1:]] * ts.shape[0])
        else:
            cache = {"max_seqlen": ts.shape[1], "min_seqlen": ts.shape[1]}
            offsets = _t.offsets_of([ts.shape[1]] * ts.shape[0], ts.device)
            made = _t.jagged(ts.flatten(0, 1), offsets, None, 1, cache)
        if ts is own:
            made._source = own
        return made
    parts = _converted(list(ts), dtype, device)
    if layout is torch.strided:
        _check_dims(parts, "nested_tensor")
        return _t.from_parts(parts)
    return _jagged_of(parts)


def _jagged_of(parts: list[Any]) -> Any:
    from . import _tensor as _t

    if not parts:
        raise RuntimeError("Cannot construct a nested tensor from an empty list of tensors")
    if len({p.dim() for p in parts}) > 1 or parts[0].dim() == 0:
        raise RuntimeError(
            "When constructing a nested tensor, all tensors in list must have the same dim and at least one"
        )
    return _t.joined(parts, ragged=None)


def nested_tensor(
    tensor_list: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A nested tensor with copies of the tensors (or lists of numbers) of a list; a leaf of autograd."""
    layout = torch.strided if layout is None else layout
    if layout not in (torch.strided, torch.jagged):
        raise _refuse_layout(layout)
    if not isinstance(tensor_list, (list, tuple)):
        raise TypeError("Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor")
    if layout is torch.strided:
        torch._C.warn_once(_PROTOTYPE)
    if dtype is None and tensor_list and not isinstance(tensor_list[0], torch.Tensor):
        dtype = _as_tensor(tensor_list[0], None).dtype
    parts = [_as_tensor(t, dtype).detach() for t in tensor_list]
    made = as_nested_tensor(parts, dtype, device, layout)
    made._values = made._values.detach().clone() if len(parts) == 1 else made._values
    return made.requires_grad_(requires_grad) if requires_grad else made


def to_padded_tensor(input: Any, padding: float, output_size: Any = None, out: Any = None) -> Any:
    """A dense tensor of the largest size in each dim, or of `output_size`, with `padding` where a part is smaller."""
    return input.to_padded_tensor(padding, output_size)


def narrow(tensor: Any, dim: int, start: Any, length: Any, layout: Any = None) -> Any:
    """The pieces tensor[i, start[i] : start[i] + length[i]] as a nested tensor, which shares memory if it is jagged."""
    from . import _tensor as _t

    layout = torch.strided if layout is None else layout
    if not isinstance(start, (int, torch.Tensor)):
        raise RuntimeError("start must be an integer or a tensor")
    if not isinstance(length, (int, torch.Tensor)):
        raise RuntimeError("length must be an integer or a tensor")
    if layout is torch.strided:
        if isinstance(start, torch.Tensor) or isinstance(length, torch.Tensor):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        return as_nested_tensor(list(torch.unbind(torch.narrow(tensor, dim, start, length))), layout=torch.strided)
    if layout is not torch.jagged:
        raise RuntimeError("Specified layout is unsupported for nested narrow: %s" % layout)
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    batch, extent = tensor.shape[:2]

    def each(n: Any) -> Any:
        n = torch.as_tensor(n, dtype=torch.int64, device=tensor.device)
        return n.expand(batch) if n.dim() == 0 else n

    starts, lengths = each(start), each(length)
    rows = torch.arange(0, batch, device=tensor.device) * extent
    values = tensor.flatten(0, 1)
    begins = rows + starts
    full = bool((starts[1:] == 0).all()) and bool((starts[:-1] + lengths[:-1] == extent).all())
    if full:
        ends = torch.cat((begins, (begins[-1] + lengths[-1]).reshape(1)))
        made = _t.jagged(values[int(begins[0]) : int(ends[-1])], ends - begins[0])
    else:
        made = _t.jagged(values, torch.cat((begins, (begins[-1] + lengths[-1]).reshape(1))), lengths.contiguous())
    made._source = tensor if tensor._base is None else tensor._base
    return made


def nested_tensor_from_jagged(
    values: Any,
    offsets: Any = None,
    lengths: Any = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Any:
    """A jagged tensor of values that are joined already, of which offsets say where each part begins. It shares their
    memory. lengths: how much of the place between two offsets a part has."""
    from . import _tensor as _t

    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
        lengths = None
    cache: dict[str, Any] = {}
    if min_seqlen is not None:
        cache["min_seqlen"] = min_seqlen
    if max_seqlen is not None:
        cache["max_seqlen"] = max_seqlen
    made = _t.jagged(values, offsets, lengths, 1 if jagged_dim is None else jagged_dim, cache)
    made._source = values if values._base is None else values._base
    return made


def masked_select(tensor: Any, mask: Any) -> Any:
    """The elements of each row where `mask` is true, as a jagged tensor."""
    from . import _tensor as _t

    if tensor.layout is not torch.strided or tensor.is_nested:
        raise RuntimeError("torch.nested.masked_select requires a strided tensor, but got %s" % tensor.layout)
    if mask.layout is not torch.strided or mask.is_nested:
        raise RuntimeError("torch.nested.masked_select requires a strided mask, but got: %s" % mask.layout)
    chosen = torch.broadcast_to(mask, tensor.shape) if mask.dim() != tensor.dim() else mask
    values = torch.masked_select(tensor, chosen)
    lengths = chosen.expand(tensor.shape).sum(-1).flatten()
    return _t.jagged(values, torch.nn.functional.pad(lengths.cumsum(0), (1, 0)))


__getattr__ = _absent.of(__name__)
