"""Small parts of torch.func that packages import."""

from __future__ import annotations

import contextlib
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["argnums_t", "enable_single_level_autograd_function", "exposed_in", "unwrap_dead_wrappers"]

argnums_t = int | tuple[int, ...]


def exposed_in(module: str) -> Callable[[Any], Any]:
    """Decorator: the function says that it is from `module`."""

    def wrapper(fn: Any) -> Any:
        fn.__module__ = module
        return fn

    return wrapper


@contextlib.contextmanager
def enable_single_level_autograd_function() -> Iterator[None]:
    """Nothing to allow: transforms have no levels of autograd of their own, so every Function is of a single one."""
    yield


def unwrap_dead_wrappers(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments: a tensor of a vmap that has ended stays what it is."""
    return tuple(args)
