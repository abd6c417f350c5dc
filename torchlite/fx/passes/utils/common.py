"""Modules of parts of graphs, and comparing graphs."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from ..._compatibility import compatibility
from ...graph import Graph
from ...graph_module import GraphModule, _put
from .matcher_utils import SubgraphMatcher

__all__ = ["HolderModule", "lift_subgraph_as_module", "compare_graphs"]


@compatibility(is_backward_compatible=False)
class HolderModule(torch.nn.Module):
    """A module that has submodules, and nothing else."""

    def __init__(self, d: dict[str, Any]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


@compatibility(is_backward_compatible=False)
def lift_subgraph_as_module(
    gm: Any, subgraph: Graph, comp_name: str = "", class_name: str = "GraphModule"
) -> tuple[Any, dict[str, str]]:
    """(a GraphModule of a graph whose targets are found in `gm`, {path in gm: new path})"""
    submodule = HolderModule({})
    paths: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        target = node.target
        paths[target] = comp_name + "." + target if comp_name else target
        *path, field = target.split(".")
        at: Any = submodule
        source: Any = gm
        for name in path:
            if not hasattr(at, name):
                at.add_module(name, HolderModule({}))
            at, source = getattr(at, name), getattr(source, name)
        value = getattr(source, field)
        if node.op == "call_module" and not isinstance(value, torch.nn.Module):
            raise AssertionError("Expected an nn.Module at %s" % target)
        _put(at, field, value)
    return GraphModule(submodule, subgraph, class_name), paths


@compatibility(is_backward_compatible=False)
def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether two graphs do the same: one matches the other as a pattern, inputs and output included."""
    return len(SubgraphMatcher(left, match_output=True, match_placeholder=True).match(right)) > 0
