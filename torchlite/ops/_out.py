"""The rules of out= in a declaration. `out=True` takes an out of any shape, and of any dtype that the result can be
cast to; other rules are an Out:

    @op("mm(Tensor self, Tensor mat2) -> Tensor", out=Out(EXACT), ...)
"""

from __future__ import annotations


from .. import _C
from .._core.errors import output_shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Out:
    """Which tensors an op takes as out=, how it words the errors for others, and how it resizes and writes out.

    text   The error for an out of another dtype than the result. {r} and {o} stand for the dtypes of result and out,
           {cr} and {co} for their names in C++, {name} for the op, {part} for "values" or "indices". Or a function of
           (arguments, result, out, number of the output) that returns such a text, an exception, or None for no error.
           Without it, every dtype is taken that the result can be cast to.
    error  The type of that error.
    by     The name in the error for tensors that require a gradient: PyTorch composes the op of others, and one of
           these refuses them. Or a function of the arguments that returns the name or None. A name "aten::..." refuses
           only an out that is a leaf, and out gets the result's history.

    tags, the overlap of out with itself and with the arguments:
           apart      it must not share memory with an argument
           ordered    it may share memory with an argument only if it is that tensor
           whole      it must not overlap itself, even if it will be resized
           loose      neither of the two is checked, though the kernel works in place
    gradients:
           leaf       there is no derivative: only an out that is a leaf is refused
           copied     out gets the result's history; a leaf that requires a gradient refuses the copy
           late       dtypes are checked before gradients
    shapes:
           plain      an out of another shape becomes contiguous; otherwise it gets the result's strides
           silent     it is resized without a warning
           flat       it keeps its shape if it has as many elements as the result
           counts     flat, with a warning of its own if it has another number of elements
    the version counter:
           uncounted  the write is not counted, as by PyTorch's kron
           twice      the write is counted twice, as by PyTorch's nanmean
    dtypes:
           any        any dtype is cast
           dtype      if the call names no dtype, out's is computed in
           floating   dtype, but only if out is of floating point
           average    only if out and self are floating point or complex; a dtype that is named must be out's
           backwards  of several results the last one is checked first
    factories:
           factory    silent, and computed in the dtype of out
           default    factory with a default for its argument dtype, which out's replaces
           repeats    factory whose out may be an expanded tensor
    """

    __slots__ = ("text", "error", "by", "tags", "simple")

    def __init__(
        self,
        text: str | Callable[..., str | Exception | None] | None = None,
        tags: str = "",
        by: str | Callable[..., str | None] | None = None,
        error: type[Exception] = RuntimeError,
    ) -> None:
        self.text, self.by, self.error = text, by, error
        self.tags = frozenset(tags.split())
        # a result of out's shape and dtype is just written, if nothing shares memory or requires a gradient
        self.simple = self.tags <= {"apart", "ordered", "whole", "loose", "plain", "any", "backwards"}


EXACT = "Expected out tensor to have dtype {cr}, but got {co} instead"
FOUND = "Found dtype {o} but expected {r}"
SCALAR_TYPE = "expected scalar type {r} but found {o}"
BOOLEAN = "{name} does not support non-boolean outputs."
UNCASTABLE = "result type {r} can't be cast to the desired output type {o}"
SAME_AS_INPUT = "Expected the dtype for input and out to match, but got {r} for input's dtype and {o} for out's dtype."
SELF_AND_RESULT = "{name}(): self and result must have the same scalar type"
INPUT_DTYPE = "result dtype {o} does not match input dtype {r}"
ADDMV = "addmv input tensors must have the same dtype, but got {o}, {r}, and {r}"
SEARCH = (
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on "
    "whether out_int32 flag is True, but we got output tensor's dtype {o} and out_int32 flag is {narrow}"
)
QUANTILE = "quantile() out tensor must be same dtype as the input tensor"


def written_over(x: Any, result: Any) -> Any:
    """The result of an op that PyTorch runs in place, on `x`: it has the dtype and the shape of that."""
    if result.shape != x.shape:
        raise output_shape(x.shape, result.shape)
    if result.dtype == x.dtype:
        return result
    if not _C.can_cast(result.dtype, x.dtype):
        raise RuntimeError(UNCASTABLE.format(r=result.dtype._scalar_type, o=x.dtype._scalar_type))
    return result.to(x.dtype)


def castable(prefix: str, *parts: str) -> Callable[..., str | None]:
    """Refuses what the result cannot be cast to, in the words of linalg; parts: what each result is called there."""

    def text(args: Any, result: Any, out: Any, i: int) -> str | None:
        if _C.can_cast(result.dtype, out.dtype):
            return None
        return (
            f"{prefix}: Expected {parts[i]} to be safely castable from {{r}} dtype, but got {parts[i]} with dtype {{o}}"
        )

    return text


def uncastable(text: str) -> Callable[..., str | None]:
    """Refuses what the result cannot be cast to, in these words."""
    return lambda args, result, out, i: None if _C.can_cast(result.dtype, out.dtype) else text


def of_kind(name: str) -> Callable[..., str | None]:
    """fft's: a complex result wants a complex out, a real one any floating point."""

    def text(args: Any, result: Any, out: Any, i: int) -> str | None:
        kind, fits = "floating point", out.is_floating_point()
        if result.is_complex():
            kind, fits = "complex", out.is_complex()
        return None if fits else f"{name} expects a {kind} output tensor, but got {{o}}"

    return text
