"""torch.overrides: classes and modes that stand in for PyTorch's functions."""

from __future__ import annotations

import contextlib
import functools
import inspect
from typing import Any

import torchlite as torch

from . import _C
from ._core import override as _override
from ._core.function_switches import DisableTorchFunctionSubclass, EnableTorchFunction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "resolve_name",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "wrap_torch_function",
    "enable_reentrant_dispatch",
]
_override.install()


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether an argument has a __torch_function__ of its own, or a mode is on."""
    return not _asked_once() and _C.overrides(*relevant_args) and _by_programs(relevant_args)


def _by_programs(args: Iterable[Any]) -> bool:
    """Whether one of the functions is a program's, not that of a layout, of which PyTorch's tensors have none."""
    return bool(_override.modes) or any(
        _C.overrides(a) and not getattr(type(a), "_function_of_layout", False) for a in args
    )


def has_torch_function_unary(obj: Any) -> bool:
    """has_torch_function for one argument."""
    return not _asked_once() and _C.overrides(obj) and _by_programs((obj,))


def has_torch_function_variadic(*args: Any) -> bool:
    """has_torch_function for several arguments."""
    return not _asked_once() and _C.overrides(*args) and _by_programs(args)


def _get_overloaded_args(relevant_args: Iterable[Any], get_type_fn: Callable[[Any], type] | None = None) -> list[Any]:
    return _override.overloaded(relevant_args, True)


def handle_torch_function(public_api: Any, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """What the modes and the arguments' classes say to a call of public_api(*args, **kwargs)."""
    found = _get_overloaded_args(relevant_args)
    answer = _override.ask(public_api, found, args, kwargs)
    if answer is NotImplemented:
        raise _override.no_implementation(public_api, found)
    return answer


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the function asks the arguments that dispatcher(*args, **kwargs) names."""

    def inner(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant_args = dispatcher(*args, **kwargs)
            if has_torch_function(relevant_args):
                return handle_torch_function(wrapped, relevant_args, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return inner


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor, or its class has a __torch_function__."""
    return type(inp) is torch.Tensor or hasattr(inp, "__torch_function__")


# ---- modes -----------------------------------------------------------------------------------------------------------
class TorchFunctionMode:
    """Inside `with` it sees all calls of functions of torch; derive from it, and define __torch_function__."""

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        _push_mode(self)
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        _pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        import warnings

        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """Sees calls and lets them go on."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _push_mode(mode: Any) -> None:
    _override.modes.append(mode)
    _C.function_modes(len(_override.modes))


def _pop_mode() -> Any:
    mode = _override.modes.pop()
    _C.function_modes(len(_override.modes))
    return mode


_push_on_torch_function_stack, _pop_torch_function_stack = _push_mode, _pop_mode


def _get_current_function_mode() -> Any:
    return _override.modes[-1] if _override.modes else None


def _get_current_function_mode_stack() -> list[Any]:
    return list(_override.modes)


def _len_torch_function_stack() -> int:
    return len(_override.modes)


def _get_function_stack_at(i: int) -> Any:
    return _override.modes[i]


def _is_torch_function_mode_enabled() -> bool:
    return _override.modes_on()


@contextlib.contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    old = _pop_mode()
    try:
        yield old
    finally:
        _push_mode(old)


_enable_torch_function = EnableTorchFunction


@contextlib.contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Inside a __torch_dispatch__ every op may be called; there is nothing to turn on."""
    yield


_skipped: list[bool] = []


def redispatch_function(func: Any, types: Any, args: Any, kwargs: Any = None) -> Any:
    """Calls a function itself: it asks nobody, and what it calls asks again."""
    kwargs, raw = kwargs or {}, getattr(func, "_tl_fn", None)
    if inspect.isfunction(raw):
        return raw(*args, **kwargs)
    if inspect.isfunction(func):  # its own has_torch_function is False once
        _skipped.append(True)
        try:
            return func(*args, **kwargs)
        finally:
            _skipped.clear()
    with DisableTorchFunctionSubclass():
        return func(*args, **kwargs)


def _asked_once() -> bool:
    return bool(_skipped) and _skipped.pop()


# ---- lists -----------------------------------------------------------------------------------------------------------
def get_default_nowrap_functions() -> set[Any]:
    """The functions whose results Tensor.__torch_function__ leaves as they are."""
    return _override.nowrap()


def get_ignored_functions() -> set[Any]:
    """Public functions that do not look for a __torch_function__."""
    return _lists().ignored()


def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions that look for a __torch_function__, by namespace."""
    return _lists().by_namespace()


def resolve_name(f: Any) -> str | None:
    """The dotted name of an overridable function."""
    return _lists().name_of(f)


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether the function is a method of Tensor, or a field's __get__."""
    return _lists().is_method(func)


def get_testing_overrides() -> dict[Any, Any]:
    """{overridable function: a function of the same signature}, for tests of classes that override everything."""
    return _lists().stand_ins()


def _lists() -> Any:
    from ._core import overridable

    return overridable
