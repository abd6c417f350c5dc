"""Sizes of nodes, and exchanging targets."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._compatibility import compatibility
from ..graph import Graph
from ..node import Node, map_arg
from .shape_prop import ShapeProp, TensorMetadata

__all__ = ["replace_target_nodes_with", "size_bytes", "get_size_of_all_nodes", "get_tensor_meta", "get_size_of_node"]


@compatibility(is_backward_compatible=False)
def replace_target_nodes_with(fx_module: Any, old_op: str, old_target: Any, new_op: str, new_target: Any) -> None:
    """Calls another target wherever one was called."""
    graph = Graph()
    env: dict[Node, Node] = {}
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            args, kwargs = map_arg((node.args, node.kwargs), lambda n: env[n])
            env[node] = graph.create_node(new_op, new_target, args, dict(kwargs), node.name)
        else:
            env[node] = graph.node_copy(node, lambda n: env[n])
    fx_module.graph = graph


@compatibility(is_backward_compatible=False)
class size_bytes(NamedTuple):
    """The bytes of a node's value, and with what else it needs."""

    output_size: int
    total_size: int


@compatibility(is_backward_compatible=False)
def get_size_of_all_nodes(fx_module: Any, args: list[Any] | None = None) -> None:
    """Runs the module, and gives each node `size_bytes`."""
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op == "output":
            break
        node.size_bytes = get_size_of_node(fx_module, node)


@compatibility(is_backward_compatible=False)
def get_tensor_meta(node: Node) -> Any:
    """What ShapeProp noted."""
    meta = node.meta.get("tensor_meta")
    if not meta:
        raise RuntimeError(
            "Node %s has no tensor metadata associated with it! Check that shape propagation has run." % node
        )
    return meta


@compatibility(is_backward_compatible=False)
def get_size_of_node(fx_module: Any, node: Node) -> size_bytes:
    """The bytes of a node's value, and of the parameters and buffers of its module."""
    import torchlite as torch

    def size(meta: Any) -> int:
        if isinstance(meta, TensorMetadata):
            return torch.empty((), dtype=meta.dtype).element_size() * torch.Size(meta.shape).numel()
        return sum(map(size, meta)) if isinstance(meta, (tuple, list)) else 0

    own = 0
    if node.op == "call_module":
        module = dict(fx_module.named_modules())[node.target]
        own = sum(p.element_size() * p.numel() for _, p in [*module.named_parameters(), *module.named_buffers()])
    output = size(get_tensor_meta(node))
    return size_bytes(output, own + output)
