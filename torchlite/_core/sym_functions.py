"""torch.sym_int and its like: functions of numbers that PyTorch can trace. Here numbers are plain ones."""

from __future__ import annotations

import math
import sys
from typing import Any

import torchlite as torch

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class SymInt:
    """The type of a size that is no number. The only ones here are those of nested tensors (NestedInt, j1)."""

    __module__ = "torch"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("torch.SymInt: torchlite has no symbolic sizes; give the number itself")


def _check(*values: Any) -> bool:
    """Whether a float is among these numbers; AssertionError for other types."""
    floats: tuple[type, ...] = (float,)
    kinds: tuple[type, ...] = (int, float)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        floats, kinds = (numpy.floating, float), (numpy.integer, numpy.floating, int, float)
    for value in values:
        assert isinstance(value, kinds), "expected %s, got %s" % (kinds, type(value))
    return any(isinstance(value, floats) for value in values)


def sym_float(a: Any) -> float:
    """float(a)."""
    return float(a)


def sym_int(a: Any) -> int:
    """int(a): floats are cut off towards 0."""
    return int(a)


def sym_not(a: Any) -> bool:
    """not a."""
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """The larger number; a float if one of them is one."""
    return float(max(a, b)) if _check(a, b) else max(a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller number; a float if one of them is one."""
    return float(min(a, b)) if _check(a, b) else min(a, b)


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """t if b, else f, which are of one type."""
    assert isinstance(b, bool), "expected SymBool or bool, got %s" % type(b)
    assert type(t) is type(f), "type mismatch: %s vs %s" % (type(t), type(f))
    return t if b else f


def sym_sum(*args: Any) -> Any:
    """The sum of the numbers of a list, or of the arguments."""
    return sum(args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args)


def _listed(args: Any) -> Any:
    return args if len(args) == 1 and isinstance(args[0], (list, tuple)) else (tuple(args),)


sym_sum._tl_arguments = _listed  # type: ignore[attr-defined]


def _of_math(name: str) -> Callable[..., Any]:
    compute = getattr(math, name)

    def function(a: Any) -> float:
        return compute(a)

    function.__name__ = function.__qualname__ = "_sym_" + name
    return function


def _install() -> None:
    names = "sqrt cos cosh sin sinh tan tanh asin acos atan log2".split()
    plain = [sym_float, sym_int, sym_not, sym_max, sym_min, sym_ite, sym_sum, *map(_of_math, names)]
    for function in plain:
        function.__module__ = torch.__name__
        globals()[function.__name__] = _C.Function(function)


_install()
sym_sqrt = globals()["_sym_sqrt"]
