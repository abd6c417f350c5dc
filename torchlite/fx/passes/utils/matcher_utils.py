"""SubgraphMatcher: finds the places in a graph that look like another graph."""

from __future__ import annotations

import copy
import logging
from dataclasses import dataclass, field
from typing import Any

import torchlite as torch

from ..._compatibility import compatibility
from ...graph import Graph
from ...graph_module import _get_attr
from ...node import Node

__all__ = ["SubgraphMatcher", "InternalMatch"]
logger = logging.getLogger("torch.fx.passes.utils.matcher_utils")
_ENDS = ("placeholder", "output")


@compatibility(is_backward_compatible=False)
@dataclass
class InternalMatch:
    """One place: the pattern's nodes where it began, and for each node of the pattern the one that matches."""

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Any] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            self.anchors, self.nodes_map.copy(), self.placeholder_nodes.copy(), self.returning_nodes.copy()
        )


def _all_arguments(node: Node) -> list[Any]:
    """The arguments of an op of torch.ops in the order of its schema, with defaults."""
    found = []
    for i, arg in enumerate(node.target._schema.arguments):
        if arg.name in node.kwargs:
            found.append(node.kwargs[arg.name])
        elif not arg.kwarg_only and i < len(node.args):
            found.append(node.args[i])
        else:
            found.append(arg.default_value)
    return found


@compatibility(is_backward_compatible=False)
class SubgraphMatcher:
    """Placeholders of the pattern match any value, unless match_placeholder; its output nothing, unless match_output.
    Values inside a match are used nowhere else, but those that the pattern returns may be."""

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        self.pattern, self.match_output, self.match_placeholder = pattern, match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.is_impure() and len(node.users) == 0:
                raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        output = next(iter(reversed(pattern.nodes)))
        self.pattern_returning_nodes: list[Node] = output.all_input_nodes
        # where matching begins: what only the output uses
        self.pattern_anchors = [output] if match_output else [n for n in output.all_input_nodes if len(n.users) == 1]

    def _match_attributes(self, pn: Node, gn: Node) -> bool:
        a: Any = _get_attr(pn.graph.owning_module, pn.target)
        b: Any = _get_attr(gn.graph.owning_module, gn.target)
        if type(a) is not type(b):
            return False
        if isinstance(a, torch.Tensor):  # its values may differ
            return True
        raise RuntimeError("Unsupported type %s when matching attributes" % (a,))

    def _nodes_are_equal(self, pn: Node, gn: Node, node_name_match: str = "") -> bool:
        if not self.match_placeholder and pn.op == "placeholder":
            return True
        if node_name_match and node_name_match in gn.name:
            return True
        if pn.op != gn.op:
            return False
        if pn.op in _ENDS:
            return True
        return self._match_attributes(pn, gn) if pn.op == "get_attr" else pn.target == gn.target

    def _is_contained(self, nodes_map: dict[Node, Any]) -> bool:
        own = {gn: pn for pn, gn in nodes_map.items() if pn.op != "placeholder"}
        inner = [gn for gn, pn in own.items() if pn not in self.pattern_returning_nodes]
        return all(user in own for gn in inner for user in gn.users)

    def _remove_overlapping_matches(self, matches: list[InternalMatch]) -> list[InternalMatch]:
        kept: list[InternalMatch] = []
        taken: set[Node] = set()
        for match in matches:
            nodes = {gn for pn, gn in match.nodes_map.items() if pn.op not in _ENDS}
            if not nodes & taken:
                kept.append(match)
                taken |= nodes
        return kept

    def _match_literals(self, pn: Any, gn: Any, match: InternalMatch) -> bool:
        if isinstance(pn, Node) and isinstance(gn, Node):
            raise AssertionError("pn and gn cannot both be Node")
        if isinstance(pn, Node):
            if pn.op != "placeholder":
                return False
            if pn in match.nodes_map:
                return match.nodes_map[pn] == gn
            match.nodes_map[pn] = gn
            return True
        return not isinstance(gn, Node) and type(gn) is type(pn) and gn == pn

    def _match_arguments(self, a: Any, b: Any, match: InternalMatch) -> bool:
        if len(a) != len(b):
            return False
        for pn, gn in zip(a, b):
            if isinstance(pn, Node) and isinstance(gn, Node):
                same = self._match_nodes(pn, gn, match)
            elif isinstance(pn, (list, tuple)) and isinstance(gn, (list, tuple)):
                same = self._match_arguments(pn, gn, match)
            else:
                same = self._match_literals(pn, gn, match) or self.ignore_literals
            if not same:
                return False
        return True

    def _match_nodes(self, pn: Node, gn: Node, match: InternalMatch, node_name_match: str = "") -> bool:
        """Whether a node matches, and all that it uses; then `match` has them."""
        if pn in match.nodes_map:
            return match.nodes_map[pn] == gn
        if gn in match.nodes_map.values() or not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        before = match.nodes_map.copy()
        match.nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        from ...._ops import OpOverload

        if len(pn.args) == len(gn.args) and list(pn.kwargs) == list(gn.kwargs):
            same = self._match_arguments([*pn.args, *pn.kwargs.values()], [*gn.args, *gn.kwargs.values()], match)
        elif pn.op == "call_function" and isinstance(pn.target, OpOverload):
            same = self._match_arguments(_all_arguments(pn), _all_arguments(gn), match)
        else:
            same = False
        if not same:
            match.nodes_map = before
        return same

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """All places of a graph that match, in the order of its nodes."""
        from .fuser_utils import validate_partition

        candidates = [
            (anchor, [n for n in graph.nodes if self._nodes_are_equal(anchor, n, node_name_match)])
            for anchor in self.pattern_anchors
        ]
        found: list[InternalMatch] = []

        def search(number: int, match: InternalMatch) -> None:
            if number == len(candidates):
                match.placeholder_nodes = [match.nodes_map[pn] for pn in self.pattern_placeholder_nodes]
                match.returning_nodes = [match.nodes_map[pn] for pn in self.pattern_returning_nodes]
                found.append(match)
                return
            anchor, nodes = candidates[number]
            for node in nodes:
                attempt = copy.copy(match)
                if self._match_nodes(anchor, node, attempt, node_name_match):
                    search(number + 1, attempt)

        if candidates and all(nodes for _, nodes in candidates):
            search(0, InternalMatch(anchors=self.pattern_anchors))
        found = [m for m in found if self._is_contained(m.nodes_map)]
        found = [m for m in found if validate_partition([gn for pn, gn in m.nodes_map.items() if pn.op not in _ENDS])]
        return self._remove_overlapping_matches(found) if self.remove_overlapping_matches else found
