"""Which nodes a backend can run."""

from __future__ import annotations

import abc
from typing import Any


from .._compatibility import compatibility
from ..node import Node
from .shape_prop import TensorMetadata
from .tools_common import CALLABLE_NODE_OPS, get_node_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["OperatorSupportBase", "OperatorSupport", "create_op_support", "chain", "OpSupports", "any_chain"]


@compatibility(is_backward_compatible=False)
class OperatorSupportBase(abc.ABC):
    """Says of each node whether it is supported."""

    @abc.abstractmethod
    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        """Whether the node can run there."""


@compatibility(is_backward_compatible=False)
class OperatorSupport(OperatorSupportBase):
    """By a dict from targets to None (all), or to dtypes: ([dtypes of the first argument, ...], {keyword: dtypes})."""

    def __init__(self, support_dict: Any = None) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        dtypes = self._support_dict[target]
        if dtypes is None:
            return True
        positional, named = dtypes
        for i, allowed in enumerate(positional):
            if i < len(node.args) and isinstance(node.args[i], Node) and _get_arg_dtype(node.args[i]) not in allowed:
                return False
        for name, allowed in named.items():
            arg = node.kwargs.get(name)
            if isinstance(arg, Node) and _get_arg_dtype(arg) not in allowed:
                return False
        return True


@compatibility(is_backward_compatible=False)
def create_op_support(is_node_supported: Callable[[Mapping[str, Any], Node], bool]) -> OperatorSupportBase:
    """An OperatorSupportBase of a function."""

    class FunctionalOperatorSupport(OperatorSupportBase):
        def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
            return is_node_supported(submodules, node)

    return FunctionalOperatorSupport()


@compatibility(is_backward_compatible=False)
def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Supported where all say so."""
    return create_op_support(lambda submods, node: all(x.is_node_supported(submods, node) for x in op_support))


@compatibility(is_backward_compatible=False)
def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Supported where one says so."""
    return create_op_support(lambda submods, node: any(x.is_node_supported(submods, node) for x in op_support))


@compatibility(is_backward_compatible=False)
class OpSupports:
    """Rules to chain."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: Any) -> OperatorSupportBase:
        """Not supported where an input has a dtype."""
        return create_op_support(
            lambda submods, node: all(_get_arg_dtype(arg) is not dtype for arg in node.all_input_nodes)
        )

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """Not supported are nodes of these names."""
        return create_op_support(lambda submods, node: node.name not in disallow_set)


def _get_arg_dtype(arg: Node) -> Any:
    if not isinstance(arg, Node):
        raise AssertionError("Expected fx.Node, got %s" % type(arg))
    meta = arg.meta.get("tensor_meta")
    return meta.dtype if isinstance(meta, TensorMetadata) else arg.meta["type"]
