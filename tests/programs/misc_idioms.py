"""Assorted idioms: custom autograd Function, hooks, spectral and weight norm, gradient accumulation, quantile loss,
mixup, printing."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import parameters_to_vector, spectral_norm, vector_to_parameters
from torch.nn.utils.parametrizations import weight_norm

torch.manual_seed(77)


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).float()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() <= 1).float()


class GradientReversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.alpha * g, None


class Residual(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.block = nn.Sequential(
            nn.LayerNorm(dim), spectral_norm(nn.Linear(dim, dim)), nn.ELU(), weight_norm(nn.Linear(dim, dim))
        )
        self.gamma = nn.Parameter(1e-1 * torch.ones(dim))

    def forward(self, x):
        return x + self.gamma * self.block(x)


model = nn.Sequential(nn.Linear(4, 12), *[Residual(12) for _ in range(2)], nn.Linear(12, 1))
opt = torch.optim.RAdam(model.parameters(), lr=1e-2)
grads = []
handle = model[0].weight.register_hook(lambda g: grads.append(g.norm().item()) or g * 0.5)
x, y = torch.randn(48, 4), torch.randn(48, 1)
accumulate = 3
for epoch in range(3):
    for i, (a, b) in enumerate(zip(x.chunk(6), y.chunk(6))):
        lam = torch.rand(()).item()
        perm = torch.randperm(len(a))
        mixed = lam * a + (1 - lam) * a[perm]
        pred = model(mixed)
        e = (lam * b + (1 - lam) * b[perm]) - pred
        loss = torch.stack([torch.max(q * e, (q - 1) * e).mean() for q in (0.1, 0.5, 0.9)]).mean() / accumulate
        loss.backward()
        if (i + 1) % accumulate == 0:
            opt.step()
            opt.zero_grad()
    print(f"epoch {epoch} loss {loss.item():.7f} hook {grads[-1]:.6f}")
handle.remove()
z = torch.tensor([-2.0, -0.5, 0.5, 2.0], requires_grad=True)
(StraightThrough.apply(z) * torch.arange(4.0)).sum().backward()
print(z.grad)
w = torch.ones(3, requires_grad=True)
GradientReversal.apply(w * 2, 0.3).sum().backward()
print(
    w.grad,
    torch.autograd.gradcheck(
        lambda t: torch.tanh(t).prod(), torch.rand(3, dtype=torch.double, device="cpu", requires_grad=True)
    ),
)
vec = parameters_to_vector(model.parameters())
vector_to_parameters(vec * 0.5, model.parameters())
print(f"norm {vec.norm().item():.5f} -> {parameters_to_vector(model.parameters()).norm().item():.5f}")
logits = torch.randn(3, 5)
print(torch.argsort(logits, dim=1)[:, :2].tolist(), torch.unique(torch.tensor([3, 1, 3, 2]), return_counts=True))
print(F.gumbel_softmax(logits, tau=0.7, hard=True).argmax(1).tolist())
probs = logits.softmax(-1)
sorted_p, idx = probs.sort(descending=True)
keep = sorted_p.cumsum(-1) - sorted_p < 0.7
nucleus = torch.zeros_like(probs).scatter(1, idx, sorted_p * keep)
print(torch.multinomial(nucleus, 4, replacement=True).tolist())
print(f"{torch.nn.functional.kl_div(logits.log_softmax(-1), probs.roll(1, 0), reduction='batchmean').item():.6f}")
boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [1.0, 1.0, 3.0, 3.0]])
lt = torch.max(boxes[:, None, :2], boxes[:, :2])
rb = torch.min(boxes[:, None, 2:], boxes[:, 2:])
inter = (rb - lt).clamp(min=0).prod(-1)
area = (boxes[:, 2:] - boxes[:, :2]).prod(-1)
print(inter / (area[:, None] + area - inter))
mask = torch.rand(2, 3) > 0.5
print(torch.where(mask, 1.0, -1.0), mask.nonzero(as_tuple=True), torch.nan_to_num(torch.tensor([float("nan"), 1.0])))
print(
    torch.histc(x, 4, -2, 2),
    torch.bucketize(torch.tensor([0.1, 0.9]), torch.tensor([0.0, 0.5, 1.0])),
    x[:2].mean(0, keepdim=True),
)
try:
    torch.ones(2, 3) @ torch.ones(2, 3)
except RuntimeError as e:
    print("RuntimeError:", e)
