"""torch.distributed.algorithms: activation checkpoints, which need no second process."""

from ..._core import absent as _absent

__getattr__ = _absent.of(__name__)
