"""A Bayesian network by variational inference, Hamiltonian Monte Carlo, a mixture model, a registered divergence."""

import math

import torch
import torch.distributions as D
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions.kl import kl_divergence, register_kl


class BayesLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.mu = nn.Parameter(0.1 * torch.randn(n_out, n_in))
        self.rho = nn.Parameter(torch.full((n_out, n_in), -3.0))
        self.prior = D.MixtureSameFamily(
            D.Categorical(torch.tensor([0.5, 0.5])), D.Normal(torch.zeros(2), torch.tensor([1.0, 0.1]))
        )

    def forward(self, x):
        posterior = D.Normal(self.mu, F.softplus(self.rho))
        w = posterior.rsample()
        self.kl = (posterior.log_prob(w) - self.prior.log_prob(w)).sum()
        return x @ w.T


torch.manual_seed(29)
x = torch.linspace(-2, 2, 40).unsqueeze(-1)
y = x.pow(3) / 4 + 0.1 * torch.randn_like(x)
ones = torch.ones_like(x)
net = nn.Sequential(BayesLinear(2, 12), nn.Tanh(), BayesLinear(12, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
for step in range(12):
    opt.zero_grad()
    out = net(torch.cat([x, ones], 1))
    kl = sum(m.kl for m in net if isinstance(m, BayesLinear))
    elbo = D.Independent(D.Normal(out, 0.2), 2).log_prob(y) - kl / 40
    (-elbo).backward()
    opt.step()
    if step % 4 == 3:
        print(f"{step} elbo {elbo.item():.4f} kl {kl.item():.4f}")
with torch.no_grad():
    draws = torch.stack([net(torch.cat([x, ones], 1)) for _ in range(20)])
    print("spread", [f"{v:.4f}" for v in draws.std(0)[::13].flatten().tolist()], draws.quantile(0.9, dim=0)[3])


def potential(q):
    return -(D.Normal(q[0], 1.0).log_prob(data).sum() + D.Gamma(2.0, 2.0).log_prob(q[1].exp()) + q[1])


data = torch.tensor([0.3, 1.2, 0.8, 1.9])
q, accepted, chain = torch.zeros(2), 0, []
for _ in range(20):
    p = torch.randn(2)
    new, momentum = q.clone().requires_grad_(), p.clone()
    momentum -= 0.05 * torch.autograd.grad(potential(new), new)[0]
    for i in range(5):
        new = (new.detach() + 0.1 * momentum).requires_grad_()
        momentum -= (0.1 if i < 4 else 0.05) * torch.autograd.grad(potential(new), new)[0]
    delta = potential(q) + 0.5 * p @ p - potential(new) - 0.5 * momentum @ momentum
    if torch.rand(()).log() < delta:
        q, accepted = new.detach(), accepted + 1
    chain.append(q)
print("hmc", accepted, [f"{v:.4f}" for v in torch.stack(chain).mean(0).tolist()])

logits, loc, scale = (torch.zeros(3), torch.tensor([-2.0, 0.0, 2.0]), torch.zeros(3))
params = [t.requires_grad_() for t in (logits, loc, scale)]
points = torch.cat([torch.randn(30) * 0.5 - 1.5, torch.randn(20) * 0.3 + 1])
opt = torch.optim.Adam(params, lr=0.1)
for step in range(10):
    mixture = D.MixtureSameFamily(D.Categorical(logits=logits), D.Normal(loc, scale.exp()))
    loss = -mixture.log_prob(points).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(
    f"mixture {loss.item():.5f}",
    [f"{v:.4f}" for v in loc.tolist()],
    f"{mixture.mean.item():.4f} {mixture.cdf(torch.tensor(0.0)).item():.4f}",
)


class Spike(D.Normal):
    pass


@register_kl(Spike, Spike)
def _kl_spike(p, q):
    return torch.tensor(42.0)


print(kl_divergence(Spike(0, 1), Spike(0, 1)), kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 2.0)))
pairs = [
    (D.Gamma(2.0, 1.0), D.Gamma(3.0, 2.0)), (D.Beta(2.0, 3.0), D.Beta(1.0, 1.0)), (D.Poisson(3.0), D.Poisson(2.0)),
    (D.Dirichlet(torch.tensor([1.0, 2.0])), D.Dirichlet(torch.tensor([2.0, 2.0]))),
    (D.Laplace(0.0, 1.0), D.Laplace(1.0, 1.0)),
    (D.Categorical(torch.tensor([0.2, 0.8])), D.Categorical(torch.tensor([0.5, 0.5]))),
]  # fmt: skip
print([f"{kl_divergence(a, b).item():.6f}" for a, b in pairs])
torch.manual_seed(1)
for d in (
    *(D.Gamma(2.0, 3.0), D.Beta(0.5, 0.5), D.StudentT(4.0), D.Dirichlet(torch.ones(3)), D.Poisson(4.0)),
    *(D.Weibull(1.0, 2.0), D.VonMises(0.0, 2.0), D.Multinomial(5, torch.ones(3)), D.LKJCholesky(2, 1.0)),
    *(D.NegativeBinomial(3, 0.4), D.Wishart(torch.tensor(3.0), torch.eye(2)), D.ContinuousBernoulli(0.3)),
    D.RelaxedOneHotCategorical(torch.tensor(0.5), torch.ones(3)),
):
    s = d.sample()
    print(
        type(d).__name__,
        [round(v, 4) for v in s.flatten().tolist()],
        [round(v, 4) for v in d.log_prob(s).flatten().tolist()],
    )
try:
    D.Normal(torch.tensor([0.0]), torch.tensor([-1.0]))
except ValueError as e:
    print(str(e).splitlines()[0][:60])
g = D.Gumbel(torch.tensor(1.0), torch.tensor(2.0))
print(
    g,
    f"{g.entropy().item():.5f}",
    D.HalfCauchy(1.0).icdf(torch.tensor(0.5)),
    math.isclose(g.stddev.item(), 2.5651, rel_tol=1e-3),
)
print(
    D.Normal(torch.zeros(2, 1), torch.ones(3)).expand((4, 2, 3)).batch_shape,
    D.Uniform(0, 2).support,
    D.Binomial(4, torch.tensor(0.5)).enumerate_support().tolist(),
)
