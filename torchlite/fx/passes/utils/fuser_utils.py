"""Putting nodes of a graph into a submodule that is called instead."""

from __future__ import annotations

import copy
from typing import Any

from ..._compatibility import compatibility
from ...graph import Graph
from ...node import Node
from ..tools_common import stable_topological_sort
from .common import lift_subgraph_as_module


@compatibility(is_backward_compatible=False)
def topo_sort(nodes: list[Node]) -> list[Node]:
    """The nodes in an order in which each comes after those of them that it uses."""
    own = set(nodes)
    left = {n: sum(i in own for i in n.all_input_nodes) for n in nodes}
    ready = [n for n in nodes if left[n] == 0]
    done: list[Node] = []
    while ready:
        node = ready.pop(0)
        done.append(node)
        for user in node.users:
            if user in left:
                left[user] -= 1
                if left[user] == 0:
                    ready.append(user)
    if len(done) != len(nodes):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return done


@compatibility(is_backward_compatible=False)
def validate_partition(partition: list[Node]) -> bool:
    """Whether the nodes could be one: no way leads out of them and in again."""
    own = set(partition)
    seen: set[Node] = set()
    queue = [user for node in partition for user in node.users if user not in own]
    while queue:
        node = queue.pop()
        if node in own:
            return False
        if node not in seen:
            seen.add(node)
            queue.extend(node.users)
    return True


@compatibility(is_backward_compatible=False)
def fuse_as_graphmodule(
    gm: Any,
    nodes: list[Node],
    module_name: str,
    partition_lookup_table: Any = None,
    *,
    always_return_tuple: bool = False,
) -> tuple[Any, tuple[Node, ...], tuple[Node, ...]]:
    """(a module of these nodes, its inputs in the graph, its outputs in the graph)"""
    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError("%s doesn't belong to passed in graph module %s" % (node, gm._get_name()))
        if node._erased:
            raise AssertionError("%s has been removed from owning graph" % node)
        if node not in gm.graph._find_nodes_lookup_table:
            raise AssertionError("%s is not found in graph module %s" % (node, gm._get_name()))
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    own = set(nodes) if partition_lookup_table is None else partition_lookup_table
    subgraph = Graph()
    inputs: dict[Node, Node] = {}
    made: dict[Node, Node] = {}

    def remap(x: Node) -> Node:
        if x in own:
            return made[x]
        if x not in inputs:
            inputs[x] = subgraph.placeholder(x.name, type_expr=x.type)
            inputs[x].meta = copy.copy(x.meta)
        return inputs[x]

    for node in nodes:
        made[node] = subgraph.node_copy(node, remap)
    outputs = [n for n in made if any(user not in own for user in n.users)]
    values = tuple(made[n] for n in outputs)
    if always_return_tuple:
        subgraph.output(values)
    else:
        subgraph.output(values[0] if len(values) == 1 else values)
    subgraph.lint()
    fused, _ = lift_subgraph_as_module(gm, subgraph, comp_name="", class_name=module_name)
    return fused, tuple(inputs), tuple(outputs)


@compatibility(is_backward_compatible=False)
def insert_subgm(
    gm: Any,
    sub_gm: Any,
    orig_inputs: tuple[Node, ...],
    orig_outputs: tuple[Node, ...],
    insertion_point: Node | None = None,
) -> Any:
    """Calls a submodule where its outputs were made."""
    name = sub_gm.__class__.__name__
    gm.add_submodule(name, sub_gm)
    if insertion_point is None:
        last = max(orig_outputs, default=None)
        none = last is None
        place = gm.graph.inserting_before(gm.graph.output_node()) if none else gm.graph.inserting_after(last)
    else:
        place = gm.graph.inserting_after(insertion_point)
    with place:
        node = gm.graph.call_module(name, args=orig_inputs, kwargs=None)
        value = sub_gm.graph.output_node().args[0]
        if len(orig_outputs) == 1 and not isinstance(value, tuple):
            orig_outputs[0].replace_all_uses_with(node, propagate_meta=True)
        else:
            from ...proxy import Proxy

            for i, old in enumerate(orig_outputs):
                old.replace_all_uses_with(Proxy(node)[i].node, propagate_meta=True)
            node.meta["val"] = tuple(old.meta.get("val", None) for old in orig_outputs)
    return gm


@compatibility(is_backward_compatible=False)
def erase_nodes(gm: Any, nodes: list[Node]) -> None:
    """Erases nodes, the last first."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


@compatibility(is_backward_compatible=False)
def fuse_by_partitions(gm: Any, partitions: Any, prefix: str = "fused_", always_return_tuple: bool = False) -> Any:
    """Puts each partition into a submodule prefix0, prefix1, ..."""
    for number, partition in enumerate(partitions):
        nodes = topo_sort(list(partition))
        name = "%s%d" % (prefix, number)
        fused, inputs, outputs = fuse_as_graphmodule(
            gm, nodes, name, partition, always_return_tuple=always_return_tuple
        )
        insert_subgm(gm, fused, inputs, outputs, nodes[-1])
        erase_nodes(gm, nodes)
    stable_topological_sort(gm)
    gm.graph.lint()
    return gm
