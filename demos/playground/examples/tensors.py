"""Tensors: how they are made, indexed, broadcast and reduced. Each cell shows its last line."""

# %% A tensor is a grid of numbers of one dtype
import torch

torch.manual_seed(0)
x = torch.arange(12).reshape(3, 4)
print(x.shape, x.dtype)
x

# %% Indexing is numpy's
print(x[1], x[:, -1], x[x % 2 == 0])

# %% Shapes are compared from the right; a size of 1 is repeated
row = torch.tensor([10, 20, 30, 40])
column = torch.tensor([[100], [200], [300]])
print(x + row)
print(x + column)

# %% Reductions take dimensions away
print(x.sum(), x.sum(dim=0), x.float().mean(dim=1, keepdim=True))

# %% Random numbers, and how they are spread
noise = torch.randn(10_000)
print(f"mean {noise.mean():.4f}, standard deviation {noise.std():.4f}")
noise

# %% What looks like a picture is shown as one
t = torch.linspace(-3, 3, 96)
waves = torch.sin(t[:, None] ** 2 + t[None, :] ** 2)
print(f"{tuple(waves.shape)}, from {waves.min():.3f} to {waves.max():.3f}")
waves

# %% Einstein's sums: batched products in one line
a, b = torch.randn(5, 2, 3), torch.randn(5, 3, 4)
print(torch.einsum("bij,bjk->bik", a, b).shape, torch.allclose(torch.einsum("bij,bjk->bik", a, b), a @ b))
