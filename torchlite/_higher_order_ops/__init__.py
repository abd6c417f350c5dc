"""Control flow of tensors as functions of functions: each runs at once, and gradients go through what ran."""

from .associative_scan import associative_scan
from .cond import cond
from .map import map
from .scan import scan
from .while_loop import while_loop
from .._core import absent as _absent

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]

__getattr__ = _absent.of(__name__)
