"""scaled_dot_product_attention on webgpu: what the CPU gives for the same tensors, without its help."""

from __future__ import annotations

import pytest
import torchlite as torch
from moved import fail_alike, made
from torchlite import nn
from torchlite.nn import functional as F

pytestmark = pytest.mark.usefixtures("bridge", "on_the_gpu")

EPS = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def run(fn, xs, device, grad):
    xs = [x.detach().clone().to(device).requires_grad_(grad and x.is_floating_point()) for x in xs]
    y = fn(*xs)
    if grad:
        y.backward(made(*y.shape, dtype=y.dtype, seed=5).to(device))
    return [y.detach(), *[x.grad for x in xs if x.grad is not None]]


def both(fn, *xs):
    for grad in (True, False):
        want, got = run(fn, xs, "cpu", grad), run(fn, xs, "webgpu", grad)
        assert len(want) == len(got)
        for a, b in zip(want, got):
            assert b.device.type == "webgpu"
            assert (b.dtype, b.shape) == (a.dtype, a.shape)
            e = EPS[a.dtype]
            torch.testing.assert_close(
                b.cpu().float(),
                a.float(),
                rtol=e,
                atol=e * max(1.0, a.float().abs().max().item() if a.numel() else 0),
                equal_nan=True,
            )


sdpa = F.scaled_dot_product_attention


def test_attention_without_mask():
    both(sdpa, made(2, 3, 5, 8), made(2, 3, 7, 8), made(2, 3, 7, 6))
    both(lambda q, k, v: sdpa(q, k, v, is_causal=True), made(2, 3, 5, 8), made(2, 3, 5, 8), made(2, 3, 5, 8))
    both(lambda q, k, v: sdpa(q, k, v, is_causal=True, scale=0.3), made(3, 5, 8), made(3, 7, 8), made(3, 7, 8))
    both(sdpa, made(5, 8), made(7, 8), made(7, 8))
    both(sdpa, made(20, 33), made(40, 33), made(40, 5))


def test_16_bit_attention():
    for dtype in (torch.float16, torch.bfloat16):
        both(lambda q, k, v: sdpa(q, k, v, is_causal=True), *(made(2, 3, 5, 8, dtype=dtype, seed=i) for i in range(3)))


def test_half_gradients_of_rows_that_see_one_key():
    """Where one key has nearly all the weight little is left of the query's gradient,
    which the rounding of the result must not hide."""
    for dtype in (torch.float16, torch.bfloat16):
        xs = [4 * made(2, 3, 5, 8, dtype=dtype, seed=i) for i in range(3)]
        (_, want, *_), (_, got, *_) = (run(sdpa, xs, device, True) for device in ("cpu", "webgpu"))
        torch.testing.assert_close(got.cpu().float(), want.float(), rtol=EPS[dtype], atol=2e-4)


def test_attention_masks():
    q, k, v = made(2, 3, 5, 8), made(2, 3, 7, 8), made(2, 3, 7, 6)
    allowed = made(5, 7) > -0.5
    allowed[2] = False  # a row that may see nothing
    both(sdpa, q, k, v, allowed)
    both(sdpa, q, k, v, (made(2, 1, 1, 7) > -0.5))
    both(sdpa, q, k, v, made(5, 7))
    both(sdpa, q, k, v, made(2, 1, 5, 7))
    both(lambda q, k, v, m: sdpa(q, k, v, m), made(3, 5, 8), made(3, 7, 8), made(3, 7, 8), made(3, 5, 7))
    hidden = torch.zeros(5, 7)
    hidden[1], hidden[2, 3:] = float("-inf"), float("-inf")
    both(lambda q, k, v: sdpa(q, k, v, hidden.to(q.device)), q, k, v)


def test_strided():
    def heads(x):
        q, k, v = (t.view(2, 6, 2, 4).transpose(1, 2) for t in x.split(8, 2))
        return sdpa(q, k, v, is_causal=True).transpose(1, 2).reshape(2, 6, 8)

    both(heads, made(2, 6, 24))
    both(lambda q, k, v: sdpa(q.mT, k[..., ::2], v[:, :, 1:]), made(1, 2, 4, 5), made(1, 2, 6, 8), made(1, 2, 7, 3))


def test_what_the_kernel_does_not_take():
    both(sdpa, made(2, 3, 200), made(2, 4, 200), made(2, 4, 3))
    both(sdpa, made(2, 1, 2, 3, 8), made(2, 1, 2, 4, 8), made(2, 1, 2, 4, 8))
    both(sdpa, made(2, 1, 3, 8), made(1, 3, 4, 8), made(1, 3, 4, 8))
    both(lambda q, k, v: sdpa(q, k, v, enable_gqa=True), made(2, 4, 3, 8), made(2, 2, 5, 8), made(2, 2, 5, 8))
    both(sdpa, made(2, 0, 8), made(2, 4, 8), made(2, 4, 8))


def test_second_gradient():
    results = []
    for device in ("cpu", "webgpu"):
        xs = [made(2, 4, 4, seed=i).to(device).requires_grad_() for i in range(3)]
        grads = torch.autograd.grad((sdpa(*xs, is_causal=True) ** 2).sum(), xs, create_graph=True)
        results.append([g.cpu() for g in torch.autograd.grad(sum((g * g).sum() for g in grads), xs)])
    for a, b in zip(*results):
        torch.testing.assert_close(b, a, rtol=1e-4, atol=1e-4)


def test_modules():
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(16, 4, batch_first=True)
    padded = torch.tensor([[False, False, False, True], [False, True, True, True]])
    for kw in [{"need_weights": False}, {"need_weights": True}]:
        both(lambda x: layer.to(x.device)(x, x, x, key_padding_mask=padded.to(x.device), **kw)[0], made(2, 4, 16))
    layer.to("cpu")


def test_errors():
    for args in [
        (made(2, 3, 4), made(2, 3, 5), made(2, 3, 4)),
        (made(2, 3, 4), made(2, 3, 4).half(), made(2, 3, 4)),
        (made(2, 3, 4), made(2, 3, 4), made(2, 5, 4)),
    ]:
        fail_alike(sdpa, *args)
