"""CSEPass: computes what is computed twice only once."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from .....utils import _pytree as pytree
from ....graph import Graph
from ....graph_module import GraphModule
from ....node import Node
from ...infra.pass_base import PassBase, PassResult

_RANDOM = """dropout _fused_dropout _standard_gamma bernoulli multinomial native_dropout normal poisson binomial rrelu
    rand_like rand randint randn randperm rrelu_with_noise randn_like randint_like""".split()
_IN_PLACE = """add_ sub_ mul_ div_ pow_ lerp_ relu_ sigmoid_ tanh_ softmax_ transpose_ clone_ detach_ zero_ fill_
    copy_""".split()


def _packets(names: list[str]) -> set[Any]:
    found = {getattr(torch.ops.aten, name, None) for name in names}
    return found - {None}


rand_ops = _packets(_RANDOM)
inplace_ops = _packets(_IN_PLACE)


def get_CSE_banned_ops() -> set[Any]:
    """The ops that are not merged: those that draw random numbers, or change their arguments."""
    return rand_ops.union(inplace_ops)


class CSEPass(PassBase):
    """Merges calls of the same function with the same arguments; banned_ops are left alone."""

    def __init__(self, banned_ops: set[Any] | None = None) -> None:
        self.banned_ops = banned_ops if banned_ops is not None else set()
        super().__init__()

    def call(self, graph_module: Any) -> PassResult:
        graph = Graph()
        env: dict[Node, Node] = {}
        known: dict[Any, Node] = {}
        modified = False
        for node in graph_module.graph.nodes:
            if self._stays(node):
                made = graph.node_copy(node, lambda n: env[n])
                env[node] = made
                continue
            key = self._key(node, env)
            if key is None or key not in known:
                env[node] = graph.node_copy(node, lambda n: env[n])
                if key is not None:
                    known[key] = env[node]
            else:
                env[node] = known[key]
                modified = True
        return PassResult(GraphModule(graph_module, graph), modified)

    def _stays(self, node: Node) -> bool:
        if node.op in ("placeholder", "output", "get_attr") or node.is_impure():
            return True
        if node.op == "call_method" and node.target.endswith("_"):  # in place
            return True
        packet = getattr(node.target, "overloadpacket", node.target)
        return packet in self.banned_ops or node.target in self.banned_ops

    def _key(self, node: Node, env: dict[Node, Node]) -> Any:
        leaves, spec = pytree.tree_flatten((list(node.args), dict(node.kwargs)))
        parts = []
        for leaf in leaves:
            if isinstance(leaf, slice):
                leaf = ("slice", leaf.start, leaf.stop, leaf.step)
            parts.append((env[leaf] if isinstance(leaf, Node) else leaf, type(leaf)))
        try:
            key = (node.op, node.target, tuple(parts), str(spec))
            hash(key)
        except TypeError:
            return None
        return key
