"""Comparison of analytical gradients with central differences: gradcheck, gradgradcheck.

J is the matrix of d output / d input, a row for each element of the input. Slow mode compares all of it;
fast mode compares v^T J u for random u and v. A complex output counts as two real ones.
For a complex input z = x + iy the entry is d/dx + i d/dy, as gradients have it.
"""

from __future__ import annotations


import itertools
import warnings
from typing import Any

import torchlite as torch

from . import forward_ad
from ._node import as_leaf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from .._types import Generator, Tensor


class GradcheckError(RuntimeError):
    """A check of gradients failed."""


_NONDETERMINISTIC = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
    "different values, although analytical gradient matches numerical gradient.The tolerance "
    "for nondeterminism was %s."
)
_BATCHED = "gradcheck or gradgradcheck failed while testing batched gradient computation."
_UNDEFINED = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, "
    "but it may break existing callers "
    'of this function. If this is true for you, you can call this function with "check_undefined_grad=False" '
    "to disable the feature"
)
_NOTES = 'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
_SLOW_TOO = (
    "\nThe above quantities relating the numerical and analytical jacobians are computed \nin fast mode. "
    "Below, we recompute numerical and analytical jacobians in slow mode:\n\nNumerical:\n %s\nAnalytical:\n%s\n\n"
    "The max per-element difference (slow mode) is: %s.\n"
)
_SLOW_PASSES = (
    "Fast gradcheck failed but element-wise differences are small. This means that the\n"
    "test might've passed in slow_mode!"
)


def _tuple(x: Any) -> tuple[Tensor, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _with_grad(tensors: tuple[Tensor, ...]) -> list[Tensor]:
    return [t for t in tensors if isinstance(t, torch.Tensor) and t.requires_grad]


def _differentiable(out: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(o for o in _tuple(out) if o.requires_grad)


def _check_inputs(inputs: Any) -> None:
    for i, t in enumerate(inputs):
        if not isinstance(t, torch.Tensor) or not t.requires_grad:
            continue
        if t.dtype not in (torch.float64, torch.complex128):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. "
                "This check will likely fail if all the inputs are not of double precision "
                "floating point or complex. ",
                stacklevel=5,
            )
        if t.is_mkldnn:
            continue
        content = t
        if t.layout is not torch.strided:
            content = t._values() if t.is_sparse else t.values()
        if any(stride <= 0 and size > 1 for stride, size in zip(content.stride(), content.size())):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. "
                "You should call .contiguous on the input before passing it to gradcheck."
            )
    if not _with_grad(inputs):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )


# ---- differences -----------------------------------------------------------------------------------------------------
def _difference(fn: Callable[..., Any], inputs: Any, spot: Tensor, step: Any, eps: float, where: str = "") -> Any:
    """(f(x + step) - f(x - step)) / (2 eps) of each output, flat;
    `spot` is a part of an input that shares its memory."""
    keep = spot.clone()
    try:
        spot.copy_(keep - step)
        low = [o.detach().clone() for o in _tuple(fn(*inputs))]
        spot.copy_(keep + step)
        high = [o.detach().clone() for o in _tuple(fn(*inputs))]
    finally:
        spot.copy_(keep)
    for a, b in zip(low, high):
        for kind in ("shape", "dtype"):
            if getattr(a, kind) != getattr(b, kind):
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {kind} when inputs are perturbed {where}by "
                    f"{eps}, but got: {kind}s {getattr(a, kind)} and {getattr(b, kind)}."
                )
    return [((b - a) / (2 * eps)).reshape(-1) for a, b in zip(low, high)]


def _numerical(fn: Callable[..., Any], inputs: tuple[Tensor, ...], x: Tensor, eps: float) -> list[Tensor]:
    """J for each output."""
    data, columns = x.data, []  # changes of x.data are undone, and do not count as changes of x
    for index in itertools.product(*map(range, x.shape)):
        spot = data[index]
        d = _difference(fn, inputs, spot, eps, eps, f"on index {index} ")
        if x.is_complex():
            d = [
                torch.complex(a, b)
                for a, b in zip(d, _difference(fn, inputs, spot, 1j * eps, eps, f"on index {index} "))
            ]
        columns.append(d)
    if not columns:
        return [torch.zeros(0, o.numel(), dtype=x.dtype, device=x.device) for o in _tuple(fn(*inputs))]
    return [torch.stack(c) for c in zip(*columns)]


def _numerical_fast(fn: Any, inputs: Any, x: Any, u: Any, eps: Any) -> list[Tensor]:
    """J u for each output."""
    if not x.is_complex():
        return _difference(fn, inputs, x.data, u.view(x.shape) * eps, eps)
    real = _difference(fn, inputs, x.data, u[0].view(x.shape) * eps, eps)
    return [
        torch.complex(a, b) for a, b in zip(real, _difference(fn, inputs, x.data, u[1].view(x.shape) * (1j * eps), eps))
    ]


# ---- autograd --------------------------------------------------------------------------------------------------------
def _vjp(output: Tensor, wanted: list[Tensor], v: Tensor) -> Any:
    return torch.autograd.grad(output, wanted, v, retain_graph=True, allow_unused=True)


def _units(output: Tensor) -> Iterator[Any]:
    for k in range(output.numel()):
        v = torch.zeros(output.numel(), dtype=output.dtype, device=output.device)
        v[k] = 1
        yield v.view(output.shape)


def _column(x: Tensor, g: Tensor | None) -> Tensor:
    """One output's gradient of the input x, flat; zeros where there is none."""
    if g is None or g.shape != x.shape:
        return torch.zeros_like(x).reshape(-1)
    return g.detach().to(x.dtype).reshape(-1)


def _matrix(wanted: list[Tensor], rows: list[tuple[Tensor | None, ...]]) -> list[Tensor]:
    """J for each input, from the gradients of each element of an output."""
    return [
        torch.stack(
            [_column(x, g) for g in column],
            1,
        )
        if column
        else torch.zeros(x.numel(), 0, dtype=x.dtype, device=x.device)
        for x, column in zip(wanted, zip(*rows) if rows else ((),) * len(wanted))
    ]


def _analytical(output: Any, wanted: Any, vectors: Any, nondet_tol: Any, check_grad_dtypes: Any) -> Any:
    """J, or v^T J as its only column, for each input; computed twice, to see whether it comes out the same."""
    first, again = ([_vjp(output, wanted, v) for v in vectors] for _ in range(2))
    for row in first:
        for g, x in zip(row, wanted):
            if g is not None and g.dtype != x.dtype and check_grad_dtypes:
                raise GradcheckError("Gradient has dtype mismatch")
            if g is not None and g.shape != x.shape:
                raise GradcheckError("Analytical gradient has incorrect size")
    first, again = _matrix(wanted, first), _matrix(wanted, again)
    if any(a.numel() and (a - b).abs().max() > nondet_tol for a, b in zip(first, again)):
        raise GradcheckError(_NONDETERMINISTIC % nondet_tol)
    return first


def _close(a: Tensor, n: Tensor, rtol: float, atol: float) -> bool:
    dtype = torch.promote_types(a.dtype, n.dtype)
    return torch.allclose(a.to(dtype), n.to(a.device, dtype), rtol, atol)


def _mismatch(part: _NoPart, i: int, j: int, n: Tensor, a: Tensor) -> str:
    return part[i] + f"Jacobian mismatch for output {i} with respect to input {j},\nnumerical:{n}\nanalytical:{a}\n"


class _NoPart(dict):
    def __missing__(self, key: int) -> str:
        return ""


def _compare_all(
    fn: Callable[..., Any],
    inputs: tuple[Tensor, ...],
    made: tuple[Tensor, ...],
    wanted: list[Tensor],
    part: _NoPart,
    o: _Options,
) -> None:
    numerical = [_numerical(fn, inputs, x, o.eps) for x in wanted]
    if not _differentiable(made):
        floats = [o.is_floating_point() or o.is_complex() for o in made]
        if any(bool((j != 0).any()) for js in numerical for j, counts in zip(js, floats) if counts):
            raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    for i, (k, output) in enumerate((k, out) for k, out in enumerate(made) if out.requires_grad):
        for j, a in enumerate(_analytical(output, wanted, list(_units(output)), o.nondet_tol, o.check_grad_dtypes)):
            if not _close(a, numerical[j][k], o.rtol, o.atol):
                raise GradcheckError(_mismatch(part, i, j, numerical[j][k], a))


def _tangents(fn: Callable[..., Any], inputs: tuple[Any, ...], x: Tensor, u: Tensor) -> list[Tensor]:
    """Forward-mode AD's derivative of each output along the change u of the input x, flat."""

    def dual(t: Any) -> Any:
        if not (isinstance(t, torch.Tensor) and t.requires_grad):
            return t
        return forward_ad.make_dual(as_leaf(t.detach()), u.reshape(t.shape) if t is x else torch.zeros_like(t))

    with forward_ad.dual_level():
        duals = [dual(t) for t in inputs]
        pairs = [forward_ad.unpack_dual(o) for o in _tuple(fn(*duals))]
        return [(torch.zeros_like(p) if tangent is None else tangent).detach().reshape(-1) for p, tangent in pairs]


def _check_forward(func: Callable[..., Any], inputs: tuple[Any, ...], o: _Options) -> None:
    """The tangents of forward-mode AD against differences: a row for each element of an input, or one along random
    numbers; of a complex input first its imaginary part, then its real part."""
    generator = torch.Generator().manual_seed(0)
    wanted = _with_grad(inputs)
    some_complex = any(x.is_complex() for x in wanted)
    for name, unit in (("imaginary", 1j), ("real", 1)) if some_complex else (("", 1),):
        part = f"While considering the {name} part of complex inputs only, " if some_complex else ""
        for j, x in enumerate(wanted):
            if unit == 1j and not x.is_complex():
                continue
            units = [_random(x, generator)] if o.fast else [u.abs() for u in _units(x)]
            us = [u.reshape(x.shape).to(x.dtype) * unit for u in units]
            rows = [(_difference(func, inputs, x.data, u * o.eps, o.eps), _tangents(func, inputs, x, u)) for u in us]
            for k in range(len(rows[0][1]) if rows else 0):
                n, a = (torch.stack([row[side][k] for row in rows]) for side in (0, 1))
                if not _close(a, n, o.rtol, o.atol):
                    raise GradcheckError(
                        part + f"Jacobian computed with forward mode mismatch for output {k} with respect to input {j},"
                        f"\nnumerical:{n}\nanalytical:{a}\n"
                    )


def _check_undefined_forward(func: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    """An input without a tangent counts as one whose tangent is zeros."""
    inputs = tuple(as_leaf(x.detach(), x.requires_grad) if isinstance(x, torch.Tensor) else x for x in inputs)
    generator = torch.Generator().manual_seed(0)  # the caller's random numbers stay as they are

    def direction(x: Tensor) -> Tensor:
        return (torch.rand(x.shape, generator=generator, dtype=torch.float64, device="cpu") - 0.5).to(x.device, x.dtype)

    us = {i: direction(x) for i, x in enumerate(inputs) if isinstance(x, torch.Tensor) and x.requires_grad}
    for at in us:
        found = []
        for given in ({**us, at: us[at] * 0}, {i: u for i, u in us.items() if i != at}):
            with forward_ad.dual_level():
                duals = [forward_ad.make_dual(x, given[i]) if i in given else x for i, x in enumerate(inputs)]
                found.append([forward_ad.unpack_dual(t).tangent for t in _tuple(func(*duals))])
        for k, (a, b) in enumerate(zip(*found)):
            if a is not None and b is not None and not torch.allclose(a, b):
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index {k} when input {at} has an undefined tangent "
                    f"value. Got: {a} but expected: {b}"
                )


def _check_batched_forward(func: Callable[..., Any], inputs: tuple[Tensor, ...]) -> None:
    """vmap over the tangents gives those of each by itself."""
    for j, x in enumerate(_with_grad(inputs)):

        def jvp(u: Tensor, x: Tensor = x) -> tuple[Tensor, ...]:
            return tuple(_tangents(func, inputs, x, u))

        for i, got, expected in _unlike_batched(jvp, [torch.randn_like(x).detach() for _ in range(2)]):
            raise GradcheckError(
                f"For input {j} and output {i}:\n\n{_BATCHED}\n\nGot:\n{got}\n\nExpected:\n{expected}\n".strip()
            )


def _unlike_batched(
    f: Callable[[Tensor], tuple[Tensor, ...]], vectors: list[Tensor]
) -> Iterator[tuple[int, Tensor, Tensor]]:
    """(number, from vmap, one by one) of each result of f that vmap computes otherwise."""
    expected = [torch.stack(c) for c in zip(*map(f, vectors))]
    try:
        got = torch.func.vmap(f)(torch.stack(vectors))
    except RuntimeError as e:
        raise GradcheckError(f"While computing batched gradients, got: {e}\n\n{_BATCHED}") from e
    for i, (a, b) in enumerate(zip(got, expected)):
        if not torch.allclose(a, b):
            yield i, a, b


def _random(x: Tensor, generator: Generator) -> Tensor:
    v = torch.rand(x.numel(), generator=generator, dtype=torch.float64, device="cpu")
    return (v / v.norm()).to(x.dtype.to_real() if x.is_complex() else x.dtype).to(x.device)


def _compare_projected(
    fn: Callable[..., Any],
    inputs: tuple[Tensor | int, ...],
    made: tuple[Tensor, ...],
    wanted: list[Tensor],
    part: _NoPart,
    o: _Options,
) -> None:
    generator = torch.Generator().manual_seed(0)  # the caller's random numbers stay as they are
    us: list[Any] = [
        (_random(x, generator), _random(x, generator)) if x.is_complex() else _random(x, generator) for x in wanted
    ]
    numerical = [_numerical_fast(fn, inputs, x, u, o.eps) for x, u in zip(wanted, us)]
    if not _differentiable(made):
        if any(d.numel() and d.abs().max() > o.nondet_tol for ds in numerical for d in ds):
            raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    for i, (k, output) in enumerate((k, out) for k, out in enumerate(made) if out.requires_grad):
        v = _random(output, generator)
        found = _analytical(output, wanted, [v.view(output.shape)], o.nondet_tol, o.check_grad_dtypes)
        for j, (x, u, g) in enumerate(zip(wanted, us, found)):
            g = g.reshape(-1)
            d = numerical[j][k]
            if x.is_complex():
                a, n = torch.complex(g.real.dot(u[0]), g.imag.dot(u[1])), torch.complex(d.real.dot(v), d.imag.dot(v))
                room = float(u[0].sum() + u[1].sum())
            else:
                d = d.to(torch.promote_types(d.dtype, v.dtype))
                a, n, room = g.dot(u), d.dot(v.to(d.dtype)), float(u.sum())
            if not _close(a, n, o.rtol, o.atol * room * float(v.sum())):
                raise GradcheckError(_mismatch(part, i, j, n, a) + _in_slow_mode(fn, inputs, wanted, j, k, output, o))


def _in_slow_mode(
    fn: Callable[..., Any], inputs: Any, wanted: list[Tensor], j: int, k: int, output: Tensor, o: _Options
) -> str:
    n = _numerical(fn, inputs, wanted[j], o.eps)[k]
    a = _analytical(output, wanted, list(_units(output)), o.nondet_tol, False)[j]
    return _SLOW_TOO % (n, a, (n - a).abs().max()) + (_SLOW_PASSES if _close(a, n, o.rtol, o.atol) else "")


# ---- the other checks ------------------------------------------------------------------------------------------------
def _check_batched(inputs: tuple[Tensor, ...], output: Tensor, i: int) -> None:
    """vmap over the backward gives the gradients of each vector by itself."""
    wanted = _with_grad(inputs)

    def vjp(v: Tensor) -> tuple[Tensor, ...]:
        return tuple(torch.zeros_like(x) if g is None else g for g, x in zip(_vjp(output, wanted, v), wanted))

    for j, got, expected in _unlike_batched(vjp, [torch.randn_like(output) for _ in range(2)]):
        raise GradcheckError(
            f"For output {i} and input {j}:\n\n{_BATCHED}\n\nGot:\n{got}\n\nExpected:\n{expected}\n".strip()
        )


def _check_zero_in_zero_out(outputs: tuple[Tensor, ...], inputs: tuple[Tensor, ...], masked: bool | None) -> None:
    wanted = _with_grad(inputs)
    grads = (
        torch.autograd.grad(
            outputs, wanted, [torch.zeros_like(o) for o in outputs], retain_graph=True, allow_unused=True
        )
        if outputs
        else ()
    )
    for g, x in zip(grads, wanted):
        if g is None:
            continue
        if not (torch.allclose(g, torch.zeros_like(g)) if masked else bool((g == 0).all())):
            raise GradcheckError("backward not multiplied by grad_output")
        if g.dtype != x.dtype:
            raise GradcheckError("grad is incorrect type")
        if g.device != x.device:
            raise GradcheckError("grad is incorrect device")
        if g.size() != x.size():
            raise GradcheckError("grad is incorrect size")


def _undefined_everywhere(outputs: tuple[Tensor, ...]) -> list[Any]:
    """The gradients that come of no gradient at all.

    The engine runs no node then, so the nodes are asked here:
    hooks and functions with set_materialize_grads(False) see None.
    """
    todo = {o.grad_fn for o in outputs if o.grad_fn is not None}
    seen, found = set(todo), []
    while todo:
        node = max(todo, key=lambda n: n._sequence_nr())
        todo.remove(node)
        hooks = getattr(node, "pre_hooks", None) or {}
        found += [r for nr, hook in list(hooks.values()) if nr is not None for r in [hook(None)] if r is not None]
        if getattr(node, "materialize", True) is False:
            found += [
                g
                for g in _tuple(node(*[None] * (node.outs if isinstance(node.outs, int) else len(node.outs))))
                if g is not None
            ]
        for following, _ in node.edges():
            if following is not None and following not in seen and hasattr(following, "_sequence_nr"):
                seen.add(following)
                todo.add(following)
    return found


def _check_undefined(func: Callable[..., Any], inputs: tuple[Tensor, ...]) -> None:
    wanted = _with_grad(inputs)

    def check(gradients: Callable[..., Any]) -> int:
        outputs = _differentiable(func(*inputs))
        try:
            grads = gradients(outputs)
        except RuntimeError as e:
            warnings.warn(_UNDEFINED, stacklevel=5)
            raise GradcheckError("Expected backward function to handle undefined output grads. " + _NOTES) from e
        if any(g is not None and not bool((g == 0).all()) for g in grads):
            warnings.warn(_UNDEFINED, stacklevel=5)
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are undefined or zero. "
                + _NOTES
            )
        return len(outputs)

    def without(skip: int | None) -> Callable[..., Any]:
        def gradients(outputs: tuple[Tensor, ...]) -> tuple[Tensor | None, ...]:
            rest = [o for i, o in enumerate(outputs) if i != skip]
            return torch.autograd.grad(rest, wanted, [torch.zeros_like(o) for o in rest], allow_unused=True)

        return gradients

    check(_undefined_everywhere)
    count = check(without(None))  # functions that get zeros for absent gradients
    for skip in range(count) if count > 1 else ():
        check(without(skip))


class _Options:
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_grad_dtypes: bool
    backward: bool
    forward: bool
    fast: bool

    def __init__(self, **options: float) -> None:
        self.__dict__.update(options)


def _is_sparse(t: Any) -> bool:
    return t.layout is not torch.strided and not t.is_mkldnn


def gradcheck(
    func: Callable[..., Any],
    inputs: list[Tensor] | tuple[Tensor, ...],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """True when the gradients of func's outputs agree with central differences to atol + rtol * |numerical|.

    inputs: double or complex128 tensors (those that require grad are checked).
    nondet_tol: how far two runs of the backward may differ.
    check_undefined_grad: absent output gradients count as zeros.
    check_grad_dtypes: gradients have the dtype of the inputs.
    check_batched_grad: vmap over the backward agrees. fast_mode: random projections of the Jacobians.
    check_forward_ad: the tangents of forward-mode AD, too; check_backward_ad=False: only these.
    check_batched_forward_grad: vmap over forward-mode AD agrees.
    """
    for wrong, text in (
        (
            not (check_forward_ad or check_backward_ad),
            "Expected at least one of check_forward_ad or check_backward_ad to be True",
        ),
        (
            check_batched_grad and not check_backward_ad,
            "Setting check_batched_grad=True requires check_backward_ad to be True",
        ),
        (
            check_batched_forward_grad and not check_forward_ad,
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True",
        ),
    ):
        if wrong:
            raise AssertionError(text)
    given = _tuple(inputs)
    if masked and any(
        isinstance(t, torch.Tensor) and t._dispatches and t.requires_grad and _is_sparse(t) for t in given
    ):
        from ..sparse._gradcheck import wrap  # only the values are inputs

        return wrap(gradcheck)(
            func,
            given,
            eps=eps,
            atol=atol,
            rtol=rtol,
            raise_exception=raise_exception,
            nondet_tol=nondet_tol,
            check_undefined_grad=check_undefined_grad,
            check_grad_dtypes=check_grad_dtypes,
            check_batched_grad=check_batched_grad,
            check_batched_forward_grad=check_batched_forward_grad,
            check_forward_ad=check_forward_ad,
            check_backward_ad=check_backward_ad,
            fast_mode=fast_mode,
        )
    options = _Options(
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        check_grad_dtypes=check_grad_dtypes,
        backward=check_backward_ad,
        forward=check_forward_ad,
        fast=fast_mode,
    )
    try:
        _gradcheck(
            func,
            given,
            options,
            check_batched_grad,
            check_batched_forward_grad,
            check_undefined_grad,
            masked,
        )
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _gradcheck(
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    options: _Options,
    check_batched_grad: bool,
    check_batched_forward_grad: bool,
    check_undefined_grad: bool,
    masked: bool | None,
) -> None:
    _check_inputs(inputs)
    made = _tuple(func(*inputs))
    outputs = _differentiable(made)
    if options.backward:
        _check_backward(func, inputs, made, options)
    if options.forward:
        _check_forward(func, inputs, options)
    if check_batched_forward_grad:
        _check_batched_forward(func, inputs)
    if options.forward and check_undefined_grad:
        _check_undefined_forward(func, inputs)
    if not options.backward:
        return
    if check_batched_grad:
        for i, o in enumerate(outputs):
            _check_batched(inputs, o, i)
    _check_zero_in_zero_out(outputs, inputs, masked)
    if check_undefined_grad:
        _check_undefined(func, inputs)


def _check_backward(func: Callable[..., Any], inputs: Any, made: tuple[Tensor, ...], options: _Options) -> None:
    """Gradients against differences; those of complex outputs for each part."""
    wanted = _with_grad(inputs)
    compare = _compare_projected if options.fast else _compare_all
    if not any(o.is_complex() for o in made):
        compare(func, inputs, made, wanted, _NoPart(), options)
        return

    def part_of(part: Any) -> Callable[..., Any]:
        return lambda *args: tuple(part(o) if o.is_complex() else o for o in _tuple(func(*args)))

    numbers = [i for i, o in enumerate(_differentiable(made)) if o.is_complex()]
    for name, part in (("imaginary", torch.imag), ("real", torch.real)):
        fn = part_of(part)
        text = f"While considering the {name} part of complex outputs only, "
        compare(fn, inputs, fn(*inputs), wanted, _NoPart({i: text for i in numbers}), options)


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """gradcheck of the gradients themselves, as functions of the inputs and of the output gradients.

    grad_outputs: random ones when left out; with gen_non_contig_grad_outputs they are not contiguous.
    Other options as in gradcheck.
    """
    for wrong, text in (
        (
            not (check_fwd_over_rev or check_rev_over_rev),
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True",
        ),
        (
            check_undefined_grad and not check_rev_over_rev,
            "Setting check_undefined_grad=True requires check_rev_over_rev to be True",
        ),
        (
            check_batched_grad and not check_rev_over_rev,
            "Setting check_batched_grad=True requires check_rev_over_rev to be True",
        ),
    ):
        if wrong:
            raise AssertionError(text)
    given = _tuple(inputs)
    if grad_outputs is None:
        grad_outputs = [
            torch.testing.make_tensor(
                o.shape,
                dtype=o.dtype,
                device=o.device,
                low=-1,
                high=1,
                requires_grad=True,
                noncontiguous=gen_non_contig_grad_outputs,
            )
            for o in _differentiable(func(*given))
        ]
    grad_outputs = _tuple(grad_outputs)
    count = len(given)
    picked = [i for i, t in enumerate(given) if isinstance(t, torch.Tensor) and t.requires_grad]

    def gradients(*args: Any) -> tuple[Tensor, ...]:
        outs = _differentiable(func(*args[:count]))
        found = torch.autograd.grad(outs, [args[i] for i in picked], args[count:], create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradients,
        given + grad_outputs,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        masked=masked,
    )
