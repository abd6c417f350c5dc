"""Two spirals: a small network bends a plane until two classes part. The last cell shows what it learned."""

# %% The points
import math

import torch
from torch import nn

torch.manual_seed(3)
N = 200


def spirals(n):
    t = torch.rand(n).sqrt() * 3 * math.pi
    turn = torch.arange(n) % 2
    angle = t + turn * math.pi
    points = torch.stack([t * torch.cos(angle), t * torch.sin(angle)], dim=1) / 10
    return points + 0.02 * torch.randn(n, 2), turn


x, y = spirals(N)
print(x.shape, y.bincount())

# %% The network
model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(1, 401):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 80 == 0:
        accuracy = (model(x).argmax(1) == y).float().mean()
        print(f"epoch {epoch}  loss {loss.item():.3f}  accuracy {accuracy:.0%}")

# %% How it sees the plane: the probability of the second class
side = torch.linspace(-1.1, 1.1, 120)
grid = torch.cartesian_prod(side, side).flip(1) * torch.tensor([1.0, -1.0])
with torch.no_grad():
    plane = model(grid).softmax(1)[:, 1].reshape(120, 120)
print(f"mean {plane.mean():.1f}")
plane
