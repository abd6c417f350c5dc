"""biject_to and transform_to: transforms from the real numbers into a constraint."""

from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Maps kinds of constraints to factories of transforms."""

    def __init__(self):
        self._registry = {}
        super().__init__()

    def register(self, constraint, factory=None):
        """Registers a factory for a constraint or its class; usable as a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint):
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()
_T = transforms


def _both(*kinds):
    def register(factory):
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return register


_both(constraints.real)(lambda c: _T.identity_transform)
_both(constraints.positive, constraints.nonnegative)(lambda c: _T.ExpTransform())
_both(constraints.greater_than, constraints.greater_than_eq)(
    lambda c: _T.ComposeTransform([_T.ExpTransform(), _T.AffineTransform(c.lower_bound, 1)])
)
_both(constraints.less_than)(lambda c: _T.ComposeTransform([_T.ExpTransform(), _T.AffineTransform(c.upper_bound, -1)]))
biject_to.register(constraints.simplex, lambda c: _T.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: _T.SoftmaxTransform())
_both(constraints.corr_cholesky)(lambda c: _T.CorrCholeskyTransform())
transform_to.register(constraints.lower_cholesky, lambda c: _T.LowerCholeskyTransform())
for _kind in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_kind, lambda c: _T.PositiveDefiniteTransform())


@_both(constraints.interval, constraints.half_open_interval)
def _interval(c):
    if (
        isinstance(c.lower_bound, (int, float))
        and c.lower_bound == 0
        and isinstance(c.upper_bound, (int, float))
        and c.upper_bound == 1
    ):
        return _T.SigmoidTransform()
    return _T.ComposeTransform(
        [_T.SigmoidTransform(), _T.AffineTransform(c.lower_bound, c.upper_bound - c.lower_bound)]
    )


def _register_composed(registry):
    @registry.register(constraints.independent)
    def independent(c):
        base = registry(c.base_constraint)
        return _T.IndependentTransform(base, c.reinterpreted_batch_ndims)

    @registry.register(constraints.cat)
    def cat(c):
        return _T.CatTransform([registry(part) for part in c.cseq], c.dim, c.lengths)

    @registry.register(constraints.stack)
    def stack(c):
        return _T.StackTransform([registry(part) for part in c.cseq], c.dim)


_register_composed(biject_to)
_register_composed(transform_to)
