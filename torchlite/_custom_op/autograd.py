"""The gradient of a CustomOp, of a function that says what to save and one that makes gradients by name."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import torchlite as torch

from ..utils import _pytree as pytree


def _named(schema: Any, args: Any) -> Any:
    return namedtuple(str(schema.name).replace(":", "_") + "_args", [a.name for a in schema.arguments])(*args)


def _non_differentiable(ctx: Any, output: Any, which: Any) -> None:
    found = []
    for i, (wanted, out) in enumerate(zip(which or (), output if isinstance(output, tuple) else (output,))):
        tensors = out if isinstance(out, list) else [out]
        if all(isinstance(t, torch.Tensor) for t in tensors):
            found += [] if wanted else tensors
        elif wanted:
            raise RuntimeError(
                f"With output_differentiability={which}. At idx {i}, we received an object of type {type(out)} that is "
                "not a Tensor, so it cannot have be marked as differentiable in output_differentiability."
            )
    if found:
        ctx.mark_non_differentiable(*found)


def apply(op: Any, args: tuple[Any, ...]) -> Any:
    """The operator's outputs, recorded."""
    flat_args, spec = pytree.tree_flatten(args)
    out_spec: Any = None

    def forward(ctx: Any, *flat: Any) -> Any:
        nonlocal out_spec
        given = pytree.tree_unflatten(list(flat), spec)
        output = op._op(*given)
        saved = op._impls["save_for_backward"].func(_named(op._schema, given), output)
        leaves, ctx.spec = pytree.tree_flatten((saved, _named(op._schema, pytree.tree_map(type, given))))
        ctx.places = [i for i, x in enumerate(leaves) if isinstance(x, torch.Tensor)]
        ctx.save_for_backward(*(leaves[i] for i in ctx.places))
        ctx.others = [None if isinstance(x, torch.Tensor) else x for x in leaves]
        _non_differentiable(ctx, output, op._output_differentiability)
        flat_output, out_spec = pytree.tree_flatten(output)
        return tuple(flat_output)

    def backward(ctx: Any, *flat: Any) -> Any:
        grads = pytree.tree_unflatten(list(flat), out_spec)
        leaves = list(ctx.others)
        for i, t in zip(ctx.places, ctx.saved_tensors):
            leaves[i] = t
        saved, info = pytree.tree_unflatten(leaves, ctx.spec)
        found = op._impls["backward"].func(object(), saved, *(grads if isinstance(grads, tuple) else (grads,)))
        _check(found, op, info)
        named = info._asdict().items()
        return tuple(
            pytree.tree_leaves([found[n] if n in found else pytree.tree_map(lambda _: None, kind) for n, kind in named])
        )

    name = op._opname + "_customop"
    made: Any = type(
        name, (torch.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    )
    return pytree.tree_unflatten(list(made.apply(*flat_args)), out_spec)


def _check(found: Any, op: Any, info: Any) -> None:
    """Whether the backward function returned what it has to."""

    def wrong(what: str) -> RuntimeError:
        return RuntimeError(
            f"In the backward function defined for {op} at {op._impls['backward'].location} using the CustomOp API, "
            + what
        )

    if not isinstance(found, dict):
        raise wrong(f"expected the output of the backward function to be a dict but got {type(found)}")
    expected = {a.name for a in op._schema.arguments if "Tensor" in str(a.type)}
    if expected != found.keys():
        raise wrong(
            f"expected the returned grad_input dict to have keys {expected} but got {found.keys()}. The backward "
            "function must return a gradient (can be None) for each arg to the CustomOp that may be a Tensor or "
            "Sequence[Tensor]. Args declared to be non-Tensor-like types should not appear in the grad_input dict"
        )
    for name, grad in found.items():
        kind, start = getattr(info, name), f"for input '{name}' expected the grad_input dict to hold a list of "
        if not isinstance(kind, list):
            if grad is not None and not isinstance(grad, torch.Tensor):
                raise wrong(
                    f"got object of type {type(grad)} as the gradient for input '{name}', but expected the gradient "
                    "to be either None or a Tensor"
                )
            if grad is not None and not issubclass(kind, torch.Tensor):
                raise wrong(
                    f"got a Tensor as the gradient for input '{name}' but expected None as the gradient because input "
                    f"'{name}' was not a Tensor (it was type {kind})."
                )
            continue
        if not isinstance(grad, (tuple, list)):
            raise wrong(f"{start}gradients but got object of type {type(grad)}.")
        if len(grad) != len(kind):
            raise wrong(f"{start}{len(kind)} gradients but got {len(grad)}")
        for i, (g, inner) in enumerate(zip(grad, kind)):
            if g is not None and not isinstance(g, torch.Tensor):
                raise wrong(f"{start}None or Tensor gradients but got object of {type(g)} at index {i}")
            if g is not None and not issubclass(inner, torch.Tensor):
                raise wrong(
                    f"for input '{name}', got a Tensor as the gradient for the {i}-th value but expected None because "
                    f"the {i}-th value was not a Tensor (it was type {kind}"
                )
