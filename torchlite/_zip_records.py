"""The zip container of `torch.save`: records stored uncompressed, each starting at a multiple of 64 bytes, so that a
file can be mapped. Written field by field as PyTorch's writer does."""

from binascii import crc32
from struct import error, pack, unpack_from

ALIGNMENT = 64
_FLAGS = 0x0808                 # UTF-8 names; sizes follow the data
_U32 = 0xFFFFFFFF
_CORRUPT = ("PytorchStreamReader failed reading zip archive: {}. This is an internal miniz error. If you are seeing this "
            "error, there is a high likelihood that your checkpoint file is corrupted. This can happen if the checkpoint was "
            "not saved properly, was transferred incorrectly, or the file was modified after saving.")


class Writer:
    """Writes records to `write` (a function that takes bytes); `name` is the folder all records are in."""

    def __init__(self, write, name):
        self._write_bytes, self._prefix = write, name + "/"
        self._position, self._entries = 0, []

    def _write(self, data):
        self._write_bytes(data)
        self._position += len(data)

    def record(self, name, data):
        """Appends one record; `data` is bytes-like."""
        view = memoryview(data).cast("B") if len(data) else b""
        path, start, size, crc = (self._prefix + name).encode(), self._position, len(view), crc32(view)
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

    def close(self):
        """Writes the version and identity records and the directory."""
        self.record("version", b"3\n")
        names = crc32(b"".join(path for path, *_ in self._entries))
        contents = crc32(b"".join(pack("<I", crc) for *_, crc in self._entries))
        self.record(".data/serialization_id", b"%020d%020d" % (names << 30 | 1, contents << 30 | 1))
        start = self._position
        for path, offset, size, crc in self._entries:
            extra = b"" if max(size, offset) < _U32 else pack("<HHQQQ", 1, 24, size, size, offset)
            size, offset = (_U32, _U32) if extra else (size, offset)
            self._write(pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 0, 0, _FLAGS, 0, 0, 0, crc, size, size, len(path),
                             len(extra), 0, 0, 0, 0, offset) + path + extra)
        end, count = self._position, len(self._entries)
        self._write(pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 0x031E, 45, 0, 0, count, count, end - start, start)
                    + pack("<4sIQI", b"PK\6\7", 0, end, 1)
                    + pack("<4sHHHHIIH", b"PK\5\6", 0, 0, min(count, 0xFFFF), min(count, 0xFFFF),
                           min(end - start, _U32), min(start, _U32), 0))


class Reader:
    """Finds the records of a zip file that starts at the file's current position."""

    def __init__(self, file):
        self._file, self._start = file, file.tell()
        file.seek(0, 2)
        size = file.tell() - self._start
        if size < 22:
            raise RuntimeError(_CORRUPT.format("not a ZIP archive"))
        tail = self._read(max(0, size - 0x10000 - 22), min(size, 0x10000 + 22))
        at = tail.rfind(b"PK\5\6")
        if not 0 <= at <= len(tail) - 22:
            raise RuntimeError(_CORRUPT.format("failed finding central directory"))
        try:
            count, length, where = unpack_from("<HII", tail, at + 10)
            locator = tail.rfind(b"PK\6\7", 0, at)
            if locator >= 0:
                record = self._read(unpack_from("<Q", tail, locator + 8)[0], 56)
                count, length, where = unpack_from("<QQQ", record, 32)
            self.entries = dict(self._directory(self._read(where, length), count))
        except (error, ValueError, OverflowError):
            raise RuntimeError(_CORRUPT.format("invalid header or archive is corrupted")) from None
        # the folder's name is free: it is the file's name when it was saved
        first = next(iter(self.entries), "")
        self._prefix = first[:first.find("/") + 1]

    def _read(self, position, size):
        self._file.seek(self._start + position)
        return self._file.read(size)

    @staticmethod
    def _directory(data, count):
        at = 0
        for _ in range(count):
            if data[at:at + 4] != b"PK\1\2":
                raise RuntimeError(_CORRUPT.format("invalid header or archive is corrupted"))
            method, = unpack_from("<H", data, at + 10)
            packed, size, n_name, n_extra, n_comment = unpack_from("<IIHHH", data, at + 20)
            offset, = unpack_from("<I", data, at + 42)
            name = data[at + 46:at + 46 + n_name].decode()
            extra, end = at + 46 + n_name, at + 46 + n_name + n_extra
            while extra + 4 <= end:
                tag, n = unpack_from("<HH", data, extra)
                if tag == 1:                    # 64-bit values, present only for the fields that overflowed
                    wide = list(unpack_from(f"<{n // 8}Q", data, extra + 4))
                    size = wide.pop(0) if size == _U32 else size
                    packed = wide.pop(0) if packed == _U32 else packed
                    offset = wide.pop(0) if offset == _U32 else offset
                extra += 4 + n
            yield name, (offset, size, packed, method)
            at = end + n_comment

    def __contains__(self, name):
        return self._prefix + name in self.entries

    def names(self):
        """Record names without the folder."""
        return [name[len(self._prefix):] for name in self.entries]

    def offset(self, name):
        """Where the record's data starts in the file."""
        header = self._entry(name)[0]
        n_name, n_extra = unpack_from("<HH", self._read(header, 30), 26)
        return self._start + header + 30 + n_name + n_extra

    def _entry(self, name):
        try:
            return self.entries[self._prefix + name]
        except KeyError:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found") from None

    def size(self, name):
        """The number of bytes of a record."""
        return self._entry(name)[1]

    def read(self, name):
        """The record's contents in a new bytearray."""
        _, size, packed, method = self._entry(name)
        if method != 8 and size > packed:
            raise RuntimeError(_CORRUPT.format("invalid header or archive is corrupted"))
        out = bytearray(size)
        self.read_into(name, memoryview(out))
        return out

    def read_into(self, name, out):
        """Fills the writable memoryview `out` with the first bytes of a record."""
        _, _, packed, method = self._entry(name)
        self._file.seek(self.offset(name))
        if method == 8:
            import zlib
            out[:] = zlib.decompress(self._file.read(packed), -15)[:len(out)]
            return
        read_exactly(self._file, out, f"file {name}")


def read_exactly(file, out, what):
    """Fills `out` from the file's position; copes with files without readinto, and with short reads."""
    readinto = getattr(file, "readinto", None)
    done = readinto(out) if readinto and len(out) else 0
    while done < len(out):
        piece = file.read(len(out) - done)
        if not piece:
            raise RuntimeError(f"PytorchStreamReader failed reading {what}: file read failed")
        out[done:done + len(piece)] = piece
        done += len(piece)
