"""Finding the nodes that one module or function of the traced program made."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

from ..._compatibility import compatibility
from ...graph import Graph
from ...node import Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["get_source_partitions", "check_subgraphs_connected", "SourcePartition"]
logger = logging.getLogger("torch.fx.passes.utils.source_matcher_utils")


@compatibility(is_backward_compatible=False)
@dataclass
class SourcePartition:
    """The nodes of one call, those whose values it uses and those that others use, and its parameters."""

    nodes: list[Node]
    source: Any
    input_nodes: list[Node] = field(default_factory=list)
    output_nodes: list[Node] = field(default_factory=list)
    params: list[Node] = field(default_factory=list)


def _partition(nodes: list[Node], source: Any) -> SourcePartition:
    own = set(nodes)
    inputs: dict[Node, None] = {}
    params: dict[Node, None] = {}
    outputs: dict[Node, None] = {}
    for node in nodes:
        for arg in node.args:
            if isinstance(arg, Node) and arg not in own and arg.op != "get_attr":
                inputs[arg] = None
        if node.op == "get_attr":
            params[node] = None
            continue
        for arg in node.all_input_nodes:
            if arg.op == "get_attr":
                params[arg] = None
        if any(user not in own for user in node.users):
            outputs[node] = None
    return SourcePartition(nodes, source, list(inputs), list(outputs), list(params))


@compatibility(is_backward_compatible=False)
def get_source_partitions(
    graph: Graph, wanted_sources: list[Any], filter_fn: Callable[[Node], bool] | None = None
) -> dict[Any, list[SourcePartition]]:
    """By source (a class of modules, a function): the partitions that came from it, as meta["source_fn_stack"] or
    meta["torch_fn"] of the nodes tell."""
    groups: dict[Any, dict[str, list[Node]]] = {}
    for node in graph.nodes:
        stack = node.meta.get("source_fn_stack")
        source = stack[-1] if stack else None
        if source is None and node.meta.get("torch_fn") is not None:
            name, text = node.meta["torch_fn"]
            source = name, text.split(".")[-1]
        elif source is None and node.op == "call_module" and graph.owning_module is not None:
            continue
        if source is None or source[1] not in wanted_sources:
            continue
        groups.setdefault(source[1], {}).setdefault(source[0], []).append(node)
    found = {source: [_partition(nodes, source) for nodes in by_name.values()] for source, by_name in groups.items()}
    if filter_fn is None:
        return found
    kept = {
        source: [p for p in partitions if all(map(filter_fn, p.output_nodes))] for source, partitions in found.items()
    }
    return {source: partitions for source, partitions in kept.items() if partitions}


@compatibility(is_backward_compatible=False)
def check_subgraphs_connected(subgraph1: SourcePartition, subgraph2: SourcePartition) -> bool:
    """Whether the second uses a value of the first."""
    own = set(subgraph1.nodes)
    return any(node in own for user in reversed(subgraph2.nodes) for node in user.all_input_nodes)
