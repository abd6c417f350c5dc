"""Jacobians, Hessians and their products: torch.autograd.functional.

All are reverse mode, but for strategy="forward-mode". J v is the gradient of u -> J^T u, which is linear in u, so its
value does not matter (0 here).
"""

from __future__ import annotations


import torchlite as torch

from .. import _C
from ._node import as_leaf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any
    from .._types import Tensor


_NOT = " This is not allowed in strict mode."
_NO_INPUT = "The output of the user-provided function is independent of input {}." + _NOT
_NO_OUTPUT_GRAD = (
    "Output {} of the user-provided function does not require gradients. "
    "The outputs must be computed in a differentiable manner from the input when running in strict mode."
)
_FIXED_GRADIENT = (
    "The gradient with respect to input {} is independent of the inputs of the user-provided function." + _NOT
)
_FIXED_JACOBIAN = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} "
    "is independent of the input."
    + _NOT
    + " You should ensure that your function is twice differentiable and that the jacobian depends on "
    "the inputs (this would be violated by a linear function for example)."
)
_FIXED_HESSIAN = (
    "The hessian of the user-provided function with respect to input {} is independent of the input."
    + _NOT
    + " You should "
    "ensure that your function is thrice differentiable and that the hessian depends on the inputs."
)
_NO_JVP = (
    "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
    "backward trick to compute forward mode gradients." + _NOT
)
_NO_VHP = "The jacobian of the user-provided function is independent of input {}." + _NOT
_NO_HVP = (
    "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. "
    "This is not allowed in strict mode as it prevents from using the double backward trick to "
    "replace forward mode AD."
)
_FLAT_GRAPH = (
    "The {} of the user-provided function is independent of input {}. This is not allowed in strict mode when "
    "create_graph=True."
)
_BOTH_WAYS = (
    "torch.autograd.functional.jacobian: `strict=True` and `{}` are not supported together{}. "
    "Please either set `strict=False` or `{}`."
)


def _tuple_of(value: Any, what: Any, name: str) -> Any:
    """(the tensors as a tuple, whether they came as one)"""
    many = isinstance(value, tuple)
    values = value if many else (value,)
    for i, v in enumerate(values):
        if not isinstance(v, torch.Tensor):
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the "
                + (f"value at index {i}" if many else f"given {what}")
                + f" has type {type(v)}."
            )
    return values, many


def _fresh(inputs: tuple[Tensor], create_graph: bool, needs: bool = True) -> Any:
    """New tensors, so that an input differs from the same tensor when the function closes over it."""
    return tuple(t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(needs) for t in inputs)


def _require(tensors: Any, text: str) -> None:
    """strict: each tensor is there and has a graph."""
    for i, t in enumerate(tensors):
        if t is None:
            raise RuntimeError(_NO_INPUT.format(i))
        if not t.requires_grad:
            raise RuntimeError(text.format(i))


def _cotangents(v: Tensor, like: tuple[Tensor], many: bool, name: str, create_graph: bool) -> Any:
    """v, which has to look like the tensors it multiplies."""
    v = _fresh(_tuple_of(v, "v", name)[0], create_graph, False)
    if len(v) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}."
            if many
            else "The given v should contain a single Tensor."
        )
    for i, (a, b) in enumerate(zip(v, like)):
        if a.shape != b.shape:
            raise RuntimeError(
                (f"Entry {i} in " if many else "") + f"v has invalid size: should be {b.size()} but got {a.size()}."
            )
    return v


def _grad(
    outputs: Any, inputs: Any, cotangents: Any = None, create_graph: bool = False, retain_graph: bool | None = None
) -> Any:
    """torch.autograd.grad of those outputs that have a graph; None for an input that none depends on."""
    cotangents = cotangents or (None,) * len(outputs)
    pairs = [(o, g) for o, g in zip(outputs, cotangents) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    return torch.autograd.grad(
        [o for o, _ in pairs],
        inputs,
        [g for _, g in pairs],
        allow_unused=True,
        create_graph=create_graph,
        retain_graph=retain_graph,
    )


def _filled(
    grads: tuple[Tensor], like: tuple[Tensor], strict: bool, create_graph: bool, missing: str, order: str
) -> Any:
    """Zeros for None; strict makes that an error, and with create_graph a gradient without a graph too."""
    out = []
    for i, (g, t) in enumerate(zip(grads, like)):
        if g is None:
            if strict:
                raise RuntimeError(missing.format(i))
            g = torch.zeros_like(t)
        elif strict and create_graph and not g.requires_grad:
            raise RuntimeError(_FLAT_GRAPH.format(order, i))
        out.append(g)
    return tuple(out)


def _shown(values: Sequence[Tensor], many: bool, create_graph: bool) -> Any:
    values = tuple(values) if create_graph else tuple(v.detach() for v in values)
    return values if many else values[0]


def _run(
    func: Callable[..., Any], inputs: Any, name: str, create_graph: bool, strict: bool
) -> tuple[tuple[Tensor], bool, tuple[Tensor], bool]:
    """(inputs, whether a tuple, outputs, whether a tuple)"""
    ins, many_in = _tuple_of(inputs, "inputs", name)
    ins = _fresh(ins, create_graph)
    outs, many_out = _tuple_of(func(*ins), "outputs of the user-provided function", name)
    if strict:
        _require(outs, _NO_OUTPUT_GRAD)
    return ins, many_in, outs, many_out


def _v_for_inputs(v: Any, inputs: Tensor, name: str, create_graph: bool, whose: str) -> tuple[Tensor] | None:
    ins, many = _tuple_of(inputs, "inputs", name)
    if v is not None:
        return _cotangents(v, ins, many, name, create_graph)
    if len(ins) != 1 or ins[0].numel() != 1:
        raise RuntimeError(
            f"The vector v can only be None if the input to {whose} is a single Tensor with a single element."
        )
    return None


def vjp(func: Callable[..., Any], inputs: Tensor, v: Any = None, create_graph: Any = False, strict: Any = False) -> Any:
    """(func(*inputs), v^T J): v has the shapes of the outputs, and may be left out for a single number."""
    with torch.enable_grad():
        ins, many_in, outs, many_out = _run(func, inputs, "vjp", create_graph, strict)
        if v is not None:
            v = _cotangents(v, outs, many_out, "vjp", create_graph)
        elif len(outs) != 1 or outs[0].numel() != 1:
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a single "
                "Tensor with a single element."
            )
    with _C.GradMode(create_graph or torch.is_grad_enabled()):
        found = _filled(_grad(outs, ins, v, create_graph), ins, strict, create_graph, _NO_INPUT, "jacobian")
    return _shown(outs, many_out, create_graph), _shown(found, many_in, create_graph)


def jvp(func: Callable[..., Any], inputs: Tensor, v: Any = None, create_graph: Any = False, strict: Any = False) -> Any:
    """(func(*inputs), J v): v has the shapes of the inputs, and may be left out for a single number."""
    with torch.enable_grad():
        v = _v_for_inputs(v, inputs, "jvp", create_graph, "the user-provided function")
        ins, _, outs, many = _run(func, inputs, "jvp", create_graph, strict)
        u = tuple(torch.zeros_like(o, requires_grad=True) for o in outs)
        back = _grad(outs, ins, u, True)
        if strict:
            _require(back, _FIXED_GRADIENT)
    with _C.GradMode(create_graph or torch.is_grad_enabled()):
        found = _filled(_grad(back, u, v, create_graph), outs, strict, create_graph, _NO_JVP, "jacobian")
    return _shown(outs, many, create_graph), _shown(found, many, create_graph)


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """J[i][j], of the shape of output i followed by that of input j; without the indices of what was not a tuple.

    Row by row, whatever `vectorize` says. With strategy="forward-mode" the columns are tangents of one call of func
    inside vmap.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: '
            'If your function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    forward = strategy == "forward-mode"
    if forward and create_graph:
        raise NotImplementedError(
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
            'together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
        )
    if forward and strict:
        raise RuntimeError(_BOTH_WAYS.format('strategy="forward-mode"', " (yet)", 'strategy="reverse-mode"'))
    if forward and not vectorize:
        _tuple_of(inputs, "inputs", "jacobian")
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
            "`vectorize=True`."
        )
    if forward:
        return _by_columns(func, inputs)
    with torch.enable_grad():
        ins, many_in, outs, many_out = _run(func, inputs, "jacobian", create_graph, strict)
        if strict and vectorize:
            raise RuntimeError(_BOTH_WAYS.format("vectorized=True", "", "vectorize=False"))
        rows = tuple(
            _shown(_blocks(i, o, ins, create_graph, strict), many_in, create_graph) for i, o in enumerate(outs)
        )
    return rows if many_out else rows[0]


def _by_columns(func: Callable[..., Any], inputs: Any) -> Any:
    """jacobian by the tangents of func, which runs once, with a direction for each number of the inputs."""
    from .forward_ad import dual_level, make_dual, unpack_dual

    ins, many_in = _tuple_of(inputs, "inputs", "jacobian")
    sizes, many_out = [t.numel() for t in ins], False
    values: list[Tensor] = []

    def tangents(*directions: Tensor) -> tuple[Tensor, ...]:
        nonlocal many_out
        with dual_level():
            duals = [make_dual(t, d.view_as(t)) for t, d in zip(ins, directions)]
            outs, many_out = _tuple_of(func(*duals), "outputs of the user-provided function", "jacobian")
            pairs = [unpack_dual(t) for t in outs]
        values[:] = [primal for primal, _ in pairs]
        return tuple(torch.zeros_like(primal) if d is None else d for primal, d in pairs)

    directions = [torch.zeros(sum(sizes), n, dtype=t.dtype, device=t.device) for t, n in zip(ins, sizes)]
    for n, rows in enumerate(directions):
        rows.diagonal(-sum(sizes[:n])).fill_(1)
    rows_out = []
    for columns, out in zip(torch.func.vmap(tangents)(*directions), values):
        parts = zip(columns.split(sizes), ins)
        blocks = tuple(part.movedim(0, -1).reshape(out.shape + t.shape) for part, t in parts)
        rows_out.append(blocks if many_in else blocks[0])
    return tuple(rows_out) if many_out else rows_out[0]


def _blocks(i: int, out: Tensor, ins: tuple[Tensor], create_graph: bool, strict: bool) -> list[Tensor]:
    """The derivatives of one output for each input."""
    parts: list[list[Tensor]] = [[] for _ in ins]
    for unit in out.reshape(-1).unbind():
        for n, g in enumerate(_grad((unit,), ins, None, create_graph, True)):
            if strict and g is None:
                raise RuntimeError(f"Output {i} of the user-provided function is independent of input {n}." + _NOT)
            if strict and create_graph and not g.requires_grad:
                raise RuntimeError(_FLAT_GRAPH.format("jacobian", i))
            parts[n].append(torch.zeros_like(ins[n]) if g is None else g)
    return [
        torch.stack(p).reshape(out.shape + x.shape)
        if p
        else torch.zeros(out.shape + x.shape, dtype=x.dtype, device=x.device)
        for p, x in zip(parts, ins)
    ]


def _single_number(func: Callable[..., Any], name: str, strict: bool) -> Callable[..., Any]:
    """func, checked to give a single tensor of one element."""

    def number(*ins: Tensor) -> Tensor:
        out = func(*ins)
        outs, many = _tuple_of(out, "outputs of the user-provided function", name)
        if strict:
            _require(outs, _NO_OUTPUT_GRAD)
        if many:
            raise RuntimeError(f"The function given to {name} should return a single Tensor")
        if out.numel() != 1:
            raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
        return out

    return number


def hessian(
    func: Callable[..., Any],
    inputs: Tensor,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """H[i][j] of a function with a single number as its output; without the indices if `inputs` is one tensor."""
    _, many = _tuple_of(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    number = _single_number(func, "hessian", strict)

    def gradient(*xs: Tensor) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            xs = tuple(map(as_leaf, xs))  # jacobian detaches others
        found = jacobian(lambda *ys: number(*ys).squeeze(), xs, create_graph=True)
        if strict:
            _require(found, _FIXED_JACOBIAN)
        return found

    rows = jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return rows if many else rows[0]


def _gradient_of_number(func: Any, inputs: Any, v: Any, name: str, create_graph: Any, strict: Any) -> Any:
    """(v, inputs, whether a tuple, output, gradient), for the products with the Hessian"""
    v = _v_for_inputs(v, inputs, name, create_graph, "the user-provided function")
    ins, many, outs, _ = _run(_single_number(func, name, strict), inputs, name, create_graph, strict)
    first = _grad(outs, ins, None, True)
    if strict:
        _require(first, _FIXED_JACOBIAN)
    return v, ins, many, outs[0], first


def vhp(func: Any, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(func(*inputs), v^T H) of a function with a single number as its output."""
    with torch.enable_grad():
        v, ins, many, out, first = _gradient_of_number(func, inputs, v, "vhp", create_graph, strict)
    with _C.GradMode(create_graph or torch.is_grad_enabled()):
        found = _filled(_grad(first, ins, v, create_graph), ins, strict, create_graph, _NO_VHP, "hessian")
    return _shown((out,), False, create_graph), _shown(found, many, create_graph)


def hvp(func: Any, inputs: Any, v: Any = None, create_graph: Any = False, strict: Any = False) -> Any:
    """(func(*inputs), H v) of a function with a single number as its output, by differentiating twice more."""
    with torch.enable_grad():
        v, ins, many, out, first = _gradient_of_number(func, inputs, v, "hvp", create_graph, strict)
        u = tuple(torch.zeros_like(t, requires_grad=True) for t in ins)
        back = _grad(first, ins, u, True)
        if strict:
            _require(first, _FIXED_HESSIAN)
    with _C.GradMode(create_graph or torch.is_grad_enabled()):
        found = _filled(_grad(back, u, v, create_graph), ins, strict, create_graph, _NO_HVP, "hessian")
    return _shown((out,), False, create_graph), _shown(found, many, create_graph)
