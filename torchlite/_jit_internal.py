"""What functions of PyTorch's frontend are decorated with for TorchScript; packages copy them with it."""

from __future__ import annotations

import functools

from .jit import Final, _overload, _overload_method, export, ignore, is_scripting, unused  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str | None = None,
    func_name: str | None = None,
) -> Callable[..., Any]:
    """if_true or if_false, by the bool argument of that name or place."""

    if if_true.__doc__ and if_false.__doc__:
        raise RuntimeError("only one function can have a docstring")

    @functools.wraps(if_false)
    def fn(*args: Any, **kwargs: Any) -> Any:
        asked = kwargs.get(arg_name, args[arg_index] if len(args) > arg_index else default)
        return (if_true if asked else if_false)(*args, **kwargs)

    fn.__doc__ = if_true.__doc__ or if_false.__doc__
    fn.__name__ = func_name or fn.__name__
    fn.__module__ = module_name or fn.__module__
    return fn


class _BroadcastingList:
    def __getitem__(self, types: Any) -> None:
        """Annotations need no value."""


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = _BroadcastingList()


def _copy_to_script_wrapper(fn: Any) -> Any:
    return fn


def _isinstance(obj: Any, target_type: Any) -> bool:
    from .jit import isinstance as check

    return check(obj, target_type)
