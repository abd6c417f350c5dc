"""The generalized Pareto distribution."""

import torchlite as torch

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """What exceeds a high threshold `loc`, in units of `scale`: exponential where `concentration` is 0, with a heavy
    tail above, bounded below."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _params = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def _limit(self):
        """(where the distribution is the exponential one, the concentration or 1 there)."""
        zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return zero, torch.where(zero, torch.ones_like(self.concentration), self.concentration)

    def _z(self, x):
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        zero, c = self._limit()
        power = 1 / c + torch.ones_like(z)
        decay = torch.where(power == 0, power, power * torch.log1p(c * z))
        return -self.scale.log() - torch.where(zero, z, decay)

    def log_survival_function(self, value):
        """Logarithm of the probability of more than `value`."""
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        zero, c = self._limit()
        return torch.where(zero, -z, -torch.log1p(c * z) / c)

    def log_cdf(self, value):
        """Logarithm of the probability of at most `value`."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value):
        return torch.exp(self.log_cdf(value))

    def icdf(self, value):
        zero, c = self._limit()
        log_above = torch.log1p(-value)
        return torch.where(
            zero, self.loc - self.scale * log_above, self.loc + self.scale / c * torch.expm1(-c * log_above)
        )

    @property
    def mean(self):
        exists = self.concentration < 1
        c = torch.where(exists, self.concentration, 0.5)
        return torch.where(exists, self.loc + self.scale / (1 - c), torch.nan)

    @property
    def variance(self):
        exists = self.concentration < 0.5
        c = torch.where(exists, self.concentration, 0.25)
        return torch.where(exists, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), torch.nan)

    @property
    def mode(self):
        return self.loc

    def entropy(self):
        return torch.broadcast_to(torch.log(self.scale) + self.concentration + 1, self._batch_shape)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        end = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, torch.inf)
        return constraints.interval(self.loc, end)
