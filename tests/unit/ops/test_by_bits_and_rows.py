"""Kernels that work on bits of floats, on rows with one element each, and on pairs of rows, beside PyTorch."""

import math

import pytest

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")
import torchlite as tl

EDGES = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-45, -1e-45, 2.0**-126, 3.4028235e38, -3.4028235e38]


def all_kinds():
    """Floats of random bits, and the edges."""
    bits = np.random.default_rng(0).integers(-(2**31), 2**31, 50000).astype(np.int32)
    return np.concatenate([bits.view(np.float32), np.array(EDGES, np.float32)])


def same(got, want):
    assert got.dtype == want.dtype
    assert np.array_equal(np.isnan(got), np.isnan(want))
    keep = ~np.isnan(want)
    assert np.array_equal(got[keep], want[keep])
    assert np.array_equal(np.signbit(got[keep]), np.signbit(want[keep]))


def test_nextafter_of_all_bits():
    a = np.concatenate([all_kinds(), np.repeat(np.array(EDGES, np.float32), len(EDGES))])
    b = np.concatenate([all_kinds()[::-1], np.tile(np.array(EDGES, np.float32), len(EDGES))])
    want = torch.nextafter(torch.from_numpy(a.copy()), torch.from_numpy(b.copy())).numpy()
    same(tl.nextafter(tl.from_numpy(a.copy()), tl.from_numpy(b.copy())).numpy(), want)


def test_frexp_of_all_bits():
    a = all_kinds()
    mantissa, exponent = tl.frexp(tl.from_numpy(a.copy()))
    want = torch.frexp(torch.from_numpy(a.copy()))
    same(mantissa.numpy(), want.mantissa.numpy())
    finite = np.isfinite(a)  # the exponent of others is unspecified
    assert np.array_equal(exponent.numpy()[finite], want.exponent.numpy()[finite])


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("name", ["bitwise_left_shift", "bitwise_right_shift"])
def test_shifts_by_any_distance(name, dtype):
    g = np.random.default_rng(0)
    a, b = g.integers(-128, 128, 3000).astype(dtype), g.integers(-3, 70, 3000).astype(dtype)
    want = getattr(torch, name)(torch.from_numpy(a), torch.from_numpy(b)).numpy()
    assert np.array_equal(getattr(tl, name)(tl.from_numpy(a), tl.from_numpy(b)).numpy(), want)


@pytest.mark.parametrize("name", ["add", "sub", "mul"])
@pytest.mark.parametrize("row", [1, 7, 8, 9, 33, 64, 1500])
def test_rows_with_one_element_each(name, row):
    """On either side, in a tensor of three dims, repeated, and with rows that do not follow each other."""
    g = np.random.default_rng(0)
    whole = g.normal(size=(5, 6, row + 3)).astype(np.float32)
    pairs = [
        (whole[:, :, :row].copy(), whole[:, :, :1].copy()),
        (whole[:, :, :row], whole[:, :, :1]),
        (whole[:, :, :row], whole[:, :1, :1]),
        (whole[0, :, :row], whole[:, :, -1:]),
        (whole[:, :1, :row], whole[:, :, -1:]),
    ]
    for a, b in pairs:
        for x, y in ((a, b), (b, a)):
            want = getattr(torch, name)(torch.from_numpy(x), torch.from_numpy(y)).numpy()
            assert np.array_equal(getattr(tl, name)(tl.from_numpy(x), tl.from_numpy(y)).numpy(), want)


@pytest.mark.parametrize("beta, threshold", [(1, 20), (2, 20), (0.5, 100), (1, 200), (2, 300)])
def test_softplus_beyond_the_range_of_exp(beta, threshold):
    x = np.concatenate([np.linspace(-120, 220, 4001).astype(np.float32), np.array(EDGES, np.float32)])
    got = tl.nn.functional.softplus(tl.from_numpy(x), beta, threshold).numpy()
    want = torch.nn.functional.softplus(torch.from_numpy(x), beta, threshold).numpy()
    np.testing.assert_allclose(got, want, rtol=4e-7, atol=1e-37)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("p", [0.0, 1.0, 1.5, 2.0, 3.0, math.inf])
def test_gradient_of_pdist_with_equal_rows_and_ties(p, dtype):
    x = np.random.default_rng(0).normal(size=(9, 5)).astype(dtype)
    x[2], x[1, 0] = x[0], x[3, 0]
    x[5] = x[4] + 1  # the largest difference five times
    own, theirs = tl.from_numpy(x.copy()).requires_grad_(), torch.from_numpy(x.copy()).requires_grad_()
    up = np.random.default_rng(1).normal(size=36).astype(dtype)
    tl.pdist(own, p).backward(tl.from_numpy(up))
    torch.pdist(theirs, p).backward(torch.from_numpy(up))
    np.testing.assert_allclose(own.grad.numpy(), theirs.grad.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("bounds", [(math.nan, 1e300), (1e300, math.nan), (math.nan, None), (None, math.nan)], ids=str)
def test_clamp_by_nan_is_nan_whatever_the_other_bound(bounds):
    for lib in (torch, tl):
        assert lib.clamp(lib.ones(5), *bounds).isnan().all()
        assert lib.clamp(lib.ones(5, dtype=lib.int64), *bounds).dtype is lib.float32
