"""Tensor.__getitem__ and __setitem__ beyond the native fast path: history, index tensors, masks, lists.

An index is first applied as views (int, slice, None, Ellipsis, bool);
what is left, one entry or None per dim, goes to the ops `index` and `index_put_`.
"""

from __future__ import annotations


import torchlite as torch

from .. import _C
from . import dispatch_modes as _modes
from .from_data import type_name
from .tensor import Tensor, _torch_function as _ask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


_grad_mode = _C.is_grad_enabled
_overrides = _C.overrides


def _items(index: Any) -> tuple[Any, ...]:
    """The index as a tuple; a list counts as an index tensor."""
    return index if isinstance(index, tuple) else (index,)


def _as_tensor(x: Any, device: Any) -> Tensor:
    """An index that is no number, slice or the like as a tensor;
    sequences give int64 whatever they hold, but for masks."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, (str, bytes)):
        raise TypeError("new(): invalid data type '%s'" % type(x).__name__)
    if _C.is_ndarray(x):
        t = torch.as_tensor(x)
        return t if t.dtype in _MASKS else t.to(torch.int64)
    if not hasattr(x, "__getitem__") or not hasattr(x, "__len__") or hasattr(x, "keys"):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got %s)"
            % type_name(x)
        )
    if not len(x):
        return torch.empty(0, dtype=torch.int64, device=device)
    t = torch.tensor(x if isinstance(x, (list, tuple)) else list(x), device=device)
    return t if t.dtype in _MASKS else t.to(torch.int64)


_MASKS = (torch.bool, torch.uint8)


def _width(x: Any) -> int:
    """Dims that an entry consumes."""
    if x is None or x is Ellipsis or isinstance(x, bool):
        return 0
    if isinstance(x, Tensor) and x.dtype in (torch.bool, torch.uint8):
        return x.dim()
    if hasattr(x, "__array_interface__") and getattr(x, "dtype", None) == "bool":
        return x.ndim
    if isinstance(x, list):
        y: Any = x
        depth = 0
        while isinstance(y, list):
            depth, y = depth + 1, y[0] if y else None
        return depth if isinstance(y, bool) else 1
    return 1


def _bound(v: Any) -> int | None:
    if v is None or isinstance(v, int):
        return v
    if not hasattr(v, "__index__"):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return v.__index__()


def _views(t: Tensor, index: Any, writing: bool = False) -> tuple[Tensor, list[Tensor | None]]:
    """(view of t, list of index tensors or None per dim; empty when none is left).
    A slice of all is t itself, but a lone one to read."""
    items = _items(index)
    used = sum(_width(x) for x in items)
    if used > t.dim():
        if not t.dim() and isinstance(index, (int, slice)) and not _modes.stack:
            t.detach()[index]  # raises with the words for one index
        raise IndexError("too many indices for tensor of dimension %d" % t.dim())
    if not any(x is Ellipsis for x in items):
        items = items + (Ellipsis,)
    rest: list[Tensor | None] = []
    dim, ndim = 0, t.dim()
    for x in items:
        if x is None:
            t = t.unsqueeze(dim)
            rest.append(None)
            dim += 1
        elif x is Ellipsis:
            skip = ndim - used
            rest.extend([None] * skip)
            dim += skip
        elif isinstance(x, bool):
            t = t.unsqueeze(dim)
            rest.append(_all_or_nothing(x, t.device))
            dim += 1
        elif isinstance(x, slice):
            start, stop, step = _bound(x.start), _bound(x.stop), _bound(x.step)
            if step is not None and step <= 0:
                raise ValueError("step must be greater than zero")
            all_ = (
                (writing or index is not x)
                and not start
                and step in (None, 1)
                and (stop is None or stop >= t.size(dim))
            )
            if not all_:
                if _modes.stack:  # these see the numbers
                    start, stop = 0 if start is None else start, 2**63 - 1 if stop is None else stop
                t = _slice(t, dim, start, stop, 1 if step is None else step)
            rest.append(None)
            dim += 1
        elif (
            not isinstance(x, (Tensor, list, tuple, range))
            and hasattr(x, "__index__")
            and not isinstance(x, bool)
            and not hasattr(x, "__array_interface__")
            or _is_int_scalar(x)
        ):
            i, size = x.__index__(), t.size(dim)
            if not -(2**63) <= i < 2**63:
                raise ValueError("Overflow when unpacking long long")
            if not -size <= i < size:
                raise IndexError("index %d is out of bounds for dimension %d with size %d" % (i, dim, size))
            t = t.select(dim, i)
        else:
            x = _as_tensor(x, t.device)
            if x.dtype.is_floating_point or x.dtype.is_complex:
                raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
            rest.append(x)
            if x.dtype in (torch.bool, torch.uint8):
                if x.dim() == 0:
                    t = t.unsqueeze(dim)
                    rest[-1] = _all_or_nothing(bool(x), t.device)
                    dim += 1
                else:
                    dim += x.dim()
            else:
                dim += 1
    while rest and rest[-1] is None:
        rest.pop()
    return t, rest


def _all_or_nothing(index: bool, device: Any) -> Tensor:
    """A bool without dims as an index of the dim of size 1 that was put there for it."""
    return torch.zeros(1 if index else 0, dtype=torch.int64, device=device)


def _warn_of_bytes(rest: Sequence[Tensor | None]) -> None:
    for x in rest:
        if x is not None and x.dtype is torch.uint8:
            import warnings

            warnings.warn(
                "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
                UserWarning,
                stacklevel=3,
            )


def _one_mask(rest: Any) -> Any:
    masks = [x for x in rest if x is not None]
    return len(masks) == 1 and masks[0].dtype in (torch.bool, torch.uint8)


def _is_int_scalar(x: Any) -> bool:
    if isinstance(x, Tensor):
        return (
            x.dim() == 0
            and x.dtype not in (torch.bool, torch.uint8)
            and not x.dtype.is_floating_point
            and not x.dtype.is_complex
            and not (x._dispatches and _modes.is_mapped(x))  # another number for each example of a vmap
        )
    return getattr(x, "ndim", None) == 0 and getattr(getattr(x, "dtype", None), "kind", "") in "iu"


def _slice(t: Tensor, dim: int, start: int | None, stop: int | None, step: int) -> Tensor:
    return torch.ops.functions.slice(t, dim, start, stop, step)


def _plain_sequence(index: Any) -> bool:
    """PyTorch treats a short sequence that holds slices, None, Ellipsis, tensors or sequences as a tuple."""
    if (
        isinstance(index, (tuple, Tensor, int, slice))
        or not hasattr(index, "__getitem__")
        or not hasattr(index, "__len__")
        or hasattr(index, "keys")
        or _C.is_ndarray(index)
        or _C.is_number(index)
        or len(index) >= 32
    ):
        return False
    if not any(
        isinstance(x, (slice, Tensor))
        or x is None
        or x is Ellipsis
        or hasattr(x, "__getitem__")
        and not _C.is_number(x)
        for x in index
    ):
        return False
    import warnings

    warnings.warn(
        "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch "
        "2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
        "x[torch.tensor(seq)], which will result either in an error or a different result",
        UserWarning,
        stacklevel=3,
    )
    return True


def getitem(t: Any, index: Any) -> Any:
    if _overrides(t, index):
        return _ask(Tensor.__getitem__, (t, index), {})
    if _plain_sequence(index):
        index = tuple(index)
    view, rest = _views(t, index)
    if rest:
        _warn_of_bytes(rest)
        return torch.ops.functions.index(view, rest)
    return torch.ops.functions.alias(view) if view is t else view


def _number(value: Any, t: Tensor) -> Tensor:
    """A number that is to be written to t, as a tensor; anything else is an error."""
    if isinstance(value, (bool, float, complex)) or hasattr(value, "__index__") and not _C.is_ndarray(value):
        if not isinstance(value, (float, complex)):
            value = value.__index__() if not isinstance(value, bool) else value
            if not -(2**63) <= value < 2**63:
                raise ValueError("Overflow when unpacking long long")
        if _modes.stack:  # made of data: no mode sees how, only what comes of it
            with _modes.DisableTorchDispatch():
                made = torch.scalar_tensor(value, dtype=t.dtype, device="cpu")
            return _modes.lift(made)
        return torch.scalar_tensor(value, dtype=t.dtype, device="cpu")
    raise TypeError("can't assign a %s to a torch.%s" % (type_name(value), t.type().partition(".")[2]))


def _without_leading_ones(x: Tensor) -> Tensor:
    """As in numpy, leading dims of size 1 of what is written do not count."""
    n = 0
    for size in x.shape:
        if size != 1:
            break
        n += 1
    return x.view(x.shape[n:]) if n else x


def _copy_to(view: Tensor, value: Tensor) -> None:
    if value.shape != view.shape:
        if not value.dim() and value.device.type == "cpu":
            view.fill_(value)
            return
        value = _without_leading_ones(value).expand(view.shape)
    view.copy_(value)


def setitem(t: Tensor, index: Any, value: Any) -> Any:
    if _overrides(t, index, value):
        return _ask(Tensor.__setitem__, (t, index, value), {})
    plain = type(value) is float or type(value) is int and -(2**63) <= value < 2**63
    if not plain and not isinstance(value, Tensor):
        value = _number(value, t)
    if index is False:
        if plain:
            _number(value, t)  # an error where t has no room for it
        return
    if index is True:
        index = None
    if _plain_sequence(index):
        index = tuple(index)
    if plain and _modes.stack:  # as a tensor, which they see
        value, plain = _number(value, t), False
    view = None
    rest: Sequence[Tensor | None] = ()
    if not (
        _modes.stack
        or t._dispatches
        or _C.forward_ad(None)
        or _grad_mode()
        and (t.requires_grad or not plain and value.requires_grad)
    ):
        view = _C.basic_index(t, index)
    if view is None:
        view, rest = _views(t, index, writing=True)
    if plain:
        if not rest:
            _C.check_overlap(view)  # fill_ would write to an expanded tensor
            try:
                view.fill_(value)
                return
            except RuntimeError:  # a tensor of one element takes other numbers, and refuses with other words
                pass
        value = _number(value, t)
    if not rest:
        _copy_to(view, value)
        return
    value = _without_leading_ones(value)
    if value.numel() != 1 or not _one_mask(rest):
        if t.device.type != "cpu":  # the core's kernel warns itself
            _warn_of_bytes(rest)
    elif value.dtype is not t.dtype and t.device.type != "cpu":
        value = value.to(t.dtype)
    torch.ops.functions.index_put_(view, rest, value)


_C.register("getitem", getitem)
_C.register("setitem", setitem)
