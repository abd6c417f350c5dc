"""Element-wise operations of one tensor: arithmetic, rounding, exponentials, logarithms, tests."""

import math

import torchlite as torch
from ._declare import formulas, op
from ._out import BOOLEAN, FOUND, Out


def _zero(c, g):
    return torch.zeros_like(g)


def _real_line(t):
    return [(t(3, 4),), (t(5),), (t(),)]


def _positive(t):
    return [(t(3, 4, lo=0.1, hi=5),), (t(5, lo=0.1, hi=5),)]


def _float(x):
    return x if x.is_floating_point() or x.is_complex() else x.to(torch.get_default_dtype())


def _over(x, number):
    """x / number, of complex numbers part by part: infinite ones too."""
    return torch.complex(torch.real(x) / number, torch.imag(x) / number) if x.is_complex() else x / number


def _bits(x):
    """The bits of floats as integers."""
    return x.resolve_neg().view((torch.int16, torch.int32, torch.int64)[x.itemsize // 4])


def _nan_to_num(x, nan, posinf, neginf):
    limits = torch.finfo(x.dtype)
    x = torch.where(x == math.inf, limits.max if posinf is None else posinf, x)
    x = torch.where(x == -math.inf, limits.min if neginf is None else neginf, x)
    return torch.where(x == x, x, nan or 0.0)


# ---- sign and size -----------------------------------------------------------------------------------------------
def _abs_dtype(args, result, out, i):
    """The absolute value of complex numbers may go into a tensor of theirs, or of any real numbers."""
    if not args[0].is_complex():
        return FOUND
    if out.dtype == args[0].dtype or not out.is_complex():
        return None
    return FOUND.replace("{r}", args[0].dtype._scalar_type)


@op(
    "abs(Tensor self) -> Tensor",
    kernel="abs",
    inplace=True,
    out=Out(_abs_dtype),
    tags="pointwise reference",
    alias=("absolute",),
    grad={"self": lambda c, g: g * c.self.sgn()},
    samples=_real_line,
)
def abs(self):
    """Absolute value |x|; the modulus, a real tensor, for complex input."""
    return formulas.abs(self)


@op(
    "neg(Tensor self) -> Tensor",
    kernel="neg",
    inplace=True,
    out=Out(FOUND),
    tags="pointwise",
    alias=("negative",),
    grad={"self": lambda c, g: -g},
    samples=_real_line,
)
def neg(self):
    """-x for each element."""
    return 0 - self if self.is_complex() else self * -1


@op("positive(Tensor(a) self) -> Tensor(a)", tags="pointwise", samples=_real_line)
def positive(self):
    """The tensor itself; an error for bool tensors."""
    if self.dtype == torch.bool:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self


@op(
    "sign(Tensor self) -> Tensor",
    kernel="sign",
    inplace=True,
    out=Out(FOUND),
    tags="pointwise",
    grad={"self": _zero},
    samples=_real_line,
)
def sign(self):
    """-1, 0 or 1, the sign of each element; NaN gives 0."""
    return torch.where(self > 0, 1, torch.where(self < 0, -1, 0)).to(self.dtype)


def _sgn_grad(c, g):
    z, s = c.self, c.result
    if not z.is_complex():
        return g.new_zeros(g.shape)
    r = z.abs()
    return ((g - s * s * g.conj()) / (2.0 * r)).masked_fill_(r == 0, 0)


@op(
    "sgn(Tensor self) -> Tensor",
    kernel="sgn",
    inplace=True,
    out=Out(FOUND),
    tags="pointwise",
    grad={"self": _sgn_grad},
    samples=_real_line,
)
def sgn(self):
    """x / |x|, and 0 where x is 0: the sign, extended to complex tensors."""
    return torch.where(self == 0, 0, self / self.abs()) if self.is_complex() else torch.sign(self)


def _first_power(x):
    """As in PyTorch, whose gradient is that of pow: the second derivative of a square has a graph, and a third is 0."""
    return torch.pow(x, 1) if torch.is_grad_enabled() else x


@op(
    "square(Tensor self) -> Tensor",
    kernel="square",
    inplace=True,
    out=Out(by="pow"),
    tags="pointwise",
    node="PowBackward0",
    grad={"self": lambda c, g: g * (2 * _first_power(c.self).conj())},
    samples=_real_line,
)
def square(self):
    """x * x."""
    return torch.pow(self, 2)


@op(
    "reciprocal(Tensor self) -> Tensor",
    kernel="reciprocal",
    inplace=True,
    out=True,
    tags="pointwise",
    grad={"self": lambda c, g: -g * (c.result * c.result).conj()},
    samples=_positive,
)
def reciprocal(self):
    """1 / x; integers give floats."""
    return torch.pow(self, -1.0)


@op(
    "sqrt(Tensor self) -> Tensor",
    kernel="sqrt",
    inplace=True,
    out=True,
    tags="pointwise",
    grad={"self": lambda c, g: g / (2 * c.result.conj())},
    samples=_positive,
)
def sqrt(self):
    """Square root; NaN for negative real elements."""


@op(
    "rsqrt(Tensor self) -> Tensor",
    kernel="rsqrt",
    inplace=True,
    out=True,
    tags="pointwise",
    grad={"self": lambda c, g: -0.5 * g * c.result.pow(3).conj()},
    samples=_positive,
)
def rsqrt(self):
    """1 / sqrt(x)."""
    return torch.reciprocal(torch.sqrt(self))


@op(
    "_conj_physical(Tensor self) -> Tensor",
    kernel="conj_physical",
    tags="pointwise",
    grad={"self": lambda c, g: g.conj_physical()},
)
def _conj_physical(self):
    """Complex conjugate, computed."""
    return torch.complex(torch.real(self), -torch.imag(self)) if self.is_complex() else self.clone()


@op(
    "conj_physical(Tensor self) -> Tensor",
    out=Out(FOUND, "copied whole", by="aten::conj_physical"),
    tags="pointwise",
    samples=_real_line,
)
def conj_physical(self):
    """Complex conjugate, computed; real tensors are returned as they are."""
    return torch._conj_physical(self) if self.is_complex() else self


@op(
    "_conj_physical_(Tensor(a!) self) -> Tensor(a!)",
    kernel="conj_physical",
    tags="pointwise",
    node="ConjPhysicalBackward1",
    grad={"self": lambda c, g: g.conj_physical()},
)
def _conj_physical_(self):
    """In-place conj_physical with a node of its own, also for real tensors."""
    return torch._conj_physical(self)


@op("conj_physical_(Tensor(a!) self) -> Tensor(a!)", tags="pointwise expanded")
def conj_physical_(self):
    """In-place conj_physical."""
    if self.is_complex() or self.requires_grad:
        return self._conj_physical_()
    self._bump_version()  # an expanded one is not refused then
    return self


def _angle_grad(c, g):
    z = c.self
    if not z.is_complex():
        return torch.zeros_like(z)
    return torch.where(z == 0, 0.0, g * (z * 1j) / z.abs().square())


@op(
    "angle(Tensor self) -> Tensor",
    kernel="angle",
    out=Out(tags="ordered"),
    tags="pointwise",
    grad={"self": _angle_grad},
    samples=_real_line,
)
def angle(self):
    """Argument in radians of complex elements; 0 or pi for real ones, NaN for NaN."""
    if self.is_complex():
        return torch.atan2(torch.imag(self), torch.real(self))
    x = _float(self)
    return torch.where(x < 0, math.pi, torch.where(x == x, 0, x))


def _frexp_dtype(args, result, out, i):
    part = "exponent to have int dtype" if i else "mantissa to have dtype {cr}"
    return f"torch.frexp() expects {part} but got {{co}}"


@op(
    "frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
    kernel="frexp",
    out=Out(_frexp_dtype),
    tags="pointwise reference",
    nondiff=(1,),
    grad={"self": lambda c, g: None if g[0] is None else g[0] / torch.exp2(c.result1.to(g[0].dtype))},
    samples=_real_line,
)
def frexp(self):
    """Mantissa in (-1, 1), at least 1/2 in size, and int32 exponent with mantissa * 2**exponent = x."""
    return formulas.frexp(self)


# ---- rounding ----------------------------------------------------------------------------------------------------
@op(
    "ceil(Tensor self) -> Tensor",
    kernel="ceil",
    inplace=True,
    out=Out(FOUND),
    tags="pointwise",
    grad={"self": _zero},
    samples=_real_line,
)
def ceil(self):
    """The smallest integer not below x."""
    return -torch.floor(-self)


@op(
    "floor(Tensor self) -> Tensor",
    kernel="floor",
    inplace=True,
    out=Out(FOUND),
    tags="pointwise",
    grad={"self": _zero},
    samples=_real_line,
)
def floor(self):
    """The largest integer not above x."""


@op(
    "trunc(Tensor self) -> Tensor",
    kernel="trunc",
    inplace=True,
    out=Out(FOUND),
    tags="pointwise",
    alias=("fix",),
    grad={"self": _zero},
    samples=_real_line,
)
def trunc(self):
    """The integer part, towards zero."""
    return torch.where(self < 0, torch.ceil(self), torch.floor(self))


@op(
    "round(Tensor self) -> Tensor",
    "round.decimals(Tensor self, *, int decimals) -> Tensor",
    kernel="round",
    inplace=True,
    out=Out(FOUND),
    tags="pointwise reference",
    grad={"self": _zero},
    samples=lambda t: [(t(3, 4),), (t(5), {"decimals": 2}), (t(5, hi=100), {"decimals": -2})],
)
def round(self, decimals=0):
    """The nearest integer, halves to even; to `decimals` decimal places when given."""
    return formulas.round(self, decimals)


@op("special_round(Tensor self, *, int decimals=0) -> Tensor", module="special", out=True, tags="pointwise")
def special_round(self, decimals=0):
    """round to `decimals` decimal places; unlike torch.round it takes no integers."""
    return torch.round(self, decimals=decimals)


@op(
    "frac(Tensor self) -> Tensor",
    kernel="frac",
    inplace=True,
    out=Out(FOUND),
    tags="pointwise",
    grad={"self": lambda c, g: g},
    samples=_real_line,
)
def frac(self):
    """x - trunc(x)."""
    return self - torch.trunc(self)


# ---- exponentials and logarithms ---------------------------------------------------------------------------------
@op(
    "exp(Tensor self) -> Tensor",
    kernel="exp",
    inplace=True,
    out=True,
    tags="pointwise",
    grad={"self": lambda c, g: g * c.result.conj()},
    samples=_real_line,
)
def exp(self):
    """e**x."""


@op(
    "exp2(Tensor self) -> Tensor",
    kernel="exp2",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("special.exp2",),
    grad={"self": lambda c, g: g * c.result.conj() * math.log(2)},
    samples=_real_line,
)
def exp2(self):
    """2**x."""
    return torch.pow(2.0, self)


@op(
    "expm1(Tensor self) -> Tensor",
    kernel="expm1",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("special.expm1",),
    grad={"self": lambda c, g: g * (c.result.conj() + 1)},
    samples=_real_line,
)
def expm1(self):
    """e**x - 1, exact near 0."""
    x = _float(self)
    u = torch.exp(x)
    y = u - 1
    return torch.where(u == 1, x, torch.where((y == -1) | (y == u), y, y * (x / torch.log(u))))


@op(
    "log(Tensor self) -> Tensor",
    kernel="log",
    inplace=True,
    out=True,
    tags="pointwise",
    grad={"self": lambda c, g: g.div(c.self.conj())},
    samples=_positive,
)
def log(self):
    """Natural logarithm; NaN for negative real elements."""


@op(
    "log2(Tensor self) -> Tensor",
    kernel="log2",
    inplace=True,
    out=True,
    tags="pointwise",
    grad={"self": lambda c, g: g / (c.self.conj() * math.log(2))},
    samples=_positive,
)
def log2(self):
    """Logarithm to base 2."""
    return _over(torch.log(self), math.log(2))


@op(
    "log10(Tensor self) -> Tensor",
    kernel="log10",
    inplace=True,
    out=True,
    tags="pointwise",
    grad={"self": lambda c, g: g / (c.self.conj() * math.log(10))},
    samples=_positive,
)
def log10(self):
    """Logarithm to base 10."""
    return _over(torch.log(self), math.log(10))


@op(
    "log1p(Tensor self) -> Tensor",
    kernel="log1p",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("special.log1p",),
    grad={"self": lambda c, g: g / (c.self + 1).conj()},
    samples=_positive,
)
def log1p(self):
    """log(1 + x), exact near 0."""
    x = _float(self)
    u = 1 + x
    y = u - 1
    return torch.where(y == 0, x, torch.where(y == x, torch.log(u), torch.log(u) * (x / y)))


@op(
    "sigmoid(Tensor self) -> Tensor",
    kernel="sigmoid",
    inplace=True,
    out=True,
    tags="pointwise",
    alias=("special.expit",),
    grad={"self": lambda c, g: torch.sigmoid_backward(g, c.result)},
    samples=_real_line,
)
def sigmoid(self):
    """1 / (1 + exp(-x))."""
    return torch.reciprocal(1 + torch.exp(-_float(self)))


def _logit_between(g, x, eps):
    lo, outside = (0, math.nan) if eps is None else (eps, 0.0)
    return torch.where((x >= lo) & (x <= 1 - lo), g / (x * (1 - x)), outside)


def _logit_grad(c, g):
    # a gradient that has one itself lies in memory as this formula leaves it, as in PyTorch
    return (_logit_between if torch.is_grad_enabled() else torch.ops.functions.logit_backward)(g, c.self, c.eps)


@op(
    "logit(Tensor self, float? eps=None) -> Tensor",
    kernel="logit",
    inplace=True,
    out=Out(tags="ordered"),
    tags="pointwise",
    alias=("special.logit",),
    grad={"self": _logit_grad},
    samples=lambda t: [(t(3, 4, lo=0.1, hi=0.9),), (t(5, lo=0, hi=1), 0.2)],
)
def logit(self, eps=None):
    """log(x / (1 - x)), the inverse of sigmoid; x is first limited to [eps, 1 - eps] when eps is given."""
    x = _float(self)
    if eps is not None and eps >= 0:
        x = torch.where(x < eps, eps, torch.clamp_max(x, 1 - eps))
    return torch.log(x / (1 - x))


def _inside(c, g):
    """g where the first derivative is that of logit, 0 where it is a constant."""
    lo = 0 if c.eps is None else c.eps
    return torch.where((c.self >= lo) & (c.self <= 1 - lo), g, 0)


def _logit_second(c, g):
    area = c.self * (1 - c.self)
    d = -_inside(c, g) * (c.grad_output / area / area)
    return d * (1 - c.self) - d * c.self


@op(
    "logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor",
    kernel="logit_backward",
    out=True,
    tags="pointwise",
    module="aten",
    grad={
        "grad_output": lambda c, g: _inside(c, g) / (c.self * (1 - c.self)),
        "self": lambda c, g: _logit_second(c, g),
    },
    samples=lambda t: [
        (t(3, 4), t(3, 4, lo=0.1, hi=0.9)),
        (t(4), t(4, lo=0.1, hi=0.9), 0.2),
        (t(3, requires_grad=False), t(3, requires_grad=False)),
    ],
)
def logit_backward(grad_output, self, eps):
    """grad_output / (x * (1 - x)); outside [0, 1] NaN, or, when eps is given, 0 outside [eps, 1 - eps]."""
    lo, outside = (0, math.nan) if eps is None else (eps, 0.0)
    return torch.where((self < lo) | (self > 1 - lo), outside, grad_output / (self.abs() * (1 - self)))


# ---- tests -------------------------------------------------------------------------------------------------------
@op(
    "isnan(Tensor self) -> Tensor",
    kernel="isnan",
    tags="pointwise",
    grad=None,
    differentiable=False,
    samples=_real_line,
)
def isnan(self):
    """True where an element (or a part of it) is NaN."""
    return self != self


@op(
    "isinf(Tensor self) -> Tensor",
    kernel="isinf",
    tags="pointwise",
    grad=None,
    differentiable=False,
    samples=_real_line,
)
def isinf(self):
    """True where an element (or a part of it) is infinite."""
    x = torch.fmax(torch.real(self).abs(), torch.imag(self).abs()) if self.is_complex() else self
    return (x == math.inf) | (x == -math.inf)


@op(
    "isfinite(Tensor self) -> Tensor",
    kernel="isfinite",
    tags="pointwise",
    grad=None,
    differentiable=False,
    samples=_real_line,
)
def isfinite(self):
    """True where an element is neither infinite nor NaN."""
    return self * 0 == 0


@op(
    "isposinf(Tensor self) -> Tensor",
    kernel="isposinf",
    out=Out(BOOLEAN),
    tags="pointwise",
    grad=None,
    differentiable=False,
    samples=_real_line,
)
def isposinf(self):
    """True where an element is +infinity."""
    return self == math.inf


@op(
    "isneginf(Tensor self) -> Tensor",
    kernel="isneginf",
    out=Out(BOOLEAN),
    tags="pointwise",
    grad=None,
    differentiable=False,
    samples=_real_line,
)
def isneginf(self):
    """True where an element is -infinity."""
    return self == -math.inf


@op("isreal(Tensor self) -> Tensor", tags="pointwise", grad=None, differentiable=False, samples=_real_line)
def isreal(self):
    """True where the imaginary part is 0; everywhere for real tensors."""
    if self.is_complex():
        return torch.imag(self) == 0
    return torch.ones_like(self, dtype=torch.bool)


@op(
    "signbit(Tensor self) -> Tensor",
    kernel="signbit",
    out=Out(BOOLEAN),
    tags="pointwise",
    grad=None,
    differentiable=False,
    samples=_real_line,
)
def signbit(self):
    """True where the sign bit is set (-0.0 included)."""
    return (_bits(self) if self.is_floating_point() else self) < 0


@op(
    "logical_not(Tensor self) -> Tensor",
    kernel="logical_not",
    inplace=True,
    out=True,
    tags="pointwise",
    grad=None,
    differentiable=False,
    samples=_real_line,
)
def logical_not(self):
    """True where an element is zero."""
    return self == 0


@op(
    "bitwise_not(Tensor self) -> Tensor",
    kernel="bitwise_not",
    inplace=True,
    out=Out(FOUND),
    tags="pointwise",
    grad=None,
    differentiable=False,
)
def bitwise_not(self):
    """Complement of all bits; logical not for bool."""
    return self == 0 if self.dtype == torch.bool else -self - 1


@op(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
    kernel="nan_to_num",
    inplace=True,
    out=Out("nan_to_num: dtype of out: {o} should be same as input: {r}"),
    tags="pointwise",
    grad={"self": lambda c, g: g * c.self.isfinite()},
    samples=_real_line,
)
def nan_to_num(self, nan=None, posinf=None, neginf=None):
    """Replaces NaN (by 0), infinity and -infinity (by the dtype's largest and smallest number),
    or by the numbers given."""
    if self.is_complex():
        return torch.complex(*(_nan_to_num(v, nan, posinf, neginf) for v in (torch.real(self), torch.imag(self))))
    return _nan_to_num(self, nan, posinf, neginf) if self.is_floating_point() else self.clone()


@op(
    "deg2rad(Tensor self) -> Tensor",
    kernel="deg2rad",
    inplace=True,
    out=True,
    tags="pointwise",
    grad={"self": lambda c, g: g * (math.pi / 180)},
    samples=_real_line,
)
def deg2rad(self):
    """Degrees to radians: x * pi / 180."""
    return self * (math.pi / 180)


@op(
    "rad2deg(Tensor self) -> Tensor",
    kernel="rad2deg",
    inplace=True,
    out=True,
    tags="pointwise",
    grad={"self": lambda c, g: g * (180 / math.pi)},
    samples=_real_line,
)
def rad2deg(self):
    """Radians to degrees: x * 180 / pi."""
    return self * (180 / math.pi)
