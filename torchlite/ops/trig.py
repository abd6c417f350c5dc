"""Trigonometric and hyperbolic functions."""

import math

import torchlite as torch
from ._declare import op
from .unary import _float


def _line(t):
    return [(t(3, 4),), (t(5),), (t(),)]


def _unit(t):
    return [(t(3, 4, lo=-0.9, hi=0.9),), (t(5, lo=-0.9, hi=0.9),)]


def _asinh(x):
    a = x.abs()
    t = torch.where(a > 1e9, torch.log(a) + math.log(2), torch.log1p(a + a * (a / (1 + torch.sqrt(1 + a * a)))))
    return torch.copysign(t, x)


def _complex_asin(z):
    """By roots of 1 - z and 1 + z, which lose nothing where z is near 1, -1 or large."""
    a, b = torch.sqrt(1 - z.conj()).conj(), torch.sqrt(1 + z)
    return torch.complex(torch.atan2(torch.real(z), torch.real(a * b)), _asinh(torch.imag(a.conj() * b)))


@op(
    "sin(Tensor self) -> Tensor",
    kernel="sin",
    inplace=True,
    out=True,
    tags="pointwise",
    grad={"self": lambda c, g: g * c.self.cos().conj()},
    samples=_line,
)
def sin(self):
    """Sine of radians."""


@op(
    "cos(Tensor self) -> Tensor",
    kernel="cos",
    inplace=True,
    out=True,
    tags="pointwise",
    grad={"self": lambda c, g: g * -c.self.sin().conj()},
    samples=_line,
)
def cos(self):
    """Cosine of radians."""


@op(
    "tan(Tensor self) -> Tensor",
    kernel="tan",
    inplace=True,
    out=True,
    tags="pointwise",
    grad={"self": lambda c, g: g * (1 + c.result * c.result).conj()},
    samples=_unit,
)
def tan(self):
    """Tangent of radians."""
    return torch.sin(self) / torch.cos(self)


@op(
    "asin(Tensor self) -> Tensor",
    kernel="asin",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("arcsin",),
    grad={"self": lambda c, g: g * (1 - c.self * c.self).rsqrt().conj()},
    samples=_unit,
)
def asin(self):
    """Inverse sine, in [-pi/2, pi/2]; NaN outside [-1, 1]."""
    if self.is_complex():
        return _complex_asin(self)
    x = _float(self)
    return torch.atan2(x, torch.sqrt((1 - x) * (1 + x)))


@op(
    "acos(Tensor self) -> Tensor",
    kernel="acos",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("arccos",),
    grad={"self": lambda c, g: g * -(1 - c.self * c.self).rsqrt().conj()},
    samples=_unit,
)
def acos(self):
    """Inverse cosine, in [0, pi]; NaN outside [-1, 1]."""
    if self.is_complex():
        return math.pi / 2 - _complex_asin(self)
    x = _float(self)
    return torch.atan2(torch.sqrt((1 - x) * (1 + x)), x)


@op(
    "atan(Tensor self) -> Tensor",
    kernel="atan",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("arctan",),
    grad={"self": lambda c, g: g / (c.self * c.self + 1).conj()},
    samples=_line,
)
def atan(self):
    """Inverse tangent, in (-pi/2, pi/2)."""
    if self.is_complex():
        return torch.atanh(self * 1j) * -1j
    return torch.atan2(self, torch.ones_like(self))


@op(
    "sinh(Tensor self) -> Tensor",
    kernel="sinh",
    inplace=True,
    out=True,
    tags="pointwise",
    grad={"self": lambda c, g: g * c.self.cosh().conj()},
    samples=_line,
)
def sinh(self):
    """Hyperbolic sine, (e**x - e**-x) / 2."""
    h = self / 2
    return (torch.expm1(h) - torch.expm1(-h)) * (0.5 * (torch.exp(h) + torch.exp(-h)))


@op(
    "cosh(Tensor self) -> Tensor",
    kernel="cosh",
    inplace=True,
    out=True,
    tags="pointwise",
    grad={"self": lambda c, g: g * c.self.sinh().conj()},
    samples=_line,
)
def cosh(self):
    """Hyperbolic cosine, (e**x + e**-x) / 2."""
    s = torch.sinh(self / 2)
    return 1 + 2 * s * s


@op(
    "tanh(Tensor self) -> Tensor",
    kernel="tanh",
    inplace=True,
    out=True,
    tags="pointwise",
    grad={"self": lambda c, g: torch.tanh_backward(g, c.result)},
    samples=_line,
)
def tanh(self):
    """Hyperbolic tangent, sinh(x) / cosh(x)."""
    x = _float(self)
    sign = torch.where(torch.real(x) < 0, -1, 1)
    e = torch.expm1(x * (-2 * sign))
    return e / (e + 2) * -sign


@op(
    "asinh(Tensor self) -> Tensor",
    kernel="asinh",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("arcsinh",),
    grad={"self": lambda c, g: g * (c.self * c.self + 1).rsqrt().conj()},
    samples=_line,
)
def asinh(self):
    """Inverse hyperbolic sine."""
    return _complex_asin(self * 1j) * -1j if self.is_complex() else _asinh(_float(self))


def _acosh_grad(c, g):
    x = c.self
    return g * ((x - 1).rsqrt() * (x + 1).rsqrt()).conj() if x.is_complex() else g * (x * x - 1).rsqrt()


@op(
    "acosh(Tensor self) -> Tensor",
    kernel="acosh",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("arccosh",),
    grad={"self": _acosh_grad},
    samples=lambda t: [(t(3, 4, lo=1.1, hi=5),)],
)
def acosh(self):
    """Inverse hyperbolic cosine, not negative; NaN below 1."""
    x = _float(self)
    if x.is_complex():
        a, b = torch.sqrt(x - 1), torch.sqrt(x + 1)
        return torch.complex(_asinh(torch.real(a.conj() * b)), 2 * torch.atan2(torch.imag(a), torch.real(b)))
    t = x - 1
    return torch.where(x > 1e9, torch.log(x) + math.log(2), torch.log1p(t + torch.sqrt(t) * torch.sqrt(t + 2)))


@op(
    "atanh(Tensor self) -> Tensor",
    kernel="atanh",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("arctanh",),
    grad={"self": lambda c, g: g * 1 / (1 - c.self * c.self).conj()},
    samples=_unit,
)
def atanh(self):
    """Inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond."""
    x = _float(self)
    return (torch.log1p(x) - torch.log1p(-x.conj()).conj()) / 2


def _sinc_grad(c, g):
    x = c.self
    p, square = x * math.pi, x * x * math.pi
    return torch.where(square == 0, 0.0, g * ((p * p.cos() - p.sin()) / square).conj())


@op(
    "sinc(Tensor self) -> Tensor",
    kernel="sinc",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("special.sinc",),
    grad={"self": _sinc_grad},
    samples=_line,
)
def sinc(self):
    """sin(pi x) / (pi x), and 1 at 0."""
    p = self * math.pi
    return torch.where(self == 0, 1, torch.sin(p) / p)


def _atan2_grad(c, g):
    y, x = c.self, c.other
    square = y * y + x * x
    r = square.reciprocal().masked_fill(square == 0, 0)
    return {"self": g * x * r, "other": g * -y * r}


@op(
    "atan2(Tensor self, Tensor other) -> Tensor",
    kernel="atan2",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("arctan2",),
    grad=_atan2_grad,
    samples=lambda t: [(t(3, 4), t(4)), (t(5), t(5))],
)
def atan2(self, other):
    """Angle in (-pi, pi] of the point (x, y) = (other, self)."""


@op(
    "hypot(Tensor self, Tensor other) -> Tensor",
    kernel="hypot",
    inplace=True,
    out=True,
    tags="pointwise",
    grad={"self": lambda c, g: g * (c.self / c.result), "other": lambda c, g: g * (c.other / c.result)},
    samples=lambda t: [(t(3, 4), t(4)), (t(5), t(5))],
)
def hypot(self, other):
    """sqrt(self**2 + other**2), without overflow in between."""
    a, b = self.abs(), other.abs()
    high, low = torch.fmax(a, b), torch.minimum(a, b)
    ratio = low / torch.where(high == 0, 1, high)
    return torch.where(torch.isinf(high), high, high * torch.sqrt(1 + ratio * ratio))
