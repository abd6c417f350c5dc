"""A line through points: the smallest training loop there is."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(-1, 1, 100).unsqueeze(1)
y = 3 * x - 1 + 0.1 * torch.randn_like(x)

model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(1, 101):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print(f"epoch {epoch:3d}  loss {loss.item():.5f}")

print(f"y = {model.weight.item():.3f} x + {model.bias.item():.3f}")
