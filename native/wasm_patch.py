"""The difference of two builds of one WebAssembly module, by function.

The relaxed-SIMD build of the core differs from the SIMD128 build in a few dozen functions.
A wheel carries the one and the recipe for the other; torchlite/_core/native.py applies it.

Format, little-endian: "TLP1", number n, n times (copy from, copy length, insert length) as 32-bit words,
then the inserted bytes.
"""

from __future__ import annotations

import struct
from typing import Iterator


def _leb(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _pieces(data: bytes) -> Iterator[tuple[int, int]]:
    """(start, end) of consecutive pieces: each function body by itself, everything between in one."""
    at = 8
    start = 0
    while at < len(data):
        kind = data[at]
        size, at = _leb(data, at + 1)
        end = at + size
        if kind == 10:  # code
            count, at = _leb(data, at)
            yield start, at
            for _ in range(count):
                size, body = _leb(data, at)
                yield at, body + size
                at = body + size
            start = at
        at = end
    yield start, len(data)


def make(old: bytes, new: bytes) -> bytes:
    """A patch from which `apply` makes `new` out of `old`."""
    known: dict[bytes, int] = {}
    for a, b in _pieces(old):
        known.setdefault(old[a:b], a)
    steps: list[list[int]] = []
    inserted = []
    for a, b in _pieces(new):
        piece = new[a:b]
        at = known.get(piece)
        if at is None:
            if not steps:
                steps.append([0, 0, 0])
            steps[-1][2] += len(piece)
            inserted.append(piece)
        elif steps and steps[-1][2] == 0 and steps[-1][0] + steps[-1][1] == at:
            steps[-1][1] += len(piece)
        else:
            steps.append([at, len(piece), 0])
    out = b"TLP1" + struct.pack("<I", len(steps)) + b"".join(struct.pack("<3I", *s) for s in steps) + b"".join(inserted)
    if apply(old, out) != new:
        raise AssertionError("the patch does not give the new module")
    return out


def apply(old: bytes, patch: bytes) -> bytes:
    """The module that `patch` was made for. torchlite/_core/native.py has the same lines."""
    words = struct.unpack_from("<I", patch, 4)[0]
    steps = struct.unpack_from(f"<{3 * words}I", patch, 8)
    at = 8 + 12 * words
    parts: list[bytes] = []
    for i in range(0, len(steps), 3):
        start, copy, insert = steps[i : i + 3]
        parts += (old[start : start + copy], patch[at : at + insert])
        at += insert
    return b"".join(parts)
