"""Linear algebra: torch.linalg."""

from .ops import load_all as _load_all
from .ops._declare import namespace as _namespace

_load_all()
globals().update(_namespace("linalg"))
__all__ = list(_namespace("linalg"))
