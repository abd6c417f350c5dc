"""torch.distributed.elastic.multiprocessing: its decorator for the main function, in errors."""

from ...._core import absent as _absent

__getattr__ = _absent.of(__name__)
