"""Padding layers."""

from torchlite.nn import functional as F
from .module import Module
from .utils import _ntuple, _pair, _quadruple

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]

_sextuple = _ntuple(6, "_sextuple")


class _ConstantPadNd(Module):
    __constants__ = ["padding", "value"]

    def __init__(self, padding, value):
        super().__init__()
        self.padding = self._tuple(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads the last dimension with `value`: (left, right)."""

    _tuple = staticmethod(_pair)


class ConstantPad2d(_ConstantPadNd):
    """Pads the last two dimensions with `value`: (left, right, top, bottom)."""

    _tuple = staticmethod(_quadruple)


class ConstantPad3d(_ConstantPadNd):
    """Pads the last three dimensions with `value`."""

    _tuple = staticmethod(_sextuple)


class _ModePad(Module):
    __constants__ = ["padding"]
    _mode: str

    def __init__(self, padding):
        super().__init__()
        self.padding = self._tuple(padding)

    def _check_input_dim(self, input):
        pass

    def forward(self, input):
        self._check_input_dim(input)
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class _CircularPadNd(_ModePad):
    _mode = "circular"

    def _check_input_dim(self, input):
        n = len(self.padding) // 2 + 1
        if input.dim() != n and input.dim() != n + 1:
            raise ValueError(f"expected {n}D or {n + 1}D input (got {input.dim()}D input)")


class CircularPad1d(_CircularPadNd):
    """Wraps the last dimension around."""

    _tuple = staticmethod(_pair)


class CircularPad2d(_CircularPadNd):
    """Wraps the last two dimensions around."""

    _tuple = staticmethod(_quadruple)


class CircularPad3d(_CircularPadNd):
    """Wraps the last three dimensions around."""

    _tuple = staticmethod(_sextuple)


class _ReflectionPadNd(_ModePad):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Mirrors the last dimension at its edges."""

    _tuple = staticmethod(_pair)


class ReflectionPad2d(_ReflectionPadNd):
    """Mirrors the last two dimensions at their edges."""

    _tuple = staticmethod(_quadruple)


class ReflectionPad3d(_ReflectionPadNd):
    """Mirrors the last three dimensions at their edges."""

    _tuple = staticmethod(_sextuple)


class _ReplicationPadNd(_ModePad):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Repeats the edge of the last dimension."""

    _tuple = staticmethod(_pair)


class ReplicationPad2d(_ReplicationPadNd):
    """Repeats the edges of the last two dimensions."""

    _tuple = staticmethod(_quadruple)


class ReplicationPad3d(_ReplicationPadNd):
    """Repeats the edges of the last three dimensions."""

    _tuple = staticmethod(_sextuple)


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pads the last dimension with zeros."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pads the last two dimensions with zeros."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pads the last three dimensions with zeros."""
