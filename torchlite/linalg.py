"""Linear algebra: torch.linalg."""

from .ops import load as _load
from .ops._declare import namespace as _namespace

_load("linalg")
globals().update(_namespace("linalg"))
__all__ = list(_namespace("linalg"))


from ._core import absent as _absent

__getattr__ = _absent.of(__name__)
