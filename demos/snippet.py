import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(-3, 3, 64).unsqueeze(1)
y = torch.sin(x)

model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
for step in range(1, 501):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step}  loss {loss.item():.5f}")

one = torch.ones(1)
print(f"sin(1): the network {model(one).item():.3f}, in truth {one.sin().item():.3f}")
