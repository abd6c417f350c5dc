"""gpytorch, botorch and pyro: more of their tutorials, at a small size."""

import torch
from torch import nn

from ._shared import losses_of


def _data(n=20, d=2):
    x = torch.rand(n, d, dtype=torch.float64)
    return x, torch.sin(x.sum(1) * 6)


def deep_kernel_learning():
    import gpytorch

    x, y = _data()

    class Model(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=2))
            self.features = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2)).double()
            self.scale = gpytorch.utils.grid.ScaleToBounds(-1.0, 1.0)

        def forward(self, x):
            z = self.scale(self.features(x))
            return gpytorch.distributions.MultivariateNormal(self.mean_module(z), self.covar_module(z))

    likelihood = gpytorch.likelihoods.GaussianLikelihood(
        noise_constraint=gpytorch.constraints.GreaterThan(1e-4), noise_prior=gpytorch.priors.GammaPrior(1.1, 0.05)
    )
    model = Model(x, y, likelihood).double()
    model.covar_module.base_kernel.register_prior(
        "length_prior", gpytorch.priors.GammaPrior(3.0, 6.0), lambda m: m.lengthscale
    )
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    losses = losses_of(torch.optim.Adam(model.parameters(), lr=0.05), lambda: -objective(model(x), y), 4)
    model.eval(), likelihood.eval()
    with torch.no_grad(), gpytorch.settings.use_toeplitz(False), gpytorch.settings.fast_computations(log_prob=False):
        found = likelihood(model(torch.rand(5, 2, dtype=torch.float64)))
    state = {k: v.shape for k, v in model.state_dict().items()}
    return losses, found.mean, found.confidence_region(), sorted(state), found.log_prob(torch.zeros(5).double())


def sparse_and_stochastic():
    import gpytorch

    x, y = _data(40)

    class Sparse(gpytorch.models.ApproximateGP):
        def __init__(self, points, kind):
            q = gpytorch.variational.CholeskyVariationalDistribution(points.size(-2))
            strategy = gpytorch.variational.VariationalStrategy(self, points, q, learn_inducing_locations=True)
            super().__init__(strategy if kind else gpytorch.variational.CiqVariationalStrategy(self, points, q))
            self.mean_module = gpytorch.means.LinearMean(2)
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(2.5, ard_num_dims=2))

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    out = []
    for objective_of in (gpytorch.mlls.VariationalELBO, gpytorch.mlls.PredictiveLogLikelihood,
                         gpytorch.mlls.GammaRobustVariationalELBO):  # fmt: skip
        torch.manual_seed(0)
        model, likelihood = Sparse(x[:8].clone(), 1).double(), gpytorch.likelihoods.GaussianLikelihood().double()
        objective = objective_of(likelihood, model, num_data=40)
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 10)
        optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.05)
        for a, b in loader:
            out += losses_of(optimizer, lambda: -objective(model(a), b), 1)
        model.eval()
        out.append(model(x[:4]).variance)
    return out


def batches_of_models():
    import gpytorch

    x = torch.linspace(0, 1, 10).double()
    y = torch.stack([torch.sin(x * 6), torch.cos(x * 6)])

    class Batch(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood, multitask=False):
            super().__init__(x, y, likelihood)
            shape = torch.Size([2])
            self.mean_module = gpytorch.means.ConstantMean(batch_shape=shape)
            self.covar_module = gpytorch.kernels.ScaleKernel(
                gpytorch.kernels.RBFKernel(batch_shape=shape), batch_shape=shape
            )

        def forward(self, x):
            d = gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))
            return gpytorch.distributions.MultitaskMultivariateNormal.from_batch_mvn(d)

    likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(num_tasks=2)
    model = Batch(x, y.T.contiguous(), likelihood).double()
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    losses = losses_of(torch.optim.Adam(model.parameters(), lr=0.1), lambda: -objective(model(x), y.T), 3)
    model.eval(), likelihood.eval()
    z = torch.linspace(0.1, 0.9, 4).double().requires_grad_()
    mean = likelihood(model(z)).mean
    slope = torch.autograd.grad(mean[:, 0].sum(), z)[0]
    models = gpytorch.models.IndependentModelList(model, model)
    return losses, mean, slope, len(models.models), model.covar_module(z).to_dense()


def hidden_variables_and_classes():
    import gpytorch
    from gpytorch.models.gplvm.bayesian_gplvm import BayesianGPLVM
    from gpytorch.models.gplvm.latent_variable import VariationalLatentVariable

    y = torch.randn(12, 3)

    class Lvm(BayesianGPLVM):
        def __init__(self):
            points = torch.randn(3, 5, 2)
            q = gpytorch.variational.CholeskyVariationalDistribution(5, batch_shape=torch.Size([3]))
            strategy = gpytorch.variational.VariationalStrategy(self, points, q)
            prior = gpytorch.priors.NormalPrior(torch.zeros(12, 2), torch.ones(12, 2))
            latent = VariationalLatentVariable(12, 3, 2, torch.nn.Parameter(torch.randn(12, 2)), prior)
            super().__init__(latent, strategy)
            self.mean_module = gpytorch.means.ZeroMean(ard_num_dims=2)
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=2))

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    model, likelihood = Lvm(), gpytorch.likelihoods.GaussianLikelihood(batch_shape=torch.Size([3]))
    objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=12)
    optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.01)
    losses = losses_of(optimizer, lambda: -objective(model(model.sample_latent_variable()), y.T).sum(), 3)

    soft = gpytorch.likelihoods.SoftmaxLikelihood(num_features=3, num_classes=4)
    f = gpytorch.distributions.MultitaskMultivariateNormal(torch.randn(6, 3), torch.eye(18))
    classes = soft(f).probs.shape
    dirichlet = gpytorch.likelihoods.DirichletClassificationLikelihood(torch.arange(6) % 3, learn_additional_noise=True)
    return losses, classes, dirichlet.transformed_targets, dirichlet(torch.rand(3, 6)).variance.shape


def optimizing_in_the_loop():
    import warnings

    from botorch.acquisition import qLogExpectedImprovement
    from botorch.acquisition.objective import GenericMCObjective
    from botorch.fit import fit_gpytorch_mll
    from botorch.generation import MaxPosteriorSampling
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Normalize, Standardize
    from botorch.optim import optimize_acqf, optimize_acqf_discrete
    from botorch.sampling import SobolQMCNormalSampler
    from botorch.test_functions import Hartmann
    from botorch.utils.sampling import draw_sobol_samples
    from botorch.utils.transforms import standardize, unnormalize
    from gpytorch.mlls import ExactMarginalLogLikelihood

    warnings.simplefilter("ignore")
    f = Hartmann(dim=3, negate=True)
    bounds = f.bounds.double()
    x = draw_sobol_samples(bounds, 10, 1, seed=3).squeeze(1)
    best = []
    for step in range(2):
        y = f(x).unsqueeze(-1)
        gp = SingleTaskGP(x, y, input_transform=Normalize(3), outcome_transform=Standardize(1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(gp.likelihood, gp))
        sampler = SobolQMCNormalSampler(torch.Size([16]), seed=step)
        score = qLogExpectedImprovement(gp, best_f=y.max(), sampler=sampler)
        new, value = optimize_acqf(
            score, bounds, q=2, num_restarts=2, raw_samples=16, options={"maxiter": 20, "seed": 1}, sequential=True
        )
        x = torch.cat([x, new])
        best.append(y.max().item())
    torch.manual_seed(1)
    picked = MaxPosteriorSampling(gp, replacement=False)(draw_sobol_samples(bounds, 1, 20, seed=1).squeeze(0), 2)
    choice, _ = optimize_acqf_discrete(score, q=1, choices=x[:5])
    weird = qLogExpectedImprovement(
        gp, 0.1, sampler, objective=GenericMCObjective(lambda s, X=None: s[..., 0].square())
    )
    with torch.no_grad():
        scores = weird(x[:4].unsqueeze(1))
    return (
        [round(b, 3) for b in best], picked.shape, choice, scores.argmax(), standardize(y).std(),
        unnormalize(torch.rand(2, 3).double() * 0 + 0.5, bounds), x.shape,
    )  # fmt: skip


def more_models_of_botorch():
    import warnings

    from botorch.acquisition.multi_objective import qLogNoisyExpectedHypervolumeImprovement
    from botorch.models import KroneckerMultiTaskGP, ModelListGP, MultiTaskGP, SingleTaskGP, SingleTaskVariationalGP
    from botorch.posteriors import GPyTorchPosterior
    from botorch.sampling import SobolQMCNormalSampler
    from botorch.utils.multi_objective.hypervolume import Hypervolume
    from botorch.utils.multi_objective.pareto import is_non_dominated
    from botorch.cross_validation import batch_cross_validation, gen_loo_cv_folds
    from gpytorch.mlls import ExactMarginalLogLikelihood

    warnings.simplefilter("ignore")
    x, y = _data(12)
    y = torch.stack([y, y.cos()], 1)
    tasks = torch.cat([torch.cat([x, torch.zeros(12, 1)], 1), torch.cat([x, torch.ones(12, 1)], 1)])
    both = MultiTaskGP(tasks, torch.cat([y[:, :1], y[:, 1:]]), task_feature=-1)
    listed = ModelListGP(SingleTaskGP(x, y[:, :1], y[:, :1] * 0 + 0.01), SingleTaskGP(x, y[:, 1:]))
    torch.manual_seed(2)
    variational = SingleTaskVariationalGP(x, y[:, :1], inducing_points=6)
    kronecker = KroneckerMultiTaskGP(x, y)
    at = torch.rand(3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    score = qLogNoisyExpectedHypervolumeImprovement(
        listed, [-1.0, -1.0], x, sampler=SobolQMCNormalSampler(torch.Size([8]), seed=1), prune_baseline=True
    )
    folds = gen_loo_cv_folds(x, y[:, :1])
    checked = batch_cross_validation(SingleTaskGP, ExactMarginalLogLikelihood, folds,
                                     fit_args={"optimizer_kwargs": {"options": {"maxiter": 3}}})  # fmt: skip
    posterior = listed.posterior(at)
    single = SingleTaskGP(x, y[:, :1])
    single.posterior(at)
    new = single.condition_on_observations(at, at[:, :1])
    return (
        both.posterior(at).mean, posterior.mean, posterior.variance, variational.posterior(at).mean,
        kronecker.posterior(at).mean, score(at.unsqueeze(1)), checked.posterior.mean.shape, is_non_dominated(y),
        Hypervolume(torch.tensor([-1.0, -1.0]).double()).compute(y[is_non_dominated(y)]),
        isinstance(posterior, GPyTorchPosterior), posterior.rsample(torch.Size([2])).shape,
        listed.subset_output([1]).num_outputs, new.posterior(at).mean,
    )  # fmt: skip


def mixture_by_enumeration():
    import pyro
    import pyro.distributions as dist
    from pyro import poutine
    from pyro.infer import SVI, TraceEnum_ELBO, config_enumerate, infer_discrete
    from pyro.infer.autoguide import AutoDelta

    pyro.clear_param_store()
    pyro.set_rng_seed(0)
    data = torch.tensor([0.0, 1.0, 10.0, 11.0, 12.0])

    @config_enumerate
    def model(data):
        weights = pyro.sample("weights", dist.Dirichlet(0.5 * torch.ones(2)))
        scale = pyro.sample("scale", dist.LogNormal(0.0, 2.0))
        with pyro.plate("components", 2):
            locs = pyro.sample("locs", dist.Normal(0.0, 10.0))
        with pyro.plate("data", len(data)):
            z = pyro.sample("assignment", dist.Categorical(weights))
            pyro.sample("obs", dist.Normal(locs[z], scale), obs=data)

    guide = AutoDelta(poutine.block(model, expose=["weights", "locs", "scale"]))
    svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.1}), TraceEnum_ELBO(max_plate_nesting=1))
    losses = [svi.step(data) for _ in range(5)]
    trained = poutine.replay(model, poutine.trace(guide).get_trace(data))
    inferred = infer_discrete(trained, temperature=0, first_available_dim=-2)
    trace = poutine.trace(inferred).get_trace(data)
    return losses, trace.nodes["assignment"]["value"], guide.median(data)


def hidden_markov_and_markov_plates():
    import pyro
    import pyro.distributions as dist
    from pyro.distributions import DiscreteHMM, GaussianHMM
    from pyro.infer import SVI, TraceEnum_ELBO, config_enumerate

    pyro.clear_param_store()
    pyro.set_rng_seed(0)
    y = torch.randn(6)

    @config_enumerate
    def model(y):
        p = pyro.param("p", torch.tensor([[0.7, 0.3], [0.2, 0.8]]), constraint=dist.constraints.simplex)
        loc = pyro.param("loc", torch.tensor([-1.0, 1.0]))
        x = 0
        for t in pyro.markov(range(len(y))):
            x = pyro.sample(f"x_{t}", dist.Categorical(p[x]))
            pyro.sample(f"y_{t}", dist.Normal(loc[x], 1.0), obs=y[t])

    svi = SVI(model, lambda y: None, pyro.optim.Adam({"lr": 0.05}), TraceEnum_ELBO(max_plate_nesting=0))
    hmm = DiscreteHMM(torch.tensor([0.4, 0.6]).log(), torch.tensor([[0.7, 0.3], [0.2, 0.8]]).log(),
                      dist.Normal(torch.tensor([-1.0, 1.0]), 1.0))  # fmt: skip
    normal = dist.MultivariateNormal(torch.zeros(2), torch.eye(2))
    kalman = GaussianHMM(normal, torch.eye(2) * 0.9, normal, torch.ones(2, 1),
                         dist.MultivariateNormal(torch.zeros(1), torch.eye(1)))  # fmt: skip
    return [svi.step(y) for _ in range(3)], hmm.log_prob(y), kalman.log_prob(y[:, None]), pyro.param("p")


def amortized_vae():
    import pyro
    import pyro.distributions as dist
    from pyro.infer import SVI, JitTrace_ELBO, RenyiELBO, Trace_ELBO, TraceGraph_ELBO, TraceMeanField_ELBO

    class Vae(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.dec = nn.Linear(6, 4), nn.Linear(2, 6)

        def model(self, x):
            pyro.module("decoder", self.dec)
            with pyro.plate("data", x.shape[0]):
                z = pyro.sample("z", dist.Normal(x.new_zeros(x.shape[0], 2), 1.0).to_event(1))
                pyro.sample("x", dist.Bernoulli(self.dec(z).sigmoid(), validate_args=False).to_event(1), obs=x)

        def guide(self, x):
            pyro.module("encoder", self.enc)
            with pyro.plate("data", x.shape[0]):
                loc, scale = self.enc(x).chunk(2, -1)
                pyro.sample("z", dist.Normal(loc, scale.exp()).to_event(1))

    out = []
    for kind in (Trace_ELBO, TraceGraph_ELBO, TraceMeanField_ELBO, RenyiELBO, JitTrace_ELBO):
        pyro.clear_param_store()
        pyro.set_rng_seed(0)
        vae, x = Vae(), (torch.rand(8, 6) > 0.5).float()
        options = {"alpha": 0.5, "num_particles": 3, "vectorize_particles": False} if kind is RenyiELBO else {}
        svi = SVI(vae.model, vae.guide, pyro.optim.Adam({"lr": 1e-2}), kind(**options))
        out.append([svi.step(x) for _ in range(3)] + [svi.evaluate_loss(x)])
    return out


def regression_and_predictions():
    import pyro
    import pyro.distributions as dist
    from pyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
    from pyro.infer.autoguide import AutoDiagonalNormal, AutoGuideList, AutoLaplaceApproximation, AutoNormal
    from pyro.infer.autoguide import init_to_median
    from pyro.nn import PyroModule, PyroSample

    class Regression(PyroModule):
        def __init__(self):
            super().__init__()
            self.linear = PyroModule[nn.Linear](2, 1)
            self.linear.weight = PyroSample(dist.Normal(0.0, 1.0).expand([1, 2]).to_event(2))
            self.linear.bias = PyroSample(dist.Normal(0.0, 10.0).expand([1]).to_event(1))

        def forward(self, x, y=None):
            sigma = pyro.sample("sigma", dist.Uniform(0.0, 10.0))
            mean = self.linear(x).squeeze(-1)
            pyro.deterministic("mu", mean)
            with pyro.plate("data", x.shape[0]):
                return pyro.sample("obs", dist.Normal(mean, sigma), obs=y)

    x = torch.randn(10, 2, generator=torch.Generator().manual_seed(0))
    y, out = x @ torch.tensor([1.0, -2.0]) + 0.5, []
    for kind in (AutoDiagonalNormal, AutoNormal, AutoLaplaceApproximation):
        pyro.clear_param_store()
        pyro.set_rng_seed(1)
        model = Regression()
        guide = kind(model, init_loc_fn=init_to_median)
        schedule = pyro.optim.ExponentialLR({"optimizer": torch.optim.Adam, "optim_args": {"lr": 0.03}, "gamma": 0.99})
        svi = SVI(model, guide, schedule, Trace_ELBO())
        out.append([svi.step(x, y) for _ in range(4)])
        if kind is not AutoLaplaceApproximation:
            drawn = Predictive(model, guide=guide, num_samples=5, return_sites=("obs", "mu", "_RETURN"))(x)
            out.append((drawn["obs"], drawn["mu"].mean(), guide.quantiles([0.25, 0.75])["sigma"]))
        guide.requires_grad_(False)
    pyro.set_rng_seed(1)
    run = MCMC(NUTS(Regression(), jit_compile=False), num_samples=5, warmup_steps=5, disable_progbar=True)
    run.run(x, y)
    samples = run.get_samples()
    return out, {k: v.shape for k, v in samples.items()}, AutoGuideList.__name__, sorted(run.diagnostics())[:2]


def handlers_and_transforms():
    import pyro
    import pyro.distributions as dist
    from pyro import poutine
    from pyro.contrib.autoname import scope
    from pyro.distributions import transforms as T

    pyro.clear_param_store()
    pyro.set_rng_seed(0)

    def model():
        a = pyro.sample("a", dist.Normal(0.0, 1.0))
        with scope(prefix="in"):
            b = pyro.sample("b", dist.Gamma(2.0, 1.0))
        with pyro.plate("p", 3), poutine.scale(scale=0.5):
            c = pyro.sample("c", dist.StudentT(3.0, a, b))
        pyro.factor("f", -c.square().sum())
        return a + b

    given = poutine.condition(model, data={"a": torch.tensor(0.3)})
    trace = poutine.trace(given).get_trace()
    trace.compute_log_prob()
    done = poutine.trace(poutine.do(model, data={"a": 1.0})).get_trace()
    lifted = poutine.uncondition(given)
    flows = [T.spline(2, count_bins=4), T.affine_coupling(2), T.planar(2), T.spline_autoregressive(2),
             T.conditional_spline(2, 3), T.householder(2), T.polynomial(2, hidden_dims=[4])]  # fmt: skip
    base = dist.Normal(torch.zeros(2), torch.ones(2)).to_event(1)
    out = []
    for flow in flows:
        made = flow.condition(torch.ones(3)) if hasattr(flow, "condition") else flow
        x = dist.TransformedDistribution(base, [made]).rsample((3,))
        out.append((x, made.log_abs_det_jacobian(torch.zeros(3, 2) + 0.1, made(torch.zeros(3, 2) + 0.1))))
    return (
        trace.log_prob_sum(), trace.format_shapes(), done.nodes["c"]["value"], type(lifted).__name__, out,
        dist.MaskedMixture(torch.tensor([True, False]), dist.Normal(0.0, 1.0), dist.Cauchy(0.0, 1.0)).log_prob(
            torch.tensor([0.1, 0.2])),
        dist.ZeroInflatedPoisson(rate=torch.tensor(2.0), gate=torch.tensor(0.3)).log_prob(torch.tensor([0.0, 2.0])),
        dist.VonMises3D(torch.tensor([0.0, 0, 2])).log_prob(torch.tensor([0.0, 0, 1])),
        dist.LKJ(3, 1.5).sample().shape, dist.Stable(1.5, 0.2).sample((2,)).shape, dist.Delta(torch.tensor(1.0)).mean,
        dist.BetaBinomial(2.0, 3.0, total_count=5).log_prob(torch.tensor(2.0)), dist.Rejector.__name__,
        dist.SineBivariateVonMises(0.0, 0.0, 1.0, 1.0, 0.5).log_prob(torch.tensor([0.1, 0.2])),
        dist.Empirical(torch.arange(3.0), torch.zeros(3)).variance, dist.InverseGamma(2.0, 1.0).log_prob(torch.ones(1)),
    )  # fmt: skip
