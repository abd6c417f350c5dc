"""torch.linalg: norms, condition numbers, ranks and pseudo-inverses, most of them from singular values."""

import math

import torchlite as torch

from .. import _C
from .._core.errors import not_square
from ._declare import op, refuse_gradient
from ._out import EXACT, Out, castable
from .linalg import _hidden, _linalg, _matrix
from .linalg_lu import inv_ex
from .linalg_spectral import eigh, svd, svdvals


# ---- norms -----------------------------------------------------------------------------------------------------------
def _abs_sum_norm(x, ord, dims, keepdim):
    a, b = dims
    if abs(ord) == math.inf:
        a, b = b, a
    s = torch.linalg.vector_norm(x, 1, a, keepdim)
    if b > a and not keepdim:
        b -= 1
    return _largest(s, b, keepdim) if ord > 0 else s.amin(b, keepdim)


def _largest(s, dim, keepdim=False):
    """The largest of the norms `s`; that of none is 0."""
    return s.sum(dim, keepdim) if s.shape[dim] == 0 else s.amax(dim, keepdim)


def _to_norm_dtype(name, x, dtype):
    if dtype is None:
        return x
    if dtype.is_complex != x.is_complex() and x.is_complex():
        raise RuntimeError(f"{name}: dtype should be complex for complex inputs, but got {dtype._scalar_type}")
    if torch.promote_types(x.dtype, dtype) != dtype:
        raise RuntimeError(
            f"{name}: the dtype of the input ({x.dtype._scalar_type}) should be convertible without narrowing to the "
            f"specified dtype ({dtype._scalar_type})"
        )
    return x.to(dtype)


def _matrix_norm(x, ord, dim, keepdim, dtype):
    name = "linalg.matrix_norm"
    _matrix(name, x)
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {x.dtype._scalar_type}")
    if len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got " + " ".join(str(d) for d in dim))
    n = x.dim()
    dims = [_C.wrap_dim(d, n) for d in dim]
    if dims[0] == dims[1]:
        raise RuntimeError(f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    x = _to_norm_dtype(name, x, dtype)
    if ord == "fro":
        return torch.linalg.vector_norm(x, 2, dims, keepdim)
    if ord in ("nuc", 2, -2):
        s = svdvals(x.movedim(dims, [-2, -1]))
        if ord == "nuc":
            r = s.sum(-1)
        elif ord == 2:
            r = _largest(s, -1)
        else:
            r = s.amin(-1)
        if keepdim:
            for d in sorted(dims):
                r = r.unsqueeze(d)
        return r
    if isinstance(ord, str) or abs(ord) not in (1, math.inf):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    return _abs_sum_norm(x, ord, dims, keepdim)


@_linalg(
    "matrix_norm(Tensor self, Scalar ord, int[] dim=[-2,-1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    out=Out(EXACT),
)
def matrix_norm(self, ord, dim=(-2, -1), keepdim=False, dtype=None):
    """Norm of matrices: "fro", "nuc", 2 and -2 (largest, smallest singular value), 1 and -1 (column sums),
    inf and -inf (row sums)."""
    return _matrix_norm(self, ord, dim, keepdim, dtype)


@_linalg(
    "matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=[-2,-1], bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    out=Out(EXACT),
)
def matrix_norm_str_ord(self, ord="fro", dim=(-2, -1), keepdim=False, dtype=None):
    """Norm of matrices: "fro", "nuc", 2 and -2 (largest, smallest singular value), 1 and -1 (column sums),
    inf and -inf (row sums)."""
    if ord not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    return _matrix_norm(self, ord, dim, keepdim, dtype)


@_linalg(
    "norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    out=Out("linalg.norm expected out tensor dtype {r} but got: {o}"),
)
def norm(self, ord=None, dim=None, keepdim=False, dtype=None):
    """Vector norm, or matrix norm when `dim` names two dims (or the tensor has two and `ord` is given)."""
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if ord is not None and dim is None and self.dim() not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.dim()}D."
        )
    if ord is not None and ((dim is not None and len(dim) == 2) or (dim is None and self.dim() == 2)):
        return _matrix_norm(self, ord, (0, 1) if dim is None else dim, keepdim, dtype)
    return torch.linalg.vector_norm(self, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


@_linalg(
    "norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    out=Out("linalg.norm expected out tensor dtype {r} but got: {o}"),
)
def norm_ord_str(self, ord, dim=None, keepdim=False, dtype=None):
    """Matrix norm "fro" or "nuc"."""
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it mut be of length 1 or 2. Got {list(dim)}")
    if dim is None and self.dim() != 2:
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.dim()}D."
        )
    return _matrix_norm(self, ord, (0, 1) if dim is None else dim, keepdim, dtype)


def _cond(x, p):
    if x.dim() < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if x.numel() == 0 and not isinstance(p, str) and (0 in x.shape[-2:] or p not in (None, 2, -2)):
        return torch.zeros(x.shape[:-2], dtype=x.dtype.to_real(), device=x.device)
    if p is None or p in (2, -2):
        s = svdvals(x)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    if x.shape[-1] != x.shape[-2]:
        raise not_square(x, f"linalg.cond(ord={p})")
    if x.numel() == 0:
        return torch.zeros(x.shape[:-2], dtype=x.dtype.to_real(), device=x.device)
    y, info = inv_ex(x)
    y = torch.where((info > 0).unsqueeze(-1).unsqueeze(-1), math.inf, y)
    r = _matrix_norm(x, p, (-2, -1), False, None) * _matrix_norm(y, p, (-2, -1), False, None)
    return torch.where(torch.isnan(r), math.inf, r)


@_linalg("cond(Tensor self, Scalar? p=None) -> Tensor", out=Out(castable("linalg.cond", "result")))
def cond(self, p=None):
    """Condition number: norm of the matrix times norm of its inverse; by singular values for p None, 2 and -2."""
    return _cond(self, p)


@_linalg("cond.p_str(Tensor self, str p) -> Tensor", out=Out(castable("linalg.cond", "result")))
def cond_p_str(self, p):
    """Condition number for the norm "fro" or "nuc"."""
    return _cond(self, p)


# ---- rank and pseudo-inverse -----------------------------------------------------------------------------------------
def _threshold(x, top, atol, rtol):
    """max(atol, rtol * top), with PyTorch's defaults."""
    real = x.dtype.to_real()
    if atol is None:
        if rtol is None:
            rtol = torch.finfo(real).eps * max(x.shape[-2:])
        atol = 0.0
    elif rtol is None:
        rtol = torch.finfo(real).eps * max(x.shape[-2:])
        if isinstance(atol, torch.Tensor):
            rtol = torch.where(atol > 0, 0.0, rtol).to(real)
        elif atol > 0:
            rtol = 0.0
    a = atol if isinstance(atol, torch.Tensor) else torch.tensor(float(atol), dtype=real, device=x.device)
    return torch.maximum(a.to(real), rtol * top)


def _real_tolerances(name, atol, rtol):
    for word, t in (("atol", atol), ("rtol", rtol)):
        if isinstance(t, torch.Tensor) and t.is_complex():
            raise RuntimeError(f"{name}: {word} tensor of complex type is not supported. Got {t.dtype._scalar_type}")


def _rank(x, atol, rtol, hermitian):
    if x.dim() < 2:
        raise RuntimeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    if (
        rtol is None
        and (atol is None or isinstance(atol, torch.Tensor) or atol <= 0)
        and x.dtype not in (torch.float32, torch.float64, torch.complex64, torch.complex128)
    ):
        raise RuntimeError("This function doesn't handle types other than float and double")
    if x.numel() == 0:
        return torch.zeros(x.shape[:-2], dtype=torch.int64, device=x.device)
    s = eigh(x)[0].abs() if hermitian else svdvals(x)
    return (s > _threshold(x, s.amax(-1), atol, rtol).unsqueeze(-1)).sum(-1)


@_linalg(
    "matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, "
    "bool hermitian=False) -> Tensor",
    "matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor",
    grad=None,
    differentiable=False,
    out=Out(castable("torch.linalg.matrix_rank", "result")),
)
def matrix_rank(input, atol=None, rtol=None, hermitian=False):
    """Number of singular values above max(atol, rtol * largest)."""
    _real_tolerances("torch.linalg.matrix_rank", atol, rtol)
    return _rank(input, atol, rtol, hermitian)


@_linalg(
    "matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
    grad=None,
    differentiable=False,
    out=Out(castable("torch.linalg.matrix_rank", "result")),
)
def _rank_tol(self, tol, hermitian=False):
    """Number of singular values above `tol`."""
    return _rank(self, tol, 0.0, hermitian)


@_linalg(
    "matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor",
    grad=None,
    differentiable=False,
    out=Out(castable("torch.linalg.matrix_rank", "result")),
)
def _rank_tol_tensor(input, tol, hermitian=False):
    """Number of singular values above `tol`."""
    _real_tolerances("torch.linalg.matrix_rank", tol, None)
    return _rank(input, tol, 0.0, hermitian)


def _pinv_grad(c, g):
    A, P = c.A, c.result
    m, n = A.shape[-2:]
    gh, ph = g.mH, P.mH
    if m <= n:
        k = gh.matmul(P)
        kp = k.matmul(ph)
        return {"A": -(P.matmul(k)).mH + kp - A.matmul(P).matmul(kp) + ph.matmul(P).matmul(gh - k.matmul(A))}
    k = P.matmul(gh)
    pk = ph.matmul(k)
    return {"A": -(k.matmul(P)).mH + (gh - A.matmul(k)).matmul(P).matmul(ph) + pk - pk.matmul(P).matmul(A)}


@_hidden(
    "_linalg_pinv(Tensor A, Any atol, Any rtol, bool hermitian) -> Tensor", grad=_pinv_grad, node="LinalgPinvBackward0"
)
def _pinv_of(A, atol, rtol, hermitian):
    """Pseudo-inverse from singular values or eigenvalues above the threshold."""
    if A.numel() == 0:
        return A.mH.clone(memory_format=torch.contiguous_format)
    if hermitian:
        w, V = eigh(A)
        keep = w.abs() > _threshold(A, w.abs().amax(-1), atol, rtol).unsqueeze(-1)
        return (V * torch.where(keep, 1 / w, 0.0).unsqueeze(-2)).matmul(V.mH)
    U, S, Vh = svd(A, False)
    keep = S > _threshold(A, S.amax(-1), atol, rtol).unsqueeze(-1)
    return (Vh.mH * torch.where(keep, 1 / S, 0.0).unsqueeze(-2)).matmul(U.mH)


def _pinv(x, atol, rtol, hermitian):
    if x.dim() < 2 or not (x.dtype in (torch.float32, torch.float64) or x.is_complex()):
        raise RuntimeError(
            f"linalg.pinv({x.dtype._scalar_type}{{{list(x.shape)}}}): expected a tensor with 2 or more dimensions "
            "of float, double, cfloat or cdouble types"
        )
    return _pinv_of(x, atol, rtol, hermitian)


@_linalg(
    "pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor",
    "pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor",
    out=Out(castable("linalg.pinv", "result")),
)
def pinv(self, atol=None, rtol=None, hermitian=False):
    """Moore-Penrose pseudo-inverse; singular values up to max(atol, rtol * largest) count as zero."""
    refuse_gradient("linalg_pinv", **{n: t for n, t in (("atol", atol), ("rtol", rtol)) if isinstance(t, torch.Tensor)})
    _real_tolerances("torch.linalg.pinv", atol, rtol)
    return _pinv(self, atol, rtol, hermitian)


@_linalg("pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor", out=Out(castable("linalg.pinv", "result")))
def _pinv_rcond(self, rcond, hermitian=False):
    """Pseudo-inverse; singular values up to rcond * largest count as zero."""
    return _pinv(self, 0.0, rcond, hermitian)


@_linalg(
    "pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor",
    out=Out(castable("linalg.pinv", "result")),
)
def _pinv_rcond_tensor(self, rcond, hermitian=False):
    """Pseudo-inverse; singular values up to rcond * largest count as zero."""
    return _pinv(self, 0.0, rcond, hermitian)


@op("pinverse(Tensor self, float rcond=1e-15) -> Tensor")
def pinverse(self, rcond=1e-15):
    """See torch.linalg.pinv."""
    return _pinv(self, 0.0, rcond, False)
