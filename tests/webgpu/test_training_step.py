"""What a step of training costs on webgpu:
nothing on the CPU, nothing read back, few kernels, no bind group made anew."""

from __future__ import annotations

import pytest
import torchlite as torch
import torchlite.nn.functional as F
from torchlite import nn


class Attend(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.out, self.drop = (
            nn.LayerNorm(16),
            nn.Linear(16, 48),
            nn.Linear(16, 16),
            nn.Dropout(0.1),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, d = x.shape
        q, k, v = [y.view(b, t, 2, 8).transpose(1, 2) for y in self.qkv(self.norm(x)).split(d, 2)]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d)
        return x + self.drop(self.out(y))


MODELS = {  # model, input, optimizer, most kernels a step
    "mlp": (
        lambda: nn.Sequential(
            nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 5)
        ),
        lambda: torch.randn(6, 8),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        26,
    ),
    "cnn": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(4, 4, 3),
            nn.GroupNorm(2, 4),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(16, 5),
        ),
        lambda: torch.randn(6, 1, 8, 8),
        lambda p: torch.optim.Adam(p, lr=1e-2),
        48,
    ),
    "transformer": (
        lambda: nn.Sequential(nn.Embedding(5, 16), Attend(), nn.LayerNorm(16), nn.Linear(16, 5)),
        lambda: torch.randint(0, 5, (3, 4)),
        lambda p: torch.optim.AdamW(p, lr=1e-2),
        60,
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_step(bridge, name):
    from torchlite.webgpu import fallback
    from torchlite.webgpu.lazy import stream

    make, data, optimizer, most = MODELS[name]
    losses = []
    before = dict(fallback.fallbacks)
    for device in ("cpu", "webgpu"):
        torch.manual_seed(0)
        model, x, y = (
            make().to(device),
            data().to(device),
            torch.randint(0, 5, (3, 4) if name == "transformer" else (6,)).to(device),
        )
        opt = optimizer(model.parameters())
        out = []
        for k in range(14):
            if k == 8:
                # runs what still waits, which changes the order of allocations for some steps
                torch.webgpu.synchronize()
            if k == 13:
                stream.flush()
                start = bridge.stats()
            opt.zero_grad()
            loss = F.cross_entropy(model(x).flatten(0, -2), y.flatten())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            if k < 4:
                out.append(loss.detach())
        stream.flush()
        end = bridge.stats()
        losses.append([v.item() for v in out])
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    assert fallback.fallbacks == before
    assert end["dispatches"] - start["dispatches"] <= most
    assert (
        end["bind_groups"] == start["bind_groups"]
        and end["pipelines"] == start["pipelines"]
        and end["alias_copies"] == start["alias_copies"]
    )
    assert end["created"] == start["created"]
    assert end["reads"] - start["reads"] <= 1  # synchronize looks at what the kernels found of indices
