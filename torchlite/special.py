"""Special functions: torch.special."""

from .ops._declare import namespace as _namespace

globals().update(_namespace("special"))
__all__ = list(_namespace("special"))
