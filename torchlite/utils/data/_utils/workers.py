"""The workers of a DataLoader. There is one process: each is a turn in it, with its own copy of the dataset and its own
random numbers."""

from __future__ import annotations

import io
import os
import pickle
import random
import sys
import types
import weakref

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
    """One of the workers: its turn, and the fetcher of its own copy of the dataset. As a process it says that it lives
    as long as its iterator has batches for it."""

    def __init__(self, iterator: _MultiProcessingDataLoaderIter, id: int, init: Callable[[int], None] | None) -> None:
        self._iterator, self.id, self.init = weakref.ref(iterator), id, init
        self.done = False
        self.dataset, self.collate_fn = copied((iterator._dataset, iterator._collate_fn))
        self.turn = Turn(id, iterator._num_workers, iterator._base_seed, self.dataset)
        self.failed: Any = None
        self.start()

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

    def start(self) -> None:
        """The fetcher of an epoch; an error is kept until a batch is asked for."""
        it = self.iterator
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

    def fetch(self, index: Any) -> Any:
        if self.done:
            raise RuntimeError(f"DataLoader worker (pid(s) {self.pid}) exited unexpectedly")
        if self.failed is None:
            try:
                with self.turn:
                    return self.fetcher.fetch(index)
            except StopIteration:
                if self.iterator._dataset_kind == _DatasetKind.Iterable:
                    self.done = not self.iterator._persistent_workers
                    raise
                failed = self.wrapped()
            except Exception:
                failed = self.wrapped()
        else:
            failed, self.failed = self.failed, None
        return failed.reraise()


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Batches go round the workers."""

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        self._start_workers(loader)

    def _start_workers(self, loader: DataLoader) -> None:
        self._workers = [_Worker(self, i, loader.worker_init_fn) for i in range(self._num_workers)]
        self._alive = list(range(self._num_workers))
        self._turn = 0

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        if self._dataset_kind == _DatasetKind.Iterable:
            for worker in self._workers:
                worker.start()
        self._alive = list(range(self._num_workers))
        self._turn = 0

    def _next_data(self) -> Any:
        if self._dataset_kind == _DatasetKind.Map:
            index = next(self._sampler_iter)
            self._turn += 1
            return self._workers[(self._turn - 1) % self._num_workers].fetch(index)
        while self._alive:
            at = self._turn % len(self._alive)
            try:
                data = self._workers[self._alive[at]].fetch(next(self._sampler_iter))
            except StopIteration:
                del self._alive[at]
                self._turn = at
                continue
            self._turn = at + 1
            return data
        raise StopIteration
