"""ESPCN: PixelShuffle, orthogonal initialisation with gains, PSNR, bicubic baseline, exponential schedule."""

from math import log10

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.init as init


class Net(nn.Module):
    def __init__(self, upscale_factor):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 16, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(16, 8, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(8, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv2.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv3.weight)

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        return self.pixel_shuffle(self.conv3(x))


torch.manual_seed(123)
grid = torch.stack(torch.meshgrid(torch.linspace(0, 6, 24), torch.linspace(0, 6, 24), indexing="ij"))
phase = torch.rand(12, 2, 1, 1) * 6
high = (0.5 + 0.25 * (torch.sin(grid[0] + phase[:, 0]) + torch.cos(2 * grid[1] + phase[:, 1]))).unsqueeze(1)
low = F.avg_pool2d(high, 2)
model = Net(2)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.95)
criterion = nn.MSELoss()
for step in range(20):
    optimizer.zero_grad()
    loss = criterion(model(low[:8]), high[:8])
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 5 == 4:
        print(f"step {step} loss {loss.item():.6f} lr {scheduler.get_last_lr()[0]:.7f}")
with torch.no_grad():
    for name, out in (
        ("model", model(low[8:])),
        ("bicubic", F.interpolate(low[8:], scale_factor=2, mode="bicubic", align_corners=False)),
        ("bilinear", nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)(low[8:])),
        ("nearest", F.interpolate(low[8:], size=(24, 24))),
    ):
        print(f"{name} PSNR {10 * log10(1 / criterion(out, high[8:]).item()):.4f} dB")
