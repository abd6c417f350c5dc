"""Contexts in which nobody is asked for `__torch_function__`."""

from __future__ import annotations


from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_AT_LEAST = 4


class DisableTorchFunctionSubclass(_C.GradMode):
    """Inside, __torch_function__ of classes is not called; modes are."""

    def __new__(cls) -> Any:
        return super().__new__(cls, None, None, _AT_LEAST + 1)


class DisableTorchFunction(_C.GradMode):
    """Inside, neither __torch_function__ of classes nor modes are called."""

    def __new__(cls) -> Any:
        return super().__new__(cls, None, None, 2)


class EnableTorchFunction(_C.GradMode):
    """Inside, __torch_function__ is called again where it was off."""

    def __new__(cls) -> Any:
        return super().__new__(cls, None, None, 0)


DisableTorchFunctionSubclass.__module__ = DisableTorchFunction.__module__ = "torch._C"
