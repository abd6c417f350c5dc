"""What the device has for each kernel row of the core: a planner, or an element-wise expression.

planner(ov, args) gets the op's arguments in schema order; it returns the result, or NotImplemented for what it does not
do. The files of plan/ fill the tables as plan/families.py imports them.
"""

from __future__ import annotations

from typing import Any, Callable

PLANNERS: dict[str, Callable[..., Any]] = {}  # kernel row -> planner
# kernel row -> the operation over its arguments, or a function that names operation and operands (plan/pointwise.py)
ROWS: dict[str, str | Callable[..., Any]] = {}


def planner(*rows: str) -> Callable[..., Any]:
    """Registers a function for kernel rows."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        for row in rows:
            PLANNERS[row] = fn
        return fn

    return register
