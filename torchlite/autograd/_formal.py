"""Gradients that depend on an input in form only."""

from __future__ import annotations


from .. import _C
from ._node import Node, edge, keep_tangent, tangents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from ._record import OpNode


class InForm(Node):
    """History of a gradient that depends on inputs of its op in form only.

    Theirs is 0; of a norm, which has several inputs, it is missing, as PyTorch's formula leaves it out.
    """

    __slots__ = ("of", "like")

    def name(self) -> str:
        return self.of[:-1] + "Backward0"

    def apply(self, grads: Any) -> Any:
        import torchlite as torch

        zero = self.like and torch.zeros(self.like[0], dtype=self.like[1], device=grads[0].device)
        return [grads[0]] + [zero] * (len(self.next) - 1)


def depend_in_form(node: OpNode, result: list[Any]) -> list[Any]:
    """The gradients of `node`, each a function of the inputs that its declaration calls formal, as PyTorch's
    formulas are, which save these inputs: a second gradient is then 0 instead of an error."""
    edges = [node.next[at] for at in node.rec.formal if result[at] is not None]
    if not edges:
        return result
    one = result[0] if len(result) == 1 else None
    out = []
    for v in result:
        if v is not None:
            history = InForm([edge(v), *edges])
            history.of, history.like = type(node).__name__, None if one is None else (one.shape, one.dtype)
            v, found = _C.alias(v), v
            v._raw_grad_fn = history
            if tangents:
                keep_tangent(found, v)
        out.append(v)
    return out
