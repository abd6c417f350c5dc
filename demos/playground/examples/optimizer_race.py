"""Optimizers in a race: seven of them on the same small network, with the same start and the same data."""

import torch
from playground import plot
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 8)
y = torch.sin(x @ torch.randn(8, 1)) + 0.1 * torch.randn(256, 1)


def make():
    torch.manual_seed(42)
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))


RACERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.05),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "Nesterov": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.05),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.005),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1),
}
curves = {}
for name, build in RACERS.items():
    model = make()
    optimizer = build(model.parameters())
    curves[name] = []
    for _ in range(200):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curves[name].append(loss.item())
    plot(curves, title="Loss", x_label="step", log=True, key="race")
    print(f"{name:9} {curves[name][0]:.4f} -> {curves[name][-1]:.4f}")
