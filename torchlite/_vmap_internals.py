"""torch._vmap_internals.vmap: the older name of torch.vmap, which some packages call."""

from __future__ import annotations

from typing import Any


def _vmap(func: Any, in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Any:
    from . import func as _func

    return _func.vmap(func, in_dims, out_dims, randomness="different")


def vmap(func: Any, in_dims: Any = 0, out_dims: Any = 0) -> Any:
    """torch.vmap, with a FutureWarning."""
    import warnings

    warnings.warn(
        "Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.", category=FutureWarning, stacklevel=2
    )
    return _vmap(func, in_dims, out_dims)
