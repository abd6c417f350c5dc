"""Convolutions and their gradients on webgpu: what the CPU gives for the same tensors, without its help."""

from __future__ import annotations

import pytest
import torchlite as torch
from moved import fail_alike, made
from torchlite.nn import functional as F

pytestmark = pytest.mark.usefixtures("bridge", "on_the_gpu")

EPS = {torch.float32: 2e-5, torch.float16: 1e-2, torch.bfloat16: 6e-2}
CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
SIZE, KERNEL = (7, 6, 5), (3, 2, 3)


def run(fn, xs, device, needs):
    xs = [x.detach().clone().to(device) for x in xs]
    for x, need in zip(xs, needs):
        x.requires_grad_(need)
    y = fn(*xs)
    if any(needs):
        y.backward(made(*y.shape, dtype=y.dtype, seed=5).to(device))
    return [y.detach(), *[x.grad for x in xs]]


def both(fn, *xs, needs=None):
    needs = [True] * len(xs) if needs is None else needs
    want, got = run(fn, xs, "cpu", needs), run(fn, xs, "webgpu", needs)
    for a, b in zip(want, got):
        if a is None:
            assert b is None
            continue
        assert b.device.type == "webgpu"
        assert (b.dtype, b.shape, b.stride()) == (a.dtype, a.shape, a.stride())
        e = EPS[a.dtype]
        torch.testing.assert_close(
            b.cpu().float(), a.float(), rtol=e, atol=e * max(1.0, a.float().abs().max().item() if a.numel() else 1.0)
        )


def weights(*lead, n=2):
    return made(*lead, *KERNEL[:n])


def images(*lead, n=2):
    return made(*lead, *SIZE[:n])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_convolution_without_options(n):
    both(CONV[n], images(2, 4, n=n), weights(6, 4, n=n), made(6))
    both(CONV[n], images(4, n=n), weights(6, 4, n=n), made(6))
    both(CONV[n], images(0, 4, n=n), weights(6, 4, n=n), made(6))


@pytest.mark.parametrize("n", [1, 2])
def test_windows(n):
    both(lambda x, w, b: CONV[n](x, w, b, stride=2, padding=1), images(2, 4, n=n), weights(6, 4, n=n), made(6))
    both(lambda x, w: CONV[n](x, w, None, padding=1, dilation=2, groups=2), images(2, 4, n=n), weights(6, 2, n=n))
    both(lambda x, w, b: CONV[n](x, w, b, groups=4), images(2, 4, n=n), weights(8, 1, n=n), made(8))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_transposed(n):
    both(
        lambda x, w, b: TRANSPOSED[n](x, w, b, stride=2, padding=1, output_padding=1, groups=2),
        images(2, 4, n=n),
        weights(4, 3, n=n),
        made(6),
    )


def test_transposed_others():
    both(F.conv_transpose2d, images(2, 4), weights(4, 3), made(3))
    both(F.conv_transpose2d, images(4), weights(4, 3), made(3))
    both(lambda x, w: F.conv_transpose2d(x, w, None, stride=3, dilation=2, groups=4), images(2, 4), weights(4, 1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_16_bit_convolution(dtype):
    both(
        lambda x, w, b: F.conv2d(x, w, b, padding=1), images(2, 3).to(dtype), weights(5, 3).to(dtype), made(5).to(dtype)
    )
    both(
        lambda x, w, b: F.conv2d(x, w, b, groups=3), images(2, 3).to(dtype), weights(3, 1).to(dtype), made(3).to(dtype)
    )


def test_only_what_is_asked_for():
    for needs in [(True, False, False), (False, True, False), (False, False, True), (False, False, False)]:
        both(lambda x, w, b: F.conv2d(x, w, b, padding=1), images(2, 3), weights(5, 3), made(5), needs=needs)


def test_strided_operands():
    both(lambda x, w, b: F.conv2d(x.transpose(0, 1), w[:, ::2], b[1::2]), images(4, 2), weights(6, 8), made(12))
    both(lambda x, w: F.conv2d(x[1:], w[2:]), images(3, 4), weights(6, 4))
    both(lambda x, w: F.conv2d(x.mT, w.expand(5, 3, 2, 3)), images(2, 3), made(1, 3, 2, 3))
    both(lambda x, w: F.conv2d(x.relu(), w).transpose(1, 2) * 2, images(2, 4), weights(6, 4))


def test_long_sums():
    both(lambda x, w, b: F.conv2d(x, w, b, padding=1), made(3, 2, 40, 41), made(2, 2, 3, 3), made(2))


def test_wide_and_one_by_one():
    both(F.conv2d, made(2, 40, 5, 5), made(36, 40, 1, 1), made(36))


def test_convolution():
    x, w, b = images(2, 4), weights(6, 4), made(6)
    both(lambda x, w, b: torch.convolution(x, w, b, [1], [0, 1], [1, 1], False, [0, 0], 1), x, w, b)
    both(lambda x, w: torch.convolution(x, w, None, [2, 1], [0, 1], [1, 1], True, [1, 0], 1), x, weights(4, 3))
    both(lambda x, w: torch.conv_tbc(x, w, torch.zeros(4, device=x.device), 1), made(5, 2, 3), made(2, 3, 4))


def test_second_gradient():
    results = []
    for device in ("cpu", "webgpu"):
        x, w = (t.to(device).requires_grad_() for t in (images(2, 4), weights(6, 4)))
        y = F.conv2d(x.tanh(), w, stride=2)
        gx, gw = torch.autograd.grad((y * y).sum(), (x, w), create_graph=True)
        results.append([t.cpu() for t in torch.autograd.grad((gx * gx).sum() + (gw * gw).sum(), (x, w))])
    for a, b in zip(*results):
        torch.testing.assert_close(b, a, rtol=1e-4, atol=1e-4 * a.abs().max().item())


def test_same_padding():
    both(lambda x, w: F.conv2d(x, w, None, padding="same"), images(2, 4), weights(6, 4))


def test_integers():
    x, w, b = (torch.randint(-9, 9, s) for s in ((2, 4, 7, 6), (6, 4, 3, 2), (6,)))
    for fn in (
        lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1),
        lambda x, w, b: F.conv_transpose2d(x[:, :, :3], w.transpose(0, 1), b, stride=2),
    ):
        assert torch.equal(fn(*(t.to("webgpu") for t in (x, w, b))).cpu(), fn(x, w, b))


R = torch.ones
CASES = [
    lambda d: F.conv2d(R(2, 3, 5, 5, device=d), R(4, 4, 3, 3, device=d)),
    lambda d: F.conv2d(R(2, 3, 2, 2, device=d), R(4, 3, 3, 3, device=d)),
    lambda d: F.conv2d(R(3, 5, device=d), R(4, 3, 3, 3, device=d)),
    lambda d: F.conv2d(R((), device=d), R(4, 3, 3, 3, device=d)),
    lambda d: F.conv1d(R(2, 3, 5, device=d), R(4, 3, 3, 3, device=d)),
    lambda d: F.conv2d(R(2, 3, 5, 5, device=d), R(4, 3, 3, 3, device=d), R(3, device=d)),
    lambda d: F.conv2d(R(2, 3, 5, 5, device=d), R(4, 3, 3, 3, device=d).half()),
    lambda d: F.conv2d(R(2, 3, 5, 5, device=d).long(), R(4, 3, 3, 3, device=d)),
    lambda d: F.conv2d(R(2, 3, 5, 5, device=d), R(4, 3, 3, 3, device=d), padding=-1),
    lambda d: F.conv2d(R(2, 3, 5, 5, device=d), R(4, 3, 3, 3, device=d), stride=0),
    lambda d: F.conv2d(R(2, 3, 5, 5, device=d), R(4, 3, 3, 3, device=d), stride=(1, 2, 3)),
    lambda d: F.conv2d(R(2, 3, 5, 5, device=d), R(4, 3, 3, 3, device=d), groups=2),
    lambda d: F.conv2d(R(2, 3, 5, 5, device=d) > 0, R(4, 3, 3, 3, device=d) > 0),
    lambda d: F.conv_transpose2d(R(2, 3, 5, 5, device=d), R(3, 3, 3, 3, device=d), output_padding=2),
    lambda d: F.conv_transpose2d(R(2, 3, 1, 1, device=d), R(3, 3, 3, 3, device=d), padding=2),
    lambda d: torch.convolution(
        R(3, 5, 5, device=d), R(4, 3, 3, 3, device=d), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1
    ),
]


@pytest.mark.parametrize("case", CASES)
def test_errors(case):
    fail_alike(case, "cpu")


def test_devices():
    for a, b in (("cpu", "webgpu"), ("webgpu", "cpu")):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            F.conv2d(R(2, 3, 5, 5, device=a), R(4, 3, 3, 3, device=b))


@pytest.mark.parametrize("shape", [(2, 4, 5, 6), (4, 5, 6), (2, 4, 1, 6), (2, 4, 0, 3), (0, 4, 5, 6)], ids=str)
def test_shapes_and_errors_as_on_the_cpu(shape):
    """Valid arguments have their shape without the CPU's kernel; wrong ones have its error."""
    options = [{}, {"stride": 2, "padding": 1}, {"padding": (1, 2), "dilation": 2}, {"groups": 2}, {"groups": 0}]
    options += [{"stride": 0}, {"padding": -1}, {"stride": (1, 2, 3)}, {"dilation": 0}, {"bias": 4}, {"bias": 3}]
    for weight in [(4, 4, 3, 3), (4, 2, 3, 3), (4, 4, 0, 3), (0, 4, 3, 3), (4, 4, 3)]:
        for given in options:
            seen = []
            for device in ("cpu", "webgpu"):
                more = {k: torch.ones(v, device=device) if k == "bias" else v for k, v in given.items()}
                try:
                    r = torch.nn.functional.conv2d(torch.ones(shape).to(device), torch.ones(weight).to(device), **more)
                    seen.append((r.shape, r.stride()))
                except Exception as error:
                    seen.append((type(error), str(error)))
            assert seen[0] == seen[1], (weight, given)
