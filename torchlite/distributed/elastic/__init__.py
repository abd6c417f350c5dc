"""torch.distributed.elastic: what a script under torchrun imports."""

from ..._core import absent as _absent

__getattr__ = _absent.of(__name__)
