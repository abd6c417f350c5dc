"""Contexts in which nobody is asked for `__torch_function__`."""

from __future__ import annotations

from typing import Any

from .. import _C


class DisableTorchFunctionSubclass:
    """Inside, __torch_function__ of classes is not called; modes are."""

    _level = 1

    def __enter__(self) -> Any:
        self._old = _C.function_off(max(self._level, _C.function_state()[0]))

    def __exit__(self, *exc: Any) -> Any:
        _C.function_off(self._old)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Inside, neither __torch_function__ of classes nor modes are called."""

    _level = 2


DisableTorchFunctionSubclass.__module__ = DisableTorchFunction.__module__ = "torch._C"
