"""Helpers of the splitters: kinds of nodes, fusion groups, topological order."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import torchlite as torch

from .._compatibility import compatibility
from ..graph import Graph
from ..node import Node, _get_qualified_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "get_acc_ops_name",
    "get_node_target",
    "is_node_output_tensor",
    "FxNetAccFusionsFinder",
    "legalize_graph",
    "stable_topological_sort",
]
Tensors = tuple[torch.Tensor] | list[torch.Tensor]
TensorOrTensors = torch.Tensor | Tensors
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


@compatibility(is_backward_compatible=False)
def get_acc_ops_name(k: Any) -> str:
    """The name of an op as the splitters write it."""
    if isinstance(k, str):
        return k
    if k.__module__ and "acc_ops" in k.__module__:
        return "acc_ops.%s" % k.__name__
    module = k.__module__.replace("torchlite", "torch").replace("torch._ops", "torch.ops")
    return "%s%s" % (module + "." if module else "", k.__name__)


@compatibility(is_backward_compatible=False)
def get_node_target(submodules: Mapping[str, Any], node: Node) -> str:
    """The class of a module, the path of a function, or the name of a method, as text."""
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError("Expect op types of %s, but found %s" % (", ".join(CALLABLE_NODE_OPS), node.op))
    if node.op == "call_module":
        submodule = submodules[node.target]
        return torch.typename(getattr(submodule, "_base_class_origin", type(submodule)))
    if node.op == "call_function":
        target = node.target
        if target.__module__ is not None and "acc_ops" in target.__module__:
            return "acc_ops.%s" % target.__name__
        return _get_qualified_name(target)
    return node.target


@compatibility(is_backward_compatible=False)
def is_node_output_tensor(node: Node) -> bool:
    """Whether meta["type"], which ShapeProp notes, is a tensor's."""
    kind = node.meta.get("type", None)
    return kind is not None and issubclass(kind, torch.Tensor)


@compatibility(is_backward_compatible=False)
class FxNetAccFusionsFinder:
    """Groups of nodes that must stay together, because what goes between them is no tensor."""

    def __init__(self, module: Any, acc_nodes: set[Node]) -> None:
        self.module = module
        self.nodes = list(module.graph.nodes)
        self.acc_nodes = acc_nodes

    @dataclass
    class FusionGroup:
        """Nodes, the place of the first, their inputs, and those whose neighbours are still to be seen."""

        top_node_idx: int
        nodes: set[Node]
        inputs: set[Node]
        nodes_need_process: set[Node]

        def add_node(self, node: Node) -> None:
            if node in self.nodes:
                return
            self.nodes_need_process.add(node)
            self.nodes.add(node)
            self.inputs.discard(node)
            self.inputs.update(n for n in node.all_input_nodes if n.op in CALLABLE_NODE_OPS and n not in self.nodes)

    def recursive_add_node(self, fusion_group: Any, inputs: Any, visited: set[Node] | None = None) -> bool:
        """Adds the nodes between the group and nodes before it that belong to it; says whether there are such."""
        visited = set() if visited is None else visited
        for arg in inputs:
            if arg in visited:
                continue
            visited.add(arg)
            if arg.op not in CALLABLE_NODE_OPS or self.nodes.index(arg) < fusion_group.top_node_idx:
                continue
            if arg in fusion_group.nodes or self.recursive_add_node(fusion_group, arg.all_input_nodes, visited):
                fusion_group.add_node(arg)
                return True
        return False

    def __call__(self) -> dict[Node, set[Node]]:
        result: dict[Node, set[Node]] = {}
        acc = list(self.acc_nodes)
        for node in acc:
            if node in result or node.op not in CALLABLE_NODE_OPS or "tensor_meta" in node.meta:
                continue
            if node not in self.acc_nodes:
                continue
            group = self.FusionGroup(self.nodes.index(node), {node}, set(node.all_input_nodes), {node})
            while group.nodes_need_process:
                self._grow(group, group.nodes_need_process.pop())
            if not group.nodes <= self.acc_nodes:
                self.acc_nodes -= group.nodes
            else:
                result.update(dict.fromkeys(group.nodes, group.nodes))
        return result

    def _grow(self, group: Any, node: Node) -> None:
        self.recursive_add_node(group, group.inputs, visited=set())
        if "tensor_meta" not in node.meta:
            for user in node.users:
                if user.op in CALLABLE_NODE_OPS and user not in group.nodes:
                    group.add_node(user)
                    self.recursive_add_node(group, group.inputs, visited=set())
        for arg in node.all_input_nodes:
            if arg.op not in CALLABLE_NODE_OPS or "tensor_meta" in arg.meta or arg in group.nodes:
                continue
            group.add_node(arg)
            group.top_node_idx = min(group.top_node_idx, self.nodes.index(arg))
            self.recursive_add_node(group, group.inputs, visited=set())


def _in_order(gm: Any, ready_first: bool) -> list[Node]:
    """The nodes so that each comes after what it uses; else in their order, or in that in which they become ready."""
    nodes = list(gm.graph.nodes)
    place = {node: i for i, node in enumerate(nodes)}
    left = {node: len(node.all_input_nodes) for node in nodes}
    ready = [(place[n], n) for n in nodes if left[n] == 0]
    done: list[Node] = []
    while ready:
        _, node = ready.pop(0) if ready_first else heapq.heappop(ready)
        done.append(node)
        for user in node.users:
            left[user] -= 1
            if left[user] == 0:
                if ready_first:
                    ready.append((0, user))
                else:
                    heapq.heappush(ready, (place[user], user))
    if len(done) < len(nodes):
        raise RuntimeError("Input graph has cycles, unable to add %s" % [n for n in nodes if left[n] != 0])
    return done


def _rebuild(gm: Any, order: list[Node]) -> Any:
    graph = Graph()
    env: dict[Node, Node] = {}
    for node in order:
        env[node] = graph.node_copy(node, lambda x: env[x])
    graph._codegen = gm.graph._codegen
    gm.graph = graph
    return gm


@compatibility(is_backward_compatible=False)
def legalize_graph(gm: Any) -> Any:
    """Puts the nodes of a graph into an order in which it can run; get_attr nodes last of those that are ready."""
    return _rebuild(gm, _in_order(gm, True))


@compatibility(is_backward_compatible=False)
def stable_topological_sort(gm: Any) -> Any:
    """Puts the nodes of a graph into an order in which it can run, and leaves those where they are that can stay."""
    order = _in_order(gm, False)
    root = gm.graph._root
    for node in order:
        root.prepend(node)
    return gm
