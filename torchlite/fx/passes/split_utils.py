"""split_by_tags: a graph as calls of submodules, by the `tag` of each node."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any


from .._compatibility import compatibility
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg
from .tools_common import CALLABLE_NODE_OPS, is_node_output_tensor
from .utils import HolderModule, lift_subgraph_as_module

__all__ = [
    "getattr_recursive",
    "setattr_recursive",
    "Component",
    "split_by_tags",
    "move_non_tensor_nodes_on_boundary",
]


@compatibility(is_backward_compatible=False)
def getattr_recursive(obj: Any, name: str) -> Any:
    """The attribute at a path; None where there is none."""
    for part in name.split("."):
        if not hasattr(obj, part):
            return None
        obj = getattr(obj, part)
    return obj


@compatibility(is_backward_compatible=False)
def setattr_recursive(obj: Any, attr: str, value: Any) -> None:
    """Sets the attribute at a path."""
    *path, name = attr.split(".")
    for part in path:
        obj = getattr(obj, part)
    setattr(obj, name, value)


@compatibility(is_backward_compatible=False)
@dataclass
class Component:
    """The nodes of one tag: their graph, and what goes in and out."""

    graph: Graph
    order: int
    name: str
    input_placeholders: list[Node] = field(default_factory=list)
    orig_inputs: list[Node] = field(default_factory=list)
    orig_outputs: list[Node] = field(default_factory=list)
    getattr_maps: dict[Node, Node] = field(default_factory=dict)
    constructor_args: list[str] = field(default_factory=list)
    gm: Any = None


@compatibility(is_backward_compatible=False)
def split_by_tags(
    gm: Any,
    tags: list[str],
    return_fqn_mapping: bool = False,
    return_tuple: bool = False,
    GraphModuleCls: Any = GraphModule,
) -> Any:
    """A module that calls a submodule for each tag, in their order. Nodes of calls have the attribute `tag`.
    With return_fqn_mapping, (module, {old path: new path})."""
    components: dict[str, Component] = {}
    made: dict[Node, Node] = {}
    where: dict[Node, Component] = {}
    main = Graph()
    main_nodes: dict[Node, Node] = {}
    paths: dict[str, str] = {}
    output: Any = None
    for tag in tags:
        components[tag] = Component(Graph(), len(components), tag)
    for node in gm.graph.nodes:
        if node.op == "output":
            if output is not None:
                raise RuntimeError("Multiple output nodes in graph!")
            output = node
            continue
        if node.op == "placeholder":
            main_nodes[node] = main.placeholder(node.name, type_expr=node.type)
            main_nodes[node].meta = copy.copy(node.meta)
            continue
        if node.op == "get_attr":
            continue
        if not hasattr(node, "tag"):
            raise AssertionError("Node %s does not have tag" % node)
        component = components[node.tag]
        upstream = [where[n] for n in node.all_input_nodes if n.op not in ("placeholder", "get_attr")]
        last = max((c.order for c in upstream), default=0)
        if last > component.order:
            raise AssertionError(
                "Component %s order must be >= max of its upstream components, order=%d and max=%d"
                % (component.name, component.order, last)
            )
        made[node] = component.graph.node_copy(node, _remap(component, made, where))
        where[node] = component
    if output is None:
        raise RuntimeError("Graph had no output node!")
    for x in output.all_input_nodes:
        if x.op not in ("placeholder", "get_attr") and x not in where[x].orig_outputs:
            where[x].orig_outputs.append(x)
        elif x.op == "get_attr":
            main_nodes[x] = main.get_attr(x.target, type_expr=x.type)
            main_nodes[x].meta = copy.copy(x.meta)
    main_root = HolderModule({})
    for component in components.values():
        values = tuple(made[n] for n in component.orig_outputs)
        if return_tuple:
            component.graph.output(values)
        else:
            component.graph.output(values[0] if len(values) == 1 else values)
        component.gm, own = lift_subgraph_as_module(
            gm, subgraph=component.graph, comp_name=component.name, class_name=component.name
        )
        paths.update(own)
        main_root.add_module(component.name, component.gm)
        args = tuple(main_nodes[n] for n in component.orig_inputs)
        call = main.call_module(component.name, args=args)
        outs = component.orig_outputs
        if len(outs) == 1 and not return_tuple:
            main_nodes[outs[0]] = call
            continue
        for i, old in enumerate(outs):
            from ..proxy import Proxy

            main_nodes[old] = Proxy(call)[i].node
    for x in output.all_input_nodes:
        if x.op == "get_attr":
            setattr(main_root, x.name, getattr_recursive(gm, x.target))
    value = main.output(map_arg(output.args[0], lambda n: main_nodes[n]))
    value.meta = copy.copy(output.meta)
    result = GraphModuleCls(main_root, main)
    return (result, paths) if return_fqn_mapping else result


def _remap(component: Component, made: dict[Node, Node], where: dict[Node, Component]) -> Any:
    """From a node of the whole graph to the one of a component."""

    def remap(x: Node) -> Node:
        if x.op == "get_attr":
            if x not in component.getattr_maps:
                component.getattr_maps[x] = component.graph.get_attr(x.target, type_expr=x.type)
                component.getattr_maps[x].meta = copy.copy(x.meta)
            return component.getattr_maps[x]
        if x.op != "placeholder" and where[x] is component:
            return made[x]
        if x not in component.orig_inputs:
            component.orig_inputs.append(x)
            placeholder = component.graph.placeholder(x.name, type_expr=x.type)
            placeholder.meta = copy.copy(x.meta)
            component.input_placeholders.append(placeholder)
            if x.op != "placeholder" and x not in where[x].orig_outputs:
                where[x].orig_outputs.append(x)
        return component.input_placeholders[component.orig_inputs.index(x)]

    return remap


@compatibility(is_backward_compatible=False)
def move_non_tensor_nodes_on_boundary(subgraphs: list[Any]) -> None:
    """Moves nodes whose value is no tensor, and that feed the next subgraph, into it."""
    where = {node: number for number, subgraph in enumerate(subgraphs) for node in subgraph.nodes}
    for number, subgraph in enumerate(subgraphs):
        again = True
        while again:
            again = False
            for node in reversed(list(subgraph.nodes)):
                if node.op not in CALLABLE_NODE_OPS or is_node_output_tensor(node):
                    continue
                users = {where[u] for u in node.users if u in where}
                if len(users) == 1 and number not in users and all(u in where for u in node.users):
                    to = users.pop()
                    subgraph.nodes.remove(node)
                    subgraphs[to].nodes.insert(0, node)
                    where[node] = to
                    again = True
                    break
