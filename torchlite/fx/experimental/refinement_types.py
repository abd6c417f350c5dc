"""Equality: a constraint of type inference."""

from typing import Any


class Equality:
    """Two types that must be the same."""

    def __init__(self, lhs: Any, rhs: Any) -> None:
        self.lhs, self.rhs = lhs, rhs

    def __str__(self) -> str:
        return "%s = %s" % (self.lhs, self.rhs)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equality) and self.lhs == other.lhs and self.rhs == other.rhs

    __hash__ = None  # type: ignore[assignment]
