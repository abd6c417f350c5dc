"""out=: which dtypes and shapes an op takes there, and in which words it refuses others, as its declaration says."""

from __future__ import annotations


from .. import _C
from ..ops._out import UNCASTABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from .._types import Overload, Tensor


def arguments(ov: Overload, args: Any, outs: tuple[Tensor]) -> tuple[Tensor | complex | int, ...]:
    """The arguments with the dtype that out asks for."""
    tags = ov.spec.out.tags
    if len(outs) != 1 or not ("factory" in tags or "dtype" in tags):
        return args
    at = next((i for i, p in enumerate(ov.params) if p[0] == "dtype"), None)
    out = outs[0]
    if "floating" in tags and not out.is_floating_point():
        return args
    if "average" in tags:
        if not all(t.is_floating_point() or t.is_complex() for t in (out, args[0])):
            return args  # no mean is whole
        real_out = args[0].is_complex() and not out.is_complex()
        if real_out and ov.spec.out.text is not None:
            return args  # check() refuses the result
        if args[at] is not None and args[at] is not out.dtype:
            raise RuntimeError(
                "Expected out tensor to have dtype %s, but got %s instead" % (args[at]._cpp_type, out.dtype._cpp_type)
            )
        if real_out:
            _C.warn_once("Casting complex values to real discards the imaginary part")
    if at is None or "dtype" in tags and args[at] is not None:
        return args
    if "factory" in tags and "default" not in tags and args[at] is not None and args[at] is not out.dtype:
        raise RuntimeError(
            "dtype %s does not match dtype of out parameter (%s)" % (args[at]._scalar_type, out.dtype._scalar_type)
        )
    return (*args[:at], out.dtype, *args[at + 1 :])


def check(ov: Overload, args: tuple[Any, ...], results: Any, outs: Any) -> None:
    """Raises where the dtype of an out is none that the op writes to."""
    rule = ov.spec.out
    pairs = list(enumerate(zip(results, outs)))
    for i, (r, o) in reversed(pairs) if "backwards" in rule.tags else pairs:
        if r.dtype is o.dtype:
            continue
        text = rule.text(args, r, o, i) if callable(rule.text) else rule.text
        if text is None and "any" not in rule.tags and not _C.can_cast(r.dtype, o.dtype):
            text = UNCASTABLE
        if isinstance(text, Exception):
            raise text
        if text is not None:
            names = {
                "r": r.dtype._scalar_type,
                "o": o.dtype._scalar_type,
                "name": ov.spec.name,
                "part": "values" if i == 0 else "indices",
                "cr": r.dtype._cpp_type,
                "co": o.dtype._cpp_type,
                "narrow": "True" if r.dtype.name == "int32" else "False",
            }
            raise rule.error(text.format_map(names))


def _is_leaf(t: Tensor) -> Any:
    try:
        return t.is_leaf
    except RuntimeError:  # a view of several, whose base was changed
        return False


def check_gradients(ov: Overload, args: Any, ins: Any, outs: Any) -> bool:
    """Raises where out=, or what goes into it, requires a gradient that nothing would give.
    Whether the result goes into out with its history."""
    spec, rule = ov.spec, ov.spec.out
    by = rule.by(*args) if callable(rule.by) else rule.by
    copied = by is None and "copied" in rule.tags or by is not None and by.startswith("aten::")
    refused = False
    if "factory" in rule.tags or "leaf" in rule.tags or spec.grad == {}:
        # no derivative: nothing but a leaf is looked at
        by = "aten::" + spec.name
    if by is not None and by.startswith("aten::"):
        refused = any(o.requires_grad and _is_leaf(o) for o in outs)
    elif spec.differentiable and not copied:
        refused = any(t.requires_grad for t in (*ins, *outs))
    if refused:
        raise RuntimeError(
            "%s(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad." % (by or spec.name)
        )
    return copied


def make(tags: frozenset[str], r: Any, o: Any) -> Any:
    """A factory's result written to out, which takes its shape without the warning of other ops."""
    flat = "flat" in tags
    if (r.numel() == o.numel() if flat else r.shape == o.shape) and "repeats" not in tags:
        _C.check_overlap(o)
    if flat:
        if r.numel() != o.numel():
            if "counts" in tags and o.numel():
                import warnings

                warnings.warn(
                    "The number of elements in the out tensor of shape %s is %d which does not match the computed "
                    "number of elements %d. Note that this may occur as a result of rounding error. "
                    "The out tensor will be resized to a tensor of shape (%d,)."
                    % (list(o.shape), o.numel(), r.numel(), r.numel()),
                    UserWarning,
                    stacklevel=4,
                )
            _C.resize(o, tuple(r.shape))
        r = r.view(o.shape)
    elif r.shape != o.shape:
        _C.resize(o, tuple(r.shape))
    _C.copy(o, r)
    if "factory" in tags and _is_leaf(o):
        o.requires_grad = False  # as the argument of that name says
