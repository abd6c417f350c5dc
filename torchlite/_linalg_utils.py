"""Small functions of linear algebra, with PyTorch's names; None as a matrix is the identity."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from ._core.removed import eig, lstsq, matrix_rank, solve  # noqa: F401


def is_sparse(A: Any) -> bool:
    """Whether a tensor has the layout COO."""
    if not isinstance(A, torch.Tensor):
        raise TypeError("expected Tensor but got %s" % type(A))
    return A.layout is torch.sparse_coo


def get_floating_dtype(A: Any) -> Any:
    """The dtype in which to compute with A: its own, or float32 for integers."""
    return A.dtype if A.dtype in (torch.float16, torch.float32, torch.float64) else torch.float32


def matmul(A: Any, B: Any) -> Any:
    """A @ B, for a dense or sparse A."""
    if A is None:
        return B
    return torch.sparse.mm(A, B) if is_sparse(A) else torch.matmul(A, B)


def bform(X: Any, A: Any, Y: Any) -> Any:
    """X.mT @ A @ Y."""
    return matmul(X.mT, matmul(A, Y))


def qform(A: Any, S: Any) -> Any:
    """S.mT @ A @ S."""
    return bform(S, A, S)


def basis(A: Any) -> Any:
    """An orthonormal basis of the columns."""
    return torch.linalg.qr(A).Q


def symeig(A: Any, largest: bool | None = False) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of a symmetric matrix, the smallest or the largest first."""
    E, Z = torch.linalg.eigh(A, UPLO="U")
    return (E.flip(-1), Z.flip(-1)) if largest else (E, Z)
