"""Statistics: variances, vector norms, logsumexp, medians, quantiles, modes, covariances."""

import math

import torchlite as torch
from .._core.dtypes import KERNEL_DTYPES
from .._core.errors import not_implemented, repeated_dim
from .. import _C
from .._core.dispatch_modes import all_examples
from ._declare import bodies, methods, op, python, reference
from ._out import EXACT, Out, QUANTILE
from .reduction import _count, _dims, _restore, _select_grad, _share_all, _spread


# ---- variance --------------------------------------------------------------------------------------------------------
def _var_grad(g, x, dim, correction, keepdim):
    correction = 1 if correction is None else correction
    if dim is None or not x.shape:
        mean, dof = x.mean(), x.numel() - correction
        if dof <= 0:
            return (g * torch.where(x == mean, math.nan, math.inf)).to(x.dtype)
        return g * (2.0 / dof) * (x - mean)
    dof = _count(x.shape, dim) - correction
    return _restore(g, x.shape, dim, keepdim) * (2.0 / dof if dof else math.inf) * (x - x.mean(dim, True))


def _std_grad(g, x, result, dim, correction, keepdim):
    return _var_grad((g / (result * 2)).masked_fill(result == 0, 0), x, dim, correction, keepdim)


def _pair_grad(c, g, dim, correction, keepdim, deviation=None):
    spread = None
    if g[0] is not None:
        spread = (
            _var_grad(g[0], c.self, dim, correction, keepdim)
            if deviation is None
            else _std_grad(g[0], c.self, deviation, dim, correction, keepdim)
        )
    if g[1] is None:
        return spread
    mean = _spread(g[1], c.self.shape, dim, keepdim) / _count(c.self.shape, dim)
    return mean if spread is None else spread + mean


def _var_body(x, dim, correction, keepdim, root):
    if x.is_complex():
        v = torch.var(torch.real(x), dim, correction=correction, keepdim=keepdim) + torch.var(
            torch.imag(x), dim, correction=correction, keepdim=keepdim
        )
        return v.sqrt() if root else v
    if not x.is_floating_point():
        raise RuntimeError("std and var only support floating point and complex dtypes")
    dof = max(_count(x.shape, dim) - (1 if correction is None else correction), 0)
    if dim is None or dim == ():
        dim = tuple(range(x.dim()))
    v = ((x - x.mean(dim, True)) ** 2).sum(dim, keepdim) / dof
    return v.sqrt() if root else v


def _mean_body(x, dim, keepdim):
    return x.mean(dim, keepdim)


def _real_only(args, result, out, i):
    if out.is_complex():
        return not_implemented("std_cpu", out.dtype)
    return None


@op(
    "var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
    kernel="var_correction",
    out=Out(_real_only),
    tags="reduction",
    grad={"self": lambda c, g: _var_grad(g, c.self, c.dim, c.correction, c.keepdim)},
    samples=lambda t: [(t(3, 4),), (t(3, 4), 0, {"correction": 0}), (t(3, 4), (0, 1), {"keepdim": True})],
)
def var_correction(self, dim=None, correction=None, keepdim=False):
    """Variances over `dim`: squared distances from the mean, summed and divided by N - correction (1 by default)."""
    return _var_body(self, dim, correction, keepdim, False)


@op(
    "var(Tensor self, bool unbiased=True) -> Tensor",
    kernel="var",
    tags="reduction",
    grad={"self": lambda c, g: _var_grad(g, c.self, None, int(c.unbiased), False)},
    samples=lambda t: [(t(3, 4), False)],
)
def var_all(self, unbiased=True):
    """The variance of all elements; `unbiased` divides by N - 1."""
    return _var_body(self, None, int(unbiased), False, False)


@op(
    "var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
    kernel="var",
    out=Out(_real_only),
    tags="reduction",
    grad={"self": lambda c, g: _var_grad(g, c.self, c.dim, int(c.unbiased), c.keepdim)},
    samples=lambda t: [(t(3, 4), 0, False)],
)
def var_dim(self, dim, unbiased=True, keepdim=False):
    """Variances over `dim`; `unbiased` divides by N - 1."""
    return _var_body(self, dim, int(unbiased), keepdim, False)


@op(
    "std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
    kernel="std_correction",
    out=Out(_real_only),
    tags="reduction",
    grad={"self": lambda c, g: _std_grad(g, c.self, c.result, c.dim, c.correction, c.keepdim)},
    samples=lambda t: [(t(3, 4),), (t(3, 4), 0, {"correction": 0})],
)
def std_correction(self, dim=None, correction=None, keepdim=False):
    """Standard deviations over `dim`: the square root of `var`."""
    return _var_body(self, dim, correction, keepdim, True)


@op(
    "std(Tensor self, bool unbiased=True) -> Tensor",
    kernel="std",
    tags="reduction",
    grad={"self": lambda c, g: _std_grad(g, c.self, c.result, None, int(c.unbiased), False)},
    samples=lambda t: [(t(3, 4), False)],
)
def std_all(self, unbiased=True):
    """The standard deviation of all elements."""
    return _var_body(self, None, int(unbiased), False, True)


@op(
    "std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
    kernel="std",
    out=Out(_real_only),
    tags="reduction",
    grad={"self": lambda c, g: _std_grad(g, c.self, c.result, c.dim, int(c.unbiased), c.keepdim)},
    samples=lambda t: [(t(3, 4), 0, False)],
)
def std_dim(self, dim, unbiased=True, keepdim=False):
    """Standard deviations over `dim`."""
    return _var_body(self, dim, int(unbiased), keepdim, True)


_PAIR_SAVE = ("self", "result0")


@op(
    "var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
    "bool keepdim=False) -> (Tensor, Tensor)",
    kernel="var_mean_correction",
    tags="reduction",
    save=("self",),
    grad={"self": lambda c, g: _pair_grad(c, g, c.dim, c.correction, c.keepdim)},
    samples=lambda t: [(t(3, 4), 0)],
)
def var_mean_correction(self, dim=None, correction=None, keepdim=False):
    """Variances and means over `dim`."""
    return _var_body(self, dim, correction, keepdim, False), _mean_body(self, dim, keepdim)


@op(
    "var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
    kernel="var_mean",
    tags="reduction",
    save=("self",),
    grad={"self": lambda c, g: _pair_grad(c, g, None, int(c.unbiased), False)},
    samples=lambda t: [(t(3, 4), False)],
)
def var_mean_all(self, unbiased=True):
    """The variance and the mean of all elements."""
    return _var_body(self, None, int(unbiased), False, False), self.mean()


@op(
    "var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
    kernel="var_mean",
    tags="reduction",
    save=("self",),
    grad={"self": lambda c, g: _pair_grad(c, g, c.dim, int(c.unbiased), c.keepdim)},
    samples=lambda t: [(t(3, 4), 0, False)],
)
def var_mean_dim(self, dim, unbiased=True, keepdim=False):
    """Variances and means over `dim`."""
    return _var_body(self, dim, int(unbiased), keepdim, False), _mean_body(self, dim, keepdim)


@op(
    "std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
    "bool keepdim=False) -> (Tensor, Tensor)",
    kernel="std_mean_correction",
    tags="reduction",
    save=_PAIR_SAVE,
    grad={"self": lambda c, g: _pair_grad(c, g, c.dim, c.correction, c.keepdim, c.result0)},
    samples=lambda t: [(t(3, 4), 0)],
)
def std_mean_correction(self, dim=None, correction=None, keepdim=False):
    """Standard deviations and means over `dim`."""
    return _var_body(self, dim, correction, keepdim, True), _mean_body(self, dim, keepdim)


@op(
    "std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
    kernel="std_mean",
    tags="reduction",
    save=_PAIR_SAVE,
    grad={"self": lambda c, g: _pair_grad(c, g, None, int(c.unbiased), False, c.result0)},
    samples=lambda t: [(t(3, 4), False)],
)
def std_mean_all(self, unbiased=True):
    """The standard deviation and the mean of all elements."""
    return _var_body(self, None, int(unbiased), False, True), self.mean()


@op(
    "std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
    kernel="std_mean",
    tags="reduction",
    save=_PAIR_SAVE,
    grad={"self": lambda c, g: _pair_grad(c, g, c.dim, int(c.unbiased), c.keepdim, c.result0)},
    samples=lambda t: [(t(3, 4), 0, False)],
)
def std_mean_dim(self, dim, unbiased=True, keepdim=False):
    """Standard deviations and means over `dim`."""
    return _var_body(self, dim, int(unbiased), keepdim, True), _mean_body(self, dim, keepdim)


# ---- norms -----------------------------------------------------------------------------------------------------------
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
    samples=lambda t: [(t(3, 4), 2, 0), (t(3, 4, 2), 2, -1)],
)
def norm_except_dim(v, pow=2, dim=0):
    """The norms of the slices along `dim`, with all other dims of size 1; of everything for -1."""
    if dim == -1:
        return norm(v, pow)
    return torch.linalg.vector_norm(v, pow, [d for d in range(v.dim()) if d != dim % v.dim()], True)


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


# ---- medians, modes, quantiles ---------------------------------------------------------------------------------------
@op(
    "median(Tensor self) -> Tensor",
    kernel="median",
    tags="reduction",
    node="MedianBackward0",
    grad={"self": lambda c, g: _share_all(g, c.self, c.result)},
    samples=lambda t: [(t(3, 4),), (t(5),)],
)
def median_all(self):
    """The median of all elements: the lower of the two middle ones when their number is even."""
    return bodies.middle_of_all(self, False)


@op(
    "nanmedian(Tensor self) -> Tensor",
    kernel="nanmedian",
    tags="reduction",
    node="NanmedianBackward0",
    grad={"self": lambda c, g: _share_all(g, c.self, c.result)},
    samples=lambda t: [(t(3, 4),)],
)
def nanmedian_all(self):
    """The median of the elements that are not NaN."""
    return bodies.middle_of_all(self, True)


def _kthvalue_dtype(args, result, out, i):
    return "output values must be of same type as input" if i == 0 else "output indices must be of scalar type Long"


def _legacy_type(t):
    """torch.FloatTensor; what had no such class has a name of C++."""
    if t.dtype in (torch.bool, torch.bfloat16) or t.is_complex():
        return f"CPU{t.dtype._scalar_type}Type"
    return t.type()


def _median_dtype(args, result, out, i):
    if i:
        return (
            f"Expected tensor for argument #1 'indices' to have scalar type Long; but got {_legacy_type(out)} instead "
            "(while checking arguments for median)"
        )
    return (
        "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type "
        f"{_legacy_type(out)} does not equal {_legacy_type(result)} (while checking arguments for median)"
    )


@op(
    "median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    kernel="median_dim",
    out=Out(_median_dtype, "backwards"),
    nondiff=(1,),
    tags="reduction",
    node="MedianBackward1",
    grad={"self": lambda c, g: _select_grad(g[0], c.self_shape, c.dim, c.keepdim, c.result1)},
    samples=lambda t: [(t(3, 4), 0)],
)
def median_dim(self, dim, keepdim=False):
    """Medians along `dim` and their positions."""
    return bodies.middle(self, dim, keepdim, False)


@op(
    "nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    kernel="nanmedian_dim",
    out=Out(_median_dtype, "backwards"),
    nondiff=(1,),
    tags="reduction",
    node="NanmedianBackward1",
    grad={"self": lambda c, g: _select_grad(g[0], c.self_shape, c.dim, c.keepdim, c.result1)},
    samples=lambda t: [(t(3, 4), 0)],
)
def nanmedian_dim(self, dim, keepdim=False):
    """Medians along `dim` of what is not NaN, and their positions."""
    return bodies.middle(self, dim, keepdim, True)


@op(
    "mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    kernel="mode",
    out=Out("expected scalar type '{r}' but got '{o}' for {part} output"),
    nondiff=(1,),
    tags="reduction reference",
    grad={"self": lambda c, g: _select_grad(g[0], c.self_shape, c.dim, c.keepdim, c.result1)},
    samples=lambda t: [(t(3, 4), 0)],
)
def mode(self, dim=-1, keepdim=False):
    """The most frequent values along `dim` (the smallest of equally frequent ones) and a position of each."""
    return reference.mode(self, dim, keepdim)


@op(
    "kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    kernel="kthvalue",
    out=Out(_kthvalue_dtype, "apart"),
    nondiff=(1,),
    tags="reduction reference",
    grad={"self": lambda c, g: _select_grad(g[0], c.self_shape, c.dim, c.keepdim, c.result1)},
    samples=lambda t: [(t(3, 4), 2), (t(3, 4), 1, 0, True)],
)
def kthvalue(self, k, dim=-1, keepdim=False):
    """The k-th smallest values along `dim` (k counts from 1) and their positions."""
    return reference.kthvalue(self, k, dim, keepdim)


_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(x, q, dim, keepdim, interpolation, ignore_nan, name="quantile"):
    if x.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if x.dtype not in (torch.float32, torch.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    scalar = not isinstance(q, torch.Tensor)
    if scalar:
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        q = torch.tensor(q, dtype=x.dtype, device=x.device)
    if q.dim() > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if q.dtype != x.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if q.device.type == "cpu" and not bool(all_examples((q >= 0) & (q <= 1)).all()):
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    shape = [] if dim is None else list(x.shape)
    if dim is None:
        sequence, out = x.flatten(), ([1] * x.dim() if keepdim else [])
    else:
        if x.dim() and not -x.dim() <= dim < x.dim():
            x.size(dim)
        dim = dim % x.dim() if x.dim() else 0
        sequence = x.movedim(dim, -1) if x.dim() else x.reshape(1)
        if keepdim:
            out = [1 if i == dim else n for i, n in enumerate(shape)]
        else:
            out = shape[:dim] + shape[dim + 1 :]
    sequence = sequence.sort()[0]
    n = sequence.size(-1)
    points = q.reshape(-1)
    if ignore_nan:
        rank = points * ((~sequence.isnan()).sum(-1, True) - 1)
        rank = rank.masked_fill(rank < 0, 0)
    else:
        # a row with NaN sorts it last: every rank of that row points there
        last = sequence.detach().isnan().any(-1, True)
        rank = torch.where(last, n - 1, points * (n - 1)).to(x.dtype)
    if interpolation == "lower":
        rank = rank.floor()
    elif interpolation == "higher":
        rank = rank.ceil()
    elif interpolation == "nearest":
        rank = rank.round()
    below = rank.long()
    values = sequence.gather(-1, below)
    if interpolation in ("linear", "midpoint"):
        weight = torch.full_like(rank, 0.5) if interpolation == "midpoint" else rank - below.to(x.dtype)
        above = sequence.gather(-1, rank.ceil().long())
        values = values.lerp(above, weight)
    if q.dim() == 0:
        return values.reshape(out)
    return values.movedim(-1, 0).reshape([q.numel()] + out)


@op(
    "quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
    "quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
    out=Out(QUANTILE, "copied late"),
    tags="reduction own",
    samples=lambda t: [(t(3, 4), 0.3), (t(3, 4), 0.5, 0, True)],
)
def quantile(self, q, dim=None, keepdim=False, interpolation="linear"):
    """The q-th quantiles along `dim` (of all elements when None); a 1-d q adds a leading dim."""
    return _quantile(self, q, dim, keepdim, interpolation, False)


@op(
    "nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
    "nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, "
    "str interpolation='linear') -> Tensor",
    out=Out(QUANTILE, "copied late"),
    tags="reduction own",
    samples=lambda t: [(t(3, 4), 0.3)],
)
def nanquantile(self, q, dim=None, keepdim=False, interpolation="linear"):
    """`quantile` of what is not NaN."""
    return _quantile(self, q, dim, keepdim, interpolation, True)


# ---- covariances -----------------------------------------------------------------------------------------------------
def _cov_weights(w, name, n):
    if w is None:
        return
    kind = "integral" if name == "fweights" else "floating point"
    if w.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {w.dim()} dimensions"
        )
    if (w.is_floating_point() or w.is_complex()) != (name == "aweights") or w.dtype == torch.bool:
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with {w.dtype._scalar_type} dtype"
        )
    if w.numel() != n:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{w.numel()} != {n}"
        )
    if n and not w.is_meta and bool((all_examples(w) < 0).any()):
        raise RuntimeError(f"cov(): {name} cannot be negative")


@op(
    "cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor",
    samples=lambda t: [(t(3, 5),), (t(5),)],
)
def cov(self, correction=1, fweights=None, aweights=None):
    """Covariances of the rows: variables are rows, observations are columns."""
    if self.dim() > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {self.dim()} dimensions"
        )
    if self.dtype == torch.bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = self.reshape(1, -1) if self.dim() < 2 else self
    n = x.size(1)
    _cov_weights(fweights, "fweights", n)
    _cov_weights(aweights, "aweights", n)
    w = fweights
    if aweights is not None:
        w = aweights if w is None else w * aweights
    total = n if w is None else w.sum()
    if w is not None and n and not w.is_meta and not bool((all_examples(total) != 0).all()):
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = x.sum(1, True) / total if w is None else (x * w).sum(1, True) / total
    if w is not None and aweights is not None and correction != 0:
        norm = total - correction * (w * aweights).sum() / total
    else:
        norm = total - correction
    if w is None:
        if norm <= 0:
            import warnings

            warnings.warn(
                "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations."
            )
            norm = 0
    else:
        norm = norm.clamp_min(0)
    x = x - mean
    y = x.t().conj() if w is None else (x * w).t().conj()
    return torch.true_divide(torch.mm(x, y.to(x.dtype)), norm).squeeze()


@op("corrcoef(Tensor self) -> Tensor", samples=lambda t: [(t(3, 5),), (t(5),)])
def corrcoef(self):
    """Correlation coefficients of the rows."""
    if self.dim() > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {self.dim()} dimensions"
        )
    c = torch.cov(self)
    if c.dim() == 0:
        return c / c
    d = c.diagonal()
    s = (torch.real(d) if d.is_complex() else d).sqrt()
    c = c / s.unsqueeze(-1) / s.unsqueeze(0)
    return torch.complex(torch.real(c).clip(-1, 1), torch.imag(c).clip(-1, 1)) if c.is_complex() else c.clip(-1, 1)


# ---- hashes ----------------------------------------------------------------------------------------------------------
@op(
    "hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor",
    out=Out("Expected result to be of dtype uint64, but got {o}"),
    tags="reduction own",
    grad={},
    samples=lambda t: [(t(3, 4),), (t(3, 1), 1), (t(3, 4, 2), (0, 2), {"keepdim": True})],
)
def hash_tensor(self, dim=(), keepdim=False, mode=0):
    """Exclusive or of the elements' bits as uint64, along the dims in `dim` (all when empty): of integers as int64, of
    floats as float64. mode: 0, the only one."""
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if self.dtype not in _HASHED:
        raise not_implemented("xor_sum_cpu", self.dtype)
    dims = sorted(_dims(tuple(_C.wrap_dim(d, self.dim()) for d in dim) if dim else dim, self.dim()))
    if len(set(dims)) != len(dims):
        twice = next(d for d in dims if dims.count(d) > 1)
        raise repeated_dim(twice)
    if not self.numel():
        if not dim:
            raise RuntimeError(
                "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                "with the 'dim' argument."
            )
        for d in dims:
            if not self.shape[d]:
                raise IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")
    if self.is_floating_point() and self.device.type == "webgpu":  # which has no float64
        from ..webgpu.fallback import note

        note("hash_tensor")
        return torch.hash_tensor(self.cpu(), dim, keepdim=keepdim).to(self.device)
    x = self.double().resolve_neg().view(torch.int64) if self.is_floating_point() else self.to(torch.int64)
    kept = [d for d in range(self.dim()) if d not in dims]
    if self.dim():
        x = x.permute(kept + dims)
    x = x.reshape([self.shape[d] for d in kept] + [-1] if self.numel() else [0, 1])
    if x.shape[-1] == 1:  # the hash of one number is its bits
        x = x.clone()
    while x.shape[-1] > 1:  # halves, and what is left over
        half = x.shape[-1] // 2
        rest = x[..., 2 * half :]
        x = torch.bitwise_xor(x[..., :half], x[..., half : 2 * half])
        if rest.shape[-1]:
            x = torch.cat([x, rest], -1)
    shape = [1 if d in dims else n for d, n in enumerate(self.shape) if keepdim or d not in dims]
    return x.reshape(shape).view(torch.uint64)


_HASHED = [d for d in KERNEL_DTYPES if not d.is_complex]
