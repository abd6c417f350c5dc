"""The Wishart distribution."""

import math
import warnings

import torchlite as torch

from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import _precision_to_scale_tril
from .utils import _is_number, lazy_property

__all__ = ["Wishart"]


def _mvdigamma(x, p):
    """Derivative of mvlgamma."""
    return torch.digamma(x.unsqueeze(-1) - torch.arange(p, dtype=x.dtype, device=x.device).div(2)).sum(-1)


class Wishart(ExponentialFamily):
    """Sums of `df` outer products of normal vectors, whose covariance is given as one of: covariance matrix,
    precision matrix, Cholesky factor `scale_tril` of the covariance. Samples are drawn by Bartlett's decomposition."""

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _params = {"df": 0, "covariance_matrix": 2, "scale_tril": 2, "precision_matrix": 2, "_unbroadcasted_scale_tril": 2}

    @property
    def arg_constraints(self):
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        given = {k: v for k, v in given.items() if v is not None}
        if len(given) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        shape = torch.Size(matrix.shape[:-2])
        if _is_number(df):
            self.df = torch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            shape = torch.broadcast_shapes(shape, df.shape)
            self.df = df.expand(shape)
        size = matrix.shape[-1]
        if self.df.le(size - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        setattr(self, name, matrix.expand(tuple(shape) + (-1, -1)))
        if self.df.lt(size).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(shape, matrix.shape[-2:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)
        self._draw_from(shape)

    def _draw_from(self, batch_shape):
        """Makes the distribution of the squared diagonal of Bartlett's factor."""
        tril = self._unbroadcasted_scale_tril
        rows = torch.arange(tril.shape[-1], dtype=tril.dtype, device=tril.device)
        self._batch_dims = [-(d + 1) for d in range(len(batch_shape))]
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - rows.expand(tuple(batch_shape) + (-1,)))

    def _expanded(self, old, batch_shape):
        self._draw_from(batch_shape)

    def _full(self, matrix):
        return matrix.expand(tuple(self._batch_shape) + tuple(self._event_shape))

    @lazy_property
    def scale_tril(self):
        """Cholesky factor of the covariance."""
        return self._full(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """Covariance matrix."""
        return self._full(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self):
        """Inverse of the covariance matrix."""
        tril = self._unbroadcasted_scale_tril
        return self._full(torch.cholesky_solve(torch.eye(tril.shape[-1], dtype=tril.dtype, device=tril.device), tril))

    def _per_matrix(self, x):
        return x.view(tuple(self._batch_shape) + (1, 1))

    @property
    def mean(self):
        return self._per_matrix(self.df) * self.covariance_matrix

    @property
    def mode(self):
        factor = self.df - self._event_shape[-1] - 1
        factor = torch.where(factor <= 0, torch.nan, factor)
        return self._per_matrix(factor) * self.covariance_matrix

    @property
    def variance(self):
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self._per_matrix(self.df) * (v.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett(self, sample_shape):
        p = self._event_shape[-1]
        eps = torch.finfo(self._unbroadcasted_scale_tril.dtype).eps
        noise = self._dist_chi2.rsample(sample_shape).sqrt().clamp(min=eps).diag_embed(dim1=-2, dim2=-1)
        rows, columns = torch.tril_indices(p, p, offset=-1)
        shape = torch.Size(sample_shape) + self._batch_shape + (p * (p - 1) // 2,)
        noise[..., rows, columns] = torch.randn(shape, dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def _any(self, found):
        return found.amax(self._batch_dims) if self._batch_shape else found

    def rsample(self, sample_shape=torch.Size(), max_try_correction=10):
        """A sample that depends on the parameters; one that is singular is drawn again, so many times at most."""
        sample = self._bartlett(torch.Size(sample_shape))
        again = self._any(self.support.check(sample))  # those that are regular, as PyTorch has it
        if again.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
            for _ in range(10 if max_try_correction is None else max_try_correction):
                drawn = self._bartlett(again[again].shape)
                sample[again] = drawn
                again[again.clone()] = self._any(~self.support.check(drawn))
                if not again.any():
                    break
        return sample

    def _half_log_det(self):
        diagonal = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1)
        return self._event_shape[-1] * math.log(2) / 2 + diagonal.log().sum(-1)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        trace = torch.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        return (
            -nu * self._half_log_det()
            - torch.mvlgamma(nu / 2, p=p)
            + (nu - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet
            - trace / 2
        )

    def entropy(self):
        nu, p = self.df, self._event_shape[-1]
        return (
            (p + 1) * self._half_log_det()
            + torch.mvlgamma(nu / 2, p=p)
            - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p)
            + nu * p / 2
        )

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        p = self._event_shape[-1]
        return (y + (p + 1) / 2) * (-torch.linalg.slogdet(-2 * x).logabsdet + math.log(2) * p) + torch.mvlgamma(
            y + (p + 1) / 2, p=p
        )
