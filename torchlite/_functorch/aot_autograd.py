"""aot_function: a function whose forward and backward pass are traced, for each call, and given to compilers.

PyTorch splits one graph in two. Here the graph of the backward pass has the forward pass in it once more, so that
nothing but the inputs is kept.
"""

from __future__ import annotations

from typing import Any

import torchlite as torch

from ..autograd._node import as_leaf
from ..utils import _pytree as pytree
from .compilers import default_partition, make_boxed_func, min_cut_rematerialization_partition, nop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "aot_function",
    "compiled_function",
    "default_partition",
    "make_boxed_func",
    "min_cut_rematerialization_partition",
    "nop",
]


def _traced(f: Any, compiler: Any, args: list[Any]) -> Any:
    from ..fx.experimental.proxy_tensor import make_fx
    from .functionalization import functionalize

    with torch.enable_grad():
        return compiler(make_fx(functionalize(f), tracing_mode="fake")(*args), args)


def _wanted(t: Any) -> bool:
    return isinstance(t, torch.Tensor) and t.requires_grad


def aot_function(
    fn: Callable[..., Any], fw_compiler: Any, bw_compiler: Any = None, *options: Any, **more: Any
) -> Callable[..., Any]:
    """A function that does what fn does with what the compilers make of its graphs."""
    bw_compiler = bw_compiler or fw_compiler

    def returned(*args: Any, **kwargs: Any) -> Any:
        flat, spec = pytree.tree_flatten((args, kwargs))
        at = [i for i, t in enumerate(flat) if isinstance(t, torch.Tensor)]
        tensors, out_spec = [flat[i] for i in at], list[Any]()

        def forward(*given: Any) -> Any:
            values = list(flat)
            for i, t in zip(at, given):
                values[i] = t
            positional, named = pytree.tree_unflatten(values, spec)
            leaves, found = pytree.tree_flatten(fn(*positional, **named))
            out_spec[:] = [found]
            return leaves

        def fresh() -> list[Any]:
            return [as_leaf(t.detach(), t.requires_grad) for t in tensors]

        recorded = torch.is_grad_enabled() and any(map(_wanted, tensors))
        compiled = _traced(forward, fw_compiler, [t.detach() for t in tensors])
        if not recorded:
            return pytree.tree_unflatten(list(compiled(*(t.detach() for t in tensors))), out_spec[0])
        with torch.enable_grad():
            outs = [_wanted(t) for t in forward(*fresh())]
        if not any(outs):
            return pytree.tree_unflatten(list(compiled(*(t.detach() for t in tensors))), out_spec[0])

        def joint(*given: Any) -> Any:
            primals, tangents = given[: len(at)], given[len(at) :]
            with torch.enable_grad():
                ends = [t for t in forward(*primals) if _wanted(t)]
                return torch.autograd.grad(ends, [p for p in primals if _wanted(p)], tangents, allow_unused=True)

        class CompiledFunction(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *given: Any) -> Any:
                ctx.save_for_backward(*given)
                made = tuple(compiled(*given))
                ctx.mark_non_differentiable(
                    *(t for t, keep in zip(made, outs) if isinstance(t, torch.Tensor) and not keep)
                )
                return made

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                primals = [as_leaf(t.detach(), t.requires_grad) for t in ctx.saved_tensors]
                tangents = [g.contiguous() for g, keep in zip(grads, outs) if keep]
                found = iter(_traced(joint, bw_compiler, [*primals, *tangents])(*primals, *tangents))
                return tuple(next(found) if p.requires_grad else None for p in primals)

        return pytree.tree_unflatten(list(CompiledFunction.apply(*tensors)), out_spec[0])

    return returned


compiled_function = aot_function
