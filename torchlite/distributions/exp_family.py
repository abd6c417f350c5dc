"""Exponential families."""

import torchlite as torch

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Densities exp(<t(x), theta> - F(theta) + k(x)): entropy and KL divergence follow from F, the log-normaliser."""

    @property
    def _natural_params(self):
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError

    def entropy(self):
        """The entropy, by the gradient of the log-normaliser (Bregman divergence)."""
        result = -self._mean_carrier_measure
        nparams = [p.detach().requires_grad_() for p in self._natural_params]
        lg = self._log_normalizer(*nparams)
        gradients = torch.autograd.grad(lg.sum(), nparams, create_graph=True)
        result += lg
        for np, g in zip(nparams, gradients):
            result -= (np * g).reshape(tuple(self._batch_shape) + (-1,)).sum(-1)
        return result
