"""Sets that parameters and values of distributions belong to."""

import torchlite as torch

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


TYPE_CHECKING = False


class Constraint:
    """A set of values; check(value) tells for each value whether it belongs."""

    if TYPE_CHECKING:  # some classes say it by a property

        @property
        def is_discrete(self) -> bool: ...
        @property
        def event_dim(self) -> int: ...

    else:
        is_discrete = False
        event_dim = 0

    def check(self, value):
        """A boolean tensor: which values belong."""
        raise NotImplementedError

    def __repr__(self):
        return self.__class__.__name__[1:] + "()"


class _Dependent(Constraint):
    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim
        super().__init__()

    @property
    def is_discrete(self):
        """Whether the values are separate points."""
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self):
        """Number of dims of one value."""
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x):
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint):
    """Whether the constraint depends on the other parameters."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn):  # type: ignore[override]  # as in PyTorch
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint)}")
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value):
        result = self.base_constraint.check(value)
        n = self.reinterpreted_batch_ndims
        if result.dim() < n:
            raise ValueError(f"Expected value.dim() >= {self.base_constraint.event_dim + n} but got {value.dim()}")
        return result.reshape(tuple(result.shape[: result.dim() - n]) + (-1,)).all(-1)

    def __repr__(self):
        return f"{self.__class__.__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture, from the support of its components."""

    def __init__(self, base_constraint):
        self.base_constraint = base_constraint

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim

    def check(self, value):
        n = self.event_dim
        result = self.base_constraint.check(value.unsqueeze(-1 - n))
        if value.dim() < n:
            raise ValueError(f"Expected value.dim() >= {n} but got {value.dim()}")
        return result.reshape(tuple(value.shape[: value.dim() - n]) + (-1,)).all(-1)

    def __repr__(self):
        return f"{self.__class__.__name__}({self.base_constraint!r})"


def _bounded(name, params, test, discrete=False):
    """A class of constraints with bounds."""

    def between(self, lower_bound, upper_bound):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def above(self, lower_bound):
        self.lower_bound = lower_bound

    def below(self, upper_bound):
        self.upper_bound = upper_bound

    made = {("lower_bound", "upper_bound"): between, ("lower_bound",): above, ("upper_bound",): below}

    def __repr__(self):
        return f"{name[1:]}({', '.join(f'{p}={getattr(self, p)}' for p in params)})"

    return type(
        name,
        (Constraint,),
        {
            "__init__": made[params],
            "__repr__": __repr__,
            "is_discrete": discrete,
            "__module__": __name__,
            "__doc__": f"Values bounded by {' and '.join(params)}.",
            "check": test,
        },
    )


def _simple(name, test, event_dim=0, discrete=False):
    """A class of constraints without parameters."""
    return type(
        name,
        (Constraint,),
        {
            "check": test,
            "event_dim": event_dim,
            "is_discrete": discrete,
            "__module__": __name__,
            "__doc__": f"{name[1:]} values.",
        },
    )


_Boolean = _simple("_Boolean", lambda self, v: (v == 0) | (v == 1), discrete=True)
_OneHot = _simple("_OneHot", lambda self, v: ((v == 0) | (v == 1)).all(-1) & v.sum(-1).eq(1), 1, True)
_IntegerInterval = _bounded(
    "_IntegerInterval",
    ("lower_bound", "upper_bound"),
    lambda self, v: (v % 1 == 0) & (self.lower_bound <= v) & (v <= self.upper_bound),
    True,
)
_IntegerLessThan = _bounded(
    "_IntegerLessThan", ("upper_bound",), lambda self, v: (v % 1 == 0) & (v <= self.upper_bound), True
)
_IntegerGreaterThan = _bounded(
    "_IntegerGreaterThan", ("lower_bound",), lambda self, v: (v % 1 == 0) & (v >= self.lower_bound), True
)
_Real = _simple("_Real", lambda self, v: v == v)
_GreaterThan = _bounded("_GreaterThan", ("lower_bound",), lambda self, v: self.lower_bound < v)
_GreaterThanEq = _bounded("_GreaterThanEq", ("lower_bound",), lambda self, v: self.lower_bound <= v)
_LessThan = _bounded("_LessThan", ("upper_bound",), lambda self, v: v < self.upper_bound)
_Interval = _bounded(
    "_Interval", ("lower_bound", "upper_bound"), lambda self, v: (self.lower_bound <= v) & (v <= self.upper_bound)
)
_HalfOpenInterval = _bounded(
    "_HalfOpenInterval",
    ("lower_bound", "upper_bound"),
    lambda self, v: (self.lower_bound <= v) & (v < self.upper_bound),
)
_Simplex = _simple("_Simplex", lambda self, v: torch.all(v >= 0, dim=-1) & ((v.sum(-1) - 1).abs() < 1e-6), 1)
_LowerTriangular = _simple("_LowerTriangular", lambda self, v: (v.tril() == v).flatten(-2).all(-1), 2)
_LowerCholesky = _simple(
    "_LowerCholesky",
    lambda self, v: (v.tril() == v).flatten(-2).all(-1) & (v.diagonal(dim1=-2, dim2=-1) > 0).all(-1),
    2,
)


class _Multinomial(Constraint):
    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, x):
        return (x >= 0).all(dim=-1) & (x.sum(dim=-1) <= self.upper_bound)


class _CorrCholesky(Constraint):
    event_dim = 2

    def check(self, value):
        tol = torch.finfo(value.dtype).eps * value.size(-1) * 10
        unit = (torch.linalg.norm(value.detach(), dim=-1) - 1).abs().le(tol).all(dim=-1)
        return _LowerCholesky().check(value) & unit


class _Square(Constraint):
    """Square values."""

    event_dim = 2

    def check(self, value):
        same = value.shape[-2] == value.shape[-1]
        return torch.full(value.shape[:-2], same, dtype=torch.bool, device=value.device)


class _Symmetric(_Square):
    def check(self, value):
        square = super().check(value)
        return square if not square.all() else torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value):
        sym = super().check(value)
        return sym if not sym.all() else torch.linalg.eigvalsh(value).ge(0).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value):
        sym = super().check(value)
        return sym if not sym.all() else torch.linalg.cholesky_ex(value).info.eq(0)


class _Cat(Constraint):
    def __init__(self, cseq, dim=0, lengths=None):
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)

    @property
    def is_discrete(self):
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self):
        return max(c.event_dim for c in self.cseq)

    def check(self, value):
        return torch.cat([c.check(v) for c, v in zip(self.cseq, value.split(self.lengths, self.dim))], self.dim)


class _Stack(Constraint):
    def __init__(self, cseq, dim=0):
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self):
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self):
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value):
        return torch.stack([c.check(v) for c, v in zip(self.cseq, value.unbind(self.dim))], self.dim)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean, one_hot, nonnegative_integer, positive_integer = (
    _Boolean(),
    _OneHot(),
    _IntegerGreaterThan(0),
    _IntegerGreaterThan(1),
)
integer_interval, real, positive, nonnegative = _IntegerInterval, _Real(), _GreaterThan(0.0), _GreaterThanEq(0.0)
real_vector = independent(real, 1)
greater_than, greater_than_eq, less_than, multinomial = _GreaterThan, _GreaterThanEq, _LessThan, _Multinomial
unit_interval, interval, half_open_interval = _Interval(0.0, 1.0), _Interval, _HalfOpenInterval
simplex, lower_triangular, lower_cholesky, corr_cholesky = (
    _Simplex(),
    _LowerTriangular(),
    _LowerCholesky(),
    _CorrCholesky(),
)
square, symmetric, positive_semidefinite, positive_definite = (
    _Square(),
    _Symmetric(),
    _PositiveSemidefinite(),
    _PositiveDefinite(),
)
cat, stack = _Cat, _Stack
