"""torch.distributed.checkpoint: of it, the state_dicts of a world of one process."""

from ..._core import absent as _absent

__getattr__ = _absent.of(__name__)
