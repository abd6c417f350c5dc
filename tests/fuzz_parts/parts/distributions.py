"""Distributions: properties, samples, densities, KL, gradients."""

from __future__ import annotations

import random
from random import Random
from typing import Any

import numpy as np

from fuzz_parts.case import Case, chance, outcome, tensor


def positive(g: Any, shape: Any) -> Any:
    return np.exp(g.standard_normal(shape) * g.choice([0.3, 1.5]))


def real(g: Any, shape: Any) -> Any:
    return g.standard_normal(shape) * 2


def unit(g: Any, shape: Any) -> Any:
    return np.clip(g.random(shape), 0.02, 0.98)


def simplex(g: Any, shape: Any) -> Any:
    p = g.random([*shape, 3]) + 0.1
    return p / p.sum(-1, keepdims=True)


def triangular(g: Any, shape: Any) -> Any:
    a, i = np.tril(g.standard_normal([*shape, 3, 3])), np.arange(3)
    a[..., i, i] = np.abs(a[..., i, i]) + 0.3
    return a


def definite(g: Any, shape: Any) -> Any:
    a = triangular(g, shape)
    return a @ np.swapaxes(a, -1, -2)


def vector(f: Any, *sizes: int) -> Any:
    return lambda g, shape: f(g, [*shape, *sizes])


LOGITS, PROBS = {"logits": real}, {"probs": unit}
LOC_SCALE = {"loc": real, "scale": positive}
SPEC: dict[str, list[dict[str, Any]]] = {
    "Bernoulli": [PROBS, LOGITS],
    "Beta": [{"concentration1": positive, "concentration0": positive}],
    "Binomial": [{"total_count": 5, **PROBS}, {"total_count": 5, **LOGITS}],
    "Categorical": [{"probs": simplex}, {"logits": vector(real, 3)}],
    "Cauchy": [LOC_SCALE],
    "Chi2": [{"df": positive}],
    "ContinuousBernoulli": [PROBS, LOGITS],
    "Dirichlet": [{"concentration": vector(positive, 3)}],
    "Exponential": [{"rate": positive}],
    "FisherSnedecor": [{"df1": positive, "df2": positive}],
    "Gamma": [{"concentration": positive, "rate": positive}],
    "GeneralizedPareto": [{**LOC_SCALE, "concentration": real}],
    "Geometric": [PROBS, LOGITS],
    "Gumbel": [LOC_SCALE],
    "HalfCauchy": [{"scale": positive}],
    "HalfNormal": [{"scale": positive}],
    "InverseGamma": [{"concentration": positive, "rate": positive}],
    "Kumaraswamy": [{"concentration1": positive, "concentration0": positive}],
    "Laplace": [LOC_SCALE],
    "LKJCholesky": [{"dim": 3, "concentration": positive}],
    "LogNormal": [LOC_SCALE],
    "LogisticNormal": [{"loc": vector(real, 2), "scale": vector(positive, 2)}],
    "LowRankMultivariateNormal": [
        {"loc": vector(real, 3), "cov_factor": vector(real, 3, 2), "cov_diag": vector(positive, 3)}
    ],
    "Multinomial": [{"total_count": 4, "probs": simplex}],
    "MultivariateNormal": [
        {"loc": vector(real, 3), "scale_tril": triangular},
        {"loc": vector(real, 3), "covariance_matrix": definite},
        {"loc": vector(real, 3), "precision_matrix": definite},
    ],
    "NegativeBinomial": [{"total_count": positive, **PROBS}],
    "Normal": [LOC_SCALE],
    "OneHotCategorical": [{"probs": simplex}],
    "OneHotCategoricalStraightThrough": [{"probs": simplex}],
    "Pareto": [{"scale": positive, "alpha": positive}],
    "Poisson": [{"rate": positive}],
    "RelaxedBernoulli": [{"temperature": positive, **PROBS}],
    "RelaxedOneHotCategorical": [{"temperature": lambda g, shape: np.array(0.7), "probs": simplex}],
    "StudentT": [{"df": positive, **LOC_SCALE}],
    "Uniform": [{"low": lambda g, shape: -positive(g, shape), "high": positive}],
    "VonMises": [{"loc": real, "concentration": positive}],
    "Weibull": [{"scale": positive, "concentration": positive}],
    "Wishart": [{"df": lambda g, shape: positive(g, shape) + 3, "scale_tril": triangular}],
}


def draw(r: Random) -> Case:
    name, other = r.choice(list(SPEC)), r.choice([None, None, "itself", *SPEC])
    given, dtype = r.choice(SPEC[name]), r.choice(["float32", "float64"])
    batch, shape = r.choice([(), (2,), (2, 1)]), r.choice([(), (3,), (2, 2)])
    checked, expanded, independent = r.choice([None, True, False]), chance(r, 0.3), chance(r, 0.3)
    plain = batch == () and chance(r, 0.3)
    seed = r.randrange(10**6)

    def run(torch: Any) -> Any:
        rng, leaves = np.random.default_rng(seed), []
        torch.manual_seed(seed)

        def make(which: str, parameters: dict[str, Any]) -> Any:
            arguments = {}
            for k, v in parameters.items():
                x = np.asarray(v(rng, batch)) if callable(v) else v
                if callable(v) and not (plain and x.ndim == 0):
                    leaves.append(x := tensor(torch, x, dtype).requires_grad_())
                arguments[k] = float(x) if callable(v) and plain and x.ndim == 0 else x
            return getattr(torch.distributions, which)(**arguments, validate_args=checked)

        d = make(name, given)
        if expanded:
            d = d.expand(torch.Size((4, *d.batch_shape)))
        if independent and d.batch_shape:
            d = torch.distributions.Independent(d, 1)
        seen = {"repr": repr(d), "batch": d.batch_shape, "event": d.event_shape, "support": str(d.support)}
        found = {a: outcome(lambda: getattr(d, a)) for a in ("mean", "mode", "variance", "stddev")}
        found["sample"] = outcome(lambda: (d.rsample if d.has_rsample else d.sample)(shape))
        x = found["sample"]
        if isinstance(x, torch.Tensor):
            x = x.detach()
            found["log_prob"] = outcome(lambda: d.log_prob(x))
            found["cdf"] = outcome(lambda: d.cdf(x))
            found["beside"] = outcome(lambda: d.log_prob(x + 0.5))
            found["of another shape"] = outcome(lambda: d.log_prob(torch.zeros(7, dtype=x.dtype)))
        probability = torch.full(tuple(d.batch_shape), 0.3, dtype=getattr(torch, dtype))
        found["icdf"] = outcome(lambda: d.icdf(probability))
        found["entropy"] = outcome(d.entropy)
        found["values"] = outcome(d.enumerate_support)
        if other:
            which = name if other == "itself" else other
            second = outcome(lambda: make(which, random.Random(seed).choice(SPEC[which])))
            found["kl"] = outcome(lambda: torch.distributions.kl_divergence(d, second))
        for key in ("log_prob", "entropy", "sample", "kl", "cdf", "mean"):
            v = found.get(key)
            if isinstance(v, torch.Tensor) and v.requires_grad and leaves:
                found[f"grad of {key}"] = outcome(
                    lambda: torch.autograd.grad(v.sum(), leaves, allow_unused=True, retain_graph=True)
                )
        return seen, found

    flags = dict(expanded=expanded, independent=independent, plain=plain, checked=checked)
    text = f"{name}({', '.join(given)}), batch {batch}, sample {shape}, {dtype}, kl with {other}, {flags}, seed {seed}"
    return Case(text, run, rounding=64)
