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


_SWITCHES = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "mem_efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}


@contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Within the block only `backends` may be used; the result is the same with any."""
    if isinstance(backends, SDPBackend):
        backends = [backends]
    if not isinstance(backends, list):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    from ... import backends as settings

    before = dict(settings._sdp)
    for name, backend in _SWITCHES.items():
        settings._sdp[name] = backend in backends
    try:
        yield {}
    finally:
        settings._sdp.update(before)


from ..._core import absent as _absent

__getattr__ = _absent.of(__name__)
