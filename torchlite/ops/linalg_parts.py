"""Of what PyTorch composes its linear algebra. Modes and traces see these in its place."""

import torchlite as torch

from ._declare import op
from .linalg import _expand_batch, _failed, _indefinite, _ldl_zero, _no_inverse
from .linalg_derived import _det_checked, _slogdet_checked
from .linalg_lu import _is_vector, _singular, _solve_any, _zero_pivot
from .linalg_spectral import _eigh_grad, _eigh_of, _needs_vectors, _svd_checked, _svd_grad

_TEXTS = {
    "torch.linalg.solve": _singular,
    "linalg.inv": _no_inverse,
    "torch.linalg.lu_factor": _zero_pivot,
    "torch.linalg.ldl_factor": _ldl_zero,
}


def _fn(*schemas, **kw):
    return op(*schemas, variants="function", **kw)


@_fn("_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()", differentiable=False)
def _linalg_check_errors(info, api_name, is_matrix):
    """Raises for the first matrix whose info is not 0."""
    _failed(api_name, info if not is_matrix else info.reshape(()), _TEXTS.get(api_name, _indefinite))


def _transposed_lu(A):
    """LU of the adjoint where PyTorch takes that, which lies by columns already."""
    return torch.linalg.lu_factor_ex(A.mH if A.is_contiguous() and not A.is_complex() else A)[:2]


@_fn(
    "_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
    nondiff=(1, 2),
    samples=lambda t: [(t(3, 3),), (t(2, 3, 3),)],
)
def _linalg_det(A):
    """Determinant, and the factors that it is of."""
    return (_det_checked(A), *_transposed_lu(A.detach()))


@_fn(
    "_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
    nondiff=(2, 3),
    samples=lambda t: [(t(3, 3),)],
)
def _linalg_slogdet(A):
    """Sign and logarithm of the determinant, and the factors that it is of."""
    return (*_slogdet_checked(A), *_transposed_lu(A.detach()))


@_fn(
    "_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) "
    "-> (Tensor result, Tensor LU, Tensor pivots, Tensor info)",
    nondiff=(1, 2, 3),
    samples=lambda t: [(t(3, 3), t(3)), (t(2, 3, 3), t(2, 3, 2))],
)
def _linalg_solve_ex(A, B, left=True, check_errors=False):
    """X with A X = B, the factors of A, and info."""
    result, info = _solve_any("linalg.solve", A, B, left)
    if check_errors:
        _failed("torch.linalg.solve_ex", info, _singular)
    expanded, _ = _expand_batch(A.detach(), B.unsqueeze(-1) if _is_vector(A, B) else B)
    return (result, *_transposed_lu(expanded.contiguous()), info)


@_fn(
    "_linalg_eigh(Tensor A, str UPLO='L', bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)",
    grad=_eigh_grad,
    node="LinalgEighBackward0",
)
def _linalg_eigh(A, UPLO="L", compute_v=True):
    """Eigenvalues, and eigenvectors where they are wanted."""
    values, vectors = _eigh_of(A, UPLO, 1 if compute_v else 2, compute_v or _needs_vectors(A))
    return values, vectors if compute_v else vectors.new_empty(0)


@_fn(
    "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) "
    "-> (Tensor U, Tensor S, Tensor Vh)",
    grad=_svd_grad,
    node="LinalgSvdBackward0",
)
def _linalg_svd(A, full_matrices=False, compute_uv=True, driver=None):
    """Singular values, and vectors where they are wanted."""
    U, S, Vh = _svd_checked(A, full_matrices, driver, compute_uv or _needs_vectors(A))
    return (U, S, Vh) if compute_uv else (U.new_empty(0), S, Vh.new_empty(0))
