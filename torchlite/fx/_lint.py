"""Graph.lint: what a well-formed graph keeps to."""

from __future__ import annotations

import warnings
from typing import Any

import torchlite as torch

from .node import Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .graph import Graph


def lint(graph: Graph) -> None:
    """Raises a RuntimeError at the first thing that is wrong."""
    names: set[str] = set()
    seen: set[Node] = set()
    for node in graph.nodes:

        def check(arg: Any, node: Node = node) -> Any:
            _check_argument(graph, arg, node, seen)
            return arg

        if node.op not in ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output"):
            raise RuntimeError("Node %s had unknown opcode %s!" % (node, node.op))
        if node.graph is not graph:
            raise RuntimeError("Node '%s' does not belong to this Graph!" % node)
        if node not in graph._find_nodes_lookup_table:
            raise RuntimeError("Node '%s' is not added to the side table" % node)
        for other in node._input_nodes:
            check(other)
        for user in node.users:
            if user._erased:
                raise RuntimeError("User %s of Node %s is erased." % (user, node))
        if node.name in names:
            raise RuntimeError("Node redefined name %s!" % node.name)
        seen.add(node)
        names.add(node.name)
    if graph.owning_module is not None:
        for node in graph.nodes:
            _check_target(graph.owning_module, node)


def _check_argument(graph: Graph, arg: Node, node: Node, seen: set[Node]) -> None:
    where = "Argument '%s' of Node '%s' " % (arg, node)
    if arg.graph is not graph:
        raise RuntimeError(
            where + "does not belong to this Graph, but was used as an argument! If you are copying nodes from another "
            "graph, make sure to use ``arg_transform`` on node_copy() to remap values\n%s" % graph
        )
    if arg not in seen:
        raise RuntimeError(
            where + "was used before it has been defined! Please check that Nodes in the graph are topologically "
            "ordered\n%s" % graph
        )


def _check_target(module: Any, node: Node) -> None:
    """Whether the module has what the node names."""
    if node.op == "call_function":
        if not callable(node.target):
            raise ValueError(
                "Node %s target %s has type %s but a Callable is expected"
                % (node, node.target, torch.typename(node.target))
            )
        return
    if not isinstance(node.target, str):
        raise ValueError(
            "Node %s target %s has type %s but a str is expected" % (node, node.target, torch.typename(node.target))
        )
    if node.op not in ("get_attr", "call_module"):
        return
    at = module
    atoms = node.target.split(".")
    for i, atom in enumerate(atoms):
        inner = getattr(at, atom, None)
        what = "Node %s target %s " % (node, node.target)
        if inner is None and not hasattr(at, atom):
            raise RuntimeError("%sreferences nonexistent attribute %s of %s" % (what, atom, ".".join(atoms[:i])))
        if node.op == "call_module" and not isinstance(inner, torch.nn.Module):
            raise RuntimeError("%satom %s of %s does not reference an nn.Module" % (what, atom, node.target))
        usable = isinstance(inner, (torch.nn.Module, torch.Tensor, torch.nn.Parameter)) or atom in getattr(
            at, "_buffers", ()
        )
        if node.op == "get_attr" and not usable:
            warnings.warn(
                "%s%s of %s does not reference an nn.Module, nn.Parameter, or buffer, which is what 'get_attr' Nodes "
                "typically target" % (what, atom, ".".join(atoms[:i])),
                stacklevel=4,
            )
            return
        at = inner
