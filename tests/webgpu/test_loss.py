"""Losses on webgpu against the CPU."""

from __future__ import annotations


import pytest
import torchlite as torch
import torchlite.nn.functional as F

pytestmark = pytest.mark.usefixtures("bridge", "on_the_gpu")


def rand(*shape, dtype=torch.float32, seed=0, lo=None):
    g = torch.Generator().manual_seed(seed + sum(shape))
    x = torch.randn(shape, generator=g) if lo is None else torch.rand(shape, generator=g) * 0.8 + lo
    return x.to(dtype)


def both(fn, x, *rest, rtol=1e-5, atol=1e-6):
    """Loss and gradient of the first argument on both devices."""
    outs = []
    for device in ("cpu", "webgpu"):
        own = x.detach().to(device).requires_grad_()
        others = [t.to(device) if isinstance(t, torch.Tensor) else t for t in rest]
        y = fn(own, *others)
        y.backward(rand(*y.shape, dtype=y.dtype, seed=5).to(device))
        outs.append((y.detach(), own.grad))
    for a, b in zip(*outs):
        assert b.device.type == "webgpu" and a.dtype == b.dtype and a.shape == b.shape
        torch.testing.assert_close(b.cpu(), a, rtol=rtol, atol=atol, equal_nan=True)


HALF = {"rtol": 2e-3, "atol": 2e-3}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("fn", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss])
def test_losses_of_two_tensors(fn, reduction):
    x, y = rand(6, 5), rand(6, 5, seed=1)
    both(lambda a, b: fn(a, b, reduction=reduction), x, y, atol=1e-5)
    both(lambda a, b: fn(a.t() * 2, b.t().exp(), reduction=reduction), x, y, atol=1e-4)
    both(lambda a, b: fn(a, b, reduction=reduction), x.half(), y.half(), rtol=3e-3, atol=3e-3)
    both(lambda a, b: fn(a, b, reduction=reduction), rand(0, 3), rand(0, 3))
    both(lambda a, b: fn(b, a, reduction=reduction), x, y, atol=1e-5)


def test_pair_losses_square_in_float32():
    x = torch.full((3,), 300.0, dtype=torch.float16)
    w = F.mse_loss(x.to("webgpu"), torch.zeros(3, dtype=torch.float16, device="webgpu") + 100)
    assert w.item() == F.mse_loss(x, torch.zeros(3, dtype=torch.float16) + 100).item() == 40000.0


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_others(reduction):
    x, p = rand(6, 5), rand(6, 5, lo=0.1)
    both(lambda a, b: F.binary_cross_entropy(a, b, reduction=reduction), p, rand(6, 5, lo=0.1, seed=3), atol=1e-5)
    both(
        lambda a, b, w: F.binary_cross_entropy_with_logits(a, b, reduction=reduction, pos_weight=w),
        x,
        p,
        rand(5, lo=0.5),
        atol=1e-5,
    )
    both(lambda a, b: F.kl_div(a, b, reduction=reduction), x, p, atol=1e-5)
    both(lambda a, b: F.poisson_nll_loss(a, b, full=True, reduction=reduction), x, p * 3, atol=1e-5)
    both(lambda a, b: F.soft_margin_loss(a, b.sign(), reduction=reduction), x, rand(6, 5, seed=4), atol=1e-5)
    both(lambda a, b: F.gaussian_nll_loss(a, b, torch.ones_like(a), reduction=reduction), x, p, atol=1e-5)
    both(
        lambda a, b: F.cosine_embedding_loss(a, b, torch.ones(6, device=a.device), reduction=reduction), x, p, atol=1e-5
    )
    both(lambda a, b: F.triplet_margin_loss(a, b, b * 2, reduction=reduction), x, p, atol=1e-5)
    both(
        lambda a: F.multi_margin_loss(a, torch.tensor([0, 1, 2, 3, 4, 0], device=a.device), reduction=reduction),
        x,
        atol=1e-5,
    )
    both(lambda a, b: F.multilabel_soft_margin_loss(a, (b > 0.5).float(), reduction=reduction), x, p, atol=1e-5)


LABELS = torch.tensor([0, 4, 2, -100, 1, 1])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy(reduction, smoothing, weighted):
    w = rand(5, lo=0.2) if weighted else None

    def fn(x, t, w):
        return F.cross_entropy(x, t, w, reduction=reduction, label_smoothing=smoothing)

    both(fn, rand(6, 5), LABELS, w, atol=2e-6)
    both(fn, rand(6, 5).half(), LABELS, None if w is None else w.half(), **HALF)
    both(fn, rand(2, 5, 3), torch.tensor([[0, 1, 2], [4, -100, 3]]), w, atol=2e-6)
    both(lambda x, t, w: fn(x.t(), t[::2], w), rand(5, 3), LABELS, w, atol=2e-6)
    both(fn, rand(5), torch.tensor(3), w, atol=2e-6)


def test_cross_entropy_cases():
    both(lambda x, t: F.cross_entropy(x, t), rand(40, 700), torch.arange(40), atol=2e-6)
    both(lambda x, t: F.cross_entropy(x, t, ignore_index=1), rand(6, 5), torch.tensor([0, 1, 1, 2, 3, 4]), atol=2e-6)
    both(lambda x, t: F.cross_entropy(x, t), rand(2, 5), torch.tensor([-100, -100]))  # nan
    both(lambda x, t: F.cross_entropy(x, t), rand(4, 5), rand(4, 5, lo=0.1), atol=2e-6)  # probabilities
    both(
        lambda x, t: F.cross_entropy(x * 100, t),
        torch.tensor([[0.0, float("-inf"), 9.0], [1e4, 0, 2]]),
        torch.tensor([0, 2]),
        atol=1e-3,
    )
    both(
        lambda x, t: torch.autograd.grad(F.cross_entropy(x, t, label_smoothing=0.1), x, create_graph=True)[0],
        rand(4, 5),
        torch.tensor([0, 1, -100, 4]),
    )
    both(
        lambda x, t, w: torch.autograd.grad(F.cross_entropy(x, t, w, reduction="sum"), x, create_graph=True)[0],
        rand(4, 5),
        torch.tensor([0, 1, -100, 4]),
        rand(5, lo=0.3),
    )


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_nll_loss(reduction):
    w = rand(5, lo=0.2)
    for weight in (None, w):
        both(lambda x, t, w: F.nll_loss(x, t, w, reduction=reduction), rand(6, 5), LABELS, weight)
        both(
            lambda x, t, w: F.nll_loss(F.log_softmax(x, 1), t, w, reduction=reduction),
            rand(2, 5, 2, 2),
            LABELS[[0, 1, 2, 4]].view(1, 2, 2).repeat(2, 1, 1),
            weight,
        )
    both(lambda x, t: F.nll_loss(x, t, reduction=reduction), rand(5), torch.tensor(3))


def test_targets_out_of_range_are_told_before_a_value_is_read():
    for fn in (F.cross_entropy, F.nll_loss):
        x = rand(4, 5).to("webgpu").requires_grad_()
        with pytest.raises(IndexError, match="Target 5 is out of bounds"):
            fn(x, torch.tensor([0, 5, 1, 2]).to("webgpu"))  # known at once
        labels = torch.tensor([0, 2, 1, 2]).to("webgpu") + 3  # known on the GPU alone
        loss = fn(x, labels)
        loss.backward()
        with pytest.raises(IndexError, match="Target 5 is out of bounds"):
            loss.item()
        with pytest.raises(IndexError, match="Target -7 is out of bounds"):
            fn(x, labels * 0 - 7).item()
        assert fn(x, labels * 0 - 100).isnan().item()


def test_errors_are_pytorchs():
    x = torch.ones(4, 5, device="webgpu")
    with pytest.raises(ValueError, match="to match target batch_size"):
        F.cross_entropy(x, torch.zeros(3, dtype=torch.long, device="webgpu"))
    with pytest.raises(RuntimeError, match="label_smoothing must be between"):
        F.cross_entropy(x, torch.zeros(4, dtype=torch.long, device="webgpu"), label_smoothing=1.5)
    with pytest.raises(RuntimeError, match="weight tensor should be defined either for all"):
        F.cross_entropy(x, torch.zeros(4, dtype=torch.long, device="webgpu"), torch.ones(3, device="webgpu"))
    with pytest.raises(RuntimeError, match="Long or Byte"):
        F.nll_loss(x, torch.zeros(4, device="webgpu"))


def test_tensors_on_the_cpu_are_refused():
    x, t = torch.ones(4, 5), torch.zeros(4, dtype=torch.long)
    for fn in (F.cross_entropy, F.nll_loss):
        for a, b in ((x.to("webgpu"), t), (x, t.to("webgpu"))):
            with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
                fn(a, b)


def test_dropout_draws_what_the_cpu_draws():
    for fn in (F.dropout, F.alpha_dropout, F.feature_alpha_dropout, F.dropout1d):
        outs = []
        for device in ("cpu", "webgpu"):
            torch.manual_seed(7)
            x = torch.ones(3, 4, 5, device=device, requires_grad=True)
            y = fn(x, 0.4, True)
            y.sum().backward()
            outs.append((y.detach().cpu(), x.grad.cpu()))
        for a, b in zip(*outs):
            torch.testing.assert_close(a, b)
