"""The zip container of `torch.save`: records stored uncompressed, each starting at a multiple of 64 bytes, so that a
file can be mapped. Written field by field as PyTorch's writer does."""

from __future__ import annotations


from binascii import crc32
from struct import error, pack, unpack_from

from torchlite._files.limits import Budget
from torchlite._files.options import get_crc32_options
from torchlite.storage import UntypedStorage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, IO


ALIGNMENT = 64
_FLAGS = 0x0808  # UTF-8 names; sizes follow the data
_ENCRYPTED = 0x2061  # encrypted records, encrypted directory, patches: what stands there are not the record's bytes
_U32 = 0xFFFFFFFF
_CORRUPT = (
    "PytorchStreamReader failed reading zip archive: {}. This is an internal miniz error. If you are seeing this "
    "error, there is a high likelihood that your checkpoint file is corrupted. This can happen if the checkpoint was "
    "not saved properly, was transferred incorrectly, or the file was modified after saving."
)


class Writer:
    """Writes records to `write` (a function that takes bytes); `name` is the folder all records are in."""

    def __init__(self, write: Callable[..., Any], name: str) -> None:
        self._write_bytes, self._prefix = write, name + "/"
        self._position = 0
        self._entries: list[tuple[bytes, int, int, int]] = []

    def _write(self, data: Any) -> None:
        self._write_bytes(data)
        self._position += len(data)

    def record(self, name: str, data: Any) -> None:
        """Appends one record; `data` is bytes-like."""
        view = memoryview(data).cast("B") if len(data) else b""
        path, start, size, crc = (self._prefix + name).encode(), self._position, len(view), 0
        if get_crc32_options():
            crc = crc32(view)
        # an extra field pads the header so that the data is aligned
        wide = size >= _U32 or start >= _U32
        extra = pack("<HHQQ", 1, 16, 0, 0) if wide else b""
        unpadded = start + 30 + len(path) + len(extra) + 4
        padding = -unpadded % ALIGNMENT
        extra += pack("<2sH", b"FB", padding) + b"Z" * padding
        self._write(pack("<4sHHHHHIIIHH", b"PK\3\4", 0, _FLAGS, 0, 0, 0, 0, 0, 0, len(path), len(extra)) + path + extra)
        if size:
            self._write(view)
            self._write(pack("<4sIQQ" if wide else "<4sIII", b"PK\7\x08", crc, size, size))
        self._entries.append((path, start, size, crc))

    def close(self) -> None:
        """Writes the version and identity records and the directory."""
        self.record("version", b"3\n")
        names = crc32(b"".join(path for path, *_ in self._entries))
        contents = crc32(b"".join(pack("<I", crc) for *_, crc in self._entries))
        self.record(".data/serialization_id", b"%020d%020d" % (names << 30 | 1, contents << 30 | 1))
        start = self._position
        for path, offset, size, crc in self._entries:
            extra = b"" if max(size, offset) < _U32 else pack("<HHQQQ", 1, 24, size, size, offset)
            size, offset = (_U32, _U32) if extra else (size, offset)
            self._write(
                pack(
                    "<4sHHHHHHIIIHHHHHII",
                    b"PK\1\2",
                    0,
                    0,
                    _FLAGS,
                    0,
                    0,
                    0,
                    crc,
                    size,
                    size,
                    len(path),
                    len(extra),
                    0,
                    0,
                    0,
                    0,
                    offset,
                )
                + path
                + extra
            )
        end, count = self._position, len(self._entries)
        self._write(
            pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 0x031E, 45, 0, 0, count, count, end - start, start)
            + pack("<4sIQI", b"PK\6\7", 0, end, 1)
            + pack(
                "<4sHHHHIIH",
                b"PK\5\6",
                0,
                0,
                min(count, 0xFFFF),
                min(count, 0xFFFF),
                min(end - start, _U32),
                min(start, _U32),
                0,
            )
        )


class Reader:
    """Finds the records of a zip file that starts at the file's current position."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._start = file, file.tell()
        file.seek(0, 2)
        size = self._size = file.tell() - self._start
        self.budget = Budget(max(size, 0))
        if size < 22:
            raise RuntimeError(_CORRUPT.format("not a ZIP archive"))
        tail = self._read(max(0, size - 0x10000 - 22), min(size, 0x10000 + 22))
        at = tail.rfind(b"PK\5\6")
        if not 0 <= at <= len(tail) - 22:
            raise RuntimeError(_CORRUPT.format("failed finding central directory"))
        try:
            (disk,) = unpack_from("<H", tail, at + 4)
            count, length, where = unpack_from("<HII", tail, at + 10)
            if disk not in (0, 0xFFFF):
                raise RuntimeError(_CORRUPT.format("unsupported multidisk archive"))
            if at >= 20 and tail[at - 20 : at - 16] == b"PK\6\7":  # zip64: the locator stands right before
                record = self._read(unpack_from("<Q", tail, at - 12)[0], 56)
                if record[:4] != b"PK\6\6":
                    raise ValueError("not a zip64 record")
                count, length, where = unpack_from("<QQQ", record, 32)
            self.entries = self._directory(self._read(where, length), count)
        except (error, ValueError, IndexError):
            raise RuntimeError(_CORRUPT.format("invalid header or archive is corrupted")) from None
        # the folder's name is free: it is the file's name when it was saved
        first = next(iter(self.entries), "")
        self._prefix = first[: first.find("/") + 1]

    def _read(self, position: int, size: int) -> bytes:
        if position + size > self._size:  # before a buffer of that size is made
            raise ValueError("beyond the end of the file")
        self._file.seek(self._start + position)
        return self._bytes(size)

    def _bytes(self, size: int) -> bytes:
        data = self._file.read(size)
        return data if data.__class__ is bytes else memoryview(data).tobytes()

    def _directory(self, data: Any, count: int) -> dict[str, tuple[int, int, int, int]]:
        """{name: (offset, size, packed size, method)}. No two records may have a name or bytes in common."""
        if count * 46 > len(data):
            raise ValueError("more entries than the directory has room for")
        self.budget.take(count * 400)
        at, entries, taken = 0, {}, []
        for _ in range(count):
            if data[at : at + 4] != b"PK\1\2":
                raise ValueError("not a directory entry")
            flags, method = unpack_from("<HH", data, at + 8)
            if flags & _ENCRYPTED:
                raise RuntimeError(_CORRUPT.format("unsupported encryption or patch data"))
            packed, size, n_name, n_extra, n_comment = unpack_from("<IIHHH", data, at + 20)
            (offset,) = unpack_from("<I", data, at + 42)
            name = data[at + 46 : at + 46 + n_name].decode()
            extra, end = at + 46 + n_name, at + 46 + n_name + n_extra
            while extra + 4 <= end:
                tag, n = unpack_from("<HH", data, extra)
                if tag == 1:  # 64-bit values, present only for the fields that overflowed
                    wide = list(unpack_from(f"<{n // 8}Q", data, extra + 4))
                    size = wide.pop(0) if size == _U32 else size
                    packed = wide.pop(0) if packed == _U32 else packed
                    offset = wide.pop(0) if offset == _U32 else offset
                extra += 4 + n
            if name in entries:
                raise RuntimeError(_CORRUPT.format(f"two records are named {name[:100]}"))
            entries[name] = offset, size, packed, method
            taken.append((offset, offset + 30 + n_name + packed))
            at = end + n_comment
        taken.sort()
        following = [*taken[1:], (self._size, None)]
        if any(end > start for (_, end), (start, _) in zip(taken, following)):
            raise RuntimeError(_CORRUPT.format("records overlap, or end beyond the file"))
        self._limits = {start: limit for (start, _), (limit, _) in zip(taken, following)}
        return entries

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self.entries

    def names(self) -> Any:
        """Record names without the folder."""
        return [name[len(self._prefix) :] for name in self.entries]

    def offset(self, name: str) -> int:
        """Where the record's data starts in the file."""
        header, _, packed, _ = self._entry(name)
        local = self._read(header, 30)
        n_name, n_extra = unpack_from("<HH", local, 26)
        start = header + 30 + n_name + n_extra
        if local[:4] != b"PK\3\4" or start + packed > self._limits[header]:
            # the next record's bytes are not this one's
            raise RuntimeError(_CORRUPT.format("invalid header or archive is corrupted"))
        return self._start + start

    def _entry(self, name: str) -> tuple[int, int, int, int]:
        try:
            return self.entries[self._prefix + name]
        except KeyError:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name[:1000]}: file not found") from None

    def size(self, name: str) -> int:
        """The number of bytes of a record."""
        return self._entry(name)[1]

    def stored(self, name: str) -> bool:
        """Whether a record's bytes are in the file as they are."""
        return self._entry(name)[3] == 0

    def read(self, name: str, most: int | None = None) -> bytes:
        """The record's contents; an error where there are more than `most` bytes."""
        size = self.size(name)
        if most is not None and size > most:
            raise RuntimeError(f"record {name} has {size} bytes, more than {most}")
        self._check(name, size)
        if self.stored(name):
            self._file.seek(self.offset(name))
            out = self._bytes(size)
            if len(out) != size:
                raise RuntimeError(f"PytorchStreamReader failed reading file {name}: file read failed")
            return out
        self.budget.take(size)  # the copy
        filled = bytearray(size)
        self._fill(name, memoryview(filled))
        return bytes(filled)

    def storage(self, name: str, nbytes: int) -> Any:
        """A new storage with the first `nbytes` bytes of a record."""
        self._check(name, nbytes)
        result = UntypedStorage(nbytes)
        self._fill(name, memoryview(result))
        return result

    def _check(self, name: str, nbytes: int) -> None:
        """Raises an error, before memory is made, for a record that cannot have so many bytes."""
        _, size, packed, method = self._entry(name)
        if method not in (0, 8):
            raise RuntimeError(_CORRUPT.format("unsupported compression method"))
        # no deflated byte stands for more than 1032
        if nbytes > size or size > packed * (1032 if method else 1):
            raise RuntimeError(_CORRUPT.format("invalid header or archive is corrupted"))
        self.budget.take(nbytes)

    def _fill(self, name: str, out: memoryview) -> None:
        """Fills the writable memoryview `out` with the first bytes of a record."""
        _, _, packed, method = self._entry(name)
        self._file.seek(self.offset(name))
        if method == 8:
            _inflate(self._file, packed, out)
        else:
            read_exactly(self._file, out, f"file {name}")


def _inflate(file: IO[bytes], packed: int, out: memoryview) -> None:
    """Fills `out` from a deflated record, in pieces: never more than the record says it has."""
    import zlib

    stream, done, rest = zlib.decompressobj(-15), 0, b""
    try:
        while done < len(out):
            if not rest:
                rest = file.read(min(packed, 1 << 16))
                packed -= len(rest)
            piece = stream.decompress(rest, min(len(out) - done, 1 << 20))
            if not piece and not rest:
                raise RuntimeError(_CORRUPT.format("decompression failed or archive is corrupted"))
            rest = stream.unconsumed_tail
            out[done : done + len(piece)] = piece
            done += len(piece)
    except zlib.error:
        raise RuntimeError(_CORRUPT.format("decompression failed or archive is corrupted")) from None


def read_exactly(file: IO[bytes], out: memoryview, what: Any) -> None:
    """Fills `out` from the file's position; copes with files without readinto, and with short reads."""
    readinto = getattr(file, "readinto", None)
    done = readinto(out) if readinto and len(out) else 0
    if type(done) is not int or not 0 <= done <= len(out):
        raise RuntimeError(
            f"PytorchStreamReader failed reading {what}: readinto() of the file returned {done!r} for {len(out)} bytes"
        )
    while done < len(out):
        piece = file.read(min(len(out) - done, 1 << 20))
        if not piece:
            raise RuntimeError(f"PytorchStreamReader failed reading {what}: file read failed")
        out[done : done + len(piece)] = piece
        done += len(piece)
