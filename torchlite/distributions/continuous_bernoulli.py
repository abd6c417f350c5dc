"""The continuous Bernoulli distribution."""

import math

import torchlite as torch

from . import constraints
from ..nn.functional import binary_cross_entropy_with_logits
from .exp_family import ExponentialFamily
from .utils import ProbsOrLogits, broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """Density proportional to probs^x (1 - probs)^(1 - x) on [0, 1] (Loaiza-Ganem and Cunningham, 2019).

    Its formulas divide by 1 - 2 probs. Where `probs` is between the two `lims` they are replaced by their Taylor
    series around 1/2."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _binary = True
    _params = {"probs": 0, "logits": 0}

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        self._take(probs, logits)
        self._lims = lims
        if probs is not None:
            self._is_given = "probs"
            (given,) = broadcast_all(probs)
            if validate_args is not None and not self.arg_constraints["probs"].check(given).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(given)
        else:
            self._is_given = "logits"
            (self.logits,) = broadcast_all(logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def _expanded(self, old, batch_shape):
        super()._expanded(old, batch_shape)
        self._lims = old._lims

    @lazy_property
    def probs(self):
        """Probabilities, kept away from 0 and 1."""
        return clamp_probs(logits_to_probs(self.logits, True))

    def _far(self):
        """Whether the closed formulas are stable."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _apart(self):
        """`probs`, or a value for which the closed formulas are stable, where they are not used."""
        return torch.where(self._far(), self.probs, self._lims[0] * torch.ones_like(self.probs))

    def _cont_bern_log_norm(self):
        p = self._apart()
        below = torch.where(p <= 0.5, p, torch.zeros_like(p))
        above = torch.where(p >= 0.5, p, torch.ones_like(p))
        closed = torch.log(torch.abs(torch.log1p(-p) - torch.log(p))) - torch.where(
            p <= 0.5, torch.log1p(-2.0 * below), torch.log(2.0 * above - 1.0)
        )
        square = torch.pow(self.probs - 0.5, 2)
        return torch.where(self._far(), closed, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * square) * square)

    @property
    def mean(self):
        p, d = self._apart(), self.probs - 0.5
        closed = p / (2.0 * p - 1.0) + 1.0 / (torch.log1p(-p) - torch.log(p))
        return torch.where(self._far(), closed, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * torch.pow(d, 2)) * d)

    @property
    def stddev(self):
        return torch.sqrt(self.variance)

    @property
    def variance(self):
        p, square = self._apart(), torch.pow(self.probs - 0.5, 2)
        closed = p * (p - 1.0) / torch.pow(1.0 - 2.0 * p, 2) + 1.0 / torch.pow(torch.log1p(-p) - torch.log(p), 2)
        return torch.where(self._far(), closed, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * square) * square)

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return self._cont_bern_log_norm() - binary_cross_entropy_with_logits(logits, value, reduction="none")

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        p = self._apart()
        closed = (torch.pow(p, value) * torch.pow(1.0 - p, 1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = torch.where(self._far(), closed, value)
        return torch.where(
            value <= 0.0, torch.zeros_like(value), torch.where(value >= 1.0, torch.ones_like(value), inside)
        )

    def icdf(self, value):
        p = self._apart()
        low = torch.log1p(-p)
        closed = (torch.log1p(-p + value * (2.0 * p - 1.0)) - low) / (torch.log(p) - low)
        return torch.where(self._far(), closed, value)

    def entropy(self):
        zero, one = torch.log1p(-self.probs), torch.log(self.probs)
        return self.mean * (zero - one) - self._cont_bern_log_norm() - zero

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        far = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        apart = torch.where(far, x, (self._lims[0] - 0.5) * torch.ones_like(x))
        closed = torch.log(torch.abs(torch.special.expm1(apart))) - torch.log(torch.abs(apart))
        return torch.where(far, closed, 0.5 * x + torch.pow(x, 2) / 24.0 - torch.pow(x, 4) / 2880.0)
