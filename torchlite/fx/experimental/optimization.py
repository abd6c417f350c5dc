"""Graphs made ready for inference: convolutions with their batch norms in them, no dropout."""

from __future__ import annotations

import copy
from typing import Any

import torchlite as torch

from ...nn.utils.fusion import fuse_conv_bn_eval
from .._symbolic_trace import Tracer, symbolic_trace
from ..graph import Graph
from ..graph_module import GraphModule
from ..interpreter import Transformer
from ..node import Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "matches_module_pattern",
    "replace_node_module",
    "fuse",
    "remove_dropout",
    "extract_subgraph",
    "reset_modules",
    "UnionFind",
    "optimize_for_inference",
]
nn = torch.nn


def _parent_name(target: str) -> tuple[str, str]:
    """a.b.c -> (a.b, c)"""
    *parent, name = target.rsplit(".", 1)
    return parent[0] if parent else "", name


def matches_module_pattern(pattern: Iterable[type], node: Node, modules: dict[str, Any]) -> bool:
    """Whether a node calls a module of the second class, on what one of the first gave."""
    if len(node.args) == 0:
        return False
    for expected, current in zip(pattern, (node.args[0], node)):
        if not isinstance(current, Node) or current.op != "call_module" or not isinstance(current.target, str):
            return False
        if current.target not in modules or type(modules[current.target]) is not expected:
            return False
    return True


def replace_node_module(node: Node, modules: dict[str, Any], new_module: Any) -> None:
    """Puts another module in the place of the one that a node calls."""
    parent, name = _parent_name(node.target)
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: Any, inplace: bool = False, no_trace: bool = False) -> Any:
    """The model with the batch norms that follow convolutions computed into these; for evaluation only."""
    patterns = [(nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d)]
    if not inplace:
        model = copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for pattern in patterns:
        for node in graph.nodes:
            if not matches_module_pattern(pattern, node, modules) or len(node.args[0].users) > 1:
                continue
            conv, norm = modules[node.args[0].target], modules[node.target]
            if not norm.track_running_stats:
                continue
            replace_node_module(node.args[0], modules, fuse_conv_bn_eval(conv, norm))
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    return GraphModule(traced, graph)


def remove_dropout(model: Any) -> Any:
    """The model without its nn.Dropout modules."""

    class DropoutRemover(Transformer):
        def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if isinstance(self.submodules[target], nn.Dropout):
                if len(args) != 1:
                    raise AssertionError("Expected 1 arg for Dropout, got %d" % len(args))
                return args[0]
            return super().call_module(target, args, kwargs)

    return DropoutRemover(symbolic_trace(model)).transform()


def extract_subgraph(orig_module: Any, nodes: list[Node], inputs: list[Node], outputs: list[Node]) -> Any:
    """A module of some nodes: it takes the values of `inputs`, and gives a list of those of `outputs`."""
    graph = Graph()
    env = {node: graph.placeholder(node.name) for node in inputs}
    for node in nodes:
        env[node] = graph.node_copy(node, lambda x: env[x])
    graph.output([env[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)


def reset_modules(nodes: Iterable[Node], modules: dict[str, Any], old_modules: dict[Any, Any]) -> None:
    """Puts back what replace_node_module took away."""
    for node in nodes:
        if node.op == "call_module" and modules[node.target] in old_modules:
            replace_node_module(node, modules, old_modules[modules[node.target]])


class UnionFind:
    """Groups of numbers that grow together."""

    def __init__(self, n: int) -> None:
        self.parent: list[int | None] = [None] * n
        self.size: list[int] = [0] * n

    def make_set(self, v: int) -> None:
        """A group of one."""
        self.parent[v], self.size[v] = v, 1

    def find(self, v: int) -> int:
        """The number that stands for the group of v."""
        while (parent := self.parent[v]) != v:
            if parent is None:
                raise AssertionError("%d is in no group" % v)
            self.parent[v] = self.parent[parent]
            v = parent
        return v

    def join(self, a: int, b: int) -> int | None:
        """Makes two groups one."""
        roots = {self.find(a), self.find(b)}
        if len(roots) == 1:
            return roots.pop()
        small, large = sorted(roots, key=lambda v: self.size[v])
        self.parent[small] = large
        self.size[large] += self.size[small]
        return None


def optimize_for_inference(model: Any, pass_config: dict[str, Any] | None = None, tracer: Any = Tracer) -> Any:
    """The model with batch norms fused and dropout removed. pass_config={"conv_bn_fuse": False, "remove_dropout":
    False} leaves a pass out; the layout of MKLDNN is none of torchlite's, so that one is passed over."""
    config: dict[str, Any] = {"conv_bn_fuse": True, "remove_dropout": True}
    config["mkldnn_layout_optimize"] = {"heuristic": None}
    config.update(pass_config or {})
    if config["conv_bn_fuse"]:
        model = fuse(model)
    if config["remove_dropout"]:
        model = remove_dropout(model)
    if config["mkldnn_layout_optimize"] and "heuristic" not in config["mkldnn_layout_optimize"]:
        raise RuntimeError("Heuristic not specified in mkldnn optimization config")
    current = tracer()
    graph = current.trace(copy.deepcopy(model))
    graph.lint()
    return GraphModule(current.root, graph)


from ..._core import absent as _absent

__getattr__ = _absent.of(__name__)
