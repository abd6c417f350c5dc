"""A matcher whose pattern gives names to some of its nodes."""

from __future__ import annotations

from typing import Any

from ..._compatibility import compatibility
from ...graph import Graph
from .matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["SubgraphMatcherWithNameNodeMap"]


def _split_to_graph_and_name_node_map(gm: Any) -> tuple[Any, dict[str, Any]]:
    """The module without the dict of names that it returns last, and that dict."""
    from ....utils import _pytree as pytree

    names: dict[str, Any] = {}
    for node in gm.graph.nodes:
        if node.op != "output":
            continue
        value, info = node.args[0], getattr(gm.graph._codegen, "pytree_info", None)
        if info is not None and info.out_spec is not None:
            value = pytree.tree_unflatten(value, info.out_spec)
        if not isinstance(value, (list, tuple)) or len(value) < 2:
            raise AssertionError(
                "Expecting the graph output to be a tuple/list with at least two elements, got: %s" % (value,)
            )
        *out, names = value
        if not isinstance(names, dict):
            raise AssertionError(
                "Expecting the input graph to have a dict output as the last element, got: %s" % (names,)
            )
        node.args = (list(pytree.tree_leaves(out)),)
        if info is not None:
            gm.graph._codegen.pytree_info = info._replace(out_spec=pytree.tree_structure(tuple(out)))
    gm.recompile()
    return gm, names


@compatibility(is_backward_compatible=False)
class SubgraphMatcherWithNameNodeMap(SubgraphMatcher):
    """The pattern returns, after its values, a dict {name: value}; a match has the nodes in name_node_map."""

    def __init__(
        self,
        pattern_gm: Any,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        pattern_gm, self.name_node_map = _split_to_graph_and_name_node_map(pattern_gm)
        self.pattern_gm = pattern_gm
        super().__init__(pattern_gm.graph, match_output, match_placeholder, remove_overlapping_matches, ignore_literals)

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        found = super().match(graph, node_name_match)
        for match in found:
            for name, node in self.name_node_map.items():
                match.name_node_map[name] = match.nodes_map[node]
        return found
