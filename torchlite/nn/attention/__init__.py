"""Choosing how scaled_dot_product_attention is computed: accepted for compatibility, there is one way here."""

from contextlib import contextmanager
from enum import IntEnum

__all__ = ["SDPBackend", "sdpa_kernel", "WARN_FOR_UNFUSED_KERNELS"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(IntEnum):
    """Names of the ways PyTorch has."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Within the block only `backends` may be used; the result is the same with any."""
    if isinstance(backends, SDPBackend):
        backends = [backends]
    if not isinstance(backends, list):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    yield


from ..._core import absent as _absent

__getattr__ = _absent.of(__name__)
