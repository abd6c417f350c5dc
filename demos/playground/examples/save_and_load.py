"""Save and load: a checkpoint in the Files panel, the same file that PyTorch reads and writes."""

import os

import torch
from torch import nn

torch.manual_seed(0)


def make():
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))


model = make()
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(64, 4), torch.randint(3, (64,))


def train(steps):
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


print(f"after  50 steps {train(50):.5f}")
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 50}, "checkpoint.pt")
print("checkpoint.pt is there:", os.path.exists("checkpoint.pt"))
print(f"after 100 steps {train(50):.5f}")

# a new model takes the checkpoint, and goes on in the same way
model = make()
optimizer = torch.optim.Adam(model.parameters())
checkpoint = torch.load("checkpoint.pt", weights_only=True)
print(model.load_state_dict(checkpoint["model"]))
optimizer.load_state_dict(checkpoint["optimizer"])
print(f"from step {checkpoint['step']}: after 100 steps {train(50):.5f}")
