"""opacus, botorch and gpytorch: training and models with options."""

import torch
from torch import nn


def opacus_training():
    from opacus import PrivacyEngine
    from opacus.utils.batch_memory_manager import BatchMemoryManager
    from opacus.schedulers import ExponentialNoise, StepNoise
    from opacus.grad_sample import register_grad_sampler

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(4))

        def forward(self, x):
            return x * self.scale

    @register_grad_sampler(Scaled)
    def per_sample(layer, activations, backprops):
        return {layer.scale: (activations[0] * backprops)}

    found = []
    data = torch.utils.data.TensorDataset(torch.randn(24, 4), torch.randint(0, 2, (24,)))
    for options in (
        {"clipping": "flat"},
        {"clipping": "per_layer", "max_grad_norm": [1.0] * 5},
        {"grad_sample_mode": "functorch"},
        {"grad_sample_mode": "ew"},
        {
            "clipping": "adaptive",
            "target_unclipped_quantile": 0.5,
            "clipbound_learning_rate": 0.2,
            "max_clipbound": 10.0,
            "min_clipbound": 0.1,
            "unclipped_num_std": 1.0,
        },
        {"poisson_sampling": False},
    ):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 4), Scaled(), nn.Tanh(), nn.Linear(4, 2))
        engine = PrivacyEngine(accountant="prv" if "grad_sample_mode" in options else "rdp")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        loader = torch.utils.data.DataLoader(data, batch_size=8)
        generator = torch.Generator().manual_seed(3)
        try:
            model, optimizer, loader = engine.make_private(
                module=model,
                optimizer=optimizer,
                data_loader=loader,
                noise_multiplier=1.1,
                noise_generator=generator,
                **{"max_grad_norm": 1.0, **options},
            )
            plan = (
                ExponentialNoise(optimizer, gamma=0.9)
                if "clipping" not in options
                else StepNoise(optimizer, step_size=2, gamma=0.5)
            )
            with BatchMemoryManager(data_loader=loader, max_physical_batch_size=4, optimizer=optimizer) as batches:
                for x, y in batches:
                    optimizer.zero_grad()
                    nn.functional.cross_entropy(model(x), y).backward()
                    optimizer.step()
            plan.step()
            found.append((engine.get_epsilon(1e-3), sum(p.detach().double().sum() for p in model.parameters())))
        except (ValueError, NotImplementedError, TypeError, AttributeError, RuntimeError) as error:
            found.append(str(error)[:80])
    return found


def botorch_models_and_loops():
    import botorch
    from botorch import acquisition, fit, models, optim
    from botorch.models.transforms import Normalize, Standardize
    from botorch.test_functions import Branin, BraninCurrin, Hartmann
    from botorch.utils.multi_objective import pareto
    from botorch.utils.multi_objective.box_decompositions import NondominatedPartitioning
    from botorch.utils.sampling import draw_sobol_samples
    from gpytorch.mlls import ExactMarginalLogLikelihood, SumMarginalLogLikelihood

    torch.manual_seed(0)
    bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.double)
    x = draw_sobol_samples(bounds, n=8, q=1, seed=3).squeeze(1)
    y = -Branin().double()(x * torch.tensor([15.0, 15.0]) - torch.tensor([5.0, 0.0])).unsqueeze(-1)
    gp = models.SingleTaskGP(x, y, input_transform=Normalize(2), outcome_transform=Standardize(1))
    fit.fit_gpytorch_mll(ExactMarginalLogLikelihood(gp.likelihood, gp))
    found = [gp.posterior(x[:3] + 0.05).mean, gp.posterior(x[:3] + 0.05).variance]
    sampler = botorch.sampling.SobolQMCNormalSampler(torch.Size([16]), seed=5)
    for kind, options in (
        (acquisition.qExpectedImprovement, {"best_f": y.max(), "sampler": sampler}),
        (acquisition.qLogExpectedImprovement, {"best_f": y.max(), "sampler": sampler}),
        (acquisition.qLogNoisyExpectedImprovement, {"X_baseline": x, "sampler": sampler, "prune_baseline": False}),
        (acquisition.qUpperConfidenceBound, {"beta": 0.2, "sampler": sampler}),
        (acquisition.qProbabilityOfImprovement, {"best_f": y.max(), "sampler": sampler}),
        (acquisition.LogExpectedImprovement, {"best_f": y.max()}),
        (acquisition.PosteriorMean, {}),
    ):
        function = kind(gp, **options)
        q = 2 if kind.__name__.startswith("q") else 1
        value = function(draw_sobol_samples(bounds, n=3, q=q, seed=1))
        found.append(value)
    best, value = optim.optimize_acqf(
        acquisition.qLogExpectedImprovement(gp, y.max(), sampler),
        bounds,
        q=2,
        num_restarts=2,
        raw_samples=16,
        options={"maxiter": 5, "seed": 4},
    )
    found += [best, value]
    two = BraninCurrin(negate=True).double()(x)
    both = models.ModelListGP(models.SingleTaskGP(x, two[:, :1]), models.SingleTaskGP(x, two[:, 1:]))
    SumMarginalLogLikelihood(both.likelihood, both)
    found.append(pareto.is_non_dominated(two))
    parts = NondominatedPartitioning(ref_point=torch.tensor([-400.0, -20.0], dtype=torch.double), Y=two)
    found.append(parts.compute_hypervolume())
    found.append(
        acquisition.multi_objective.qExpectedHypervolumeImprovement(
            both, [-400.0, -20.0], parts, botorch.sampling.SobolQMCNormalSampler(torch.Size([8]), seed=1)
        )(draw_sobol_samples(bounds, n=2, q=1, seed=2))
    )
    mixed = models.MixedSingleTaskGP(torch.cat([x, (x[:, :1] > 0.5).double()], 1), y, cat_dims=[2])
    found.append(mixed.posterior(torch.cat([x[:2], torch.ones(2, 1)], 1)).mean)
    found.append(models.KroneckerMultiTaskGP(x, two).posterior(x[:2]).mean)
    found.append(Hartmann(dim=6)(torch.full((1, 6), 0.3)))
    return found


def gpytorch_rarer_kernels():
    import gpytorch
    from gpytorch import distributions, kernels, likelihoods, means, models, variational
    from linear_operator import operators

    x = torch.linspace(0, 1, 10).view(-1, 1)
    two = torch.rand(10, 2)
    found = []
    for kernel, data in (
        (kernels.SpectralMixtureKernel(num_mixtures=2), x),
        (kernels.PeriodicKernel() * kernels.LinearKernel() + kernels.ConstantKernel(), x),
        (kernels.RQKernel(), x),
        (kernels.CosineKernel(), x),
        (kernels.PiecewisePolynomialKernel(q=2), two),
        (kernels.PolynomialKernel(3), two),
        (kernels.ArcKernel(kernels.MaternKernel(), ard_num_dims=2), two),
        (kernels.CylindricalKernel(3, kernels.MaternKernel()), two * 0.5),
        (kernels.RBFKernelGrad(), two),
        (kernels.GridInterpolationKernel(kernels.RBFKernel(), grid_size=12, num_dims=1), x),
        (kernels.InducingPointKernel(kernels.RBFKernel(), x[:4].clone(), likelihoods.GaussianLikelihood()), x),
        (kernels.RFFKernel(num_samples=5, num_dims=2), two),
        (kernels.IndexKernel(num_tasks=3, rank=1), torch.tensor([[0], [1], [2]])),
        (kernels.HammingIMQKernel(vocab_size=2), (two > 0.5).double().float()),
    ):
        torch.manual_seed(0)
        found.append(kernel(data).to_dense())

    class Sparse(models.ApproximateGP):
        def __init__(self, points, kind):
            q = kind(points.size(0))
            super().__init__(variational.UnwhitenedVariationalStrategy(self, points, q, learn_inducing_locations=True))
            self.mean, self.kernel = means.LinearMean(1), kernels.ScaleKernel(kernels.MaternKernel(1.5))

        def forward(self, x):
            return distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    y = torch.sin(6 * x).squeeze()
    for kind in (
        variational.CholeskyVariationalDistribution,
        variational.MeanFieldVariationalDistribution,
        variational.DeltaVariationalDistribution,
        variational.NaturalVariationalDistribution,
    ):
        torch.manual_seed(0)
        gp, likelihood = Sparse(x[::3].clone(), kind), likelihoods.StudentTLikelihood()
        elbo = (
            gpytorch.mlls.PredictiveLogLikelihood(likelihood, gp, 10)
            if kind is variational.CholeskyVariationalDistribution
            else gpytorch.mlls.VariationalELBO(likelihoods.GaussianLikelihood(), gp, 10)
        )
        loss = -elbo(gp(x), y)
        loss.backward()
        found.append(loss)
    with gpytorch.settings.fast_computations(False, False, False), gpytorch.settings.max_cholesky_size(5):
        found.append(
            operators.AddedDiagLinearOperator(
                operators.DenseLinearOperator(two @ two.T), operators.DiagLinearOperator(torch.ones(10))
            ).solve(y)
        )
    found.append(operators.ToeplitzLinearOperator(torch.linspace(1, 0.1, 6)).matmul(torch.ones(6, 1)))
    found.append(
        operators.KroneckerProductLinearOperator(
            operators.DenseLinearOperator(torch.eye(2) + 0.1), operators.DenseLinearOperator(torch.eye(3) + 0.2)
        ).logdet()
    )
    return found
