"""torch.PyTorchFileReader and torch.PyTorchFileWriter: the records of a file of `torch.save` by name."""

from __future__ import annotations

import os
from typing import Any

from .. import _C
from .._core import dtypes as _dtypes
from .zip_records import Reader, Writer


class PyTorchFileReader:
    """The records of a file, given by its path or as an object that reads and seeks."""

    __module__ = "torch"

    def __init__(self, file: Any) -> None:
        by_path = isinstance(file, (str, os.PathLike))
        self._file = open(file, "rb") if by_path else file
        self._reader = Reader(self._file)
        if not by_path:
            self._file.seek(self._reader._start)

    def get_all_records(self) -> list[str]:
        return list(self._reader.names())

    def has_record(self, name: str) -> bool:
        return name in self._reader

    def get_record(self, name: str) -> bytes:
        return self._reader.read(name)

    def get_record_size(self, name: str) -> int:
        return self._reader.size(name)

    def get_record_offset(self, name: str) -> int:
        return self._reader.offset(name)

    def get_record_header_offset(self, name: str) -> int:
        return self._reader._entry(name)[0]

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Any:
        """An empty tensor over a storage with the record's numbers."""
        kind = dtype if isinstance(dtype, _dtypes.dtype) else _dtypes.uint8  # torch.UntypedStorage: bytes
        size, wanted = self._reader.size(name), numel * kind.itemsize
        if size != wanted:
            raise RuntimeError(
                f"record size ({size} bytes) does not match expected size ({wanted} bytes = {numel} elements * "
                f"{kind.itemsize} bytes/element)"
            )
        return _C.tensor_from_storage(self._reader.storage(name, size), kind, 0, (0,), (1,))

    def serialization_id(self) -> str:
        name = ".data/serialization_id"
        return self._reader.read(name).decode() if name in self._reader else ""


class PyTorchFileWriter:
    """Writes such a file, to a path or to an object that writes. Nothing can be read before `write_end_of_file`."""

    __module__ = "torch"

    def __init__(self, file: Any, compute_crc32: bool = True, storage_alignment: int = 64) -> None:
        if storage_alignment != 64:
            raise RuntimeError("PyTorchFileWriter: torchlite aligns records to 64 bytes only")
        self._opened = open(file, "wb") if isinstance(file, (str, os.PathLike)) else None
        stem = os.path.splitext(os.path.basename(file))[0] if self._opened else "archive"
        self._name, self._records = stem or "archive", set[str]()
        self._writer = Writer((self._opened or file).write, self._name)

    def archive_name(self) -> str:
        return self._name

    def get_all_written_records(self) -> set[str]:
        return set(self._records)

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Adds a record: the first `size` bytes of bytes or of a storage."""
        if name in self._records:
            raise RuntimeError("Tried to serialize file twice: " + name)
        view = memoryview(data.encode() if isinstance(data, str) else data).cast("B")
        if size > len(view):
            raise RuntimeError(f"write_record: {name} has {len(view)} bytes, fewer than {size}")
        self._writer.record(name, view[:size])
        self._records.add(name)

    def write_end_of_file(self) -> None:
        if "byteorder" not in self._records:
            self.write_record("byteorder", b"little", 6)
        self._writer.close()
        self._records |= {"version", ".data/serialization_id"}
        if self._opened:
            self._opened.close()
