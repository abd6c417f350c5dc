"""functorch.compile: what it has without a compiler."""

from __future__ import annotations

from typing import Any

__all__ = [
    "aot_function",
    "compiled_function",
    "default_partition",
    "make_boxed_compiler",
    "make_boxed_func",
    "min_cut_rematerialization_partition",
    "nop",
]


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


def default_partition(joint_module: Any, joint_inputs: Any, /, *, num_fwd_outputs: int, **options: Any) -> Any:
    """aot_function splits no graph; it takes this for PyTorch's sake."""
    raise NotImplementedError(
        "torchlite does not split the graph of a forward and backward pass in two; trace each with make_fx"
    )


min_cut_rematerialization_partition = default_partition


def aot_function(*args: Any, **kwargs: Any) -> Any:
    """See torch._functorch.aot_autograd."""
    from . import aot_autograd

    return aot_autograd.aot_function(*args, **kwargs)


compiled_function = aot_function
