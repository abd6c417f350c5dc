"""replace_pattern: puts another graph in the place of each part of a graph that looks like a pattern."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import torchlite as torch

from ._compatibility import compatibility
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule
from .node import Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from .passes.utils.matcher_utils import InternalMatch

__all__ = ["Match", "replace_pattern", "replace_pattern_with_filters", "ReplacedPatterns"]


@compatibility(is_backward_compatible=True)
class Match(NamedTuple):
    """A place that was replaced: where it ended, and the node for each node of the pattern."""

    anchor: Node
    nodes_map: dict[Node, Node]


@compatibility(is_backward_compatible=False)
@dataclass
class ReplacedPatterns:
    """A Match, with the nodes that came instead."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def _attribute(module: Any, target: str) -> Any:
    path, _, name = target.rpartition(".")
    try:
        return getattr(module.get_submodule(path), name, None)
    except AttributeError:
        return None


def _replace_attributes(gm: Any, replacement: Any) -> None:
    """Gives a module the attributes of the replacement that its graph now names."""
    gm.delete_all_unused_submodules()
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr") or _attribute(gm, node.target) is not None:
            continue
        value = _attribute(replacement, node.target)
        if value is None:
            raise RuntimeError(
                'Attempted to create a "',
                node.op,
                '" node during subgraph rewriting'
                " with target %s, but the referenced attribute does not exist in the replacement GraphModule"
                % node.target,
            )
        value = copy.deepcopy(value)
        if isinstance(value, torch.nn.Module):
            gm.add_submodule(node.target, value)
        else:
            setattr(gm, node.target, value)
    gm.graph.lint()


@compatibility(is_backward_compatible=True)
def replace_pattern(gm: Any, pattern: Any, replacement: Any) -> list[Match]:
    """Replaces all parts of gm's graph that look like `pattern` (a function or a module, which is traced; its
    parameters stand for any value) by `replacement`, which takes as many."""
    found = _replace_pattern(gm, pattern, replacement)
    return [Match(m.anchor, m.nodes_map) for m in found]


@compatibility(is_backward_compatible=False)
def replace_pattern_with_filters(
    gm: Any,
    pattern: Any,
    replacement: Any = None,
    match_filters: list[Callable[[InternalMatch, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """replace_pattern of the matches that all filters accept; replacement_callback makes a graph for each of them."""
    return _replace_pattern(
        gm, pattern, replacement, match_filters, ignore_literals, replacement_callback, node_name_match
    )


def _graph_of(program: Any) -> Graph:
    if isinstance(program, Graph):
        return program
    return program.graph if isinstance(program, GraphModule) else symbolic_trace(program).graph


def _replace_pattern(
    gm: Any,
    pattern: Any,
    replacement: Any = None,
    match_filters: Any = None,
    ignore_literals: bool = False,
    replacement_callback: Any = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    from .passes.utils.matcher_utils import SubgraphMatcher

    graph, pattern_graph = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals)
    found = [
        m
        for m in matcher.match(graph, node_name_match=node_name_match)
        if all(accepts(m, graph, pattern_graph) for accepts in match_filters or ())
    ]
    common: Any = None
    if replacement is not None:
        common = _graph_of(replacement)
    elif replacement_callback is None:
        raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
    changed: dict[Node, Node] = {}
    done: list[ReplacedPatterns] = []
    for match in found:
        new = replacement_callback(match, graph, pattern_graph) if replacement_callback is not None else common
        done.append(_replace_one(gm, match, pattern_graph, new, changed))
    gm.recompile()
    if isinstance(replacement, torch.nn.Module):
        _replace_attributes(gm, replacement)
    return done


def _insert_point(graph: Graph, match: InternalMatch) -> Node:
    """The first node that uses what the match returns; without one, the node after it."""
    users = {user for n in match.returning_nodes for user in n.users}
    if users:
        return min(users)
    after = max(match.returning_nodes).next if match.returning_nodes else None
    if after is None or after.op == "root":
        raise AssertionError("The insert point can't be None")
    return after


def _replace_one(
    gm: Any, match: InternalMatch, pattern_graph: Graph, new: Graph, changed: dict[Node, Node]
) -> ReplacedPatterns:
    placeholders = [n for n in new.nodes if n.op == "placeholder"]
    if len(match.placeholder_nodes) != len(placeholders):
        raise AssertionError(
            "Number of placeholders mismatch: %d != %d" % (len(match.placeholder_nodes), len(placeholders))
        )
    values: dict[Node, Any] = {}
    for i, (node, old) in enumerate(zip(placeholders, match.placeholder_nodes)):
        value = changed.get(old, old) if isinstance(old, Node) else old
        if value is not old:  # an earlier replacement made it anew
            match.placeholder_nodes[i] = value
            match.nodes_map[next(k for k, v in match.nodes_map.items() if v is old)] = value
        values[node] = value
    with gm.graph.inserting_before(_insert_point(gm.graph, match)):
        returned = gm.graph.graph_copy(new, values)
    returned = (returned,) if isinstance(returned, Node) else returned
    kept = [n for n in match.placeholder_nodes if isinstance(n, Node)]
    made = [v for v in values.values() if isinstance(v, Node) and v not in kept]
    if len(match.returning_nodes) != len(returned):
        raise AssertionError("Number of outputs mismatch: %d != %d" % (len(match.returning_nodes), len(returned)))
    for old, value in zip(match.returning_nodes, returned):
        old.replace_all_uses_with(value)
        changed[old] = value
    for node in reversed(pattern_graph.nodes):
        if node.op not in ("placeholder", "output"):
            gm.graph.erase_node(match.nodes_map[node])
    return ReplacedPatterns(match.anchors[0], match.nodes_map, made)
