"""The workers of a DataLoader. On Linux they are processes (processes.py). Elsewhere, and in a page, there is one
process: each is a turn in it, with its own copy of the dataset and its own random numbers."""

from __future__ import annotations

import io
import itertools
import os
import pickle
import random
import sys
import types
import weakref
from collections import deque

import torchlite as torch
from ..dataloader import DataLoader, _BaseDataLoaderIter, _DatasetKind
from . import worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from ...._types import Tensor

# never changed in place, or large: a process of its own would share the memory until somebody writes to it
_SHARED = (torch.Tensor, str, bytes, type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)


class _Copier(pickle.Pickler):
    """Pickles Python objects, and keeps what is shared, or cannot be pickled, as it is."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.shared: list[Any] = []

    def persistent_id(self, obj: Any) -> int | None:
        if not isinstance(obj, _SHARED) and type(obj).__module__ != "numpy":
            return None
        self.shared.append(obj)
        return len(self.shared) - 1

    def reducer_override(self, obj: Any) -> Any:
        try:
            obj.__reduce_ex__(5)
        except Exception:  # a file, a lock, a connection: a new process would have it, too
            self.shared.append(obj)
            return self.shared.__getitem__, (len(self.shared) - 1,)
        return NotImplemented


def copied(objects: Any) -> Any:
    """A copy of Python objects, such as a process forked here would have, but for tensors and arrays: those are shared.
    Objects that cannot be copied at all come back as they are."""
    file = io.BytesIO()
    copier = _Copier(file)
    try:
        copier.dump(objects)
        file.seek(0)
        reader = pickle.Unpickler(file)
        reader.persistent_load = copier.shared.__getitem__  # type: ignore[method-assign]
        return reader.load()
    except Exception:
        return objects


class Turn:
    """Worker `id`: a context in which its random state and worker info hold."""

    def __init__(self, id: int, num_workers: int, base_seed: int, dataset: Any) -> None:
        self.base_seed = base_seed
        self.info = worker.WorkerInfo(id=id, num_workers=num_workers, seed=base_seed + id, dataset=dataset)
        self.state: tuple[Tensor, Any, Any] | None = None

    def _numbers(self) -> tuple[Tensor, Any, Any]:
        """The states of torch's, Python's and numpy's random numbers."""
        numpy = sys.modules.get("numpy")
        return torch.get_rng_state(), random.getstate(), numpy and numpy.random.get_state()

    def _restore(self, state: tuple[Tensor, Any, Any]) -> None:
        torch.set_rng_state(state[0])
        random.setstate(state[1])
        if state[2] is not None:
            sys.modules["numpy"].random.set_state(state[2])

    def __enter__(self) -> Turn:
        self.saved = self._numbers(), worker._worker_info
        if self.state is not None:
            self._restore(self.state)
        else:
            torch.manual_seed(self.info.seed)
            random.seed(self.info.seed)
            if self.saved[0][2] is not None:
                sys.modules["numpy"].random.seed(worker._generate_state(self.base_seed, self.info.id))
        worker._worker_info = self.info
        return self

    def __exit__(self, *exc: type | None) -> None:
        self.state = self._numbers()
        self._restore(self.saved[0])
        worker._worker_info = self.saved[1]


class _Worker:
    """A worker that is no process: its turn, and the fetcher of its own copy of the dataset. put() notes an index,
    get() loads the batch of the oldest one. is_alive() is true until its iterator is gone or has no more to ask for."""

    def __init__(self, iterator: _MultiProcessingDataLoaderIter, id: int, init: Callable[[int], None] | None) -> None:
        self._iterator, self.id, self.init = weakref.ref(iterator), id, init
        self.done = False
        self.indices: deque[Any] = deque()
        self.dataset, self.collate_fn = copied((iterator._dataset, iterator._collate_fn))
        self.turn = Turn(id, iterator._num_workers, iterator._base_seed, self.dataset)
        self.failed: Any = None
        self.restart()

    @property
    def iterator(self) -> Any:
        return self._iterator()

    @property
    def pid(self) -> int:
        return os.getpid()

    def is_alive(self) -> bool:
        return self.iterator is not None and not self.done

    def join(self, timeout: float | None = None) -> None:
        pass

    def terminate(self) -> None:
        self.done = True

    close = tell = terminate

    @staticmethod
    def first_ready(iterator: Any) -> int:
        return iterator._tasks[0]

    def restart(self) -> None:
        """The fetcher of an epoch; an error is kept until a batch is asked for."""
        it = self.iterator
        self.indices.clear()
        try:
            with self.turn:
                if self.init is not None:
                    init, self.init = self.init, None
                    init(self.id)
                self.fetcher = _DatasetKind.create_fetcher(
                    it._dataset_kind, self.dataset, it._auto_collation, self.collate_fn, it._drop_last
                )
        except Exception:
            self.failed = self.wrapped()

    def wrapped(self) -> Any:
        return torch._utils.ExceptionWrapper(where=f"in DataLoader worker process {self.id}")

    def put(self, index: Any) -> None:
        self.indices.append(index)

    def get(self, timeout: float) -> Any:
        if self.done:
            raise RuntimeError(f"DataLoader worker (pid(s) {self.pid}) exited unexpectedly")
        index = self.indices.popleft()
        if self.failed is not None:
            failed, self.failed = self.failed, None
            return failed
        try:
            with self.turn:
                return self.fetcher.fetch(index)
        except StopIteration:
            if self.iterator._dataset_kind == _DatasetKind.Iterable:
                return worker._IterableDatasetStopIteration(self.id)
            return self.wrapped()
        except Exception:
            return self.wrapped()
        except BaseException:  # an interrupt: it can be asked for again
            self.indices.appendleft(index)
            raise


_noted = False


def _kind_of_worker() -> Any:
    """Processes where there can be any."""
    if sys.platform == "linux":
        from . import processes

        if processes.available():
            return processes.Process
    global _noted
    if not _noted:
        _noted = True
        import warnings

        warnings.warn(
            "DataLoader: there are no worker processes here; num_workers > 0 loads in this process, with the same "
            "results.",
            UserWarning,
            stacklevel=5,
        )
    return _Worker


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Indices go round the workers, some batches ahead; batches come back in the order of their indices."""

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        make = _kind_of_worker()
        self._in_order, self._first_ready = loader.in_order, make.first_ready
        if not loader.prefetch_factor:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        self._ahead = loader.prefetch_factor * self._num_workers
        self._workers: list[Any] = []
        for i in range(self._num_workers):
            self._workers.append(make(self, i, loader.worker_init_fn))
        super()._reset(loader, True)  # a second iterator of the sampler, as in PyTorch
        self._begin()

    def _begin(self) -> None:
        self._tasks: deque[int] = deque()  # the workers that were given an index, in order
        self._workers_status = [True] * self._num_workers
        self._worker_queue_idx_cycle = itertools.cycle(range(self._num_workers))
        for _ in range(self._ahead):
            self._try_put_index()

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        while self._tasks:  # an epoch that was left: its batches are still to come
            self._take()
        for w in self._workers:
            w.restart()
        self._begin()

    @staticmethod
    def _ends(data: Any) -> bool:
        return type(data) is worker._IterableDatasetStopIteration

    def _try_put_index(self) -> None:
        try:
            index = self._next_index()
        except StopIteration:
            return
        for _ in range(self._num_workers):
            i = next(self._worker_queue_idx_cycle)
            if self._workers_status[i] and (
                self._in_order or self._tasks.count(i) < self._ahead // sum(self._workers_status)
            ):
                self._workers[i].put(index)
                self._tasks.append(i)
                return

    def _drop(self, i: int) -> None:
        """Nothing more comes from worker i."""
        self._workers_status[i] = False
        self._tasks = deque(j for j in self._tasks if j != i)

    def _take(self) -> tuple[int, Any]:
        """A worker, and what came from it. After a timeout or an interrupt it is still to come."""
        i = self._tasks[0] if self._in_order else self._first_ready(self)
        try:
            data = self._workers[i].get(self._timeout)
        except RuntimeError:
            if not self._workers[i].is_alive():
                self._drop(i)
            raise
        self._tasks.remove(i)
        if self._ends(data):
            self._drop(i)
        return i, data

    def _next_data(self) -> Any:
        while self._tasks:
            i, data = self._take()
            ended = self._ends(data)
            if ended and not self._persistent_workers:
                self._workers[i].close()
            self._try_put_index()
            if ended:
                continue
            if isinstance(data, torch._utils.ExceptionWrapper):
                data.reraise()
            return data
        if not self._persistent_workers:
            self._shutdown_workers()
        raise StopIteration

    def _shutdown_workers(self) -> None:
        for w in self._workers:  # all of them first: they end side by side
            w.tell()
        for w in self._workers:
            w.close()

    def __del__(self) -> None:
        if hasattr(self, "_workers"):  # its own error, otherwise
            self._shutdown_workers()
