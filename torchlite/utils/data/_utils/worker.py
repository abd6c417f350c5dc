"""Loader workers. There is one process: each "worker" is a turn in it, with its own id and random state."""

from __future__ import annotations


TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from ...._types import Tensor


_worker_info = None


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
        raise RuntimeError(f"Cannot assign attributes to {self.__class__.__name__} objects")

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({', '.join(f'{k}={getattr(self, k)}' for k in self._keys)})"


def get_worker_info() -> WorkerInfo | None:
    """What the current loader worker is, or None in the main program."""
    return _worker_info


class Turn:
    """Worker `id`: a context in which its random state and worker info hold."""

    def __init__(self, id: int, num_workers: int, base_seed: int, dataset: Any) -> None:
        import random

        import torchlite as torch

        self.torch, self.random = torch, random
        self.info = WorkerInfo(id=id, num_workers=num_workers, seed=base_seed + id, dataset=dataset)
        self.state: tuple[Tensor, tuple[Any, ...]] | None = None

    def __enter__(self) -> Turn:
        global _worker_info
        self.saved = self.torch.get_rng_state(), self.random.getstate(), _worker_info
        if self.state is None:
            self.torch.manual_seed(self.info.seed)
            self.random.seed(self.info.seed)
        else:
            self.torch.set_rng_state(self.state[0])
            self.random.setstate(self.state[1])
        _worker_info = self.info
        return self

    def __exit__(self, *exc: type | None) -> None:
        global _worker_info
        self.state = self.torch.get_rng_state(), self.random.getstate()
        self.torch.set_rng_state(self.saved[0])
        self.random.setstate(self.saved[1])
        _worker_info = self.saved[2]


from ...._core import absent as _absent

__getattr__ = _absent.of(__name__)
