"""torch.distributions: random variables to sample from, with densities that can be differentiated.
Everything is read at its first use."""

_HOMES = {
    "bernoulli": "Bernoulli",
    "beta": "Beta",
    "binomial": "Binomial",
    "categorical": "Categorical",
    "cauchy": "Cauchy",
    "chi2": "Chi2",
    "dirichlet": "Dirichlet",
    "distribution": "Distribution",
    "exp_family": "ExponentialFamily",
    "exponential": "Exponential",
    "fishersnedecor": "FisherSnedecor",
    "gamma": "Gamma",
    "geometric": "Geometric",
    "gumbel": "Gumbel",
    "half_cauchy": "HalfCauchy",
    "half_normal": "HalfNormal",
    "independent": "Independent",
    "inverse_gamma": "InverseGamma",
    "kumaraswamy": "Kumaraswamy",
    "laplace": "Laplace",
    "log_normal": "LogNormal",
    "logistic_normal": "LogisticNormal",
    "mixture_same_family": "MixtureSameFamily",
    "multinomial": "Multinomial",
    "multivariate_normal": "MultivariateNormal",
    "negative_binomial": "NegativeBinomial",
    "normal": "Normal",
    "one_hot_categorical": "OneHotCategorical OneHotCategoricalStraightThrough",
    "pareto": "Pareto",
    "poisson": "Poisson",
    "relaxed_bernoulli": "RelaxedBernoulli",
    "relaxed_categorical": "RelaxedOneHotCategorical",
    "studentT": "StudentT",
    "transformed_distribution": "TransformedDistribution",
    "uniform": "Uniform",
    "von_mises": "VonMises",
    "weibull": "Weibull",
    "constraint_registry": "biject_to transform_to",
    "kl": "kl_divergence register_kl",
    "transforms": "AbsTransform AffineTransform CatTransform ComposeTransform CumulativeDistributionTransform "
    "ExpTransform IndependentTransform LowerCholeskyTransform PositiveDefiniteTransform PowerTransform "
    "ReshapeTransform SigmoidTransform SoftmaxTransform SoftplusTransform StackTransform "
    "StickBreakingTransform TanhTransform Transform identity_transform",
    "constraints": "",
    "utils": "",
}
_WHERE = {name: home for home, names in _HOMES.items() for name in names.split()}
__all__ = sorted(_WHERE)


def __getattr__(name):
    from importlib import import_module

    if name in _WHERE:
        value = globals()[name] = getattr(import_module("." + _WHERE[name], __name__), name)
        return value
    if name in _HOMES:
        return import_module("." + name, __name__)
    return import_module(".._core.absent", __name__).of(__name__)(name)


def __dir__():
    return sorted({*globals(), *_WHERE, *_HOMES})
