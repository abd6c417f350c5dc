"""Options of torch.save and torch.load that functions of torch.serialization set."""

from __future__ import annotations

import enum
import sys
from typing import Any


class LoadEndianness(enum.Enum):
    """The byte order of files without a record of it."""

    __module__ = "torchlite.serialization"

    NATIVE = 1
    LITTLE = 2
    BIG = 3


MAP_SHARED, MAP_PRIVATE = 1, 2  # mmap's values on Linux; platforms without mmap have them too
_load_endianness: LoadEndianness | None = None
_compute_crc32 = True
_mmap_flags = MAP_PRIVATE


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order that torch.load assumes for files without a record of it; None: LITTLE."""
    return _load_endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Sets the byte order that torch.load assumes for files without a record of it."""
    global _load_endianness
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _load_endianness = endianness


def assumed_byteorder() -> str:
    """The byte order of a file without a record of it: "little" or "big"."""
    if _load_endianness is LoadEndianness.NATIVE:
        return sys.byteorder
    return "big" if _load_endianness is LoadEndianness.BIG else "little"


def get_crc32_options() -> bool:
    """Whether torch.save computes the checksums of records."""
    return _compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Sets whether torch.save computes the checksums of records. A file without them may be refused by other programs,
    not by torch.load."""
    global _compute_crc32
    _compute_crc32 = compute_crc32


def get_default_mmap_options() -> int:
    """How torch.load(mmap=True) maps a file: mmap.MAP_PRIVATE or mmap.MAP_SHARED."""
    return _mmap_flags


class set_default_mmap_options:
    """Sets how torch.load(mmap=True) maps a file; as a context manager, for its body.

    mmap.MAP_PRIVATE (the default): changes of the tensors stay in memory; mmap.MAP_SHARED: they go to the file.
    """

    __module__ = "torchlite.serialization"

    def __init__(self, flags: int) -> None:
        global _mmap_flags
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, "
                f"expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}"
            )
        self.prev, _mmap_flags = _mmap_flags, int(flags)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        global _mmap_flags
        _mmap_flags = self.prev
