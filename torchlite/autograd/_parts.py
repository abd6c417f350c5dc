"""The nodes of PyTorch for which one node stands here, as programs that walk the graph see them."""

from __future__ import annotations

from typing import Any

from ._node import Node

_kinds: dict[str, type[Part]] = {}


class Part(Node):
    """An op that PyTorch records, and that is part of its owner's here. Its hooks run after the owner's."""

    __slots__ = ("owner", "tree", "shown")

    def __init__(self, owner: Any, tree: Any, shown: Any) -> None:
        self.owner, self.tree, self.shown = owner, tree, shown
        self.next: list[Any] = []
        self.outs, self.seq = 1, owner.seq

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return self.shown

    def register_hook(self, fn: Any) -> Any:
        return hooked(self.owner, self.tree, fn)

    def register_prehook(self, fn: Any) -> Any:
        return hooked(self.owner, self.tree, lambda inward, outward: fn(outward))


def hooked(owner: Any, tree: Any, fn: Any) -> Any:
    """Calls fn after the owner ran, with the gradients of one of its parts. It may change what goes to edges."""

    def hook(inward: Any, outward: Any) -> Any:
        into = tuple(_gradient(t, inward, outward[0]) for t in tree[1:])
        changed = fn(into, (_gradient(tree, inward, outward[0]),))
        if changed is None:
            return None
        inward = list(inward)
        for t, g, old in zip(tree[1:], changed, into):
            if g is old:
                continue
            if isinstance(t, int):
                inward[t] = g
            elif t[0] == "TBackward0" and isinstance(t[1], int):
                inward[t[1]] = g.t()
            else:
                name = tree[0] or owner.name()
                raise NotImplementedError("hooks of %s cannot change gradients: hook the tensors" % name)
        return tuple(inward)

    return Node.register_hook(owner, hook)


def edge(owner: Any, tree: Any, edges: tuple[tuple[Node | None, int], ...]) -> tuple[Node | None, int]:
    """The edge to what a tree says: the number of an edge, None for an edge to nothing, or a name and the
    trees of what follows."""
    if tree is None:
        return None, 0
    if isinstance(tree, int):
        return edges[tree]
    shown = tuple(edge(owner, t, edges) for t in tree[1:])
    if not any(node for node, _ in shown):
        return None, 0
    name = tree[0]
    if name not in _kinds:
        _kinds[name] = type(name, (Part,), {"__slots__": (), "__module__": "torch.autograd"})
    return _kinds[name](owner, tree, shown), 0


def _gradient(tree: Any, inward: Any, outward: Any) -> Any:
    """The gradient that comes to a node, from those that its owner gives to its edges and the one that it got."""
    if tree is None:
        return None
    if isinstance(tree, int):
        return inward[tree]
    kind, first = tree[0].partition("Backward")[0], tree[1]
    if not kind:  # the owner itself
        return outward
    if kind in ("Mm", "Addmm"):
        return outward.reshape(-1, outward.shape[-1])
    if kind == "Mv":
        return outward.flatten()
    if kind == "Bmm":
        return outward.flatten(0, -3)
    if kind == "UnsafeView" and not first[0].startswith("Clone"):
        return outward
    g = _gradient(first, inward, outward)
    if g is None or kind in ("Clone", "Expand"):
        return g
    if kind == "T":
        return g.t()
    if not isinstance(first, int) and "Expand" in str(first):
        return g.flatten(0, -3)
    return g.reshape(-1, g.shape[-1])
