"""Modes that see the ops below autograd, and helpers for tensors that wrap others."""

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

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Whether a mode leaves compiled functions alone: nothing is compiled here."""
        return False

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            raise NotImplementedError(
                "TorchDispatchMode for a dispatch key is not implemented in torchlite; leave _dispatch_key out"
            )

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        _modes.stack.append(self)
        _modes.refresh()
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        _modes.stack.pop()
        _modes.refresh()

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
    """Whether a tensor wraps others, and says by __tensor_flatten__ and __tensor_unflatten__ which."""
    return isinstance(t, _C.TensorBase) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: Any) -> bool:
    """The same of a class."""
    return _modes.handler_of(t) is not None and all(
        hasattr(t, name) for name in ("__tensor_flatten__", "__tensor_unflatten__")
    )


def transform_subclass(t: Any, callback: Any, outer_size: Any = None, outer_stride: Any = None) -> Any:
    """A wrapper of the same class around what callback(name, tensor) makes of the tensors that `t` holds.

    Errors: an AssertionError where the new wrapper has another size or stride than the ones given (default: t's).
    """
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    made = type(t).__tensor_unflatten__(inner, context, size, stride)
    if made.shape != size:
        raise AssertionError(
            f"Expected return value from {type(t)}__tensor_unflatten__() to have shape equal to {size}, "
            f"but got: {made.shape}"
        )
    if made.stride() != stride:
        raise AssertionError(
            f"Expected return value from {type(t)}__tensor_unflatten__() to have stride equal to {stride}, "
            f"but got: {made.stride()}"
        )
    return made


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """What a __torch_dispatch__ returns so that it keeps the schema's promises: an argument that the op writes is the
    result itself. `out` is what the handler made of the tensors inside."""
    schema = func._schema
    returned = list(schema.returns)
    if not any(r.alias_info is not None for r in returned):
        return out
    given = {a.name: v for a, v in zip(schema.arguments, args)} | dict(kwargs or {})
    written = {}
    for a in schema.arguments:
        if a.alias_info is not None and a.alias_info.is_write:
            written[frozenset(a.alias_info.before_set)] = given.get(a.name)
    outs = list(out) if isinstance(out, (list, tuple)) else [out]
    for n, r in enumerate(returned):
        if r.alias_info is not None and r.alias_info.is_write:
            outs[n] = written.get(frozenset(r.alias_info.before_set), outs[n])
    return type(out)(outs) if isinstance(out, (list, tuple)) else outs[0]


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
    _modes.refresh()
    try:
        yield held
    finally:
        _modes.stack[:] = held
        _modes.refresh()
