"""Pooling, windows as columns and interpolation on webgpu:
what the CPU gives for the same tensors, without its help."""

from __future__ import annotations

import pytest
import torchlite as torch
from moved import fail_alike, made
from torchlite.nn import functional as F

pytestmark = pytest.mark.usefixtures("bridge", "on_the_gpu")

EPS = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
SIZE = (7, 6, 5)
MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVG = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
ADAPTIVE = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}
ADAPTIVE_MAX = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}


def images(*lead, n=2, dtype=torch.float32):
    return made(*lead, *SIZE[:n], dtype=dtype)


def run(fn, x, device, grad):
    x = x.detach().clone().to(device).requires_grad_(grad)
    y = fn(x)
    y, rest = (y[0], y[1:]) if isinstance(y, tuple) else (y, ())
    if grad:
        y.backward(made(*y.shape, dtype=y.dtype, seed=5).to(device))
    return [y.detach(), *rest, *([x.grad] if grad else [])]


def both(fn, x, scale=1.0):
    for grad in (True, False):
        want, got = run(fn, x, "cpu", grad), run(fn, x, "webgpu", grad)
        for a, b in zip(want, got):
            assert b.device.type == "webgpu"
            assert (b.dtype, b.shape, b.stride()) == (a.dtype, a.shape, a.stride())
            b = b.cpu()
            if a.dtype in EPS:
                e = EPS[a.dtype] * scale
                torch.testing.assert_close(b.float(), a.float(), rtol=e, atol=e, equal_nan=True)
            else:
                assert torch.equal(a, b)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_max(n):
    both(lambda x: MAX[n](x, 2), images(2, 3, n=n))
    both(lambda x: MAX[n](x, 3, 2, 1, 1, True, True), images(3, n=n))
    both(lambda x: MAX[n](x, 2, 1, return_indices=True), images(0, 3, n=n))


def test_max_windows():
    both(lambda x: F.max_pool2d(x, (3, 2), (1, 2), (1, 0), (2, 1), return_indices=True), images(2, 3))
    both(lambda x: F.max_pool2d(x.transpose(0, 1)[:, :, 1:], [2, 2], return_indices=True), images(2, 3))
    both(lambda x: F.max_pool2d((x * 2).relu(), 2), images(2, 3))
    both(lambda x: F.max_pool2d(x, 3, 1, return_indices=True), torch.zeros(1, 1, 5, 5))


def test_max_not_finite():
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([[[1.0, nan, 0.0, nan], [2.0, -inf, -inf, nan], [-inf, -inf, inf, inf], [-inf, -inf, 3.0, inf]]])
    for device in ("cpu", "webgpu"):
        y, i = F.max_pool2d(x.to(device), 2, return_indices=True)
        assert i.tolist() == [[[1, 7], [8, 10]]]
        assert str(y.tolist()) == "[[[nan, nan], [-inf, inf]]]"


@pytest.mark.parametrize("n", [1, 2, 3])
def test_avg(n):
    both(lambda x: AVG[n](x, 2), images(2, 3, n=n))
    both(lambda x: AVG[n](x, 3, 2, 1, True, False), images(3, n=n))


def test_avg_windows():
    both(lambda x: F.avg_pool2d(x, 3, 2, 1, True), images(2, 3))
    both(lambda x: F.avg_pool2d(x, (2, 3), 1, (0, 1), divisor_override=4), images(2, 3))
    both(lambda x: F.lp_pool2d(x.abs() + 1, 2, 2), images(2, 3))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_adaptive(n):
    both(lambda x: ADAPTIVE[n](x, 3), images(2, 3, n=n))
    both(lambda x: ADAPTIVE_MAX[n](x, 3, True), images(2, 3, n=n))


def test_adaptive_sizes():
    both(lambda x: F.adaptive_avg_pool2d(x, 1), images(2, 3))
    both(lambda x: F.adaptive_avg_pool2d(x, (None, 9)), images(3))
    both(lambda x: F.adaptive_max_pool2d(x, (9, 2)), images(3))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_16_bit_pools(dtype):
    x = images(2, 3, dtype=dtype)
    both(lambda x: F.max_pool2d(x, 3, 2, 1), x)
    both(lambda x: F.avg_pool2d(x, 3, 2, 1), x)
    both(lambda x: F.adaptive_avg_pool2d(x, 3), x)
    both(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), x, 2)


def test_columns():
    both(lambda x: F.unfold(x, (2, 3), (1, 2), (1, 0), (2, 1)), images(2, 3))
    both(lambda x: F.unfold(x, 2), images(3))
    both(lambda x: F.fold(x, (4, 5), (2, 3), 1, (1, 0), (2, 1)), made(2, 12, 9))
    both(lambda x: F.fold(x, (4, 3), 2), made(12, 6))
    both(lambda x: F.fold(F.unfold(x, 3, padding=1), (7, 6), 3, padding=1), images(2, 3))


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
def test_interpolate(mode):
    for kw in [
        {"scale_factor": 2},
        {"size": (3, 11)},
        {"scale_factor": (0.6, 1.7)},
        {"scale_factor": 1.3, "recompute_scale_factor": True},
    ]:
        both(lambda x: F.interpolate(x, mode=mode, **kw), images(2, 3), 4)
    if mode[0] == "b":
        both(lambda x: F.interpolate(x, size=(3, 11), mode=mode, align_corners=True), images(2, 3), 4)
        both(lambda x: F.interpolate(x, size=(1, 1), mode=mode, align_corners=True), images(2, 3), 4)


def test_interpolate_other_dims():
    both(lambda x: F.interpolate(x, scale_factor=2), images(2, 3, n=1))
    both(lambda x: F.interpolate(x, size=4, mode="linear"), images(2, 3, n=1))
    both(lambda x: F.interpolate(x, size=(4, 8, 3)), images(2, 3, n=3))
    both(lambda x: F.interpolate(x, size=(4, 8, 3), mode="trilinear", align_corners=True), images(2, 3, n=3), 4)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_interpolate_smoothly(mode):
    both(lambda x: F.interpolate(x, size=(3, 4), mode=mode, antialias=True), images(2, 3), 4)
    both(lambda x: F.interpolate(x, scale_factor=0.6, mode=mode, antialias=True), images(2, 3), 4)
    both(lambda x: F.interpolate(x, scale_factor=1.5, mode=mode, antialias=True), images(2, 3), 4)


def test_pixel_shuffle():
    both(lambda x: F.pixel_shuffle(x, 2), made(2, 8, 3, 2))
    both(lambda x: F.pixel_unshuffle(x, 2), made(2, 2, 4, 6))


def test_second_gradient():
    for fn in (
        lambda x: F.max_pool2d(x, 2),
        lambda x: F.avg_pool2d(x, 3, 2, 1),
        lambda x: F.adaptive_avg_pool2d(x, 2),
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    ):
        results = []
        for device in ("cpu", "webgpu"):
            x = images(1, 2).to(device).requires_grad_()
            (g,) = torch.autograd.grad((fn(x) ** 3).sum(), x, create_graph=True)
            results.append(torch.autograd.grad((g * g).sum(), x)[0].cpu())
        torch.testing.assert_close(results[1], results[0], rtol=1e-4, atol=1e-4)


CASES = [
    lambda d: F.max_pool2d(torch.ones(2, 3, 5, device=d), 7),
    lambda d: F.max_pool2d(torch.ones(2, 3, 5, 5, device=d), 2, padding=2),
    lambda d: F.max_pool2d(torch.ones(2, 3, 5, 5, device=d), 2, stride=0),
    lambda d: F.max_pool2d(torch.ones(5, 5, device=d), 2),
    lambda d: F.max_pool2d(torch.ones(2, 0, 5, 5, device=d), 2),
    lambda d: F.max_pool1d(torch.ones(2, 3, 5, device=d), 0),
    lambda d: F.max_pool2d(torch.ones(2, 3, 5, 5, device=d) > 0, 2),
    lambda d: F.max_pool2d(torch.ones((), device=d), 2),
    lambda d: F.avg_pool2d(torch.ones(2, 3, 5, 5, device=d), (2, 2, 2)),
    lambda d: F.avg_pool2d(torch.ones(2, 3, 5, 5, device=d), 2, divisor_override=0),
    lambda d: F.avg_pool3d(torch.ones(2, 3, 5, 5, 1, device=d), 2),
    lambda d: F.adaptive_avg_pool2d(torch.ones(2, 3, 0, 5, device=d), 2),
    lambda d: F.adaptive_max_pool2d(torch.ones(2, 3, 5, device=d), (2, 2, 2)),
    lambda d: F.unfold(torch.ones(2, 3, 2, 2, device=d), 3),
    lambda d: F.fold(torch.ones(2, 12, 5, device=d), (4, 3), 2),
    lambda d: F.interpolate(torch.ones(2, 3, 4, 4, device=d), size=(0, 3)),
]


@pytest.mark.parametrize("case", CASES)
def test_errors(case):
    fail_alike(case, "cpu")
