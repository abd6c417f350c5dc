"""Derivatives of whole functions, and ops whose bodies or gradients make tensors of their own:
all on the device of their arguments."""

from __future__ import annotations

import warnings

import pytest
import torchlite as torch
from torchlite.nn import functional as F

pytestmark = pytest.mark.usefixtures("bridge")


def made(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def both(fn, *xs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # factorisations run on the CPU, which is said
        want, got = fn(*xs), fn(*(x.to("webgpu") for x in xs))
    for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (want, got))):
        assert b.device.type == "webgpu"
        torch.testing.assert_close(b.cpu(), a, rtol=1e-4, atol=1e-4)


def gradient(fn):
    def run(*xs):
        xs = [x.detach().clone().requires_grad_() for x in xs]
        y = fn(*xs)
        return torch.autograd.grad(sum((t * t).sum() for t in (y if isinstance(y, tuple) else (y,))), xs)

    return run


def test_functions():
    x, w = made(2, 4, 5), made(3, 4, 2)
    both(torch.func.jacrev(lambda x, w: F.conv1d(x, w)), x, w)
    both(torch.func.hessian(lambda x: x.tanh().pow(2).sum()), made(3, 2))
    both(torch.func.vmap(lambda q: F.scaled_dot_product_attention(q, q, q)), made(2, 3, 4, 5))
    both(torch.func.grad(lambda q: (q @ q.mT).sum()), x)
    both(lambda x: torch.autograd.functional.jacobian(lambda v: v * v, x), made(3))


def test_gradients():
    both(gradient(lambda x: x.as_strided((3, 2), (1, 2))), made(3, 4))
    both(gradient(lambda x: x.clone().fill_(2.0) + x), made(3))
    both(gradient(lambda x: x.unbind(0)[1]), made(3, 4))
    both(gradient(torch.linalg.det), made(3, 3))
    both(gradient(lambda a: torch.linalg.lu(a)[1:]), made(3, 3))
    both(gradient(lambda a: torch.linalg.slogdet(a)[1]), made(2, 3, 3))
    both(
        gradient(lambda x, g: F.grid_sample(x, g.tanh(), mode="nearest", align_corners=False)),
        made(1, 2, 4, 4),
        made(1, 3, 3, 2),
    )


def test_fractional_pooling():
    samples = torch.rand(2, 3, 2, generator=torch.Generator().manual_seed(0))
    both(lambda x, s: F.fractional_max_pool2d(x, 2, 3, _random_samples=s), made(2, 3, 7, 7), samples)


def test_bool_addr():
    a, b = made(3) > 0, made(4) > 0
    both(lambda s, a, b: torch.addr(s, a, b, alpha=0), made(3, 4) > 0, a, b)
