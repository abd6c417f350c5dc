"""Element-wise ops against PyTorch: values over dtypes and layouts, promotion, in-place rules, gradients,
error texts."""

import functools
import itertools

import pytest

torch = pytest.importorskip("torch")
import torchlite as tl
from dtype_names import DTYPES

TOL = {
    "float16": (2e-3, 1e-4),
    "bfloat16": (1.6e-2, 1e-4),
    "float32": (2e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
UNARY = """abs neg sign sgn square ceil floor trunc round frac exp exp2 expm1 log log2 log10 log1p sqrt rsqrt
    reciprocal sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid erf erfc erfinv lgamma digamma
    sinc i0 deg2rad rad2deg angle conj_physical logical_not bitwise_not isnan isinf isfinite isposinf isneginf
    signbit relu nan_to_num logit special.i0e special.i1 special.i1e special.ndtri special.log_ndtr special.erfcx
    special.entr""".split()
BINARY = """add sub rsub mul div maximum minimum fmax fmin atan2 hypot copysign xlogy logaddexp eq ne lt le gt ge
    logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor gcd lcm nextafter""".split()
DIVISIONS = "floor_divide remainder fmod pow bitwise_left_shift bitwise_right_shift".split()


def get(module, name):
    return functools.reduce(getattr, name.split("."), module)


def ours(x, requires_grad=False):
    return (
        tl.tensor(x.tolist(), dtype=getattr(tl, str(x.dtype)[6:])).reshape(tuple(x.shape)).requires_grad_(requires_grad)
    )


def theirs(x):
    return torch.tensor(x.tolist(), dtype=getattr(torch, str(x.dtype)[6:])).reshape(tuple(x.shape))


def sample(name, shape, lo=-4.0, hi=4.0, seed=0):
    g = torch.Generator().manual_seed(seed)
    dtype = getattr(torch, name)
    x = torch.rand(shape, generator=g, dtype=torch.float64) * (hi - lo) + lo
    if dtype.is_complex:
        x = torch.complex(x, torch.rand(shape, generator=g, dtype=torch.float64) * (hi - lo) + lo)
    return (x.abs() if name == "uint8" else x).to(dtype)


def same(run, expect, text=True):
    """Both give the same values, dtype and shape, or both raise with the same text."""
    try:
        want = expect()
    except Exception as e:
        if "ComplexHalf" in str(e):
            return
        with pytest.raises(type(e)) as got:
            run()
        if text:
            assert str(got.value) == str(e)
        return
    if want.dtype == torch.complex32:
        return
    got = theirs(run())
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    rtol, atol = TOL.get(str(want.dtype)[6:], (0, 0))
    torch.testing.assert_close(got, want, rtol=rtol, atol=atol, equal_nan=True)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    f, r = get(tl, name), get(torch, name)
    for dtype in DTYPES:
        x = sample(dtype, (3, 5), -0.95, 0.95) if name in ("logit", "special.ndtri") else sample(dtype, (3, 5))
        if name in ("logit", "special.i0e") and dtype in ("float16", "bfloat16"):
            continue  # PyTorch rounds in between
        a = ours(x)
        same(lambda: f(a), lambda: r(x))
        same(lambda: f(a.t()), lambda: r(x.t()))
        same(lambda: f(a[:, ::2]), lambda: r(x[:, ::2]))
        same(lambda: f(a[0, 0]), lambda: r(x[0, 0]))
        same(lambda: f(a[:0]), lambda: r(x[:0]))


@pytest.mark.parametrize("name", BINARY + DIVISIONS)
def test_promotion(name):
    f, r = get(tl, name), get(torch, name)
    low = 1 if name in DIVISIONS else -4
    for d1, d2 in itertools.product(DTYPES, DTYPES):
        x, y = sample(d1, (3, 4)), sample(d2, (4,), low, seed=1)
        a, b = ours(x), ours(y)
        same(lambda: f(a, b), lambda: r(x, y))
        same(lambda: f(a, b[0]), lambda: r(x, y[0]))


@pytest.mark.parametrize(
    "name",
    "add sub rsub mul div floor_divide remainder fmod pow eq lt copysign xlogy bitwise_and bitwise_left_shift".split(),
)
def test_numbers(name):
    f, r = get(tl, name), get(torch, name)
    for dtype, v in itertools.product(DTYPES, (2, True, 2.5, -3, 300, 1 + 2j)):
        x = sample(dtype, (3, 4))
        a = ours(x)
        same(lambda: f(a, v), lambda: r(x, v))


@pytest.mark.parametrize("name", ["add_", "mul_", "div_", "eq_", "floor_divide_", "pow_"])
def test_in_place(name):
    for d1, d2 in itertools.product(DTYPES, DTYPES):
        x, y = sample(d1, (3, 4), 1), sample(d2, (4,), 1, 3, seed=1)
        a, b = ours(x), ours(y)
        same(lambda: getattr(a, name)(b), lambda: getattr(x, name)(y))


def test_ternary():
    for d1, d2 in itertools.product(DTYPES[4:], DTYPES[4:]):
        x, y, z = sample(d1, (3, 4)), sample(d2, (3, 1), seed=1), sample(d2, (4,), 0.5, 3, seed=2)
        c = sample("bool", (3, 4)) & (sample("float32", (3, 4), seed=5) > 0)
        a, b, d, m = ours(x), ours(y), ours(z), ours(c)
        same(lambda: tl.where(m, a, b), lambda: torch.where(c, x, y))
        same(lambda: tl.addcmul(a, b, d, value=2), lambda: torch.addcmul(x, y, z, value=2))
        same(lambda: tl.addcdiv(a, b, d, value=2), lambda: torch.addcdiv(x, y, z, value=2))
        same(lambda: tl.lerp(a, b, 0.3), lambda: torch.lerp(x, y, 0.3))
        same(lambda: tl.clamp(a, b, d), lambda: torch.clamp(x, y, z), text=False)
        same(lambda: tl.clamp(a, -0.5, 1), lambda: torch.clamp(x, -0.5, 1), text=False)


def test_result_strides():
    x = torch.randn(2, 3, 4, 5).permute(0, 3, 1, 2)
    a = ours(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
    for f, g in (
        (lambda t, m: t + 1, 0),
        (lambda t, m: t * t[:1], 0),
        (lambda t, m: m.exp(t), 0),
        (lambda t, m: t.transpose(0, 1) + t.transpose(0, 1), 0),
    ):
        assert tuple(f(a, tl).stride()) == tuple(f(x, torch).stride())


@pytest.mark.parametrize(
    "first,second", [((0, 4, 1), (1, 4, 1)), ((0, 4, 0), (0, 4, 1)), ((0, 3, 2), (1, 3, 1)), ((0, 6, 1), (0, 6, 1))]
)
def test_overlap(first, second):
    def run(base):
        (o1, n1, s1), (o2, n2, s2) = first, second
        base.as_strided((n1,), (s1,), o1).add_(base.as_strided((n2,), (s2,), o2))
        return base

    same(lambda: run(tl.arange(6.0)), lambda: run(torch.arange(6.0)))


WRITES = {  # into memory that an argument has too, or that is there once for several elements
    "sum to the right": lambda t, x: x[1:].add_(x[:-1]),
    "transposed": lambda t, x: x[:9].view(3, 3).mul_(x[:9].view(3, 3).T),
    "row": lambda t, x: x[:9].view(3, 3).sub_(x[:3]),
    "element": lambda t, x: x.div_(x[3]),
    "itself": lambda t, x: x.add_(x),
    "the same view": lambda t, x: x[1:].mul_(x[1:]),
    "halves": lambda t, x: x[:5].add_(x[5:]),
    "even and odd": lambda t, x: x[::2].add_(x[1::2]),
    "clamp": lambda t, x: x[1:].clamp_(min=x[:-1]),
    "addcmul": lambda t, x: x[1:].addcmul_(x[:-1], x[1:]),
    "lerp": lambda t, x: x[1:].lerp_(x[:-1], 0.5),
    "narrower": lambda t, x: x[:5].add_(x.view(t.int16)[:5]),
    "float to int": lambda t, x: x.int()[1:].div_(x.int()[:-1]),
    "before shapes": lambda t, x: x[1:].add_(x[:4]),
    "copy": lambda t, x: x[1:].copy_(x[:-1]),
    "copy itself": lambda t, x: x.copy_(x[:]),
    "copy transposed": lambda t, x: x[:9].view(3, 3).copy_(x[:9].view(3, 3).T),
    "copy row": lambda t, x: x[:9].view(3, 3).copy_(x[:3]),
    "copy halves": lambda t, x: x[:5].copy_(x[5:]),
    "copy columns": lambda t, x: x.view(5, 2)[:, 0].copy_(x.view(5, 2)[:, 1]),
    "copy cast": lambda t, x: x[1:].copy_(x[:-1].view(t.int32)),
    "assign": lambda t, x: x.__setitem__(slice(1, None), x[:-1]),
    "out": lambda t, x: t.add(x[:-1], 1, out=x[1:]),
    "out unary": lambda t, x: t.neg(x[:-1], out=x[1:]),
    "out itself": lambda t, x: t.mul(x, 2, out=x),
    "out apart": lambda t, x: t.exp(x[:5], out=x[5:]),
    "out resized": lambda t, x: t.add(x[:4], 1, out=x[:2]),
    "out where": lambda t, x: t.where(x[1:] > 2, x[1:], x[:-1], out=x[1:]),
    "out cumsum": lambda t, x: t.cumsum(x[:-1], 0, out=x[1:]),
    "out cat": lambda t, x: t.cat([x[:2], x[2:4]], out=x[3:7]),
    "out cat itself": lambda t, x: t.cat([x], out=x),
    "out sort": lambda t, x: t.sort(x[:-1], out=(x[1:], t.zeros(9, dtype=t.int64, device=x.device)))[0],
    "expanded": lambda t, x: x[:1].expand(4).add_(1),
    "expanded copy": lambda t, x: x[:1].expand(4).copy_(t.ones(4)),
    "expanded fill": lambda t, x: x[:1].expand(4).fill_(3),
    "expanded assign": lambda t, x: x[:1].expand(4).__setitem__(slice(None), 1.0),
    "expanded element": lambda t, x: x[:1].expand(4).__setitem__(2, 1.0),
    "expanded out": lambda t, x: t.exp(x[:4], out=x[8:9].expand(4)),
    "expanded put": lambda t, x: x[:1].expand(4).put_(t.tensor([0], device=x.device), x[:1]),
    "expanded mask": lambda t, x: x[:1].expand(4).masked_scatter_(x[:4] > 0, x[4:8]),
    "expanded diagonal": lambda t, x: x[:3].expand(3, 3).fill_diagonal_(7),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WRITES)
def test_writes_over_an_argument(name):
    def run(t):
        x = t.arange(1.0, 11.0)
        WRITES[name](t, x)
        return x

    same(lambda: run(tl), lambda: run(torch))


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.ones(3, 3).int().add_(t.ones(2, 2)),
        lambda t: t.ones(3).int().div_(t.ones(2)),
        lambda t: t.ones(3, 1).int().add_(t.ones(3)),
        lambda t: t.ones(3).int().sub_(t.ones(2, 3)),
        lambda t: t.ones(3).int().mul_(t.ones(1)),
        lambda t: t.ones(2).int().sigmoid_(),
        lambda t: t.ones(1).int().expand(4).add_(t.ones(2)),
    ],
)
def test_order_of_errors_in_place(call):
    """What is written to, shapes, then dtypes."""
    test_error_texts(call)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.ones(3) + t.ones(2),
        lambda t: t.ones(2, 3).add_(t.ones(3, 2, 3)),
        lambda t: t.tensor([1]) // 0,
        lambda t: t.tensor([1]) % 0,
        lambda t: t.tensor([2]) ** -1,
        lambda t: -t.tensor([True]),
        lambda t: t.tensor([True]) - t.tensor([True]),
        lambda t: t.tensor([1]).add_(1.5),
        lambda t: t.add(t.tensor([1]), t.tensor([1]), alpha=1.5),
        lambda t: t.ones(2).clamp(),
        lambda t: t.where(t.tensor([1]), 1, 2),
        lambda t: t.ones(2).lerp(t.ones(2), t.tensor([1])),
        lambda t: t.div(t.ones(2), 2, rounding_mode="x"),
        lambda t: t.ones(2).bitwise_not(),
        lambda t: t.polygamma(-1, t.ones(2)),
        lambda t: t.isclose(t.ones(2), t.ones(2, dtype=t.float64)),
        lambda t: t.relu(t.tensor([True])),
    ],
)
def test_error_texts(call):
    with pytest.raises(Exception) as want:
        call(torch)
    with pytest.raises(type(want.value)) as got:
        call(tl)
    assert str(got.value) == str(want.value)


GRADS = [
    (n, (a,), (lo, hi))
    for n, a, lo, hi in (
        [
            (n, None, 0.3, 0.8)
            for n in """abs square exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos
                atan sinh cosh tanh asinh atanh sigmoid erf erfc erfinv lgamma digamma sinc i0 logit frac angle sgn
                deg2rad special.i0e special.i1 special.i1e special.ndtri special.log_ndtr special.erfcx special.entr
                special.ndtr nn.functional.gelu nn.functional.silu nn.functional.mish nn.functional.softplus
                nn.functional.elu nn.functional.selu nn.functional.celu nn.functional.hardswish
                nn.functional.hardsigmoid nn.functional.logsigmoid nn.functional.leaky_relu nn.functional.relu6
                nn.functional.hardtanh nn.functional.softsign nn.functional.tanhshrink""".split()
        ]
    )
]


@pytest.mark.parametrize("name", [n for n, _, _ in GRADS])
def test_gradient(name):
    f, r = get(tl, name), get(torch, name)
    for dtype in ("float64", "complex128"):
        x = sample(dtype, (5,), 0.2, 0.8)
        try:
            r(x.clone().requires_grad_())
        except Exception:
            continue
        p, q = x.clone().requires_grad_(), ours(x, requires_grad=True)
        want, got = r(p), f(q)
        w = torch.linspace(0.5, 1.5, 5, dtype=torch.float64).to(want.dtype)
        (g1,) = torch.autograd.grad(want, p, w, create_graph=True)
        (g2,) = tl.autograd.grad(got, q, ours(w), create_graph=True)
        torch.testing.assert_close(theirs(g2.detach()), g1.detach(), rtol=1e-6, atol=1e-6)
        if g1.requires_grad:
            try:
                (h1,) = torch.autograd.grad(g1.abs().sum(), p, allow_unused=True)
            except RuntimeError:  # PyTorch has no second derivative
                h1 = None
            if h1 is not None and not dtype.startswith("complex"):
                (h2,) = tl.autograd.grad(g2.abs().sum(), q)
                torch.testing.assert_close(theirs(h2), h1, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "name",
    """add sub mul div pow maximum minimum fmax fmin atan2 hypot copysign xlogy logaddexp logaddexp2 remainder fmod
special.xlog1py lerp addcmul addcdiv where clamp""".split(),
)
def test_gradients_of_two(name):
    f, r = get(tl, name), get(torch, name)
    for dtype in ("float64", "complex128"):
        xs = [sample(dtype, (3, 4), 0.3, 2, seed=1), sample(dtype, (4,), 0.3, 2, seed=2)]
        lead = []
        if name in ("lerp", "addcmul", "addcdiv", "clamp"):
            xs.append(sample(dtype, (3, 1), 0.3, 2, seed=3))
        if name == "where":
            lead = [sample("float32", (3, 4), seed=9) > 0]
        try:
            ps = [x.clone().requires_grad_() for x in xs]
            want = r(*lead, *ps)
        except Exception:
            continue
        qs = [ours(x, requires_grad=True) for x in xs]
        got = f(*[ours(v) for v in lead], *qs)
        w = sample(str(want.dtype)[6:], tuple(want.shape), seed=7)
        for a, b in zip(tl.autograd.grad(got, qs, ours(w)), torch.autograd.grad(want, ps, w)):
            torch.testing.assert_close(theirs(a), b, rtol=1e-6, atol=1e-6)


def test_real_operand_of_complex_product():
    x, z = torch.randn(3, requires_grad=True), torch.randn(3, dtype=torch.complex64, requires_grad=True)
    a, b = ours(x.detach(), requires_grad=True), ours(z.detach(), requires_grad=True)
    (x * z).abs().sum().backward()
    (a * b).abs().sum().backward()
    torch.testing.assert_close(theirs(a.grad), x.grad)
    torch.testing.assert_close(theirs(b.grad), z.grad)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_number_first(name):
    """torch.mul(2, x): the first operand may be a Python number."""
    p = torch.tensor([0.5, 2.0], requires_grad=True)
    q = ours(p.detach(), requires_grad=True)
    want, got = getattr(torch, name)(3, p), getattr(tl, name)(3, q)
    want.sum().backward()
    got.sum().backward()
    torch.testing.assert_close(theirs(got.detach()), want.detach())
    torch.testing.assert_close(theirs(q.grad), p.grad)
    assert getattr(tl, name)(3, 2).item() == getattr(torch, name)(3, 2).item()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_bounds(dtype):
    """Zeros keep their signs, NaN stays or comes from a bound, and of bounds in the wrong order the upper one wins."""
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([nan, inf, -inf, -0.0, 0.0, 1.0, -2.0, 5.0, 0.5], dtype=getattr(torch, dtype))
    for low, high in itertools.product([None, -1.0, 0.0, -0.0, nan, inf, -inf, 2, -3], repeat=2):
        if low is not None or high is not None:
            want, got = x.clamp(low, high), theirs(ours(x).clamp(low, high))
            torch.testing.assert_close(got, want, equal_nan=True, rtol=0, atol=0)
            assert torch.equal(torch.signbit(got), torch.signbit(want)), (low, high)


@pytest.mark.parametrize("first", ["bool", "uint8", "int8", "int16"])
@pytest.mark.parametrize("second", ["bool", "uint8", "int8", "int16", "int32", 2, 300, True])
def test_narrow_integers(first, second):
    """They wrap around, alone and with others, broadcast and in place; a bool is any byte but 0."""
    torch.manual_seed(0)

    def make(dtype, *shape):
        t = torch.randint(-300, 300, shape)
        return t > 0 if dtype == "bool" else t.to(getattr(torch, dtype))

    operators = "add sub mul __and__ __or__ __xor__ eq ne logical_and logical_or logical_xor".split()
    for a_shape, b_shape in (((67,), (67,)), ((5, 33), (33,)), ((5, 1), (1, 33))):
        a = make(first, *a_shape)
        b = make(second, *b_shape) if isinstance(second, str) else second
        for name in operators:
            try:
                want = getattr(a, name)(b)
            except (RuntimeError, TypeError, AttributeError):
                continue
            got = getattr(ours(a), name)(ours(b) if isinstance(second, str) else b)
            assert str(got.dtype).endswith(str(want.dtype)[5:]), name
            assert got.tolist() == want.tolist(), name
    assert (~ours(a)).tolist() == (~a).tolist()
    assert ours(a).logical_not().tolist() == a.logical_not().tolist()


def test_bools_of_any_byte():
    x, y = torch.tensor([[0, 1, 2, 255, 128], [3, 0, 1, 4, 0]], dtype=torch.uint8).view(torch.bool)
    a, b = tl.tensor([[0, 1, 2, 255, 128], [3, 0, 1, 4, 0]], dtype=tl.uint8).view(tl.bool)
    for name in ("__and__", "__or__", "__xor__", "logical_and", "logical_xor"):
        assert getattr(a, name)(b).tolist() == getattr(x, name)(y).tolist(), name
    assert (~a).tolist() == (~x).tolist()
