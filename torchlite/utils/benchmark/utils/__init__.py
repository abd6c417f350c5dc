"""The parts of torch.utils.benchmark."""

from ...._core import absent as _absent

__getattr__ = _absent.of(__name__)
