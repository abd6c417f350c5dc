"""Linear algebra: torch.linalg."""

from .ops._declare import namespace as _namespace

globals().update(_namespace("linalg"))
__all__ = list(_namespace("linalg"))
