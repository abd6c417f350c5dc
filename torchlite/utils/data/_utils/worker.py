"""What the current worker of a DataLoader is."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_worker_info: WorkerInfo | None = None


class _IterableDatasetStopIteration:
    """In place of a batch: worker `worker_id` has no more."""

    def __init__(self, worker_id: int) -> None:
        self.worker_id = worker_id


class WorkerInfo:
    """id, num_workers, seed and dataset of the current worker."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    _keys: tuple[str, ...]

    def __init__(self, **kwargs: Any) -> None:
        self.__dict__.update(kwargs)
        self.__dict__["_keys"] = tuple(kwargs)

    def __setattr__(self, key: Any, val: Any) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {key!r}")

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({', '.join(f'{k}={getattr(self, k)}' for k in self._keys)})"


def get_worker_info() -> WorkerInfo | None:
    """What the current loader worker is, or None in the main program."""
    return _worker_info


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """The seed of numpy's random numbers in a worker, as PyTorch makes it: that of numpy's SeedSequence."""
    from numpy.random import SeedSequence

    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return SeedSequence(entropy).generate_state(4).tolist()


from ...._core import absent as _absent

__getattr__ = _absent.of(__name__)
