"""Complex functions at zeros, infinities, NaN, huge and tiny arguments: C99's annex G,
and PyTorch where it is installed."""

import math

import pytest

import torchlite as tl

try:
    import torch
except ImportError:
    torch = None

INF, NAN, PI = math.inf, math.nan, math.pi
ANY = None  # annex G leaves it open
DTYPES = [tl.complex64, tl.complex128]

# function, symmetry, [((x, y), (re, im))] for y >= 0 (and x >= 0 where the function is odd or even)
# conj: f(conj z) = conj f(z); odd and even: that, and f(-z) = -f(z) or f(z)
RULES = [
    (
        "exp",
        "conj",
        [
            ((0.0, 0.0), (1, 0.0)),
            ((-0.0, 0.0), (1, 0.0)),
            ((1.0, INF), (NAN, NAN)),
            ((1.0, NAN), (NAN, NAN)),
            ((INF, 0.0), (INF, 0.0)),
            ((-INF, 1.0), (0.0, 0.0)),
            ((-INF, 2.0), (-0.0, 0.0)),
            ((INF, 1.0), (INF, INF)),
            ((INF, 2.0), (-INF, INF)),
            ((-INF, INF), (0.0, 0.0)),
            ((INF, INF), (INF, NAN)),
            ((-INF, NAN), (0.0, ANY)),
            ((INF, NAN), (INF, NAN)),
            ((NAN, 0.0), (NAN, 0.0)),
            ((NAN, 1.0), (NAN, NAN)),
            ((NAN, NAN), (NAN, NAN)),
        ],
    ),
    (
        "log",
        "conj",
        [
            ((-0.0, 0.0), (-INF, PI)),
            ((0.0, 0.0), (-INF, 0.0)),
            ((1.0, INF), (INF, PI / 2)),
            ((1.0, NAN), (NAN, NAN)),
            ((-INF, 1.0), (INF, PI)),
            ((INF, 1.0), (INF, 0.0)),
            ((-INF, INF), (INF, 3 * PI / 4)),
            ((INF, INF), (INF, PI / 4)),
            ((INF, NAN), (INF, NAN)),
            ((NAN, 1.0), (NAN, NAN)),
            ((NAN, INF), (INF, NAN)),
        ],
    ),
    (
        "sqrt",
        "conj",
        [
            ((0.0, 0.0), (0.0, 0.0)),
            ((-0.0, 0.0), (0.0, 0.0)),
            ((1.0, INF), (INF, INF)),
            ((NAN, INF), (INF, INF)),
            ((1.0, NAN), (NAN, NAN)),
            ((-INF, 1.0), (0.0, INF)),
            ((INF, 1.0), (INF, 0.0)),
            ((-INF, NAN), (NAN, ANY)),
            ((INF, NAN), (INF, NAN)),
            ((NAN, 1.0), (NAN, NAN)),
        ],
    ),
    (
        "acos",
        "conj",
        [
            ((0.0, 0.0), (PI / 2, -0.0)),
            ((-0.0, 0.0), (PI / 2, -0.0)),
            ((0.0, NAN), (PI / 2, NAN)),
            ((1.0, INF), (PI / 2, -INF)),
            ((1.0, NAN), (NAN, NAN)),
            ((-INF, 1.0), (PI, -INF)),
            ((INF, 1.0), (0.0, -INF)),
            ((-INF, INF), (3 * PI / 4, -INF)),
            ((INF, INF), (PI / 4, -INF)),
            ((INF, NAN), (NAN, ANY)),
            ((NAN, 1.0), (NAN, NAN)),
            ((NAN, INF), (NAN, -INF)),
            ((2.0, 0.0), (0.0, -math.acosh(2))),
            ((-2.0, 0.0), (PI, -math.acosh(2))),
        ],
    ),
    (
        "acosh",
        "conj",
        [
            ((0.0, 0.0), (0.0, PI / 2)),
            ((-0.0, 0.0), (0.0, PI / 2)),
            ((1.0, INF), (INF, PI / 2)),
            ((0.0, NAN), (NAN, PI / 2)),
            ((1.0, NAN), (NAN, NAN)),
            ((-INF, 1.0), (INF, PI)),
            ((INF, 1.0), (INF, 0.0)),
            ((-INF, INF), (INF, 3 * PI / 4)),
            ((INF, INF), (INF, PI / 4)),
            ((INF, NAN), (INF, NAN)),
            ((NAN, 1.0), (NAN, NAN)),
            ((NAN, INF), (INF, NAN)),
            ((-2.0, 0.0), (math.acosh(2), PI)),
        ],
    ),
    (
        "asinh",
        "odd",
        [
            ((0.0, 0.0), (0.0, 0.0)),
            ((1.0, INF), (INF, PI / 2)),
            ((1.0, NAN), (NAN, NAN)),
            ((INF, 1.0), (INF, 0.0)),
            ((INF, INF), (INF, PI / 4)),
            ((INF, NAN), (INF, NAN)),
            ((NAN, 0.0), (NAN, 0.0)),
            ((NAN, 1.0), (NAN, NAN)),
            ((NAN, INF), (INF, NAN)),
            ((0.0, 2.0), (math.acosh(2), PI / 2)),
        ],
    ),
    (
        "atanh",
        "odd",
        [
            ((0.0, 0.0), (0.0, 0.0)),
            ((0.0, NAN), (0.0, NAN)),
            ((1.0, 0.0), (INF, 0.0)),
            ((1.0, INF), (0.0, PI / 2)),
            ((1.0, NAN), (NAN, NAN)),
            ((INF, 1.0), (0.0, PI / 2)),
            ((INF, INF), (0.0, PI / 2)),
            ((INF, NAN), (0.0, NAN)),
            ((NAN, 1.0), (NAN, NAN)),
            ((NAN, INF), (0.0, PI / 2)),
            ((2.0, 0.0), (math.atanh(0.5), PI / 2)),
        ],
    ),
    (
        "sinh",
        "odd",
        [
            ((0.0, 0.0), (0.0, 0.0)),
            ((0.0, INF), (0.0, NAN)),
            ((0.0, NAN), (0.0, NAN)),
            ((1.0, INF), (NAN, NAN)),
            ((1.0, NAN), (NAN, NAN)),
            ((INF, 0.0), (INF, 0.0)),
            ((INF, 1.0), (INF, INF)),
            ((INF, 2.0), (-INF, INF)),
            ((NAN, 0.0), (NAN, 0.0)),
            ((NAN, 1.0), (NAN, NAN)),
        ],
    ),
    (
        "cosh",
        "even",
        [
            ((0.0, 0.0), (1.0, 0.0)),
            ((0.0, INF), (NAN, ANY)),
            ((0.0, NAN), (NAN, ANY)),
            ((1.0, INF), (NAN, NAN)),
            ((1.0, NAN), (NAN, NAN)),
            ((INF, 0.0), (INF, 0.0)),
            ((INF, 1.0), (INF, INF)),
            ((INF, 2.0), (-INF, INF)),
            ((INF, INF), (INF, NAN)),
            ((INF, NAN), (INF, NAN)),
            ((NAN, 0.0), (NAN, ANY)),
            ((NAN, 1.0), (NAN, NAN)),
        ],
    ),
    (
        "tanh",
        "odd",
        [
            ((0.0, 0.0), (0.0, 0.0)),
            ((0.0, INF), (0.0, NAN)),
            ((0.0, NAN), (0.0, NAN)),
            ((1.0, INF), (NAN, NAN)),
            ((1.0, NAN), (NAN, NAN)),
            ((INF, 1.0), (1.0, 0.0)),
            ((INF, 2.0), (1.0, -0.0)),
            ((INF, INF), (1.0, ANY)),
            ((INF, NAN), (1.0, ANY)),
            ((NAN, 0.0), (NAN, 0.0)),
            ((NAN, 1.0), (NAN, NAN)),
        ],
    ),
]
# f(z) = -i g(i z); cos(z) = cosh(i z)
TURNED = {
    "sin": "sinh",
    "cos": "cosh",
    "tan": "tanh",
    "asin": "asinh",
    "atan": "atanh",
}


def _image(symmetry, z, w):
    """The argument and the value in all quadrants that the symmetry gives."""
    (x, y), (a, b) = z, w

    def neg(v):
        return v if v is ANY else -v

    yield z, w
    yield (x, -y), (a, neg(b))
    if symmetry != "conj":
        sign = neg if symmetry == "odd" else (lambda v: v)
        yield (-x, -y), (sign(a), sign(b))
        yield (-x, y), (sign(a), neg(sign(b)))


def _tensor(points, dtype):
    real = tl.float32 if dtype == tl.complex64 else tl.float64
    return tl.complex(tl.tensor([p[0] for p in points], dtype=real), tl.tensor([p[1] for p in points], dtype=real))


def _like(got, want, tol):
    if want is ANY:
        return True
    if want != want or got != got or math.isinf(want) or want == 0:
        return got == want and math.copysign(1, got) == math.copysign(1, want) or (got != got and want != want)
    return math.isclose(got, want, rel_tol=tol)


def _check(name, points, values, dtype):
    got = getattr(tl, name)(_tensor(points, dtype))
    tol = 1e-6 if dtype == tl.complex64 else 1e-14
    wrong = [
        f"{name}{z}: {(re, im)}, not {w}"
        for z, w, re, im in zip(points, values, got.real.tolist(), got.imag.tolist())
        if not (_like(re, w[0], tol) and _like(im, w[1], tol))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name,symmetry,rules", RULES, ids=[r[0] for r in RULES])
def test_annex_g(name, symmetry, rules, dtype):
    cases = [c for z, w in rules for c in _image(symmetry, z, w)]
    _check(name, [c[0] for c in cases], [c[1] for c in cases], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", TURNED)
def test_turned(name, dtype):
    """The circular functions have the values of the hyperbolic ones, turned by i."""
    _, symmetry, rules = next(r for r in RULES if r[0] == TURNED[name])
    cases = [c for z, w in rules for c in _image(symmetry, z, w)]
    points = [(y, -x) for (x, y), _ in cases]  # z = -i (x + i y)
    values = [w for _, w in cases]
    if name != "cos":
        values = [(b, a if a is ANY else -a) for a, b in values]
    _check(name, points, values, dtype)


# parts that overflow, underflow or cancel on the way although the result is an ordinary number
FAR = [
    ("exp", 800, 1e-300, INF, 2.7263745721125665e47),
    ("exp", -800, 1.0, 0.0, 0.0),
    ("sinh", 800, 1e-300, INF, 1.3631872860562833e47),
    ("cosh", -800, 1e-300, INF, -1.3631872860562833e47),
    ("log", 1e308, 1.7e308, 709.875446, 1.0390722595360911),
    ("sqrt", 2.0**-1064, 0.0, 2.0**-532, 0.0),
    ("asinh", 1e200, 1e200, 461.5567237, PI / 4),
    ("asinh", -3e300, 1.0, -692.5672873674, 0.0),
    ("acos", -1e300, 1e300, 3 * PI / 4, -691.8152495),
    ("acosh", 1e300, 1e300, 691.8152495, PI / 4),
    ("atanh", 1e200, 1.0, 1e-200, PI / 2),
    ("atanh", 1.0, 1e-200, 230.6050910797, PI / 4),
    ("atan", 0.0, 1e200, PI / 2, 1e-200),
    ("log1p", 1e-310, 1e-310, 1e-310, 1e-310),
    ("log1p", 0.0, 1e-200, 0.0, 1e-200),
    ("tanh", 400.0, 1.0, 1.0, 0.0),
    ("expm1", 800.0, 0.0, INF, NAN),
    ("reciprocal", 1e300, 1e300, 5e-301, -5e-301),
]


@pytest.mark.parametrize("name,x,y,re,im", FAR)
def test_far_from_the_origin(name, x, y, re, im):
    got = getattr(tl, name)(tl.tensor([complex(x, y)], dtype=tl.complex128)).item()
    for g, w in ((got.real, re), (got.imag, im)):
        assert math.isclose(g, w, rel_tol=1e-6) or (g != g and w != w) or (w == 0 and abs(g) < 1e-300), (got, (re, im))


def test_powers():
    z = _tensor([(0.0, 0.0), (1.0, 0.0), (INF, 0.0), (0.0, 2.0), (-2.0, 0.0)], tl.complex128)
    assert tl.pow(z, 0).tolist() == [1] * 5
    assert (
        tl.pow(1, _tensor([(0.0, INF), (NAN, NAN), (INF, 0.0), (2.0, 3.0), (0.0, 0.0)], tl.complex128)).tolist()
        == [1] * 5
    )
    assert tl.pow(z, 2 + 1j).tolist()[0] == 0
    assert tl.pow(z, 2).tolist()[3:] == [-4, 4]
    assert tl.pow(z, -2).tolist()[3:] == [-0.25, 0.25]
    assert tl.pow(z, -2).tolist()[2] == 0 or tl.pow(z, -2)[2].isnan()


def test_negative_zero():
    """-z has no negative zeros, so that roots and logarithms of -1 are on the upper side of the cut, as in PyTorch."""
    z = -_tensor([(1.0, 0.0), (0.0, 0.0)], tl.complex64)
    assert tl.sqrt(z)[0].item() == 1j and tl.log(z)[0].imag.item() == pytest.approx(PI)
    assert [math.copysign(1, v) for v in (z[1].real.item(), z[1].imag.item())] == [1, 1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_of_exponentials(dtype):
    """logaddexp and logcumsumexp: infinite real parts keep a defined imaginary part."""
    z = _tensor([(1.0, 0.5), (INF, 2.0), (INF, 2.0)], dtype)
    got = tl.logcumsumexp(z, 0)
    assert got.real.tolist()[1:] == [INF, INF] and got[1].imag.item() == pytest.approx(2.0)
    got = tl.logaddexp(
        _tensor([(-INF, 1.0), (-INF, 1.0), (NAN, 0.0), (0.0, NAN)], dtype),
        _tensor([(-INF, 1.0), (3.0, 1.0), (1.0, 1.0), (-INF, 1.0)], dtype),
    )
    assert got[0].real.item() == -INF and got[1].item() == 3 + 1j and got[2:].isnan().all()


@pytest.mark.skipif(torch is None, reason="compares with PyTorch")
@pytest.mark.parametrize(
    "name",
    """exp exp2 log log1p log2 log10 sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid
    neg square abs angle sgn reciprocal""".split(),
)
def test_against_torch(name):
    """Same kind of number (NaN, infinite, sign) and value on a grid of 13 x 13;
    where PyTorch has NaN, a number is as good."""
    grid = [v for m in (0.0, 1e-200, 0.7, 1.0, 800.0, INF) for v in (m, -m)] + [NAN]
    points = [(x, y) for x in grid for y in grid]
    got = getattr(tl, name)(_tensor(points, tl.complex128))
    z = torch.complex(*torch.tensor(points, dtype=torch.float64).T.contiguous())
    want = getattr(torch, name)(z)
    pairs = [(got.real, want.real), (got.imag, want.imag)] if want.is_complex() else [(got, want)]
    wrong = []
    for g, w in pairs:
        for p, a, b in zip(points, g.tolist(), w.tolist()):
            same = b != b or (abs(a - b) <= 1e-12 * max(1.0, abs(b)) if math.isfinite(b) else a == b)
            if not same and not (math.isinf(b) and a != a):
                wrong.append((p, a, b))
    open_sign = {"sin", "sinh"}  # the sign of an infinity beside NaN is nobody's
    assert not [w for w in wrong if not (name in open_sign and math.isinf(w[1]) and w[1] == -w[2])]


@pytest.mark.skipif(torch is None, reason="PyTorch is not installed")
def test_gradient_of_complex_logcumsumexp_far_from_zero():
    """The gradient is a softmax, whose terms are taken in log space: no exponential overflows."""
    for values in ([800.0, -800.0, 800 + 1j], [1 + 1j, 800 + 3j, -700.0], [3.0, 1e4 + 1j, 2.0], [0.0, -INF, 1.0]):
        grads = []
        for lib in (torch, tl):
            x = lib.tensor(values, dtype=lib.complex128, requires_grad=True)
            (g,) = lib.autograd.grad((x.logcumsumexp(0) * lib.arange(1, 4)).sum().real, [x], create_graph=True)
            (first,) = lib.autograd.grad((x.logcumsumexp(0) * lib.arange(1, 4)).sum().real, [x])
            grads.append([g.tolist(), first.tolist()])
        torch.testing.assert_close(torch.tensor(grads[1]), torch.tensor(grads[0]))
