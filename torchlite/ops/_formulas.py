"""What element-wise kernels compute, as formulas: definitions of "reference" ops, for tests and readers.

No call runs them. Special functions are computed in double and rounded to the dtype of the result.
"""

import functools
import math

import torchlite as torch

INF, NAN = math.inf, math.nan


def in_double(formula):
    """The formula of doubles, for any real dtype; the last argument is a tensor."""

    @functools.wraps(formula)
    def body(*args):
        x = args[-1]
        dtype = x.dtype if x.is_floating_point() else torch.get_default_dtype()
        return formula(*args[:-1], x.double()).to(dtype)

    return body


def promoted(a, b):
    """Both as tensors of their common dtype."""
    dtype = torch.result_type(a, b)
    device = (a if isinstance(a, torch.Tensor) else b).device
    return [
        v.to(dtype) if isinstance(v, torch.Tensor) else torch.full((), v, dtype=dtype, device=device) for v in (a, b)
    ]


def horner(x, *coefficients):
    r = torch.zeros_like(x)
    for c in coefficients:
        r = r * x + c
    return r


# ---- signs and rounding ----------------------------------------------------------------------------------------------
def abs(self):
    if self.is_complex():
        a, b = self.real.abs(), self.imag.abs()
        high, low = torch.fmax(a, b), torch.minimum(a, b)
        ratio = low / torch.where(high == 0, 1, high)
        return torch.where(high == INF, high, high * torch.sqrt(1 + ratio * ratio))
    if self.dtype is torch.bool:
        return self.clone()
    return torch.where(self <= 0, 0 - self, self)


def halves_to_even(x):
    low = torch.floor(x)
    rest, odd = x - low, torch.remainder(low, 2)
    return torch.copysign(low + torch.where(rest == 0.5, odd, (rest > 0.5).to(x.dtype)), x)


def round(self, decimals):
    if not self.is_floating_point():
        return self.clone()
    if not decimals:
        return torch.where(torch.isfinite(self), halves_to_even(self), self)
    tens = 10.0 ** (decimals if decimals > 0 else -decimals)
    x = halves_to_even(self * tens if decimals > 0 else self / tens)
    return x / tens if decimals > 0 else x * tens


# ---- bits ------------------------------------------------------------------------------------------------------------
def gcd(self, other):
    a, b = promoted(self, other)
    a, b = torch.broadcast_tensors(a, b)
    while bool((b != 0).any()):
        done = b == 0
        a, b = torch.where(done, a, b), torch.where(done, 0, torch.remainder(a, torch.where(done, 1, b)))
    return a.abs()


def lcm(self, other):
    a, b = promoted(self, other)
    by = torch.gcd(a, b).long()
    return (torch.div(a.long(), torch.where(by == 0, 1, by), rounding_mode="floor") * b).abs().to(a.dtype)


def bitwise_xor(self, other):
    a, b = promoted(self, other)
    return a != b if a.dtype is torch.bool else a + b - 2 * torch.bitwise_and(a, b)


def _powers(a, b):
    bits = a.itemsize * 8
    out = (b < 0) | (b >= bits)
    return out, torch.pow(torch.full_like(b, 2), torch.where(out, 0, b))


def bitwise_left_shift(self, other):
    a, b = promoted(self, other)
    out, power = _powers(a, b)
    return torch.where(out, 0, a * power)


def bitwise_right_shift(self, other):
    a, b = promoted(self, other)
    out, power = _powers(a, b)
    if a.dtype.is_signed:  # whose largest power of two is negative
        out = out | (b == a.itemsize * 8 - 1)
    sign = -(a < 0).to(a.dtype)
    return torch.where(out, sign, torch.div(a, torch.where(out, 1, power), rounding_mode="floor"))


def frexp(self):
    x = self.double()
    tiny = x.abs() < 2.0**-1022
    bits = (x * torch.where(tiny, 2.0**54, 1.0)).view(torch.int64)
    field = torch.bitwise_right_shift(bits, 52) & 2047
    none = (x == 0) | ~torch.isfinite(x)
    mantissa = ((bits & ~(2047 << 52)) | (1022 << 52)).view(torch.float64)
    exponent = torch.where(none, 0, field - 1022 - 54 * tiny)
    return torch.where(none, x, mantissa).to(self.dtype), exponent.int()


def nextafter(self, other):
    a, b = promoted(self, other)
    a, b = torch.broadcast_tensors(a, b)
    whole = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[a.itemsize]
    up = torch.where((a < b) == (a > 0), 1, -1).to(whole)
    least = torch.full((), 1, dtype=whole, device=a.device).view(a.dtype)
    step = torch.where(a == 0, torch.copysign(least, b), (a.contiguous().view(whole) + up).view(a.dtype))
    return torch.where((a != a) | (b != b), a + b, torch.where(a == b, b, step))


# ---- gamma functions -------------------------------------------------------------------------------------------------
def _grown(x, start, step):
    """x raised to at least 10 by ones, and start joined by step for each number on the way."""
    for _ in range(10):
        small = x < 10
        start, x = torch.where(small, step(start, x), start), torch.where(small, x + 1, x)
    return x, start


@in_double
def digamma(x):
    left = x < 0
    y, r = _grown(torch.where(left, 1 - x, x), torch.zeros_like(x), lambda r, y: r - 1 / y)
    z = 1 / (y * y)
    tail = z * horner(z, 1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
    r = r + torch.log(y) - 0.5 / y - tail
    part = x - torch.trunc(x)
    r = torch.where(left, torch.where(part == 0, NAN, r - math.pi / torch.tan(math.pi * part)), r)
    return torch.where(x == 0, torch.copysign(torch.full_like(x, INF), -x), r)


@in_double
def lgamma(x):
    left = x < 0.5
    y, product = _grown(torch.where(left, 1 - x, x), torch.ones_like(x), lambda r, y: r * y)
    z = 1 / (y * y)
    tail = horner(z, 1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12) / y
    r = (y - 0.5) * torch.log(y) - y + 0.5 * math.log(2 * math.pi) + tail - torch.log(product)
    mirrored = torch.log(math.pi / torch.sin(math.pi * (x - torch.round(x))).abs()) - r
    return torch.where(torch.isinf(x), INF, torch.where(left, mirrored, r))


def special_zeta(self, other):
    s, q = promoted(self, other)
    if not s.is_floating_point():
        s, q = (t.to(torch.get_default_dtype()) for t in (s, q))
    return _zeta(s.double(), q.double()).to(s.dtype)


def _zeta(s, q):
    """Euler and Maclaurin's sum: terms up to 9, and from there the integral with its corrections."""
    defined = (q > 0) | ((q != torch.floor(q)) & (s == torch.floor(s)))
    s, a = torch.broadcast_tensors(s, torch.where(defined, q, 1.0))
    total = torch.zeros_like(s)
    for _ in range(int(max(10 - a[torch.isfinite(a)].amin().item(), 10)) if a.numel() else 0):
        near = a <= 9
        total, a = total + torch.where(near, a**-s, 0), torch.where(near, a + 1, a)
    power = a**-s
    done = (a == INF) | (power < 1e-17 * total.abs())
    total = torch.where(done, total, total + power * a / (s - 1) + 0.5 * power)
    rise = s / a
    for k, b in enumerate((12, -720, 30240, -1209600, 47900160, -1307674368000 / 691, 74724249600), 1):
        term = rise * power / b
        total = torch.where(done, total, total + term)
        done = done | (term.abs() < 1e-17 * total.abs())
        rise = rise * ((s + 2 * k - 1) * (s + 2 * k) / (a * a))
    total = torch.where(defined, total, torch.where(q == torch.floor(q), INF, NAN))
    total = torch.where((s != s) | (q != q) | (s < 1), NAN, total)
    return torch.where(s == 1, INF, total)


def polygamma(n, self):
    if n == 0:
        return torch.digamma(self)
    x = self if self.is_floating_point() else self.to(torch.get_default_dtype())
    if n == 1:
        left = x < 0.5
        r = torch.special.zeta(2, torch.where(left, 1 - x, x).double())
        sine = torch.sin(math.pi * x.double())
        return torch.where(left, (math.pi / sine) ** 2 - r, r).to(x.dtype)
    return (math.factorial(n) * (-1) ** (n + 1) * torch.special.zeta(n + 1, x.double())).to(x.dtype)


# ---- error functions -------------------------------------------------------------------------------------------------
@in_double
def erf(x):
    return torch.copysign(torch.igamma(torch.full_like(x, 0.5), x * x), x)


@in_double
def erfc(x):
    half = torch.full_like(x, 0.5)
    return torch.where(x < 0, 1 + torch.igamma(half, x * x), torch.igammac(half, x * x))


@in_double
def special_erfcx(x):
    fraction = x  # of Laplace, from its end
    for k in range(80, 0, -1):
        fraction = x + 0.5 * k / fraction
    return torch.where(x < 3, torch.exp(x * x) * torch.erfc(x), 1 / (fraction * math.sqrt(math.pi)))


@in_double
def erfinv(y):
    """Newton's method from Winitzki's approximation."""
    a, log = 0.147, torch.log1p(-y * y)
    t = 2 / (math.pi * a) + log / 2
    x = torch.copysign(torch.sqrt(torch.sqrt(t * t - log / a) - t), y)
    for _ in range(5):
        x = x - (torch.erf(x) - y) * torch.exp(x * x) * (math.sqrt(math.pi) / 2)
    return torch.copysign(torch.where(y.abs() == 1, INF, x), y)


@in_double
def special_ndtri(p):
    """Newton's method for the logarithm of the lower tail."""
    q = torch.minimum(p, 1 - p)
    log = torch.log(q)
    x = -torch.sqrt(-2 * log)
    for _ in range(12):
        at = torch.special.log_ndtr(x)
        x = x - (at - log) * torch.exp(at + 0.5 * x * x) * math.sqrt(2 * math.pi)
    x = torch.where(q == 0, -INF, x)
    return torch.where(p > 0.5, -x, x)


# ---- Bessel functions ------------------------------------------------------------------------------------------------
def _ratios(a, order, terms):
    """Hankel's asymptotic terms of 1 / (8 a)."""
    term = torch.ones_like(a)
    for k in range(1, terms):
        yield term
        term = term * (4 * order * order - (2 * k - 1) ** 2) / (k * 8 * a)
    yield term


def _scaled_i(x, order):
    """exp(-|x|) I(x): the power series, and Hankel's above 20."""
    a = x.abs()
    near = a.clamp(max=20)
    term = total = (near / 2) ** order
    for k in range(1, 70):
        term = term * (near * near / 4) / (k * (k + order))
        total = total + term
    far = torch.zeros_like(a)
    for k, t in enumerate(_ratios(a.clamp(min=20), order, 30)):
        far = far + (-1) ** k * t
    r = torch.where(a <= 20, total * torch.exp(-near), far / torch.sqrt(2 * math.pi * a))
    r = torch.where(x != x, x, r)
    return torch.where(x < 0, -r, r) if order else r


def _scaled_k(x, order):
    """exp(x) K(x): the integral of exp(-x (cosh t - 1)) cosh(order t) by the trapezoid rule, in steps of
    1 / sqrt(x) where that is less than 1."""
    scale = (1 / torch.clamp(x, min=1).sqrt()).unsqueeze(-1)
    s = torch.arange(640, dtype=x.dtype, device=x.device) / 8
    t = s * scale
    half = torch.sinh(t / 2)
    values = torch.exp(-2 * x.unsqueeze(-1) * half * half) * torch.cosh(order * t) * torch.where(s == 0, 0.5, 1.0)
    r = (values * scale / 8).sum(-1)
    r = torch.where(x == 0, INF, torch.where(x == INF, 0, r))
    return torch.where(x < 0, NAN, r)


def _j(x, order):
    """The mean of cos(order t - x sin t) over a circle, and Hankel's series above 25."""
    a = x.abs()
    t = torch.arange(64, dtype=x.dtype, device=x.device) * (2 * math.pi / 64)
    near = torch.cos(order * t - a.clamp(max=25).unsqueeze(-1) * torch.sin(t)).mean(-1)
    p, q = torch.zeros_like(a), torch.zeros_like(a)
    for k, term in enumerate(_ratios(a.clamp(min=25), order, 24)):
        sign = -1 if k & 2 else 1
        p, q = (p, q + sign * term) if k & 1 else (p + sign * term, q)
    phase = a - (2 * order + 1) * math.pi / 4
    far = torch.sqrt(2 / (math.pi * a)) * (p * torch.cos(phase) - q * torch.sin(phase))
    r = torch.where(a == INF, NAN, torch.where(a <= 25, near, far))
    return torch.where(x < 0, -r, r) if order else r


special_i0e = in_double(lambda x: _scaled_i(x, 0))
special_i1e = in_double(lambda x: _scaled_i(x, 1))
special_scaled_modified_bessel_k0 = in_double(lambda x: _scaled_k(x, 0))
special_scaled_modified_bessel_k1 = in_double(lambda x: _scaled_k(x, 1))
special_bessel_j0 = in_double(lambda x: _j(x, 0))
special_bessel_j1 = in_double(lambda x: _j(x, 1))
