"""torch.tensor and its like: tensors from numbers, sequences, arrays and buffers."""

from __future__ import annotations


from .. import _C
from . import device as _device, dispatch_modes as _modes, dtypes as _dtypes, errors as _errors
from .array_methods import NUMPY_TYPES
from .tensor import Tensor, plain as _plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "as_tensor",
    "asarray",
    "from_dlpack",
    "from_numpy",
    "frombuffer",
    "is_storage",
    "tensor",
]

_FROM_NUMPY = {code: dtype for dtype, code in NUMPY_TYPES.items()}


def place(t: Any, device: Any, requires_grad: bool) -> Any:
    device = _device.default() if device is None else _device.device(device)
    if device.type != t.device.type:
        _device.require_available(device)
        t = t.to(device)
    if requires_grad:
        if not (t.dtype.is_floating_point or t.dtype.is_complex):
            raise _errors.cannot_require_grad()
        t.requires_grad = True
    return t


def tensor(
    data: Any = NotImplemented,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A new tensor holding a copy of `data` (number, nested sequence, array, tensor)."""
    if data is NotImplemented:
        raise TypeError('tensor() missing 1 required positional arguments: "data"')
    t = place(new(data, dtype, "torch.tensor"), device, requires_grad)
    return _modes.lift(t) if _modes.stack else t


def new(data: Any, dtype: Any, name: str) -> Any:
    """A tensor of its own holding data: what `name`, torch.tensor or tensor.new_tensor, makes."""
    if isinstance(data, Tensor):
        import warnings

        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than %s(sourceTensor)." % name,
            UserWarning,
            stacklevel=3,
        )
        data = _plain(data)
        return data.clone() if dtype is None else data.to(dtype, copy=True)
    if type(data) not in _PLAIN and is_storage(data):
        return _of_storage(data, dtype)
    if dtype is not None and _is_number(data):
        data = data.item()
    if not hasattr(data, "__array_interface__"):
        if not _exported(data):
            return _C.tensor_from_data(data, dtype)
        t = from_dlpack(data)
    else:
        t = _from_array(data)
    return t.clone() if dtype is None or dtype is t.dtype else t.to(dtype)


_PLAIN = frozenset((list, tuple, int, float, bool))


def _exported(obj: Any) -> bool:
    """Whether obj offers its memory by DLPack."""
    return type(obj) not in _PLAIN and hasattr(obj, "__dlpack__")


def is_storage(obj: Any) -> bool:
    """Whether obj is a storage."""
    from ..storage import TypedStorage

    return isinstance(obj, (_C.StorageBase, TypedStorage))


def _of_storage(storage: Any, dtype: Any) -> Any:
    """A tensor over the memory of a storage; one without a dtype of its own is read as `dtype`."""
    own = getattr(storage, "dtype", None)
    if own is not None and dtype not in (None, own):
        raise RuntimeError(
            "Expected a Storage of type %s or an UntypedStorage, but got %s" % (dtype._scalar_type, own._scalar_type)
        )
    kind = own or dtype or _dtypes.int64
    memory = getattr(storage, "_untyped_storage", storage)
    return _C.tensor_from_storage(memory, kind, 0, (memory.nbytes() // kind.itemsize,), (1,))


def _is_number(a: Any) -> Any:
    """Whether a is a real number of numpy's: one that a dtype cannot hold is refused, where arrays wrap around."""
    return hasattr(a, "__array_interface__") and not hasattr(a, "__setitem__") and a.dtype.kind in "biuf"


def unsupported(name: str) -> TypeError:
    """The error of a numpy type that no tensor can have."""
    return TypeError(
        "can't convert np.ndarray of type numpy.%s. The only supported types are: "
        "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, "
        "uint8, and bool." % name
    )


_C.register("unsupported_array", unsupported)


def _from_array(a: Any, shared: bool = False) -> Any:
    """A tensor over the memory of an array;
    `shared`: it will be seen as such, so one that is read-only is warned of."""
    import numpy as np

    a = np.asarray(a)
    d = _FROM_NUMPY.get(a.dtype.str[1:])
    if d is None:
        raise unsupported(a.dtype.type.__name__)
    if shared and not a.flags.writeable:
        _C.warn_once(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. "
            "This means writing to this tensor will result in undefined behavior. "
            "You may want to copy the array to protect its data or make it writable before converting it to a "
            "tensor. This type of warning will be suppressed for the rest of this program.",
            3,
        )
    if any(s < 0 for s in a.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your "
            "array  with array.copy().) "
        )
    size = a.dtype.itemsize
    if a.dtype.byteorder not in "=|<":
        raise ValueError(
            "given numpy array has byte order different from the native byte order. "
            "Conversion between byte orders is currently not supported."
        )
    if a.size == 0:
        return _C.empty(a.shape, d)
    if any(s % size for s in a.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. "
            "Copy the numpy array to reallocate the memory."
        )
    if a.base is None and a.flags.c_contiguous:
        return _C.tensor_from_storage(_C.storage_from_buffer(a), d, 0, a.shape, tuple(s // size for s in a.strides))
    if not a.flags.c_contiguous:
        flat = np.lib.stride_tricks.as_strided(
            a, (1 + sum((n - 1) * s // size for n, s in zip(a.shape, a.strides)),), (size,)
        )
        return _C.tensor_from_storage(_C.storage_from_buffer(flat), d, 0, a.shape, tuple(s // size for s in a.strides))
    return _C.tensor_from_storage(_C.storage_from_buffer(a), d, 0, a.shape, tuple(s // size for s in a.strides))


def from_numpy(ndarray: Any) -> Any:
    """A tensor over the memory of a numpy array."""
    if not _C.is_ndarray(ndarray):
        raise TypeError("expected np.ndarray (got %s)" % type_name(ndarray))
    t = _from_array(ndarray, True)
    return _modes.lift(t) if _modes.stack else t


def type_name(o: Any) -> str:
    """The type of an object as PyTorch's messages have it."""
    cls = type(o)
    return "numpy." + cls.__name__ if cls.__module__.partition(".")[0] == "numpy" else cls.__name__


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """`data` as a tensor, without a copy where that is possible."""
    if isinstance(data, Tensor):
        return data if dtype is None and device is None else data.to(device=device, dtype=dtype)
    if dtype is not None and _is_number(data):
        data = data.item()
    if hasattr(data, "__array_interface__"):
        t = _from_array(data, True)
    elif _exported(data):
        t = from_dlpack(data)
    elif type(data) not in _PLAIN and is_storage(data):
        return place(_of_storage(data, dtype), device, False)
    else:
        return place(_C.tensor_from_data(data, dtype), device, False)
    return place(t if dtype is None else t.to(dtype), device, False)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Any:
    """`obj` as a tensor: shares memory unless a conversion or copy=True is asked for."""
    if type(obj).__name__ == "PyCapsule" or (
        not isinstance(obj, Tensor) and not hasattr(obj, "__array_interface__") and _exported(obj)
    ):
        obj = from_dlpack(obj)
    if copy is False and (isinstance(obj, Tensor) or hasattr(obj, "__array_interface__")):
        if not isinstance(obj, Tensor) and not hasattr(obj, "__setitem__"):
            raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray.")
        t: Any = obj if isinstance(obj, Tensor) else _from_array(obj, True)
        if dtype is not None and dtype is not t.dtype:
            raise ValueError(
                "can't alias tensor with dtype '%s' into dtype '%s'." % (t.dtype._scalar_type, dtype._scalar_type)
            )
        if device is not None and _device.device(device).type != t.device.type:
            raise ValueError("can't alias tensor from device '%s' to '%s'." % (t.device, _device.device(device)))
    if isinstance(obj, Tensor):
        t = obj if dtype is None else obj.to(dtype)
        if copy and t._storage is obj._storage:
            t = t.clone()
        if requires_grad is None and obj.requires_grad:
            import warnings

            warnings.warn(
                "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. "
                "Pass requires_grad=False explicitly to get the old behavior and silence this warning.",
                UserWarning,
                stacklevel=2,
            )
        elif not requires_grad and t.requires_grad:
            t = t.detach()
    elif hasattr(obj, "__array_interface__"):
        t = _from_array(obj, not copy)
        t = t if dtype is None else t.to(dtype)
        if copy:
            t = t.clone()
    elif isinstance(obj, (bytes, bytearray, memoryview)):
        t = frombuffer(obj, dtype=dtype or _C.get_default_dtype())
        if copy:
            t = t.clone()
    else:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        stored = type(obj) not in _PLAIN and is_storage(obj)
        t = _of_storage(obj, dtype) if stored else _C.tensor_from_data(obj, dtype)
    return place(t, device, bool(requires_grad))


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Any:
    """A vector over the memory of an object with the buffer protocol."""
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    total, size = view.nbytes, dtype.itemsize
    if count == 0 or total == 0:
        raise ValueError("both buffer length (%d) and count (%d) must not be 0" % (total, count))
    if offset < 0 or offset >= total:
        raise ValueError(
            "offset (%d bytes) must be non-negative and no greater than buffer length (%d bytes) minus 1"
            % (offset, total)
        )
    if count < 0:
        if (total - offset) % size:
            raise ValueError(
                "buffer length (%d bytes) after offset (%d bytes) must be a multiple of element size (%d)"
                % (total - offset, offset, size)
            )
        count = (total - offset) // size
    if offset + count * size > total:
        raise ValueError(
            "requested buffer length (%d * %d bytes) after offset (%d bytes) must not be greater than actual "
            "buffer length (%d bytes)" % (count, size, offset, total)
        )
    if view.readonly:
        _C.warn_once(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. "
            "This means you can write to the underlying (supposedly non-writable) buffer using the tensor. "
            "You may want to copy the buffer to protect its data or make it writable before converting it to a "
            "tensor. This type of warning will be suppressed for the rest of this program."
        )
    whole = view.cast("B") if view.format != "B" or view.ndim != 1 else view
    storage = _C.storage_from_buffer(whole[offset:] if offset % size else whole)
    t = _C.tensor_from_storage(storage, dtype, 0 if offset % size else offset // size, (count,), (1,))
    return place(t, None, requires_grad)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor over the memory of an object with __dlpack__, or of such a capsule."""
    if not hasattr(ext_tensor, "__dlpack__"):
        if device is not None or copy is not None:
            raise AssertionError("device and copy kwargs not supported when ext_tensor is already a DLPack capsule.")
        return _C.from_dlpack(ext_tensor)
    from ..utils import dlpack

    asked: dict[str, Any] = {"max_version": (1, 0)}
    if copy is not None:
        asked["copy"] = copy
    source, moves = ext_tensor.__dlpack_device__(), False
    if device is not None:
        device = _device.device(device) if isinstance(device, str) else device
        if not isinstance(device, _device.device):
            raise AssertionError("from_dlpack: unsupported device type: %s" % type(device))
        if device.type == "cuda":
            raise AssertionError("Torch not compiled with CUDA enabled")
        if device.type not in dlpack.KINDS:
            raise BufferError("Cannot pack tensors on %s" % device)
        target = dlpack.device_of(device)
        moves = tuple(source) != target
        if moves and copy is False:
            raise ValueError(
                "cannot move DLPack tensor from device %s to %s without copying. Set copy=None or copy=True."
                % (source, target)
            )
        if not moves:
            asked["dl_device"] = target
    for less in ("max_version", "copy", "dl_device", None):  # what an older producer does not take is left out
        try:
            capsule = ext_tensor.__dlpack__(**asked)
            break
        except TypeError:
            if less is None or not asked:
                raise
            asked.pop(less, None)
    tensor = _C.from_dlpack(capsule)
    if moves:
        return tensor.to(device)
    return tensor.clone() if copy and "copy" not in asked else tensor
