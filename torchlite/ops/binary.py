"""Arithmetic of two tensors, or of a tensor and a number."""

import math

import torchlite as torch
from .. import _C
from .._core.errors import not_implemented
from ._declare import Nodes, formulas, op
from ._out import Out


def _pair(t):
    return [(t(3, 4), t(3, 4)), (t(3, 4), t(4)), (t(3, 1), t(1, 4)), (t(5), 2.5)]


def _nonzero(t):
    return [(t(3, 4), t(3, 4, lo=0.5, hi=3)), (t(3, 4), t(4, lo=0.5, hi=3)), (t(5), 2.5)]


_conj = _C.conjugate


def _as_tensor(x, other):
    """x, or a number as a 0-dim tensor, which takes part in promotion with other as a number does."""
    if isinstance(x, torch.Tensor):
        return x
    return torch.full((), x, dtype=torch.result_type(other, x), device=other.device)


def _in_dtype(x, number):
    """A parameter beside tensors of x's dtype: among integers it is cut off."""
    return number if x.is_floating_point() or x.is_complex() else int(number)


def _floats(a, b):
    """Both operands in the dtype of their quotient."""
    dtype = torch.result_type(a, b)
    if not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
    return _as_tensor(a, b).to(dtype), _as_tensor(b, a).to(dtype)


def _times(g, alpha):
    return g if isinstance(alpha, int) and alpha == 1 else g * _conj(alpha)


def _of_two(name):
    """The node of an op of two tensors: PyTorch has an edge for a number too."""
    return name, Nodes(name, 0, None)


@op(
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    kernel="add",
    inplace=True,
    out=True,
    tags="pointwise arithmetic",
    node=_of_two("AddBackward0"),
    grad={"self": lambda c, g: g, "other": lambda c, g: _times(g, c.alpha)},
    samples=lambda t: _pair(t) + [(t(3), t(3), {"alpha": 2})],
)
def add(self, other, alpha=1):
    """self + alpha * other."""


@op(
    "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    kernel="sub",
    inplace=True,
    out=True,
    tags="pointwise arithmetic",
    alias=("subtract",),
    node=_of_two("SubBackward0"),
    grad={"self": lambda c, g: g, "other": lambda c, g: -_times(g, c.alpha)},
    samples=lambda t: _pair(t) + [(t(3), t(3), {"alpha": 2})],
)
def sub(self, other, alpha=1):
    """self - alpha * other."""
    return torch.add(self, other, alpha=-alpha)


@op(
    "rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    kernel="rsub",
    tags="pointwise arithmetic",
    variants="function",
    node=("RsubBackward0", "RsubBackward1"),
    grad={"self": lambda c, g: -_times(g, c.alpha), "other": lambda c, g: g},
    samples=_pair,
)
def rsub(self, other, alpha=1):
    """other - alpha * self."""
    return torch.sub(other, self, alpha=alpha)


@op(
    "mul.Tensor(Tensor self, Tensor other) -> Tensor",
    "mul.Scalar(Tensor self, Scalar other) -> Tensor",
    kernel="mul",
    inplace=True,
    out=True,
    tags="pointwise arithmetic",
    alias=("multiply",),
    node=_of_two("MulBackward0"),
    grad={"self": lambda c, g: g * _conj(c.other), "other": lambda c, g: g * _conj(c.self)},
    samples=_pair,
)
def mul(self, other):
    """self * other."""


@op(
    "_scaled(Tensor self, Scalar other) -> Tensor",
    kernel="mul",
    variants="function",
    module="aten",
    node="MulBackward1",
    grad={"self": lambda c, g: torch.ops.functions._scaled(g, c.other.conjugate())},
    samples=lambda t: [(t(3, 4), 2.5)],
)
def _scaled(self, other):
    """self * other, of which nothing is freed by a backward pass: for ops that PyTorch writes in C++."""


@op(
    "div.Tensor(Tensor self, Tensor other) -> Tensor",
    "div.Scalar(Tensor self, Scalar other) -> Tensor",
    kernel="div",
    inplace=True,
    out=True,
    tags="pointwise arithmetic",
    alias=("divide", "true_divide"),
    node=_of_two("DivBackward0"),
    grad={"self": lambda c, g: g / _conj(c.other), "other": lambda c, g: -g * ((c.self / c.other) / c.other).conj()},
    samples=_nonzero,
)
def div(self, other):
    """self / other; integers give floats."""


@op(
    "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    "div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
    kernel="div",
    node=lambda a: "DivBackward2" if a[2] else "DivBackward0",
    inplace=True,
    out=True,
    tags="pointwise arithmetic",
    alias=("divide",),
    grad={
        "self": lambda c, g: g / _conj(c.other) if c.rounding_mode is None else torch.zeros_like(g),
        "other": lambda c, g: (
            -g * ((c.self / c.other) / c.other).conj() if c.rounding_mode is None else torch.zeros_like(g)
        ),
    },
    samples=lambda t: [
        (t(3, 4), t(4, lo=0.5, hi=3), {"rounding_mode": "floor"}),
        (t(5), 2.5, {"rounding_mode": "trunc"}),
    ],
)
def div_mode(self, other, rounding_mode):
    """self / other, rounded down ("floor") or towards zero ("trunc"); integers stay integers then."""


@op(
    "floor_divide(Tensor self, Tensor other) -> Tensor",
    "floor_divide.Scalar(Tensor self, Scalar other) -> Tensor",
    kernel="floor_divide",
    inplace=True,
    out=True,
    tags="pointwise",
    grad={},
    samples=_nonzero,
)
def floor_divide(self, other):
    """self / other rounded down, as Python's //."""
    return torch.div(self, other, rounding_mode="floor")


@op(
    "remainder.Tensor(Tensor self, Tensor other) -> Tensor",
    "remainder.Scalar(Tensor self, Scalar other) -> Tensor",
    "remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    kernel="remainder",
    node=("RemainderBackward1", "RemainderBackward0", "RemainderBackward2"),
    inplace=True,
    out=True,
    tags="pointwise",
    grad={"self": lambda c, g: g, "other": lambda c, g: -g * torch.div(c.self, c.other, rounding_mode="floor")},
    samples=_nonzero,
)
def remainder(self, other):
    """self - other * floor(self / other), as Python's %: the sign is the divisor's."""
    m = torch.fmod(self if isinstance(self, torch.Tensor) else _as_tensor(self, other), other)
    return torch.where((m != 0) & ((m < 0) != (other < 0)), m + other, m)


@op(
    "fmod.Tensor(Tensor self, Tensor other) -> Tensor",
    "fmod.Scalar(Tensor self, Scalar other) -> Tensor",
    kernel="fmod",
    node=("FmodBackward1", "FmodBackward0"),
    inplace=True,
    out=True,
    tags="pointwise",
    grad={"self": lambda c, g: g, "other": lambda c, g: -g * torch.div(c.self, c.other, rounding_mode="trunc")},
    samples=_nonzero,
)
def fmod(self, other):
    """self - other * trunc(self / other), as C's fmod: the sign is the dividend's."""


def _pow_self(g, x, e):
    if not isinstance(e, torch.Tensor):
        return torch.zeros_like(g) if e == 0 else g * (e * x.pow(e - 1)).conj()
    return torch.where(e == 0, 0.0, g * (e * x.pow(e - 1)).conj())


def _pow_exponent(g, x, e, result):
    if not isinstance(x, torch.Tensor):
        if x == 0:
            if e.is_complex():
                zero = (torch.imag(e) == 0) & (torch.real(e) >= 0)
                return torch.where(zero, 0.0, g * (result * -math.inf).conj())
            return torch.where(e >= 0, 0.0, g * (result * -math.inf))
        import cmath

        if isinstance(x, complex):
            log = cmath.log(x)
        elif x > 0:
            log = math.log(x)
        elif not e.is_complex():
            log = math.nan
        else:
            log = cmath.log(x)
        return g * (result * log).conj()
    if e.is_complex():
        zero = (x == 0) & (torch.imag(e) == 0) & (torch.real(e) >= 0)
    else:
        zero = (x == 0) & (e >= 0)
    return g * torch.where(zero, 0.0, (result * x.to(torch.result_type(x, e)).log()).conj())


@op(
    "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    "pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    "pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
    kernel="pow",
    node=("PowBackward1", "PowBackward0", "PowBackward2"),
    inplace=True,
    out=True,
    tags="pointwise arithmetic",
    grad={
        "self": lambda c, g: _pow_self(g, c.self, c.exponent),
        "exponent": lambda c, g: _pow_exponent(g, c.self, c.exponent, c.result),
    },
    samples=lambda t: [(t(3, 4), 2), (t(3, 4, lo=0.2, hi=3), t(4)), (2.0, t(4)), (t(5, lo=0.2, hi=3), -1.5)],
)
def pow(self, exponent):
    """self ** exponent."""


@op(
    "float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    "float_power.Scalar(Scalar self, Tensor exponent) -> Tensor",
    "float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    out=Out(
        "the output given to float_power has dtype {o} but the operation's result requires dtype {r}",
        "late whole",
        by="pow",
    ),
    tags="pointwise",
    samples=lambda t: [(t(3, 4, lo=0.2, hi=3), 2), (t(3, 4, lo=0.2, hi=3), t(4))],
)
def float_power(self, exponent):
    """self ** exponent in double precision."""
    wide = False
    for v in (self, exponent):
        wide = wide or (v.is_complex() if isinstance(v, torch.Tensor) else isinstance(v, complex))
    dtype = torch.complex128 if wide else torch.float64
    if isinstance(self, torch.Tensor):
        self = self.to(dtype)
    else:
        self = complex(self) if wide else float(self)
    if isinstance(exponent, torch.Tensor):
        exponent = exponent.to(dtype)
    else:
        exponent = complex(exponent) if wide else float(exponent)
    return torch.pow(self, exponent)


@op(
    "float_power_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)",
    "float_power_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)",
    variants="method",
    tags="pointwise",
)
def float_power_(self, exponent):
    """In-place `float_power`; self must be float64 or complex128 already."""
    wide = self.is_complex() or (
        exponent.is_complex() if isinstance(exponent, torch.Tensor) else isinstance(exponent, complex)
    )
    dtype = torch.complex128 if wide else torch.float64
    if self.dtype != dtype:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype._scalar_type} but the operation's result "
            f"requires dtype {dtype._scalar_type}"
        )
    return self.pow_(exponent.to(dtype) if isinstance(exponent, torch.Tensor) else exponent)


@op(
    "copysign.Tensor(Tensor self, Tensor other) -> Tensor",
    "copysign.Scalar(Tensor self, Scalar other) -> Tensor",
    kernel="copysign",
    node=("CopysignBackward0", "CopysignBackward1"),
    inplace=True,
    out=True,
    tags="pointwise",
    grad={
        "self": lambda c, g: g * torch.where(c.self == 0, 0.0, c.result / c.self),
        "other": lambda c, g: g.new_zeros(g.shape),
    },
    samples=_pair,
)
def copysign(self, other):
    """|self| with the sign of other (-0.0 counts as negative)."""
    self, other = _floats(self, other)
    return torch.where(torch.signbit(other), -self.abs(), self.abs())


@op(
    "nextafter(Tensor self, Tensor other) -> Tensor",
    kernel="nextafter",
    inplace=True,
    out=True,
    tags="pointwise reference",
    grad={"self": lambda c, g: torch.where(c.self == c.other, 0, g), "other": lambda c, g: g.new_zeros(g.shape)},
    samples=lambda t: [(t(3, 4), t(4))],
)
def nextafter(self, other):
    """The next representable number after self towards other."""
    return formulas.nextafter(self, other)


def _heaviside_dtype(args, result, out, i):
    return "heaviside is not yet implemented for %s." % (
        "complex tensors" if out.is_complex() else "tensors with different dtypes"
    )


@op(
    "heaviside(Tensor self, Tensor values) -> Tensor",
    kernel="heaviside",
    inplace=True,
    out=Out(_heaviside_dtype),
    tags="pointwise",
    grad={},
    samples=lambda t: [(t(3, 4), t(4))],
)
def heaviside(self, values):
    """0 where self < 0, 1 where self > 0, `values` where self is 0."""
    return torch.where(self == 0, values, (self > 0).to(self.dtype))


def _ldexp_dtype(args, result, out, i):
    whole = not (out.is_floating_point() or out.is_complex())
    return "ldexp can't be cast to the desired output type {o}" if whole else None


@op(
    "ldexp.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace=True,
    out=Out(_ldexp_dtype, "whole"),
    tags="pointwise",
    grad={
        "self": lambda c, g: g * torch.pow(2.0, c.other).conj(),
        "other": lambda c, g: g * (c.result * math.log(2)).conj(),
    },
    samples=lambda t: [(t(3, 4), t(4))],
)
def ldexp(self, other):
    """self * 2**other. Powers of whole numbers keep self's dtype and do not overflow on the way."""
    if not self.is_floating_point() or other.is_floating_point() or other.is_complex():
        return torch.mul(self, torch.pow(2.0, other))
    if other.dtype is torch.bool:
        raise not_implemented("ldexp_cpu_exp", torch.bool)
    wide = torch.float64 if self.dtype is torch.float64 else torch.float32
    most = 1018 if wide is torch.float64 else 122  # 2**most and 2**-most are normal numbers
    n = other.to(wide).clamp(-4 * most, 4 * most)
    part = torch.trunc(n / 4)
    step, rest = torch.pow(2.0, part), torch.pow(2.0, n - 3 * part)
    return (self.to(wide) * step * step * step * rest).to(self.dtype)


def _xlogy_self(g, x, y, pole):
    """xlogy(g, y), but 0 at x = 0 where the logarithm has no value; xlog1py is the same with its pole at -1."""
    slope = (torch.special.xlog1py if pole else torch.xlogy)(g, y)
    if isinstance(y, torch.Tensor):
        return slope.masked_fill((x == 0) & (y <= pole), 0)
    return slope if y > pole else slope.masked_fill(x == 0, 0)


@op(
    "xlogy.Tensor(Tensor self, Tensor other) -> Tensor",
    "xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor",
    "xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor",
    kernel="xlogy",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("special.xlogy",),
    grad={"self": lambda c, g: _xlogy_self(g, c.self, c.other, 0), "other": lambda c, g: g * c.self / c.other},
    samples=lambda t: [(t(3, 4), t(4, lo=0.2, hi=3)), (t(5), 2.5)],
)
def xlogy(self, other):
    """self * log(other); 0 where self is 0, NaN where other is NaN."""
    self, other = _floats(self, other)
    return torch.where((self == 0) & (other == other), 0, self * torch.log(other))


def _logaddexp_grad(c, g):
    a, b = c.self, c.other
    if not (a.is_complex() or b.is_complex()):
        return {"self": g * torch.sigmoid(-(b - a)), "other": g * torch.sigmoid(-(a - b))}
    return {"self": g / (1 + (b - a).exp()).conj(), "other": g / (1 + (a - b).exp()).conj()}


@op(
    "logaddexp(Tensor self, Tensor other) -> Tensor",
    kernel="logaddexp",
    out=True,
    tags="pointwise",
    grad=_logaddexp_grad,
    samples=lambda t: [(t(3, 4), t(4))],
)
def logaddexp(self, other):
    """log(exp(self) + exp(other)), without overflow."""
    swap = torch.real(self) < torch.real(other)
    high, low = torch.where(swap, other, self), torch.where(swap, self, other)
    return torch.where((self == other) & torch.isinf(self), self, high + torch.log1p(torch.exp(low - high)))


def _logaddexp2_grad(c, g):
    a, b = c.self, c.other
    return {"self": g / (1 + torch.pow(2, b - a)).conj(), "other": g / (1 + torch.pow(2, a - b)).conj()}


@op(
    "logaddexp2(Tensor self, Tensor other) -> Tensor",
    kernel="logaddexp2",
    out=True,
    tags="pointwise",
    grad=_logaddexp2_grad,
    samples=lambda t: [(t(3, 4), t(4))],
)
def logaddexp2(self, other):
    """log2(2**self + 2**other), without overflow."""
    high = torch.maximum(self, other)
    more = torch.log1p(torch.exp2(-(self - other).abs())) / math.log(2)
    return torch.where((self == other) & torch.isinf(self), self, high + more)


@op(
    "complex(Tensor real, Tensor imag) -> Tensor",
    kernel="complex",
    out=Out("Expected object of scalar type {r} but got scalar type {o} for argument 'out'", "ordered"),
    tags="pointwise",
    variants="function",
    grad={"real": lambda c, g: torch.real(g), "imag": lambda c, g: torch.imag(g)},
    samples=lambda t: [(t(3, 4), t(3, 4))],
)
def _complex(real, imag):
    """A complex tensor from its parts, both float32 or both float64."""
    for v in (real, imag):
        if v.dtype not in (torch.float32, torch.float64, torch.float16):
            raise RuntimeError(
                "Expected both inputs to be Half, Float or Double tensors but got "
                f"{real.dtype._scalar_type} and {imag.dtype._scalar_type}"
            )
    if real.dtype != imag.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {real.dtype._scalar_type} but got scalar type "
            f"{imag.dtype._scalar_type} for second argument"
        )
    real, imag = torch.broadcast_tensors(real, imag)
    return torch.view_as_complex(torch.stack([real, imag], -1))


def _polar_grad(c, g):
    """PyTorch takes the direction from the result:
    the gradient of `abs` is 0 at 0, and turns where `abs` is negative."""
    g, z = g.conj(), c.result
    return {"abs": torch.real(g * z.sgn()), "angle": torch.real(g * (z * 1j))}


@op(
    "polar(Tensor abs, Tensor angle) -> Tensor",
    kernel="polar",
    out=Out("Expected object of scalar type {r} but got scalar type {o} for argument 'out'", "ordered"),
    tags="pointwise",
    variants="function",
    grad=_polar_grad,
    samples=lambda t: [(t(3, 4, lo=0.1, hi=2), t(3, 4))],
)
def polar(abs, angle):
    """abs * (cos(angle) + i sin(angle)) as a complex tensor."""
    for v in (abs, angle):
        if v.dtype not in (torch.float32, torch.float64, torch.float16):
            raise RuntimeError(
                "Expected both inputs to be Half, Float or Double tensors but got "
                f"{abs.dtype._scalar_type} and {angle.dtype._scalar_type}"
            )
    if abs.dtype != angle.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {abs.dtype._scalar_type} but got scalar type "
            f"{angle.dtype._scalar_type} for second argument"
        )
    if abs.dtype is torch.float16:
        raise not_implemented("polar_cpu", abs.dtype)
    return torch.complex(abs * angle.cos(), abs * angle.sin())
