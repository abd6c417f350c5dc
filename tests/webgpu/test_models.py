"""Ordinary models train on webgpu as on the CPU:
the same losses and gradients, and no op runs on the CPU in between."""

from __future__ import annotations

import copy
import math

import pytest
import torchlite as torch
from torchlite import nn
from torchlite.nn import functional as F

pytestmark = pytest.mark.usefixtures("bridge")


def train(model, x, y, loss_fn, make):
    from torchlite.webgpu import fallback

    fallbacks = dict(fallback.fallbacks)
    results = []
    for device in ("cpu", "webgpu"):
        m = copy.deepcopy(model).to(device)
        optimizer = make(m.parameters())
        losses, grads = [], None
        for _ in range(3):
            optimizer.zero_grad()
            loss = loss_fn(m(x.to(device)), y.to(device))
            loss.backward()
            if grads is None:
                grads = {n: p.grad.cpu().clone() for n, p in m.named_parameters()}
            optimizer.step()
            losses.append(loss.item())
        results.append((losses, grads))
    (losses, grads), (got, gpu) = results
    for n, g in grads.items():
        torch.testing.assert_close(gpu[n], g, rtol=1e-4, atol=1e-5 * max(1.0, g.abs().max().item()), msg=n)
    assert all(math.isclose(a, b, rel_tol=1e-4) for a, b in zip(losses, got)), (losses, got)
    assert losses[-1] < losses[0]
    assert {k: n for k, n in fallback.fallbacks.items() if n != fallbacks.get(k)} == {}


def test_cnn():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, stride=2),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1, groups=16),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 10),
    )
    train(
        model,
        torch.randn(4, 3, 16, 16),
        torch.randint(0, 10, (4,)),
        F.cross_entropy,
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    )


def test_autoencoder():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, stride=2, padding=1),
        nn.SiLU(),
        nn.ConvTranspose2d(4, 4, 2, stride=2),
        nn.GELU(),
        nn.AvgPool2d(3, 1, 1),
        nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.Conv2d(4, 1, 2, stride=2),
        nn.Sigmoid(),
    )
    x = torch.rand(2, 1, 8, 8)
    train(model, x, x, F.mse_loss, lambda p: torch.optim.Adam(p, lr=1e-2))


class Block(nn.Module):
    def __init__(self, width, heads, fused):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads, self.fused = heads, fused

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (z.view(b, t, self.heads, c // self.heads).transpose(1, 2) for z in self.qkv(self.ln1(x)).split(c, 2))
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1)) / math.sqrt(c // self.heads)
            mask = torch.tril(torch.ones(t, t, device=x.device)) == 0
            y = F.softmax(scores.masked_fill(mask, float("-inf")), -1) @ v
        x = x + self.proj(y.transpose(1, 2).contiguous().view(b, t, c))
        return x + self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(50, 32), nn.Embedding(16, 32)
        self.blocks = nn.Sequential(Block(32, 4, False), Block(32, 4, True))
        self.head = nn.Linear(32, 50, bias=False)
        self.tokens.weight = self.head.weight

    def forward(self, i):
        x = self.tokens(i) + self.places(torch.arange(i.shape[1], device=i.device))
        return self.head(self.blocks(x)).view(-1, 50)


def test_gpt():
    torch.manual_seed(0)
    train(
        Gpt(),
        torch.randint(0, 50, (2, 16)),
        torch.randint(0, 50, (32,)),
        F.cross_entropy,
        lambda p: torch.optim.AdamW(p, lr=1e-3),
    )


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru, self.out = nn.LSTM(8, 16, 2, batch_first=True), nn.GRU(16, 8), nn.Linear(8, 4)

    def forward(self, x):
        return self.out(self.gru(self.lstm(x)[0])[0]).mean(1)


def test_recurrent():
    torch.manual_seed(0)
    train(
        Recurrent(),
        torch.randn(2, 5, 8),
        torch.randint(0, 4, (2,)),
        F.cross_entropy,
        lambda p: torch.optim.Adam(p, lr=1e-2),
    )


def test_transformer_encoder():
    torch.manual_seed(0)
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True), 2)
    train(model, torch.randn(2, 7, 32), torch.randn(2, 7, 32), F.mse_loss, lambda p: torch.optim.Adam(p, lr=1e-2))
