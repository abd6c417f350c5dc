"""What torch.compile gives for a module. It runs eagerly; its names are those of PyTorch, which state_dicts show."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

import torchlite as torch


class OptimizedModule(torch.nn.Module):
    """A module as `_orig_mod`, whose attributes are read and set through this one."""

    _own = frozenset("_orig_mod dynamo_ctx _torchdynamo_orig_callable get_compiler_config forward __dict__".split())

    def __init__(self, mod: Any, dynamo_ctx: Any = None) -> None:
        vars(self)["_orig_mod"] = mod  # what Module.__init__ sets may be attributes of the other one's class
        vars(self)["_made"] = False
        super().__init__()
        vars(self)["_made"] = True
        del vars(self)["_orig_mod"]
        self._orig_mod = mod
        self.dynamo_ctx = dynamo_ctx
        self._initialize()

    def _initialize(self) -> None:
        self.forward = self._orig_mod.__call__
        self._torchdynamo_orig_callable = self._orig_mod.forward

    def __len__(self) -> int:
        if isinstance(self._orig_mod, Sized):
            return len(self._orig_mod)
        raise TypeError("%s does not support len()" % type(self._orig_mod).__name__)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._orig_mod, self.dynamo_ctx)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "forward"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._initialize()

    @property
    def training(self) -> bool:
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        if self._made:  # Module.__init__ sets it, which says nothing
            self._orig_mod.training = value

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in OptimizedModule._own or hasattr(type(self), name):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)


from .._core import absent as _absent

__getattr__ = _absent.of(__name__)
