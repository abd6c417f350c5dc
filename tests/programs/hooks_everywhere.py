"""Hooks of every kind: Grad-CAM, activation statistics, kwargs, full backward, saved tensors, steps in backward."""

import os
import tempfile
import uuid
from collections import defaultdict
from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)
net = nn.Sequential()
net.add_module("conv", nn.Conv2d(1, 4, 3, padding=1))
net.add_module("act", nn.ReLU())
net.add_module("pool", nn.AvgPool2d(2))
net.add_module("flat", nn.Flatten(start_dim=1))
net.add_module("head", nn.Linear(64, 3))
x = torch.randn(5, 1, 8, 8)
y = torch.tensor([0, 1, 2, 1, 0])

saved = {}
handles = [
    net.act.register_forward_hook(lambda m, i, o: saved.__setitem__("map", o)),
    net.act.register_full_backward_hook(lambda m, gi, go: saved.__setitem__("grad", go[0])),
]
scores = net(x)
scores.gather(1, y.view(-1, 1)).sum().backward()
cam = F.relu((saved["grad"].mean((2, 3), keepdim=True) * saved["map"]).sum(1))
cam = cam / cam.amax((1, 2), keepdim=True).clamp_min(1e-8)
print("cam", [f"{v:.5f}" for v in cam.mean((1, 2)).tolist()])
for h in handles:
    h.remove()
print(len(net.act._forward_hooks), len(net.act._backward_hooks))

stats = defaultdict(list)


def append_stats(name, mod, inp, outp):
    acts = outp.detach()
    stats[name].append((acts.mean().item(), acts.std().item(), (acts.abs() < 0.05).float().mean().item()))


with torch.no_grad():
    hooks = [m.register_forward_hook(partial(append_stats, n)) for n, m in net.named_children()]
    net(x), net(x * 2)
    [h.remove() for h in hooks]
for name, values in stats.items():
    print(name, [tuple(round(v, 4) for v in row) for row in values])


class Scale(nn.Module):
    def forward(self, x, *, scale=1.0, shift=None):
        out = x * scale
        return out if shift is None else out + shift


m = Scale()
m.register_forward_pre_hook(
    lambda mod, args, kwargs: (args, {**kwargs, "scale": kwargs["scale"] * 10}), with_kwargs=True
)
m.register_forward_hook(lambda mod, args, kwargs, out: out - kwargs["shift"], with_kwargs=True)
m.register_forward_hook(lambda mod, args, out: print("always", out) or None, always_call=True, prepend=True)
print(m(torch.ones(2), scale=0.5, shift=torch.tensor([1.0, 2.0])))
log = []
lin = nn.Linear(2, 2)
lin.register_full_backward_pre_hook(lambda mod, g: log.append("pre") or (g[0] * 2,))
lin.register_full_backward_hook(lambda mod, gi, go: log.append(tuple(gi[0].shape)) or (gi[0] * 0.5,))
v = torch.ones(3, 2, requires_grad=True)
h1 = lin.weight.register_hook(lambda g: g.clamp(max=0.1))
acc = lin.bias.register_post_accumulate_grad_hook(lambda p: log.append(f"{p.grad.sum().item():.1f}"))
lin(v).sum().backward()
print(log, v.grad[0], lin.weight.grad)
t = torch.tensor([1.0, 2.0], requires_grad=True)
mid = t * 3
mid.retain_grad()
mid.grad_fn.register_hook(lambda gi, go: log.append(f"node {go[0].tolist()}"))
mid.grad_fn.register_prehook(lambda go: (go[0] + 1,))
(mid**2).sum().backward()
print(log[-1], t.grad, mid.grad, mid.is_leaf, mid.retains_grad)

counts = {"pack": 0, "unpack": 0}


class SelfDeletingTempFile:
    def __init__(self, folder):
        self.name = os.path.join(folder, str(uuid.uuid4()))


with tempfile.TemporaryDirectory() as folder:

    def pack(tensor):
        counts["pack"] += 1
        if tensor.numel() < 1000:
            return tensor
        temp = SelfDeletingTempFile(folder)
        torch.save(tensor, temp.name)
        return temp

    def unpack(packed):
        counts["unpack"] += 1
        return packed if isinstance(packed, torch.Tensor) else torch.load(packed.name)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        loss = F.cross_entropy(net(x), y)
    reference = torch.autograd.grad(F.cross_entropy(net(x), y), net.parameters())
    net.zero_grad()
    loss.backward()
    same = all(torch.allclose(p.grad, g) for p, g in zip(net.parameters(), reference))
    print("saved tensors", same, counts["pack"] == counts["unpack"] > 4, f"{loss.item():.5f}")
with torch.autograd.graph.save_on_cpu():
    (q,) = torch.autograd.grad((t.exp() * t).sum(), t)
print(q)

optimizers = {p: torch.optim.Adam([p], lr=1e-2, foreach=False) for p in net.parameters()}


def optimizer_hook(parameter):
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for p in net.parameters():
    p.register_post_accumulate_grad_hook(optimizer_hook)
for step in range(3):
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    print(f"in backward {step} {loss.item():.6f}", all(p.grad is None for p in net.parameters()))
opt = torch.optim.SGD([t], lr=0.1)
opt.register_step_pre_hook(lambda o, a, k: log.append("before"))
opt.register_step_post_hook(lambda o, a, k: log.append("after"))
opt.step()
print(log[-2:], t)
with nn.modules.module.register_module_forward_hook(lambda m, i, o: log.append(type(m).__name__)):
    net(x)
print(log[-6:])
multi = torch.autograd.graph.register_multi_grad_hook((t, mid_ := (t * 1).detach().requires_grad_()), lambda g: print(
    [v is not None for v in g]))  # fmt: skip
(t * mid_).sum().backward()
multi.remove()
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    a = torch.ones(2, requires_grad=True)
    b = a.clone()
    out = (b**2).sum()
    b.sin_()
    out.backward()
    print(a.grad)
