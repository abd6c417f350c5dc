"""Discrete Fourier transforms: torch.fft."""

from .ops import load as _load
from .ops._declare import namespace as _namespace

_load("fft")
globals().update(_namespace("fft"))
__all__ = list(_namespace("fft"))


from ._core import absent as _absent

__getattr__ = _absent.of(__name__)
