"""Datasets, samplers and the loader that makes batches of them."""

from __future__ import annotations


from . import _utils
from ._utils.collate import default_collate, default_convert
from .dataloader import DataLoader, _DatasetKind, get_worker_info
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "_DatasetKind",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]


def __getattr__(name: str) -> Any:
    if name == "DistributedSampler":
        from .distributed import DistributedSampler

        return DistributedSampler
    if name == "distributed":
        from importlib import import_module

        return import_module(".distributed", __name__)
    from ..._core import absent

    return absent.of(__name__)(name)
