"""What a node saved, by PyTorch's names: _saved_self, _saved_self_sym_sizes, _raw_saved_self and the like."""

from __future__ import annotations

from typing import Any

from ._node import FREED, _Packed, freed_error
from ._record import OpNode

# by what names PyTorch's node saves what matmul and linear save here; a weight is transposed there
_NAMES: dict[str, dict[str, tuple[str, ...]]] = {
    "MmBackward0": {"self": ("input",), "mat2": ("other", "weight")},
    "MvBackward0": {"vec": ("other",)},
    "DotBackward0": {"tensor": ("other",)},
    "AddmmBackward0": {"mat1": ("input",), "mat2": ("weight",)},
}


class SavedTensor:
    """What a node saved, before it is unpacked: takes a pair of hooks of its own."""

    __slots__ = ("node", "at", "output")
    __module__ = "torch._C._autograd"
    node: Any
    at: int
    output: Any

    def __init__(self, *args: Any) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    def register_hooks(self, *hooks: Any) -> None:
        of_op = isinstance(self.node, OpNode)
        kept = self.node.kept if of_op else self.node.saved
        if kept is FREED:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. "
                "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
                "Specify retain_graph=True if you need to backward through the graph a second time or if you need "
                "to access saved variables after calling backward."
            )
        if len(hooks) != 2 or not all(map(callable, hooks)):
            raise TypeError(
                "register_hooks(): incompatible function arguments. The following argument types are supported:\n"
                "    1. (self: torch._C._autograd.SavedTensor, arg0: collections.abc.Callable, arg1: "
                "collections.abc.Callable) -> None"
            )
        entry = kept[self.at]
        if entry is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        value, version = entry if of_op else entry[0]
        if type(value) is _Packed:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: "
                "only one pair of hooks is allowed at a time."
            )
        if version is None:
            raise RuntimeError("Calling register_hooks on a saved number is not possible")
        packed = _Packed(value, None if self.output is None else (self.node, self.output), hooks), -1
        kept[self.at] = packed if of_op else (packed, self.output)


def of_function(node: Any) -> tuple[SavedTensor, ...]:
    """The _raw_saved_tensors of a custom function's node."""
    if node.saved is FREED:
        raise freed_error()
    return tuple(_raw(node, at, item and item[1]) for at, item in enumerate(node.saved or ()))


def _raw(node: Any, at: int, output: Any) -> SavedTensor:
    raw = SavedTensor.__new__(SavedTensor)
    raw.node, raw.at, raw.output = node, at, output
    return raw


def _renamed(node: OpNode) -> dict[str, str]:
    """PyTorch's name -> the name here, of what is saved under another one."""
    here = {n for n, *_ in node.rec.saved}
    table = _NAMES.get(type(node).__name__, {})
    return {theirs: n for theirs, own in table.items() for n in own if n in here and theirs not in here}


def names(node: OpNode) -> list[str]:
    rec = node.rec
    theirs = {own: n for n, own in _renamed(node).items()}
    kept = [theirs.get(n, n) for n, *_ in (*rec.saved, *rec.results)]
    sizes = [theirs.get(n[:-6], n[:-6]) + "_sym_sizes" for n, _ in rec.shapes]
    return [*("_saved_" + n for n in (*kept, *(n for n, _ in rec.plain), *sizes)), *("_raw_saved_" + n for n in kept)]


def get(node: OpNode, name: str) -> Any:
    """A `_saved_` or `_raw_saved_` attribute."""
    rec = node.rec
    if name.startswith("_raw_saved_"):
        wanted = _renamed(node).get(name[11:], name[11:])
        outputs = [None] * len(rec.saved) + [i for _, i, _ in rec.results]
        for at, (field, *_) in enumerate((*rec.saved, *rec.results)):
            if field == wanted:
                return _raw(node, at, outputs[at])
    else:
        if node.kept is FREED or node.plain is FREED:
            raise freed_error()
        sizes = name.endswith("_sym_sizes")
        field = name[7:-10] if sizes else name[7:]
        own = _renamed(node).get(field, field)
        context = node.make_context({})
        if hasattr(context, own + "_shape" if sizes else own):
            found = getattr(context, own + "_shape" if sizes else own)
            if own == "weight" != field and found is not None:  # PyTorch's product is by the transposed weight
                found = found[::-1] if sizes else found.t()
            return tuple(found) if isinstance(found, (list, tuple)) else found
    raise AttributeError("'%s' object has no attribute '%s'" % (type(node).__name__, name))
