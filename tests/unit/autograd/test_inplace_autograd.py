"""In-place programs under autograd: first and second gradients against differences,
and all they return against PyTorch."""

import warnings

import pytest
from inplace_cases import CASES, COMPLEX

import torchlite as ours

try:
    import torch as real

    if not hasattr(real, "_C") or hasattr(real.version, "torchlite"):
        real = None
except ImportError:
    real = None

PROGRAMS = {**CASES, **{"complex_" + k: v for k, v in COMPLEX.items()}}


def start(m):
    x = m.arange(1, 13, dtype=m.float64).mul(7).remainder(13).div(13).reshape(3, 4)
    return x.requires_grad_()


@pytest.mark.parametrize("run", PROGRAMS.values(), ids=PROGRAMS)
def test_differences(run):
    def fn(x):
        ours.manual_seed(0)
        return run(ours, x)

    assert ours.autograd.gradcheck(fn, start(ours), atol=1e-5, rtol=1e-3)
    assert ours.autograd.gradgradcheck(fn, start(ours), atol=1e-4, rtol=1e-3)


def outcome(m, run):
    """Values, first and second gradients, strides, the version."""
    m.manual_seed(0)
    x = start(m)
    z = run(m, x)
    w = m.linspace(-1, 1, z.numel(), dtype=m.float64).reshape(z.shape)
    (first,) = m.autograd.grad((z * w).sum(), x, create_graph=True, retain_graph=True)
    second = (
        m.autograd.grad(
            (first * first * w.sum(-1, True).sum()).sum() + first.exp().sum(), x, allow_unused=True, retain_graph=True
        )[0]
        if first.requires_grad
        else None
    )
    (z * w).sum().backward()
    plain = lambda t: None if t is None else (t.detach().tolist(), str(t.dtype))
    return (
        [plain(z), plain(first), plain(second), plain(x.grad)],
        [tuple(t.stride()) for t in (z, first, x.grad)],
        z._version,
        z.requires_grad,
    )


def near(a, b):
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(near(p, q) for p, q in zip(a, b))
    return a == b or isinstance(a, float) and abs(a - b) <= 1e-7 * (1 + abs(b))


@pytest.mark.skipif(real is None, reason="real PyTorch is not importable here")
@pytest.mark.parametrize("run", PROGRAMS.values(), ids=PROGRAMS)
def test_against_pytorch(run):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got, want = outcome(ours, run), outcome(real, run)
    assert near(got, want), (got, want)
