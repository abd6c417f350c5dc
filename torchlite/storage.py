"""Storages: the bytes under tensors. `UntypedStorage` is the core's own class; `TypedStorage` and `FloatStorage`...
exist because pickles and older code name them."""

from __future__ import annotations

import weakref

import torchlite as torch
from torchlite import _C
from torchlite._core import dtypes as _dtypes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from ._types import DType, Device, Tensor


UntypedStorage = _C.StorageBase

# the class name under which PyTorch pickles a storage of each dtype
_PICKLE_NAMES = {d: d._scalar_type + "Storage" for d in _dtypes.KERNEL_DTYPES}
_PICKLE_DTYPES = {name: d for d, name in _PICKLE_NAMES.items()}


def _as_tensor(storage: Any, dtype: Any, count: Any = None) -> Tensor:
    """A one-dimensional tensor over a whole storage."""
    if count is None:
        count = storage.nbytes() // dtype.itemsize
    return _C.tensor_from_storage(storage, dtype, 0, (count,), (1,))


def _device_of(storage: Any) -> Device:
    where = getattr(storage, "device", None)
    return torch.device("cpu") if where is None else where


def _move(storage: Any, device: Any, dtype: Any = _dtypes.uint8) -> Any:
    """The storage itself when it is on `device` already, else a copy there."""
    device = torch.device(device)
    if _device_of(storage).type == device.type and device.index in (None, _device_of(storage).index):
        return storage
    return _as_tensor(storage, dtype).to(device).untyped_storage()


def _storage_repr(storage: Any) -> str:
    meta = _device_of(storage).type == "meta"
    lines = "...\n" if meta else "".join(f" {v}\n" for v in _as_tensor(storage, _dtypes.uint8).tolist())
    return f"{lines}[torch.storage.UntypedStorage(device={_device_of(storage)}) of size {storage.nbytes()}]"


def _storage_getitem(storage: Any, index: Any) -> Any:
    """A byte, or a slice: a storage over the same memory, which cannot be resized."""
    if _device_of(storage).type == "meta":
        raise NotImplementedError("Not available for 'meta' device type")
    size = storage.nbytes()
    if isinstance(index, slice):
        start, stop, step = index.indices(size)
        if step != 1:
            raise RuntimeError("Trying to slice with a step of %d, but only a step of 1 is supported" % step)
        if _device_of(storage).type == "cpu":
            return _C.storage_from_buffer(memoryview(storage)[start : max(start, stop)])
        return _as_tensor(storage, _dtypes.uint8)[start : max(start, stop)].clone().untyped_storage()
    if not isinstance(index, int):
        raise TypeError("can't index a torch.UntypedStorage with %s" % type(index).__name__)
    if not -size <= index < size:
        raise IndexError("index %d out of range for storage of size %d" % (index, size))
    return _as_tensor(storage, _dtypes.uint8)[index].item()


_files: Any = weakref.WeakKeyDictionary()  # the path of each storage that map_file made


def map_file(filename: Any, shared: Any, nbytes: int) -> Any:
    """The bytes of a file, mapped. If shared, the file grows to that size and gets what is written; else it stays."""
    import mmap
    import os
    import sys

    if shared and sys.platform == "emscripten":  # a mapping there is a copy, and nothing writes it back
        text = "from_file: a page cannot share memory with a file; use shared=False and write the file"
        raise NotImplementedError(text)

    path = os.fspath(filename)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY, 0o600)
    except OSError as error:
        mode = "read-write" if shared else "read-only"
        raise RuntimeError(
            "unable to open file <%s> in %s mode: %s (%s)" % (path, mode, error.strerror, error.errno)
        ) from None
    with os.fdopen(handle, "r+b" if shared else "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if nbytes > size:
            if not shared:
                raise RuntimeError(
                    "file <%s> size <%d> is smaller than the required mapping size <%d>" % (path, size, nbytes)
                )
            file.truncate(nbytes)
        if nbytes == 0:
            return UntypedStorage(0)
        try:
            mapped = mmap.mmap(file.fileno(), nbytes, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
        except (OSError, OverflowError) as error:
            raise RuntimeError("unable to mmap %d bytes from file <%s>: %s" % (nbytes, path, error)) from None
    import torchlite as torch

    made = torch.frombuffer(mapped, dtype=_dtypes.uint8).untyped_storage()
    _files[made] = path
    return made


def _as_bytes(storage: Any) -> TypedStorage:
    return TypedStorage(wrap_storage=storage, dtype=_dtypes.uint8, _internal=True)


def _byteswap(storage: Any, dtype: DType) -> None:
    """Reverses the bytes of each number, in place."""
    size = dtype.itemsize // (2 if dtype.is_complex else 1)
    numbers = _as_tensor(storage, _dtypes.uint8).view(-1, size)
    numbers.copy_(numbers.flip(1))


def _from_buffer(buffer: Any, byte_order: Any = None, count: int = -1, offset: int = 0, *, dtype: DType) -> Any:
    """A storage with a copy of a buffer's bytes. `byte_order`: "native", "little" or "big"; needed where an element of
    `dtype` has several bytes. `count`: elements, -1 for all from byte `offset` on."""
    size = dtype.itemsize
    if byte_order not in ("native", "little", "big") and (size > 1 or byte_order is not None):
        if byte_order is None:
            raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
        raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
    view = memoryview(buffer).cast("B")
    left = len(view) - offset
    if offset < 0 or left < 0:
        raise ValueError(
            f"offset must be non-negative and no greater than buffer length ({len(view)}), but got {offset}"
        )
    if count < 0:
        if left % size:
            raise ValueError(f"buffer size ({len(view)}) must be a multiple of element size ({size})")
        count = left // size
    if count * size > left:
        raise ValueError(f"buffer has only {left} elements after offset {offset}, but specified a size of {count}")
    core: Any = UntypedStorage
    storage = core(count * size)
    memoryview(storage)[:] = view[offset : offset + count * size]
    if byte_order == "big":
        _byteswap(storage, dtype)
    return storage


def _attach() -> None:
    """Gives the core's storage class the part of its interface that is written with tensors."""

    def fill_(self: Any, value: Any) -> Any:
        _as_tensor(self, _dtypes.uint8).fill_(value)
        return self

    def copy_(self: Any, source: Any, non_blocking: Any = None) -> Any:
        _as_tensor(self, _dtypes.uint8).copy_(_as_tensor(source, _dtypes.uint8))
        return self

    def reduce(self: Any) -> Any:
        return _reduce(self)

    def deepcopy(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            if _device_of(self).type == "cpu":
                memo[id(self)] = UntypedStorage(self.nbytes())
                memoryview(memo[id(self)])[:] = memoryview(self)
            else:
                memo[id(self)] = _as_tensor(self, _dtypes.uint8).clone().untyped_storage()
        return memo[id(self)]

    def from_file(filename: Any, shared: bool = False, nbytes: int = 0) -> Any:
        """The bytes of a file."""
        return map_file(filename, shared, nbytes)

    def new_shared(size: int, *, device: Any = "cpu") -> Any:
        """Bytes that processes forked from here share."""
        core: Any = UntypedStorage
        made = core(size, device=device)
        return made.share_memory_() if _device_of(made).type == "cpu" else made

    extra = {
        "from_file": staticmethod(from_file),
        "from_buffer": staticmethod(_from_buffer),
        "_new_shared": staticmethod(new_shared),
        "tolist": lambda self: _as_tensor(self, _dtypes.uint8).tolist(),
        "clone": lambda self: _as_tensor(self, _dtypes.uint8).clone().untyped_storage(),
        "cpu": lambda self: _move(self, "cpu"),
        "to": lambda self, *, device, non_blocking=False: _move(self, device),
        "element_size": lambda self: 1,
        "untyped": lambda self: self,
        "__getitem__": _storage_getitem,
        "__setitem__": lambda self, i, v: _as_tensor(self, _dtypes.uint8).__setitem__(i, v),
        "__repr__": _storage_repr,
        "__reduce__": reduce,
        "__deepcopy__": deepcopy,
        "fill_": fill_,
        "copy_": copy_,
        "is_cuda": property(lambda self: False),
        "is_sparse_csr": False,
        "filename": property(_files.get),
        "is_shared": lambda self: self in _files or getattr(self, "_is_shared", bool)(),
        "is_pinned": lambda self, device="cuda": False,
        "share_memory_": lambda self: self if self in _files else getattr(self, "_share", lambda: self)(),
        "new": lambda self: UntypedStorage(0),
        "byteswap": _byteswap,
        "__sizeof__": lambda self: object.__sizeof__(self) + self.nbytes(),
        "type": lambda self, dtype=None, non_blocking=False: (
            "torch.storage.UntypedStorage" if dtype is None else _as_bytes(self).type(dtype)
        ),
        "_cdata": property(id),
    }
    for name, value in extra.items():
        if name not in UntypedStorage.__dict__:
            setattr(UntypedStorage, name, value)
    UntypedStorage.__name__ = UntypedStorage.__qualname__ = "UntypedStorage"
    UntypedStorage.__module__ = "torchlite.storage"


_attach()


def _load_from_bytes(data: Any) -> TypedStorage:
    import io

    return torch.load(io.BytesIO(data), weights_only=False)


def _reduce(storage: TypedStorage) -> tuple[Callable[..., Any], tuple[bytes]]:
    import io

    out = io.BytesIO()
    torch.save(storage, out, _use_new_zipfile_serialization=False)
    return _load_from_bytes, (out.getvalue(),)


_always_warn = [False]


def _set_always_warn_typed_storage_removal(always_warn: bool) -> None:
    """Whether each use of typed storages warns, or the first one only."""
    _always_warn[0] = always_warn


def _get_always_warn_typed_storage_removal() -> bool:
    return _always_warn[0]


_warned: list[bool] = []  # once the first one was


def _warn_typed_storage_removal(stacklevel: int = 2) -> None:
    text = (
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage "
        "class. This should only matter to you if you are using storages directly.  To access UntypedStorage "
        "directly, use tensor.untyped_storage() instead of tensor.storage()"
    )
    if _always_warn[0] or not _warned:
        import warnings

        _warned.append(True)
        warnings.warn(text, UserWarning, stacklevel=stacklevel + 1)


_TYPED = """TypedStorage.__init__ received an invalid combination of arguments. Expected one of:
 * (*, torch.device device, torch.dtype dtype)
 * (int size, *, torch.device device, torch.dtype dtype)
 * (Sequence data, *, torch.device device, torch.dtype dtype)
 * (*, UntypedStorage wrap_storage, torch.dtype dtype)
"""
_LEGACY = """%s.__new__ received an invalid combination of arguments. Expected one of:
 * no arguments
 * (int size)
 * (Sequence data)
 * (*, UntypedStorage wrap_storage)
"""


def _check_wrapped(expected: str, args: Any, wrapped: Any) -> None:
    if args:
        raise RuntimeError(expected + "No positional arguments should be given when using 'wrap_storage'")
    if not isinstance(wrapped, UntypedStorage):
        raise TypeError(expected + f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrapped)}")


class TypedStorage:
    """A storage seen as elements of one dtype (deprecated in PyTorch; kept for pickles and old code)."""

    def __init__(
        self, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None, _internal: bool = False
    ) -> None:
        if not _internal:
            _warn_typed_storage_removal()
        if wrap_storage is not None:
            if not _internal:
                _check_wrapped(_TYPED, args, wrap_storage)
                if dtype is None:
                    raise RuntimeError(_TYPED + "Argument 'dtype' must be specified")
                if not isinstance(dtype, torch.dtype):
                    raise TypeError(_TYPED + f"Argument 'dtype' must be torch.dtype, not {type(dtype)}")
                if device is not None:
                    raise RuntimeError(
                        _TYPED + "Argument 'device' should not be specified when 'wrap_storage' is given"
                    )
            self._untyped_storage, self.dtype = wrap_storage, dtype
            return
        self.dtype = dtype or torch.get_default_dtype()
        if len(args) > 1:
            raise RuntimeError(_TYPED + "Too many positional arguments")
        if device is not None and torch.device(device).type not in ("cpu", "cuda", "meta", "webgpu"):
            raise RuntimeError(_TYPED + f"Storage device not recognized: {torch.device(device).type}")
        source = args[0] if args else 0
        if isinstance(source, int):
            tensor = torch.empty(source, dtype=self.dtype, device=device)
        elif isinstance(source, (list, tuple)):
            tensor = torch.tensor(source, dtype=self.dtype, device=device)
        elif isinstance(source, str):
            raise TypeError(f"new(): invalid data type '{type(source).__name__}'")
        else:
            raise TypeError(_TYPED + f"Argument type not recognized: {type(source)}")
        self._untyped_storage = tensor.untyped_storage()

    device = property(lambda self: _device_of(self._untyped_storage))
    is_cuda = property(lambda self: False)
    _cdata = property(lambda self: id(self._untyped_storage))

    def _tensor(self) -> Tensor:
        return _as_tensor(self._untyped_storage, self.dtype)

    def _wrap(self, storage: Any, dtype: Any = None) -> Any:
        return TypedStorage(wrap_storage=storage, dtype=dtype or self.dtype, _internal=True)

    def untyped(self) -> Any:
        """The storage without a dtype."""
        return self._untyped_storage

    def size(self) -> Any:
        """The number of elements."""
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    __len__ = _size = size

    def nbytes(self) -> Any:
        """The size in bytes."""
        return self._untyped_storage.nbytes()

    _nbytes = nbytes

    def element_size(self) -> Any:
        """Bytes per element."""
        return self.dtype.itemsize

    def data_ptr(self) -> Any:
        """Address of the first element."""
        return self._untyped_storage.data_ptr()

    _data_ptr = data_ptr

    def _need_numbers(self) -> None:
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")

    def tolist(self) -> list[float]:
        """The elements as a list."""
        self._need_numbers()
        return self._tensor().tolist()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        self._need_numbers()
        return self._tensor()[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._tensor()[index] = value

    _getitem, _setitem = __getitem__, __setitem__

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def fill_(self, value: Any) -> Any:
        """Sets every element to `value`."""
        if isinstance(value, (UntypedStorage, TypedStorage)):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        self._tensor().fill_(value)
        return self

    def copy_(self, source: Any, non_blocking: Any = None) -> Any:
        """Copies the elements of another storage of the same size."""
        if source.device.type == "meta" != self.device.type:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        self._tensor().copy_(source._tensor())
        return self

    def resize_(self, size: int) -> None:
        """Changes the number of elements, keeping those that fit."""
        if self.device.type == "meta":
            self._untyped_storage = torch.empty(size, dtype=self.dtype, device="meta").untyped_storage()
        else:
            self._untyped_storage.resize_(size * self.dtype.itemsize)

    def resizable(self) -> bool:
        return self._untyped_storage.resizable()

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def is_shared(self) -> bool:
        return self._untyped_storage.is_shared()

    @property
    def filename(self) -> str | None:
        return self._untyped_storage.filename

    def is_pinned(self) -> bool:
        return False

    is_sparse = False

    def _only_cpu(self, name: str) -> None:
        if self.device.type != "cpu":
            raise RuntimeError(f"{name}: only available on CPU")

    def share_memory_(self) -> Any:
        """Moves the bytes into memory that processes forked from here share; a page has none."""
        self._only_cpu("_share_fd_")
        self._untyped_storage.share_memory_()
        return self

    def _new_shared(self, size: int, *, device: Any = None) -> Any:
        core: Any = UntypedStorage
        return self._wrap(core._new_shared(size * self.element_size(), device=device or "cpu"))

    def _share_fd_cpu_(self, *args: Any) -> Any:
        self._only_cpu("_share_fd_")
        raise NotImplementedError("torchlite runs in one process, and has no memory to share with another")

    def _share_filename_cpu_(self, *args: Any) -> Any:
        self._only_cpu("_share_filename_")
        raise NotImplementedError("torchlite runs in one process, and has no memory to share with another")

    def _write_file(self, *args: Any) -> None:
        if self.device.type == "meta":
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        raise NotImplementedError("TypedStorage._write_file: use torch.save, or write bytes(storage.untyped())")

    @classmethod
    def from_file(cls: Any, filename: Any, shared: bool = False, size: int = 0) -> Any:
        """The elements of a file, of the dtype of a legacy class."""
        if cls is TypedStorage:
            raise RuntimeError("from_file can only be called on derived classes")
        core: Any = UntypedStorage
        memory = core.from_file(filename, shared, size * cls.dtype.itemsize)
        return TypedStorage(wrap_storage=memory, dtype=cls.dtype, _internal=True)

    @classmethod
    def from_buffer(cls, *args: Any, **kwargs: Any) -> TypedStorage:
        """A storage with a copy of a buffer's bytes: `(buffer, byte_order, count=-1, offset=0)`. `dtype` and `device`
        are for TypedStorage itself: the other classes have a dtype."""
        _warn_typed_storage_removal()
        return cls._from_buffer(*args, **kwargs)

    @classmethod
    def _from_buffer(cls, *args: Any, dtype: Any = None, device: Any = None, **kwargs: Any) -> TypedStorage:
        if cls is not TypedStorage:
            for name, value in (("dtype", dtype), ("device", device)):
                if value is not None:
                    raise RuntimeError(
                        f"from_buffer: '{name}' can only be specified in UntypedStorage.from_buffer and "
                        "TypedStorage.from_buffer"
                    )
            own: Any = cls
            dtype = own.dtype
        elif device is not None and torch.device(device).type != "cpu":
            raise RuntimeError(f"TypedStorage.from_buffer: Not available for device {torch.device(device).type}")
        dtype = dtype or torch.get_default_dtype()
        made = _from_buffer(*args, dtype=dtype, **kwargs)
        return TypedStorage(wrap_storage=made, dtype=dtype, _internal=True)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        import copy

        return self._wrap(copy.deepcopy(self._untyped_storage, memo))

    def clone(self) -> Any:
        """A copy."""
        return self._wrap(self._tensor().clone().untyped_storage())

    def cpu(self) -> Any:
        """This storage on the CPU."""
        return self._wrap(_move(self._untyped_storage, "cpu", self.dtype))

    def to(self, *, device: Any, non_blocking: bool = False) -> Any:
        """This storage on another device."""
        return self._wrap(_move(self._untyped_storage, device, self.dtype))

    def type(self, dtype: DType | None = None) -> Any:
        """The name of the storage class, or the storage converted to `dtype`."""
        if dtype is None:
            return "torch." + self._pickle_storage_type()
        return self._wrap(self._tensor().to(dtype).untyped_storage(), dtype)

    def _pickle_storage_type(self) -> Any:
        return _PICKLE_NAMES[self.dtype]

    pickle_storage_type = _pickle_storage_type

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, TypedStorage) and self.data_ptr() == other.data_ptr() and self.dtype is other.dtype

    __hash__ = object.__hash__

    def __repr__(self) -> Any:
        lines = "...\n" if self.device.type == "meta" else "".join(f" {v}\n" for v in self.tolist())
        return f"{lines}[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[bytes]]:
        return _reduce(self)


_conversions = {name: kind for name, kind in _dtypes.CONVERSIONS.items() if not kind.is_complex}
_conversions |= {"complex_float": _dtypes.complex64, "complex_double": _dtypes.complex128}
_conversions |= {n: getattr(torch, n) for n in "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz".split()}
for _name, _kind in _conversions.items():
    # s.float() ...; bytes convert as the elements of a ByteStorage
    setattr(TypedStorage, _name, lambda self, kind=_kind: self.type(kind))
    setattr(UntypedStorage, _name, lambda self, kind=_kind: _as_bytes(self).type(kind))
_class: Any
for _class in (TypedStorage, UntypedStorage):
    _class.is_hpu = _class.is_sparse = False
    _class.get_device = lambda self: None if self.device.type == "cpu" else self.device.index or 0


class _LegacyMeta(type):
    dtype: DType

    def __instancecheck__(cls, instance: TypedStorage) -> bool:
        own = getattr(cls, "dtype", None)
        return type(instance) is TypedStorage and instance.dtype is own or type.__instancecheck__(cls, instance)


class _LegacyStorage(TypedStorage, metaclass=_LegacyMeta):
    """The base of torch.FloatStorage and its like; calling one of them makes a TypedStorage."""

    dtype: Any

    def __new__(cls, *args: Any, wrap_storage: Any = None, **named: Any) -> Any:
        _warn_typed_storage_removal()
        if cls is _LegacyStorage:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        expected = _LEGACY % cls
        for name in named:
            if name in ("device", "dtype"):
                raise RuntimeError(expected + f"Keyword argument '{name}' cannot be specified")
            raise TypeError(f"TypedStorage.__new__() got an unexpected keyword argument '{name}'")
        if wrap_storage is not None:
            _check_wrapped(expected, args, wrap_storage)
        elif len(args) > 1:
            raise RuntimeError(expected + "Too many positional arguments")
        elif args and not isinstance(args[0], (int, list, tuple, str)):
            if hasattr(args[0], "__index__") and not isinstance(args[0], torch.Tensor):  # a number of numpy's
                return TypedStorage(args[0].__index__(), dtype=cls.dtype, _internal=True)
            raise TypeError(expected + f"Argument type not recognized: {type(args[0])}")
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype, _internal=True)


def _legacy(name: str, dtype_: DType) -> type:
    fields = {"dtype": dtype_, "__module__": "torchlite", "__doc__": f"Makes a `TypedStorage` of {dtype_}."}
    return _LegacyMeta(name, (_LegacyStorage,), fields)


# torch.FloatStorage ... (calling one makes a TypedStorage)
LEGACY_CLASSES = {name: _legacy(name, d) for name, d in _PICKLE_DTYPES.items()}
globals().update(LEGACY_CLASSES)
_storage_classes = {UntypedStorage, TypedStorage, *LEGACY_CLASSES.values()}


def _dtype_to_storage_type_map() -> dict[Any, str]:
    """The class name of the storage of each dtype that has one; the function has PyTorch's name."""
    return dict(_PICKLE_NAMES)
