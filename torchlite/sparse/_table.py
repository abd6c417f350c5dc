"""The table of what operators do with COO tensors, by name or by name and overload; `_ops` looks there."""

from __future__ import annotations

from typing import Any

TABLE: dict[str, Any] = {}


def op(*names: str) -> Any:
    """Decorator: the handler of these operators."""

    def register(fn: Any) -> Any:
        TABLE.update(dict.fromkeys(names, fn))
        return fn

    return register


def replace(x: Any, made: Any) -> Any:
    """In place: `x` gets the parts of `made`, in its own dtype."""
    x._parts, x._sorted = (*made._parts[:-1], made._parts[-1].to(x.dtype)), made._sorted
    return x
