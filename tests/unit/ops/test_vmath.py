"""Accuracy of the vectorised float functions, in units in the last place, against double precision."""

import math

import pytest

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")
import torchlite as tl

# name: range, largest error allowed
LIMITS = {
    "exp": (-100, 88, 1.5),
    "expm1": (-30, 88, 2),
    "log": (1e-30, 1e30, 1.5),
    "log1p": (-0.999, 1e6, 2),
    "log2": (1e-30, 1e30, 1.5),
    "log10": (1e-30, 1e30, 1.5),
    "tanh": (-12, 12, 3),
    "sigmoid": (-80, 80, 3),
    "erf": (-5, 5, 2),
    "sin": (-7, 7, 2),
    "cos": (-7, 7, 2),
    "tan": (-1000, 1000, 0.7),
    "atan": (-100, 100, 0.6),
    "sinh": (-89, 89, 2.5),
    "cosh": (-89, 89, 2.5),
    "exp2": (-120, 127, 1.5),
    "asin": (-1, 1, 0.6),
    "acos": (-1, 1, 0.6),
    "atanh": (-0.999999, 0.999999, 0.6),
    "erfc": (-4, 9, 0.6),
    "erfinv": (-0.999999, 0.999999, 0.6),
}


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_ulp(name):
    lo, hi, limit = LIMITS[name]
    g = np.random.default_rng(0)
    x = np.concatenate([g.uniform(lo, hi, 20000), np.clip(g.normal(size=20000), lo, hi)]).astype(np.float32)
    got = np.array(getattr(tl, name)(tl.tensor(x.tolist())).tolist())
    want = getattr(torch, name)(torch.from_numpy(x).double()).numpy()
    keep = np.abs(want) > 1e-3 if name in ("sin", "cos") else np.abs(want) > 1e-37
    ulp = np.spacing(np.abs(want).astype(np.float32)).astype(np.float64)
    assert (np.abs(got - want) / ulp)[keep].max() < limit


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_zeros_infinities_nan_and_subnormals(name):
    x = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-45, -1e-40, 3e38, -3e38, 1.0, -1.0, 1000.0, 1e5]
    got = torch.tensor(getattr(tl, name)(tl.tensor(x)).tolist())
    want = getattr(torch, name)(torch.tensor(x))
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6, equal_nan=True)
    assert torch.equal(torch.signbit(got)[:2], torch.signbit(want)[:2])


def test_logaddexp2_and_hypot():
    """Far from the zeros of the sum, where a difference cancels; infinities and NaN as PyTorch has them."""
    g = np.random.default_rng(0)
    x, y = (g.normal(size=(2, 20000)) * 20).astype(np.float32)
    x[:6], y[:6] = [math.inf, math.inf, -math.inf, math.nan, 1e30, 0.0], [math.inf, -math.inf, -math.inf, 1, 1e30, -0.0]
    for name, limit in (("logaddexp2", 0.6), ("hypot", 0.6)):
        got = np.array(getattr(tl, name)(tl.tensor(x.tolist()), tl.tensor(y.tolist())).tolist())
        want = getattr(torch, name)(torch.from_numpy(x).double(), torch.from_numpy(y).double()).numpy()
        assert np.array_equal(got[:4], want[:4], equal_nan=True)
        keep = np.isfinite(want) & (np.abs(want) > 1)
        ulp = np.spacing(np.abs(want[keep]).astype(np.float32)).astype(np.float64)
        assert (np.abs(got[keep] - want[keep]) / ulp).max() < limit, name


def test_position_does_not_matter():
    for name in LIMITS:
        f, low = getattr(tl, name), 0.1
        x = tl.linspace(-0.8, 0.8, 11) if LIMITS[name][1] < 1.1 else tl.linspace(-3, 3, 11)
        whole = f(x.abs() + low).tolist()
        assert whole == [f(x[i].abs() + low).item() for i in range(11)]


EDGES = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.0, -2.0, 3.0, 0.5, -0.5, 1e-39, 3e38, 16777216.0, 7.5]
BINARY = {"pow": 0.6, "atan2": 0.6, "fmod": 0.0, "remainder": 0.5, "floor_divide": 0.0}


@pytest.mark.parametrize("name", sorted(BINARY))
def test_two_operands(name):
    """In double they are right to the last bit; PyTorch's functions agree on signs, infinities and NaN."""
    g = np.random.default_rng(0)
    a, b = (x.ravel() for x in np.meshgrid(EDGES, EDGES))
    wide, whole = g.uniform(-9, 9, 4001), g.integers(-6, 7, 4001)
    a = np.concatenate([a, g.uniform(-50, 50, 4001), g.uniform(0, 20, 4001)]).astype(np.float32)
    b = np.concatenate([b, wide, whole]).astype(np.float32)
    got = np.array(getattr(tl, name)(tl.tensor(a.tolist()), tl.tensor(b.tolist())).tolist(), dtype=np.float32)
    want = getattr(torch, name)(torch.from_numpy(a).double(), torch.from_numpy(b).double()).numpy()
    if name == "floor_divide":  # the quotient is rounded before it is floored
        want = torch.floor_divide(torch.from_numpy(a), torch.from_numpy(b)).double().numpy()
    with np.errstate(over="ignore"):
        rounded = want.astype(np.float32)
    assert np.array_equal(np.isnan(got), np.isnan(rounded))
    keep = ~np.isnan(got)
    assert np.array_equal(np.signbit(got)[keep], np.signbit(rounded)[keep])
    finite = np.isfinite(rounded) & np.isfinite(got)
    assert np.array_equal(got[keep & ~finite], rounded[keep & ~finite])
    ulp = np.spacing(np.abs(rounded[finite])).astype(np.float64)
    assert (np.abs(got[finite] - want[finite]) / ulp).max() <= BINARY[name]


def test_powers_that_are_products():
    x = np.random.default_rng(0).normal(size=1001).astype(np.float32)
    t = tl.tensor(x.tolist())
    assert np.array_equal(np.array((t**3).tolist(), dtype=np.float32), x * x * x)
    assert np.array_equal(np.array((t**-2).tolist(), dtype=np.float32), np.float32(1) / (x * x))


@pytest.mark.parametrize("backward", [False, True])
def test_gelu(backward):
    x = torch.cat([torch.linspace(-9, 9, 30001), torch.tensor([0.0, -0.0, math.inf, math.nan, -200.0, 1e30])])
    leaf, ours = x.double().requires_grad_(), tl.tensor(x.tolist()).requires_grad_()
    want, got = torch.nn.functional.gelu(leaf), tl.nn.functional.gelu(ours)
    if backward:
        want, got = torch.autograd.grad(want.sum(), leaf)[0], tl.autograd.grad(got.sum(), ours)[0]
    got = torch.tensor(got.tolist())
    torch.testing.assert_close(got, want.float(), rtol=3e-6, atol=2e-7, equal_nan=True)
    error = (got.double() - want)[(0 < x) & (x < 9)].abs()
    unit = torch.ldexp(torch.tensor(1.0, dtype=torch.float64), torch.frexp(want).exponent - 24)[(0 < x) & (x < 9)]
    assert error.max() < 1.2e-7 if backward else (error / unit).max() < 1.7
