"""Workers of a DataLoader as processes of their own, on Linux: they load while the program goes on.

A worker is a fork, so it has the dataset as it is, in memory that is shared until somebody writes to it. Indices go to
it through one pipe, pickled batches come back through another. Wheels for pages leave this file out.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
import time
import weakref
from multiprocessing.reduction import ForkingPickler

import torchlite as torch
from ..dataloader import _DatasetKind
from . import worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PATIENCE = 5.0  # seconds between looks whether the other side lives, and until a worker that does not end is stopped
ROOM = 1 << 20  # bytes of a pipe for batches: small ones wait there, larger ones in the worker
RESTART = "restart"
BATCH, ENDED, FAILED = range(3)  # what comes back: a batch, no more of a stream, (class, text, where) of an error

_open: weakref.WeakSet[Process] = weakref.WeakSet()


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
        indices, self._indices = multiprocessing.Pipe(False)
        self._results, results = multiprocessing.Pipe(False)
        _enlarge(results.fileno())
        self.done, self._owner = False, os.getpid()
        _open.add(self)
        self._process = multiprocessing.get_context("fork").Process(
            target=_serve, args=(iterator, id, init, indices, results), daemon=True
        )
        self._process.start()
        indices.close()
        results.close()

    def __getattr__(self, name: str) -> Any:
        """pid, exitcode, is_alive(), join(), terminate() ..."""
        return getattr(self.__dict__["_process"], name)

    def put(self, index: Any) -> None:
        try:
            self._indices.send(index)
        except BrokenPipeError:
            pass  # get() says so

    def restart(self) -> None:
        self.put(RESTART)

    def get(self, timeout: float) -> Any:
        end = time.monotonic() + timeout if timeout else float("inf")
        while not self._results.poll(max(0.0, min(PATIENCE, end - time.monotonic()))):
            if time.monotonic() >= end:
                raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
            if not self._process.is_alive() and not self._results.poll():
                raise self._died()
        try:
            kind, data = ForkingPickler.loads(self._results.recv_bytes())
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

    def _died(self) -> RuntimeError:
        return RuntimeError(f"DataLoader worker (pid(s) {self.pid}) exited unexpectedly")

    def close(self) -> None:
        """Waits for the end of the process, which finds its pipes closed."""
        if self.done or os.getpid() != self._owner:  # a worker has inherited it
            return
        self.done = True
        self.close_ends()
        self._process.join(PATIENCE)
        if self._process.is_alive():
            self._process.terminate()

    def close_ends(self) -> None:
        """Tells the process to end; in another worker, which inherited the pipes, only drops them."""
        self._indices.close()
        self._results.close()


def _enlarge(pipe: int) -> None:
    import fcntl

    try:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, ROOM)  # Python 3.10 and newer, Linux
    except (AttributeError, OSError):
        pass  # a limit of the user's


def _serve(iterator: Any, id: int, init: Any, indices: Any, results: Any) -> None:
    """The worker's process."""
    parent = os.getppid()
    for other in list(_open):  # or a pipe would stay open when the program closes it
        other.close_ends()
    try:
        served = _Served(iterator, id, init)
        while True:
            while not indices.poll(PATIENCE):
                if os.getppid() != parent:
                    return
            data = served.answer(indices.recv())
            if data is not None:
                results.send_bytes(data)
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
            ForkingPickler.dumps(kind)
        except Exception:  # the program does not find the class by its name
            kind = kind.__name__
        return FAILED, (kind, failed.exc_msg, failed.where)

    def answer(self, index: Any) -> Any:
        """The pickled batch of an index; None where nothing is to be sent."""
        if isinstance(index, str) and index == RESTART:
            self.ended = False
            self.start()
            return None
        if self.ended:
            return None
        try:
            return ForkingPickler.dumps(self.batch(index))
        except Exception:
            return ForkingPickler.dumps(self.wrapped())

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
