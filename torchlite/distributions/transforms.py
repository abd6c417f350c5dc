"""Invertible (and some other) transformations of random variables, with their log |det Jacobian|."""

import math
import weakref

import torchlite as torch

from ..nn import functional as F
from . import constraints
from ._structured import (
    CatTransform,
    CumulativeDistributionTransform,
    IndependentTransform,
    ReshapeTransform,
    StackTransform,
    CorrCholeskyTransform,
    StickBreakingTransform,
)
from ._transform import Transform, _clipped_sigmoid, _InverseTransform
from .utils import _sum_rightmost, broadcast_all

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "TanhTransform",
    "SoftmaxTransform",
    "StackTransform",
    "CorrCholeskyTransform",
    "StickBreakingTransform",
    "Transform",
    "identity_transform",
]


def _elementwise(
    name, doc, call, inverse, jacobian, domain=constraints.real, codomain=constraints.real, sign=+1, bijective=True
):
    """A class of transforms without parameters, equal to each other."""
    body = {
        "__doc__": doc,
        "__module__": __name__,
        "domain": domain,
        "codomain": codomain,
        "bijective": bijective,
        "__eq__": lambda self, other: type(other) is type(self),
        "__hash__": object.__hash__,
        "_call": lambda self, x: call(x),
        "_inverse": lambda self, y: inverse(y),
    }
    if sign:
        body["sign"] = sign
    if jacobian:
        body["log_abs_det_jacobian"] = lambda self, x, y: jacobian(x, y)
    return type(name, (Transform,), body)


def _logit(y):
    info = torch.finfo(y.dtype)
    y = y.clamp(min=info.tiny, max=1.0 - info.eps)
    return y.log() - (-y).log1p()


ExpTransform = _elementwise(
    "ExpTransform", "y = exp(x)", lambda x: x.exp(), lambda y: y.log(), lambda x, y: x, codomain=constraints.positive
)
SigmoidTransform = _elementwise(
    "SigmoidTransform",
    "y = 1 / (1 + exp(-x))",
    _clipped_sigmoid,
    _logit,
    lambda x, y: -F.softplus(-x) - F.softplus(x),
    codomain=constraints.unit_interval,
)
SoftplusTransform = _elementwise(
    "SoftplusTransform",
    "y = log(1 + exp(x))",
    lambda x: F.softplus(x),
    lambda y: (-y).expm1().neg().log() + y,
    lambda x, y: -F.softplus(-x),
    codomain=constraints.positive,
)
TanhTransform = _elementwise(
    "TanhTransform",
    "y = tanh(x)",
    lambda x: x.tanh(),
    lambda y: torch.atanh(y),
    lambda x, y: 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x)),
    codomain=constraints.interval(-1.0, 1.0),
)
AbsTransform = _elementwise(
    "AbsTransform",
    "y = |x|",
    lambda x: x.abs(),
    lambda y: y,
    None,
    codomain=constraints.positive,
    sign=0,
    bijective=False,
)
LowerCholeskyTransform = _elementwise(
    "LowerCholeskyTransform",
    "Any square matrix to a lower triangular one with positive diagonal.",
    lambda x: x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed(),
    lambda y: y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed(),
    None,
    constraints.independent(constraints.real, 2),
    constraints.lower_cholesky,
    0,
    False,
)
PositiveDefiniteTransform = _elementwise(
    "PositiveDefiniteTransform",
    "Any square matrix to a positive definite one.",
    lambda x: (lambda low: low @ low.mT)(LowerCholeskyTransform()(x)),
    lambda y: LowerCholeskyTransform().inv(torch.linalg.cholesky(y)),
    None,
    constraints.independent(constraints.real, 2),
    constraints.positive_definite,
    0,
    False,
)
SoftmaxTransform = _elementwise(
    "SoftmaxTransform",
    "y = softmax(x); not one to one",
    lambda x: (lambda p: p / p.sum(-1, True))((x - x.max(-1, True)[0]).exp()),
    lambda y: y.log(),
    None,
    constraints.real_vector,
    constraints.simplex,
    0,
    False,
)


class ComposeTransform(Transform):
    """Transforms one after another."""

    def __init__(self, parts, cache_size=0):
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        if not self.parts:
            return constraints.real
        domain = self.parts[0].domain
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim += part.domain.event_dim - part.codomain.event_dim
            event_dim = max(event_dim, part.domain.event_dim)
        return constraints.independent(domain, event_dim - domain.event_dim) if event_dim > domain.event_dim else domain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        if not self.parts:
            return constraints.real
        codomain = self.parts[-1].codomain
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim += part.codomain.event_dim - part.domain.event_dim
            event_dim = max(event_dim, part.codomain.event_dim)
        return (
            constraints.independent(codomain, event_dim - codomain.event_dim)
            if event_dim > codomain.event_dim
            else codomain
        )

    bijective = property(lambda self: all(p.bijective for p in self.parts))
    sign = property(lambda self: math.prod(p.sign for p in self.parts))

    @property
    def inv(self):
        inv = self._inv() if self._inv is not None else None
        if inv is None:
            inv = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv, inv._inv = weakref.ref(inv), weakref.ref(self)
        return inv

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return torch.zeros_like(x)
        xs = [x]
        for part in self.parts[:-1]:
            xs.append(part(xs[-1]))
        xs.append(y)
        total, event_dim = 0, self.domain.event_dim
        for part, a, b in zip(self.parts, xs[:-1], xs[1:]):
            total = total + _sum_rightmost(part.log_abs_det_jacobian(a, b), event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        return self.__class__.__name__ + "(\n    " + ",\n    ".join(repr(p) for p in self.parts) + "\n)"


identity_transform = ComposeTransform([])


class AffineTransform(Transform):
    """y = loc + scale x"""

    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    event_dim = property(lambda self: self._event_dim)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    codomain = domain

    def with_cache(self, cache_size=1):
        return (
            self
            if self._cache_size == cache_size
            else AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)
        )

    def __eq__(self, other):
        def same(a, b):
            return a is b or bool(torch.as_tensor(a).eq(torch.as_tensor(b)).all())

        return isinstance(other, AffineTransform) and same(self.loc, other.loc) and same(self.scale, other.scale)

    __hash__ = object.__hash__

    @property
    def sign(self):
        if isinstance(self.scale, torch.Tensor):
            return self.scale.sign()
        if self.scale > 0:
            return 1
        if self.scale < 0:
            return -1
        return 0

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        shape = x.shape
        if isinstance(self.scale, torch.Tensor):
            result = torch.abs(self.scale).log()
        else:
            result = torch.full_like(x, math.log(abs(self.scale)))
        if self.event_dim:
            result = result.view(tuple(result.size()[: -self.event_dim]) + (-1,)).sum(-1)
            shape = shape[: -self.event_dim]
        return result.expand(shape)

    def forward_shape(self, shape):
        return torch.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class PowerTransform(Transform):
    """y = x ** exponent, for positive x"""

    domain = codomain = constraints.positive
    bijective = True

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size=cache_size)

    sign = property(lambda self: self.exponent.sign())

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    __hash__ = object.__hash__

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return torch.broadcast_shapes(shape, getattr(self.exponent, "shape", ()))

    inverse_shape = forward_shape


for _class in (
    Transform,
    _InverseTransform,
    CatTransform,
    CumulativeDistributionTransform,
    IndependentTransform,
    ReshapeTransform,
    StackTransform,
    StickBreakingTransform,
):
    _class.__module__ = __name__  # where PyTorch's pickles look for them
del _class


from .._core import absent as _absent

__getattr__ = _absent.of(__name__)
