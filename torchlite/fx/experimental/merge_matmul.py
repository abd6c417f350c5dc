"""merge_matmul: products with one right-hand side as one product."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import torchlite as torch

from .._symbolic_trace import symbolic_trace
from ..node import Node
from ..passes.tools_common import legalize_graph


def split_result_tensors(result: Any, inputs: list[Any]) -> tuple[Any, ...]:
    """A product of several matrices one above the other, taken apart."""
    from ..proxy import Proxy

    traced = isinstance(result, Proxy)  # heights are not known then
    return torch.split(result, [0 if traced else x.size(0) for x in inputs])


def may_depend_on(a: Node, b: Node, search_depth: int = 6) -> bool:
    """Whether a may use b's value; True where that is too far to see."""
    if a == b:
        return True
    if len(a.all_input_nodes) == 0:
        return False
    if search_depth == 0:
        return True
    return any(may_depend_on(inp, b, search_depth - 1) for inp in a.all_input_nodes)


def are_nodes_independent(nodes: list[Node]) -> bool:
    """Whether no node may use the value of another."""
    return not any(may_depend_on(i, j) or may_depend_on(j, i) for i, j in itertools.combinations(nodes, 2))


def merge_matmul(in_mod: Any) -> Any:
    """The module with independent calls of torch.matmul by the same matrix merged into one."""
    gm = symbolic_trace(in_mod)
    by_right: dict[Any, list[Node]] = {}
    for node in gm.graph.nodes:
        if node.op == "call_function" and node.target is torch.matmul:
            right = node.args[1]
            by_right.setdefault(right.target if right.op == "get_attr" else right, []).append(node)
    for calls in by_right.values():
        if len(calls) < 2 or not are_nodes_independent(calls):
            continue
        lefts = [n.args[0] for n in calls]
        joined = gm.graph.call_function(torch.cat, (lefts,), {})
        product = gm.graph.call_function(torch.matmul, (joined, calls[0].args[1]), {})
        parts = gm.graph.call_function(split_result_tensors, (product, lefts), {})
        for i, old in enumerate(calls):
            old.replace_all_uses_with(gm.graph.call_function(operator.getitem, (parts, i), {}))
            gm.graph.erase_node(old)
    legalize_graph(gm)
    gm.recompile()
    gm.graph.lint()
    return gm
