"""`torch.save` and `torch.load`: PyTorch's file formats, in both directions.

A file is a zip archive with the pickled object (data.pkl), in which storages are named by key, and one record per
storage. Classes of this package are written under PyTorch's paths (torch.nn.modules.linear.Linear), so either library
reads the other's files.
"""

from __future__ import annotations


import contextlib
import functools
import re
import os
import sys
import threading

import torchlite as torch
from torchlite._core import device as _device
from torchlite._files import options as _options, zip_records
from torchlite._files.options import (  # noqa: F401
    LoadEndianness,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
)
from torchlite import storage as _storage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, IO
    from ._types import DType, Layout
    from ._files.zip_records import Reader
    from .storage import TypedStorage


DEFAULT_PROTOCOL = 2
_UNSAFE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to "
    "`True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in "
    "arbitrary code execution. Do it only if you got the file from a trusted source."
)
_DOCS = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with weights_only "
    "https://pytorch.org/docs/stable/generated/torch.load.html."
)

# register_package: (priority, tagger, deserializer)
_packages: list[tuple[int, Callable[..., str | None], Callable[..., Any]]] = []


class SourceChangeWarning(Warning):
    """The source of a loaded module differs from the saved one."""


class StorageType:
    """Stands for torch.FloatStorage ... in a pickle; only its dtype matters."""

    def __init__(self, name: str) -> None:
        self.dtype = _storage._PICKLE_DTYPES[name]

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


_layouts = {str(one): one for one in _device.LAYOUTS}


def _get_layout(name: str) -> Layout:
    return _layouts[name]


# ---- which classes may be loaded -------------------------------------------------------------------------------------


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allows classes and functions (or pairs (object, "full.path")) in files loaded with weights_only=True."""
    from torchlite._files import unpickler as wo

    wo._user_allowed.extend(g for g in safe_globals if g not in wo._user_allowed)


def get_safe_globals() -> list[tuple[type, str]]:
    """What `add_safe_globals` has allowed so far."""
    from torchlite._files import unpickler as wo

    return list(wo._user_allowed)


def clear_safe_globals() -> None:
    """Forgets what `add_safe_globals` allowed."""
    from torchlite._files import unpickler as wo

    wo._user_allowed.clear()


class safe_globals:
    """Context manager that allows classes and functions for `torch.load` inside the block."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self._globals = safe_globals

    def __enter__(self) -> Any:
        self._added = [g for g in self._globals if g not in get_safe_globals()]
        add_safe_globals(self._added)

    def __exit__(self, *exc: Any) -> Any:
        from torchlite._files import unpickler as wo

        wo._user_allowed[:] = [g for g in wo._user_allowed if g not in self._added]


def get_unsafe_globals_in_checkpoint(f: IO[bytes]) -> list[str]:
    """Names of the globals in a file that weights_only=True would refuse now."""
    from torchlite._files import unpickler as wo

    with _Opened(f, "rb") as file:
        start = file.tell()
        magic = file.read(4)
        file.seek(start)
        if magic != b"PK\3\4":
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        reader = zip_records.Reader(file)
        if "constants.pkl" in reader:
            raise ValueError(
                "Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint"
            )
        data = reader.read("data.pkl")
    known = {*wo._default_allowed(), *wo._user_globals()}
    return [name for name in wo.globals_named(data) if name not in known]


# ---- devices ---------------------------------------------------------------------------------------------------------


def register_package(priority: Any, tagger: Any, deserializer: Any) -> None:
    """Adds a storage location: `tagger(storage)` names it, `deserializer(storage, location)` moves a storage there;
    both return None for storages of others. Lower priorities are asked first."""
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda p: p[0])


def location_tag(storage: Any) -> str:
    """The text under which a storage's device is saved."""
    for _, tagger, _ in _packages:
        tag = tagger(storage)
        if tag:
            return tag
    return str(_storage._device_of(storage))


def default_restore_location(storage: Any, location: Any) -> Any:
    """The storage, moved to the device that `location` names."""
    for _, _, deserializer in _packages:
        moved = deserializer(storage, location)
        if moved is not None:
            return moved
    if not isinstance(location, str):
        raise TypeError(f"expected string or bytes-like object, got '{type(location).__name__}'")
    kind = location.partition(":")[0]
    if location == "cpu":
        return storage
    if kind in ("webgpu", "meta"):
        return _storage._move(storage, location)
    if kind in ("cuda", "hpu", "xpu"):
        raise RuntimeError(
            f"Attempting to deserialize object on a {kind.upper()} device but torch.{kind}.is_available() is False. If "
            "you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map "
            "your storages to the CPU."
        )
    raise RuntimeError(
        f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location[:1000]})"
    )


MAP_LOCATION = object  # the types of torch.load's map_location, for annotations


def _restorer(map_location: Any) -> Callable[..., Any]:
    """Function (storage, saved location) -> storage for an argument `map_location`."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, (str, bytes, torch.device)):
        target = map_location.decode("ascii") if isinstance(map_location, bytes) else str(map_location)
        return lambda storage, location: default_restore_location(storage, target)

    def restore(storage: Any, location: str) -> Any:
        moved = map_location(storage, location)
        if moved is None:
            return default_restore_location(storage, location)
        if not isinstance(moved, (_storage.UntypedStorage, _storage.TypedStorage)):
            raise TypeError(f"map_location must return a storage or None, but it returned {type(moved)}")
        return moved

    return restore


# ---- files -----------------------------------------------------------------------------------------------------------


def _is_path(f: Any) -> bool:
    return isinstance(f, (str, os.PathLike))


def _open_file_like(name_or_buffer: Any, mode: str) -> Any:
    """A context manager of the file; PyTorch's name, which packages call."""
    return _Opened(name_or_buffer, mode)


class _Opened:
    """Context manager: a path opened in `mode`, or the file-like object itself."""

    def __init__(self, f: Any, mode: str) -> None:
        self._own = _is_path(f)
        if self._own:
            if mode == "wb":
                folder = os.path.dirname(os.fspath(f))
                if folder and not os.path.isdir(folder):
                    raise RuntimeError(f"Parent directory {folder} does not exist.")
            self._file = open(f, mode)
        else:
            self._file = f

    def __enter__(self) -> Any:
        return self._file

    def __exit__(self, *exc: type | None) -> Any:
        if self._own:
            self._file.close()
        elif hasattr(self._file, "flush"):
            self._file.flush()


def _check_seekable(f: IO[bytes]) -> Any:
    import io

    for name in ("seek", "tell", "read"):
        if not hasattr(f, name):
            break
    else:
        try:
            f.seek(f.tell())
            return
        except io.UnsupportedOperation as error:
            raise io.UnsupportedOperation(f"{error}. {_SEEK_ADVICE}") from None
    raise AttributeError(f"'{type(f).__name__}' object has no attribute '{name}'. {_SEEK_ADVICE}")


_SEEK_ADVICE = (
    "You can only torch.load from a file that is seekable. Please pre-load the data into a buffer like "
    "io.BytesIO and try to load from it instead."
)


# ---- save ------------------------------------------------------------------------------------------------------------


class _SerializationLocal(threading.local):
    """What contexts say of the save or load that runs in a thread."""

    skip_data = materialize_fake_tensors = False


_serialization_tls = _SerializationLocal()


class skip_data:
    """Inside, torch.save leaves room for the bytes of tensors and does not write them: they are zeros."""

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        if materialize_fake_tensors:
            raise NotImplementedError("skip_data(): torchlite does not save fake tensors")

    def __enter__(self) -> None:
        self._before = _serialization_tls.skip_data
        _serialization_tls.skip_data = True

    def __exit__(self, *exc: Any) -> None:
        _serialization_tls.skip_data = self._before


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> Any:
    """Saves an object to a file.

    Args: obj (anything picklable: tensors, modules, state dicts, containers), f (a path or a file-like object with
    `write`), pickle_module and pickle_protocol (as in `pickle`).
    """
    if not _is_path(f) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if not _use_new_zipfile_serialization:
        from torchlite._files.legacy import legacy_save

        with _Opened(f, "wb") as file:
            return legacy_save(obj, file, pickle_module, pickle_protocol)
    data, storages = _pickle(obj, pickle_module, pickle_protocol)
    name = os.path.splitext(os.path.basename(os.fspath(f)))[0] if _is_path(f) else "archive"
    with _Opened(f, "wb") as file:
        writer = zip_records.Writer(file.write, name)
        writer.record("data.pkl", data)
        writer.record(".format_version", b"1")
        writer.record(".storage_alignment", b"%d" % zip_records.ALIGNMENT)
        if not _disable_byteorder_record:
            writer.record("byteorder", sys.byteorder.encode())
        for key, (storage, dtype) in storages.items():
            kept = bytes(storage.nbytes()) if _serialization_tls.skip_data else _storage._move(storage, "cpu", dtype)
            writer.record("data/" + key, memoryview(kept))
        writer.close()


def _pickle(obj: Any, pickle_module: Any, protocol: int, legacy: bool = False) -> tuple[bytes, dict[str, Any]]:
    """(pickle of obj, {key: (storage, dtype)}); the pickle names a storage by its key."""
    import io
    import pickle

    standard = pickle_module is None or pickle_module is pickle
    storages, ours = {}, set()
    keys: dict[Any, str] = {}
    dtypes: dict[Any, DType] = {}
    typed, untyped = _storage.TypedStorage, _storage.UntypedStorage

    def persistent_id(obj: Any) -> Any:
        cls = obj.__class__
        if cls is typed and obj.dtype not in _storage._PICKLE_NAMES:
            obj, cls = obj._untyped_storage, untyped
        if cls is typed:
            storage, dtype = obj._untyped_storage, obj.dtype
            kind = _storage.LEGACY_CLASSES[_storage._PICKLE_NAMES[dtype]]
        elif cls is untyped:
            storage, dtype, kind = obj, torch.uint8, untyped
            if legacy:
                kind = _storage.LEGACY_CLASSES["ByteStorage"]
        else:
            return None
        size = storage.nbytes()
        if size and dtypes.setdefault(id(storage), dtype) is not dtype:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        # an empty storage may be seen as several dtypes, each of them a storage of the file
        which = id(storage) if size or legacy else (id(storage), dtype)
        key = keys.setdefault(which, str(id(storage) if legacy else len(keys)))
        storages[key] = storage, dtype
        ours.add((kind.__module__, kind.__name__))
        pid = "storage", kind, key, location_tag(storage), size // dtype.itemsize
        return (*pid, None) if legacy else pid

    out = io.BytesIO()
    if standard and protocol >= 4:
        from torchlite._files.legacy import RenamingPickler

        RenamingPickler(out, protocol, persistent_id).dump(obj)
        return out.getvalue(), storages
    pickler = _pickler_class(pickle.Pickler if standard else pickle_module.Pickler, standard)(out, protocol=protocol)
    pickler._storage_id, pickler._ours = persistent_id, ours
    pickler.dump(obj)
    return _with_public_names(out.getvalue(), ours if standard else None, protocol), storages


@functools.lru_cache(8)  # a class that is made for each file stays until a collection
def _pickler_class(base: type, standard: bool) -> type:
    class Pickler(base):
        if standard:

            def reducer_override(self, obj: Any) -> Any:
                # only notes which globals of this package the pickle will name
                module = getattr(obj, "__module__", None)
                if module.__class__ is str and module.startswith("torchlite"):
                    self._ours.add((module, getattr(obj, "__qualname__", None) or str(obj).rpartition(".")[2]))
                return NotImplemented

        def persistent_id(self, obj: Any) -> tuple[str, type, str, str, int] | None:
            return self._storage_id(obj)

    return Pickler


def _with_public_names(data: Any, names: Any, protocol: int) -> bytes:
    """The pickle with torch.* in place of torchlite.* in its globals (a GLOBAL is b"c<module>\\n<name>\\n")."""
    if protocol >= 4 or b"ctorchlite" not in data:
        return data
    if names is not None:
        # fast way: each global is spelled out once, so a text that occurs once is that global and no user string
        result = data
        for module, name in names:
            spelled = f"c{module}\n{name}\n".encode()
            # under the name torch, classes say so themselves
            if spelled.startswith((b"ctorchlite.", b"ctorchlite\n")) and data.count(spelled) == 1:
                result = result.replace(spelled, b"ctorch" + spelled[10:])
        if b"ctorchlite" not in result:
            return result
    import pickletools

    pieces, done = [], 0
    for op, arg, position in pickletools.genops(data):
        if (
            op.name == "GLOBAL"
            and arg is not None
            and position is not None
            and (arg.startswith("torchlite.") or arg.startswith("torchlite "))
        ):
            pieces += [data[done:position], b"ctorch"]
            done = position + 10
    return b"".join(pieces) + data[done:]


# ---- load ------------------------------------------------------------------------------------------------------------


def _forced(weights_only: bool | None, default: bool) -> bool:
    """weights_only after the switches in the environment, which PyTorch has for programs that cannot be changed."""
    safe, unsafe = (
        os.environ.get(f"TORCH_FORCE_{name}_LOAD", "0").lower() in ("1", "y", "yes", "true")
        for name in ("WEIGHTS_ONLY", "NO_WEIGHTS_ONLY")
    )
    if safe and unsafe:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, "
            "but both were set."
        )
    if safe:
        return True
    if unsafe and weights_only is None:
        import warnings

        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the`weights_only` argument was "
            "not explicitly passed to `torch.load`, forcing weights_only=False.",
            UserWarning,
            stacklevel=3,
        )
        return False
    return default if weights_only is None else weights_only


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Loads an object saved with `torch.save`, here or in PyTorch.

    Args: f (a path, or a file-like object that can seek), map_location (a device, its name, a dict from saved to wanted
    locations, or a function (storage, location) -> storage), weights_only (default True: only tensors, containers and
    allowed classes; False runs code that the file names, so only for files you trust), mmap (map the file instead of
    reading it; needs a path).
    """
    import pickle

    weights_only = _forced(weights_only, pickle_module is None)
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if pickle_load_args and weights_only:
        import warnings

        warnings.warn("pickle_load_args only works if `weights_only=False`.")
    pickle_load_args.setdefault("encoding", "utf-8")
    if _is_path(f) and os.fspath(f).endswith(".safetensors"):
        from torchlite.utils.safetensors import load_file

        if isinstance(map_location, dict) or callable(map_location):
            kind = "dict" if isinstance(map_location, dict) else "callable"
            raise RuntimeError(
                f"Loading safetensors file with {kind} map_location is not supported. Use a device string "
                "or torch.device instead."
            )
        return load_file(f, device="cpu" if map_location is None else str(map_location))
    if not _is_path(f):
        _check_seekable(f)
    with _Opened(f, "rb") as file:
        start = file.tell()
        magic = file.read(4)
        file.seek(start)
        if weights_only:
            from torchlite._files import unpickler

            Unpickler: Any = unpickler.Unpickler
        else:
            Unpickler = (pickle_module or pickle).Unpickler
        try:
            if magic == b"PK\3\4":
                reader = zip_records.Reader(file)
                if "constants.pkl" in reader:
                    raise RuntimeError(
                        "Cannot use ``weights_only=True`` with TorchScript archives passed to "
                        "``torch.load``. " + _UNSAFE
                        if weights_only
                        else "TorchScript archives (torch.jit.save) cannot be loaded here"
                    )
                mapped = _map_file(f) if mmap else None
                return _load_zip(reader, map_location, Unpickler, weights_only, mapped, pickle_load_args)
            if mmap:
                name = f"{f}, " if isinstance(f, str) else ""
                raise RuntimeError(
                    "mmap can only be used with files saved with `torch.save("
                    f"{name}_use_new_zipfile_serialization=True), please torch.save your checkpoint with "
                    "this option in order to use mmap."
                )
            from torchlite._files.legacy import legacy_load

            return legacy_load(file, map_location, Unpickler, weights_only, pickle_load_args)
        except pickle.UnpicklingError as error:
            if not weights_only:
                raise
            raise pickle.UnpicklingError(_weights_only_message(str(error))) from None


def _weights_only_message(message: str) -> str:
    if "was not an allowed global by default." in message:
        text = (
            "Weights only load failed. This file can still be loaded, to do so you have two options, \033[1mdo those "
            f"steps only if you trust the source of the checkpoint\033[0m. \n\t(1) {_UNSAFE}\n\t(2) Alternatively, to "
            "load with `weights_only=True` please check the recommended steps in the following error message.\n\t"
            f"WeightsUnpickler error: {message}"
        )
    else:
        text = f"Weights only load failed. {_UNSAFE}\n"
        if "is blocked" not in message:
            text += (
                "Please file an issue with the following so that we can make `weights_only=True` compatible with your "
                "use case: WeightsUnpickler error: "
            )
        text += "\n\n" + message
    return text + _DOCS


def _map_file(f: Any) -> memoryview:
    if not _is_path(f):
        raise ValueError("f must be a file path in order to use the mmap argument")
    import mmap

    shared = get_default_mmap_options() == _options.MAP_SHARED
    with open(f, "r+b" if shared else "rb") as file:
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        return memoryview(mmap.mmap(file.fileno(), 0, access=access))


@functools.lru_cache(8)
def unpickler_class(base: type, weights_only: bool) -> type:
    """`base` with torch.* globals found in this package and storage classes replaced by their dtypes."""
    if weights_only:
        return base

    class UnpicklerWrapper(base):
        def find_class(self, module: str, name: str) -> Any:
            if module == "torch.tensor":  # where PyTorch 0.4 had it
                module = "torch._tensor"
            if module in ("torch", "torchlite", "torch.cuda", "torch.storage") and name in _storage._PICKLE_DTYPES:
                return StorageType(name)
            if module == "torch" and name.endswith("Tensor") and not hasattr(torch, name):
                return StorageType(name[:-6] + "Storage")  # torch.FloatTensor ... of the tar format
            if module == "torch._C._nn" and hasattr(torch.nn.functional, name):  # its built-in functions
                module = "torch.nn.functional"
            if (module, name) == ("torch._C", "TensorBase"):  # whose methods are Tensor's here
                module, name = "torch", "Tensor"
            if module == "torch" or module.startswith("torch."):
                module = "torchlite" + module[5:]
            return super().find_class(module, name)

    return UnpicklerWrapper


def swap_bytes(view: memoryview, size: int) -> Any:
    """Reverses the bytes of every element of `size` bytes, in place."""
    step = size << 20
    for start in range(0, len(view), step):
        data = bytes(view[start : start + step])
        swapped = bytearray(data)
        for i in range(size):
            swapped[i::size] = data[size - 1 - i :: size]
        view[start : start + step] = swapped


def storage_facts(saved_id: tuple[Any, ...]) -> tuple[DType, str, str, int, list[Any]]:
    """(dtype, key, location, number of elements, rest) of a storage that a pickle names,
    all of the kinds that they have."""
    _, storage_class, key, location, count, *rest = saved_id
    dtype = torch.uint8 if storage_class is _storage.UntypedStorage else getattr(storage_class, "dtype", None)
    key, location = (x.decode("ascii") if isinstance(x, bytes) else x for x in (key, location))
    if (
        type(dtype) is not torch.dtype
        or isinstance(storage_class, torch.Tensor)
        or type(key) not in (str, int)
        or type(location) is not str
        or type(count) is not int
        or count < 0
    ):
        raise RuntimeError("a storage in the file has no valid type, key, location or size")
    return dtype, key, location, count, rest


def _is_zipfile(f: Any) -> bool:
    """Whether a file begins as those of torch.save do."""
    start = f.tell()
    read = f.read(4)
    f.seek(start)
    return read == b"PK\3\4"


class _Records:
    """The records of an archive, by the names that PyTorch's reader has for its methods."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def has_record(self, name: str) -> bool:
        return name in self._reader

    def get_record(self, name: str) -> bytes:
        return self._reader.read(name)

    def get_all_records(self) -> list[str]:
        return list(self._reader.names())

    def get_record_offset(self, name: str) -> int:
        return self._reader.offset(name)


@contextlib.contextmanager
def _open_zipfile_reader(name_or_buffer: Any) -> Any:
    """The records of an archive, in a with block."""
    with _open_file_like(name_or_buffer, "rb") as file:
        yield _Records(zip_records.Reader(file))


class _NewRecords:
    def __init__(self, write: Any, name: str) -> None:
        self._writer = zip_records.Writer(write, name)

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Appends `size` bytes of a storage or of bytes."""
        data = data.encode() if isinstance(data, str) else data
        self._writer.record(name, memoryview(data).cast("B")[:size] if size else b"")

    def write_record_metadata(self, name: str, size: int) -> None:
        """Appends a record of `size` bytes that somebody else writes later."""
        self._writer.record(name, bytes(size))


@contextlib.contextmanager
def _open_zipfile_writer(name_or_buffer: Any) -> Any:
    """A context manager that writes a new archive, over the file if there is one."""
    path = isinstance(name_or_buffer, (str, os.PathLike))
    name = os.path.splitext(os.path.basename(os.fspath(name_or_buffer)))[0] if path else "archive"
    with _open_file_like(name_or_buffer, "wb") as file:
        made = _NewRecords(file.write, name)
        yield made
        made._writer.close()
        file.flush()


def _check_version(reader: Reader) -> None:
    """Refuses an archive of a format that this version does not know, as PyTorch does."""
    if "version" not in reader:
        return
    text = reader.read("version", 1 << 16).decode("latin-1")
    digits = re.match(r"\s*([-+]?[0-9]{1,19})", text)  # PyTorch reads the number in front with stoull
    if digits is None:
        raise RuntimeError(f"Couldn't parse the version {text[:100]} as Long Long.")
    number = int(digits[1])
    if number < 1:
        raise RuntimeError(
            f"Attempted to read a PyTorch file with version {number}, but the minimum supported version for reading "
            "is 1. Your PyTorch script module file is too old. Please regenerate it with latest version of PyTorch to "
            "mitigate this issue."
        )
    if number > 10:
        raise RuntimeError(
            f"Attempted to read a PyTorch file with version {number}, but the maximum supported version for reading "
            "is 10. The version of your PyTorch installation may be too old, please upgrade PyTorch to latest version "
            "to mitigate this issue."
        )


def _load_zip(
    reader: Reader,
    map_location: Any,
    base: type,
    weights_only: bool,
    mapped: memoryview | None,
    pickle_load_args: dict[str, str],
) -> Any:
    import io

    _check_version(reader)
    restore = _restorer(map_location)
    to_meta = isinstance(map_location, (str, torch.device)) and str(map_location).startswith("meta")
    order = reader.read("byteorder", 100).decode() if "byteorder" in reader else _options.assumed_byteorder()
    if order not in ("little", "big"):
        raise ValueError("Unknown endianness type: " + order)
    loaded: dict[str | int, TypedStorage] = {}

    def persistent_load(saved_id: tuple[Any, ...]) -> TypedStorage:
        kind = saved_id[0]
        if kind not in ("storage", b"storage"):
            raise AssertionError(f"Unknown typename for persistent_load, expected 'storage' but got '{kind}'")
        dtype, key, location, count, _ = storage_facts(saved_id)
        if key in loaded:
            return loaded[key]
        nbytes, name = count * dtype.itemsize, f"data/{key}"
        if to_meta:
            storage = torch.empty(nbytes, dtype=torch.uint8, device="meta").untyped_storage()
        else:
            if nbytes != reader.size(name):
                raise RuntimeError(
                    f"record size ({reader.size(name)} bytes) does not match expected size ({nbytes} bytes = {nbytes} "
                    "elements * 1 bytes/element) for dtype Byte"
                )
            swap = order != sys.byteorder and dtype.itemsize // (2 if dtype.is_complex else 1)
            if mapped is not None and not swap and reader.stored(name):
                start = reader.offset(name)
                storage = torch._C.storage_from_buffer(mapped[start : start + nbytes])
            else:
                storage = reader.storage(name, nbytes)
                if swap:
                    swap_bytes(memoryview(storage), swap)
            storage = restore(storage, location)
        result = (
            storage
            if isinstance(storage, _storage.TypedStorage)
            else _storage.TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)
        )
        loaded[key] = result
        return result

    unpickler = unpickler_class(base, weights_only)(io.BytesIO(reader.read("data.pkl")), **pickle_load_args)
    unpickler.persistent_load = persistent_load
    if weights_only:
        unpickler.budget = reader.budget
    return unpickler.load()


from ._core import absent as _absent

__getattr__ = _absent.of(__name__)
