"""torch._foreach_*: an op on each tensor of a list.
`make` derives each function, in place too, from the op of one tensor."""

from __future__ import annotations


from typing import Any

import torchlite as torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._types import Tensor


_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round "
    "rsqrt sigmoid sign sin sinh sqrt tan tanh trunc zero"
).split()
# a list, a number, a list of numbers
_ONE_MORE = "add sub mul div clamp_max clamp_min maximum minimum pow copy".split()
_MORE = ("addcdiv", "addcmul", "lerp")
_NOT_IN_PLACE: dict[str, Any] = {
    "clone": lambda x, memory_format=None: x.clone(memory_format=memory_format or torch.preserve_format),
    "max": lambda x: x.max(),
    "mm": lambda x, mat2: x.mm(mat2),
    "norm": lambda x, ord=2, dtype=None: torch.linalg.vector_norm(x, ord, dtype=dtype),
    "powsum": lambda x, ord=2, dtype=None: x.abs().pow(ord).sum(dtype=dtype),
}
_FOR_NUMBERS = {"maximum": "clamp_min", "minimum": "clamp_max"}
_FOR_TENSORS = {"clamp_min": "maximum", "clamp_max": "minimum"}
_ONCE = ("alpha", "dtype", "memory_format", "non_blocking", "ord")  # what counts for all tensors
NAMES = frozenset([*_UNARY, *_ONE_MORE, *_MORE, *_NOT_IN_PLACE, *(n + "_" for n in (*_UNARY, *_ONE_MORE, *_MORE))]) - {
    "zero",
    "copy",
}


def _each(a: Any, n: Any, op: Any) -> Any:
    """An argument's part for each of n tensors."""
    if isinstance(a, (list, tuple)):
        if len(a) == n:
            return a
        if a and all(isinstance(t, torch.Tensor) for t in a):
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {n} and {len(a)}")
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    if isinstance(a, torch.Tensor) and op.startswith("addc"):
        if a.dim() != 1:
            raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {a.dim()} instead.")
        if len(a) != n:
            raise RuntimeError(f"Expected length of scalars to match input of length {n} but got {len(a)} instead.")
        return a.tolist()
    if isinstance(a, torch.Tensor) and a.dim():
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {a.dim()} dimensions and {a.numel()} elements."
        )
    return [a] * n


def _call(op: Any, inplace: Any, x: Tensor, args: Any, once: Any) -> Any:
    number = bool(args) and not isinstance(args[0], torch.Tensor)
    if op in _NOT_IN_PLACE:
        return _NOT_IN_PLACE[op](x, *args, **once)
    if op.startswith("addc"):
        args, once = args[:2], {"value": args[2]} if len(args) > 2 else {}
    name = (_FOR_NUMBERS if number else _FOR_TENSORS).get(op, op)
    if name in ("maximum", "minimum") and inplace:  # without an in-place form of their own
        return x.copy_(getattr(torch, name)(x, *args))
    return getattr(x if isinstance(x, torch.Tensor) else torch.as_tensor(x), name + "_" * inplace)(*args, **once)


def make(name: str) -> Any:
    """torch._foreach_<name>."""
    inplace = name.endswith("_")
    op = name.removesuffix("_")

    def foreach(self: Any, *args: Any, **kwargs: Any) -> Any:
        once = {k: kwargs.pop(k) for k in _ONCE if k in kwargs}
        base = op == "pow" and not isinstance(self, (list, tuple))  # a number to the power of each
        tensors, args = (args[0], ()) if base and args else (self, (*args, *kwargs.values()))
        if not isinstance(tensors, (list, tuple)):
            raise TypeError(
                f"_foreach_{name}(): argument 'self' (position 1) must be tuple of Tensors, not {type(self).__name__}"
            )
        if not tensors:
            raise RuntimeError("Tensor list must have at least one tensor.")
        for i, t in enumerate(tensors):
            if not isinstance(t, torch.Tensor):
                raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
        if base:
            return tuple(torch.pow(self, t) for t in tensors)
        if op in ("norm", "powsum") and args:
            once.update(zip(("ord", "dtype"), args))
            args = ()
        parts = [_each(a, len(tensors), op) for a in args]
        results = [_call(op, inplace, t, [p[i] for p in parts], once) for i, t in enumerate(tensors)]
        return self if inplace else tuple(results)

    foreach.__name__ = foreach.__qualname__ = "_foreach_" + name
    foreach.__module__ = "torch"
    return foreach
