"""Takes samples out of a dataset and collates them."""

from __future__ import annotations


from .collate import default_collate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from ...._types import Tensor


class _BaseDatasetFetcher:
    def __init__(self, dataset: Any, auto_collation: Any, collate_fn: Any, drop_last: Any) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    def __init__(self, dataset: Any, auto_collation: Any, collate_fn: Any, drop_last: Any) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter = iter(dataset)
        self.ended = False

    def fetch(self, possibly_batched_index: Any) -> Tensor:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        data = []
        for _ in possibly_batched_index:
            try:
                data.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if len(data) == 0 or (self.drop_last and len(data) < len(possibly_batched_index)):
            raise StopIteration
        return self.collate_fn(data)


class _MapDatasetFetcher(_BaseDatasetFetcher):
    def __init__(self, dataset: Any, auto_collation: Any, collate_fn: Any, drop_last: Any) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        from ..dataset import TensorDataset

        # rows of tensors, stacked: one indexing operation does the same
        self.tensors = (
            dataset.tensors
            if (auto_collation and collate_fn is default_collate and type(dataset) is TensorDataset)
            else None
        )

    def fetch(self, possibly_batched_index: Any) -> list[Tensor]:
        if not self.auto_collation:
            return self.collate_fn(self.dataset[possibly_batched_index])
        if self.tensors is not None and type(possibly_batched_index) is list:
            return [t[possibly_batched_index] for t in self.tensors]
        getitems = getattr(self.dataset, "__getitems__", None)
        if getitems:
            data = getitems(possibly_batched_index)
        else:
            dataset = self.dataset
            data = [dataset[i] for i in possibly_batched_index]
        return self.collate_fn(data)
