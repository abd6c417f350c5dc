"""Vector norms, and logsumexp."""

import math

import torchlite as torch
from ._declare import methods, op, python
from ._out import EXACT, Out
from .reduction import _restore


def _norm_grad(g, x, result, p, dim, keepdim):
    result, g = _restore(result, x.shape, dim, keepdim), _restore(g, x.shape, dim, keepdim)
    if p == 0:
        return None
    if p == 1:
        return x.sgn() * g
    if p == 2:
        return g * (x / result).masked_fill_(result == 0, 0)
    size = x.abs()
    if math.isinf(p):
        mask = (size == result).detach() | (size.isnan() & result.isnan()).detach()
        return x.sgn() * ((g / (mask.sum() if dim is None or dim == () else mask.sum(dim, True))) * mask)
    if p < 1:
        return x.sgn() * size.pow(p - 1).masked_fill(x == 0, 0) * g * result.pow(1 - p)
    power = result.pow(p - 1)
    scale = (g / power).masked_fill(power < torch.finfo(power.dtype).tiny, 0)  # where it underflows, 0 as at 0
    return (x.sgn() * size.pow(p - 1) if p < 2 else x * size.pow(p - 2)) * scale


@op(
    "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    module="linalg",
    kernel="linalg_vector_norm",
    out=Out(EXACT),
    tags="reduction",
    grad={"self": lambda c, g: _norm_grad(g, c.self, c.result, c.ord, c.dim, c.keepdim)},
    samples=lambda t: [(t(3, 4),), (t(3, 4), 3, 0), (t(3, 4), math.inf, (0, 1), True)],
)
def linalg_vector_norm(self, ord=2, dim=None, keepdim=False, dtype=None):
    """Vector norms along `dim`: (sum |x|^ord)^(1/ord); the largest or smallest |x| for inf and -inf; counts for 0."""
    x = (self if dtype is None else self.to(dtype)).abs()
    if ord in (math.inf, -math.inf):
        return (x.amax if ord > 0 else x.amin)(() if dim is None else dim, keepdim)
    if ord == 0:
        return (x != 0).sum(dim, keepdim).to(x.dtype)
    return x.pow(ord).sum(dim, keepdim).pow(1 / ord)


@op("frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", variants="function", out=True)
def frobenius_norm(self, dim, keepdim=False):
    """The 2-norm of the elements along `dim`."""
    return torch.linalg.vector_norm(self, 2, dim, keepdim)


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The norm of vectors or matrices: "fro" (2-norm of the elements), "nuc" (nuclear)
    or the exponent of a vector norm."""
    if isinstance(dim, torch.Tensor):
        raise TypeError("norm(): argument 'dim' must be int or a tuple of ints")
    dims = [dim] if isinstance(dim, int) and not isinstance(dim, bool) else dim
    if isinstance(p, str):
        if p == "fro" and (dims is None or len(dims) <= 2):
            return _vector_norm(input, 2, dims, keepdim, dtype, out)
        if p == "nuc":
            if dims is None:
                if input.dim() != 2:
                    raise RuntimeError(
                        "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."
                        if input.dim() < 2
                        else "Expected a tensor with 2 dimensions"
                    )
                dims = (-2, -1)
            kw = {} if dtype is None else {"dtype": dtype}
            r = torch.linalg.matrix_norm(input, "nuc", tuple(dims), keepdim=keepdim, **kw)
            return r if out is None else out.copy_(r)
        raise RuntimeError(f"only valid string values are 'fro' and 'nuc', found {p}")
    if p is None:
        p = 2.0
    return _vector_norm(input, p, dims, keepdim, dtype, out)


def _vector_norm(x, p, dims, keepdim, dtype, out):
    kw = {} if dtype is None else {"dtype": dtype}
    if out is not None:
        kw["out"] = out
    return torch.linalg.vector_norm(x, p, dims, keepdim, **kw)


def _method_norm(self, p="fro", dim=None, keepdim=False, dtype=None):
    """See torch.norm."""
    return norm(self, p, dim, keepdim, dtype=dtype)


python(norm, method=False)
_method_norm.__name__ = "norm"
methods()["norm"] = _method_norm


@op("nuclear_norm(Tensor self, bool keepdim=False) -> Tensor", variants="function", out=True)
def nuclear_norm(self, keepdim=False):
    """The sum of the singular values of a matrix."""
    return torch.linalg.matrix_norm(self, "nuc", (-2, -1), keepdim)


@op("nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor", variants="function", out=True)
def nuclear_norm_dim(self, dim, keepdim=False):
    """The sums of the singular values of the matrices in two dims."""
    return torch.linalg.matrix_norm(self, "nuc", tuple(dim), keepdim)


@op(
    "norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor",
    variants="function",
    samples=lambda t: [(t(3, 4), 2, 0), (t(3, 4, 2), 2, -1), (t(4), 2, 0), (t(2, 3, 4), 2, 1)],
)
def norm_except_dim(v, pow=2, dim=0):
    """The norms of the slices along `dim`, with all other dims of size 1; of everything for -1."""
    if dim == -1:
        return norm(v, pow)
    n, one = v.size(dim), (1,) * (v.dim() - 1)
    norms = torch.linalg.vector_norm(v.transpose(0, dim).reshape(n, -1), pow, 1)
    return norms.view(*one, n) if dim == v.dim() - 1 else norms.view(n, *one).transpose(0, dim)


def _floating_sum(args, result, out, i):
    if not (out.is_floating_point() or out.is_complex()):
        return "logsumexp(): Expected floating point type for result tensor, but got: {o}"
    return None


@op(
    "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    alias=("special.logsumexp",),
    kernel="logsumexp",
    out=Out(_floating_sum),
    tags="reduction",
    grad={"self": lambda c, g: _lse_grad(g, c.self, c.result, c.dim, c.keepdim)},
    samples=lambda t: [(t(3, 4), 0), (t(3, 4), (0, 1), True)],
)
def logsumexp(self, dim, keepdim=False):
    """log(sum(exp(x))) along `dim`, without overflow."""
    x = self if self.is_floating_point() or self.is_complex() else self.to(torch.get_default_dtype())
    if x.numel() == 0:
        return x.exp().sum(dim, keepdim).log()
    top = (torch.real(x) if x.is_complex() else x).detach().amax(dim, True)
    top = top.masked_fill(top.isinf(), 0)
    return (
        (x - top).exp().sum(dim, True).log().add(top).sum(dim, keepdim)
        if keepdim
        else (x - top).exp().sum(dim).log() + _squeeze(top, dim, keepdim)
    )


def _squeeze(x, dim, keepdim):
    if keepdim:
        return x
    return x.squeeze(dim) if dim != () else x.reshape(())


def _lse_grad(g, x, result, dim, keepdim):
    result, g = _restore(result, x.shape, dim, keepdim), _restore(g, x.shape, dim, keepdim)
    return g * (x - result).exp().conj()  # NaN where all of x is -inf
