"""Ensembles by stack_module_state and vmap, training all at once, randomness modes, in_dims and out_dims."""

import copy

import torch
import torch.nn as nn
from torch.func import functional_call, grad, stack_module_state, vmap


class MLP(nn.Module):
    def __init__(self, p=0.0):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(6, 12), nn.Linear(12, 3)
        self.drop = nn.Dropout(p)

    def forward(self, x):
        return self.fc2(self.drop(self.fc1(x.flatten(1)).relu()))


torch.manual_seed(0)
models = [MLP() for _ in range(5)]
data = torch.randn(5, 7, 2, 3)
params, buffers = stack_module_state(models)
print({k: tuple(v.shape) for k, v in params.items()}, buffers)
base_model = copy.deepcopy(models[0]).to("meta")


def fmodel(params, buffers, x):
    return functional_call(base_model, (params, buffers), (x,))


predictions = [model(minibatch) for model, minibatch in zip(models, data)]
predictions_vmap = vmap(fmodel)(params, buffers, data)
print(torch.allclose(predictions_vmap, torch.stack(predictions), atol=1e-5), f"{predictions_vmap.sum().item():.5f}")
same_data = vmap(fmodel, in_dims=(0, 0, None), out_dims=1)(params, buffers, data[0])
print(same_data.shape, f"{same_data.std(1).mean().item():.6f}", same_data.mean(1).argmax(-1).tolist())

x = torch.randn(32, 6)
y = (x[:, :3] * x[:, 3:]).argmax(1)


def loss_fn(params, x, y):
    return nn.functional.cross_entropy(functional_call(base_model, params, (x,)), y)


state = {k: v.detach().clone() for k, v in params.items()}
lr = torch.tensor([0.01, 0.05, 0.1, 0.2, 0.4])
for step in range(6):
    grads = vmap(grad(loss_fn), in_dims=(0, None, None))(state, x, y)
    for k, g in grads.items():
        state[k] = state[k] - lr.view(-1, *[1] * (g.dim() - 1)) * g
    losses = vmap(loss_fn, (0, None, None))(state, x, y)
    print(step, [f"{v:.5f}" for v in losses.tolist()])
indices = torch.stack([torch.randperm(32)[:16] for _ in range(5)])
boots = vmap(lambda p, i: loss_fn(p, x[i], y[i]))(state, indices)
print("bootstrap", [f"{v:.5f}" for v in boots.tolist()])

noisy = vmap(lambda v: v + torch.rand(()), randomness="different")(torch.zeros(4))
same = vmap(lambda v: v + torch.rand(()), randomness="same")(torch.zeros(4))
print(len(noisy.unique()), len(same.unique()))
try:
    vmap(lambda v: v + torch.rand(()))(torch.zeros(4))
except RuntimeError as e:
    print(str(e).split(",")[0])
dot = torch.dot
print(vmap(vmap(dot, (None, 0)), (0, None))(torch.eye(3), torch.arange(6.0).view(2, 3)))
print(vmap(lambda d: {"s": d["a"].sum(), "t": (d["b"] * 2,)}, in_dims=({"a": 0, "b": 1},))(
    {"a": torch.ones(2, 3), "b": torch.arange(4.0).view(2, 2)}))  # fmt: skip
moved = vmap(torch.mv, in_dims=(2, None))(torch.arange(12.0).view(2, 2, 3), torch.tensor([1.0, -1.0]))
print(moved, torch.func.vmap(lambda a, b: a @ b)(torch.ones(2, 2, 3), torch.ones(2, 3, 1)).shape)
table = torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
print(vmap(torch.sort)(table).indices, vmap(lambda r: tuple(torch.sort(r)), out_dims=(0, 1))(table))
try:
    vmap(torch.sort, out_dims=(0, 1))(table)
except ValueError as e:
    print(str(e).split(":")[0])
try:
    vmap(lambda v: v.item())(torch.ones(2))
except RuntimeError as e:
    print(str(e)[:60])
