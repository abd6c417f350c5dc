"""torch.linalg: LU factorisations, and what they solve: systems, inverses, determinants."""

import torchlite as torch

from .. import _C
from .._core.dispatch_modes import all_examples, on_all_examples
from ._declare import op
from ._out import EXACT, Out
from .linalg import (
    _columns,
    _compatible,
    _expand_batch,
    _eye_like,
    _failed,
    _floating,
    _hidden,
    _linalg,
    _no_half,
    _no_inverse,
    _read_by_columns,
    _square,
    _triangular,
)


def _solve_grad(c, g):
    g = g[0]
    gb = _solve(c.A.mH, g)[0]
    return {"A": -gb.matmul(c.result0.mH) if c.needs_A else None, "B": gb}


@_hidden(
    "_linalg_solve(Tensor A, Tensor B) -> (Tensor, Tensor, Tensor, Tensor)",
    kernel="_linalg_solve",
    grad=_solve_grad,
    nondiff=(1, 2, 3),
)
def _solve(A, B):
    """X with A X = B for matrices with equal batch dims; also LU, pivots and info."""


def _lu_grad(c, g):
    lu, g = c.result0, g[0]
    eye = _eye_like(lu)
    lower, upper = lu.tril(-1) + eye, lu.triu()
    phi = (lower.mH.matmul(g.tril(-1))).tril(-1) + (g.triu().matmul(upper.mH)).triu()
    phi = _triangular(lower.mH, phi, True, True)
    return {"A": _triangular(upper, phi.mH, True, False).mH}


@_hidden(
    "_linalg_lu_square(Tensor A, bool pivot) -> (Tensor, Tensor, Tensor)",
    kernel="_linalg_lu",
    nondiff=(1, 2),
    grad=_lu_grad,
)
def _lu_square(A, pivot):
    """LU of square matrices; the gradient is that of matrices that need no exchange of rows."""


@_hidden(
    "_linalg_lu_any(Tensor A, bool pivot) -> (Tensor, Tensor, Tensor)",
    kernel="_linalg_lu",
    grad=None,
    differentiable=False,
)
def _lu_any(A, pivot):
    """LU, pivots (from 1) and info."""


def _permutation(pivots, m):
    """Row order that the exchanges in `pivots` lead to, as indices (*, m)."""
    return on_all_examples(lambda p: _orders(p, m), pivots)


def _orders(pivots, m):
    if not pivots.numel() or pivots.is_meta:
        return torch.arange(m, device=pivots.device).expand(tuple(pivots.shape[:-1]) + (m,))
    rows = pivots.reshape(-1, pivots.shape[-1]).tolist()
    out = []
    for p in rows:
        order = list(range(m))
        for i, j in enumerate(p):
            if not 1 <= j <= m:
                raise RuntimeError(
                    "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
                    "Did you properly pass the result of lu_factor?"
                )
            order[i], order[j - 1] = order[j - 1], order[i]
        out.append(order)
    return torch.tensor(out, dtype=torch.int64, device=pivots.device).reshape(tuple(pivots.shape[:-1]) + (m,))


def _take_rows(x, order):
    return x.gather(-2, order.unsqueeze(-1).expand(tuple(order.shape) + (x.shape[-1],)))


def _lu(A, pivot):
    LU, pivots, info = _lu_any(A.detach(), pivot)
    if not _C.differentiated(A):
        return LU, pivots, info
    # the same with known row order, through ops with gradients
    m, n = A.shape[-2:]
    k = min(m, n)
    x = _take_rows(A, _permutation(pivots, m)) if pivot and A.numel() else A
    lu = _lu_square(x[..., :k, :k], False)[0]
    if m > k:
        lower = _triangular(lu.triu().mT, x[..., k:, :k].mT, False, False).mT
        lu = torch.cat([lu, lower], -2)
        # below a pivot of 0 the factorisation leaves what was there
        if not lu.is_meta and not bool(torch.isfinite(all_examples(lu)).all()):
            lu = torch.where(torch.isfinite(lu), lu, LU)
    elif n > k:
        upper = _triangular(lu.tril(-1) + _eye_like(lu), x[..., k:], False, True)
        lu = torch.cat([lu, upper], -1)
    return _columns(lu), pivots, info


def _lu_check(x, pivot=True):
    if x.dim() < 2:
        raise RuntimeError(
            f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: {list(x.shape)} instead"
        )
    _no_half("lu_cpu", x, True)


@_linalg(
    "lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)",
    nondiff=(1, 2),
    out=True,
)
def lu_factor_ex(A, pivot=True, check_errors=False):
    """LU decomposition in one matrix, row exchanges (from 1), and info: the first zero pivot or 0."""
    _lu_check(A)
    LU, pivots, info = _lu(A, pivot)
    if check_errors:
        _failed("torch.linalg.lu_factor_ex", info, _zero_pivot)
    return LU, pivots, info


def _zero_pivot(i):
    return (
        f"U[{i},{i}] is zero and using it on lu_solve would result in a division by zero. "
        "If you still want to perform the factorization, consider calling linalg.lu(A, "
        "pivot) or linalg.lu_factor_ex(A, pivot)"
    )


@_linalg("lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)", nondiff=(1,), out=Out(EXACT))
def lu_factor(A, pivot=True):
    """LU decomposition in one matrix, and the row exchanges (from 1)."""
    _lu_check(A)
    LU, pivots, info = _lu(A, pivot)
    info = all_examples(info)
    if info.numel() and not info.is_meta and bool((info != 0).any()):
        flat = info.reshape(-1).tolist()
        at = next(i for i, v in enumerate(flat) if v)
        where = f"(Batch element {at}): " if info.dim() else ""
        raise RuntimeError(f"torch.linalg.lu_factor: {where}" + _zero_pivot(flat[at]))
    return LU, pivots


@op(
    "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, "
    "Tensor L, Tensor U)",
    variants="function",
    out=True,
)
def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    """P, L and U with A = P L U from a compact LU decomposition."""
    if unpack_pivots and LU_pivots.dtype != torch.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    if LU_data.dim() < 2:
        raise RuntimeError(
            f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(LU_data.shape)} instead"
        )
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    if unpack_pivots and LU_pivots.shape != (*LU_data.shape[:-2], k):
        raise RuntimeError(
            f"torch.lu_unpack: Expected LU_pivots of shape {[*LU_data.shape[:-2], k]}, got {list(LU_pivots.shape)}"
        )
    P = L = U = LU_data.new_empty((0,))
    if unpack_pivots:
        order = _permutation(LU_pivots, m)
        P = torch.zeros(tuple(order.shape) + (m,), dtype=LU_data.dtype, device=LU_data.device)
        if order.numel():
            P = P.scatter(-1, order.unsqueeze(-1), 1).mT.contiguous()
    if unpack_data:
        L = LU_data[..., :, :k].tril(-1)
        L = L + torch.eye(m, k, dtype=L.dtype, device=L.device)
        U = LU_data[..., :k, :].triu()
    return P, L, U


@_linalg(
    "lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
    nondiff=(0,),
    out=Out(EXACT),
    samples=lambda t: [(t(3, 3),), (t(2, 4, 3),)],
)
def lu(A, pivot=True):
    """P, L and U with A = P L U: permutation, unit lower triangle, upper triangle."""
    if A.dim() < 2:
        raise RuntimeError(f"linalg.lu: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    _no_half("lu_cpu", A, True)
    LU, pivots, _ = _lu(A, pivot)
    P, L, U = lu_unpack(LU, pivots)
    return (P if pivot else A.new_empty((0,))), L, U


def _lu_solve_of(LU, pivots, B, left, adjoint):
    n = LU.shape[-1]
    if not left:
        return _lu_solve_of(LU, pivots, B.mH, True, not adjoint).mH
    LU, B = _expand_batch(LU, B)
    order = _permutation(pivots, n)
    order = order.expand(tuple(B.shape[:-2]) + (n,))
    lower, upper = LU.tril(-1) + _eye_like(LU), LU.triu()
    if not adjoint:
        y = _triangular(lower, _take_rows(B, order) if B.numel() else B, False, True)
        return _triangular(upper, y, True, False)
    y = _triangular(upper.mH, B, False, False)
    y = _triangular(lower.mH, y, True, True)
    return _take_rows(y, order.argsort(-1)) if y.numel() else y


@_linalg(
    "lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor", out=Out(EXACT)
)
def lu_solve(LU, pivots, B, left=True, adjoint=False):
    """X with A X = B (or X A = B, or with A^H) from the LU decomposition of A."""
    _floating("torch.linalg.lu_solve", LU, low=False)
    if LU.dtype != B.dtype:
        raise RuntimeError(
            f"linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type "
            f"{LU.dtype._scalar_type} and B of type {B.dtype._scalar_type} instead"
        )
    _square("linalg.lu_solve", LU)
    if pivots.dtype != torch.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    _compatible("linalg.lu_solve", LU, B, left)
    if pivots.dim() < 1 or pivots.shape[-1] != LU.shape[-1]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if LU.shape[:-1] != pivots.shape:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    x = _lu_solve_of(LU, pivots, _read_by_columns(B) if left else B, left, adjoint)
    return _columns(x) if left else x.contiguous()


@op("lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor", out=Out(EXACT))
def _old_lu_solve(self, LU_data, LU_pivots):
    """Deprecated: see torch.linalg.lu_solve."""
    _C.warn_once(
        "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch release."
        "\nNote that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\nshould be "
        "replaced with\nX = torch.linalg.lu_solve(LU, pivots, B)"
    )
    return lu_solve(LU_data, LU_pivots, self)


def _same_dtype(name, A, B):
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {A.dtype._scalar_type} and B of "
            f"type {B.dtype._scalar_type} instead"
        )


def _is_vector(A, B):
    """Whether B is a vector for each matrix of A."""
    return B.dim() == 1 or (B.dim() == A.dim() - 1 and A.shape[:-1] == B.shape)


def _solve_adjoint(LU, pivots, B):
    """X with A^H X = B from the factors of A, without a graph: each solver reads its triangle only."""
    order = _permutation(pivots, LU.shape[-1]).expand(B.shape[:-1])
    x = _triangular(LU.mH, _triangular(LU.mH, B, False, False), True, True)
    return _columns(_take_rows(x, order.argsort(-1)) if x.numel() else x)


def _solve_any_grad(c, g):
    x, y, vector = c.result0, g[0], _is_vector(c.A, c.result0)
    if vector:
        x, y = x.unsqueeze(-1), y.unsqueeze(-1)
    if torch.is_grad_enabled():
        y = _solve_of(c.A.mH, y, c.left)[0]
    else:
        y = _solve_adjoint(c.result1, c.result2, y) if c.left else _solve_adjoint(c.result1, c.result2, y.mT).mT
    found = {"B": y.squeeze(-1) if vector else y}
    if c.needs_A:
        found["A"] = -(y.matmul(x.mH) if c.left else x.mH.matmul(y))
    return found


@_hidden(
    "_linalg_solve_of(Tensor A, Tensor B, bool left) -> (Tensor, Tensor, Tensor, Tensor)",
    grad=_solve_any_grad,
    nondiff=(1, 2, 3),
    node="LinalgSolveExBackward0",
    tags="own",
)
def _solve_of(A, B, left):
    """X with A X = B, or X A = B; LU and pivots of A, or of its transpose for X A = B; info. B may hold vectors. One
    node for all forms, as in PyTorch."""
    vector = _is_vector(A, B)
    a, b = _expand_batch(A, B.unsqueeze(-1) if vector else B)
    if left:
        x, *others = _solve(a, b)
    else:
        x, *others = _solve(a.mT, b.mT)
        x = x.mT
    if vector:
        x = x.squeeze(-1)
        x = _columns(x) if x.dim() > 1 else x  # a batch of vectors counts as one matrix
    return x, *others


def _solve_any(name, A, B, left):
    _floating(name, A, low=False)
    _square(name, A)
    _same_dtype(name, A, B)
    vector = _is_vector(A, B)
    _compatible(name, A, B.unsqueeze(-1) if vector else B, left)
    if vector and not left:
        raise RuntimeError(
            f"{name}: Vector broadcasting of the left hand side is not supported for left=False. "
            "In this case linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    _no_half("lu_cpu", A)
    x, _, _, info = _solve_of(A, B, left)
    return x, info


@_linalg(
    "solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)",
    nondiff=(1,),
    out=True,
)
def solve_ex(A, B, left=True, check_errors=False):
    """`solve`, and info: 0, or the first zero pivot of a singular matrix."""
    x, info = _solve_any("linalg.solve", A, B, left)
    if check_errors:
        _failed("torch.linalg.solve", info, _singular)
    return x, info


def _singular(i):
    return "The solver failed because the input matrix is singular."


@_linalg(
    "solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
    out=Out(EXACT, by="_linalg_solve_ex"),
    tags="own",
    samples=lambda t: [(t(3, 3), t(3)), (t(2, 3, 3), t(2, 3, 2))],
)
def solve(A, B, left=True):
    """X with A X = B (X A = B for left=False); A square."""
    x, info = _solve_any("linalg.solve", A, B, left)
    _failed("torch.linalg.solve", info, _singular)
    return x


@_linalg(
    "inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
    nondiff=(1,),
    out=Out(EXACT),
    grad={"A": lambda c, g: None if g[0] is None else -c.result0.mH.matmul(g[0].matmul(c.result0.mH))},
)
def inv_ex(A, check_errors=False):
    """The inverse, and info: 0, or the first zero pivot of a singular matrix."""
    _floating("linalg.inv", A)
    _square("linalg.inv", A)
    x, _, _, info = _solve(A, _eye_like(A).expand(A.shape))
    if check_errors:
        _failed("linalg.inv", info, _no_inverse)
    return x, info


@_linalg("inv(Tensor A) -> Tensor", out=Out(EXACT, by="linalg_inv_ex"), samples=lambda t: [(t(3, 3),), (t(2, 3, 3),)])
def inv(A):
    """The inverse of a square matrix."""
    x, info = inv_ex(A)
    _failed("linalg.inv", info, _no_inverse)
    return x


@op("inverse(Tensor self) -> Tensor", out=Out(EXACT, by="linalg_inv_ex"))
def _inverse(self):
    """See torch.linalg.inv."""
    return inv(self)
