"""Special functions: gamma, error function and relatives, Bessel functions, orthogonal polynomials."""

from __future__ import annotations

import math

import torchlite as torch

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
from ._declare import formulas, op
from ._out import Out, UNCASTABLE, uncastable
from .binary import _floats, _xlogy_self
from .unary import _float


def _line(t):
    return [(t(3, 4),), (t(5),)]


def _positive(t):
    return [(t(3, 4, lo=0.2, hi=5),), (t(5, lo=0.2, hi=5),)]


# ---- error function and normal distribution ------------------------------------------------------------------------
@op(
    "erf(Tensor self) -> Tensor",
    kernel="erf",
    inplace=True,
    out=True,
    tags="pointwise reference",
    alias=("special.erf",),
    grad={"self": lambda c, g: 2 / math.sqrt(math.pi) * torch.exp(-(c.self * c.self)) * g},
    samples=_line,
)
def erf(self):
    """Error function, 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    return formulas.erf(self)


@op(
    "erfc(Tensor self) -> Tensor",
    kernel="erfc",
    inplace=True,
    out=True,
    tags="pointwise reference",
    alias=("special.erfc",),
    grad={"self": lambda c, g: -2 / math.sqrt(math.pi) * torch.exp(-(c.self * c.self)) * g},
    samples=_line,
)
def erfc(self):
    """1 - erf(x), exact for large x."""
    return formulas.erfc(self)


@op(
    "erfinv(Tensor self) -> Tensor",
    kernel="erfinv",
    inplace=True,
    out=True,
    tags="pointwise reference",
    alias=("special.erfinv",),
    grad={"self": lambda c, g: math.sqrt(math.pi) / 2 * torch.exp(torch.erfinv(c.self).square()) * g},
    samples=lambda t: [(t(3, 4, lo=-0.9, hi=0.9),)],
)
def erfinv(self):
    """Inverse of erf; NaN outside [-1, 1]."""
    return formulas.erfinv(self)


@op(
    "special_erfcx(Tensor self) -> Tensor",
    kernel="special_erfcx",
    out=True,
    tags="pointwise reference",
    module="special",
    grad={"self": lambda c, g: (2 * c.self * c.result - 2 / math.sqrt(math.pi)) * g},
    samples=_line,
)
def special_erfcx(self):
    """exp(x**2) * erfc(x)."""
    return formulas.special_erfcx(self)


@op(
    "special_ndtr(Tensor self) -> Tensor",
    out=Out(tags="copied plain"),
    tags="pointwise",
    module="special",
    samples=_line,
)
def special_ndtr(self):
    """Normal distribution function: 0.5 * erfc(-x / sqrt(2))."""
    return torch.erfc(self * -math.sqrt(0.5)) * 0.5


@op(
    "special_ndtri(Tensor self) -> Tensor",
    kernel="special_ndtri",
    out=True,
    tags="pointwise reference",
    module="special",
    grad={"self": lambda c, g: g * math.sqrt(2 * math.pi) * (c.result * c.result / 2).exp()},
    samples=lambda t: [(t(3, 4, lo=0.1, hi=0.9),)],
)
def special_ndtri(self):
    """Inverse of the normal distribution function."""
    return formulas.special_ndtri(self)


def _log_ndtr_grad(c, g):
    """The density over the distribution; on the left both vanish, and their ratio does not."""
    left = c.self < -1
    low, high = torch.where(left, c.self, -1.0), torch.where(left, -1.0, c.self)  # no NaN from the side not taken
    ratio = torch.exp(high * high * -0.5) / (torch.special.ndtr(high) * 2)
    return g * math.sqrt(2 / math.pi) * torch.where(left, 1 / torch.special.erfcx(low * -math.sqrt(0.5)), ratio)


@op(
    "special_log_ndtr(Tensor self) -> Tensor",
    kernel="special_log_ndtr",
    out=True,
    tags="pointwise",
    module="special",
    grad={"self": _log_ndtr_grad},
    samples=_line,
)
def special_log_ndtr(self):
    """Logarithm of the normal distribution function, exact for very negative x."""
    t = self * -math.sqrt(0.5)
    below = torch.log(torch.special.erfcx(t) / 2) - t * t
    return torch.where(t > 0.5, below, torch.log1p(torch.erfc(-t) / -2))


@op(
    "special_entr(Tensor self) -> Tensor",
    kernel="special_entr",
    out=True,
    tags="pointwise",
    module="special",
    grad={"self": lambda c, g: g * (-c.self.log() - 1)},
    samples=_positive,
)
def special_entr(self):
    """-x log(x) where x > 0, 0 at 0, -infinity below."""
    return torch.where(self < 0, -math.inf, torch.xlogy(self * -1.0, self))


@op(
    "special_xlog1py(Tensor self, Tensor other) -> Tensor",
    "special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor",
    "special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor",
    kernel="special_xlog1py",
    out=True,
    tags="pointwise",
    module="special",
    grad={"self": lambda c, g: _xlogy_self(g, c.self, c.other, -1), "other": lambda c, g: g * c.self / (c.other + 1)},
    samples=lambda t: [(t(3, 4), t(4, lo=0.2, hi=3)), (t(5), 2.5)],
)
def special_xlog1py(self, other):
    """self * log1p(other); 0 where self is 0, NaN where other is NaN."""
    self, other = _floats(self, other)
    return torch.where((self == 0) & (other == other), 0, self * torch.log1p(other))


# ---- gamma function ----------------------------------------------------------------------------------------------
@op(
    "lgamma(Tensor self) -> Tensor",
    kernel="lgamma",
    inplace=True,
    out=True,
    tags="pointwise reference",
    alias=("special.gammaln",),
    grad={"self": lambda c, g: g * torch.digamma(c.self)},
    samples=_positive,
)
def lgamma(self):
    """log |Gamma(x)|."""
    return formulas.lgamma(self)


@op(
    "digamma(Tensor self) -> Tensor",
    kernel="digamma",
    inplace=True,
    out=True,
    tags="pointwise reference",
    alias=("special.digamma", "special.psi"),
    grad={"self": lambda c, g: g * torch.polygamma(1, c.self)},
    samples=_positive,
)
def digamma(self):
    """Derivative of log Gamma(x)."""
    return formulas.digamma(self)


@op(
    "polygamma(int n, Tensor self) -> Tensor",
    kernel="polygamma",
    out=Out(tags="ordered"),
    tags="pointwise reference",
    variants="function",
    alias=("special.polygamma",),
    grad={"self": lambda c, g: g * torch.polygamma(c.n + 1, c.self)},
    samples=lambda t: [(1, t(3, 4, lo=0.2, hi=5)), (3, t(5, lo=0.2, hi=5))],
)
def polygamma(n, self):
    """The n-th derivative of digamma."""
    return formulas.polygamma(n, self)


@op("polygamma(Tensor self, int n) -> Tensor", variants="method", tags="pointwise")
def _polygamma_method(self, n):
    """The n-th derivative of digamma."""
    return torch.polygamma(n, self)


@op("polygamma_(Tensor(a!) self, int n) -> Tensor(a!)", variants="method", tags="pointwise")
def polygamma_(self, n):
    """In-place polygamma."""
    from ..autograd._inplace import before_change

    result = torch.polygamma(n, before_change(self))
    _C.check_cast(result.dtype, self.dtype)
    return self.copy_(result)


def _mvlgamma_terms(x, p):
    return x.unsqueeze(-1) + torch.arange(-p / 2 + 0.5, 0.25, 0.5, dtype=x.dtype, device=x.device)


@op(
    "mvlgamma(Tensor self, int p) -> Tensor",
    inplace=True,
    out=Out(uncastable("mvlgamma: " + UNCASTABLE)),
    tags="pointwise",
    alias=("special.multigammaln",),
    grad={"self": lambda c, g: g * torch.digamma(_mvlgamma_terms(c.self, c.p)).sum(-1)},
    samples=lambda t: [(t(3, 4, lo=2.1, hi=6), 3)],
)
def mvlgamma(self, p):
    """Logarithm of the multivariate gamma function of dimension p."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if self.dtype == torch.bool:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    x = self if self.is_floating_point() or self.is_complex() else self.to(torch.get_default_dtype())
    return torch.lgamma(_mvlgamma_terms(x, p)).sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


def _igamma_slope(a, x):
    return torch.exp((a - 1) * torch.log(x) - x - torch.lgamma(a))


@op(
    "igamma(Tensor self, Tensor other) -> Tensor",
    kernel="igamma",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("special.gammainc",),
    grad={"other": lambda c, g: g * _igamma_slope(c.self, c.other)},
    samples=lambda t: [(t(3, 4, lo=0.3, hi=5, requires_grad=False), t(4, lo=0.3, hi=5))],
)
def igamma(self, other):
    """Lower regularized incomplete gamma function P(self, other)."""


@op(
    "igammac(Tensor self, Tensor other) -> Tensor",
    kernel="igammac",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("special.gammaincc",),
    grad={"other": lambda c, g: -g * _igamma_slope(c.self, c.other)},
    samples=lambda t: [(t(3, 4, lo=0.3, hi=5, requires_grad=False), t(4, lo=0.3, hi=5))],
)
def igammac(self, other):
    """Upper regularized incomplete gamma function, 1 - igamma."""


@op(
    "special_zeta(Tensor self, Tensor other) -> Tensor",
    "special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor",
    "special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor",
    kernel="special_zeta",
    out=True,
    tags="pointwise reference",
    module="special",
    grad={"other": lambda c, g: g * -c.self * torch.special.zeta(c.self + 1, c.other)},
    samples=lambda t: [(t(3, 4, lo=1.5, hi=5, requires_grad=False), t(4, lo=0.3, hi=5))],
)
def special_zeta(self, other):
    """Hurwitz zeta function: the sum over k >= 0 of (other + k)**-self."""
    return formulas.special_zeta(self, other)


# ---- Bessel functions ----------------------------------------------------------------------------------------------
@op(
    "i0(Tensor self) -> Tensor",
    kernel="i0",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("special.i0",),
    grad={"self": lambda c, g: g * torch.special.i1(c.self)},
    samples=_line,
)
def i0(self):
    """Modified Bessel function of the first kind, order 0."""
    half = torch.exp(_float(self).abs() / 2)
    return half * torch.special.i0e(self) * half


@op(
    "special_i0e(Tensor self) -> Tensor",
    kernel="special_i0e",
    out=True,
    tags="pointwise reference",
    module="special",
    grad={"self": lambda c, g: g * (torch.special.i1e(c.self) - c.self.sgn() * c.result)},
    samples=_line,
)
def special_i0e(self):
    """exp(-|x|) * i0(x)."""
    return formulas.special_i0e(self)


def _slope_at_zero(x, slope):
    """slope(x, 1 / x), and at 0 its limit 1/2, which does not change with x to the second order."""
    tiny = (x.abs() > torch.finfo(x.dtype).eps).logical_not()  # NaN too, as in PyTorch
    x = torch.where(tiny, 1, x)
    return torch.where(tiny, 0.5, slope(x, x.reciprocal()))


@op(
    "special_i1(Tensor self) -> Tensor",
    kernel="special_i1",
    out=True,
    tags="pointwise",
    module="special",
    grad={"self": lambda c, g: g * _slope_at_zero(c.self, lambda x, r: torch.i0(x) - c.result * r)},
    samples=_line,
)
def special_i1(self):
    """Modified Bessel function of the first kind, order 1."""
    half = torch.exp(_float(self).abs() / 2)
    return half * torch.special.i1e(self) * half


@op(
    "special_i1e(Tensor self) -> Tensor",
    kernel="special_i1e",
    out=True,
    tags="pointwise reference",
    module="special",
    grad={
        "self": lambda c, g: g * _slope_at_zero(c.self, lambda x, r: torch.special.i0e(x) - c.result * (x.sgn() + r))
    },
    samples=_line,
)
def special_i1e(self):
    """exp(-|x|) * i1(x)."""
    return formulas.special_i1e(self)


_NODIFF: dict[str, Any] = {"out": True, "module": "special", "grad": None, "differentiable": False}


def _plain(name, doc, sample=_line, body=None, formula=False):
    def primitive(self):
        pass

    def by_formula(self):
        return getattr(formulas, "special_" + name)(self)

    f = by_formula if formula else body or primitive
    f.__name__, f.__doc__, f.__module__ = "special_" + name, doc, __name__
    tags = "pointwise reference" if formula else "pointwise"
    argument = "x" if name.startswith(("airy", "scaled", "spherical")) else "self"  # PyTorch's names of them
    declared = op(
        f"special_{name}(Tensor {argument}) -> Tensor", kernel="special_" + name, samples=sample, tags=tags, **_NODIFF
    )
    return declared(f)


_plain("bessel_j0", "Bessel function of the first kind, order 0.", formula=True)
_plain("bessel_j1", "Bessel function of the first kind, order 1.", formula=True)
_plain("bessel_y0", "Bessel function of the second kind, order 0.", _positive)
_plain("bessel_y1", "Bessel function of the second kind, order 1.", _positive)
_plain("modified_bessel_i0", "Modified Bessel function of the first kind, order 0.", body=lambda x: torch.i0(x))
_plain("modified_bessel_i1", "Modified Bessel function of the first kind, order 1.", body=lambda x: torch.special.i1(x))
_plain(
    "modified_bessel_k0",
    "Modified Bessel function of the second kind, order 0.",
    _positive,
    lambda x: torch.exp(x * -1.0) * torch.special.scaled_modified_bessel_k0(x),
)
_plain(
    "modified_bessel_k1",
    "Modified Bessel function of the second kind, order 1.",
    _positive,
    lambda x: torch.exp(x * -1.0) * torch.special.scaled_modified_bessel_k1(x),
)
_plain("scaled_modified_bessel_k0", "exp(x) * modified_bessel_k0(x).", _positive, formula=True)
_plain("scaled_modified_bessel_k1", "exp(x) * modified_bessel_k1(x).", _positive, formula=True)
_plain(
    "spherical_bessel_j0",
    "Spherical Bessel function of the first kind, order 0: sin(x) / x.",
    body=lambda x: torch.where(torch.isinf(x), 0, torch.where(x == 0, 1, torch.sin(x) / x)),
)
_plain("airy_ai", "Airy function Ai.")


# ---- orthogonal polynomials ----------------------------------------------------------------------------------------
def _recurrence(x, n, first, step):
    """p_n(x), with p_0 = 1, p_1 = first(x) and p_k+1 = step(x, k, p_k, p_k-1); 0 for degrees below 0."""
    x, n = torch.broadcast_tensors(*_floats(x, n))
    n = torch.where(torch.isfinite(n), n, -1).trunc()
    p, q, result = torch.ones_like(x), first(x), torch.where(n == 0, 1, torch.zeros_like(x))
    for k in range(1, int(n.max()) + 1 if n.numel() else 0):
        result = torch.where(n == k, q, result)
        p, q = q, step(x, k, q, p)
    return result


def _chebyshev(x, k, q, p):
    return 2 * x * q - p


def _polynomial(name, doc, first=None, step=_chebyshev, shifted=None):
    if shifted:

        def f(x, n):
            return getattr(torch.special, shifted)(x * 2.0 - 1, n)
    else:

        def f(x, n):
            return _recurrence(x, n, first, step)

    full = "special_" + name
    f.__name__, f.__doc__, f.__module__ = full, doc, __name__
    return op(
        f"{full}(Tensor x, Tensor n) -> Tensor",
        f"{full}.x_scalar(Scalar x, Tensor n) -> Tensor",
        f"{full}.n_scalar(Tensor x, Scalar n) -> Tensor",
        kernel=full,
        samples=lambda t: [(t(3, 4, lo=-1, hi=1), 3)],
        **_NODIFF,
    )(f)


_polynomial("chebyshev_polynomial_t", "Chebyshev polynomial of the first kind, T_n(x).", lambda x: x)
_polynomial("chebyshev_polynomial_u", "Chebyshev polynomial of the second kind, U_n(x).", lambda x: 2 * x)
_polynomial("chebyshev_polynomial_v", "Chebyshev polynomial of the third kind, V_n(x).", lambda x: 2 * x - 1)
_polynomial("chebyshev_polynomial_w", "Chebyshev polynomial of the fourth kind, W_n(x).", lambda x: 2 * x + 1)
for _kind in "tuvw":
    _polynomial(
        f"shifted_chebyshev_polynomial_{_kind}", f"{_kind.upper()}_n(2x - 1).", shifted=f"chebyshev_polynomial_{_kind}"
    )
_polynomial(
    "hermite_polynomial_h",
    "Physicists' Hermite polynomial, H_n(x).",
    lambda x: 2 * x,
    lambda x, k, q, p: 2 * x * q - 2 * k * p,
)
_polynomial(
    "hermite_polynomial_he", "Probabilists' Hermite polynomial, He_n(x).", lambda x: x, lambda x, k, q, p: x * q - k * p
)
_polynomial(
    "laguerre_polynomial_l",
    "Laguerre polynomial, L_n(x).",
    lambda x: 1 - x,
    lambda x, k, q, p: ((2 * k + 1 - x) * q - k * p) / (k + 1),
)
_polynomial(
    "legendre_polynomial_p",
    "Legendre polynomial, P_n(x).",
    lambda x: x,
    lambda x, k, q, p: ((2 * k + 1) * x * q - k * p) / (k + 1),
)
