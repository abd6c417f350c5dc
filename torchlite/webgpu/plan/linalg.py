"""Factorisations of small matrices: LU, Cholesky, QR, triangular and general systems, in float32 and complex64.

Each matrix has one workgroup, so matrices that take more than MOST multiplications go to the CPU, which also computes
in double precision. info and pivots are read back only on demand.
"""

from __future__ import annotations


import torchlite as torch

from ... import _C
from .complex import complex64, float32
from ..fallback import ask_core
from ..registry import planner
from ..tensors import contiguous, empty, filled
from ..lazy.stream import family, launch, ready
from ..layout import as_on_cpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from ..._types import Overload, Tensor


geometry = _C.geometry
MOST = 256**3  # multiplications of one matrix: a workgroup does them well before a driver loses patience
_plan = family("linalg", "op", "complex")


def _run(op: str, dtype: Any, tensors: tuple[Tensor, ...], words: tuple[int, ...]) -> None:
    """Launches an op on dense tensors, behind whose words their offsets go."""
    parts = [geometry(t) for t in tensors]
    launch(_plan(op, dtype is complex64), [ready(g[0]) for g in parts], [*words, *[g[3] for g in parts]])


def _able(work: int, *tensors: Tensor) -> bool:
    dtype = tensors[0].dtype
    return (
        work <= MOST
        and (dtype is float32 or dtype is complex64)
        and all([t.dtype is dtype and not t.is_cpu and t.dim() >= 2 for t in tensors])
    )


def _copied(t: Tensor) -> Tensor:
    """A dense copy of its own memory."""
    r = empty(tuple(t.shape), t.dtype)
    if r.numel():
        _C.copy(r, t.detach(), False)
    return r


def _info(A: Tensor) -> Tensor:
    """Room for one number a matrix, which the kernels write; 0 where they have nothing to do."""
    batch = tuple(A.shape[:-2])
    return empty(batch, torch.int32) if A.numel() else filled(batch, torch.int32, 0)


def _count(t: Tensor) -> int:
    n = 1
    for m in t.shape[:-2]:
        n *= m
    return n


def _factored(A: Tensor, pivot: bool) -> tuple[Tensor, Tensor, Tensor]:
    m, n = A.shape[-2:]
    batch = tuple(A.shape[:-2])
    lu, piv, info = _copied(A), empty((*batch, min(m, n)), torch.int32), _info(A)
    if lu.numel():
        _run("lu", A.dtype, (lu, piv, info), (_count(A), m, n, int(pivot)))
    return lu, piv, info


def _solved(a: Tensor, x: Tensor, upper: bool, unit: bool) -> Tensor:
    """x := a^-1 x"""
    n, r = x.shape[-2:]
    if x.numel():
        _run("trsm", x.dtype, (contiguous(a.detach()), x), (_count(x), n, r, int(upper), int(unit)))
    return x


@planner("_linalg_lu")
@as_on_cpu(always=True)
def _lu(ov: Overload, args: tuple[Any, ...]) -> Any:
    A, pivot = args
    if not _able(A.numel() // max(_count(A), 1) * min(A.shape[-2:]), A):
        return NotImplemented
    return _factored(A, pivot)


@planner("_linalg_trsm")
@as_on_cpu(always=True)
def _trsm(ov: Overload, args: tuple[Any, ...]) -> Any:
    A, B, upper, unit = args
    if not _able(A.shape[-1] ** 2 * B.shape[-1], A, B) or A.shape[:-2] != B.shape[:-2]:
        return NotImplemented
    return _solved(A, _copied(B), upper, unit)


@planner("_linalg_solve")
@as_on_cpu(always=True)
def _solve(ov: Overload, args: tuple[Any, ...]) -> Any:
    A, B = args
    n, r = A.shape[-1], B.shape[-1]
    if not _able(n * n * max(n, r), A, B) or A.shape[-2] != n or A.shape[:-2] != B.shape[:-2]:
        return NotImplemented
    lu, piv, info = _factored(A, True)
    x = _copied(B)
    if x.numel():
        _run("swap", A.dtype, (piv, x), (_count(x), n, r))
        _solved(lu, x, False, True)
        _solved(lu, x, True, False)
    return x, lu, piv, info


@planner("_linalg_cholesky")
@as_on_cpu(always=True)
def _cholesky(ov: Overload, args: tuple[Any, ...]) -> Any:
    (A,) = args
    n = A.shape[-1]
    if not _able(n**3, A):
        return NotImplemented
    a, info = _copied(A), _info(A)
    if a.numel():
        _run("cholesky", A.dtype, (a, info), (_count(A), n))
    return a, info


@planner("_linalg_geqrf")
@as_on_cpu(always=True)
def _geqrf(ov: Overload, args: tuple[Any, ...]) -> Any:
    (A,) = args
    m, n = A.shape[-2:]
    if not _able(m * n * min(m, n), A):
        return NotImplemented
    a, tau = _copied(A), empty((*A.shape[:-2], min(m, n)), A.dtype)
    if a.numel():
        _run("geqrf", A.dtype, (a, tau), (_count(A), m, n))
    return a, tau


@planner("_linalg_householder")
@as_on_cpu(always=True)
def _householder(ov: Overload, args: tuple[Any, ...]) -> Any:
    A, tau = args
    m, n = A.shape[-2:]
    if (
        not _able(m * n * n, A)
        or tau.dtype is not A.dtype
        or tau.is_cpu
        or tau.shape[:-1] != A.shape[:-2]
        or n > m
        or tau.shape[-1] > n
    ):
        return NotImplemented
    q = empty(tuple(A.shape), A.dtype)
    if q.numel():
        k = tau.shape[-1]
        _run("orgqr", A.dtype, (contiguous(A.detach()), contiguous(tau.detach()), q), (_count(A), m, n, k))
    return q


# ---- singular values, Hermitian eigenvalues --------------------------------------------------------------------------
def _orthogonal(rows: Tensor) -> tuple[Tensor, Tensor]:
    """(rows made orthogonal to one another by rotations, the rotations)"""
    a = _copied(rows)
    r, m = a.shape[-2:]
    v = empty((*a.shape[:-1], r), a.dtype)
    _run("jacobi", a.dtype, (a, v), (_count(a), r, m))
    return a, v


def _rows(t: Tensor, order: Tensor) -> Tensor:
    """Rows of matrices in an order."""
    return t.gather(-2, order.unsqueeze(-1).expand(tuple(order.shape) + (t.shape[-1],)))


def _basis(u: Tensor, count: int) -> Tensor:
    """`count` orthonormal columns of which the first are u's, which are orthonormal or 0."""
    m, r = u.shape[-2:]
    a, tau = _copied(u), empty((*u.shape[:-2], r), u.dtype)
    _run("geqrf", u.dtype, (a, tau), (_count(u), m, r))
    signs = a.diagonal(0, -2, -1)
    signs = (signs.real if signs.dtype.is_complex else signs).lt(0)
    if count > r:
        a = torch.cat([a, filled((*u.shape[:-1], count - r), u.dtype, 0)], -1)
        signs = torch.cat([signs, filled((*u.shape[:-2], count - r), torch.bool, 0)], -1)
    q = empty((*u.shape[:-1], count), u.dtype)
    _run("orgqr", u.dtype, (contiguous(a), tau, q), (_count(u), m, count, r))
    return torch.where(signs.unsqueeze(-2), -q, q)


@planner("_linalg_svd")
@as_on_cpu(always=True)
def _svd(ov: Overload, args: tuple[Any, ...]) -> Any:
    A, full = args[:2]
    m, n = A.shape[-2:]
    r, big = min(m, n), max(m, n)
    if not A.numel():
        return ask_core(ov, args)
    if not _able(big * max(r, big * full) * r * 4, A):
        return NotImplemented
    A = A.detach()
    wide = m < n
    a, v = _orthogonal(A if wide else A.mT)
    s = torch.linalg.vector_norm(a, 2, -1)
    if not torch.isfinite(s).all().item():
        return NotImplemented  # the CPU says what is wrong
    s, order = torch.sort(s, -1, True)
    a, v = _rows(a, order), _rows(v, order).conj()
    u = a / torch.where(s > 0, s, 1.0).unsqueeze(-1)
    u = _basis(u.mT, big if full else r)
    return (_copied(v.mT), s, _copied(u.mT)) if wide else (u, s, v)


@planner("_linalg_eigh")
@as_on_cpu(always=True)
def _eigh(ov: Overload, args: tuple[Any, ...]) -> Any:
    A = args[0]
    n = A.shape[-1]
    if not A.numel():
        return ask_core(ov, args)
    if A.shape[-2] != n or not _able(4 * n**3, A):
        return NotImplemented
    lower = A.detach().tril()
    diagonal = lower.diagonal(0, -2, -1)
    h = lower + lower.tril(-1).mH
    if A.dtype is complex64:
        h.diagonal(0, -2, -1).copy_(diagonal.real)
    # eigenvalues moved above 0 are singular values, and the rotations' rows are the vectors
    shift = torch.linalg.vector_norm(h, 2, (-2, -1))
    if not torch.isfinite(shift).all().item():
        return NotImplemented
    _, v = _orthogonal(
        (h + shift.reshape(tuple(shift.shape) + (1, 1)) * torch.eye(n, dtype=float32, device=A.device)).mT
    )
    v = v.mT
    w = (v.conj() * h.matmul(v)).sum(-2)
    if w.dtype.is_complex:
        w = w.real
    length = torch.linalg.vector_norm(v, 2, -2)
    w, order = torch.sort(w / (length * length), -1)
    v = (v / length.unsqueeze(-2)).gather(-1, order.unsqueeze(-2).expand(tuple(v.shape)))
    return w, v
