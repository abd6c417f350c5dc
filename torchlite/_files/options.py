"""What torch.serialization's functions set for later calls of save and load."""

from __future__ import annotations

import enum
import sys
from typing import Any


class LoadEndianness(enum.Enum):
    """The order of bytes in files that do not say it."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


MAP_SHARED, MAP_PRIVATE = 1, 2  # as mmap has them on Linux, and where there is no such module
_load_endianness: LoadEndianness | None = None
_compute_crc32 = True
_mmap_flags = MAP_PRIVATE


def get_default_load_endianness() -> LoadEndianness | None:
    """The order of bytes in files without a record of it; None: as LITTLE."""
    return _load_endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Sets the order of bytes that torch.load takes files without a record of it to have."""
    global _load_endianness
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _load_endianness = endianness


def assumed_byteorder() -> str:
    """ "little" or "big", of a file that does not say."""
    if _load_endianness is LoadEndianness.NATIVE:
        return sys.byteorder
    return "big" if _load_endianness is LoadEndianness.BIG else "little"


def get_crc32_options() -> bool:
    """Whether torch.save computes the checksums of records."""
    return _compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Whether torch.save computes the checksums of records. Without them other programs may refuse the file, torch.load
    does not."""
    global _compute_crc32
    _compute_crc32 = compute_crc32


def get_default_mmap_options() -> int:
    """How torch.load(mmap=True) maps a file: mmap.MAP_PRIVATE or mmap.MAP_SHARED."""
    return _mmap_flags


class set_default_mmap_options:
    """Sets how torch.load(mmap=True) maps a file; as a context manager, for its body.

    mmap.MAP_PRIVATE (the default): changes of the tensors stay in memory; mmap.MAP_SHARED: they go to the file.
    """

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
