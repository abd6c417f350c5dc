"""The transforms by the module that PyTorch has them in, and vmap by the number of chunks."""

from __future__ import annotations

import functools
from typing import Any

from .. import func as _func
from ..func import grad, grad_and_value, vmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["chunk_vmap", "grad", "grad_and_value", "vmap"]


def chunk_vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable[..., Any]:
    """vmap that runs the examples in this many chunks, one after the other."""
    from .vmap import _check_randomness_arg, _process_batched_inputs

    _check_randomness_arg(randomness)
    if chunks == 1:
        return vmap(func, in_dims=in_dims, out_dims=out_dims, randomness=randomness)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        size = _process_batched_inputs(in_dims, args, func)[0]
        whole, rest = divmod(size, chunks)
        chunk = whole + bool(rest)
        return vmap(func, in_dims, out_dims, randomness, chunk_size=chunk)(*args, **kwargs)

    return wrapper


def _slice_argnums(args: Any, argnums: Any, as_tuple: bool = True) -> Any:
    """The arguments that argnums name; one number gives one argument, in a tuple if so asked."""
    numbers = _func._numbers(argnums, len(args))
    if isinstance(argnums, tuple):
        return tuple(args[n] for n in numbers)
    return (args[numbers[0]],) if as_tuple else args[numbers[0]]
