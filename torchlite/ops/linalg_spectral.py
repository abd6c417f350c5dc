"""torch.linalg: eigenvalues and singular values."""

from typing import Any

import torchlite as torch

from .. import _C
from .._core.dispatch_modes import all_examples
from ._declare import op
from ._out import EXACT, Out, castable
from .linalg import (
    _columns,
    _eye_like,
    _failed,
    _floating,
    _hidden,
    _linalg,
    _matrix,
    _no_half,
    _square,
    _zero_batch,
)
from .linalg_lu import _solve


# ---- eigenvalues -----------------------------------------------------------------------------------------------------
def _eigh_grad(c, g):
    gl, gv = g
    L, V = c.result0, c.result1
    if gv is None:
        return {"A": (V * gl.unsqueeze(-2)).matmul(V.mH)}
    e = L.unsqueeze(-2) - L.unsqueeze(-1)
    e = e + _eye_like(e)
    inner = V.mH.matmul(gv)
    inner = (inner - inner.mH) / (2 * e)  # the vectors of Hermitian matrices turn by skew ones only
    inner = inner - torch.diag_embed(inner.diagonal(0, -2, -1))
    if gl is not None:
        inner = inner + torch.diag_embed(gl.to(inner.dtype))
    return {"A": V.matmul(inner).matmul(V.mH)}


@_hidden(
    "_matrix_eigh(Tensor A, bool vectors=True) -> (Tensor, Tensor)",
    tags="python",
    kernel="_linalg_eigh",
    node="LinalgEighBackward0",
    grad=_eigh_grad,
)
def _eigh(A, vectors=True):
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices (lower triangle read). Without `vectors` these
    are 0 x 0, which has no gradient."""


@_hidden("_adjoint_copy(Tensor A) -> Tensor", grad={"A": lambda c, g: g})
def _adjoint_copy(A):
    """The same Hermitian matrices, of which the other triangle is read:
    the gradient is that of A, and lies as it comes."""
    return A.mH.clone()


def _needs_vectors(A):
    """Whether what wants values only needs vectors all the same: gradients and tangents are made of them, and other
    devices find both in one."""
    recorded = A.requires_grad and torch.is_grad_enabled()
    return recorded or A.device.type != "cpu" or A._dispatches or bool(_C.forward_ad(None))


def _eigh_of(self, UPLO, below, vectors=True):
    _square("linalg.eigh", self)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    _no_half("linalg_eigh_cpu", self, True)
    return _eigh_checked(_adjoint_copy(self) if UPLO.upper() == "U" else self, self.shape[-1] - below, vectors)


@_linalg("eigh(Tensor self, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)", out=Out(EXACT))
def eigh(self, UPLO="L"):
    """Eigenvalues, ascending, and orthonormal eigenvectors of a Hermitian matrix of which one triangle is read."""
    return _eigh_of(self, UPLO, 1)


def _infinite(x, name, nan_text, lower=False):
    """None where all elements (of the lower triangle) are finite; else which matrices are not, [*, 1, 1].
    NaN is an error, in nan_text's words."""
    x = x.detach()
    if not x.numel() or x.is_meta or bool(torch.isfinite(all_examples(x)).all()):
        return None
    x = x.tril() if lower else x
    bad = ~torch.isfinite(x).flatten(-2).all(-1)
    if nan_text:
        nan = torch.isnan(x).flatten(-2).any(-1)
        _failed(
            name,
            nan.to(torch.int32),
            lambda info: f"The algorithm failed to converge because the input matrix {nan_text}",
        )
    return bad.unsqueeze(-1).unsqueeze(-1)


def _eigh_checked(x, code, vectors):
    """Matrices with infinite elements have NaN for eigenvalues; NaN does not converge, from three rows on."""
    bad = _infinite(
        x,
        "linalg.eigh",
        x.shape[-1] > 2 and f"is ill-conditioned or has too many repeated eigenvalues (error code: {code}).",
        lower=True,
    )
    if bad is None:
        return _eigh(x, vectors)
    L, V = _eigh(torch.where(bad, _eye_like(x), x))
    value = torch.real(x) if x.is_complex() else x
    if x.shape[-1] == 1:
        return torch.where(bad.squeeze(-1), value[..., 0], L), V
    return torch.where(bad.squeeze(-1), torch.nan, L), _columns(torch.where(bad, torch.nan, V))


@_linalg("eigvalsh(Tensor self, str UPLO='L') -> Tensor", out=Out(EXACT))
def eigvalsh(self, UPLO="L"):
    """Eigenvalues, ascending, of a Hermitian matrix."""
    return _eigh_of(self, UPLO, 2, _needs_vectors(self))[0]


def _eig_grad(c, g):
    gl, gv = g
    L, V = c.result0, c.result1
    if gv is None:
        inner = torch.diag_embed(gl)
    else:
        inner = V.mH.matmul(gv)
        d = torch.real(inner.diagonal(0, -2, -1))
        inner = inner - V.mH.matmul(V * d.unsqueeze(-2))
        e = (L.unsqueeze(-2) - L.unsqueeze(-1)).conj()
        inner = inner / (e + _eye_like(e))
        inner = inner - torch.diag_embed(inner.diagonal(0, -2, -1))
        if gl is not None:
            inner = inner + torch.diag_embed(gl)
    ga = _solve(V.mH, inner.matmul(V.mH))[0]
    return {"A": ga if c.A_dtype.is_complex else torch.real(ga)}


@_hidden(
    "_linalg_eig(Tensor A, bool vectors=True) -> (Tensor, Tensor)",
    kernel="_linalg_eig",
    node="LinalgEigBackward0",
    grad=_eig_grad,
)
def _eig(A, vectors=True):
    """Eigenvalues and eigenvectors of general matrices, complex. Without `vectors` these are 0 x 0, which has no
    gradient."""


def _eig_checked(name, x, vectors=True):
    _square(name, x)
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(f"Unknown Complex ScalarType for {x.dtype._scalar_type}")
    _no_half("linalg_eig_out_cpu", x)
    if x.numel() and not x.is_meta and not bool(torch.isfinite(all_examples(x.detach())).all()):
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    return _eig(x, vectors)


@_linalg(
    "eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
    out=Out(castable("torch.linalg.eig", "eigenvalues", "eigenvectors"), "plain"),
)
def eig(self):
    """Eigenvalues and eigenvectors (columns, unit length) of a square matrix, always complex."""
    return _eig_checked("linalg.eig", self)


@_linalg("eigvals(Tensor self) -> Tensor", out=Out(castable("torch.linalg.eigvals", "eigenvalues")))
def eigvals(self):
    """Eigenvalues of a square matrix, always complex."""
    return _eig_checked("linalg.eigvals", self, _needs_vectors(self))[0]


# ---- singular values -------------------------------------------------------------------------------------------------
def _svd_grad(c, g):
    gu, gs, gvh = g
    U, S, Vh = c.result0, c.result1, c.result2
    m, n = c.A_shape[-2:]
    k = min(m, n)
    U, Vh = U[..., :, :k], Vh[..., :k, :]
    gu = gu[..., :, :k] if gu is not None else None
    gvh = gvh[..., :k, :] if gvh is not None else None
    if gu is None and gvh is None:
        return {"A": (U * gs.unsqueeze(-2)).matmul(Vh)}
    skew = lambda x: x - x.mH
    row, col = S.unsqueeze(-2), S.unsqueeze(-1)
    e = row * row - col * col
    e = e + _eye_like(e)
    inner: Any = None
    if gu is not None:
        uu = skew(U.mH.matmul(gu))
        if S.dtype != U.dtype:
            inner = torch.diag_embed(uu.diagonal(0, -2, -1) / (2 * S))
            uu = uu - torch.diag_embed(uu.diagonal(0, -2, -1))
        term = (uu / e) * row
        inner = term if inner is None else inner + term
    if gvh is not None:
        vv = skew(Vh.matmul(gvh.mH))
        if S.dtype != U.dtype:
            vv = vv - torch.diag_embed(vv.diagonal(0, -2, -1)) if gu is not None else vv
            if gu is None:
                raise RuntimeError(
                    "svd_backward: The singular vectors in the complex case are specified up to multiplication by "
                    "e^{i phi}. The specified loss function depends on this phase term, making it ill-defined."
                )
        term = col * (vv / e)
        inner = term if inner is None else inner + term
    if gs is not None:
        inner = inner + torch.diag_embed(gs.to(inner.dtype))
    if m > k and gu is not None:
        left = U.matmul(inner) + (gu - U.matmul(U.mH.matmul(gu))) / row
        ga = left.matmul(Vh)
        if n > k and gvh is not None:
            ga = ga + U.matmul((gvh - gvh.matmul(Vh.mH).matmul(Vh)) / col)
        return {"A": ga}
    if n > k and gvh is not None:
        return {"A": U.matmul(inner.matmul(Vh) + (gvh - gvh.matmul(Vh.mH).matmul(Vh)) / col)}
    return {"A": U.matmul(inner).matmul(Vh)}


@_hidden(
    "_matrix_svd(Tensor A, bool full, bool vectors=True) -> (Tensor, Tensor, Tensor)",
    kernel="_linalg_svd",
    tags="python",
    node="LinalgSvdBackward0",
    grad=_svd_grad,
)
def _svd(A, full, vectors=True):
    """U, S (descending) and Vh with A = U diag(S) Vh. Without `vectors` U and Vh are 0 x 0, which has no gradient."""


def _svd_checked(A, full, driver=None, vectors=True):
    _matrix("linalg.svd", A)
    _floating("linalg.svd", A, False)
    _no_half("linalg_svd_cpu", A)
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )
    bad = _infinite(A, "linalg.svd", "contained non-finite values.")
    if bad is None:
        return _svd(A, full, vectors)
    U, S, Vh = _svd(torch.where(bad, torch.eye(*A.shape[-2:], dtype=A.dtype, device=A.device), A), full)
    S = torch.where(bad.squeeze(-1), torch.nan, S)  # infinite elements: neither singular values nor vectors
    if S.shape[-1] == 1:
        return U, S, Vh
    return _columns(torch.where(bad, torch.nan, U)), S, _columns(torch.where(bad, torch.nan, Vh))


@_linalg(
    "svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)", out=Out(EXACT)
)
def svd(A, full_matrices=True, driver=None):
    """Singular value decomposition A = U diag(S) Vh, S descending."""
    return _svd_checked(A, full_matrices, driver)


@_linalg(
    "svdvals(Tensor A, *, str? driver=None) -> Tensor",
    out=Out(EXACT, by="_linalg_svd"),
    samples=lambda t: [(t(3, 4),), (t(4, 3),)],
)
def svdvals(A, driver=None):
    """Singular values, descending."""
    return _svd_checked(A, False, driver, _needs_vectors(A))[1]


@op("svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)", out=True)
def _old_svd(self, some=True, compute_uv=True):
    """Deprecated: see torch.linalg.svd; gives V, not its adjoint."""
    m, n = self.shape[-2:] if self.dim() >= 2 else (0, 0)
    if not compute_uv:
        S = _svd_checked(self, False, None, _needs_vectors(self))[1]
        return self.new_zeros(_zero_batch(self, m, m)), S, self.new_zeros(_zero_batch(self, n, n)).mT
    U, S, Vh = _svd_checked(self, not some)
    return U, S, Vh.mH
