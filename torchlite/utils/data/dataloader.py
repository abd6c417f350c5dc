"""The data loader. Workers are processes on Linux; elsewhere `num_workers` > 0 keeps PyTorch's results (order, ids
and seeds of workers, sharding of iterable datasets), not its parallelism."""

from __future__ import annotations

import collections.abc
import sys
from typing import Generic

import torchlite as torch
from torchlite import _C
from ._utils.collate import default_collate, default_convert
from ._utils.fetch import _IterableDatasetFetcher, _MapDatasetFetcher
from ._utils.worker import get_worker_info
from .dataset import Dataset as Dataset, IterableDataset, _T_co
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any
    from ..._types import Generator, Tensor
    from ...utils.data.dataset import TensorDataset


__all__ = ["DataLoader", "get_worker_info", "default_collate", "default_convert"]


class _DatasetKind:
    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(
        kind: int,
        dataset: TensorDataset | list[Any],
        auto_collation: bool,
        collate_fn: Callable[..., Any],
        drop_last: bool,
    ) -> _IterableDatasetFetcher | _MapDatasetFetcher:
        make = _MapDatasetFetcher if kind == _DatasetKind.Map else _IterableDatasetFetcher
        return make(dataset, auto_collation, collate_fn, drop_last)


class _InfiniteConstantSampler(Sampler):
    def __iter__(self) -> Iterator[Any]:
        while True:
            yield None


_REPLICAS = (
    "For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset replica at "
    "each worker. Please see https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
)


def _check_context(context: Any) -> None:
    """Refuses what is neither a start method of processes nor a context: there are no processes, but a slip is one."""
    import multiprocessing

    methods = multiprocessing.get_all_start_methods()
    if isinstance(context, str):
        if context not in methods:
            raise ValueError(
                "multiprocessing_context option should specify a valid start method in %r, but got "
                "multiprocessing_context=%r" % (methods, context)
            )
    elif not hasattr(context, "get_context"):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start method, "
            "but got multiprocessing_context=%s" % context
        )


class DataLoader(Generic[_T_co]):
    """Iterates over a dataset in batches.

    Args: dataset, batch_size (None: no batching), shuffle, sampler, batch_sampler, num_workers, collate_fn, pin_memory,
    drop_last, timeout, worker_init_fn, multiprocessing_context, generator, prefetch_factor, persistent_workers, ...
    """

    __initialized = False
    _iterator = None

    def __init__(
        self,
        dataset: TensorDataset | list[Tensor | int],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: BatchSampler | list[list[int]] | None = None,
        num_workers: int = 0,
        collate_fn: Any = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: int = 0,
        worker_init_fn: Callable[..., Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                "multiprocessing, otherwise set prefetch_factor to None."
            )
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        elif prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        if multiprocessing_context is not None and num_workers == 0:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                f"num_workers={num_workers}"
            )
        if multiprocessing_context is not None:
            _check_context(multiprocessing_context)
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        if isinstance(dataset, IterableDataset):
            self._dataset_kind = _DatasetKind.Iterable
            if shuffle not in {False, None}:
                raise ValueError(
                    f"DataLoader with IterableDataset: expected unspecified shuffle option, but got shuffle={shuffle}"
                )
            if sampler is not None:
                raise ValueError(
                    f"DataLoader with IterableDataset: expected unspecified sampler option, but got sampler={sampler}"
                )
            if batch_sampler is not None:
                raise ValueError(
                    f"DataLoader with IterableDataset: expected unspecified batch_sampler option, but got "
                    f"batch_sampler={batch_sampler}"
                )
        else:
            shuffle = bool(shuffle)
            self._dataset_kind = _DatasetKind.Map
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
            drop_last = False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called: int | None = None
        self._iterator = None
        self.check_worker_number_rationality()

    def __setattr__(self, attr: str, val: Any) -> Any:
        if self.__initialized and attr in (
            "batch_size",
            "batch_sampler",
            "sampler",
            "drop_last",
            "dataset",
            "persistent_workers",
        ):
            raise ValueError(f"{attr} attribute should not be set after {self.__class__.__name__} is initialized")
        super().__setattr__(attr, val)

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        from ._utils.workers import _MultiProcessingDataLoaderIter

        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self) -> _BaseDataLoaderIter:
        if self.persistent_workers and self.num_workers > 0:
            if self._iterator is None:
                self._iterator = self._get_iterator()
            else:
                self._iterator._reset(self)
            return self._iterator
        return self._get_iterator()

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Iterable:
            length = self._IterableDataset_len_called = len(self.dataset)
            if self.batch_size is not None:
                if self.drop_last:
                    length = length // self.batch_size
                else:
                    length = (length + self.batch_size - 1) // self.batch_size
            return length
        return len(self._index_sampler)

    def check_worker_number_rationality(self) -> None:
        """Warns of more workers than cores, where they are processes."""
        if sys.platform == "linux" and self.num_workers:
            from ._utils.processes import check_number

            check_number(self.num_workers)


class _BaseDataLoaderIter:
    def __init__(self, loader: DataLoader) -> None:
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._collate_fn = loader.collate_fn
        self._persistent_workers = loader.persistent_workers
        # what iterators of other packages read (torchdata's)
        self._shared_seed, self._pin_memory, self._timeout = None, False, loader.timeout
        self._sampler_iter = iter(self._index_sampler)
        # drawn even where no worker uses it, as PyTorch does: the same seed gives the same later numbers
        self._base_seed = torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item()
        self._num_yielded = 0

    def _fetcher(self) -> _IterableDatasetFetcher | _MapDatasetFetcher:
        return _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def __iter__(self) -> Any:
        return self

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _next_data(self) -> Any:
        raise NotImplementedError

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def __next__(self) -> list[Tensor]:
        if _C.profiling():
            mark = _C.profile_enter("enumerate(DataLoader)#%s.__next__" % type(self).__name__, 2)
            try:
                data = self._next_data()
            finally:
                _C.profile_exit(mark)
        else:
            data = self._next_data()
        self._num_yielded += 1
        if (
            self._dataset_kind == _DatasetKind.Iterable
            and self._IterableDataset_len_called is not None
            and self._num_yielded > self._IterableDataset_len_called
        ):
            import warnings

            warnings.warn(
                f"Length of IterableDataset {self._dataset} was reported to be {self._IterableDataset_len_called}"
                f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
                + (_REPLICAS if self._num_workers else ""),
                stacklevel=2,
            )
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{self.__class__.__name__} cannot be pickled")


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        if loader.timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._dataset_fetcher = self._fetcher()

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(next(self._sampler_iter))


# the types of two arguments, which packages import
_collate_fn_t = _worker_init_fn_t = collections.abc.Callable

from ..._core import absent as _absent

_absent_name = _absent.of(__name__)


def __getattr__(name: str) -> Any:
    if name != "_MultiProcessingDataLoaderIter":
        return _absent_name(name)
    from ._utils.workers import _MultiProcessingDataLoaderIter

    return _MultiProcessingDataLoaderIter
