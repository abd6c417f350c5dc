"""Parametrizations (symmetric, skew, orthogonal, cached, chained) and pruning by every method of nn.utils.prune."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.utils.parametrize as parametrize
import torch.nn.utils.prune as prune
from torch.nn.utils import parametrizations


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)

    def right_inverse(self, A):
        return A.triu()


class Skew(nn.Module):
    def forward(self, X):
        A = X.triu(1)
        return A - A.transpose(-1, -2)


class MatrixExponential(nn.Module):
    def forward(self, X):
        return torch.matrix_exp(X)


class RankOne(nn.Module):
    def forward(self, x, y):
        return x.unsqueeze(-1) @ y.unsqueeze(-2)

    def right_inverse(self, Z):
        U, S, Vh = torch.linalg.svd(Z, full_matrices=False)
        s0 = S[..., 0].sqrt().unsqueeze(-1)
        return U[..., :, 0] * s0, Vh[..., 0, :] * s0


torch.manual_seed(1)
layer = nn.Linear(3, 3)
parametrize.register_parametrization(layer, "weight", Symmetric())
A = layer.weight
print(layer, torch.allclose(A, A.T), type(layer).__name__)
layer.weight = torch.ones(3, 3)
print(layer.parametrizations.weight.original, torch.equal(layer.weight, torch.ones(3, 3)))
rotation = nn.Linear(4, 4)
parametrize.register_parametrization(rotation, "weight", Skew())
parametrize.register_parametrization(rotation, "weight", MatrixExponential())
X = rotation.weight
print(
    torch.dist(X.T @ X, torch.eye(4)) < 1e-5, f"{torch.linalg.det(X).item():.5f}", len(rotation.parametrizations.weight)
)
x, y = torch.randn(20, 4), torch.randn(20, 4)
opt = torch.optim.SGD(rotation.parameters(), lr=0.3)
for step in range(4):
    with parametrize.cached():
        loss = F.mse_loss(rotation(rotation(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"rotation {step} {loss.item():.6f}")
outer = nn.Linear(4, 3)
parametrize.register_parametrization(outer, "weight", RankOne(), unsafe=False)
print(sorted(n for n, _ in outer.named_parameters()), torch.linalg.matrix_rank(outer.weight).item())
ortho = parametrizations.orthogonal(nn.Linear(4, 6), orthogonal_map="householder")
print(torch.allclose(ortho.weight.T @ ortho.weight, torch.eye(4), atol=1e-5))
spectral = parametrizations.spectral_norm(nn.Conv2d(2, 3, 3), n_power_iterations=8)
print(f"{torch.linalg.matrix_norm(spectral.weight.flatten(1), 2).item():.3f}")
wn = parametrizations.weight_norm(nn.Linear(3, 2), dim=0)
print({n: tuple(p.shape) for n, p in wn.named_parameters()})
parametrize.remove_parametrizations(rotation, "weight")
print(type(rotation).__name__, [n for n, _ in rotation.named_parameters()])


class FooBarPruningMethod(prune.BasePruningMethod):
    """Every other entry."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask


def sparsity(t):
    return f"{100.0 * float(torch.sum(t == 0)) / float(t.nelement()):.2f}%"


net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 8), nn.ReLU(), nn.Linear(8, 2))
module = net[0]
prune.random_unstructured(module, name="weight", amount=0.3)
print(sorted(n for n, _ in module.named_parameters()), sorted(n for n, _ in module.named_buffers()))
prune.l1_unstructured(module, name="bias", amount=2)
print(sparsity(module.weight), sparsity(module.bias), len(module._forward_pre_hooks))
prune.ln_structured(module, name="weight", amount=0.5, n=2, dim=0)
print(sparsity(module.weight), [type(h).__name__ for h in module._forward_pre_hooks.values()])
for hook in module._forward_pre_hooks.values():
    if hook._tensor_name == "weight":
        print([type(m).__name__ for m in hook])
prune.remove(module, "weight")
print(sorted(n for n, _ in module.named_parameters()), prune.is_pruned(net))
FooBarPruningMethod.apply(net[5], "bias")
print(net[5].bias_mask)
prune.global_unstructured([(net[3], "weight"), (net[5], "weight")], pruning_method=prune.L1Unstructured, amount=0.4)
print(sparsity(net[3].weight), sparsity(net[5].weight))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
data, target = torch.randn(10, 1, 6, 6), torch.randint(2, (10,))
for step in range(3):
    loss = F.cross_entropy(net(data), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"pruned {step} {loss.item():.6f} {sparsity(net[3].weight)} {net[3].weight_orig.grad.count_nonzero().item()}")
prune.custom_from_mask(net[3], "bias", torch.tensor([1, 0] * 4))
fresh = nn.Linear(8, 2)
prune.identity(fresh, "weight")
print(net[3].bias[1].item(), sorted(net.state_dict()), fresh.weight_mask.sum())
