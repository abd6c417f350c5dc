"""Where the functions that get nested tensors come in: the tables of all layouts are filled here."""

from __future__ import annotations

from typing import Any

from . import _attention, _jagged, _strided  # noqa: F401  (they fill the tables)
from ._ops import BOTH, JAGGED, OF_VALUES, STRIDED, name_of, nested_in, pointwise, pointwise_names, refused
from ._tensor import Nested, NestedTensor


def run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The result of a function of which an argument is nested."""
    name = name_of(func)
    nested = nested_in(args, kwargs)
    x: Any = nested[0]
    for table in (JAGGED if isinstance(x, NestedTensor) else STRIDED, BOTH):
        if name in table:
            return table[name](func, *args, **kwargs)
    if name in OF_VALUES or getattr(func, "__name__", "") == "__get__":
        return func(*(a._values if isinstance(a, Nested) else a for a in args), **kwargs)
    plain = name.removesuffix("_") if not name.endswith("__") else name
    if plain in pointwise_names() or name in pointwise_names():
        return pointwise(func, name, args, kwargs)
    raise refused(func, name, x)
