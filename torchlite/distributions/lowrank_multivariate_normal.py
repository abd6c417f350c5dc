"""The multivariate normal distribution with a covariance of low rank and a diagonal."""

import math

import torchlite as torch

from . import constraints
from .distribution import Distribution
from .multivariate_normal import _batch_mahalanobis, _batch_mv
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _plus_identity(m):
    """The Cholesky factor of m + I."""
    return torch.linalg.cholesky(m + torch.eye(m.shape[-1], dtype=m.dtype, device=m.device))


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of mean `loc` and covariance `cov_factor` `cov_factor`^T + diag(`cov_diag`).

    Determinant and inverse come from the small matrix I + W^T D^-1 W (Woodbury's identity)."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _params = {"loc": 1, "cov_factor": 2, "cov_diag": 1}

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        columns = loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1)
        try:
            of_loc, self.cov_factor, of_diag = torch.broadcast_tensors(*columns)
        except RuntimeError as e:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from e
        self.loc, self.cov_diag = of_loc[..., 0], of_diag[..., 0]
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _plus_identity(torch.matmul(self._weighted_factor(), cov_factor))
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    def _expanded(self, old, batch_shape):
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(self, name, getattr(old, name))

    def _weighted_factor(self):
        """W^T D^-1."""
        return self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)

    def _log_det(self):
        """Logarithm of the determinant of the covariance."""
        small = self._capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return 2 * small + self._unbroadcasted_cov_diag.log().sum(-1)

    def _distance(self, x):
        """x^T covariance^-1 x."""
        direct = (x.pow(2) / self._unbroadcasted_cov_diag).sum(-1)
        return direct - _batch_mahalanobis(self._capacitance_tril, _batch_mv(self._weighted_factor(), x))

    def _half_inverse(self):
        """A such that the inverse of the covariance is D^-1 - A^T A."""
        return torch.linalg.solve_triangular(self._capacitance_tril, self._weighted_factor(), upper=False)

    def _matrix(self, m):
        return m.expand(tuple(self._batch_shape) + tuple(self._event_shape) * 2)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        """The diagonal of the covariance."""
        v = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return v.expand(tuple(self._batch_shape) + tuple(self._event_shape))

    @lazy_property
    def scale_tril(self):
        """Cholesky factor of the covariance, by that of I + D^-1/2 W W^T D^-1/2, which is well conditioned."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        w = self._unbroadcasted_cov_factor / root
        return self._matrix(root * _plus_identity(torch.matmul(w, w.mT)))

    @lazy_property
    def covariance_matrix(self):
        """Covariance matrix."""
        w = self._unbroadcasted_cov_factor
        return self._matrix(torch.matmul(w, w.mT) + torch.diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def precision_matrix(self):
        """Inverse of the covariance matrix."""
        a = self._half_inverse()
        return self._matrix(torch.diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - a.mT @ a)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        like = {"dtype": self.loc.dtype, "device": self.loc.device}
        common = _standard_normal(tuple(shape[:-1]) + tuple(self.cov_factor.shape[-1:]), **like)
        own = _standard_normal(shape, **like)
        return self.loc + _batch_mv(self._unbroadcasted_cov_factor, common) + self._unbroadcasted_cov_diag.sqrt() * own

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        distance = self._distance(value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance)

    def entropy(self):
        h = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return h if len(self._batch_shape) == 0 else h.expand(self._batch_shape)
