"""Gaussian process regression by hand: kernels, Cholesky solves, hyperparameters by marginal likelihood, sampling."""

import math

import torch
from torch import nn
from torch.distributions import LowRankMultivariateNormal, MultivariateNormal

torch.set_default_dtype(torch.float64)


class GP(nn.Module):
    def __init__(self, kernel="rbf"):
        super().__init__()
        self.raw = nn.ParameterDict({k: nn.Parameter(torch.tensor(0.0)) for k in ("scale", "length")})
        self.raw["noise"] = nn.Parameter(torch.tensor(-2.0))
        self.kernel = kernel

    def __getattr__(self, name):
        if name in ("scale", "length", "noise"):
            return nn.functional.softplus(self.raw[name])
        return super().__getattr__(name)

    def k(self, a, b):
        d = torch.cdist(a / self.length, b / self.length, compute_mode="donot_use_mm_for_euclid_dist")
        if self.kernel == "rbf":
            return self.scale * torch.exp(-0.5 * d**2)
        s = math.sqrt(3.0) * d
        return self.scale * (1 + s) * torch.exp(-s)

    def nll(self, x, y):
        K = self.k(x, x) + self.noise * torch.eye(len(x))
        L = torch.linalg.cholesky(K)
        alpha = torch.cholesky_solve(y, L)
        return 0.5 * (y.T @ alpha).squeeze() + L.diagonal().log().sum() + 0.5 * len(x) * math.log(2 * math.pi)

    @torch.no_grad()
    def predict(self, x, y, new):
        L, info = torch.linalg.cholesky_ex(self.k(x, x) + self.noise * torch.eye(len(x)))
        assert info.item() == 0
        v = torch.linalg.solve_triangular(L, self.k(x, new), upper=False)
        w = torch.linalg.solve_triangular(L, y, upper=False)
        return (v.T @ w).squeeze(-1), self.k(new, new) - v.T @ v


torch.manual_seed(23)
x = torch.rand(25, 1).sort(0).values * 6
y = torch.sin(x) + 0.3 * x + 0.1 * torch.randn(25, 1)
new = torch.linspace(0, 7, 9).unsqueeze(-1)
for kernel in ("rbf", "matern"):
    gp = GP(kernel)
    opt = torch.optim.Adam(gp.parameters(), lr=0.1)
    for step in range(20):
        opt.zero_grad()
        loss = gp.nll(x, y)
        loss.backward()
        opt.step()
        if step % 10 == 9:
            print(f"{kernel} {step} nll {loss.item():.6f} length {gp.length.item():.6f} noise {gp.noise.item():.6f}")
    mean, cov = gp.predict(x, y, new)
    print([f"{v:.5f}" for v in mean.tolist()])
    print([f"{v:.5f}" for v in cov.diagonal().clamp_min(0).sqrt().tolist()])
    joint = MultivariateNormal(mean, cov + 1e-6 * torch.eye(9))
    draw = joint.rsample((3,))
    print(draw.shape, f"{draw.mean().item():.5f} {joint.log_prob(mean).item():.5f} {joint.entropy().item():.5f}")
exact = MultivariateNormal(torch.zeros(25), gp.k(x, x) + gp.noise * torch.eye(25))
print(torch.allclose(-exact.log_prob(y.squeeze()), gp.nll(x, y)), sorted(dict(gp.named_parameters())))
K = (gp.k(x, x) + gp.noise * torch.eye(25)).detach()
values, vectors = torch.linalg.eigh(K)
print([f"{v:.6f}" for v in values[-3:].tolist()], torch.allclose(vectors @ torch.diag(values) @ vectors.mT, K))
sign, logdet = torch.linalg.slogdet(K)
print(sign.item(), f"{logdet.item():.6f} {torch.logdet(K).item():.6f} {torch.trace(torch.linalg.inv(K)).item():.4f}")
inducing = x[::5]
Kmm, Knm = gp.k(inducing, inducing) + 1e-8 * torch.eye(5), gp.k(x, inducing)
W = torch.linalg.solve_triangular(torch.linalg.cholesky(Kmm), Knm.T, upper=False).T.detach()
low = LowRankMultivariateNormal(torch.zeros(25), W, gp.noise.detach().expand(25).clone())
print(f"{low.log_prob(y.squeeze()).item():.6f} {low.variance.sum().item():.5f}")
solution, residuals, rank, singular = torch.linalg.lstsq(W, y, driver="gelsd")
print(f"{solution.norm().item():.6f}", residuals.shape, rank.item(), f"{singular[0].item():.5f}")
LU, pivots = torch.linalg.lu_factor(K)
print(torch.allclose(torch.linalg.lu_solve(LU, pivots, y), torch.linalg.solve(K, y)), pivots.dtype)
Q, R = torch.linalg.qr(W)
print(
    torch.allclose(Q @ R, W),
    f"{torch.linalg.matrix_norm(W, 'nuc').item():.5f} {torch.linalg.cond(Kmm).log().item():.4f}",
)
ei = (mean - y.max()) * torch.special.ndtr((mean - y.max()) / 0.1) + 0.1 * torch.exp(
    -50 * (mean - y.max()) ** 2
) * 0.39894
print("improvement", [f"{v:.6f}" for v in ei.tolist()[-3:]], torch.kron(torch.eye(2), K[:2, :2]).shape)
torch.set_default_dtype(torch.float32)
