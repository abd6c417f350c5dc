"""Live charts: curves that grow while a network trains, points and bars, without any plotting package."""

import torch
from playground import bars, plot, scatter
from torch import nn

torch.manual_seed(1)
x = torch.linspace(-3, 3, 200).unsqueeze(1)
y = torch.sin(2 * x) + 0.15 * torch.randn_like(x)
order = torch.randperm(200)
train, test = order[:150], order[150:]

model = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
curves = {"train": [], "test": []}
for epoch in range(1, 201):
    loss = nn.functional.mse_loss(model(x[train]), y[train])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        curves["train"].append(loss.item())
        curves["test"].append(nn.functional.mse_loss(model(x[test]), y[test]).item())
    # the same key: the chart is drawn anew in its place
    plot(curves, title="Loss", x_label="epoch", log=True, key="loss")
    if epoch % 100 == 0:
        print(f"epoch {epoch}  train {curves['train'][-1]:.3f}  test {curves['test'][-1]:.3f}")

points = torch.cat([x, y], dim=1)
scatter(points, color=[0 if i in set(train.tolist()) else 1 for i in range(200)], title="0: train, 1: test")
with torch.no_grad():
    plot(x.flatten(), model(x).flatten(), title="What the network learned")
sizes = {name: p.numel() for name, p in model.named_parameters()}
bars(list(sizes.values()), labels=list(sizes), title="Parameters")
