"""functorch.compile: what it has without a compiler."""

from __future__ import annotations

from typing import Any

__all__ = ["make_boxed_compiler", "make_boxed_func", "nop"]


def make_boxed_func(f: Any) -> Any:
    """A function of one list of arguments."""

    def g(args: Any) -> Any:
        return f(*args)

    g._boxed_call = True  # type: ignore[attr-defined]
    return g


def make_boxed_compiler(compiler: Any) -> Any:
    """A compiler whose results take one list of arguments."""
    return lambda fx_g, inps: make_boxed_func(compiler(fx_g, inps))


def nop(fx_g: Any, example_inputs: Any) -> Any:
    """A compiler that returns the graph as it is."""
    return fx_g
