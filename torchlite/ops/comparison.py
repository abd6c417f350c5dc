"""Comparisons, logical operations, maxima and minima of two tensors."""

import torchlite as torch
from ._declare import op
from ._out import Out
from .binary import _as_tensor


def _pair(t):
    return [(t(3, 4), t(3, 4)), (t(3, 4), t(4)), (t(5), 0.5)]


def _tensors(t):
    return [(t(3, 4), t(3, 4)), (t(3, 4), t(4))]


@op(
    "eq.Tensor(Tensor self, Tensor other) -> Tensor",
    "eq.Scalar(Tensor self, Scalar other) -> Tensor",
    kernel="eq",
    inplace=True,
    out=True,
    tags="pointwise",
    grad=None,
    differentiable=False,
    samples=_pair,
)
def eq(self, other):
    """self == other, element by element, as bool."""


@op(
    "ne.Tensor(Tensor self, Tensor other) -> Tensor",
    "ne.Scalar(Tensor self, Scalar other) -> Tensor",
    kernel="ne",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("not_equal",),
    grad=None,
    differentiable=False,
    samples=_pair,
)
def ne(self, other):
    """self != other, element by element, as bool."""
    return torch.logical_not(torch.eq(self, other))


@op(
    "lt.Tensor(Tensor self, Tensor other) -> Tensor",
    "lt.Scalar(Tensor self, Scalar other) -> Tensor",
    kernel="lt",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("less",),
    grad=None,
    differentiable=False,
    samples=_pair,
)
def lt(self, other):
    """self < other, element by element, as bool."""


@op(
    "le.Tensor(Tensor self, Tensor other) -> Tensor",
    "le.Scalar(Tensor self, Scalar other) -> Tensor",
    kernel="le",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("less_equal",),
    grad=None,
    differentiable=False,
    samples=_pair,
)
def le(self, other):
    """self <= other, element by element, as bool."""
    return torch.lt(self, other) | torch.eq(self, other)


@op(
    "gt.Tensor(Tensor self, Tensor other) -> Tensor",
    "gt.Scalar(Tensor self, Scalar other) -> Tensor",
    kernel="gt",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("greater",),
    grad=None,
    differentiable=False,
    samples=_pair,
)
def gt(self, other):
    """self > other, element by element, as bool."""
    return torch.lt(_as_tensor(other, self), self)


@op(
    "ge.Tensor(Tensor self, Tensor other) -> Tensor",
    "ge.Scalar(Tensor self, Scalar other) -> Tensor",
    kernel="ge",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("greater_equal",),
    grad=None,
    differentiable=False,
    samples=_pair,
)
def ge(self, other):
    """self >= other, element by element, as bool."""
    return torch.gt(self, other) | torch.eq(self, other)


@op(
    "logical_and(Tensor self, Tensor other) -> Tensor",
    kernel="logical_and",
    inplace=True,
    out=True,
    tags="pointwise",
    grad=None,
    differentiable=False,
    samples=_tensors,
)
def logical_and(self, other):
    """True where both elements are non-zero."""
    return (self != 0) & (other != 0)


@op(
    "logical_or(Tensor self, Tensor other) -> Tensor",
    kernel="logical_or",
    inplace=True,
    out=True,
    tags="pointwise",
    grad=None,
    differentiable=False,
    samples=_tensors,
)
def logical_or(self, other):
    """True where at least one element is non-zero."""
    return (self != 0) | (other != 0)


@op(
    "logical_xor(Tensor self, Tensor other) -> Tensor",
    kernel="logical_xor",
    inplace=True,
    out=True,
    tags="pointwise",
    grad=None,
    differentiable=False,
    samples=_tensors,
)
def logical_xor(self, other):
    """True where exactly one element is non-zero."""
    return (self != 0) != (other != 0)


# at ties the gradient is shared
def _share(g, a, b, loses):
    return torch.where(a == b, g / 2, g).masked_fill_(loses, 0)


@op(
    "maximum(Tensor self, Tensor other) -> Tensor",
    kernel="maximum",
    out=True,
    tags="pointwise",
    grad={
        "self": lambda c, g: _share(g, c.self, c.other, c.self < c.other),
        "other": lambda c, g: _share(g, c.self, c.other, c.self > c.other),
    },
    samples=_tensors,
)
def maximum(self, other):
    """The larger of two elements; NaN if either is."""
    return torch.where((self > other) | (self != self), self, other)


@op(
    "minimum(Tensor self, Tensor other) -> Tensor",
    kernel="minimum",
    out=True,
    tags="pointwise",
    grad={
        "self": lambda c, g: _share(g, c.self, c.other, c.self > c.other),
        "other": lambda c, g: _share(g, c.self, c.other, c.self < c.other),
    },
    samples=_tensors,
)
def minimum(self, other):
    """The smaller of two elements; NaN if either is."""
    return torch.where((self < other) | (self != self), self, other)


@op(
    "max.other(Tensor self, Tensor other) -> Tensor",
    out=Out(tags="ordered", by="maximum"),
    tags="pointwise",
    samples=_tensors,
)
def max(self, other):
    """The larger of two elements, as `maximum`."""
    return torch.maximum(self, other)


@op(
    "min.other(Tensor self, Tensor other) -> Tensor",
    out=Out(tags="ordered", by="minimum"),
    tags="pointwise",
    samples=_tensors,
)
def min(self, other):
    """The smaller of two elements, as `minimum`."""
    return torch.minimum(self, other)


def _f_grad(g, takes_self, first):
    return g.masked_fill(~takes_self if first else takes_self, 0)


@op(
    "fmax(Tensor self, Tensor other) -> Tensor",
    kernel="fmax",
    out=True,
    tags="pointwise",
    grad={
        "self": lambda c, g: _f_grad(g, (c.self >= c.other) | c.other.isnan(), True),
        "other": lambda c, g: _f_grad(g, (c.self >= c.other) | c.other.isnan(), False),
    },
    samples=_tensors,
)
def fmax(self, other):
    """The larger of two elements; a number beats NaN."""
    return torch.where((other > self) | (self != self), other, self)


@op(
    "fmin(Tensor self, Tensor other) -> Tensor",
    kernel="fmin",
    out=True,
    tags="pointwise",
    grad={
        "self": lambda c, g: _f_grad(g, (c.self <= c.other) | c.other.isnan(), True),
        "other": lambda c, g: _f_grad(g, (c.self <= c.other) | c.other.isnan(), False),
    },
    samples=_tensors,
)
def fmin(self, other):
    """The smaller of two elements; a number beats NaN."""
    return torch.where((other < self) | (self != self), other, self)


@op(
    "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
    tags="pointwise",
    grad=None,
    differentiable=False,
    samples=_tensors,
)
def isclose(self, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """|self - other| <= atol + rtol * |other|; infinities are close to themselves, NaN to NaN when `equal_nan`."""
    if self.dtype != other.dtype:
        raise RuntimeError(f"{self.dtype._scalar_type} did not match {other.dtype._scalar_type}")
    if not rtol >= 0:  # NaN, too
        raise RuntimeError(f"rtol must be greater than or equal to zero, but got {rtol:g}")
    if not atol >= 0:
        raise RuntimeError(f"atol must be greater than or equal to zero, but got {atol:g}")
    close = self == other
    if equal_nan and (self.is_floating_point() or self.is_complex()):
        close = close | (self.isnan() & other.isnan())
    if rtol == 0 and atol == 0:
        return close
    a, b = self, other
    if not (a.is_floating_point() or a.is_complex()):
        a, b = a.to(torch.get_default_dtype()), b.to(torch.get_default_dtype())
    allowed = atol + (rtol * b).abs()
    error = (a - b).abs()
    return close | (error.isfinite() & (error <= allowed))


@op(
    "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool",
    grad=None,
    differentiable=False,
)
def allclose(self, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True when all elements are close (see `isclose`)."""
    return bool(torch.isclose(self, other, rtol, atol, equal_nan).all())
