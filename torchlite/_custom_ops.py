"""torch._custom_ops: operators of one's own, by name. torch.library replaced it."""

from __future__ import annotations

from typing import Any

from . import library as _library
from ._custom_op import impl as _impl
from ._custom_op.impl import _custom_op_with_schema, _find_custom_op, infer_schema, parse_qualname, validate_namespace
from .library import get_ctx

__all__ = ["custom_op", "get_ctx", "impl", "impl_abstract", "impl_backward", "impl_save_for_backward"]


def custom_op(qualname: str, func_or_schema: Any = None) -> Any:
    """Defines an operator with the schema given, or with the one that a function's annotations say."""
    namespace, name = parse_qualname(qualname)
    validate_namespace(namespace)

    def inner(func: Any) -> Any:
        _impl._check_function(func, qualname, name)
        _custom_op_with_schema(qualname, infer_schema(func, mutates_args=()))
        return func

    if isinstance(func_or_schema, str):
        _custom_op_with_schema(qualname, func_or_schema)
        return None
    return inner if func_or_schema is None else inner(func_or_schema)


def _registering(register: Any, func: Any) -> Any:
    def inner(f: Any) -> Any:
        register(f)
        return f

    return inner if func is None else inner(func)


def impl(qualname: str, *, device_types: Any = ("cpu", "cuda"), func: Any = None) -> Any:
    """Decorator: what an operator does on these devices."""
    return _registering(lambda f: _find_custom_op(qualname, True).impl(device_types, _stacklevel=5)(f), func)


def impl_abstract(qualname: str, *, func: Any = None) -> Any:
    """Decorator: what an operator does where only shapes count."""
    return _library.register_fake(qualname, func)


def impl_save_for_backward(qualname: str, *, func: Any = None) -> Any:
    """Decorator: a function (inputs, output) of what backward needs."""
    return _registering(lambda f: _find_custom_op(qualname, True).impl_save_for_backward(_stacklevel=5)(f), func)


def impl_backward(qualname: str, output_differentiability: Any = None, *, func: Any = None) -> Any:
    """Decorator: a function (ctx, saved, *grads) that returns the gradients by the names of the arguments."""
    return _registering(
        lambda f: _find_custom_op(qualname, True).impl_backward(output_differentiability, _stacklevel=5)(f), func
    )


def _destroy(qualname: str) -> None:
    _find_custom_op(qualname)._destroy()
