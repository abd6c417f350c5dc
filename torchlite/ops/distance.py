"""Distances and similarities of vectors."""

import math

import torchlite as torch
from .._core.errors import not_implemented
from ._declare import op, python
from ._out import EXACT, Out


@op("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", samples=lambda t: [(t(3, 4), t(3, 4)), (t(3, 4), t(4), 1)])
def dist(self, other, p=2):
    """The p-norm of self - other."""
    apart = self - other
    if not (apart.is_floating_point() or apart.is_complex()):
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {apart.dtype._scalar_type} instead."
        )
    return torch.linalg.vector_norm(apart, p)


@op(
    "pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False) -> Tensor",
    variants="function",
    samples=lambda t: [(t(3, 4), t(3, 4)), (t(3, 4), t(4), 1.0)],
)
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norms of x1 - x2 + eps along the last dim."""
    return torch.linalg.vector_norm(x1 - x2 + eps, p, max(x1.dim(), x2.dim()) - 1, keepdim)


@op(
    "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
    variants="function",
    samples=lambda t: [(t(3, 4), t(3, 4)), (t(3, 4), t(4), -1)],
)
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along `dim`."""
    common = torch.promote_types(x1.dtype, x2.dtype)
    if not common.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {common._scalar_type}")
    x1, x2 = torch.broadcast_tensors(*(x if x.dtype.is_floating_point else x.to(common) for x in (x1, x2)))

    def unit(x):  # in its own dtype: `eps` is 0 as a half
        norm = torch.linalg.vector_norm(x, 2, dim, True).clone()
        with torch.no_grad():  # the gradient is the norm's where it is below eps, too
            norm.clamp_min_(eps)
        return x / norm

    return (unit(x1) * unit(x2)).sum(dim)


def _root_of_squares(square):
    """The square root, with gradient 0 where it is 0."""
    zero = square == 0
    return torch.where(zero, 1, square).sqrt().masked_fill(zero, 0)


def _norms(d, p):
    """p-norms along the last dim, with gradient 0 at 0."""
    if p == 2:
        return _root_of_squares((d * d).sum(-1))
    if p == 0:  # the gradient is 0, not missing
        return torch.where(d != 0, 1, d * 0).sum(-1)
    return torch.linalg.vector_norm(d, p, -1)


@op(
    "_cdist(Tensor x1, Tensor x2, float p=2, int? compute_mode=None) -> Tensor",
    variants="function",
    samples=lambda t: [(t(3, 4), t(5, 4))],
)
def _cdist(x1, x2, p=2.0, compute_mode=None):
    """The p-norm distances of each row of x1 to each row of x2."""
    if x1.dim() < 2 or x2.dim() < 2:
        which, d = ("X1", x1.dim()) if x1.dim() < 2 else ("X2", x2.dim())
        raise RuntimeError(f"cdist only supports at least 2D tensors, {which} got: {d}D")
    for which, x in (("X1", x1), ("X2", x2)):
        if not x.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, {which} got: {x.dtype._scalar_type}")
    if x1.size(-1) != x2.size(-1):
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.size(-1)} X2: {x2.size(-1)}")
    if not p >= 0:  # NaN, too
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode is not None and not 0 <= compute_mode <= 2:
        raise RuntimeError(f"possible modes: 0, 1, 2, but was: {compute_mode}")
    r1, r2 = x1.size(-2), x2.size(-2)
    if p == 2 and (compute_mode == 1 or (not compute_mode and (r1 > 25 or r2 > 25))):
        a, b = (x1 * x1).sum(-1, True), (x2 * x2).sum(-1, True)
        square = a + b.transpose(-2, -1) - 2 * torch.matmul(x1, x2.transpose(-2, -1))
        return _root_of_squares(square.clamp_min(0))
    if x1.numel() and x2.numel():
        if x1.dtype not in (torch.float32, torch.float64):
            raise not_implemented("cdist", x1.dtype)
        if x1.dtype != x2.dtype:
            raise RuntimeError(f"expected scalar type {x1.dtype._scalar_type} but found {x2.dtype._scalar_type}")
    if p == math.inf and x1.size(-1) == 0:
        return _norms((x1.unsqueeze(-2) - x2.unsqueeze(-3)), 1)
    return _norms(x1.unsqueeze(-2) - x2.unsqueeze(-3), p)


_MODES = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distances of each row of x1 (..., P, M) to each row of x2 (..., R, M): (..., P, R)."""
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return torch._cdist(x1, x2, p, _MODES[compute_mode])


python(cdist, method=False)


def _pairs(x):
    return torch.triu_indices(x.size(0), x.size(0), 1, device=x.device)


def _pdist_slope(g, x, p, r):
    """The gradient of x from g, that of the distances r, where equal rows have 0."""
    if p == 0 or not r.numel():
        return g.new_zeros(x.shape)
    a, b = _pairs(x)
    d, zero = x[a] - x[b], r == 0
    if p == 1:
        slope = d.sgn()
    elif p == math.inf:
        slope = d.sgn() * (d.abs() == r.unsqueeze(-1))
    else:
        base = torch.where(d == 0, 1, d.abs()) if p < 2 else d.abs()  # a negative power of 0
        slope = d * base ** (p - 2) * torch.where(zero, 1, r).pow(1 - p).masked_fill(zero, 0).unsqueeze(-1)
    slope = slope * g.unsqueeze(-1)
    return torch.zeros_like(x).index_add(0, a, slope).index_add(0, b, -slope)


@op(
    "_pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor",
    kernel="pdist_backward",
    module="aten",
    samples=lambda t: [(t(6), t(4, 3), 2.0, t(6, lo=0.1, hi=2)), (t(3), t(3, 2), 1.5, t(3, lo=0.1, hi=2))],
)
def _pdist_backward(grad, self, p, pdist):
    """Gradient of `pdist` for the points `self`, from that of their distances."""
    return _pdist_slope(grad, self, p, pdist)


def _pdist_grad(c, g):
    return (_pdist_slope if torch.is_grad_enabled() else torch.ops.functions._pdist_backward)(g, c.self, c.p, c.result)


@op(
    "pdist(Tensor self, float p=2) -> Tensor",
    kernel="pdist",
    variants="function",
    grad={"self": _pdist_grad},
    samples=lambda t: [(t(4, 3),), (t(4, 3), 1.5)],
)
def pdist(self, p=2.0):
    """The p-norm distances of all pairs of rows i < j."""
    if self.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {self.dim()}D")
    if not self.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if self.size(0) > 1 and self.size(1) and self.dtype not in (torch.float32, torch.float64):
        raise not_implemented("pdist", self.dtype)
    a, b = _pairs(self)
    return _norms(self[a] - self[b], p)


@op(
    "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
    inplace=True,
    out=Out(EXACT, "ordered"),
    grad={"self": lambda c, g: _renorm_grad(g, c.self, c.p, c.dim, c.maxnorm)},
    samples=lambda t: [(t(3, 4), 2, 0, 0.5)],
)
def renorm(self, p, dim, maxnorm):
    """Slices along `dim` whose p-norm exceeds `maxnorm` are scaled down to it."""
    if isinstance(p, complex) or isinstance(maxnorm, complex):
        raise RuntimeError("renorm: p and maxnorm must be real-valued")
    if not p > 0:  # NaN, too
        raise RuntimeError("renorm: non-positive-norm not supported")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if self.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.dim()} dimensions")
    self.size(dim)
    dim %= self.dim()
    others = [d for d in range(self.dim()) if d != dim]
    norm = torch.linalg.vector_norm(self, p, others, True)
    factor = torch.where(norm > maxnorm, maxnorm / (norm + 1e-7), 1)
    return (self * factor.to(self.dtype)).clone(memory_format=torch.contiguous_format)


def _renorm_grad(g, x, p, dim, maxnorm):
    """What is not scaled down, of a norm of NaN too, passes `g` as it is, and the result has its layout."""
    g = g if torch._C.is_dense(g) else g.contiguous()
    others = [d for d in range(x.dim()) if d != dim % x.dim()]
    wide = torch.float32 if x.dtype in (torch.float16, torch.bfloat16) else x.abs().dtype
    norm = torch.linalg.vector_norm(x, p, others, True, dtype=wide if wide is not x.abs().dtype else None)
    inverse = (norm + 1e-7).reciprocal()
    product = x.conj() * g
    product = (product.real if x.is_complex() else product).sum(others, True).to(wide)
    from .norms import _norm_grad  # read at its first use

    slope = _norm_grad(product, x, norm, p, others, True)
    return torch.where(norm > maxnorm, (maxnorm * inverse * (g - inverse * slope)).to(g.dtype), g)
