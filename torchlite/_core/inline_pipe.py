"""The pipe of torch.multiprocessing: its ends are in one process, where functions run one after another."""

from __future__ import annotations

import io
import os
import pickle
import queue
import threading
import time
from typing import TYPE_CHECKING, Any

import torchlite as torch

from ..multiprocessing import NoOtherProcess

if TYPE_CHECKING:
    from typing import Self

PATIENCE = 0.2  # seconds between looks whether another thread could send something


class _Pickler(pickle.Pickler):
    """As between processes, but for tensors: these are shared there too."""

    def __init__(self, file: io.BytesIO):
        super().__init__(file)
        self.tensors: list[Any] = []

    def persistent_id(self, obj: Any) -> int | None:
        if not isinstance(obj, torch.Tensor):
            return None
        self.tensors.append(obj)
        return len(self.tensors) - 1


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, tensors: list[Any]):
        super().__init__(file)
        self._tensors = tensors

    def persistent_load(self, pid: int) -> Any:
        return self._tensors[pid]


def passed(obj: Any) -> Any:
    """What another process would get: a copy, with the same tensors."""
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(obj)
    file.seek(0)
    return _Unpickler(file, pickler.tensors).load()


def _nobody(method: str) -> NoOtherProcess:
    return NoOtherProcess(
        "Connection.%s(): the pipe is empty, and torchlite has no other process that could send something: functions "
        "run in this one, one after another" % method
    )


class _Line:
    """One direction of a pipe; each end counts the copies of it that are open."""

    def __init__(self) -> None:
        self.items: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.writers = self.readers = 0


class Connection:
    """One end. A copy is an end of its own, as the one that a process has after its start."""

    def __init__(self, reads: _Line | None, writes: _Line | None):
        self._reads, self._writes, self._process = reads, writes, os.getpid()
        self.closed = False
        self._count(1)

    def _count(self, step: int) -> None:
        if self._reads:
            self._reads.readers += step
        if self._writes:
            self._writes.writers += step

    def __copy__(self) -> Connection:
        self._check()
        return type(self)(self._reads, self._writes)

    def _check(self) -> None:
        if self.closed:
            raise OSError("handle is closed")
        if os.getpid() != self._process:
            raise RuntimeError(
                "Pipe(): torchlite's pipe connects functions of one process, not a DataLoader's workers; use a Queue"
            )

    @property
    def readable(self) -> bool:
        return self._reads is not None

    @property
    def writable(self) -> bool:
        return self._writes is not None

    def _put(self, obj: Any) -> None:
        self._check()
        if self._writes is None:
            raise OSError("connection is read-only")
        if not self._writes.readers:
            raise BrokenPipeError(32, "Broken pipe")
        self._writes.items.put(obj)

    def _get(self) -> Any:
        self._check()
        if self._reads is None:
            raise OSError("connection is write-only")
        while True:
            alone = threading.active_count() == 1
            try:
                return self._reads.items.get(not alone, None if alone else PATIENCE)
            except queue.Empty:
                if not self._reads.writers:
                    raise EOFError from None
                if alone:
                    raise _nobody("recv") from None

    def send(self, obj: Any) -> None:
        """Puts a copy of obj, with the same tensors, into the pipe."""
        self._put(passed(obj))

    def recv(self) -> Any:
        """The next object. EOFError where the other end is closed, RuntimeError where nobody could send one."""
        return self._get()

    def send_bytes(self, buf: Any, offset: int = 0, size: int | None = None) -> None:
        """Puts bytes into the pipe."""
        view = memoryview(buf).cast("B")
        self._put(bytes(view[offset : len(view) if size is None else offset + size]))

    def recv_bytes(self, maxlength: int | None = None) -> bytes:
        """The next bytes."""
        found: bytes = self._get()
        if maxlength is not None and len(found) > maxlength:
            self.close()
            raise OSError("got a message of %d bytes, more than maxlength=%d" % (len(found), maxlength))
        return found

    def poll(self, timeout: float | None = 0.0) -> bool:
        """Whether there is something to receive, or the end. Only other threads are waited for; RuntimeError where
        there is none and timeout is None or a second and more."""
        self._check()
        line = self._reads
        if line is None:
            raise OSError("connection is write-only")
        end = None if timeout is None else time.monotonic() + timeout
        while line.items.empty() and line.writers:
            if threading.active_count() == 1:
                if timeout is None or timeout >= 1:
                    raise _nobody("poll")
                return False
            if end is not None and time.monotonic() >= end:
                return False
            time.sleep(0.001)
        return True

    def close(self) -> None:
        """Closes this end."""
        if not self.closed:
            self.closed = True
            self._count(-1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def pipe(duplex: bool = True) -> tuple[Connection, Connection]:
    """Two ends; without duplex the first receives and the second sends."""
    there, back = _Line(), _Line() if duplex else None
    return Connection(there, back), Connection(back, there)
