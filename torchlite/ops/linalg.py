"""torch.linalg: triangular systems, Cholesky, LDL and QR factorisations; linalg_lu.py has LU.
Private ops hold the kernels and the gradients;
the public ones check their arguments as PyTorch does and build on them."""

from typing import Any

import torchlite as torch

from .._core.errors import not_implemented, not_square
from .. import _C
from .._core.dispatch_modes import all_examples
from ._declare import _functions, op, reference
from ._out import EXACT, Out, SCALAR_TYPE, castable


class LinAlgError(RuntimeError):
    """A matrix has no such factorisation, or an algorithm did not converge."""

    __module__ = "torch._C"


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"
torch._C._LinAlgError = LinAlgError
_functions.setdefault("linalg", {})["LinAlgError"] = LinAlgError


def _hidden(*schemas, **kw):
    return op(*schemas, module="_hidden", **kw)


def _linalg(*schemas, **kw):
    return op(*("linalg_" + s for s in schemas), module="linalg", **kw)


# ---- checks ----------------------------------------------------------------------------------------------------------
def _matrix(name, x, arg="A"):
    if x.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor {arg} must have at least 2 dimensions.")


def _square(name, x):
    _matrix(name, x)
    if x.shape[-1] != x.shape[-2]:
        raise not_square(x, name)


def _floating(name, x, low=True):
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {x.dtype._scalar_type}")
    if low and x.dtype in (torch.float16, torch.bfloat16):
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {x.dtype._scalar_type}")


def _no_half(kernel, x, floating=False):
    if x.dtype in (torch.float16, torch.bfloat16) or (floating and not (x.is_floating_point() or x.is_complex())):
        raise not_implemented(kernel, x.dtype)


def _failed(name, info, text):
    """Raises for the first matrix of the batch whose info is not 0."""
    info = all_examples(info)
    if info.numel() and not info.is_meta and bool((info != 0).any()):
        flat = info.reshape(-1).tolist()
        at = next(i for i, v in enumerate(flat) if v)
        where = f"(Batch element {at}): " if info.dim() else ""
        raise LinAlgError(f"{name}: {where}{text(flat[at])}")


def _no_inverse(i):
    return (
        f"The diagonal element {i} is zero, the inversion could not be completed because the input matrix is singular."
    )


def _eye_like(x, n=None):
    return torch.eye(x.shape[-1] if n is None else n, dtype=x.dtype, device=x.device)


def _zero_batch(x, *tail):
    return tuple(x.shape[:-2]) + tail


def _expand_batch(a, b):
    """Both with the broadcast batch dims."""
    if a.shape[:-2] == b.shape[:-2]:
        return a, b
    batch = tuple(torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
    return a.expand(batch + tuple(a.shape[-2:])), b.expand(batch + tuple(b.shape[-2:]))


def _columns(x):
    """x with its matrices by columns, as LAPACK leaves them."""
    if x.stride(-2) == 1 and x.stride(-1) == max(x.shape[-2], 1) and x.mT.is_contiguous():
        return x
    return x.mT.clone(memory_format=torch.contiguous_format).mT


@_hidden("_gradient_by_columns(Tensor self) -> Tensor", grad={"self": lambda c, g: _columns(g)})
def _gradient_by_columns(self):
    """The tensor itself; its gradient comes by columns, as that of what LAPACK reads does in PyTorch."""
    return self


def _read_by_columns(x):
    return _gradient_by_columns(x) if x.requires_grad and torch.is_grad_enabled() else x


def _compatible(name, A, B, left=True):
    _matrix(name, B, "B")
    if A.shape[-2 if left else -1] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )


def _b_and_A(b, A):
    if A.dtype != b.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {b.dtype._scalar_type} and A of type "
            f"{A.dtype._scalar_type} instead."
        )


# ---- triangular and Cholesky -----------------------------------------------------------------------------------------
def _triangular_grad(c, g):
    gb = _triangular(c.A.mH, g, not c.upper, c.unitriangular)
    ga = None
    if c.needs_A:
        ga = -gb.matmul(c.result.mH)
        if c.upper:
            ga = ga.triu(1 if c.unitriangular else 0)
        else:
            ga = ga.tril(-1 if c.unitriangular else 0)
    return {"A": ga, "B": gb}


@_hidden(
    "_linalg_trsm(Tensor A, Tensor B, bool upper, bool unitriangular) -> Tensor",
    kernel="_linalg_trsm",
    grad=_triangular_grad,
    tags="reference",
)
def _trsm(A, B, upper, unitriangular):
    """X with A X = B for triangular A; equal batch dims."""
    return reference.solved_triangle(A, B, upper, unitriangular)


def _triangular_right_grad(c, g):
    gb = _triangular_right(c.A.mH, g, not c.upper, c.unitriangular)
    ga = -c.result.mH.matmul(gb) if c.needs_A else None
    if ga is not None:
        if c.upper:
            ga = ga.triu(1 if c.unitriangular else 0)
        else:
            ga = ga.tril(-1 if c.unitriangular else 0)
    return {"A": ga, "B": gb}


@_hidden(
    "_linalg_trsm_right(Tensor A, Tensor B, bool upper, bool unitriangular) -> Tensor", grad=_triangular_right_grad
)
def _trsm_right(A, B, upper, unitriangular):
    """X, by columns, with X A = B for triangular A; equal batch dims."""
    return _columns(_trsm(A.mT, B.mT, not upper, unitriangular).mT)


def _triangular_right(A, B, upper, unitriangular):
    b, a = _expand_batch(B.mT, A)  # A has the dims of B's transpose
    return _as_conjugate(a, _trsm_right(a, b.mT, upper, unitriangular))


def _triangular(A, B, upper, unitriangular):
    a, b = _expand_batch(A, B)
    return _as_conjugate(a, _trsm(a, b, upper, unitriangular))


def _as_conjugate(A, x):
    """The solution x by rows where A is the conjugate of a matrix by columns, which PyTorch reads where it is."""
    return x.clone(memory_format=torch.contiguous_format) if A.is_conj() and A.mT.is_contiguous() else x


@_linalg(
    "solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
    out=Out(SCALAR_TYPE),
    samples=lambda t: [(t(3, 3, lo=1, hi=2), t(3, 2), {"upper": True})],
)
def solve_triangular(self, B, upper, left=True, unitriangular=False):
    """X with A X = B (X A = B for left=False) for a triangular matrix A, of which only that triangle is read."""
    name = "linalg.solve_triangular"
    _square(name, self)
    _compatible(name, self, B, left)
    _no_half("triangular_solve_cpu", self, True)
    if B.dtype != self.dtype:
        B = B.to(self.dtype)
    if left:
        return _triangular(self, B, upper, unitriangular)
    return _triangular_right(self, B, upper, unitriangular)


@op(
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, "
    "bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
    out=True,
)
def triangular_solve(self, A, upper=True, transpose=False, unitriangular=False):
    """Deprecated: see torch.linalg.solve_triangular."""
    if self.dim() < 2:
        raise RuntimeError(
            "torch.triangular_solve: Expected b to have at least 2 dimensions, "
            f"but it has {self.dim()} dimensions instead"
        )
    if A.dim() < 2:
        raise RuntimeError(
            f"torch.triangular_solve: Expected A to have at least 2 dimensions, but it has {A.dim()} dimensions instead"
        )
    _b_and_A(self, A)
    if A.shape[-1] != A.shape[-2]:
        raise not_square(A)
    if A.shape[-1] != self.shape[-2]:
        raise RuntimeError(
            "Incompatible matrix sizes for triangular_solve: each A matrix is "
            f"{A.shape[-1]} by {A.shape[-1]} but each b matrix is {self.shape[-2]} by {self.shape[-1]}"
        )
    _C.warn_once(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a "
        "future PyTorch release.\ntorch.linalg.solve_triangular has its arguments reversed and does not return a "
        "copy of one of the inputs.\nX = torch.triangular_solve(B, A).solution\nshould be replaced with\n"
        "X = torch.linalg.solve_triangular(A, B)."
    )
    _no_half("triangular_solve_cpu", A, True)
    a, b = _expand_batch(A, _read_by_columns(self))
    return _triangular(a.mT if transpose else a, b, upper != transpose, unitriangular), a.mT.clone(
        memory_format=torch.contiguous_format
    ).mT


def _cholesky_grad(c, g):
    L, g = (c.result0.mH, g[0].mH) if c.upper else (c.result0, g[0])
    phi = L.mH.matmul(g)
    phi = (phi.tril() + phi.tril(-1).mH) * 0.5
    phi = _triangular(L.mH, phi, True, False)
    return {"A": _columns(_triangular(L.mH, phi.mH, True, False).mH)}


@_hidden(
    "_linalg_cholesky_lower(Tensor A) -> (Tensor, Tensor)",
    kernel="_linalg_cholesky",
    grad=None,
    differentiable=False,
    tags="reference",
)
def _cholesky_lower(A):
    """Lower factor of Hermitian positive definite matrices (lower triangle read), and info."""
    return reference.cholesky(A)


@_hidden("_linalg_cholesky(Tensor A, bool upper) -> (Tensor, Tensor)", nondiff=(1,), grad=_cholesky_grad)
def _cholesky(A, upper):
    """Lower or upper factor, and info."""
    L, info = _cholesky_lower(A.mH if upper else A)
    return (_columns(L.mH) if upper else L), info


@_linalg(
    "cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)",
    nondiff=(1,),
    out=True,
)
def cholesky_ex(self, upper=False, check_errors=False):
    """The Cholesky factor, and info: 0, or the order of the leading minor that is not positive definite."""
    _floating("linalg.cholesky", self, False)
    _square("linalg.cholesky", self)
    _no_half("cholesky_cpu", self)
    L, info = _cholesky(self, upper)
    if check_errors:
        _failed("linalg.cholesky_ex", info, _indefinite)
    return L, info


def _indefinite(i):
    return (
        "The factorization could not be completed because the input is not positive-definite (the leading minor of "
        f"order {i} is not positive-definite)."
    )


@_linalg("cholesky(Tensor self, *, bool upper=False) -> Tensor", out=Out(EXACT))
def cholesky(self, upper=False):
    """Lower triangular L with A = L L^H (or U with A = U^H U) for Hermitian positive definite A."""
    L, info = cholesky_ex(self, upper=upper)
    _failed("linalg.cholesky", info, _indefinite)
    return L


@op("cholesky(Tensor self, bool upper=False) -> Tensor", out=Out(tags="plain"))
def _old_cholesky(self, upper=False):
    """Deprecated: see torch.linalg.cholesky."""
    _C.warn_once(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch "
        "release.\nL = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\n"
        "U = torch.cholesky(A, upper=True)\nshould be replaced with\nU = torch.linalg.cholesky(A).mH\n"
        "This transform will produce equivalent results for all valid (symmetric positive definite) inputs."
    )
    _square("cholesky", self)
    L, info = cholesky_ex(self, upper=upper)
    _failed("cholesky", info, _indefinite)
    return L if L.numel() else L.clone(memory_format=torch.contiguous_format)


@op("cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", out=Out(tags="plain"))
def cholesky_solve(self, input2, upper=False):
    """X with A X = B for B = `self` and the Cholesky factor `input2` of A."""
    B, L = self, input2
    if B.dim() < 2:
        raise RuntimeError(f"b should have at least 2 dimensions, but has {B.dim()} dimensions instead")
    if L.dim() < 2:
        raise RuntimeError(f"u should have at least 2 dimensions, but has {L.dim()} dimensions instead")
    _b_and_A(B, L)
    if L.shape[-1] != L.shape[-2]:
        raise not_square(L)
    if L.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {L.shape[-1]} by {L.shape[-1]} but "
            f"each b matrix is {B.shape[-2]} by {B.shape[-1]}"
        )
    _no_half("cholesky_solve_cpu", B, True)
    return _cholesky_solve(*_expand_batch(B, L), upper)


def _cholesky_solve_grad(c, g):
    gb = _cholesky_solve(g, c.L, c.upper)
    gl = None
    if c.needs_L:
        t = gb.matmul(c.result.mH)
        t = t + t.mH
        gl = -(c.L.matmul(t) if c.upper else t.matmul(c.L))
    return {"B": gb, "L": gl}


@_hidden("_cholesky_solve(Tensor B, Tensor L, bool upper) -> Tensor", grad=_cholesky_solve_grad)
def _cholesky_solve(B, L, upper):
    """Two triangular systems; equal batch dims."""
    low = L.mH if upper else L
    return _triangular(low.mH, _triangular(low, B, False, False), True, False)


def _cholesky_inverse_grad(c, g):
    t = c.result.matmul(g + g.mH).matmul(c.result)
    return {"self": -(c.self.matmul(t) if c.upper else t.matmul(c.self))}


@op(
    "cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
    out=Out(castable("cholesky_inverse", "result"), "plain"),
    grad=_cholesky_inverse_grad,
)
def cholesky_inverse(self, upper=False):
    """The inverse of A from its Cholesky factor."""
    _square("cholesky_inverse", self)
    _no_half("cholesky_inverse_out_cpu", self, True)
    zero = self.detach().diagonal(dim1=-2, dim2=-1) == 0
    first = torch.where(zero.any(-1), zero.to(torch.int64).argmax(-1) + 1, 0) if self.numel() else zero.any(-1)
    _failed("cholesky_inverse", first, _no_inverse)
    return _cholesky_solve(_eye_like(self).expand(self.shape), self, upper)


# ---- LDL -------------------------------------------------------------------------------------------------------------
@_hidden(
    "_linalg_ldl(Tensor A, bool hermitian) -> (Tensor, Tensor, Tensor)",
    kernel="_linalg_ldl",
    grad=None,
    differentiable=False,
)
def _ldl(A, hermitian):
    """Factors in one matrix (lower triangle), pivots as LAPACK's, and info."""


@_hidden(
    "_linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, bool hermitian) -> Tensor",
    kernel="_linalg_ldl_solve",
    grad=None,
    differentiable=False,
)
def _ldl_solve(LD, pivots, B, hermitian):
    """Solves with the factors of `_ldl`; equal batch dims."""


def _ldl_checked(self, hermitian):
    _square("torch.linalg.ldl_factor_ex", self)
    _no_half("ldl_factor_cpu", self, True)
    LD, pivots, info = _ldl(self, hermitian)
    return _columns(LD.tril()), pivots, info


@_linalg(
    "ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, "
    "Tensor pivots, Tensor info)",
    out=True,
    grad={},
)
def ldl_factor_ex(self, hermitian=False, check_errors=False):
    """L D L^T (or L D L^H) of a symmetric (Hermitian) matrix in one lower triangle, pivots and info."""
    LD, pivots, info = _ldl_checked(self, hermitian)
    if check_errors:
        _failed("torch.linalg.ldl_factor_ex", info, _ldl_zero)
    return LD, pivots, info


def _ldl_zero(i):
    return (
        f"The factorization could not be completed because the input is singular: D[{i},{i}] is zero. "
        "Using it for solve or inversion would divide by zero."
    )


@_linalg("ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)", out=True, grad={})
def ldl_factor(self, hermitian=False):
    """L D L^T (or L D L^H) of a symmetric (Hermitian) matrix in one lower triangle, and pivots."""
    LD, pivots, info = _ldl_checked(self, hermitian)
    _failed("torch.linalg.ldl_factor", info, _ldl_zero)
    return LD, pivots


@_linalg("ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor", out=Out(EXACT), grad={})
def ldl_solve(LD, pivots, B, hermitian=False):
    """X with A X = B from the factors of `ldl_factor`."""
    name = "torch.linalg.ldl_solve"
    _square(name, LD)
    if B.dim() < 2:
        raise RuntimeError(f"{name}: Expected B to have at least 2 dimensions, but it has {B.dim()} dimensions instead")
    if pivots.shape != LD.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    if pivots.dtype not in (torch.int32, torch.int64, torch.int16, torch.int8):
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {pivots.dtype._scalar_type}")
    if LD.dtype != B.dtype:
        raise RuntimeError(f"{name}: LD dtype {LD.dtype._scalar_type} does not match b dtype {B.dtype._scalar_type}")
    _compatible(name, LD, B)
    ld, b = _expand_batch(LD, B)
    return _ldl_solve(ld, pivots.expand(tuple(ld.shape[:-1])), b, hermitian)


# ---- QR --------------------------------------------------------------------------------------------------------------
def _sym(x):
    """x + x^H with the diagonal of x, real."""
    r = x + x.mH
    d = x.diagonal(0, -2, -1)
    return r - torch.diag_embed(torch.real(d).to(d.dtype) if d.is_complex() else d)


def _qr_grad(c, g):
    (gq, gr), q, r = g, c.result0, c.result1
    m: Any = None
    if gr is not None:
        m = gr.matmul(r.mH)
    if gq is not None:
        inner = q.mH.matmul(gq)
        m = -inner if m is None else m - inner
    ga = q.matmul(_sym(m.triu()))
    if gq is not None:
        ga = ga + gq
    return {"A": _columns(_triangular(r, ga.mH, True, False).mH)}


@_hidden("_linalg_qr(Tensor A) -> (Tensor, Tensor)", grad=_qr_grad)
def _qr_tall(A):
    """Reduced QR of matrices with at least as many rows as columns."""
    a, tau = _geqrf(A)
    n = A.shape[-1]
    return _householder(a, tau), _columns(a[..., :n, :].triu())


@_hidden("_linalg_geqrf(Tensor A) -> (Tensor, Tensor)", kernel="_linalg_geqrf", grad=None, differentiable=False)
def _geqrf(A):
    """Householder vectors below the diagonal, R on and above it; and their factors tau."""


@_hidden(
    "_linalg_householder(Tensor A, Tensor tau) -> Tensor",
    kernel="_linalg_householder",
    grad=None,
    differentiable=False,
    tags="reference",
)
def _householder(A, tau):
    """First columns of the product of the reflections."""
    return reference.householder(A, tau)


def _qr(A, mode):
    m, n = A.shape[-2:]
    k = min(m, n)
    grad = _C.differentiated(A)
    if mode == "r":
        if grad:
            raise RuntimeError(
                "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
                "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
            )
        return A.new_empty((0,)), _columns(_geqrf(A)[0][..., :k, :].triu())
    if mode == "complete" and m > n:
        if grad:
            raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
        a, tau = _geqrf(A)
        wide = torch.cat([a, a.new_zeros(_zero_batch(a, m, m - n))], -1)
        return _householder(wide, tau), _columns(a.triu())
    if m >= n:
        return _qr_tall(A)
    if not grad:
        a, tau = _geqrf(A)
        return _householder(a[..., :m].contiguous(), tau), _columns(a.triu())
    q, r = _qr_tall(A[..., :m])
    return q, _columns(torch.cat([r, q.mH.matmul(A[..., m:])], -1))


@_linalg(
    "qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)",
    tags="own",
    out=Out(EXACT),
    samples=lambda t: [(t(4, 3),), (t(2, 3, 3),), (t(2, 4),)],
)
def qr(A, mode="reduced"):
    """Q with orthonormal columns and upper triangular R with A = Q R; mode "reduced", "complete" or "r"."""
    _matrix("linalg.qr", A)
    _floating("linalg.qr", A, False)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    _no_half("geqrf_cpu", A)
    return _qr(A, mode)


@op("qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)", out=True)
def _old_qr(self, some=True):
    """Deprecated: see torch.linalg.qr."""
    _C.warn_once(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\n"
        "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\n"
        "should be replaced with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
    )
    return tuple(qr(self, "reduced" if some else "complete"))


@op("geqrf(Tensor self) -> (Tensor a, Tensor tau)", out=Out(castable("torch.geqrf", "a", "tau"), "plain"), grad={})
def geqrf(self):
    """Householder vectors and R in one matrix, and the factors tau, as LAPACK's geqrf."""
    _matrix("torch.geqrf", self, "input")
    _no_half("geqrf_cpu", self, True)
    return _geqrf(self)


@_linalg(
    "householder_product(Tensor input, Tensor tau) -> Tensor",
    out=Out(castable("torch.linalg.householder_product", "result"), "plain"),
)
def householder_product(input, tau):
    """First n columns of H1 H2 ... with Hi = I - tau_i v_i v_i^H, vectors below the diagonal of `input` (m, n)."""
    name = "torch.linalg.householder_product"
    if input.dim() < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if input.shape[-2] < input.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if input.shape[-1] < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if input.dim() - tau.dim() != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.dim()} and "
            f"input.ndim is equal to {input.dim()}"
        )
    if input.shape[:-2] != tau.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )
    if tau.dtype != input.dtype:
        raise RuntimeError(
            f"{name}: tau dtype {tau.dtype._scalar_type} does not match input dtype {input.dtype._scalar_type}"
        )
    _no_half("orgqr_cpu", input, True)
    if not _C.differentiated(input, tau):
        return _householder(input, tau)
    m, n = input.shape[-2:]
    q = torch.eye(m, n, dtype=input.dtype, device=input.device).expand(input.shape)
    if not tau.shape[-1]:  # nothing of the input is in the result, which has a graph all the same
        q = torch.where(torch.ones_like(q, dtype=torch.bool), q, input)
    for i in reversed(range(tau.shape[-1])):
        q = _reflect(input, tau, i, q)
    return _columns(q)


@op(
    "orgqr(Tensor self, Tensor input2) -> Tensor",
    out=Out(castable("torch.linalg.householder_product", "result"), "plain"),
)
def orgqr(self, input2):
    """See torch.linalg.householder_product."""
    return householder_product(self, input2)


def _reflect(a, tau, i, x, adjoint=False):
    """(I - tau v v^H) x with the i-th vector below the diagonal of a."""
    lead = tuple(a.shape[:-2])
    v = torch.cat([a.new_zeros(lead + (i,)), a.new_ones(lead + (1,)), a[..., i + 1 :, i]], -1).unsqueeze(-1)
    t = tau[..., i].unsqueeze(-1).unsqueeze(-1)
    return x - (t.conj() if adjoint else t) * v.matmul(v.mH.matmul(x))


@op(
    "ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor",
    out=Out(
        "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{r} and "
        "result has dtype {o}",
        "plain",
    ),
)
def ormqr(self, input2, input3, left=True, transpose=False):
    """Q C, Q^H C, C Q or C Q^H for the product Q of reflections (vectors `self`, factors `input2`) and C = `input3`."""
    a, tau, c = self, input2, input3
    if a.dim() < 2:
        raise RuntimeError("torch.ormqr: input must have at least 2 dimensions.")
    if c.dim() < 2:
        raise RuntimeError("torch.ormqr: other must have at least 2 dimensions.")
    side = -2 if left else -1
    if c.shape[side] < tau.shape[-1]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be greater than or equal to tau.shape[-1]")
    if c.shape[side] != a.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    a, c = _read_by_columns(a) if a.mT.is_contiguous() else a, _read_by_columns(c)
    if not left:
        return _columns(_reflected(a, tau, c.mH, not transpose).mH)
    return _columns(_reflected(a, tau, c, transpose))


def _reflected(a, tau, c, transpose):
    """Q C or Q^H C."""
    steps = range(tau.shape[-1])
    for i in steps if transpose else reversed(steps):
        c = _reflect(a, tau, i, c, transpose)
    return c
