"""Symbolic sizes, which torchlite does not have: a ShapeEnv can be made, and makes no symbols."""

from __future__ import annotations

from typing import Any

from ..._core import absent as _absent


class ShapeEnv:
    """The options of symbolic sizes. What would make a symbol with it raises an error (FakeTensorMode.from_tensor)."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.allow_dynamic_output_shape_ops = settings.get("allow_dynamic_output_shape_ops", True)
        self.allow_scalar_outputs = settings.get("allow_scalar_outputs", True)


def is_nested_int(value: Any) -> bool:
    """Whether a size is that of the dim in which the parts of a jagged tensor differ."""
    return type(value).__name__ == "NestedInt"


class GuardOnDataDependentSymNode(RuntimeError):
    """A condition on a symbol whose value is not known: nothing here raises it."""


def guard_or_false(a: bool) -> bool:
    """The condition: sizes are numbers, so every condition is known."""
    if not isinstance(a, bool):
        raise AssertionError("Expected bool, got %s" % type(a))
    return a


guard_or_true = statically_known_true = guard_or_false


def free_symbols(val: Any) -> set[Any]:
    """The symbols in a value: none."""
    return set()


free_unbacked_symbols = free_symbols

__getattr__ = _absent.of(__name__)
