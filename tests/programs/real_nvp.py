"""RealNVP with masks in buffers and activation norm, sampled by inversion; a TransformedDistribution of flows."""

import torch
import torch.distributions as D
import torch.nn as nn
from torch.distributions import constraints, transforms


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.log_scale, self.shift = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.zeros(dim))
        self.register_buffer("initialized", torch.tensor(False))

    def forward(self, x):
        if not self.initialized:
            with torch.no_grad():
                std, mean = torch.std_mean(x, dim=0)
                self.log_scale.copy_(-std.log())
                self.shift.copy_(-mean)
                self.initialized.fill_(True)
        return (x + self.shift) * self.log_scale.exp(), self.log_scale.sum().expand(len(x))

    def inverse(self, y):
        return y * (-self.log_scale).exp() - self.shift


class Coupling(nn.Module):
    def __init__(self, dim, hidden, mask):
        super().__init__()
        self.register_buffer("mask", mask)
        self.s = nn.Sequential(nn.Linear(dim, hidden), nn.LeakyReLU(), nn.Linear(hidden, dim), nn.Tanh())
        self.t = nn.Sequential(nn.Linear(dim, hidden), nn.LeakyReLU(), nn.Linear(hidden, dim))

    def forward(self, x):
        kept = x * self.mask
        s, t = self.s(kept) * (1 - self.mask), self.t(kept) * (1 - self.mask)
        return kept + (1 - self.mask) * (x * s.exp() + t), s.sum(-1)

    def inverse(self, y):
        kept = y * self.mask
        s, t = self.s(kept) * (1 - self.mask), self.t(kept) * (1 - self.mask)
        return kept + (1 - self.mask) * (y - t) * (-s).exp()


class Flow(nn.Module):
    def __init__(self, dim, layers):
        super().__init__()
        steps = []
        for i in range(layers):
            steps += [ActNorm(dim), Coupling(dim, 16, (torch.arange(dim) % 2 == i % 2).float())]
        self.steps = nn.ModuleList(steps)
        self.register_buffer("loc", torch.zeros(dim), persistent=False)
        self.register_buffer("cov", torch.eye(dim), persistent=False)

    @property
    def prior(self):
        return D.MultivariateNormal(self.loc, self.cov)

    def log_prob(self, x):
        total = x.new_zeros(len(x))
        for step in self.steps:
            x, logdet = step(x)
            total = total + logdet
        return self.prior.log_prob(x) + total

    def sample(self, n):
        z = self.prior.sample((n,))
        for step in reversed(self.steps):
            z = step.inverse(z)
        return z


torch.manual_seed(17)
angle = torch.rand(128) * 3.14159
moons = torch.stack([angle.cos(), angle.sin()], -1) + 0.05 * torch.randn(128, 2)
moons[::2] = torch.tensor([1.0, 0.4]) - moons[::2]
flow = Flow(2, 4)
opt = torch.optim.Adam(flow.parameters(), lr=5e-3)
for step in range(10):
    loss = -flow.log_prob(moons).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 3 == 0:
        print(f"{step} nll {loss.item():.5f}")
with torch.no_grad():
    s = flow.sample(200)
    print("samples", [f"{v:.4f}" for v in [*s.mean(0).tolist(), *torch.cov(s.T).flatten().tolist()]])
    z = moons
    for step in flow.steps:
        z, _ = step(z)
    for step in reversed(flow.steps):
        z = step.inverse(z)
    print("inverse", torch.allclose(z, moons, atol=1e-4), len(flow.state_dict()), flow.steps[0].initialized)

base = D.Independent(D.Normal(torch.zeros(3), torch.ones(3)), 1)
chain = transforms.ComposeTransform([
    transforms.AffineTransform(torch.tensor([0.0, 1.0, -1.0]), 2.0, event_dim=1),
    transforms.StickBreakingTransform(),
])  # fmt: skip
simplex = D.TransformedDistribution(base, chain)
x = simplex.rsample((4,))
print(simplex.event_shape, x.sum(-1), constraints.simplex.check(x), f"{simplex.log_prob(x).sum().item():.5f}")
logit = D.TransformedDistribution(D.Uniform(0, 1), [transforms.SigmoidTransform().inv, transforms.ExpTransform()])
v = torch.tensor([0.5, 1.0, 3.0])
print(logit.log_prob(v), logit.cdf(v), transforms.TanhTransform().log_abs_det_jacobian(v, v.tanh()))
print(chain.inv(x).shape, transforms.LowerCholeskyTransform()(torch.eye(2)), D.transform_to(constraints.positive)(-v))
