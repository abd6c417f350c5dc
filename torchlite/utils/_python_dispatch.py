"""Modes that see the ops below autograd, and what packages ask of tensors that wrap others, of which there are none:
a class with a __torch_dispatch__ of its own is refused."""

from __future__ import annotations

import contextlib
from typing import Any

from .. import _C
from .._core import dispatch_modes as _modes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class TorchDispatchMode:
    """A context in which __torch_dispatch__(func, types, args, kwargs) gets every op that PyTorch would run below
    autograd, in place of the kernel. `func(*args, **kwargs)` in it runs the op."""

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            raise NotImplementedError("TorchDispatchMode for a dispatch key is not implemented in torchlite")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        _modes.stack.append(self)
        _C.dispatch_modes(len(_modes.stack))
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        _modes.stack.pop()
        _C.dispatch_modes(len(_modes.stack))

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        import warnings

        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`")
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that runs every op as it is."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """False: no tensor holds tensors."""
    return False


def is_traceable_wrapper_subclass_type(t: Any) -> bool:
    return False


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    return bool(_modes.stack)


def _get_current_dispatch_mode() -> Any:
    return _modes.stack[-1] if _modes.stack else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    return list(_modes.stack)


def _len_torch_dispatch_stack() -> int:
    return len(_modes.stack)


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """Inside it no mode is on."""
    held = list(_modes.stack)
    _modes.stack.clear()
    _C.dispatch_modes(0)
    try:
        yield held
    finally:
        _modes.stack[:] = held
        _C.dispatch_modes(len(held))
