"""A picture as a network: from a place to its colour.

The network sees the pixels of picture.ppm in random order, and learns to give the colour of every place. Then it is the
picture: it can be asked at places between the pixels, too.
"""

import math
from pathlib import Path

import torch
from torch import nn

STEPS = 1500
BATCH = 2048  # pixels in a step
WIDTH = 96
WAVES = 48  # sines and cosines of the place that the network is given
FINEST = 8.0  # how many waves of them fit across the picture, about

torch.manual_seed(1)
device = "cpu"
if torch.accelerator.is_available():
    device = torch.accelerator.current_accelerator()

kind, size, _, pixels = Path(__file__).with_name("picture.ppm").read_bytes().split(b"\n", 3)
width, height = map(int, size.split())
colours = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).view(height * width, 3).float().to(device) / 255


def places(height, width):
    """The middle of each pixel of a picture that is that large, from -1 to 1."""
    y = (torch.arange(height, device=device) + 0.5) / height * 2 - 1
    x = (torch.arange(width, device=device) + 0.5) / width * 2 - 1
    return torch.stack(torch.meshgrid(y, x, indexing="ij"), dim=-1).view(-1, 2)


class Picture(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("waves", torch.randn(2, WAVES) * math.pi * FINEST / 2)
        self.net = nn.Sequential(
            nn.Linear(2 * WAVES, WIDTH),
            nn.ReLU(),
            nn.Linear(WIDTH, WIDTH),
            nn.ReLU(),
            nn.Linear(WIDTH, 3),
            nn.Sigmoid(),
        )

    def forward(self, place):
        angle = place @ self.waves
        return self.net(torch.cat([angle.sin(), angle.cos()], dim=1))


@torch.no_grad()
def draw(height, width):
    """The network's picture, as (height, width, 3) bytes."""
    parts = [model(part) for part in places(height, width).split(8192)]
    return (torch.cat(parts) * 255).round().to(torch.uint8).view(height, width, 3).cpu()


model = Picture().to(device)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
grid = places(height, width)
numbers = sum(p.numel() for p in model.parameters())
print(f"{width}x{height} pixels, {3 * width * height:,} numbers; the network has {numbers:,}, on {device}")

drawn = draw(height, width)
for step in range(1, STEPS + 1):
    chosen = torch.randint(len(colours), (BATCH,)).to(device)
    loss = criterion(model(grid[chosen]), colours[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 10 == 0:
        drawn = draw(height, width)
    if step % 100 == 0:
        error = criterion(drawn.float() / 255, colours.cpu().view(height, width, 3)).item()
        print(f"step {step}: {-10 * math.log10(error):.1f} dB")

large = draw(3 * height, 3 * width)
print(f"The same network, asked at {9 * width * height:,} places: {3 * width}x{3 * height} pixels.")
