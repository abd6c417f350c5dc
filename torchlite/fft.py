"""Discrete Fourier transforms: torch.fft."""

from .ops._declare import namespace as _namespace

globals().update(_namespace("fft"))
__all__ = list(_namespace("fft"))
