"""Memory for time and width: checkpointing of every kind, tensors saved elsewhere, autocast, a gradient scaler."""

import functools

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.amp import GradScaler, custom_bwd, custom_fwd
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
)

torch.manual_seed(0)
net = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.3), nn.Tanh()) for _ in range(4)])
x = torch.randn(3, 4, requires_grad=True)


def grads(run):
    net.zero_grad()
    x.grad = None
    torch.manual_seed(3)
    run().sum().backward()
    return x.grad.clone(), net[0][0].weight.grad.clone()


def policy(ctx, op, *args, **kwargs):
    products = (torch.ops.aten.mm.default, torch.ops.aten.addmm.default)
    return CheckpointPolicy.MUST_SAVE if op in products else CheckpointPolicy.PREFER_RECOMPUTE


selective = functools.partial(create_selective_checkpoint_contexts, policy)
plain = grads(lambda: net(x))
print(plain[0].sum())
for run in (
    lambda: checkpoint(net, x, use_reentrant=False),
    lambda: checkpoint(net, x, use_reentrant=True),
    lambda: checkpoint_sequential(net, 2, x, use_reentrant=False),
    lambda: checkpoint(net, x, use_reentrant=False, context_fn=selective),
):
    print([torch.equal(a, b) for a, b in zip(grads(run), plain)])
with torch.autograd.graph.save_on_cpu():
    print(torch.equal(grads(lambda: net(x))[0], plain[0]))

runs = []


def changes(v):
    runs.append(torch.is_grad_enabled())
    return (v if len(runs) == 1 else v[:2]).sin().exp()


try:
    checkpoint(changes, x, use_reentrant=False).sum().backward()
except RuntimeError as e:
    print(runs, *str(e).split("\n")[:4], sep="\n")
first = torch.autograd.grad(checkpoint(lambda v: v.pow(3).sum(), x, use_reentrant=False), x, create_graph=True)[0]
print((torch.autograd.grad(first.sum(), x)[0] - 6 * x.detach()).abs().max() < 1e-5)

layer = nn.Linear(4, 4)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = layer(x)
    results = (y, F.softmax(y, -1), torch.cat([y, x]), y + x, x @ x.T, F.layer_norm(x, (4,)), F.mse_loss(y, x))
    print([str(r.dtype)[6:] for r in results], torch.get_autocast_dtype("cpu"))
    with torch.autocast("cpu", enabled=False):
        print((x @ x.T).dtype)
    y.float().sum().backward()
print(layer.weight.grad.dtype, x.grad.dtype)


class Doubled(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, a):
        print(a.dtype, torch.is_autocast_enabled("cpu"))
        return a * 2

    @staticmethod
    @custom_bwd(device_type="cpu")
    def backward(ctx, g):
        print(torch.is_autocast_enabled("cpu"))
        return g * 2


with torch.autocast("cpu"):
    out = Doubled.apply(torch.ones(2, dtype=torch.bfloat16, requires_grad=True))
out.sum().backward()

scaler = GradScaler("cpu", init_scale=8.0, growth_interval=2)
optimizer = torch.optim.SGD(layer.parameters(), 0.1)
for step in range(4):
    optimizer.zero_grad()
    scaler.scale(layer(x.detach()).pow(2).mean()).backward()
    if step == 1:
        layer.weight.grad[0, 0] = float("inf")
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    print(scaler.get_scale(), norm, layer.weight.sum().detach())
print(scaler.state_dict())
