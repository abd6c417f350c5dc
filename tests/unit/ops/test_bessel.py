"""Bessel and Airy functions and their like beside mpmath, whose values have as many digits as asked for."""

import math
import random

import pytest

mpmath = pytest.importorskip("mpmath")
import torchlite as torch

# name: function, range, largest error in double: a part of the value, or of 1 where the function has zeros
CASES = {
    "bessel_j0": (lambda x: mpmath.besselj(0, x), (-60, 60), 2e-15),
    "bessel_j1": (lambda x: mpmath.besselj(1, x), (-60, 60), 2e-15),
    "bessel_y0": (lambda x: mpmath.bessely(0, x), (1e-6, 60), 2e-14),
    "bessel_y1": (lambda x: mpmath.bessely(1, x), (0.1, 60), 2e-14),
    "modified_bessel_i0": (lambda x: mpmath.besseli(0, x), (-60, 60), 2e-15),
    "modified_bessel_i1": (lambda x: mpmath.besseli(1, x), (-60, 60), 2e-15),
    "i0e": (lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), (-60, 60), 2e-15),
    "i1e": (lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), (-60, 60), 2e-15),
    "modified_bessel_k0": (lambda x: mpmath.besselk(0, x), (1e-6, 60), 5e-15),
    "modified_bessel_k1": (lambda x: mpmath.besselk(1, x), (1e-6, 60), 5e-15),
    "scaled_modified_bessel_k0": (lambda x: mpmath.besselk(0, x) * mpmath.exp(x), (1e-6, 60), 5e-15),
    "scaled_modified_bessel_k1": (lambda x: mpmath.besselk(1, x) * mpmath.exp(x), (1e-6, 60), 5e-15),
    "airy_ai": (mpmath.airyai, (-12, 8), 5e-11),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), (-9, 40), 1e-13),
    "ndtri": (lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1), (1e-9, 1), 5e-15),
}
WITH_ZEROS = ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "airy_ai")


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    f, (low, high), limit = CASES[name]
    draw = random.Random(0)
    points = [draw.uniform(low, to) for to in (high, min(high, 8), min(high, 2)) for _ in range(30)]
    for dtype, most in ((torch.float64, limit), (torch.float32, 0.75 * 2**-23)):
        x = torch.tensor(points, dtype=dtype)
        with mpmath.workdps(30):
            for value, got in zip(x.tolist(), getattr(torch.special, name)(x).tolist()):
                want = f(mpmath.mpf(value))
                scale = max(abs(want), 1 if dtype == torch.float64 and name in WITH_ZEROS else 0)
                assert abs(got - want) <= most * scale, (value, got, want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted({*CASES, "spherical_bessel_j0", "ndtr", "log_ndtr", "i0", "i1"} - {"airy_ai"}))
def test_edges_as_in_pytorch(name, dtype):
    real = pytest.importorskip("torch")
    edges = [math.inf, -math.inf, math.nan, 0.0, -0.0, 1e30]
    want = getattr(real.special, name)(real.tensor(edges, dtype=getattr(real, dtype)))
    got = getattr(torch.special, name)(torch.tensor(edges, dtype=getattr(torch, dtype)))
    for x, g, w in zip(edges, got.tolist(), want.tolist()):
        assert (math.isnan(g) and math.isnan(w)) or g == w or abs(g - w) < 1e-7, (x, g, w)
        if x == 0 and w == 0:
            assert math.copysign(1, g) == math.copysign(1, w), (x, g, w)


def test_airy_of_infinity_is_nan_as_in_pytorch():
    assert torch.special.airy_ai(torch.tensor([math.inf, -math.inf])).isnan().all()
