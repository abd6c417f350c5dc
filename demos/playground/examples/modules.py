"""Modules and shapes: a network is a tree of modules; a cell shows the tree with its shapes."""

# %% A module has parameters and children
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return torch.relu(x + self.norm(self.conv(x)))


torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1),
    Block(16),
    nn.MaxPool2d(2),
    Block(16),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(16, 10),
)
model

# %% What shapes pass through it
shapes = []
for child in model:
    child.register_forward_hook(lambda m, i, o: shapes.append((type(m).__name__, tuple(o.shape))))
out = model(torch.rand(4, 3, 32, 32))
for name, shape in shapes:
    print(f"{name:18} {shape}")

# %% Parameters by name
for name, p in model.named_parameters():
    print(f"{name:18} {str(tuple(p.shape)):18} {p.numel():6,}")
print(f"{sum(p.numel() for p in model.parameters()):,} parameters")

# %% Filters of the first layer, as pictures
model[0].weight.detach()
