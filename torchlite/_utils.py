"""Functions that pickles of tensors name: how a tensor is taken apart and built again."""

from __future__ import annotations

import contextvars

import torchlite as torch
from torchlite import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, SupportsIndex
    from ._types import DType, Device, Tensor


def _tensor_in(storage: Any, dtype: Any, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
    """A tensor over part of a storage. The numbers come from a file, so all of them are checked."""
    size, stride = tuple(size), tuple(stride)
    needed, count = offset + 1, 1
    for n, step in zip(size, stride):
        if n < 0 or step < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension or stride: {list(size)}, {list(stride)}"
            )
        needed += (n - 1) * step
        count *= n
    if (
        count
        and needed * dtype.itemsize > storage.nbytes()
        or offset < 0
        or count * dtype.itemsize >> 63
        or len(size) != len(stride)
    ):
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize "
            f"{dtype.itemsize} requiring a storage size of {needed * dtype.itemsize} are out of bounds for "
            f"storage of size {storage.nbytes()}"
        )
    return _C.tensor_from_storage(storage, dtype, offset, size, stride)


def _rebuild_tensor(storage: Any, storage_offset: Any, size: Any, stride: Any) -> Tensor:
    return _tensor_in(storage._untyped_storage, storage.dtype, storage_offset, size, stride)


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool,
    backward_hooks: dict[Any, Any],
    metadata: Any = None,
) -> Tensor:
    return _finish(_rebuild_tensor(storage, storage_offset, size, stride), requires_grad, backward_hooks, metadata)


def _rebuild_tensor_v3(
    storage: Any,
    storage_offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    backward_hooks: Any,
    dtype: DType | None,
    metadata: Any = None,
) -> Any:
    tensor = _tensor_in(storage._untyped_storage, dtype, storage_offset, size, stride)
    return _finish(tensor, requires_grad, backward_hooks, metadata)


def _finish(tensor: Tensor, requires_grad: bool, backward_hooks: dict[Any, Any], metadata: Any) -> Tensor:
    if metadata:
        tensor._conj_bit = bool(metadata.get("conj")) and tensor.is_complex()
        tensor._neg_bit = bool(metadata.get("neg"))
    if requires_grad:
        tensor.requires_grad = True
    if backward_hooks:
        tensor._backward_hooks = backward_hooks
    return tensor


def _rebuild_meta_tensor_no_storage(dtype: DType | None, size: Any, stride: Any, requires_grad: Any) -> Any:
    return torch.empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=requires_grad)


def _rebuild_wrapper_subclass(
    cls: Any, dtype: Any, size: Any, stride: Any, storage_offset: Any, layout: Any, device: Any, requires_grad: Any
) -> Any:
    """A tensor without memory of its own, whose class has a __torch_dispatch__; what it wraps comes with its state."""
    from ._core import wrappers

    return wrappers.make(cls, size, stride, storage_offset, None, dtype, layout, device, False, requires_grad)


def _rebuild_device_tensor_from_cpu_tensor(
    data: Any, dtype: DType | None, device: Device | str | int | None, requires_grad: Any
) -> Any:
    tensor = data.to(dtype=dtype, device=device)
    tensor.requires_grad = requires_grad
    return tensor


def _rebuild_device_tensor_from_numpy(
    data: Any, dtype: DType | None, device: Device | str | int | None, requires_grad: Any
) -> Any:
    return _rebuild_device_tensor_from_cpu_tensor(torch.from_numpy(data), dtype, device, requires_grad)


# While the object of a legacy file is built over storages that have no bytes yet: a list, to which tensors are added
# whose indices are looked at as they are made. They are left out then, and the object is built again.
_unread: contextvars.ContextVar[list[str] | None] = contextvars.ContextVar("unread", default=None)


def _too_early(kind: str) -> bool:
    waiting = _unread.get()
    if waiting is not None:
        waiting.append(kind)
    return waiting is not None


def _rebuild_sparse_tensor(layout: Any, data: Any) -> Any:
    """A tensor of a sparse layout of its parts: of COO (indices, values, size[, is_coalesced])."""
    if _too_early("sparse"):
        return torch.empty(0)
    if layout is torch.sparse_coo:
        indices, values, size, *sorted_ = data
        coalesced = sorted_[0] if sorted_ else None
        return torch.sparse_coo_tensor(indices, values, size, check_invariants=False, is_coalesced=coalesced)
    first, second, values, size = data
    return torch.sparse_compressed_tensor(first, second, values, size, layout=layout, check_invariants=False)


def _rebuild_nested_tensor(buffer: Any, sizes: Any, strides: Any, storage_offsets: Any) -> Any:
    """A nested tensor of layout strided of its values and of the places of its parts."""
    if _too_early("nested"):
        return torch.empty(0)
    from .nested import _tensor

    return _tensor.from_tables(buffer, sizes, strides, storage_offsets)


def _rebuild_njt(constructor_kwargs: dict[str, Any]) -> Any:
    """A nested tensor of layout jagged of its parts."""
    if _too_early("jagged"):
        return torch.empty(0)
    from .nested._tensor import NestedTensor

    return NestedTensor(**constructor_kwargs)


_rebuild_njt.__module__ = __package__ + ".nested._internal.nested_tensor"  # files name it so


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: dict[Any, Any]) -> Tensor:
    param = torch.nn.Parameter(data, requires_grad)
    if backward_hooks:
        param._backward_hooks = backward_hooks
    return param


def _rebuild_parameter_with_state(data: Any, requires_grad: Any, backward_hooks: Any, state: Any) -> Any:
    return _set_obj_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


def _rebuild_from_type_v2(func: Callable[..., Any], new_type: type, args: tuple[Any, ...], state: Any) -> Tensor:
    """A tensor of a subclass, or one with Python attributes."""
    result = func(*args)
    if type(result) is not new_type:
        result = result.as_subclass(new_type)
    # a subclass that defines __setstate__ itself gets the state as it is
    if getattr(type(result), "__setstate__", None) is not getattr(torch.Tensor, "__setstate__", None):
        result.__setstate__(state)
    else:
        _set_obj_state(result, state)
    return result


_rebuild_from_type_v2.__module__ = "torchlite._tensor"


def _get_obj_state(obj: Tensor) -> Any:
    """The Python attributes of a tensor: its __dict__, or (dict, slots), or an empty dict."""
    getstate = getattr(type(obj), "__getstate__", None)
    if (
        getstate is not None
        and getstate is not getattr(object, "__getstate__", None)
        and getstate is not getattr(torch.Tensor, "__getstate__", None)
    ):
        return obj.__getstate__()
    state = dict(getattr(obj, "__dict__", None) or {})
    slots = {}
    for cls in type(obj).__mro__:
        if cls is torch.Tensor:
            break
        names = cls.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if hasattr(obj, name):
                slots[name] = getattr(obj, name)
    return (state, slots) if slots else state


def _set_obj_state(obj: Tensor, state: Any) -> Tensor:
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    if isinstance(state, tuple) and len(state) != 2:
        raise RuntimeError(f"Invalid serialized state: {state}")
    for name, value in (attributes or {}).items():
        setattr(obj, name, value)
    for name, value in (slots or {}).items():
        setattr(obj, name, value)
    return obj


def _reduce_tensor(tensor: Tensor, proto: SupportsIndex) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What Tensor.__reduce_ex__ returns."""
    func, args = _reduce_plain(tensor)
    state = _get_obj_state(tensor)
    if type(tensor) is torch.Tensor and not state:
        return func, args
    return _rebuild_from_type_v2, (func, type(tensor), args, state)


def _reduce_plain(tensor: Tensor) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    from collections import OrderedDict
    from torchlite.storage import TypedStorage

    if getattr(tensor, "_backward_hooks", None):
        from torchlite.utils.hooks import warn_if_has_hooks

        warn_if_has_hooks(tensor)
    if tensor._dispatches and tensor.numel() and not tensor.data_ptr():
        geometry = (tuple(tensor.shape), tensor.stride(), tensor.storage_offset())
        where = (tensor.layout, tensor.device, tensor.requires_grad)
        return _rebuild_wrapper_subclass, (type(tensor), tensor.dtype, *geometry, *where)
    if tensor.device.type == "meta":
        return _rebuild_meta_tensor_no_storage, (
            tensor.dtype,
            tuple(tensor.shape),
            tensor.stride(),
            tensor.requires_grad,
        )
    limited = tensor.dtype._code > torch.complex128._code  # no class of storages names them
    storage: Any = (
        tensor.untyped_storage()
        if limited
        else TypedStorage(wrap_storage=tensor.untyped_storage(), dtype=tensor.dtype, _internal=True)
    )
    hooks: OrderedDict[int, Any] = OrderedDict()
    args = (storage, tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.requires_grad, hooks)
    metadata = {}
    if tensor.dtype.is_complex and tensor.is_conj():
        metadata["conj"] = True
    if tensor.is_neg():
        metadata["neg"] = True
    if limited:
        args = (*args, tensor.dtype)  # type: ignore[assignment]
    rebuild = _rebuild_tensor_v3 if limited else _rebuild_tensor_v2
    return rebuild, (*args, metadata) if metadata else args


def _reduce_parameter(param: Tensor, proto: int) -> Any:
    """What Parameter.__reduce_ex__ returns."""
    from collections import OrderedDict

    state = _get_obj_state(param)
    if not state:
        return _rebuild_parameter, (param.data, param.requires_grad, OrderedDict())
    return _rebuild_parameter_with_state, (param.data, param.requires_grad, OrderedDict(), state)


def _element_size(dtype: Any) -> Any:
    """Bytes per element of a dtype."""
    return dtype.itemsize


def _flatten_dense_tensors(tensors: Any) -> Tensor:
    """All elements one after another in one tensor of one dim. _unflatten_dense_tensors is the inverse."""
    import torchlite as torch

    return torch.cat([t.contiguous().view(-1) for t in tensors], 0)


def _unflatten_dense_tensors(flat: Tensor, tensors: Any) -> tuple[Tensor, ...]:
    """Views of `flat` with the shapes of `tensors`."""
    views, at = [], 0
    for t in tensors:
        views.append(flat.narrow(0, at, t.numel()).view_as(t))
        at += t.numel()
    return tuple(views)


def _get_available_device_type() -> str | None:
    """The accelerator's, where there is one."""
    import torchlite as torch

    return "cuda" if torch.cuda.is_available() else None


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int | None:
    """The index of a device. Where the device has none, and `optional` is true, the index of the current one."""
    import torchlite as torch

    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, int):
        return device
    if isinstance(device, torch.device):
        if device.type == "cpu":
            if not allow_cpu:
                raise ValueError(f"Expected a non cpu device, but got: {device}")
            return -1
        if device.index is not None:
            return device.index
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return torch.accelerator.current_device_index() if torch.accelerator.is_available() else None


def _get_device_module(device_type: str) -> Any:
    import torchlite as torch

    module = getattr(torch, device_type, None)
    if module is None:
        raise RuntimeError(
            "Device '%s' does not have a corresponding module registered as 'torch.%s'." % (device_type, device_type)
        )
    return module


def __getattr__(name: str) -> Any:
    if name not in ("ExceptionWrapper", "KeyErrorMessage"):
        raise AttributeError("module 'torch._utils' has no attribute '%s'" % name)
    from ._core import caught

    return getattr(caught, name)
