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


def test_position_does_not_matter():
    x = tl.linspace(-3, 3, 11)
    for name in LIMITS:
        f = getattr(tl, name)
        whole = f(x.abs() + 0.1).tolist()
        assert whole == [f(x[i].abs() + 0.1).item() for i in range(11)]
