"""The von Mises distribution."""

import math

import torchlite as torch

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


def _rejection_sample(loc, concentration, proposal_r, x):
    """Draws by rejection from a wrapped Cauchy distribution."""
    done = torch.zeros(x.shape, dtype=torch.bool, device=loc.device)
    while not done.all():
        u1, u2, u3 = torch.rand((3,) + tuple(x.shape), dtype=loc.dtype, device=loc.device).unbind()
        z = torch.cos(math.pi * u1)
        f = (1 + proposal_r * z) / (proposal_r + z)
        c = concentration * (proposal_r - f)
        accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
        if accept.any():
            x = torch.where(accept, (u3 - 0.5).sign() * f.acos(), x)
            done = done | accept
    return (x + math.pi + loc) % (2 * math.pi) - math.pi


class VonMises(Distribution):
    """Angles around `loc`; `concentration` is the inverse of a variance."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _params = {"loc": 0, "concentration": 0}

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, torch.Size(), validate_args)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        k = self.concentration
        return k * torch.cos(value - self.loc) - math.log(2 * math.pi) - (torch.special.i0e(k).log() + k)

    @lazy_property
    def _proposal_r(self):
        k = self.concentration.to(torch.double)
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        return torch.where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            if self.loc.device.type == "webgpu":  # which has no float64
                return VonMises(self.loc.cpu(), self.concentration.cpu()).sample(sample_shape).to(self.loc.device)
            loc = self.loc.to(torch.double)
            x = torch.empty(self._extended_shape(sample_shape), dtype=torch.double, device=loc.device)
            return _rejection_sample(loc, self.concentration.to(torch.double), self._proposal_r, x).to(self.loc.dtype)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        """The circular variance."""
        return 1 - torch.special.i1e(self.concentration) / torch.special.i0e(self.concentration)
