"""PassBase: a pass with checks before and after it."""

from __future__ import annotations

import abc
from collections import namedtuple
from typing import Any

from ..._compatibility import compatibility

__all__ = ["PassResult", "PassBase"]


@compatibility(is_backward_compatible=False)
class PassResult(namedtuple("PassResult", ["graph_module", "modified"])):
    """The module after a pass, and whether the pass changed it."""

    __slots__ = ()

    def __new__(cls, graph_module: Any, modified: bool) -> Any:
        return super().__new__(cls, graph_module, modified)


@compatibility(is_backward_compatible=False)
class PassBase(abc.ABC):
    """Define call(); requires() and ensures() may check the module before and after."""

    def __call__(self, graph_module: Any) -> PassResult | None:
        """requires, call, ensures."""
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: Any) -> PassResult | None:
        """The pass."""

    def requires(self, graph_module: Any) -> None:  # noqa: B027
        """Raises if the module cannot be given to the pass."""

    def ensures(self, graph_module: Any) -> None:  # noqa: B027
        """Raises if the pass went wrong."""
