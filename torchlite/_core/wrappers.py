"""Tensors without memory of their own, of classes with a __torch_dispatch__: how they are made and copied."""

from __future__ import annotations

from typing import Any

from .. import _C
from . import device as _device, dispatch_modes as _modes
from .errors import cannot_require_grad

_WRAPPED = 3  # TL_WRAPPED of native/src/core/tl.h


def _dense(size: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [0] * len(size), 1
    for d in reversed(range(len(size))):
        strides[d] = step
        step *= max(size[d], 1)
    return tuple(strides)


def make(
    cls: type,
    size: Any,
    strides: Any = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    _extra_dispatch_keys: Any = None,
    storage_size: int | None = None,
    storage: Any = None,
) -> Any:
    """A wrapper of `cls`: it says that it has this size, these strides, dtype and device, and its class says what ops
    do. Reading its own numbers is an error. dispatch_sizes_strides_policy: "strides" or "sizes", which the class
    is asked for then (aten.sym_stride, aten.sym_size). It cannot be asked for the device and the layout."""
    if dispatch_device or dispatch_layout:
        raise NotImplementedError(
            "_make_wrapper_subclass(): torchlite asks no class for its device and layout; give them as arguments"
        )
    if dispatch_sizes_strides_policy not in (None, "strides", "sizes"):
        raise RuntimeError("Unknown sizes_strides_policy: %s" % dispatch_sizes_strides_policy)
    if _modes.handler_of(cls) is None:
        raise TypeError("Tensor must define __torch_dispatch__")
    if layout is not None and layout is not _device.strided:
        raise NotImplementedError(
            "_make_wrapper_subclass(): a wrapper of layout %s is not supported by torchlite; make it torch.strided"
            % layout
        )
    size = tuple(int(n) for n in size)
    strides = _dense(size) if strides is None else tuple(int(n) for n in strides)
    where = _device.device(device) if device is not None else _device.default()
    dtype = _C.get_default_dtype() if dtype is None else dtype
    offset = storage_offset or 0
    extent = 0 if 0 in size else 1 + offset + sum((n - 1) * s for n, s in zip(size, strides))
    nbytes = extent * dtype.itemsize if storage_size is None else storage_size
    code = _WRAPPED + {"cpu": 0, "webgpu": 1, "meta": 2}.get(where.type, 2)
    if storage is None:
        plain = _C.device_tensor(code, None, nbytes, dtype, size, strides, offset)
    else:
        plain = _C.tensor_from_storage(storage, dtype, offset, size, strides)
    t: Any = _modes.note(_C.TensorBase.__new__(cls, plain))
    if requires_grad:
        if not (dtype.is_floating_point or dtype.is_complex):
            raise cannot_require_grad()
        t.requires_grad = True
    t._asks_strides = dispatch_sizes_strides_policy is not None
    t._asks_sizes = dispatch_sizes_strides_policy == "sizes"
    return t


_ONLY_SAME_CLASS = (
    "The default implementation of __deepcopy__() for %(kind)s subclasses only works for subclass types that implement "
    "%(name)s() and for which %(what)s returns another instance of the same subclass. You should either properly "
    "implement %(name)s() for your subclass or override __deepcopy__() if it is intended behavior for %(name)s() to "
    "return an instance of a different type."
)


def check_new_empty(t: Any) -> None:
    """PyTorch copies a tensor of a subclass into what its new_empty() makes."""
    made = t.new_empty([])
    if type(made) is not type(t):
        raise RuntimeError(_ONLY_SAME_CLASS % {"kind": "non-wrapper", "name": "new_empty", "what": "that function"})


def deep_copy(t: Any, memo: dict[int, Any]) -> Any:
    """A wrapper's copy is what its class makes of clone(), with the fields of the old one copied."""
    import copy
    import copyreg

    made = t.clone()
    if type(made) is not type(t):
        raise RuntimeError(_ONLY_SAME_CLASS % {"kind": "wrapper", "name": "clone", "what": "cloning"})
    memo[id(t)] = made
    if t.requires_grad:
        made = made.detach() if made.grad_fn is not None else made
        made.requires_grad = True
    if t.grad is not None:
        made.grad = t.grad.__deepcopy__(memo)
    for name in copyreg._slotnames(type(t)):  # type: ignore[attr-defined]
        if hasattr(t, name) and not hasattr(made, name):
            setattr(made, name, copy.deepcopy(getattr(t, name), memo))
    for name, value in getattr(t, "__dict__", {}).items():
        made.__dict__[name] = copy.deepcopy(value, memo)
    memo[id(t)] = made
    return made
