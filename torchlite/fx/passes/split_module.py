"""split_module: a graph as calls of submodules, one for each partition of its nodes."""

from __future__ import annotations

import inspect
from typing import Any

import torchlite as torch

from .._compatibility import compatibility
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg
from ..proxy import Proxy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Partition", "split_module", "split_module_simple"]


@compatibility(is_backward_compatible=True)
class Partition:
    """Nodes that go into one submodule."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = "submod_%s" % name
        self.node_names: list[str] = []
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.dependents: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}

    def __repr__(self) -> str:
        return (
            "name: %s,\n nodes: %s,\n inputs: %s,\n outputs: %s,\n partitions depended on: %s,\n "
            "partition dependents: %s"
            % (self.name, self.node_names, self.inputs, self.outputs, self.dependencies, self.dependents)
        )


def _get_attr_from_qualname(mod: Any, qualname: str) -> Any:
    for name in qualname.split("."):
        if not hasattr(mod, name):
            raise AttributeError("Node target %s not found!" % qualname)
        mod = getattr(mod, name)
    return mod


class _Splitter:
    """One run of split_module."""

    def __init__(self, m: Any, split_callback: Callable[[Node], Any], affix: str | None) -> None:
        self.m, self.callback, self.affix = m, split_callback, affix
        self.partitions: dict[str, Partition] = {}
        self.nodes: dict[str, Node] = {}
        self.where: dict[Node, str] = {}
        self.base = Graph()
        self.base_env: dict[str, Node] = {}
        self.base_attrs: dict[str, Any] = {}

    def assign(self) -> None:
        """Asks for each node's partition, and notes which values go from one to another."""
        for node in self.m.graph.nodes:
            self.nodes[node.name] = node
            if node.op in ("placeholder", "get_attr", "output"):
                continue
            name = str(self.callback(node))
            if name not in self.partitions:
                self.partitions[name] = Partition(name)
                if self.affix is not None:
                    self.partitions[name].submod_name = "_".join(["submod", self.affix, name])
            self.partitions[name].node_names.append(node.name)
            self.where[node] = name
            node._fx_partition = name
        for node in self.m.graph.nodes:
            map_arg((node.args, node.kwargs), lambda used, node=node: self.use(used, node))

    def use(self, made: Node, user: Node) -> Node:
        defined, used = self.where.get(made), self.where.get(user)
        if defined == used:
            return made
        if defined is not None:
            self.partitions[defined].outputs.setdefault(made.name)
            if used is not None:
                self.partitions[defined].dependents.setdefault(used)
        if used is not None:
            self.partitions[used].inputs.setdefault(made.name)
            if defined is not None:
                self.partitions[used].dependencies.setdefault(defined)
        return made

    def order(self) -> list[str]:
        """The partitions so that each comes after those whose values it uses."""
        waiting = {name: dict(p.dependencies) for name, p in self.partitions.items()}
        ready = [name for name, left in waiting.items() if not left]
        done: list[str] = []
        while ready:
            name = ready.pop()
            done.append(name)
            for dependent in self.partitions[name].dependents:
                waiting[dependent].pop(name)
                if not waiting[dependent]:
                    ready.append(dependent)
        if len(done) != len(self.partitions):
            raise RuntimeError("cycle exists between partitions!")
        return done

    def inputs(self, partition: Partition, keep_names: bool) -> None:
        for i, name in enumerate([*partition.inputs]):
            node = self.nodes[name]
            value = _get_attr_from_qualname(self.m, node.target) if node.op == "get_attr" else None
            if isinstance(value, torch.nn.Module):
                made = partition.graph.get_attr(node.target)
                partition.targets[node.target] = value
                del partition.inputs[name]
            else:
                made = partition.graph.placeholder(name if keep_names else "arg_%d" % i, type_expr=node.type)
            made.meta = node.meta.copy()
            partition.environment[node] = made

    def copy(self, node: Node, keep_name: bool, qualname_map: dict[str, str] | None) -> None:
        partition = self.partitions[self.where[node]]
        env = partition.environment
        target = node.target
        if node.op in ("call_module", "get_attr"):
            value = _get_attr_from_qualname(self.m, node.target)
            target = node.target.replace(".", "_")
            partition.targets[target] = value
            if qualname_map is not None:
                qualname_map["%s.%s" % (partition.submod_name, target)] = node.target
        made = partition.graph.create_node(
            node.op,
            target,
            map_arg(node.args, lambda n: env[n]),
            map_arg(node.kwargs, lambda n: env[n]),
            name=node.name if keep_name else None,
            type_expr=node.type,
        )
        made.meta = node.meta.copy()
        env[node] = made

    def base_node(self, node: Node) -> None:
        """An input or attribute of the whole."""
        if node.op == "placeholder":
            default = node.args[0] if node.args else inspect.Signature.empty
            made = self.base.placeholder(node.target, type_expr=node.type, default_value=default)
        elif node.op == "get_attr":
            made = self.base.get_attr(node.target)
            self.base_attrs[node.target] = _get_attr_from_qualname(self.m, node.target)
        else:
            return
        made.meta = node.meta.copy()
        self.base_env[node.name] = made

    def call(self, partition: Partition, as_tuple: bool) -> None:
        """Ends a partition's graph, and calls its module in the base graph."""
        values = tuple(partition.environment[self.nodes[name]] for name in partition.outputs)
        partition.graph.output(values[0] if len(values) == 1 and not as_tuple else values)
        self.base_attrs[partition.submod_name] = GraphModule(partition.targets, partition.graph)
        args = tuple(self.base_env[name] for name in partition.inputs)
        result = self.base.call_module(partition.submod_name, args)
        if len(values) > 1 or as_tuple and values:
            proxy = Proxy(result)
            for i, name in enumerate(partition.outputs):
                self.base_env[name] = proxy[i].node
                self.base_env[name].meta = self.nodes[name].meta.copy()
        elif values:
            (name,) = partition.outputs
            self.base_env[name] = result
            result.meta = self.nodes[name].meta.copy()


@compatibility(is_backward_compatible=True)
def split_module(
    m: Any,
    root_m: Any,
    split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> Any:
    """A module that calls submodules submod_0, submod_1, ...: the nodes for which split_callback gives 0, 1, ...

    qualname_map, a dict, is filled with the old paths of submodules and parameters by their new ones.
    """
    split = _Splitter(m, split_callback, partition_affix)
    split.assign()
    first = list(split.partitions)
    order = split.order()
    for name in order:
        split.inputs(split.partitions[name], keep_original_input_name)
    for node in m.graph.nodes:
        if node in split.where:
            split.copy(node, bool(keep_original_node_name), qualname_map)
    for node in m.graph.nodes:
        if not keep_original_order or node.op == "placeholder":
            split.base_node(node)
    for name in first if keep_original_order else order:
        partition = split.partitions[name]
        for used in partition.inputs:
            if keep_original_order and used not in split.base_env:
                split.base_node(split.nodes[used])
        split.call(partition, tuple_return)
    for node in m.graph.nodes:
        if node.op == "output":
            if keep_original_order:
                for used in node.all_input_nodes:
                    if used.name not in split.base_env:
                        split.base_node(used)
            output = split.base.output(map_arg(node.args[0], lambda n: split.base_env[n.name]))
            output.meta = node.meta.copy()
    return GraphModule(split.base_attrs, split.base)


@compatibility(is_backward_compatible=False)
def split_module_simple(m: Any, node_to_partition: dict[Node, int], *, partition_affix: str | None = None) -> Any:
    """split_module by a dict from nodes to partitions."""
    return split_module(m, m, lambda n: node_to_partition[n], partition_affix=partition_affix)
