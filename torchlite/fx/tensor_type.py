"""Shapes as types: TensorType of sizes, each a number or Dyn, which is any size."""

from typing import Any

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class TensorType:
    """A tensor with these sizes: TensorType([1, 2, Dyn]), or TensorType((1, 2, 3)) in an annotation."""

    def __init__(self, dim):
        self.__origin__ = TensorType
        self.__args__ = dim

    @property
    def dims(self):
        """The sizes."""
        return self.__args__

    def __repr__(self):
        return "TensorType[%s]" % (self.__args__,)

    def __eq__(self, other):
        return isinstance(other, self.__class__) and list(self.__args__) == list(other.__args__)

    __hash__ = None  # type: ignore[assignment]

    @staticmethod
    def __class_getitem__(*args):
        if len(args) == 1 and isinstance(args[0], tuple):
            args = args[0]
        return TensorType(tuple(args))


class _DynType:
    """Any type."""

    __name__ = "_DynType"

    def __init__(self):
        self.__name__ = "_DynType"

    def __eq__(self, other):
        return isinstance(other, self.__class__)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self):
        return "Dyn"

    __repr__ = __str__


Dyn: Any = _DynType()


def _is_var(t):
    return type(t).__name__ == "Var" and hasattr(t, "token")


def is_consistent(t1, t2):
    """Whether one value may have both types; Dyn agrees with all."""
    if t1 == t2 or t1 == Dyn or t2 == Dyn or _is_var(t1) or _is_var(t2):
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return len(t1.__args__) == len(t2.__args__) and all(map(is_consistent, t1.__args__, t2.__args__))
    return False


def is_more_precise(t1, t2):
    """Whether the first type says at least as much as the second."""
    if t1 == t2 or t2 == Dyn or _is_var(t2):
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return len(t1.__args__) == len(t2.__args__) and all(map(is_more_precise, t1.__args__, t2.__args__))
    return False
