"""Event files as TensorBoard reads them: records of protocol buffers, encoded here (no package is needed).

Formats: TFRecord (length, masked CRC-32C of it, data, masked CRC-32C of that; little-endian) and the messages Event,
Summary, HistogramProto, TensorProto and SummaryMetadata of TensorFlow's event.proto, summary.proto and tensor.proto.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from typing import Any, Iterable

VARINT, DOUBLE, BYTES, FLOAT = 0, 1, 2, 5  # wire types


def _table() -> list[int]:
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


_CRC = _table()


def checksum(data: bytes) -> int:
    """CRC-32C (Castagnoli), rotated and shifted as TFRecord has it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(n: int) -> bytes:
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number: int, kind: int, value: Any) -> bytes:
    """One field of a message; a text is encoded as UTF-8."""
    head = varint(number << 3 | kind)
    if kind == VARINT:
        return head + varint(int(value))
    if kind == DOUBLE:
        return head + struct.pack("<d", value)
    if kind == FLOAT:
        return head + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else bytes(value)
    return head + varint(len(data)) + data


def doubles(number: int, values: Iterable[float]) -> bytes:
    """A packed list of doubles."""
    values = list(values)
    return field(number, BYTES, struct.pack("<%dd" % len(values), *values))


def message(*fields: bytes) -> bytes:
    return b"".join(fields)


class Summary:
    """A Summary message: `value` holds the encoded entries."""

    def __init__(self, value: Iterable[bytes] = ()) -> None:
        self.value = list(value)

    def SerializeToString(self) -> bytes:
        return b"".join(field(1, BYTES, v) for v in self.value)


class FileWriter:
    """Writes summaries to an event file in log_dir. Every `max_queue` events, or `flush_secs` seconds after the last
    time, what is held back goes to the file."""

    def __init__(self, log_dir: Any, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = "") -> None:
        self.log_dir = str(log_dir)
        self.max_queue, self.flush_secs = max_queue, flush_secs
        os.makedirs(self.log_dir, exist_ok=True)
        FileWriter.made += 1
        # TensorBoard reads the files of a folder in the order of their names, so the numbers have leading zeros.
        name = "events.out.tfevents.%010d.%s.%d.%06d%s" % (
            time.time(),
            socket.gethostname() or "page",
            os.getpid(),
            FileWriter.made - 1,
            filename_suffix,
        )
        self.path = os.path.join(self.log_dir, name)
        self.file: Any = open(self.path, "ab")
        self.held = 0
        self.flushed = time.monotonic()
        self._record(message(field(1, DOUBLE, time.time()), field(3, BYTES, "brain.Event:2")))
        self.flush()

    made = 0

    def get_logdir(self) -> str:
        """The folder of the event file."""
        return self.log_dir

    def _record(self, data: bytes) -> None:
        if self.file is None:
            self.file = open(self.path, "ab")
        length = struct.pack("<Q", len(data))
        self.file.write(length + struct.pack("<I", checksum(length)) + data + struct.pack("<I", checksum(data)))
        self.held += 1
        if self.held >= self.max_queue or time.monotonic() - self.flushed >= self.flush_secs:
            self.flush()

    def add_summary(self, summary: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        """Adds a Summary (or any protocol buffer of that kind) at a step; walltime in seconds since 1970."""
        fields = [field(1, DOUBLE, time.time() if walltime is None else walltime)]
        if global_step is not None:
            fields.append(field(2, VARINT, int(global_step)))
        self._record(message(*fields, field(5, BYTES, summary.SerializeToString())))

    def session_start(self, step: int) -> None:
        """Says that steps from this one on are written anew."""
        self._record(
            message(field(1, DOUBLE, time.time()), field(2, VARINT, step), field(7, BYTES, field(1, VARINT, 1)))
        )

    def flush(self) -> None:
        if self.file is not None:
            self.file.flush()
        self.held, self.flushed = 0, time.monotonic()

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None

    def reopen(self) -> None:
        """Opens the file again; writing does it as well."""
        if self.file is None:
            self.file = open(self.path, "ab")
