"""Numbers at the edges of their dtypes and special functions at theirs:
signs of zero, overflow, huge and tiny arguments."""

import math

import pytest

import torchlite as tl

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    "dtype,name,value",
    [
        (tl.uint8, "uint8_t", 256),
        (tl.int8, "int8_t", 128),
        (tl.int8, "int8_t", -129),
        (tl.int16, "int16_t", 40000),
        (tl.int32, "int", 2**40),
    ],
)
def test_numbers_that_an_integer_dtype_has_no_room_for(dtype, name, value):
    """They are refused, as they would wrap around."""
    x = tl.ones(2, dtype=dtype)
    for call in (
        lambda: x.clamp(min=value),
        lambda: x.clamp(0, value),
        lambda: x.clamp_min(value),
        lambda: x.clip(max=value),
        lambda: tl.where(x > 0, x, value),
        lambda: tl.where(x > 0, value, x),
    ):
        with pytest.raises(RuntimeError, match=f"value cannot be converted to type {name} without overflow"):
            call()
    top = tl.iinfo(dtype).max
    assert x.clamp(max=top).tolist() == [1, 1] and tl.where(x > 0, top, x).tolist() == [top, top]
    assert x.clamp(max=300.0).dtype == tl.float32 and x.clamp(max=tl.tensor(top)).tolist() == [1, 1]


def test_assigned_numbers_overflow_to_infinity():
    x = tl.zeros(4, dtype=tl.float16)
    x[0], x[1], x[2:] = 70000.0, 65519, -1e30
    assert x.tolist() == [INF, 65504, -INF, -INF]
    with pytest.raises(RuntimeError, match="without overflow"):
        x.fill_(70000.0)


def _signs(x):
    return [math.copysign(1, v) for v in x.tolist()]


def test_signs_of_zero():
    x = tl.tensor([-0.0, 0.0])
    for dtype in (tl.float32, tl.float64):
        assert _signs(tl.relu(x.to(dtype))) == [-1, 1]
        assert _signs(tl.nn.functional.softshrink(tl.tensor([-0.5, -0.0, 0.5], dtype=dtype))) == [1, 1, 1]
    assert _signs(tl.special.i1e(tl.tensor([-INF, INF]))) == [-1, 1]
    assert tl.nn.functional.softshrink(tl.tensor([NAN])).isnan().all() and tl.relu(tl.tensor([NAN])).isnan().all()


def test_unsigned_limits():
    with pytest.raises(RuntimeError, match="cannot do hardtanh on an unsigned type with negative limits"):
        tl.nn.functional.hardtanh(tl.ones(2, dtype=tl.uint8))
    assert tl.nn.functional.hardtanh(tl.tensor([7], dtype=tl.uint8), 0, 6).tolist() == [6]


def test_inverse_error_function_near_zero():
    x = tl.logspace(-12, -0.05, 60, dtype=tl.float64)
    assert ((tl.erf(tl.erfinv(x)) / x - 1).abs() < 5e-16 * 8).all()
    small = x[x < 1e-5]
    assert ((tl.erfinv(small) / (small * math.sqrt(math.pi) / 2) - 1).abs() < 1e-10).all()
    assert tl.erfinv(-x).tolist() == (-tl.erfinv(x)).tolist()


# regularized lower incomplete gamma function, from 30 digits
GAMMA = [
    (20.0, 25.0, 0.86642516591434935),
    (50.0, 40.0, 0.070335066659394955),
    (300.0, 290.0, 0.28617551),
    (65504.0, 65504.0, 0.50051958300),
    (1e8, 1.0001e8, 0.84134474647),
    (1e20, 1e20, 0.5),
    (3e38, 3e38, 0.5),
    (1e8, 1e20, 1.0),
    (1e20, 1e8, 0.0),
]


@pytest.mark.parametrize("a,x,want", GAMMA)
def test_incomplete_gamma_of_large_arguments(a, x, want):
    a, x = tl.tensor(a, dtype=tl.float64), tl.tensor(x, dtype=tl.float64)
    assert tl.special.gammainc(a, x).item() == pytest.approx(want, rel=1e-7, abs=1e-300)
    assert tl.special.gammaincc(a, x).item() == pytest.approx(1 - want, rel=1e-7, abs=1e-7)


def test_incomplete_gamma_is_smooth_where_its_expansions_meet():
    for at in (20.0, 1e5):
        a = tl.tensor([at * (1 - 1e-9), at * (1 + 1e-9)], dtype=tl.float64)
        for z in (-2.0, 0.0, 3.0):
            p = tl.special.gammainc(a, at + z * math.sqrt(at) + 0 * a)
            assert abs(p[0] - p[1]).item() < 1e-5 * p[0].item()


def test_airy_function_far_out():
    """It is 0 where its argument's power overflows, and NaN at infinity, as in PyTorch."""
    x = tl.tensor([110.0, 1e100, 1e250, 1e300], dtype=tl.float64)
    assert tl.special.airy_ai(x).tolist() == [0.0] * 4
    assert tl.special.airy_ai(tl.tensor([INF, -INF], dtype=tl.float64)).isnan().all()
    assert tl.special.airy_ai(tl.tensor([100.0], dtype=tl.float64)).item() > 0


@pytest.mark.parametrize("a", [1e-300, 1e-100, 1e-20])
@pytest.mark.parametrize(
    "x, integral", [(0.5, 0.5597735947761608), (1.0, 0.21938393439552029), (0.01, 4.037929576538113)]
)
def test_upper_incomplete_gamma_of_a_small_order(a, x, integral):
    """It tends to a times the exponential integral E1(x) (Abramowitz and Stegun, table 5.1); 1 - P would be noise."""
    a, x = tl.tensor([a, x], dtype=tl.float64)
    assert (tl.special.gammaincc(a, x) / a).item() == pytest.approx(integral, rel=1e-13)


def test_exponential_of_a_matrix_far_above_its_eigenvalues():
    """PyTorch loses all digits there: it scales by the norm, and 1 plus what is left rounds to 1."""
    for high in (1e3, 1e10, 1e50, 1e300):
        x = tl.tensor([[1.0, high], [0.0, 2.0]], dtype=tl.float64)
        e, e2 = math.exp(1), math.exp(2)
        want = tl.tensor([[e, (e2 - e) * high], [0.0, e2]], dtype=tl.float64)
        tl.testing.assert_close(x.matrix_exp(), want, rtol=1e-13, atol=0)
    a = tl.randn(3, 3, dtype=tl.float64, generator=tl.Generator().manual_seed(1)).requires_grad_()
    g = tl.ones(3, 3, dtype=tl.float64)
    one, many = (tl.autograd.grad(a.matrix_exp(), a, g * scale)[0] for scale in (1.0, 1e80))
    tl.testing.assert_close(many, one * 1e80, rtol=1e-12, atol=0)


def test_exponential_of_a_matrix_is_that_of_the_same_matrix_in_a_batch():
    x = tl.tensor([[[1.0, 0.5], [0.2, 0.3]], [[500.0, -500.0], [0.0, -500.0]]], dtype=tl.float64)
    assert tl.equal(x.matrix_exp()[0], x[0].matrix_exp())
