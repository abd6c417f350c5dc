"""Special functions: torch.special."""

from .ops import load as _load
from .ops._declare import namespace as _namespace

_load("special")
globals().update(_namespace("special"))
__all__ = list(_namespace("special"))

from ._core import absent as _absent

__getattr__ = _absent.of(__name__)
