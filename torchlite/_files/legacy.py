"""The formats of `torch.save` before the zip archive: a sequence of pickles followed by raw storages, and the tar files
of PyTorch 0.1. Loaded on demand."""

from __future__ import annotations


import pickle
import sys
from types import FunctionType
from typing import IO

import torchlite as torch
from torchlite._files.limits import Budget, brief
from torchlite._files import zip_records
from torchlite import _utils, serialization as _s, storage as _storage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from typing import ClassVar
    from .._types import Storage
    from ..storage import TypedStorage


MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


if TYPE_CHECKING:

    class _PythonPickler:
        """The pickler in Python, as far as it is used here: typeshed leaves out its methods."""

        dispatch: ClassVar[dict[type, Callable[..., Any]]]
        persistent_id: Callable[[Any], Any]
        save: Callable[[Any], None]
        write: Callable[[bytes], None]
        memoize: Callable[[Any], None]

        def __init__(self, file: IO[bytes], protocol: int) -> None: ...
        def dump(self, obj: Any) -> None: ...
        def save_global(self, obj: Any, name: str | None = None) -> None: ...
        def save_type(self, obj: Any) -> None: ...

else:
    _PythonPickler = pickle._Pickler


class RenamingPickler(_PythonPickler):
    """A pickler (in Python) that writes torch.* for torchlite.*;
    for the protocols whose frames forbid renaming later."""

    dispatch = dict(_PythonPickler.dispatch)

    def __init__(self, file: IO[bytes], protocol: int, persistent_id: Callable[..., Any]) -> None:
        super().__init__(file, protocol)
        self.persistent_id = persistent_id

    def save_global(self, obj: Any, name: str | None = None) -> Any:
        module = getattr(obj, "__module__", None) or ""
        if module != "torchlite" and not module.startswith("torchlite."):
            return super().save_global(obj, name)
        self.save("torch" + module[9:])
        self.save(name or obj.__qualname__)
        self.write(pickle.STACK_GLOBAL)
        self.memoize(obj)

    def save_type(self, obj: Any) -> Any:
        if obj in (type(None), type(NotImplemented), type(...)):
            return super().save_type(obj)
        return self.save_global(obj)

    dispatch[FunctionType] = save_global
    dispatch[type] = save_type


def legacy_save(obj: Any, file: IO[bytes], pickle_module: Any, protocol: int) -> None:
    """Writes magic number, version, system facts, the object's pickle, the storage keys, the storages."""
    module = pickle_module or pickle
    facts = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    for item in (MAGIC_NUMBER, PROTOCOL_VERSION, facts):
        module.dump(item, file, protocol=protocol)
    data, storages = _s._pickle(obj, pickle_module, protocol, legacy=True)
    file.write(data)
    keys = sorted(storages)
    module.dump(keys, file, protocol=protocol)
    for key in keys:
        storage, dtype = storages[key]
        file.write((storage.nbytes() // dtype.itemsize).to_bytes(8, "little"))
        file.write(memoryview(_storage._move(storage, "cpu", dtype)))


def legacy_load(file: Any, map_location: Any, base: Any, weights_only: Any, pickle_load_args: Any) -> Any:
    """Reads what `legacy_save` (or a PyTorch before 1.6) wrote."""
    import io

    start = file.tell()
    head = file.read(262)
    file.seek(start)
    if head[257:262] == b"ustar":
        return _load_tar(file, map_location, base, weights_only, pickle_load_args)
    stream = io.BytesIO(file.read())
    available = stream.getbuffer().nbytes
    if not available:
        raise EOFError("Ran out of input")
    budget = Budget(available)
    budget.take(available)

    def unpickler(base: type) -> Any:
        one = base(stream, **pickle_load_args)
        if weights_only:
            one.budget = budget
        return one

    def load_next() -> Any:
        return unpickler(base).load()

    magic = load_next()
    if type(magic) is not int or magic != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = load_next()
    if type(version) is not int or version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {brief(version)}")
    facts = load_next()
    if type(facts) is not dict:
        raise RuntimeError("Invalid system facts; corrupt file?")
    object_at = stream.tell()
    restore = _s._restorer(map_location)
    buffers: dict[Any, Storage] = {}
    typed: dict[Any, TypedStorage] = {}
    moved: dict[Any, str] = {}
    filled, declared = False, 0  # whether the buffers have their bytes; how many bytes they take

    def persistent_load(saved_id: tuple[Any, ...]) -> TypedStorage:
        nonlocal declared
        kind = saved_id[0]
        if kind in ("module", b"module"):
            return saved_id[1]
        if kind not in ("storage", b"storage"):
            raise RuntimeError(f"Unknown saved id type: {kind}")
        dtype, key, location, count, (view,) = _s.storage_facts(saved_id)
        if key not in typed:
            if key not in buffers:
                declared += count * dtype.itemsize
                if declared > available:
                    raise RuntimeError(f"unexpected EOF: storages of {declared} bytes do not fit in the file")
                budget.take(count * dtype.itemsize)
                buffers[key] = _storage.UntypedStorage(count * dtype.itemsize)
            storage = buffers[key]
            if filled:
                storage = restore(storage, location)
            elif map_location is not None or location != "cpu":
                moved[key] = location
            typed[key] = _storage.TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)
        if view is None:
            return typed[key]
        view_key, offset, length = view
        if (
            type(view_key) not in (str, int)
            or type(offset) is not int
            or type(length) is not int
            or min(offset, length) < 0
        ):
            raise RuntimeError("a view of a storage in the file has no valid key, offset or size")
        if view_key not in typed:
            part = memoryview(buffers[key])[offset * dtype.itemsize : (offset + length) * dtype.itemsize]
            typed[view_key] = _storage.TypedStorage(
                wrap_storage=torch._C.storage_from_buffer(part), dtype=dtype, _internal=True
            )
        return typed[view_key]

    def load_object() -> Any:
        stream.seek(object_at)
        one = unpickler(_s.unpickler_class(base, weights_only))
        one.persistent_load = persistent_load
        return one.load()

    # the bytes come after the pickle that uses them: build the object over empty buffers, then fill those
    looked_at: list[str] = []  # tensors whose indices count as they are made
    token = _utils._unread.set(looked_at)
    try:
        result = load_object()
    finally:
        _utils._unread.reset(token)
    swap = facts.get("little_endian", True) != (sys.byteorder == "little")
    missing = set(buffers)
    for key in load_next():
        if type(key) not in (str, int) or key not in missing:
            raise RuntimeError(f"the file has bytes of a storage {brief(key)} that its object does not name, or twice")
        missing.remove(key)
        count = int.from_bytes(stream.read(8), "little")
        dtype = typed[key].dtype
        view = memoryview(buffers[key])
        if count * dtype.itemsize != len(view):
            raise RuntimeError(f"storage has wrong byte size: expected {len(view)} got {count * dtype.itemsize}")
        zip_records.read_exactly(stream, view, "storage")
        if swap:
            _s.swap_bytes(view, dtype.itemsize // (2 if dtype.is_complex else 1))
    if missing:
        raise RuntimeError(f"unexpected EOF: {len(missing)} storages have no bytes in the file")
    file.seek(start + stream.tell())  # where another torch.save may have gone on
    if moved or looked_at:
        # a storage is moved, and indices are read, only once they are complete, so the object is built a second time
        filled = True
        typed.clear()
        result = load_object()
    return result


def _tar_parts(file: Any, start: int) -> dict[bytes, tuple[int, int]]:
    """Where the ordinary files in a tar file begin, and their sizes. Headers that say more of the next file are passed
    over: no part of a checkpoint needs one, and Python's own module goes through them in quadratic time."""
    parts, at, end = {}, start, file.seek(0, 2)
    while at < end:
        file.seek(at)
        block = file.read(512)
        if len(block) == 512 and not any(block):
            break
        kind = block[156:157]
        try:
            total, size = (int(field.strip(b" \0") or b"0", 8) for field in (block[148:156], block[124:136]))
        except ValueError:
            total = size = -1
        at += 512
        if kind not in b"07xgXLKS\0":  # links and folders have no bytes
            size = 0
        if (
            len(block) < 512
            or total != sum(block) - sum(block[148:156]) + 8 * ord(" ")
            or not 0 <= size + -size % 512 <= end - at
        ):
            raise RuntimeError("the tar file has a damaged header, or a part of impossible size")
        if kind in b"07\0":
            parts[block[:100].partition(b"\0")[0]] = at, size
        at += size + -size % 512
    return parts


def _load_tar(file: Any, map_location: Any, base: Any, weights_only: Any, pickle_load_args: Any) -> dict[str, Any]:
    import io
    from struct import unpack

    start = file.tell()
    if weights_only:
        raise RuntimeError("Cannot use ``weights_only=True`` with files saved in the legacy .tar format. " + _s._UNSAFE)
    wrapper = _s.unpickler_class(base, False)
    restore = _s._restorer(map_location)
    found = _tar_parts(file, start)
    parts = {}
    for name in ("storages", "tensors", "pickle"):
        if name.encode() not in found:
            raise RuntimeError(f"the tar file has no ordinary file {name} inside it")
        at, size = found[name.encode()]
        file.seek(at)
        parts[name] = io.BytesIO(file.read(size))
    objects: dict[Any, Any] = {}  # storages, then tensors as well, by their keys in the file

    def load_next(stream: IO[bytes]) -> Any:
        return wrapper(stream, **pickle_load_args).load()

    stream = parts["storages"]
    for _ in range(load_next(stream)):
        key, location, storage_class = load_next(stream)
        dtype = storage_class.dtype
        data = stream.read(int.from_bytes(stream.read(8), "little") * dtype.itemsize)
        storage = _storage.UntypedStorage(len(data))
        memoryview(storage)[:] = data
        storage = restore(storage, location)
        objects[key] = _storage.TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)
    for target, root, offset, count in load_next(stream):
        whole = objects[root]
        size = whole.dtype.itemsize
        part = memoryview(whole._untyped_storage)[offset * size : (offset + count) * size]
        objects[target] = _storage.TypedStorage(
            wrap_storage=torch._C.storage_from_buffer(part), dtype=whole.dtype, _internal=True
        )
    stream = parts["tensors"]
    for _ in range(load_next(stream)):
        key, storage_key, _ = load_next(stream)
        (ndim,) = unpack("<i", stream.read(8)[:4])
        shape, strides = (unpack(f"<{ndim}q", stream.read(8 * ndim)) for _ in range(2))
        (offset,) = unpack("<q", stream.read(8))
        objects[key] = _utils._rebuild_tensor(objects[storage_key], offset, shape, strides)
    unpickler = wrapper(parts["pickle"], **pickle_load_args)
    unpickler.persistent_load = lambda saved: saved[0] if isinstance(saved, tuple) else objects[int(saved)]
    return unpickler.load()
