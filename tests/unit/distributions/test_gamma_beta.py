"""Gamma, beta and Dirichlet draws: small concentrations, and derivatives with respect to the concentrations."""

import pytest

import torchlite
from torchlite import distributions as D


@pytest.mark.parametrize("dtype", [torchlite.float32, torchlite.float64])
@pytest.mark.parametrize("a,b", [(1e-4, 1e-4), (1e-3, 1e-3), (0.01, 0.01), (0.1, 0.02), (1e-3, 3e-3)])
def test_beta_at_small_concentrations(a, b, dtype):
    """Draws pile up at both ends, never on 0, 1 or the middle, where underflow would put them."""
    torchlite.manual_seed(0)
    x = D.Beta(torchlite.tensor(a, dtype=dtype), torchlite.tensor(b, dtype=dtype)).sample((20000,))
    assert ((x > 0) & (x < 1)).all()
    assert ((x - 0.5).abs() < 0.01).float().mean() < 0.001 + 0.2 * min(a, b)
    assert abs((x > 0.5).float().mean().item() - a / (a + b)) < 0.02
    assert abs(x.double().mean().item() - a / (a + b)) < 0.02


def test_dirichlet_at_small_concentrations():
    torchlite.manual_seed(0)
    x = D.Dirichlet(torchlite.tensor([1e-4, 2e-4, 1e-4])).sample((20000,))
    assert ((x > 0) & (x < 1)).all() and ((x.sum(-1) - 1).abs() < 1e-6).all()
    assert ((x.mean(0) - torchlite.tensor([0.25, 0.5, 0.25])).abs() < 0.02).all()


def test_derivative_of_beta_draws():
    """Beta(a, 1) has the distribution function x**a, and Beta(1, b) 1 - (1 - x)**b."""
    x = torchlite.tensor([1e-30, 1e-3, 0.3, 0.7, 0.999, 1 - 1e-9], dtype=torchlite.float64)
    for a in (1e-3, 0.2, 1.0, 7.0, 300.0, 1e4):
        alpha = torchlite.full_like(x, a)
        got = torchlite._dirichlet_grad(x, alpha, alpha + 1)
        torchlite.testing.assert_close(got, -x * x.log() / a / (1 - x), rtol=1e-7, atol=0)
    assert torchlite._dirichlet_grad(torchlite.zeros(2), torchlite.ones(2), torchlite.full((2,), 2.0)).tolist() == [
        0,
        0,
    ]


def test_derivative_of_gamma_draws():
    """Both expansions meet; Gamma(1) has 1 - exp(-x), and its derivative by the shape is known at small x."""
    a = torchlite.logspace(-2, 5, 15, dtype=torchlite.float64)
    for z in (-3.0, -1.0, 0.0, 1.0, 3.0, 5.0):
        x = (a + z * a.sqrt()).clamp(min=1e-3)
        step = a * 1e-5
        cdf = torchlite.special.gammainc
        pdf = ((a - 1) * x.log() - x - torchlite.lgamma(a)).exp()
        want = -(cdf(a + step, x) - cdf(a - step, x)) / (2 * step) / pdf
        torchlite.testing.assert_close(torchlite._standard_gamma_grad(a, x), want, rtol=2e-3, atol=1e-9)


def test_derivatives_at_the_edges_of_the_shape():
    nan = float("nan")
    assert torchlite._standard_gamma(torchlite.tensor([nan, -1.0, 0.0])).isnan().tolist() == [True, True, False]
    assert torchlite._standard_gamma_grad(
        torchlite.tensor([1.0, 1.0]), torchlite.tensor([0.0, nan])
    ).isnan().tolist() == [False, True]


@pytest.mark.parametrize("concentration", [[0.01, 0.01], [0.3, 0.4, 5.0], [1.0, 2.0], [40.0, 3.0, 9.0, 100.0]])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dirichlet_is_pytorchs(concentration, dtype):
    """The same seed gives the same draws, and each draw the same derivative (PyTorch's is good to about 1e-3)."""
    real = pytest.importorskip("torch")
    results = []
    for lib in (real, torchlite):
        lib.manual_seed(5)
        c = lib.tensor(concentration, dtype=getattr(lib, dtype), requires_grad=True)
        x = lib.distributions.Dirichlet(c).rsample((50,))
        weight = lib.arange(x.numel(), dtype=x.dtype).reshape(x.shape).sin()
        grad = [lib.autograd.grad((r * w).sum(), c, retain_graph=True)[0].tolist() for r, w in zip(x[:9], weight[:9])]
        beta = lib.distributions.Beta(c[0].detach(), c[1].detach()).sample((20,))
        results.append((x.tolist(), beta.tolist(), grad))
    assert results[0][:2] == results[1][:2]
    scale = max(abs(v) for row in results[0][2] for v in row)
    assert max(abs(v - w) for g, h in zip(results[0][2], results[1][2]) for v, w in zip(g, h)) < 5e-3 * scale
