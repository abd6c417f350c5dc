"""Variances, covariances and correlations; hash_tensor."""

import math

import torchlite as torch
from .._core.dtypes import KERNEL_DTYPES
from .._core.errors import not_implemented, repeated_dim
from .. import _C
from .._core.dispatch_modes import all_examples
from ._declare import op
from ._out import Out
from .reduction import _count, _dims, _restore, _spread


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
