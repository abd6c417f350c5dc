"""torch.distributions against PyTorch: samples of the same seed, densities, moments, divergences, gradients,
messages."""

import pytest
import torchlite

torch = pytest.importorskip("torch")
pytest.importorskip("torch.distributions")

BOTH = (torch, torchlite)


def same(a, b, rtol=2e-5, atol=2e-6):
    assert tuple(a.shape) == tuple(b.shape)
    assert str(a.dtype) == str(b.dtype)
    torch.testing.assert_close(
        torch.tensor(b.detach().tolist(), dtype=a.dtype), a.detach(), rtol=rtol, atol=atol, equal_nan=True
    )


def vec(m, *v):
    return m.tensor(v)


MAKE = {
    "Normal": lambda m, d: d.Normal(vec(m, 0.5, -1.0), vec(m, 0.7, 2.0)),
    "Normal scalar": lambda m, d: d.Normal(0.0, 1.0),
    "Uniform": lambda m, d: d.Uniform(vec(m, 0.5, -1.0), 3.0),
    "Bernoulli": lambda m, d: d.Bernoulli(vec(m, 0.2, 0.9)),
    "Bernoulli logits": lambda m, d: d.Bernoulli(logits=vec(m, 0.2, -3.0)),
    "Geometric": lambda m, d: d.Geometric(vec(m, 0.2, 0.9)),
    "Categorical": lambda m, d: d.Categorical(m.tensor([[1.0, 2.0, 3.0], [0.2, 0.2, 0.6]])),
    "Categorical logits": lambda m, d: d.Categorical(logits=vec(m, 0.1, -1.0, 2.0)),
    "OneHotCategorical": lambda m, d: d.OneHotCategorical(m.tensor([[1.0, 2.0, 3.0], [0.2, 0.2, 0.6]])),
    "Multinomial": lambda m, d: d.Multinomial(5, vec(m, 1.0, 2.0, 3.0)),
    "Binomial": lambda m, d: d.Binomial(7, vec(m, 0.3, 0.6)),
    "NegativeBinomial": lambda m, d: d.NegativeBinomial(3.0, vec(m, 0.3, 0.6)),
    "Exponential": lambda m, d: d.Exponential(vec(m, 0.3, 4.0)),
    "Gamma": lambda m, d: d.Gamma(vec(m, 0.3, 4.0), vec(m, 1.5, 0.5)),
    "Chi2": lambda m, d: d.Chi2(vec(m, 3.0, 4.0)),
    "Beta": lambda m, d: d.Beta(vec(m, 0.7, 4.0), vec(m, 1.5, 2.5)),
    "Dirichlet": lambda m, d: d.Dirichlet(m.tensor([[0.5, 1.0, 3.0], [2.0, 2.0, 2.0]])),
    "Laplace": lambda m, d: d.Laplace(vec(m, 0.3, -4.0), vec(m, 1.5, 0.5)),
    "Cauchy": lambda m, d: d.Cauchy(vec(m, 0.3, -4.0), vec(m, 1.5, 0.5)),
    "HalfCauchy": lambda m, d: d.HalfCauchy(vec(m, 1.5, 0.5)),
    "HalfNormal": lambda m, d: d.HalfNormal(vec(m, 1.5, 0.5)),
    "Poisson": lambda m, d: d.Poisson(vec(m, 1.5, 8.0)),
    "StudentT": lambda m, d: d.StudentT(vec(m, 3.0, 1.5), 0.5, 2.0),
    "FisherSnedecor": lambda m, d: d.FisherSnedecor(vec(m, 3.0, 5.5), vec(m, 3.0, 6.5)),
    "LogNormal": lambda m, d: d.LogNormal(vec(m, 0.3, -1.0), vec(m, 0.5, 0.2)),
    "Gumbel": lambda m, d: d.Gumbel(vec(m, 0.3, -1.0), vec(m, 0.5, 0.2)),
    "Weibull": lambda m, d: d.Weibull(vec(m, 0.3, 1.0), vec(m, 1.5, 2.2)),
    "Pareto": lambda m, d: d.Pareto(vec(m, 0.3, 1.0), vec(m, 1.5, 2.2)),
    "InverseGamma": lambda m, d: d.InverseGamma(vec(m, 1.3, 3.0), vec(m, 1.5, 2.2)),
    "Kumaraswamy": lambda m, d: d.Kumaraswamy(vec(m, 1.3, 3.0), vec(m, 1.5, 2.2)),
    "LogisticNormal": lambda m, d: d.LogisticNormal(vec(m, 0.3, -1.0), vec(m, 0.5, 0.2)),
    "RelaxedBernoulli": lambda m, d: d.RelaxedBernoulli(m.tensor(0.6), vec(m, 0.3, 0.8)),
    "RelaxedOneHotCategorical": lambda m, d: d.RelaxedOneHotCategorical(m.tensor(0.6), vec(m, 0.3, 0.5, 0.2)),
    "VonMises": lambda m, d: d.VonMises(vec(m, 0.3, -1.0), vec(m, 0.5, 4.0)),
    "MultivariateNormal": lambda m, d: d.MultivariateNormal(vec(m, 0.3, -1.0), m.tensor([[2.0, 0.5], [0.5, 1.0]])),
    "MultivariateNormal precision": lambda m, d: d.MultivariateNormal(
        m.zeros(3, 2), precision_matrix=m.tensor([[2.0, 0.5], [0.5, 1.0]])
    ),
    "MultivariateNormal tril": lambda m, d: d.MultivariateNormal(
        m.zeros(2), scale_tril=m.tensor([[2.0, 0.0], [0.5, 1.0]])
    ),
    "LowRankMultivariateNormal": lambda m, d: d.LowRankMultivariateNormal(
        vec(m, 0.3, -1.0), m.tensor([[0.5], [-1.5]]), vec(m, 0.2, 2.0)
    ),
    "LowRankMultivariateNormal batch": lambda m, d: d.LowRankMultivariateNormal(
        m.zeros(3, 1, 3), m.arange(6.0).view(3, 2) / 4, m.ones(2, 3)
    ),
    "Wishart": lambda m, d: d.Wishart(m.tensor(3.5), m.tensor([[2.0, 0.5], [0.5, 1.0]])),
    "Wishart batch": lambda m, d: d.Wishart(vec(m, 3.5, 6.0), scale_tril=m.tensor([[2.0, 0.0], [0.5, 1.0]])),
    "Wishart precision": lambda m, d: d.Wishart(4, precision_matrix=m.tensor([[2.0, 0.5], [0.5, 1.0]])),
    "LKJCholesky": lambda m, d: d.LKJCholesky(3, vec(m, 0.5, 2.0)),
    "LKJCholesky of 2": lambda m, d: d.LKJCholesky(2),
    "ContinuousBernoulli": lambda m, d: d.ContinuousBernoulli(vec(m, 0.1, 0.5, 0.4999, 0.97)),
    "ContinuousBernoulli logits": lambda m, d: d.ContinuousBernoulli(logits=vec(m, 0.2, -3.0, 0.0)),
    "GeneralizedPareto": lambda m, d: d.GeneralizedPareto(vec(m, 0.1, 1.0, 0.0), 2.0, vec(m, 0.4, 0.0, -0.5)),
    "Independent": lambda m, d: d.Independent(d.Normal(m.arange(6.0).view(2, 3), 1.0), 1),
    "MixtureSameFamily": lambda m, d: d.MixtureSameFamily(
        d.Categorical(vec(m, 0.3, 0.7)), d.Normal(vec(m, -1.0, 2.0), vec(m, 0.5, 1.0))
    ),
    "Transformed": lambda m, d: d.TransformedDistribution(
        d.Normal(m.zeros(2), 1.0), [d.AffineTransform(vec(m, 1.0, 2.0), -2.0), d.SigmoidTransform()]
    ),
}


def make(name):
    return [MAKE[name](m, m.distributions) for m in BOTH]


def value(real, ours):
    v = real.sample()
    return v, torchlite.tensor(v.tolist(), dtype=getattr(torchlite, str(v.dtype)[6:]))


def both_raise_or_same(f, real, ours, **tol):
    try:
        want = f(real)
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            f(ours)
        return
    same(want, f(ours), **tol)


@pytest.mark.parametrize("name", MAKE)
def test_samples(name):
    real, ours = make(name)
    assert repr(real) == repr(ours)
    assert real.batch_shape == ours.batch_shape and real.event_shape == ours.event_shape
    assert real.has_rsample == ours.has_rsample and real.has_enumerate_support == ours.has_enumerate_support
    for shape in ((), (5,), (2, 3)):
        torch.manual_seed(3)
        torchlite.manual_seed(3)
        same(real.sample(shape), ours.sample(shape))
        if real.has_rsample:
            same(real.rsample(shape), ours.rsample(shape))
    assert torch.equal(torch.rand(2), torch.tensor(torchlite.rand(2).tolist()))


@pytest.mark.parametrize("name", MAKE)
def test_densities_and_moments(name):
    real, ours = make(name)
    torch.manual_seed(1)
    v, w = value(real, ours)
    same(real.log_prob(v), ours.log_prob(w), atol=1e-5)
    both_raise_or_same(lambda d: d.cdf(v if d is real else w), real, ours, atol=1e-5)
    both_raise_or_same(
        lambda d: d.icdf(torch.full(d.batch_shape, 0.3) if d is real else torchlite.full(d.batch_shape, 0.3)),
        real,
        ours,
        atol=1e-5,
    )
    for what in ("mean", "variance", "stddev", "mode"):
        if (name, what) == ("Kumaraswamy", "mode"):  # PyTorch's is NaN everywhere; ours is the maximum of the density
            continue
        both_raise_or_same(lambda d: getattr(d, what), real, ours)
    for what in ("entropy", "perplexity", "enumerate_support"):
        both_raise_or_same(lambda d: getattr(d, what)(), real, ours)
    assert repr(real.support) == repr(ours.support) and real.support.is_discrete == ours.support.is_discrete


@pytest.mark.parametrize("name", MAKE)
def test_expand(name):
    real, ours = make(name)
    shape = (3,) + tuple(real.batch_shape)
    real, ours = real.expand(shape), ours.expand(shape)
    assert repr(real) == repr(ours) and real.batch_shape == ours.batch_shape
    torch.manual_seed(3)
    torchlite.manual_seed(3)
    v, w = real.sample((2,)), ours.sample((2,))
    same(v, w)
    same(real.log_prob(v), ours.log_prob(w), atol=1e-5)


GRADS = {
    "Normal": (0.5, 1.5),
    "Gamma": (1.5, 0.5),
    "Laplace": (0.5, 1.5),
    "Uniform": (0.5, 2.5),
    "Cauchy": (0.5, 2.5),
    "StudentT": (2.5, 0.5, 1.5),
    "Exponential": (0.5,),
    "Gumbel": (0.5, 1.5),
    "LogNormal": (0.5, 0.5),
    "Weibull": (1.5, 2.0),
    "HalfNormal": (1.5,),
    "Pareto": (0.5, 2.0),
    "ContinuousBernoulli": (0.3,),
    "GeneralizedPareto": (0.1, 2.0, 0.4),
}


@pytest.mark.parametrize("name", GRADS)
def test_gradients(name):
    results = []
    for m in BOTH:
        m.manual_seed(5)
        params = [m.tensor([p, p * 1.1], requires_grad=True) for p in GRADS[name]]
        d = getattr(m.distributions, name)(*params)
        x = d.rsample((4,))
        loss = x.mean() + d.log_prob(x.detach()).sum()
        loss.backward()
        results.append([p.grad for p in params])
    for a, b in zip(*results):
        same(a, b, rtol=1e-3, atol=1e-4)  # PyTorch's gamma gradient is an approximation


def test_score_function_gradients():
    for make_logits in (
        lambda d, t: d.Categorical(logits=t),
        lambda d, t: d.Bernoulli(logits=t),
        lambda d, t: d.OneHotCategorical(logits=t),
    ):
        out = []
        for m in BOTH:
            m.manual_seed(2)
            t = m.tensor([0.3, -1.0, 0.5], requires_grad=True)
            d = make_logits(m.distributions, t)
            a = d.sample()
            assert not a.requires_grad
            (d.log_prob(a).sum() + d.entropy().sum()).backward()
            out.append(t.grad)
        same(*out)


def test_dirichlet_pathwise_gradient_is_unbiased():
    torchlite.manual_seed(0)
    c = torchlite.tensor([2.0, 3.0, 1.0], dtype=torchlite.float64, requires_grad=True)
    torchlite.distributions.Dirichlet(c).rsample((20000,))[:, 0].mean().backward()
    exact = torch.tensor([4 / 36, -2 / 36, -2 / 36], dtype=torch.float64)  # of c0 / (c0 + c1 + c2)
    assert (torch.tensor(c.grad.tolist()) - exact).abs().max() < 5e-3


KL = [
    "Normal",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Dirichlet",
    "Exponential",
    "Gamma",
    "Geometric",
    "Gumbel",
    "HalfNormal",
    "Laplace",
    "MultivariateNormal",
    "OneHotCategorical",
    "Pareto",
    "Poisson",
    "Uniform",
    "Independent",
    "LogNormal",
    "ContinuousBernoulli",
    "LowRankMultivariateNormal",
]


@pytest.mark.parametrize("p", KL)
def test_kl(p):
    import warnings

    for q in KL:
        a, b = make(p), make(q)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                want = torch.distributions.kl_divergence(a[0], b[0])
            except (NotImplementedError, RuntimeError, ValueError) as e:
                with pytest.raises(type(e)):
                    torchlite.distributions.kl_divergence(a[1], b[1])
                continue
            same(want, torchlite.distributions.kl_divergence(a[1], b[1]), atol=1e-5)


TRANSFORMS = {
    "ExpTransform": lambda m, d: d.ExpTransform(),
    "SigmoidTransform": lambda m, d: d.SigmoidTransform(),
    "TanhTransform": lambda m, d: d.TanhTransform(),
    "SoftplusTransform": lambda m, d: d.SoftplusTransform(),
    "AffineTransform": lambda m, d: d.AffineTransform(1.0, -2.0),
    "Compose": lambda m, d: d.ComposeTransform([d.AffineTransform(0.5, 2.0), d.TanhTransform()]),
    "Softmax": lambda m, d: d.SoftmaxTransform(),
    "StickBreaking": lambda m, d: d.StickBreakingTransform(),
    "Inverse": lambda m, d: d.SigmoidTransform().inv.inv,
    "Cat": lambda m, d: d.CatTransform([d.ExpTransform(), d.SigmoidTransform()], -1, [1, 2]),
    "Stack": lambda m, d: d.StackTransform([d.ExpTransform(), d.SigmoidTransform(), d.TanhTransform()], -1),
    "Reshape": lambda m, d: d.ReshapeTransform((3,), (3, 1)),
    "Independent": lambda m, d: d.IndependentTransform(d.ExpTransform(), 1),
    "Cdf": lambda m, d: d.CumulativeDistributionTransform(d.Normal(0.0, 1.0)),
    "Power": lambda m, d: d.ComposeTransform([d.ExpTransform(), d.PowerTransform(2.0)]),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    got = []
    for m in BOTH:
        t = TRANSFORMS[name](m, m.distributions)
        x = m.tensor([[0.3, -0.5, 0.2], [0.1, 0.4, 0.9]])
        y = t(x)
        try:
            jac = t.log_abs_det_jacobian(x, y)
        except NotImplementedError:
            jac = y
        got.append((y, t.inv(y), jac, repr(t), repr(t.domain), repr(t.codomain), t.bijective))
    for a, b in zip(got[0][:3], got[1][:3]):
        same(a, b, atol=1e-5)
    assert got[0][3:] == got[1][3:]


def test_constraint_transforms():
    for m in BOTH:
        c = m.distributions.constraints
        for kind in (
            c.positive,
            c.unit_interval,
            c.simplex,
            c.interval(-2.0, 3.0),
            c.greater_than(1.5),
            c.real,
            c.less_than(0.0),
            c.lower_cholesky,
            c.positive_definite,
        ):
            x = m.linspace(-1, 1, 9).view(3, 3)
            assert kind.check(m.distributions.transform_to(kind)(x)).all()


BAD = [
    lambda m, d: d.Normal(0.0, -1.0),
    lambda m, d: d.Categorical(m.tensor([-1.0, 0.5])),
    lambda m, d: d.Normal(0.0, 1.0).log_prob(1),
    lambda m, d: d.Bernoulli(0.5).log_prob(m.tensor(2.0)),
    lambda m, d: d.Categorical(),
    lambda m, d: d.Categorical(m.tensor(1.0)),
    lambda m, d: d.Normal(m.zeros(2), m.ones(2)).log_prob(m.zeros(3)),
    lambda m, d: d.Independent(d.Normal(m.zeros(2, 3), 1.0), 3),
    lambda m, d: d.MultivariateNormal(m.zeros(2)),
    lambda m, d: d.Uniform(1.0, 0.0),
    lambda m, d: d.Normal(0.0, "a"),
    lambda m, d: d.MultivariateNormal(m.zeros(2), m.tensor([[1.0, 2.0], [2.0, 1.0]])),
    lambda m, d: d.Categorical(m.ones(2)).rsample(),
    lambda m, d: d.biject_to(d.constraints.integer_interval(0, 1)),
    lambda m, d: d.Dirichlet(m.tensor(1.0)),
    lambda m, d: d.Geometric(0.0),
    lambda m, d: d.Categorical(m.ones(3)).log_prob(m.tensor(4)),
    lambda m, d: d.Normal(m.tensor([0.0, float("nan")]), 1.0),
]


@pytest.mark.parametrize("i", range(len(BAD)))
def test_messages(i):
    texts = []
    for m in BOTH:
        with pytest.raises(Exception) as e:
            BAD[i](m, m.distributions)
        texts.append((type(e.value).__name__, str(e.value)))
    assert texts[0] == texts[1]


def test_lazy():
    import subprocess
    import sys

    code = "import torchlite, sys; assert not any('distributions' in n for n in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}).returncode == 0
    assert torchlite.distributions.normal.Normal is torchlite.distributions.Normal


def test_corr_cholesky_transform():
    found = []
    for m in BOTH:
        t, x = m.distributions.CorrCholeskyTransform(), m.tensor([[0.3, -1.0, 2.0], [0.1, 0.2, -0.5]])
        y = t(x)
        found.append((y, t.inv(y), t.log_abs_det_jacobian(x, y), t.codomain.check(y)))
        assert tuple(t.forward_shape((2, 6))) == (2, 4, 4) and tuple(t.inverse_shape((2, 4, 4))) == (2, 6)
        for call, shape in ((t.forward_shape, (4,)), (t.inverse_shape, (2, 3)), (t.inverse_shape, (3,))):
            with pytest.raises(ValueError):
                call(shape)
        for registry in (m.distributions.biject_to, m.distributions.transform_to):
            assert type(registry(m.distributions.constraints.corr_cholesky)) is type(t)
    for a, b in zip(*found):
        same(a, b)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, d: d.LKJCholesky(1),
        lambda m, d: d.Wishart(4.0),
        lambda m, d: d.Wishart(1.0, m.eye(3)),
        lambda m, d: d.LowRankMultivariateNormal(m.zeros(2), m.zeros(3, 1), m.ones(2)),
        lambda m, d: d.LowRankMultivariateNormal(m.zeros(3, 2), m.zeros(4, 2, 1), m.ones(2)),
        lambda m, d: d.ContinuousBernoulli(m.tensor([1.5]), validate_args=True),
        lambda m, d: d.ContinuousBernoulli(0.5, 0.5),
        lambda m, d: d.GeneralizedPareto(0.0, -1.0, 0.5),
    ],
)
def test_refused_parameters(call):
    said = []
    for m in BOTH:
        with pytest.raises((ValueError, AssertionError)) as e:
            call(m, m.distributions)
        said.append((e.type, str(e.value).replace("torchlite", "torch")))
    assert said[0] == said[1]


@pytest.mark.parametrize("batch", [(), (2,), (2, 1)])
@pytest.mark.parametrize("samples", [(), (3,), (2, 2)])
def test_layout_of_multivariate_normal(batch, samples):
    def run(m):
        n = m.Size(batch).numel()
        loc = m.arange(n * 3.0).reshape(*batch, 3).requires_grad_()
        tril = (m.arange(n * 9.0).reshape(*batch, 3, 3).sin().tril() + 3 * m.eye(3)).requires_grad_()
        x = m.arange(3.0 * n * m.Size(samples).numel()).reshape(*samples, *batch, 3).cos()
        found = m.distributions.MultivariateNormal(loc, scale_tril=tril).log_prob(x)
        grads = m.autograd.grad(found.sum(), [loc, tril])
        return [found, *grads]

    for a, b in zip(run(torch), run(torchlite)):
        same(a, b)
        assert [s for s, n in zip(a.stride(), a.shape) if n > 1] == [s for s, n in zip(b.stride(), b.shape) if n > 1]


@pytest.mark.parametrize("other", ["Normal(v, v + 0.5)", "Exponential(v)", "Gamma(v, v + 0.3)"])
def test_pareto_divergence_without_moments(other):
    """Where the mean or variance of a Pareto is infinite, so is the divergence, and its gradient is 0, not NaN."""

    def run(m):
        alpha = m.tensor([0.5, 0.9, 1.5, 1.9, 2.5]).requires_grad_()
        v = m.tensor(0.7).requires_grad_()
        q = eval("d." + other, {"d": m.distributions, "v": v})
        kl = m.distributions.kl_divergence(m.distributions.Pareto(m.tensor(0.3), alpha), q)
        return [kl, *m.autograd.grad(kl.sum(), [alpha, v])]

    for a, b in zip(run(torch), run(torchlite)):
        same(a, b)
