"""SchemaCheckMode: whether ops do what their schemas say of writes and shared memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import torchlite as torch
from torchlite.utils import _pytree as pytree
from torchlite.utils._python_dispatch import TorchDispatchMode

_UNSAFE = ("aten::_unsafe_view", "aten::unsafe_split")


class Mutation(NamedTuple):
    op_name: str
    arg_name: str


class Aliasing(NamedTuple):
    op_name: str
    arg_name: str
    output_number: str


def _tensors(value: Any) -> list[Any]:
    return [t for t in pytree.tree_leaves(value) if type(t) is torch.Tensor and t.layout is torch.strided]


def _overlap(a: Any, b: Any) -> bool:
    stores = {id(t._storage) for t in _tensors(a) if t.numel()}
    return any(id(t._storage) in stores for t in _tensors(b) if t.numel())


def _may_alias(a: Any, b: Any) -> bool:
    a, b = a.alias_info, b.alias_info
    return a is not None and b is not None and bool(set(a.before_set) & set(b.after_set) or "*" in b.after_set)


class SchemaCheckMode(TorchDispatchMode):
    """Records the ops that run, which of their arguments are written, and which share memory with results; what the
    schema does not say is an error."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[str] = []
        self.mutated: list[Mutation] = []
        self.aliasing: list[Aliasing] = []

    def reset_cache(self) -> None:
        self.ops.clear()
        self.mutated.clear()
        self.aliasing.clear()

    def display_ops(self) -> None:
        print(*self.ops, sep=",")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        schema, kwargs = func._schema, kwargs or {}
        given = {a.name: v for a, v in zip(schema.arguments, args)} | kwargs
        before = {n: [(t, t.detach().clone(), t.stride()) for t in _tensors(v)] for n, v in given.items()}
        self.ops.append(schema.name)
        out = func(*args, **kwargs)
        outs = out if isinstance(out, tuple) else (out,)
        for a in schema.arguments:
            if a.name in given:
                self._check(func, a, given[a.name], before[a.name], outs)
        for j, b in enumerate(schema.returns):
            for i, a in enumerate(schema.returns[:j]):
                if _overlap(outs[i], outs[j]) and not _may_alias(a, b):
                    raise RuntimeError(f"Outputs {i} and {j} alias unexpectedly")
        return out

    def _check(self, func: Any, argument: Any, value: Any, before: Any, outs: Any) -> None:
        name, op = "input" if argument.name == "self" else argument.name, func._schema.name
        for j, (out, said) in enumerate(zip(outs, func._schema.returns)):
            if _overlap(out, value) and op not in _UNSAFE:
                if not _may_alias(argument, said):
                    raise RuntimeError(f"Argument {name} is not defined to alias output but was aliasing")
                self.aliasing.append(Aliasing(op, name, f"output_{j}"))
            if isinstance(value, torch.Tensor) and value is out and not argument.is_write and "lift" not in op:
                raise RuntimeError(
                    "Dispatcher operators below autograd are not allowed to directly return inputs.\n"
                    f"However, we found that `outputs[{j}] is {name}"
                )
        for t, old, strides in before:
            same = t.shape == old.shape and t.stride() == strides and torch.allclose(t, old, equal_nan=True)
            if not same and not argument.is_write:
                raise RuntimeError(f"Argument {name} is not defined as mutable but was mutated")
            if not same:
                self.mutated.append(Mutation(op, name))
