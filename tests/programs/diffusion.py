"""Denoising diffusion on two moons with sinusoidal time embedding, EMA by hand, ancestral sampling;
a normalising flow."""

import math

import torch
import torch.nn as nn
from torch.distributions import AffineTransform, MultivariateNormal, SigmoidTransform, TransformedDistribution, Uniform

torch.manual_seed(21)


def moons(n):
    t = torch.rand(n) * math.pi
    flip = (torch.rand(n) < 0.5).float()
    x = torch.stack([torch.cos(t) * (1 - 2 * flip) + flip, torch.sin(t) * (1 - 2 * flip) + 0.5 * flip], 1)
    return x + 0.05 * torch.randn_like(x)


class SinusoidalEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, t):
        half = self.dim // 2
        freq = torch.exp(-math.log(10000) * torch.arange(half, dtype=torch.float32) / (half - 1))
        args = t[:, None].float() * freq[None]
        return torch.cat((args.sin(), args.cos()), dim=-1)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(SinusoidalEmbedding(16), nn.Linear(16, 32), nn.Mish())
        self.inp, self.mid, self.out = nn.Linear(2, 32), nn.Linear(32, 32), nn.Linear(32, 2)

    def forward(self, x, t):
        h = self.inp(x) + self.time(t)
        return self.out(nn.functional.silu(self.mid(nn.functional.silu(h))))


T = 20
betas = torch.linspace(1e-3, 0.2, T)
alphas_bar = torch.cumprod(1 - betas, 0)
model = Denoiser()
ema = {k: v.clone() for k, v in model.state_dict().items()}
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(40):
    x0 = moons(64)
    t = torch.randint(0, T, (64,))
    noise = torch.randn_like(x0)
    a = alphas_bar[t].unsqueeze(1)
    loss = (model(a.sqrt() * x0 + (1 - a).sqrt() * noise, t) - noise).pow(2).mean()
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    with torch.no_grad():
        for k, v in model.state_dict().items():
            ema[k].lerp_(v, 0.1)
    if step % 10 == 9:
        print(f"ddpm {step} {loss.item():.6f}")
model.load_state_dict(ema)


@torch.no_grad()
def sample(n):
    x = torch.randn(n, 2)
    for i in reversed(range(T)):
        eps = model(x, torch.full((n,), i))
        x = (x - betas[i] / (1 - alphas_bar[i]).sqrt() * eps) / (1 - betas[i]).sqrt()
        if i > 0:
            x = x + betas[i].sqrt() * torch.randn_like(x)
    return x


s = sample(100)
print("samples", [f"{v:.4f}" for v in torch.cat([s.mean(0), s.std(0)]).tolist()])

# RealNVP-like coupling layers
flows = nn.ModuleList([nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 2)) for _ in range(4)])
base = MultivariateNormal(torch.zeros(2), torch.eye(2))
opt = torch.optim.Adamax(flows.parameters(), lr=1e-2)
for step in range(20):
    z, logdet = moons(64), 0
    for k, f in enumerate(flows):
        a, b = z.chunk(2, dim=1) if k % 2 else z.flip(1).chunk(2, dim=1)
        s_, t_ = f(a).chunk(2, dim=1)
        s_ = torch.tanh(s_)
        z = torch.cat([a, b * s_.exp() + t_], dim=1)
        logdet = logdet + s_.sum(1)
    nll = -(base.log_prob(z) + logdet).mean()
    opt.zero_grad()
    nll.backward()
    opt.step()
    if step % 5 == 4:
        print(f"flow {step} {nll.item():.6f}")
logistic = TransformedDistribution(
    Uniform(torch.tensor(0.0), torch.tensor(1.0)), [SigmoidTransform().inv, AffineTransform(2.0, 0.5)]
)
v = logistic.sample((5,))
print("logistic", [f"{u:.5f}" for u in v.tolist()], [f"{u:.5f}" for u in logistic.log_prob(v).tolist()])
