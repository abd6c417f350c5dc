"""What goes through the pipes between a program and the workers of its DataLoader, on Linux.

A batch is pickled without its plain tensors. Their bytes follow, once however many tensors view them, and of a large
storage only the part that is viewed. They are read straight into the new tensors' memory. Wheels for pages leave this
file out.
"""

from __future__ import annotations

import io
import os
import pickle
import select
import struct
from multiprocessing.reduction import ForkingPickler

import torchlite as torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from typing import Any
    from ...._types import Tensor

ALIGNED = 16  # bytes: an element of any dtype begins at a multiple of its size
VECTORS = 512  # buffers of one call; systems take 1024


class Unsent:
    """Messages for a pipe that may have no room: the writer must not wait while its reader waits for it."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe, self.data = pipe, bytearray()
        os.set_blocking(pipe.fileno(), False)

    def send(self, message: Any) -> None:
        data = ForkingPickler.dumps(message)
        self.data += struct.pack("!i", len(data))  # as Connection.recv() reads it
        self.data += data
        self.send_some()

    def send_some(self) -> None:
        try:
            while self.data:
                del self.data[: os.write(self.pipe.fileno(), self.data)]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self.data.clear()  # whoever reads the answers says so

    def send_until(self, answers: Connection, seconds: float) -> bool:
        """Sends what there is room for until there is an answer: true. False: the time is over."""
        if not self.data:
            return answers.poll(seconds)
        poll = select.poll()
        poll.register(answers.fileno(), select.POLLIN)
        poll.register(self.pipe.fileno(), select.POLLOUT)
        ready = {fd for fd, _ in poll.poll(seconds * 1e3)}
        self.send_some()
        return answers.fileno() in ready


class Message(ForkingPickler):
    """An object, pickled, and the memory of its tensors."""

    def __init__(self, obj: Any) -> None:
        file = io.BytesIO()
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.tensors: list[Tensor] = []
        self.places: dict[int, int] = {}
        self.dump(obj)
        self.body = file.getbuffer()

    def persistent_id(self, obj: Any) -> int | None:
        if type(obj) is not torch.Tensor or not _is_plain(obj):
            return None
        if obj.requires_grad and not obj.is_leaf:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
                "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor "
                "before serializing (e.g., putting it on the queue)."
            )
        place = self.places.setdefault(id(obj), len(self.tensors))
        if place == len(self.tensors):
            self.tensors.append(obj)
        return place

    def send(self, pipe: Connection) -> None:
        parts, where = _parts(self.tensors)
        head = pickle.dumps((len(self.body), [len(p) for p in parts], where), pickle.HIGHEST_PROTOCOL)
        pipe.send_bytes(head)
        _transfer(os.writev, pipe.fileno(), [self.body, *parts])


def receive(pipe: Connection) -> Any:
    """The next message's object."""
    length, sizes, where = pickle.loads(pipe.recv_bytes())
    body = bytearray(length)
    storages: list[Any] = [torch.UntypedStorage(n) for n in sizes]
    _transfer(os.readv, pipe.fileno(), [memoryview(b) for b in (body, *storages)])
    reader = pickle.Unpickler(io.BytesIO(body))
    reader.persistent_load = [_tensor(storages, *w) for w in where].__getitem__  # type: ignore[method-assign]
    return reader.load()


def _is_plain(t: Tensor) -> bool:
    return t.is_cpu and t.layout is torch.strided and not (t.__dict__ or t.is_conj() or t.is_neg())


def _parts(tensors: list[Tensor]) -> tuple[list[memoryview], list[Any]]:
    """Memory that tensors view, without what lies between; and of each tensor its part, where it begins there, ..."""
    spans = []
    for i, t in enumerate(tensors):
        begin = t.storage_offset() * t.itemsize
        last = sum((n - 1) * s for n, s in zip(t.shape, t.stride())) if t.numel() else -1
        storage = t.untyped_storage()
        spans.append((storage.data_ptr(), begin // ALIGNED * ALIGNED, begin + (last + 1) * t.itemsize, i, storage))
    spans.sort(key=lambda span: span[:4])
    bounds: list[list[Any]] = []
    where: list[Any] = [None] * len(tensors)
    for at, begin, end, i, storage in spans:
        if not bounds or bounds[-1][0] != at or begin >= bounds[-1][2]:
            bounds.append([at, begin, begin, storage])
        bounds[-1][2] = max(bounds[-1][2], end)
        t = tensors[i]
        offset = t.storage_offset() - bounds[-1][1] // t.itemsize
        where[i] = (len(bounds) - 1, t.dtype, offset, tuple(t.shape), t.stride(), t.requires_grad)
    return [memoryview(storage)[begin:end] for _, begin, end, storage in bounds], where


def _tensor(storages: list[Any], part: int, dtype: Any, offset: int, shape: Any, stride: Any, grad: bool) -> Tensor:
    return torch.empty(0, dtype=dtype).set_(storages[part], offset, shape, stride).requires_grad_(grad)


def _transfer(call: Any, fd: int, views: list[memoryview]) -> None:
    """os.readv or os.writev until all of the memory has gone through."""
    left = [v for v in views if len(v)]
    at = 0
    while at < len(left):
        done = call(fd, left[at : at + VECTORS])
        if not done:
            raise EOFError
        while done and done >= len(left[at]):
            done -= len(left[at])
            at += 1
        if done:
            left[at] = left[at][done:]
