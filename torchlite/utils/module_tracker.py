"""ModuleTracker: which modules run, forward or backward."""

from __future__ import annotations

import weakref
from typing import Any

import torchlite as torch

from ..autograd.graph import register_multi_grad_hook
from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ._pytree import tree_leaves

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """A context that knows which modules run: `parents` has their paths, beginning with the class of the outermost, and
    "Global". `is_bw` says whether a backward pass runs."""

    parents: set[str]

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._known: Any = weakref.WeakKeyDictionary()
        self._seen: Any = weakref.WeakSet()
        self._has_callback = False
        self._hooks: list[Any] = []

    @property
    def is_bw(self) -> bool:
        return torch._C._current_graph_task_id() != -1

    def _name(self, module: Any) -> str:
        name = self._known.setdefault(module, type(module).__name__)
        if module not in self._seen:
            for child, inner in module.named_children():
                self._known[inner] = f"{name}.{child}"
                self._name(inner)
            self._seen.add(module)
        return name

    def _reset(self) -> None:
        self.parents = {"Global"}
        self._has_callback = False

    def _entered(self, name: str, backward: bool) -> None:
        if backward and not self._has_callback:
            torch.autograd.Variable._execution_engine.queue_callback(self._reset)
            self._has_callback = True
        self.parents.add(name)

    def _hook(self, tree: Any, function: Any) -> None:
        """Calls a function when the gradients of the tensors of a tree are there."""
        tensors = tuple(t for t in tree_leaves(tree) if isinstance(t, torch.Tensor) and t.requires_grad)
        if tensors:
            self._hooks.append(register_multi_grad_hook(tensors, function))

    def _before(self, module: Any, args: Any) -> None:
        name = self._name(module)
        self._entered(name, False)
        self._hook(args, lambda grads: self.parents.discard(name))

    def _after(self, module: Any, args: Any, output: Any) -> None:
        name = self._name(module)
        self.parents.discard(name)
        self._hook(output, lambda grads: self._entered(name, True))

    def __enter__(self) -> ModuleTracker:
        self._handles = register_module_forward_pre_hook(self._before), register_module_forward_hook(self._after)
        return self

    def __exit__(self, *exc: Any) -> None:
        for handle in (*self._handles, *self._hooks):
            handle.remove()
        self._hooks.clear()
