"""gpytorch, botorch and pyro: more kernels, approximate inference, several outputs, guides and effects."""

import torch

from ._shared import losses_of
from torch import nn


def _data():
    x = torch.linspace(0, 1, 14, dtype=torch.float64)
    return x[:, None], torch.sin(6 * x) + 0.1 * torch.cos(40 * x)


def kernels():
    from gpytorch import kernels as k

    x, z = torch.rand(5, 3), torch.rand(4, 3)
    made = [
        k.MaternKernel(nu=0.5),
        k.MaternKernel(nu=1.5, ard_num_dims=3),
        k.MaternKernel(nu=2.5),
        k.RQKernel(),
        k.PeriodicKernel(),
        k.CosineKernel(),
        k.LinearKernel(),
        k.PolynomialKernel(power=2),
        k.ConstantKernel(),
        k.SpectralMixtureKernel(num_mixtures=2, ard_num_dims=3),
        k.PiecewisePolynomialKernel(q=2),
        k.ScaleKernel(k.RBFKernel(active_dims=(0, 1))) + k.LinearKernel(),
        k.RBFKernel() * k.PeriodicKernel(),
        k.AdditiveStructureKernel(k.RBFKernel(), num_dims=3),
        k.RFFKernel(num_samples=6, num_dims=3),
    ]
    out = []
    for kernel in made:
        value = kernel(x, z).to_dense()
        value.sum().backward()
        out.append((value, [p.grad for p in kernel.parameters()]))
    return out, k.RBFKernelGrad()(x, z).to_dense()


def multitask():
    import gpytorch

    x, y = _data()
    y = torch.stack([y, y.flip(0)], -1)

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(x, y, likelihood)
            self.mean = gpytorch.means.MultitaskMean(gpytorch.means.ConstantMean(), num_tasks=2)
            self.kernel = gpytorch.kernels.MultitaskKernel(gpytorch.kernels.RBFKernel(), num_tasks=2, rank=1)

        def forward(self, x):
            return gpytorch.distributions.MultitaskMultivariateNormal(self.mean(x), self.kernel(x))

    likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(num_tasks=2)
    model = Model(likelihood).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    losses = losses_of(optimizer, lambda: -objective(model(x), y), 4)
    model.eval(), likelihood.eval()
    found = likelihood(model(x[:3] + 0.01))
    return losses, found.mean, found.variance


def variational():
    import gpytorch

    class Model(gpytorch.models.ApproximateGP):
        def __init__(self, points):
            q = gpytorch.variational.CholeskyVariationalDistribution(points.size(0))
            super().__init__(gpytorch.variational.VariationalStrategy(self, points, q, learn_inducing_locations=True))
            self.mean = gpytorch.means.LinearMean(1)
            self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    x, y = _data()
    out = []
    for likelihood, target in (
        (gpytorch.likelihoods.BernoulliLikelihood(), (y > 0).double()),
        (gpytorch.likelihoods.StudentTLikelihood(), y),
    ):
        model = Model(x[::3].clone()).double()
        likelihood.double()
        objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=14)
        optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.05)
        for _ in range(4):
            optimizer.zero_grad()
            loss = -objective(model(x), target)
            loss.backward()
            optimizer.step()
        out.append((loss, model(x).mean))
    return out


def acquisitions():
    from botorch import acquisition as a
    from botorch.models import ModelListGP, SingleTaskGP
    from botorch.models.transforms import Normalize, Standardize
    from botorch.sampling import SobolQMCNormalSampler
    from botorch.acquisition.multi_objective import qExpectedHypervolumeImprovement
    from botorch.utils.multi_objective.box_decompositions.non_dominated import FastNondominatedPartitioning

    x = torch.rand(7, 2, dtype=torch.float64)
    y = (-(x - 0.4).square().sum(-1, keepdim=True)).sin()
    gp = SingleTaskGP(x, y, input_transform=Normalize(d=2), outcome_transform=Standardize(m=1))
    q = torch.rand(3, 2, 2, dtype=torch.float64, requires_grad=True)
    sampler = SobolQMCNormalSampler(torch.Size([16]), seed=3)
    found = [
        a.qExpectedImprovement(gp, y.max(), sampler=sampler)(q),
        a.qUpperConfidenceBound(gp, 0.2, sampler=sampler)(q),
        a.qLogNoisyExpectedImprovement(gp, x, sampler=sampler)(q),
        a.qSimpleRegret(gp, sampler=sampler)(q),
        a.UpperConfidenceBound(gp, 0.1)(q[:, :1]),
        a.ProbabilityOfImprovement(gp, y.max())(q[:, :1]),
        a.PosteriorMean(gp)(q[:, :1]),
        a.qNegIntegratedPosteriorVariance(gp, x[:3])(q),
    ]
    both = ModelListGP(gp, SingleTaskGP(x, y.cos()))
    parts = FastNondominatedPartitioning(torch.tensor([-1.0, -1.0]).double(), torch.cat([y, y.cos()], 1))
    found.append(qExpectedHypervolumeImprovement(both, [-1.0, -1.0], parts, sampler=sampler)(q))
    sum(f.sum() for f in found).backward()
    return found, q.grad, gp.posterior(x[:2]).variance


def draws_of_botorch():
    from botorch.utils import draw_sobol_samples
    from botorch.utils.sampling import manual_seed, sample_simplex
    from botorch.test_functions import Ackley, Branin, DTLZ2, Hartmann

    bounds = torch.tensor([[0.0, -1.0], [1.0, 2.0]])
    with manual_seed(3):
        simplex = sample_simplex(3, 2, qmc=True, seed=1)
    x = torch.tensor([[0.3, 0.6]])
    return (
        draw_sobol_samples(bounds, 4, 2, seed=5),
        simplex,
        Branin()(x),
        Ackley(2)(x),
        DTLZ2(3, 2)(torch.rand(2, 3)),
        Hartmann()(torch.rand(2, 6)),
    )


def guides():
    import pyro
    import pyro.distributions as dist
    from pyro.infer import SVI, Predictive, Trace_ELBO, autoguide

    x, y = torch.linspace(-1, 1, 12), torch.linspace(-1, 1, 12) * 0.8 + 0.3

    def model(x, y=None):
        a = pyro.sample("a", dist.Normal(0.0, 1.0))
        b = pyro.sample("b", dist.Normal(torch.zeros(2), 1.0).to_event(1))
        s = pyro.sample("s", dist.LogNormal(0.0, 0.5))
        with pyro.plate("n", len(x)):
            return pyro.sample("y", dist.StudentT(4.0, a + b[0] * x + b[1] * x**2, s), obs=y)

    out = []
    for kind in ("AutoNormal", "AutoMultivariateNormal", "AutoLowRankMultivariateNormal", "AutoDelta", "AutoIAFNormal"):
        pyro.clear_param_store()
        pyro.set_rng_seed(1)
        guide = getattr(autoguide, kind)(model)
        svi = SVI(model, guide, pyro.optim.ClippedAdam({"lr": 0.02}), Trace_ELBO())
        out.append([svi.step(x, y) for _ in range(4)])
        out.append(Predictive(model, guide=guide, num_samples=3)(x)["y"].mean())
    return out


def discrete_and_effects():
    import pyro
    import pyro.distributions as dist
    from pyro import poutine
    from pyro.infer import SVI, TraceEnum_ELBO, config_enumerate
    from pyro.infer.autoguide import AutoDelta

    pyro.clear_param_store()
    pyro.set_rng_seed(2)
    data = torch.tensor([0.0, 1.0, 10.0, 11.0, 12.0])

    @config_enumerate
    def model(data):
        weights = pyro.sample("weights", dist.Dirichlet(0.5 * torch.ones(2)))
        with pyro.plate("components", 2):
            locs = pyro.sample("locs", dist.Normal(5.0, 10.0))
        with pyro.plate("data", len(data)):
            which = pyro.sample("which", dist.Categorical(weights))
            pyro.sample("obs", dist.Normal(locs[which], 2.0), obs=data)

    guide = AutoDelta(poutine.block(model, expose=["weights", "locs"]))
    svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.1}), TraceEnum_ELBO(max_plate_nesting=1))
    losses = [svi.step(data) for _ in range(4)]
    trace = poutine.trace(poutine.condition(model, {"locs": torch.tensor([0.0, 10.0])})).get_trace(data)
    return losses, trace.log_prob_sum(), sorted(trace.nodes)


def flows_and_hmc():
    import pyro
    import pyro.distributions as dist
    from pyro.distributions import transforms as T
    from pyro.infer import HMC, MCMC

    pyro.set_rng_seed(0)
    out = []
    for t in (T.spline(3, count_bins=4), T.affine_coupling(3), T.planar(3), T.radial(3), T.affine_autoregressive(3)):
        flow = dist.TransformedDistribution(dist.Normal(torch.zeros(3), 1.0).to_event(1), [t])
        x = flow.rsample((4,))
        loss = -flow.log_prob(x.detach()).mean() if not isinstance(t, (T.Planar, T.Radial)) else x.square().mean()
        loss.backward()
        out.append((x, loss, [p.grad.norm() for p in t.parameters() if p.grad is not None]))
        flow.clear_cache()

    def model():
        pyro.sample("z", dist.MultivariateNormal(torch.zeros(2), torch.tensor([[1.0, 0.5], [0.5, 1.0]])))

    run = MCMC(HMC(model, step_size=0.2, num_steps=3), num_samples=5, warmup_steps=3, disable_progbar=True)
    run.run()
    return out, run.get_samples()["z"]


def bayesian_network():
    import pyro
    import pyro.distributions as dist
    from pyro.nn import PyroModule, PyroSample
    from pyro.infer.autoguide import AutoDiagonalNormal

    pyro.clear_param_store()
    pyro.set_rng_seed(4)

    class Net(PyroModule):
        def __init__(self):
            super().__init__()
            self.lin = PyroModule[nn.Linear](2, 1)
            self.lin.weight = PyroSample(dist.Normal(0.0, 1.0).expand([1, 2]).to_event(2))

        def forward(self, x, y=None):
            mean = self.lin(x).squeeze(-1)
            with pyro.plate("data", len(x)):
                pyro.sample("obs", dist.Normal(mean, 0.3), obs=y)
            return mean

    net = Net()
    svi = pyro.infer.SVI(net, AutoDiagonalNormal(net), pyro.optim.Adam({"lr": 0.05}), pyro.infer.Trace_ELBO())
    return [svi.step(torch.eye(2), torch.ones(2)) for _ in range(5)], dict(pyro.get_param_store())
