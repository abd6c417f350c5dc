"""A growing neural cellular automaton: fixed filters, stochastic updates, a pool of samples, alive masks."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def make_seed(size, n_channels):
    x = torch.zeros((1, n_channels, size, size), dtype=torch.float32)
    x[:, 3:, size // 2, size // 2] = 1
    return x


class CAModel(nn.Module):
    def __init__(self, n_channels=8, hidden=24, fire_rate=0.5):
        super().__init__()
        self.fire_rate, self.n_channels = fire_rate, n_channels
        sobel = torch.outer(torch.tensor([1.0, 2.0, 1.0]), torch.tensor([-1.0, 0.0, 1.0])) / 8
        identity = torch.zeros(3, 3)
        identity[1, 1] = 1
        kernel = torch.stack([identity, sobel, sobel.T]).repeat(n_channels, 1, 1).unsqueeze(1)
        self.register_buffer("kernel", kernel, persistent=False)
        self.update_module = nn.Sequential(
            nn.Conv2d(3 * n_channels, hidden, kernel_size=1), nn.ReLU(), nn.Conv2d(hidden, n_channels, 1, bias=False)
        )
        with torch.no_grad():
            self.update_module[2].weight.zero_()

    @staticmethod
    def get_living_mask(x):
        return F.max_pool2d(x[:, 3:4], kernel_size=3, stride=1, padding=1) > 0.1

    def forward(self, x):
        pre_life = self.get_living_mask(x)
        y = F.conv2d(F.pad(x, (1, 1, 1, 1), mode="circular"), self.kernel, groups=self.n_channels)
        dx = self.update_module(y)
        mask = (torch.rand(x[:, :1].size()) <= self.fire_rate).to(torch.float32)
        x = x + dx * mask
        life = (pre_life & self.get_living_mask(x)).to(torch.float32)
        return x * life


class Pool:
    def __init__(self, seed, size):
        self.data = torch.stack([seed[0]] * size)
        self.losses = torch.zeros(size)

    def sample(self, n):
        self.idx = torch.tensor(np.random.choice(len(self.data), n, replace=False))
        return self.data[self.idx].clone()

    def commit(self, batch):
        self.data[self.idx] = batch.detach()


torch.manual_seed(0)
np.random.seed(0)
size = 12
grid = torch.stack(torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij"))
alpha = (grid.norm(dim=0) < 0.7).float()
target = torch.cat([torch.stack([alpha, alpha * (grid[0] > 0), alpha * (grid[1] > 0)]), alpha[None]]).unsqueeze(0)
seed = make_seed(size, 8)
pool = Pool(seed, 16)
model = CAModel()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.SequentialLR(
    optimizer,
    [torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0, 3), torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.8)],
    milestones=[3],
)
for it in range(6):
    x = pool.sample(4)
    per_sample = F.mse_loss(x[:, :4], target.expand(4, -1, -1, -1), reduction="none").mean(dim=(1, 2, 3))
    order = per_sample.argsort(descending=True, stable=True)
    x, pool.idx = x[order], pool.idx[order]
    x[:1] = seed
    if it > 2:
        x[-1:, :, : size // 3] = 0  # damage
    for _ in range(int(np.random.randint(6, 9))):
        x = model(x)
    loss = F.mse_loss(x[:, :4], target.repeat(4, 1, 1, 1)) + 1e-3 * (x - x.clamp(-2, 2)).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    for p in model.parameters():
        if p.grad is not None:
            p.grad.div_(p.grad.norm() + 1e-8)
    optimizer.step()
    scheduler.step()
    pool.commit(x)
    print(f"iter {it} loss {loss.item():.5f} alive {model.get_living_mask(x).sum().item()} "
          f"lr {optimizer.param_groups[0]['lr']:.6f}")  # fmt: skip
rgba = x[:, :4].clamp(0, 1)
image = (rgba[:, :3] * rgba[:, 3:] + 1 - rgba[:, 3:]).permute(0, 2, 3, 1).detach().cpu().numpy()
print(image.shape, image.dtype, "%.4f" % image.mean(), sorted(model.state_dict()))
