"""split_const_subgraphs: what depends on parameters only is computed once, at the first call."""

from __future__ import annotations

import re
from typing import Any

import torchlite as torch

from .._compatibility import compatibility
from .._symbolic_trace import symbolic_trace
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg
from ..passes.split_module import split_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


@compatibility(is_backward_compatible=False)
class FoldedGraphModule(GraphModule):
    """A GraphModule whose first call runs the graph of constants, and keeps what it gives."""

    def __init__(
        self,
        root: Any,
        graph: Graph,
        const_subgraph: Graph | None = None,
        fx_const_folded_attrs_name: str | None = None,
        device_for_folded_attrs: str = "cuda",
    ) -> None:
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args)

    def run_folding(self) -> None:
        """Computes the constants."""
        name = self.fx_const_folded_attrs_name
        if self.const_subgraph_module is None or name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("Folding has already been run")
        self.has_folding_been_run = True
        folded = self.const_subgraph_module()

        def parameter(x: Any) -> Any:
            if isinstance(x, int):
                value = torch.tensor([x], dtype=torch.get_default_dtype(), device=self.device_for_folded_attrs)
                return torch.nn.Parameter(value, requires_grad=False)
            return torch.nn.Parameter(x.detach().clone(), requires_grad=x.requires_grad)

        made: Any = parameter(folded) if not isinstance(folded, tuple) else None
        setattr(self, name, torch.nn.ParameterList(map(parameter, folded)) if made is None else made)


def _inline_module(gm: Any, inline_mod_name: str, run_dce: bool = True) -> dict[Node, Any]:
    """Puts the nodes of a submodule into the graph, in the place of its call."""
    inner = dict(gm.named_modules())[inline_mod_name]
    if not isinstance(inner, GraphModule):
        raise AssertionError("Expected GraphModule, got %s" % type(inner))
    call = next((n for n in gm.graph.nodes if n.op == "call_module" and n.target == inline_mod_name), None)
    if call is None:
        raise AssertionError("Could not find the call of %s" % inline_mod_name)
    made: dict[Node, Any] = {}
    given = iter(call.args)

    def new(node: Node) -> Any:
        return made[node]

    for node in inner.graph.nodes:
        if node.op == "placeholder":
            made[node] = call.kwargs[node.name] if node.name in call.kwargs else next(given)
        elif node.op == "output":
            values = map_arg(node.args[0], new)
            if isinstance(values, Node):
                call.replace_all_uses_with(values)
                continue
            for user in [*call.users]:  # they take elements
                user.replace_all_uses_with(values[user.args[1]])
                gm.graph.erase_node(user)
        else:
            with gm.graph.inserting_before(call):
                made[node] = gm.graph.node_copy(node, new)
    gm.graph.erase_node(call)
    if run_dce:
        gm.graph.eliminate_dead_code()
    return made


@compatibility(is_backward_compatible=False)
def get_unique_attr_name_in_module(mod_traced: Any, name: str) -> str:
    """A name like `name` that no attribute has."""
    name = re.sub("[^0-9a-zA-Z_]+", "_", name)
    if name[0].isdigit():
        name = "_" + name
    while hasattr(mod_traced, name):
        found = re.match(r"(.*)_(\d+)$", name)
        name = "%s_%d" % (found[1], int(found[2]) + 1) if found else name + "_1"
    return name


def _is_impure(module: Any, node: Node) -> bool:
    if node.op != "call_module":
        return node.is_impure()
    inner = module.get_submodule(node.target)
    if isinstance(inner, GraphModule):
        return any(_is_impure(inner, n) for n in inner.graph.nodes if n.op in ("call_function", "call_module"))
    return node.is_impure()


@compatibility(is_backward_compatible=False)
def split_const_subgraphs(
    module: Any,
    skip_folding_node_fn: Callable[[Node], bool] | None = None,
    device_for_folded_attrs: str = "cpu",
) -> Any:
    """A FoldedGraphModule: nodes that depend on attributes of the module only become one attribute."""
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    const: set[Node] = set()
    for node in traced.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        if node.op != "get_attr" and not set(node.all_input_nodes) <= const:
            continue
        if skip_folding_node_fn and skip_folding_node_fn(node) or _is_impure(traced, node):
            continue
        const.add(node)
    if not any(n.op != "get_attr" for n in const):
        return FoldedGraphModule(traced, traced.graph)
    split = split_module(traced, module, lambda node: 0 if node in const else 1)
    const_gm, rest = split.submod_0, getattr(split, "submod_1", None)
    for inner in (rest, const_gm):
        for node in inner.graph.nodes if inner is not None else ():
            if node.op == "call_module":
                setattr(split, node.target, getattr(inner, node.target))
    root, several = _with_attributes(split, const_gm)
    name = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    setattr(split, name, torch.nn.ParameterList() if several else torch.nn.Parameter(torch.empty(0)))
    for node in split.graph.nodes:
        if node.op == "call_module" and node.target == "submod_0":
            with split.graph.inserting_before(node):
                folded = split.graph.get_attr(name)
            folded.meta = node.meta.copy()
            node.replace_all_uses_with(folded)
            break
    split.graph.eliminate_dead_code()
    if rest is not None:
        _inline_module(split, "submod_1")
    return FoldedGraphModule(split, split.graph, root.graph, name, device_for_folded_attrs)


def _with_attributes(split: Any, const_gm: Any) -> tuple[Any, bool]:
    """(the module of constants with attributes of the whole instead of inputs, whether it has several values)"""
    given = next(n.args for n in split.graph.nodes if n.op == "call_module" and n.target == "submod_0")
    root = GraphModule(split, const_gm.graph)
    inputs = iter(given)
    several = False
    for node in root.graph.nodes:
        if node.op == "output":
            several = isinstance(node.args[0], tuple)
        if node.op != "placeholder":
            continue
        source = next(inputs)
        with root.graph.inserting_before(node):
            made = root.graph.get_attr(source.target)
        made.meta = node.meta.copy()
        node.replace_all_uses_with(made)
        root.graph.erase_node(node)
    return root, several
