"""Divergences between distributions of different families."""

import math

import torchlite as torch

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from ._kl_registry import register_kl
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import euler_constant


def _inf(t):
    return torch.full_like(t, torch.inf)


def _xlogx(t):
    return torch.special.xlogy(t, t)


@register_kl(Exponential, Gamma)
def _(p, q):
    ratio = q.rate / p.rate
    return (
        -q.concentration * torch.log(ratio)
        + ratio
        + q.concentration.lgamma()
        + q.concentration * euler_constant
        - (1 + euler_constant)
    )


@register_kl(Gamma, Exponential)
def _(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Exponential, Normal)
def _(p, q):
    var, rate_sqr = q.scale.pow(2), p.rate.pow(2)
    t1 = 0.5 * torch.log(rate_sqr * var * 2 * math.pi)
    return t1 - 1 + (rate_sqr.reciprocal() - q.loc / p.rate + q.loc.pow(2) * 0.5) / var


@register_kl(Gamma, Normal)
def _(p, q):
    var, beta_sqr = q.scale.pow(2), p.rate.pow(2)
    t1 = 0.5 * torch.log(beta_sqr * var * 2 * math.pi) - p.concentration - p.concentration.lgamma()
    t2 = 0.5 * (p.concentration.pow(2) + p.concentration) / beta_sqr
    t3 = -q.loc * p.concentration / p.rate + 0.5 * q.loc.pow(2)
    return t1 + (p.concentration - 1) * p.concentration.digamma() + (t2 + t3) / var


@register_kl(Laplace, Normal)
def _(p, q):
    var = q.scale.pow(2)
    ratio = p.scale.pow(2) / var
    return (
        -0.5 * torch.log(2 * ratio / math.pi)
        + 0.5 * p.loc.pow(2) / var
        - p.loc * q.loc / var
        + 0.5 * q.loc.pow(2) / var
        + ratio
        - 1
    )


@register_kl(Uniform, Normal)
def _(p, q):
    length = p.high - p.low
    t1 = (math.sqrt(math.pi * 2) * q.scale / length).log()
    t2 = length.pow(2) / 12
    return t1 + 0.5 * (t2 + ((p.high + p.low - 2 * q.loc) / 2).pow(2)) / q.scale.pow(2)


@register_kl(Uniform, Beta)
def _(p, q):
    length = p.high - p.low
    t1 = torch.log(length)
    t2 = (q.concentration1 - 1) * (_xlogx(p.high) - _xlogx(p.low) - length) / length
    t3 = (q.concentration0 - 1) * (_xlogx(1 - p.high) - _xlogx(1 - p.low) + length) / length
    t4 = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    result = t3 + t4 - t1 - t2
    result[(p.high > q.support.upper_bound) | (p.low < q.support.lower_bound)] = torch.inf
    return result


@register_kl(Uniform, Exponential)
def _(p, q):
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    result[p.low < q.support.lower_bound] = torch.inf
    return result


@register_kl(Beta, Uniform)
def _(p, q):
    result = -p.entropy() + (q.high - q.low).log()
    result[(q.low > p.support.lower_bound) | (q.high < p.support.upper_bound)] = torch.inf
    return result


@register_kl(Beta, Exponential)
def _(p, q):
    return -p.entropy() - q.rate.log() + q.rate * (p.concentration1 / (p.concentration1 + p.concentration0))


@register_kl(Beta, Normal)
def _(p, q):
    mean, var = p.mean, q.scale.pow(2)
    return (
        -p.entropy()
        + 0.5 * (var * 2 * math.pi).log()
        + (p.variance * 0.5 + mean.pow(2) * 0.5 - mean * q.loc + q.loc.pow(2) * 0.5) / var
    )


def _to_normal(p, q, mean, variance):
    """For a q that is normal: only the mean and the variance of p matter."""
    return (
        -p.entropy()
        + (q.scale * math.sqrt(2 * math.pi)).log()
        + (variance + (mean - q.loc).pow(2)) / (2 * q.scale.pow(2))
    )


def _to_gamma(p, q, mean, mean_log):
    """For a q that is gamma: the means of x and log x under p."""
    return (
        -p.entropy()
        + torch.lgamma(q.concentration)
        - q.concentration * q.rate.log()
        - (q.concentration - 1) * mean_log
        + q.rate * mean
    )


def _to_gumbel(p, q, mean, mean_exp):
    """For a q that is Gumbel: the means of x and exp(-x / scale) under p."""
    return -p.entropy() + q.scale.log() + (mean - q.loc) / q.scale + (q.loc / q.scale).exp() * mean_exp


register_kl(Gumbel, Normal)(lambda p, q: _to_normal(p, q, p.mean, p.variance))


def _pareto_mean(p):
    """The formula of the mean: finite where the mean is infinite, so that the gradient of what is masked is 0."""
    return p.alpha * p.scale / (p.alpha - 1)


@register_kl(Pareto, Normal)
def _(p, q):
    variance = p.scale.pow(2) * p.alpha / ((p.alpha - 1).pow(2) * (p.alpha - 2))
    return torch.where(p.alpha <= 2, torch.inf, _to_normal(p, q, _pareto_mean(p), variance))


@register_kl(Pareto, Exponential)
def _(p, q):
    return torch.where(p.alpha <= 1, torch.inf, -p.entropy() - q.rate.log() + q.rate * _pareto_mean(p))


@register_kl(Pareto, Gamma)
def _(p, q):
    result = _to_gamma(p, q, _pareto_mean(p), p.scale.log() + p.alpha.reciprocal())
    return torch.where(p.alpha <= 1, torch.inf, result)


register_kl(Beta, Gamma)(
    lambda p, q: _to_gamma(p, q, p.mean, p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma())
)


def _uniform_mean_log(p):
    return (_xlogx(p.high) - _xlogx(p.low)) / (p.high - p.low) - 1


@register_kl(Uniform, Gamma)
def _(p, q):
    return torch.where(p.low < 0, torch.inf, _to_gamma(p, q, p.mean, _uniform_mean_log(p)))


@register_kl(Uniform, Pareto)
def _(p, q):
    result = -p.entropy() - q.alpha.log() - q.alpha * q.scale.log() + (q.alpha + 1) * _uniform_mean_log(p)
    return torch.where(p.low < q.scale, torch.inf, result)


@register_kl(Uniform, Gumbel)
def _(p, q):
    mean_exp = q.scale / (p.high - p.low) * ((-p.low / q.scale).exp() - (-p.high / q.scale).exp())
    return _to_gumbel(p, q, p.mean, mean_exp)


register_kl(Normal, Gumbel)(
    lambda p, q: _to_gumbel(p, q, p.mean, (0.5 * (p.scale / q.scale).pow(2) - p.loc / q.scale).exp())
)
register_kl(Exponential, Gumbel)(lambda p, q: _to_gumbel(p, q, p.mean, p.rate / (p.rate + q.scale.reciprocal())))
register_kl(Gamma, Gumbel)(
    lambda p, q: _to_gumbel(p, q, p.mean, (1 + (q.scale * p.rate).reciprocal()).pow(-p.concentration))
)


@register_kl(Normal, Laplace)
def _(p, q):
    d = p.loc - q.loc
    distance = p.scale * math.sqrt(2 / math.pi) * (-0.5 * (d / p.scale).pow(2)).exp() + d * torch.erf(
        d / (p.scale * math.sqrt(2))
    )
    return -p.entropy() + (2 * q.scale).log() + distance / q.scale


def _disjoint(kinds_p, kinds_q, of):
    """Supports that do not fit: the divergence is infinite."""
    for kp in kinds_p:
        for kq in kinds_q:
            register_kl(kp, kq)(lambda p, q: _inf(getattr(p, of)))


_disjoint([Exponential], [Beta, ContinuousBernoulli, Pareto, Uniform], "rate")
_disjoint([Gamma], [Beta, ContinuousBernoulli, Pareto, Uniform], "concentration")
_disjoint([Normal, Laplace, Gumbel], [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform], "loc")
_disjoint([Pareto], [Beta, ContinuousBernoulli, Uniform], "scale")
_disjoint([ContinuousBernoulli], [Pareto], "probs")
_disjoint([Poisson], [Bernoulli, Binomial], "rate")
_disjoint([Beta], [Pareto], "concentration1")


@register_kl(Bernoulli, Poisson)
def _(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


def _to_continuous_bernoulli(p, q):
    return -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm()


register_kl(Beta, ContinuousBernoulli)(_to_continuous_bernoulli)


@register_kl(Uniform, ContinuousBernoulli)
def _(p, q):
    outside = (p.high >= q.support.upper_bound) | (p.low <= q.support.lower_bound)
    return torch.where(outside, torch.inf, _to_continuous_bernoulli(p, q))


@register_kl(ContinuousBernoulli, Exponential)
def _(p, q):
    return -p.entropy() - torch.log(q.rate) + q.rate * p.mean


@register_kl(ContinuousBernoulli, Normal)
def _(p, q):
    log_scale = 0.5 * (math.log(2.0 * math.pi) + torch.square(q.loc / q.scale)) + torch.log(q.scale)
    square = p.variance + torch.square(p.mean) - 2.0 * q.loc * p.mean
    return -p.entropy() + log_scale + square / (2.0 * torch.square(q.scale))


@register_kl(ContinuousBernoulli, Uniform)
def _(p, q):
    outside = (q.low >= p.support.lower_bound) | (q.high <= p.support.upper_bound)
    return torch.where(outside, torch.inf, -p.entropy() + (q.high - q.low).log())
