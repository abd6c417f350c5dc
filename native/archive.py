"""Zip archives that are the same bytes for the same contents, with a deflate of the caller's choice."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable

DATE = 0x5021  # 2020-01-01 in MS-DOS form, for every file
NEEDED = 20  # the version of the format that deflate needs
DEFLATED, UNIX, FLAG_UTF8 = 8, 3 << 8, 1 << 11


def deflate(data: bytes) -> bytes:
    """zlib's best, without its header."""
    z = zlib.compressobj(9, zlib.DEFLATED, -15)
    return z.compress(data) + z.flush()


def zip_bytes(files: Iterable[tuple[str, bytes, int]], deflate: Callable[[bytes], bytes] = deflate) -> bytes:
    """An archive of (name, contents, Unix mode). The fields are those of PKWARE's APPNOTE, sections 4.3.7 to 4.3.16."""
    body, directory, count = bytearray(), bytearray(), 0
    for name, data, mode in files:
        path, packed = name.encode(), deflate(data)
        crc = zlib.crc32(data)
        common = struct.pack("<5H3L2H", NEEDED, FLAG_UTF8, DEFLATED, 0, DATE, crc, len(packed), len(data), len(path), 0)
        directory += b"PK\x01\x02" + struct.pack("<H", NEEDED | UNIX) + common
        directory += struct.pack("<3H2L", 0, 0, 0, (0o100000 | mode) << 16, len(body)) + path
        body += b"PK\x03\x04" + common + path + packed
        count += 1
    end = struct.pack("<4H2LH", 0, 0, count, count, len(directory), len(body), 0)
    return bytes(body + directory + b"PK\x05\x06" + end)
