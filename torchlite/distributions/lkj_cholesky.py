"""The distribution of Lewandowski, Kurowicka and Joe over Cholesky factors of correlation matrices."""

import math

import torchlite as torch

from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors L of correlation matrices of size `dim`, whose density is proportional to
    det(L L^T)^(concentration - 1) (Lewandowski, Kurowicka and Joe, 2009)."""

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _params = {"concentration": 0}

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # the squared length of each row's part below the diagonal, as the onion method draws them
        below = torch.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        below = torch.cat([below.new_zeros((1,)), below])
        self._beta = Beta(below + 0.5, (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * below)
        super().__init__(self.concentration.size(), torch.Size((dim, dim)), validate_args)

    def _expanded(self, old, batch_shape):
        self.dim = old.dim
        self._beta = old._beta.expand(tuple(batch_shape) + (old.dim,))

    def sample(self, sample_shape=torch.Size()):
        square = self._beta.sample(sample_shape).unsqueeze(-1)
        shape = self._extended_shape(sample_shape)
        directions = torch.randn(shape, dtype=square.dtype, device=square.device).tril(-1)
        directions = directions / directions.norm(dim=-1, keepdim=True)
        directions[..., 0, :].fill_(0.0)  # the first row has no direction
        w = torch.sqrt(square) * directions
        rest = torch.clamp(1 - torch.sum(w**2, dim=-1), min=torch.finfo(w.dtype).tiny)
        return w + torch.diag_embed(rest.sqrt())

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logs = value.diagonal(dim1=-1, dim2=-2)[..., 1:].log()
        order = torch.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        rows = self.dim - 1
        alpha = self.concentration + 0.5 * rows
        log_norm = 0.5 * rows * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, rows) - torch.lgamma(alpha) * rows
        return torch.sum(order * logs, dim=-1) - log_norm
