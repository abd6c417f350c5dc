"""torch._dynamo: the public part of the compiler's front end. Code runs as it is written."""

from __future__ import annotations

from typing import Any

from ..compiler import allow_in_graph, assume_constant_result, disable, is_compiling, list_backends
from . import config, exc, utils

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "reset",
    "reset_code_caches",
]


def disallow_in_graph(fn: Any) -> Any:
    return fn


def forbid_in_graph(fn: Any) -> Any:
    return fn


def graph_break(msg: str = "") -> None:
    """There is no graph to break."""


def mark_dynamic(t: Any, index: Any, **bounds: Any) -> None:
    """Every size may change: nothing is compiled for one."""


maybe_mark_dynamic = mark_dynamic


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Notes on the tensor that it stays where it is, which nothing here asks."""
    import torchlite

    if not isinstance(t, torchlite.Tensor):
        raise TypeError(f"mark_static_address expects a tensor but received {type(t)}")
    t._dynamo_static_input_type = "guarded" if guard else "unguarded"  # type: ignore[attr-defined]


def mark_static(t: Any, index: Any = None) -> None:
    """Nothing is compiled for a size."""


def reset() -> None:
    """Nothing is cached."""


reset_code_caches = reset

from .._core import absent as _absent

__getattr__ = _absent.of(__name__)
