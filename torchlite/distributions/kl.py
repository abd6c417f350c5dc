"""Kullback-Leibler divergences, chosen by the classes of the two distributions."""

import torchlite as torch

from . import _kl_cross  # noqa: F401
from ._kl_registry import _KL_REGISTRY, kl_divergence, register_kl  # noqa: F401
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant

__all__ = ["register_kl", "kl_divergence"]


@register_kl(Bernoulli, Bernoulli)
def _(p, q):
    soft = torch.nn.functional.softplus
    t1 = p.probs * (soft(-q.logits) - soft(-p.logits))
    t1[q.probs == 0] = torch.inf
    t1[p.probs == 0] = 0
    t2 = (1 - p.probs) * (soft(q.logits) - soft(p.logits))
    t2[q.probs == 1] = torch.inf
    t2[p.probs == 1] = 0
    return t1 + t2


@register_kl(Beta, Beta)
def _(p, q):
    sum_p, sum_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    t1 = q.concentration1.lgamma() + q.concentration0.lgamma() + sum_p.lgamma()
    t2 = p.concentration1.lgamma() + p.concentration0.lgamma() + sum_q.lgamma()
    t3 = (p.concentration1 - q.concentration1) * torch.digamma(p.concentration1)
    t4 = (p.concentration0 - q.concentration0) * torch.digamma(p.concentration0)
    return t1 - t2 + t3 + t4 + (sum_q - sum_p) * torch.digamma(sum_p)


@register_kl(Binomial, Binomial)
def _(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    more = (p.total_count > q.total_count).expand(kl.shape)
    return torch.where(more, torch.inf, kl)


@register_kl(Categorical, Categorical)
def _(p, q):
    t = p.probs * (p.logits - q.logits)
    t[(q.probs == 0).expand_as(t)] = torch.inf
    t[(p.probs == 0).expand_as(t)] = 0
    return t.sum(-1)


@register_kl(Dirichlet, Dirichlet)
def _(p, q):
    sum_p, sum_q = p.concentration.sum(-1), q.concentration.sum(-1)
    t1 = sum_p.lgamma() - sum_q.lgamma()
    t2 = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    t3 = p.concentration - q.concentration
    return t1 - t2 + (t3 * (p.concentration.digamma() - sum_p.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Exponential)
def _(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman "
            "divergences"
        )
    p_nparams = [np.detach().requires_grad_() for np in p._natural_params]
    lg = p._log_normalizer(*p_nparams)
    gradients = torch.autograd.grad(lg.sum(), p_nparams, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - lg
    for pnp, qnp, g in zip(p_nparams, q._natural_params, gradients):
        result = result - _sum_rightmost((qnp - pnp) * g, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _(p, q):
    t1 = q.concentration * (p.rate / q.rate).log()
    t2 = torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
    t3 = (p.concentration - q.concentration) * torch.digamma(p.concentration)
    return t1 + t2 + t3 + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Gumbel, Gumbel)
def _(p, q):
    ct1 = p.scale / q.scale
    ct2, ct3 = q.loc / q.scale, p.loc / q.scale
    t2, t3 = ct1 * euler_constant, torch.exp(ct2 + (1 + ct1).lgamma() - ct3)
    return -ct1.log() - ct2 + ct3 + t2 + t3 - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _(p, q):
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


def _normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


register_kl(Normal, Normal)(_normal)
register_kl(HalfNormal, HalfNormal)(lambda p, q: _normal(p.base_dist, q.base_dist))
register_kl(OneHotCategorical, OneHotCategorical)(lambda p, q: kl_divergence(p._categorical, q._categorical))


@register_kl(Laplace, Laplace)
def _(p, q):
    ratio, diff = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + diff / q.scale + ratio * torch.exp(-diff / p.scale) - 1


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _(p, q):
    def log_base(d):
        return d._cont_bern_log_norm() + torch.log1p(-d.probs)

    return p.mean * (p.logits - q.logits) + log_base(p) - log_base(q)


_SHAPES = "KL-divergence between two %s with                              different event shapes cannot be computed"


def _squares(m):
    return m.pow(2).sum((-2, -1))


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(_SHAPES % "Low Rank Multivariate Normals")
    w, d = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    a, q_diag = q._half_inverse(), q._unbroadcasted_cov_diag
    # the trace of (D_q^-1 - A^T A) (D_p + W_p W_p^T)
    trace = (d / q_diag).sum(-1) + _squares(w * q_diag.rsqrt().unsqueeze(-1))
    trace = trace - _squares(a * d.sqrt().unsqueeze(-2)) - _squares(a.matmul(w))
    return 0.5 * (q._log_det() - p._log_det() + trace + q._distance(q.loc - p.loc) - p.event_shape[0])


def _log_det(tril):
    return 2 * tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(_SHAPES % "(Low Rank) Multivariate Normals")
    tril = p._unbroadcasted_scale_tril
    trace = _squares(tril * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)) - _squares(q._half_inverse().matmul(tril))
    return 0.5 * (q._log_det() - _log_det(tril) + trace + q._distance(q.loc - p.loc) - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(_SHAPES % "(Low Rank) Multivariate Normals")
    tril, w = q._unbroadcasted_scale_tril, p._unbroadcasted_cov_factor
    shape, n = tuple(torch.broadcast_shapes(tril.shape[:-2], w.shape[:-2])), p.event_shape[0]
    parts = (w, torch.diag_embed(p._unbroadcasted_cov_diag.sqrt()))
    trace = sum(
        _squares(
            torch.linalg.solve_triangular(tril.expand(shape + (n, n)), m.expand(shape + (n, m.shape[-1])), upper=False)
        )
        for m in parts
    )
    distance = _batch_mahalanobis(tril, q.loc - p.loc)
    return 0.5 * (_log_det(tril) - p._log_det() + trace + distance - n)


@register_kl(MultivariateNormal, MultivariateNormal)
def _(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with                          different event shapes "
            "cannot be computed"
        )
    p_tril, q_tril = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    half1 = q_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) - p_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    shape = tuple(torch.broadcast_shapes(q_tril.shape[:-2], p_tril.shape[:-2]))
    n = p.event_shape[0]
    m = torch.linalg.solve_triangular(q_tril.expand(shape + (n, n)), p_tril.expand(shape + (n, n)), upper=False)
    t2 = m.pow(2).sum((-2, -1))
    t3 = _batch_mahalanobis(q_tril, q.loc - p.loc)
    return half1 + 0.5 * (t2 + t3 - n)


@register_kl(Pareto, Pareto)
def _(p, q):
    ratio, alpha = p.scale / q.scale, q.alpha / p.alpha
    result = q.alpha * ratio.log() - alpha.log() + alpha - 1
    result[p.support.lower_bound < q.support.lower_bound] = torch.inf
    return result


@register_kl(Poisson, Poisson)
def _(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    n = len(p.event_shape) - len(p.base_dist.event_shape)
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), n)


@register_kl(Uniform, Uniform)
def _(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    result[(q.low > p.low) | (q.high < p.high)] = torch.inf
    return result


@register_kl(Independent, Independent)
def _(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Cauchy, Cauchy)
def _(p, q):
    t1 = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return t1 - (4 * p.scale * q.scale).log()
