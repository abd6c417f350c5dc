"""The base of all distributions."""

import torchlite as torch

from . import constraints
from .utils import lazy_property

__all__ = ["Distribution"]

TYPE_CHECKING = False


class Distribution:
    """A random variable. `batch_shape` is the shape of the parameters, `event_shape` that of one draw."""

    if TYPE_CHECKING:  # some classes say it by a property

        @property
        def has_rsample(self) -> bool: ...
        @property
        def has_enumerate_support(self) -> bool: ...

    else:
        has_rsample = has_enumerate_support = False
    _validate_args = __debug__
    # name -> number of event dims, for distributions that expand() by expanding their parameters
    _params: dict[str, int] | None = None

    @staticmethod
    def set_default_validate_args(value):
        """Turns the checks of parameters and values on or off for new distributions."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=torch.Size(), event_shape=torch.Size(), validate_args=None):
        self._batch_shape, self._event_shape = torch.Size(batch_shape), torch.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self):
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            import warnings

            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                "initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue
            value = getattr(self, name)
            if not constraint.check(value)._is_all_true():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape, _instance=None):
        """The distribution with its batch dims expanded."""
        home = next((c for c in type(self).__mro__ if c.__dict__.get("_params")), None)
        if home is None:
            raise NotImplementedError
        new = self._get_checked_instance(home, _instance)
        batch_shape = torch.Size(batch_shape)
        for name, n in home._params.items():  # type: ignore[attr-defined]
            if name in self.__dict__:
                p = self.__dict__[name]
                setattr(new, name, p.expand(tuple(batch_shape) + tuple(p.shape[p.dim() - n :])))
        new._expanded(self, batch_shape)
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expanded(self, old, batch_shape):
        """Hook: whatever else a distribution keeps, after its parameters were expanded."""
        if "_is_given" in old.__dict__:
            self._is_given = old._is_given

    @property
    def batch_shape(self):
        """Shape over which the parameters are batched."""
        return self._batch_shape

    @property
    def event_shape(self):
        """Shape of a single draw."""
        return self._event_shape

    @property
    def arg_constraints(self):
        """Constraint of each parameter."""
        raise NotImplementedError

    @property
    def support(self):
        """Constraint of the values."""
        raise NotImplementedError

    @property
    def mean(self):
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self):
        """The mode."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self):
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape=torch.Size()):
        """Draws without gradient: sample_shape + batch_shape + event_shape."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=torch.Size()):
        """Draws through which gradients reach the parameters."""
        raise NotImplementedError

    def sample_n(self, n):
        """n draws."""
        import warnings

        warnings.warn("sample_n(n) will be deprecated. Use .sample((n,)) instead.", UserWarning, stacklevel=2)
        return self.sample(torch.Size((n,)))

    def log_prob(self, value):
        """Log of the density (or probability) at value."""
        raise NotImplementedError

    def cdf(self, value):
        """Cumulative distribution function at value."""
        raise NotImplementedError

    def icdf(self, value):
        """Inverse cumulative distribution function."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """All values of a discrete distribution, along a new first dim."""
        raise NotImplementedError

    def entropy(self):
        """The entropy in nats."""
        raise NotImplementedError

    def perplexity(self):
        """exp(entropy)"""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape=torch.Size()):
        return torch.Size(tuple(sample_shape) + tuple(self._batch_shape) + tuple(self._event_shape))

    def _enumerated(self, values, expand):
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values

    def _validate_sample(self, value):
        if not isinstance(value, torch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = value.dim() - len(self._event_shape)
        if tuple(value.shape[max(start, 0) :]) != tuple(self._event_shape):
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.size()} vs {self._event_shape}."
            )
        expected = torch.Size(tuple(self._batch_shape) + tuple(self._event_shape))
        for i, j in zip(reversed(value.size()), reversed(expected)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.size()} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            import warnings

            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. "
                "Please initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not support.check(value)._is_all_true():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method must "
                "also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self):
        shown = [k for k in self.arg_constraints if k in self.__dict__]
        values = (self.__dict__[k] for k in shown)
        return (
            self.__class__.__name__
            + "("
            + ", ".join(f"{k}: {v if v.numel() == 1 else v.size()}" for k, v in zip(shown, values))
            + ")"
        )
