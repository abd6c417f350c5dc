"""What a declaration says of out=, where that is more than `out=True`: any shape, and any dtype that the result can
be cast to.

    @op("mm(Tensor self, Tensor mat2) -> Tensor", out=Out(EXACT), ...)
"""

from __future__ import annotations


from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Out:
    """The rules of an op's out=.

    text   the error where the result has another dtype than out: {r} and {o} are these dtypes, {cr} and {co} their
           names in C++, {name} the op, {part} "values" or "indices". Or a function (arguments, result, out, number of
           the output) that gives such a text, an exception, or None. Without it, out takes what the result can be
           cast to
    error  the type of that error
    by     the op of those that PyTorch composes it of that refuses what requires a gradient; or a function of the
           arguments that gives its name, or None. "aten::..." refuses an out that is a leaf only, as `copied` says
    tags   apart    out shares no memory with an argument
           ordered  out shares memory with an argument only where it is the very same tensor
           whole    an out whose elements share memory is refused also where it has another shape
           loose    it need not, though the kernel works in place
           leaf     PyTorch has no derivative: nothing but a leaf is refused
           copied   the result is copied into out with its history, which a leaf that requires a gradient refuses
           late     dtypes are looked at before gradients
           plain    an out of another shape becomes contiguous; it takes the layout of the result otherwise
           uncounted  the write does not count: PyTorch's version of out stays (kron)
           twice    it counts twice (nanmean)
           silent   an out of another shape is resized without a warning
           factory  silent, and computed in the dtype of out
           default  factory, whose argument dtype has a default: it gives way
           repeats  factory, whose out may be an expanded tensor
           flat     an out of another shape, but with as many elements, keeps it
           counts   flat, with a warning of its own where their numbers differ
           dtype    computed in the dtype of out where none is named
           floating of floating point numbers only where out has them too
           average  of floating point or complex numbers only, and a dtype that is named is that of out
           backwards  of several results the last one is looked at first
           any      any dtype is cast
    """

    __slots__ = ("text", "error", "by", "tags")

    def __init__(
        self,
        text: str | Callable[..., str | Exception | None] | None = None,
        tags: str = "",
        by: str | Callable[..., str | None] | None = None,
        error: type[Exception] = RuntimeError,
    ) -> None:
        self.text, self.by, self.error = text, by, error
        self.tags = frozenset(tags.split())


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
