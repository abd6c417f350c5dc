"""Workers of a DataLoader as processes of their own, on Linux: they load while the program goes on.

A worker is a fork, so it has the dataset as it is, in memory that is shared until somebody writes to it. Indices go to
it through one pipe, batches come back through another (messages.py). Wheels for pages leave this file out.
"""

from __future__ import annotations

import mmap
import multiprocessing
import multiprocessing.connection
import os
import random
import sys
import threading
import time
import weakref

import torchlite as torch
from ..dataloader import _DatasetKind
from . import messages, worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PATIENCE = 5.0  # seconds between looks whether the other side lives, and until a worker that does not end is stopped
ROOM = 1 << 20  # bytes of a pipe: small batches wait there, larger ones in the worker
INDEX, RESTART, END = range(3)  # what a worker is sent
BATCH, ENDED, FAILED = range(3)  # what comes back: a batch, no more of a stream, (class, text, where) of an error

_open: weakref.WeakSet[Process] = weakref.WeakSet()
_pipes = threading.RLock()  # a fork while another thread closes a pipe would close it again, or what has its number now


def available() -> bool:
    """Whether workers can be processes. Not where they would inherit an open GPU, nor in a worker."""
    bridge = sys.modules.get("torchlite.webgpu.transport.bridge")
    return (
        hasattr(os, "fork")
        and (bridge is None or bridge.current is None)
        and not multiprocessing.current_process().daemon
    )


def check_number(workers: int) -> None:
    """PyTorch's warning of more workers than cores."""
    cores = len(os.sched_getaffinity(0))
    if workers > cores:
        import warnings

        warnings.warn(
            f"This DataLoader will create {workers} worker processes in total. Our suggested max number of worker in "
            f"current system is {cores}, which is smaller than what this DataLoader is going to create. Please be "
            "aware that excessive worker creation might get DataLoader running slow or even freeze, lower the worker "
            "number to avoid potential slowness/freeze if necessary.",
            stacklevel=4,
        )


class Process:
    """Worker `id` of an iterator. put() gives it an index, get() waits for the oldest batch that is due."""

    def __init__(self, iterator: Any, id: int, init: Any) -> None:
        _import_numpy()
        self.done, self._owner = False, os.getpid()
        self._stop = mmap.mmap(-1, 1)  # what a fork shares; a worker looks there before each batch
        with _pipes:
            indices, self._indices = multiprocessing.Pipe(False)
            self._results, results = multiprocessing.Pipe(False)
            self._unsent = messages.Unsent(self._indices)
            for pipe in (self._indices, results):
                _enlarge(pipe.fileno())
            _open.add(self)
            self._process = multiprocessing.get_context("fork").Process(
                target=_serve, args=(iterator, id, init, self._stop, indices, results), daemon=True
            )
            self._process.start()
            indices.close()
            results.close()

    def __getattr__(self, name: str) -> Any:
        """pid, exitcode, is_alive(), join(), terminate() ..."""
        return getattr(self.__dict__["_process"], name)

    def put(self, index: Any) -> None:
        self._unsent.send((INDEX, index))

    def restart(self) -> None:
        self._unsent.send((RESTART, None))

    def get(self, timeout: float) -> Any:
        self._wait(timeout)
        try:
            kind, data = messages.receive(self._results)
        except (EOFError, ConnectionResetError):
            raise self._died() from None
        if kind == ENDED:
            return worker._IterableDatasetStopIteration(data)
        if kind == BATCH:
            return data
        failed = object.__new__(torch._utils.ExceptionWrapper)
        kind, failed.exc_msg, failed.where = data
        failed.exc_type = kind if isinstance(kind, type) else type(kind, (RuntimeError,), {})
        return failed

    def _wait(self, timeout: float) -> None:
        """Until a batch is here; sends the indices for which the pipe had no room."""
        end = time.monotonic() + timeout if timeout else float("inf")
        while not self._unsent.send_until(self._results, max(0.0, min(PATIENCE, end - time.monotonic()))):
            if time.monotonic() >= end:
                raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
            if not self._process.is_alive() and not self._results.poll():
                raise self._died()

    @staticmethod
    def first_ready(iterator: Any) -> int:
        """The first worker that has a batch."""
        workers = iterator._workers
        return workers.index(_first_ready([workers[i] for i in dict.fromkeys(iterator._tasks)], iterator._timeout))

    def _died(self) -> RuntimeError:
        self._process.join(PATIENCE)  # its pipe may close a moment before it ends
        return RuntimeError(f"DataLoader worker (pid(s) {self.pid}) exited unexpectedly")

    def close(self) -> None:
        """Waits for the end of the process; reads on meanwhile, or it could wait for room in the pipe."""
        if self.done or os.getpid() != self._owner:  # a worker has inherited it
            return
        self.done = True
        self.tell()
        end = time.monotonic() + PATIENCE
        while self._process.is_alive() and (left := end - time.monotonic()) > 0:
            ready = multiprocessing.connection.wait([self._results, self._process.sentinel], left)
            if self._results in ready and not os.read(self._results.fileno(), ROOM):
                break
        self._process.join(max(0.0, end - time.monotonic()))
        if self._process.is_alive():
            self._process.terminate()
        with _pipes:
            self._results.close()

    def tell(self) -> None:
        """Tells the process to end."""
        if os.getpid() != self._owner or self._indices.closed:
            return
        self._stop[0] = 1
        self._unsent.send((END, None))  # the end of the pipe does not do: other forks may hold it
        with _pipes:
            self._indices.close()

    def drop(self) -> None:
        """In another worker, which inherited the pipes."""
        self._indices.close()
        self._results.close()


def _first_ready(workers: list[Process], timeout: float) -> Process:
    end = time.monotonic() + timeout if timeout else float("inf")
    while True:
        for w in workers:
            w._unsent.send_some()
        waiting: dict[Any, Process] = {w._results: w for w in workers}
        wait = 0.01 if any(w._unsent.data for w in workers) else PATIENCE
        ready = multiprocessing.connection.wait(waiting, min(wait, max(0.0, end - time.monotonic())))
        if ready:
            return waiting[ready[0]]
        dead = [w for w in workers if not w._process.is_alive()]
        if dead:
            return dead[0]  # its get() has the error
        if time.monotonic() >= end:
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds")


def _import_numpy() -> None:
    """Here, once, rather than in every worker, which seeds its random numbers."""
    try:
        import numpy  # noqa: F401
    except ImportError:
        pass


def _enlarge(pipe: int) -> None:
    import fcntl

    try:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, ROOM)  # Python 3.10 and newer, Linux
    except (AttributeError, OSError):
        pass  # a limit of the user's


def _serve(iterator: Any, id: int, init: Any, stop: Any, indices: Any, results: Any) -> None:
    """The worker's process."""
    parent = os.getppid()
    for other in list(_open):  # or a pipe would stay open when the program closes it
        other.drop()
    try:
        served = _Served(iterator, id, init)
        while True:
            while not indices.poll(PATIENCE):
                if os.getppid() != parent:
                    return
            kind, index = indices.recv()
            if kind == END or stop[0]:
                return
            if kind == RESTART:
                served.restart()
            elif not served.ended:
                message = served.answer(index)
                if stop[0]:
                    return
                message.send(results)
    except (EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        pass


class _Served:
    """What a worker has: its part of the data, and its random numbers."""

    def __init__(self, iterator: Any, id: int, init: Any) -> None:
        self.iterator, self.id = iterator, id
        self.failed: Any = None
        self.ended = False
        torch.set_num_threads(1)
        seed = iterator._base_seed + id
        torch.manual_seed(seed)
        random.seed(seed)
        try:
            import numpy
        except ImportError:
            pass
        else:
            numpy.random.seed(worker._generate_state(iterator._base_seed, id))
        worker._worker_info = worker.WorkerInfo(
            id=id, num_workers=iterator._num_workers, seed=seed, dataset=iterator._dataset
        )
        try:
            if init is not None:
                init(id)
            self.start()
        except Exception:
            self.failed = self.wrapped()

    def start(self) -> None:
        it = self.iterator
        self.fetcher = _DatasetKind.create_fetcher(
            it._dataset_kind, it._dataset, it._auto_collation, it._collate_fn, it._drop_last
        )

    def wrapped(self) -> tuple[int, Any]:
        failed = torch._utils.ExceptionWrapper(where=f"in DataLoader worker process {self.id}")
        kind: Any = failed.exc_type
        try:
            messages.Message(kind)
        except Exception:  # the program does not find the class by its name
            kind = kind.__name__
        return FAILED, (kind, failed.exc_msg, failed.where)

    def restart(self) -> None:
        self.ended = False
        self.start()

    def answer(self, index: Any) -> messages.Message:
        try:
            return messages.Message(self.batch(index))
        except Exception:  # it cannot be pickled
            return messages.Message(self.wrapped())

    def batch(self, index: Any) -> tuple[int, Any]:
        if self.failed is not None:
            failed, self.failed = self.failed, None
            return failed
        try:
            return BATCH, self.fetcher.fetch(index)
        except StopIteration:
            if self.iterator._dataset_kind == _DatasetKind.Iterable:
                self.ended = True
                return ENDED, self.id
            return self.wrapped()
        except Exception:
            return self.wrapped()
