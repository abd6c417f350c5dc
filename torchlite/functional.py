"""Functions of the torch namespace that are Python:
tensors from data, type queries, helpers with their own argument rules."""

from typing import Any

from . import _C
from ._core import device as _device, dispatch_modes as _modes, dtypes as _dtypes, errors as _errors
from ._core.tensor import Tensor, plain as _plain

_FROM_NUMPY = {
    "b1": _dtypes.bool,
    "u1": _dtypes.uint8,
    "i1": _dtypes.int8,
    "i2": _dtypes.int16,
    "i4": _dtypes.int32,
    "i8": _dtypes.int64,
    "u2": _dtypes.uint16,
    "u4": _dtypes.uint32,
    "u8": _dtypes.uint64,
    "f2": _dtypes.float16,
    "f4": _dtypes.float32,
    "f8": _dtypes.float64,
    "c8": _dtypes.complex64,
    "c16": _dtypes.complex128,
}


def _place(t, device, requires_grad):
    device = _device.default() if device is None else _device.device(device)
    if device.type != t.device.type:
        _device.require_available(device)
        t = t.to(device)
    if requires_grad:
        if not (t.dtype.is_floating_point or t.dtype.is_complex):
            raise _errors.cannot_require_grad()
        t.requires_grad = True
    return t


def tensor(data=NotImplemented, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new tensor holding a copy of `data` (number, nested sequence, array, tensor)."""
    if data is NotImplemented:
        raise TypeError('tensor() missing 1 required positional arguments: "data"')
    t = _place(_new(data, dtype, "torch.tensor"), device, requires_grad)
    return _modes.lift(t) if _modes.stack else t


def _new(data, dtype, name):
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
        return _C.tensor_from_data(data, dtype)
    t = _from_array(data)
    return t.clone() if dtype is None or dtype is t.dtype else t.to(dtype)


_PLAIN = frozenset((list, tuple, int, float, bool))


def _of_storage(storage, dtype):
    """A tensor over the memory of a storage; one without a dtype of its own is read as `dtype`."""
    own = getattr(storage, "dtype", None)
    if own is not None and dtype not in (None, own):
        raise RuntimeError(
            "Expected a Storage of type %s or an UntypedStorage, but got %s" % (dtype._scalar_type, own._scalar_type)
        )
    kind = own or dtype or _dtypes.int64
    memory = getattr(storage, "_untyped_storage", storage)
    return _C.tensor_from_storage(memory, kind, 0, (memory.nbytes() // kind.itemsize,), (1,))


def _is_number(a):
    """Whether a is a real number of numpy's: one that a dtype cannot hold is refused, where arrays wrap around."""
    return hasattr(a, "__array_interface__") and not hasattr(a, "__setitem__") and a.dtype.kind in "biuf"


def unsupported(name):
    """The error of a numpy type that no tensor can have."""
    return TypeError(
        "can't convert np.ndarray of type numpy.%s. The only supported types are: "
        "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, "
        "uint8, and bool." % name
    )


_C.register("unsupported_array", unsupported)


def _from_array(a, shared=False):
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


def from_numpy(ndarray):
    """A tensor over the memory of a numpy array."""
    if not _C.is_ndarray(ndarray):
        raise TypeError("expected np.ndarray (got %s)" % type_name(ndarray))
    t = _from_array(ndarray, True)
    return _modes.lift(t) if _modes.stack else t


def type_name(o):
    """The type of an object as PyTorch's messages have it."""
    cls = type(o)
    return "numpy." + cls.__name__ if cls.__module__.partition(".")[0] == "numpy" else cls.__name__


def as_tensor(data, dtype=None, device=None):
    """`data` as a tensor, without a copy where that is possible."""
    if isinstance(data, Tensor):
        return data if dtype is None and device is None else data.to(device=device, dtype=dtype)
    if dtype is not None and _is_number(data):
        data = data.item()
    if hasattr(data, "__array_interface__"):
        t = _from_array(data, True)
        return _place(t if dtype is None else t.to(dtype), device, False)
    return _place(_C.tensor_from_data(data, dtype), device, False)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Any:
    """`obj` as a tensor: shares memory unless a conversion or copy=True is asked for."""
    if type(obj).__name__ == "PyCapsule":
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
        t = _C.tensor_from_data(obj, dtype)
    return _place(t, device, bool(requires_grad))


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
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
    return _place(t, None, requires_grad)


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor over the memory of an object with __dlpack__, or of such a capsule."""
    if not hasattr(ext_tensor, "__dlpack__"):
        if device is not None or copy is not None:
            raise AssertionError("device and copy kwargs not supported when ext_tensor is already a DLPack capsule.")
        return _C.from_dlpack(ext_tensor)
    from .utils import dlpack

    asked = {"max_version": (1, 0)}
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


def is_tensor(obj):
    """Whether obj is a Tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj):
    """Whether obj is a storage."""
    from .storage import TypedStorage

    return isinstance(obj, (_C.StorageBase, TypedStorage))


def is_floating_point(input):
    return input.dtype.is_floating_point


def is_complex(input):
    return input.dtype.is_complex


def is_signed(input):
    return input.dtype.is_signed


def numel(input):
    """Number of elements."""
    return input.numel()


def is_inference(input):
    return input.is_inference()


def is_conj(input):
    """Whether it is a view of the conjugates of what memory holds."""
    return input.is_conj()


def is_neg(input):
    """Whether it is a view of the negatives of what memory holds."""
    return input.is_neg()


def is_inference_mode_enabled():
    return _C.is_inference_mode_enabled()


def get_default_dtype():
    """The dtype of tensors made from Python floats."""
    return _C.get_default_dtype()


def set_default_dtype(d):
    """Sets the dtype of tensors made from Python floats (a floating-point one)."""
    if not isinstance(d, _dtypes.dtype) or not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    if d._code > _dtypes.complex128._code:
        raise TypeError("couldn't find storage object %sStorage" % d._scalar_type)
    _C.register("default_dtype", d)


def set_default_tensor_type(t):
    """Old form of set_default_dtype."""
    _C.warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives."
    )
    from ._core.legacy_types import type_to_dtype

    set_default_dtype(type_to_dtype(t))


def get_default_device():
    """The device of new tensors."""
    if _device._context:
        return _device._context[-1]
    return _device._default or _device.device("cpu")


def set_default_device(device):
    """Sets the device of new tensors; one that is not available is an error at once."""
    if device is not None:
        device = _device.device(device)
        _device.require_available(device)
    _device._default = device
    _device.default_changed()


def result_type(tensor1, tensor2):
    """The dtype of a binary op on both."""
    return _C.result_type(tensor1, tensor2)


def promote_types(type1, type2):
    """The smallest dtype that holds both."""
    return _C.promote_types(type1, type2)


def can_cast(from_, to):
    """Whether PyTorch's casting rules allow from_ -> to."""
    return _C.can_cast(from_, to)


def typename(obj):
    """The qualified name of an object's type."""
    if isinstance(obj, Tensor):
        return obj.type()
    if isinstance(obj, (_C.Op, _C.Function)):
        from ._core.homes import path, torch_name

        own = path(obj) or "%s.%s" % (torch_name(obj.__module__), obj.__name__)  # type: ignore[union-attr]
        cpp = isinstance(obj, _C.Op) and own.count(".") == 1
        return "torch._VariableFunctionsClass" + own[5:] if cpp else own
    function = not isinstance(obj, type) and isinstance(getattr(obj, "__qualname__", None), str)
    cls = obj if isinstance(obj, type) or function else type(obj)
    if cls.__module__ == "builtins":
        return cls.__qualname__
    module = cls.__module__
    return "%s.%s" % ("torch" + module[9:] if module.partition(".")[0] == "torchlite" else module, cls.__qualname__)


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to."""
    out: list[int] = []
    for index, shape in enumerate(shapes):
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if len(shape) > len(out):
            out = [1] * (len(shape) - len(out)) + out
        for i in range(1, len(shape) + 1):
            s = shape[-i]
            if s < 0:
                raise RuntimeError("Trying to create tensor with negative dimension (%d): (%d)" % (s, s))
            if s != 1 and s != out[-i]:
                if out[-i] != 1:
                    raise RuntimeError(
                        "Attempting to broadcast a dimension of length %d at -%d! Mismatching argument at index %d had "
                        "%s; but expected shape should be broadcastable to %s" % (s, i, index, shape, out)
                    )
                out[-i] = s
    return _device.Size(out)


def broadcast_tensors(*tensors):
    """Views of the tensors in their common shape."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    shape = ()
    for i, t in enumerate(tensors):
        shape = _broadcast2(shape, tuple(t.shape))
    return tuple(t if tuple(t.shape) == shape else t.expand(shape) for t in tensors)


def _broadcast2(a, b):
    n = max(len(a), len(b))
    x, y = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
    for i, (p, q) in reversed(list(enumerate(zip(x, y)))):
        if p != q and p != 1 and q != 1:
            raise RuntimeError(
                "The size of tensor a (%d) must match the size of tensor b (%d) at non-singleton dimension %d"
                % (p, q, i)
            )
    return tuple(q if p == 1 else p for p, q in zip(x, y))


def split(tensor, split_size_or_sections, dim=0):
    """Views of a tensor along `dim`: parts of one size, or of the given sizes."""
    return tensor.split(split_size_or_sections, dim)


_deterministic = {"mode": False, "warn_only": False, "fill": True, "precision": "highest"}


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Every op on the CPU is deterministic anyway, and on webgpu all but writes of several values to one place
    (`index_put_`, `scatter_`, `put_`):
    in this mode the last one stays there too. `empty` and its like are filled, as torch.utils.deterministic says.
    `put_` and max_unpool are refused (with `warn_only` they warn), as PyTorch does on the CPU."""
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(
                "_set_deterministic_algorithms(): argument '%s'%s must be bool, not %s"
                % (name, " (position 1)" if name == "mode" else "", type(value).__name__)
            )
    _deterministic.update(mode=mode, warn_only=warn_only)
    _C.set_fill_empty(mode and _deterministic["fill"])
    level = 1 if warn_only else 2
    _C.set_deterministic(level if mode else 0)


def are_deterministic_algorithms_enabled():
    """Whether use_deterministic_algorithms(True) was called."""
    return _deterministic["mode"]


def is_deterministic_algorithms_warn_only_enabled():
    """Whether its warn_only was True."""
    return _deterministic["warn_only"]


def set_deterministic_debug_mode(debug_mode):
    """use_deterministic_algorithms by number or name: 0 or "default", 1 or "warn", 2 or "error"."""
    if not isinstance(debug_mode, (str, int)):
        raise TypeError("debug_mode must be str or int, but got %s" % type(debug_mode))
    names = ("default", "warn", "error")
    if isinstance(debug_mode, str):
        if debug_mode not in names:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got %s" % debug_mode
            )
        debug_mode = names.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError("invalid value of debug_mode, expected 0, 1, or 2, but got %s" % debug_mode)
    use_deterministic_algorithms(debug_mode != 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode():
    """0, 1 or 2: see set_deterministic_debug_mode."""
    if not _deterministic["mode"]:
        return 0
    return 1 if _deterministic["warn_only"] else 2


def set_float32_matmul_precision(precision):
    """Remembered only: products are always computed in float32."""
    if precision not in ("highest", "high", "medium"):
        import warnings

        warnings.warn(
            "%s is not one of 'highest', 'high', or 'medium'; the currentsetFloat32MatmulPrecision call has no effect."
            % precision,
            stacklevel=2,
        )
        return
    _deterministic["precision"] = precision


def get_float32_matmul_precision():
    """What set_float32_matmul_precision was given last."""
    return _deterministic["precision"]


def is_nonzero(input):
    """Whether the only element of a tensor is not zero."""
    if not isinstance(input, Tensor):
        raise TypeError("is_nonzero(): argument 'input' (position 1) must be Tensor, not %s" % type(input).__name__)
    return bool(input)


def _at_least(n):
    def atleast(*tensors):
        if len(tensors) == 1:
            return one(tensors[0])
        for i, t in enumerate(tensors):
            if not isinstance(t, Tensor):
                raise TypeError("expected Tensor as element %d in argument 0, but got %s" % (i, type_name(t)))
        return tuple(one(t) for t in tensors)

    def one(t):
        import torchlite

        return getattr(torchlite.ops.functions, "atleast_%dd" % n)(t)

    atleast.__name__ = atleast.__qualname__ = "atleast_%dd" % n
    atleast.__doc__ = "Views of the tensors with at least %d dim%s; of one tensor, or of a sequence, what that is." % (
        n,
        "s" * (n > 1),
    )
    return atleast


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


def set_flush_denormal(mode):
    """Denormal numbers are always kept."""
    return False


def get_num_threads():
    return 1


def set_num_threads(n):
    """One thread here."""
    if not isinstance(n, int) or isinstance(n, bool):
        raise RuntimeError("set_num_threads expects an int, but got %s" % type_name(n))
    if n <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")


def get_num_interop_threads():
    return 1


def set_num_interop_threads(n):
    """One thread here."""


def set_warn_always(b):
    """Whether warnings that are given once in a process are given each time."""
    if not isinstance(b, bool):
        raise RuntimeError("setWarnOnlyOnce expects a bool, but got %s" % type(b).__name__)
    _C.set_warn_always(b)


def is_warn_always_enabled():
    return _C.is_warn_always()


def compiled_with_cxx11_abi():
    return True


def _assert(condition, message):
    """An assert that a tracer would see. `condition` is a bool or a tensor of one element."""
    assert condition, message


_assert.__module__ = __package__
_assert = _C.Function(_assert)  # type: ignore[assignment]


def _assert_async(input, assert_msg=None):
    """RuntimeError unless the one element of `input` is not 0; on every device it is looked at now."""
    if input.numel() != 1:
        what = "more than one value" if input.numel() else "no values"
        raise RuntimeError("Boolean value of Tensor with %s is ambiguous" % what)
    if not input:
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


_assert_async.__module__ = __package__
_assert_async = _C.Function(_assert_async)  # type: ignore[assignment]


_ALSO_HERE = {
    "block_diag",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "einsum",
    "istft",
    "lu",
    "meshgrid",
    "norm",
    "pca_lowrank",
    "stft",
    "svd_lowrank",
    "tensordot",
    "unique",
    "unique_consecutive",
    "unravel_index",
}


def __getattr__(name):
    """Ops that PyTorch has in this module as well as in torch."""
    if name == "F":
        import torchlite.nn.functional as F

        return F
    if name not in _ALSO_HERE:
        raise AttributeError("module 'torch.functional' has no attribute '%s'" % name)
    import torchlite

    return getattr(torchlite, name)


__all__ = [n for n in globals() if not n.startswith("_") and n not in ("Tensor",)]
