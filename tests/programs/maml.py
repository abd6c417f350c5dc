"""Meta-learning of sine waves: second order through functional_call, and the same with vmap and grad."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(17)
model = nn.Sequential(nn.Linear(1, 20), nn.ReLU(), nn.Linear(20, 20), nn.ReLU(), nn.Linear(20, 1))
meta_opt = torch.optim.Adam(model.parameters(), lr=1e-2)


def tasks(n, k=8):
    amplitude, phase = torch.rand(n, 1, 1) * 4 + 1, torch.rand(n, 1, 1) * 3
    x = torch.rand(n, 2 * k, 1) * 10 - 5
    y = amplitude * torch.sin(x + phase)
    return x[:, :k], y[:, :k], x[:, k:], y[:, k:]


def inner(params, x, y, lr=0.02, steps=2):
    for _ in range(steps):
        loss = F.mse_loss(functional_call(model, params, (x,)), y)
        grads = torch.autograd.grad(loss, params.values(), create_graph=True)
        params = {name: p - lr * g for (name, p), g in zip(params.items(), grads)}
    return params


for it in range(6):
    xs, ys, xq, yq = tasks(4)
    meta_loss = 0
    for k in range(4):
        adapted = inner(dict(model.named_parameters()), xs[k], ys[k])
        meta_loss = meta_loss + F.mse_loss(functional_call(model, adapted, (xq[k],)), yq[k])
    meta_opt.zero_grad()
    (meta_loss / 4).backward()
    meta_opt.step()
    print(f"maml {it} {meta_loss.item() / 4:.6f}")

params = {k: v.detach() for k, v in model.named_parameters()}


def task_loss(p, x, y):
    return F.mse_loss(functional_call(model, p, (x,)), y)


def adapted_loss(x, y, xq, yq):
    g = grad(task_loss)(params, x, y)
    new = {k: params[k] - 0.02 * g[k] for k in params}
    return task_loss(new, xq, yq)


xs, ys, xq, yq = tasks(4)
print("vmap", [f"{v:.5f}" for v in vmap(adapted_loss)(xs, ys, xq, yq).tolist()])
per_sample = vmap(grad(task_loss), in_dims=(None, 0, 0))(params, xs[0].unsqueeze(1), ys[0].unsqueeze(1))
print(
    "per sample norms",
    [f"{v:.4f}" for v in sum(g.flatten(1).pow(2).sum(1) for g in per_sample.values()).sqrt().tolist()],
)
