"""Digits out of noise: a network learns to turn noise into handwritten digits, a small step at a time.

A picture and noise are mixed, from all picture (time 0) to all noise (time 1). The network sees a mixture, the time and
the digit, and learns the way from the picture to the noise. To draw, it goes that way backwards. The data: 1797 scanned
digits of 8x8 pixels (UCI handwritten digits).
"""

import gzip
import math
import time
from pathlib import Path

import torch
from torch import nn

STEPS = 1500
BATCH = 128
WIDTH = 192
FRAMES = 32  # steps from noise to a digit
GUIDANCE = 1.5  # how much more the digit counts than it would by itself

torch.manual_seed(1)
device = "cpu"
if torch.accelerator.is_available():
    device = torch.accelerator.current_accelerator()

raw = gzip.decompress(Path(__file__).with_name("digits.bin.gz").read_bytes())
rows = torch.tensor(list(raw)).view(-1, 65)  # 64 pixels (ink 0..16), 1 label
pictures, labels = rows[:, :64].float() / 8 - 1, rows[:, 64]


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH))

    def forward(self, x, condition):
        return x + self.net(x + condition)


class Denoiser(nn.Module):
    """The way from the picture to the noise. Digit 10 stands for any."""

    def __init__(self):
        super().__init__()
        self.digits = nn.Embedding(11, WIDTH)
        self.times = nn.Sequential(nn.Linear(16, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH))
        self.enter, self.leave = nn.Linear(64, WIDTH), nn.Linear(WIDTH, 64)
        self.layers = nn.ModuleList(Layer() for _ in range(3))
        self.register_buffer("waves", math.pi * 2.0 ** torch.arange(8) / 2)

    def forward(self, x, t, digit):
        angle = t * self.waves
        condition = self.digits(digit) + self.times(torch.cat([angle.sin(), angle.cos()], dim=1))
        h = self.enter(x)
        for layer in self.layers:
            h = layer(h, condition)
        return self.leave(h)


@torch.no_grad()
def draw(digits, noise=None):
    """The pictures on their way out of the noise, FRAMES + 1 times."""
    digit = torch.as_tensor(digits, device=device)
    x = torch.randn(len(digits), 64) if noise is None else noise
    x, anything = x.to(device), torch.full_like(digit, 10)
    yield x.cpu()
    for frame in range(FRAMES):
        t = torch.full((len(digits), 1), 1 - frame / FRAMES, device=device)
        way, plain = model(x, t, digit), model(x, t, anything)
        x = x - (plain + GUIDANCE * (way - plain)) / FRAMES
        yield x.cpu()


model = Denoiser().to(device)
criterion = nn.MSELoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-3, total_steps=STEPS)
same = torch.randn(30, 64)  # the same noise each time
wanted = [digit for _ in range(3) for digit in range(10)]
print(f"{len(pictures)} pictures; {sum(p.numel() for p in model.parameters()):,} parameters on {device}")

shown = same
for step in range(1, STEPS + 1):
    chosen = torch.randint(len(pictures), (BATCH,))
    picture, digit = pictures[chosen].to(device), labels[chosen]
    digit = torch.where(torch.rand(BATCH) < 0.1, 10, digit).to(device)  # now and then without being told
    noise, t = torch.randn(BATCH, 64).to(device), torch.rand(BATCH, 1).to(device)
    loss = criterion(model((1 - t) * picture + t * noise, t, digit), noise - picture)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 50 == 0:
        *_, shown = draw(wanted, same)
    if step % 250 == 0:
        print(f"step {step}: loss {loss.item():.3f}")

print("\nOut of noise, step by step:")
for round_ in range(3):
    for shown in draw(wanted):
        time.sleep(0.06)
