"""torch.linalg: what is computed from factorisations and products.

Determinants, powers and exponentials, least squares, low-rank approximations. linalg_norms.py has norms and ranks.
"""

import math

import torchlite as torch

from .._core.dispatch_modes import all_examples
from ._declare import _functions, methods, op
from ._out import EXACT, Out, castable
from .linalg import (
    _columns,
    _expand_batch,
    _eye_like,
    _floating,
    _hidden,
    _linalg,
    _no_half,
    _read_by_columns,
    _square,
    qr,
    solve_triangular,
)
from .linalg_lu import _lu_any, _solve, inv, solve
from .linalg_norms import _pinv_of
from .linalg_spectral import _needs_vectors, _svd, svd


# ---- determinants ----------------------------------------------------------------------------------------------------
def _parity(pivots):
    """-1 or 1 for an odd or even number of row exchanges."""
    at = torch.arange(1, pivots.shape[-1] + 1, dtype=pivots.dtype, device=pivots.device)
    return 1 - 2 * ((pivots != at).sum(-1) % 2)


def _det_grad(c, g):
    A, det = c.A, c.result
    if A.numel() == 0:
        return {"A": torch.zeros_like(A)}
    if not A.is_meta and bool((all_examples(det) == 0).any()):
        # adjugate from singular values: product of all but one
        U, S, Vh = _svd(A, False)
        n = S.shape[-1]
        others = (
            S.unsqueeze(-2)
            .expand(tuple(S.shape) + (n,))
            .masked_fill(torch.eye(n, dtype=torch.bool, device=S.device), 1)
            .prod(-1)
        )
        phase = (_det(U) * _det(Vh)).conj()
        return {"A": (g * phase).unsqueeze(-1).unsqueeze(-1) * (U * others.unsqueeze(-2)).matmul(Vh)}
    d = (g * det.conj()).unsqueeze(-1).unsqueeze(-1) * _eye_like(A)
    return {"A": _solve(A.mH, d)[0]}


@_hidden("_matrix_det(Tensor A) -> Tensor", tags="python", grad=_det_grad, node="LinalgDetBackward0")
def _det(A):
    """Determinants from LU."""
    LU, pivots, _ = _lu_any(A, True)
    return LU.diagonal(0, -2, -1).prod(-1) * _parity(pivots).to(A.dtype)


@_linalg("det(Tensor A) -> Tensor", out=Out(EXACT, by="_linalg_det"), samples=lambda t: [(t(3, 3),), (t(2, 3, 3),)])
def det(A):
    """Determinant of a square matrix."""
    return _det_checked(A)


def _det_checked(A):
    _square("linalg.det", A)
    _floating("linalg.det", A, False)
    _no_half("lu_cpu", A)
    return _det(A)


@op("det(Tensor self) -> Tensor")
def _old_det(self):
    """See torch.linalg.det."""
    return det(self)


def _slogdet_grad(c, g):
    gs, gl = g
    A, sign = c.A, c.result0
    if A.is_complex():
        total = None if gl is None else gl.to(A.dtype)
        if gs is not None:
            t = torch.complex(torch.zeros_like(torch.real(sign)), -torch.imag(gs.conj() * sign))
            total = t if total is None else total + t
    else:
        total = gl
    if total is None:  # the sign of a real determinant: PyTorch gives no gradient, not zeros
        return {"A": None}
    right = total.unsqueeze(-1).unsqueeze(-1) * _eye_like(A)
    # as PyTorch: an error for a singular matrix only where the gradient gets a graph
    return {"A": torch.linalg.solve(A.mH, right) if torch.is_grad_enabled() else _solve(A.mH, right)[0]}


@_hidden(
    "_matrix_slogdet(Tensor A) -> (Tensor, Tensor)", tags="python", grad=_slogdet_grad, node="LinalgSlogdetBackward0"
)
def _slogdet(A):
    """Sign and logarithm of the size of determinants, from LU."""
    LU, pivots, _ = _lu_any(A, True)
    d = LU.diagonal(0, -2, -1)
    sign = d.sgn().prod(-1) * _parity(pivots).to(A.dtype)
    return sign, d.abs().log().sum(-1)


@_linalg(
    "slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
    out=Out(EXACT, by="_linalg_slogdet"),
    samples=lambda t: [(t(3, 3),)],
)
def slogdet(A):
    """Sign of the determinant and logarithm of its absolute value."""
    return _slogdet_checked(A)


def _slogdet_checked(A):
    _square("linalg.slogdet", A)
    _floating("linalg.slogdet", A)
    return _slogdet(A)


@op("slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", out=True)
def _old_slogdet(self):
    """See torch.linalg.slogdet."""
    return tuple(slogdet(self))


@op("logdet(Tensor self) -> Tensor", samples=lambda t: [(torch.eye(3) * 2 + t(3, 3, lo=0, hi=0.1),)])
def logdet(self):
    """Logarithm of the determinant; NaN when that is negative, -inf when it is 0."""
    _square("logdet", self)
    _floating("logdet", self)
    sign, size = _slogdet(self)
    if self.is_complex():
        return sign.log() + size
    return torch.where(sign == -1, math.nan, size)


# ---- powers, exponential, products -----------------------------------------------------------------------------------
def _power_dtype(args, result, out, i):
    return castable("matrix_power", "result")(args, result, out, i) or EXACT


@_linalg(
    "matrix_power(Tensor self, int n) -> Tensor",
    out=Out(_power_dtype, "plain", by="matmul"),
    samples=lambda t: [(t(3, 3), 3), (t(2, 3, 3), -2)],
)
def matrix_power(self, n):
    """The n-th power of a square matrix; of its inverse for negative n."""
    _square("linalg.matrix_power", self)
    if n == 0:
        # part of the graph, with gradient 0
        return torch.where(torch.ones(self.shape, dtype=torch.bool, device=self.device), _eye_like(self), self)
    x = inv(self) if n < 0 else self
    n = abs(n)
    if n == 1:
        return x.clone(memory_format=torch.contiguous_format) if x is self else x
    result = None
    while n:
        if n & 1:
            result = x if result is None else result.matmul(x)
        n >>= 1
        if n:
            x = x.matmul(x)
    return result


@op("matrix_power(Tensor self, int n) -> Tensor", out=True)
def _old_matrix_power(self, n):
    """See torch.linalg.matrix_power."""
    return matrix_power(self, n)


_PADE = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)


def _exp_ratio(x):
    """exp - 1 of a matrix of norm up to 5.37, in double precision."""
    b, eye = _PADE, _eye_like(x)
    x2 = x.matmul(x)
    x4 = x2.matmul(x2)
    x6 = x4.matmul(x2)
    u = x.matmul(x6.matmul(b[13] * x6 + b[11] * x4 + b[9] * x2) + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * eye)
    v = x6.matmul(b[12] * x6 + b[10] * x4 + b[8] * x2) + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * eye
    return _solve(v - u, 2 * u)[0]


def _exp_series(x):
    """exp - 1 of a matrix of norm up to 3, in float32: Taylor's polynomial of degree 18."""
    x2 = x.matmul(x)
    x3 = x2.matmul(x)
    x6 = x3.matmul(x3)
    powers = (_eye_like(x), x, x2, x3, x3.matmul(x), x3.matmul(x2))

    def six(k, first=0):
        return sum(p / math.factorial(k + i) for i, p in enumerate(powers) if i >= first)

    return six(0, 1) + x6.matmul(six(6) + x6.matmul(six(12) + x6 / math.factorial(18)))


def _squared(less, steps):
    """(1 + less) to the power 2**steps, of each matrix.

    A matrix whose norm is far above its eigenvalues (a gradient of 1e50 beside a matrix of ones) is scaled down until
    1 + less rounds to 1. So `less` is squared without the 1 as long as its diagonal is small:
    (1 + f)**2 = 1 + (2 f + f**2). Later the sum is squared, which keeps the digits of a power near 0.
    """
    most = int(all_examples(steps).amax())
    power, single = _eye_like(less) + less, less.dim() == 2
    for k in range(most):
        square = power.matmul(power)
        if most > _MANY:
            small = less.diagonal(0, -2, -1).abs().amax(-1)[..., None, None] < 0.1
            doubled = 2 * less + less.matmul(less)
            square = torch.where(small, _eye_like(less) + doubled, square)
            less = torch.where(small & (steps > k), doubled, less)
        power = square if single else torch.where(steps > k, square, power)
    return power


_MANY = 8  # fewer squarings lose at most as many bits


def _matrix_exp_grad(c, g):
    """exp([[A^H, G], [0, A^H]]) has the derivative of exp at A^H in the direction G at its top right."""
    n, a = c.self.shape[-1], c.self.mH
    top, bottom = torch.cat((a, g), -1), torch.cat((torch.zeros_like(a), a), -1)
    return {"self": matrix_exp(torch.cat((top, bottom), -2)).narrow(-2, 0, n).narrow(-1, n, n)}


@_linalg("matrix_exp(Tensor self) -> Tensor", grad=_matrix_exp_grad, samples=lambda t: [(t(3, 3),)])
def matrix_exp(self):
    """Exponential of a square matrix: scaling, a rational approximation of degree 13, and squaring."""
    _square("linalg.matrix_exp", self)
    _floating("linalg.matrix_exp", self, False)
    if self.numel() == 0:
        return self.clone()
    if self.is_meta:
        return self.clone(memory_format=torch.contiguous_format)
    dtype = self.dtype
    # webgpu has no float64, and in float32 a polynomial is the more exact
    work = dtype
    if self.is_cpu:
        work = torch.complex128 if dtype.is_complex else torch.float64
    most = 5.37 if self.is_cpu else 3.01
    x = self.to(work)
    norm = x.detach().abs().sum(-2, True).amax(-1, True)
    steps = torch.where((norm > most) & norm.isfinite(), (norm / most).log2().ceil(), 0.0)
    x = x * torch.exp2(-steps)
    return _squared(_exp_ratio(x) if self.is_cpu else _exp_series(x), steps).to(dtype).contiguous()


@op("matrix_exp(Tensor self) -> Tensor")
def _old_matrix_exp(self):
    """See torch.linalg.matrix_exp."""
    return matrix_exp(self)


@_linalg(
    "multi_dot(Tensor[] tensors) -> Tensor",
    out=Out("multi_dot(): expected out tensor to have dtype {cr} but got {co}", "late", by="mm"),
    samples=lambda t: [([t(3, 4), t(4, 2), t(2, 5)],)],
)
def multi_dot(tensors):
    """Product of two or more matrices in the cheapest order; the first and last may be vectors."""
    n = len(tensors)
    if n < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {n}")
    mats = list(tensors)
    lead = tail = False
    if mats[0].dim() == 1:
        mats[0], lead = mats[0].unsqueeze(0), True
    elif mats[0].dim() != 2:
        raise RuntimeError(f"multi_dot(): the first tensor must be 1D or 2D but got {mats[0].dim()}D")
    if mats[-1].dim() == 1:
        mats[-1], tail = mats[-1].unsqueeze(-1), True
    elif mats[-1].dim() != 2:
        raise RuntimeError(f"multi_dot(): the last tensor must be 1D or 2D but got {mats[-1].dim()}D")
    for i in range(1, n - 1):
        if mats[i].dim() != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {mats[i].dim()}D")
    for i in range(1, n):
        if mats[i].dtype != mats[0].dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {mats[0].dtype._cpp_type} "
                f"and tensor {i} {mats[i].dtype._cpp_type}"
            )
    for i in range(n - 1):
        if mats[i].shape[-1] != mats[i + 1].shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(tensors[i].shape)} and "
                f"{list(tensors[i + 1].shape)} cannot be multiplied"
            )
    p = [m.shape[0] for m in mats] + [mats[-1].shape[1]]
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i][j], split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + p[i] * p[k + 1] * p[j + 1], k) for k in range(i, j)
            )

    def run(i, j):
        return mats[i] if i == j else run(i, split[i][j]).mm(run(split[i][j] + 1, j))

    return run(0, n - 1).view(p[:1] * (not lead) + p[-1:] * (not tail))


@_linalg(
    "vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
    out=Out("linalg.vecdot: Expected out of dtype{r} but found {o}", "late", by="sum"),
    samples=lambda t: [(t(3, 4), t(3, 4))],
)
def vecdot(x, y, dim=-1):
    """Sums of conj(x) * y along `dim`."""
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {x.dtype._scalar_type}"
        )
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {x.dtype._scalar_type} and y "
            f"of type {y.dtype._scalar_type} instead"
        )
    if x.dim() == 1 and y.dim() == 1:
        return torch.vdot(x, y)
    return (x.conj() * y).sum(dim)


@_linalg(
    "cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
    out=Out(EXACT),
    samples=lambda t: [(t(4, 3), t(4, 3)), (t(3, 4), t(3, 4), {"dim": 0})],
)
def cross(self, other, dim=-1):
    """Vector product along a dim of size 3."""
    if self.dim() != other.dim():
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if not self.dim() or self.shape[dim] != 3 or other.shape[dim] != 3:
        a, b = (self.shape[dim], other.shape[dim]) if self.dim() else (1, 1)
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {a} and {b}")
    if self.dtype is not other.dtype:
        wanted, found = self.dtype._scalar_type, other.dtype._scalar_type
        raise RuntimeError(f"expected scalar type {wanted} but found {found}")
    a, b = torch.broadcast_tensors(self, other)
    a0, a1, a2 = a.unbind(dim)
    b0, b1, b2 = b.unbind(dim)
    return torch.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], dim)


@_linalg("diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)")
def diagonal(A, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices, as a view."""
    return A.diagonal(offset, dim1, dim2)


@_linalg("vander(Tensor x, *, SymInt? N=None) -> Tensor", samples=lambda t: [(t(3),), (t(2, 3), {"N": 4})])
def vander(x, N=None):
    """Powers 0 .. N - 1 of the elements along a new last dim."""
    if x.dtype in (torch.bool, torch.float16, torch.bfloat16):
        raise RuntimeError(
            f"linalg.vander supports floating point, complex, and integer tensors, but got {x.dtype._scalar_type}"
        )
    x = (x.unsqueeze(0) if x.dim() == 0 else x).unsqueeze(-1)
    n = x.shape[-2] if N is None else N
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    powers = x.expand(tuple(x.shape[:-1]) + (n - 1,)).cumprod(-1)
    return torch.cat([torch.ones_like(powers[..., :1]), powers], -1)


@_linalg("tensorinv(Tensor self, int ind=2) -> Tensor", out=Out(tags="plain"))
def tensorinv(self, ind=2):
    """Inverse for tensordot over `ind` dims."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    if ind > self.dim():
        raise RuntimeError(f"ArrayRef: invalid slice, N = {ind}; size = {self.dim()}")
    right, left = math.prod(self.shape[ind:]), math.prod(self.shape[:ind])
    if right != left:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), "
            f"but got {right} != {left}"
        )
    return inv(self.reshape(left, right)).reshape(tuple(self.shape[ind:]) + tuple(self.shape[:ind]))


@_linalg("tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor", out=True)
def tensorsolve(self, other, dims=None):
    """X with tensordot(self, X, X.ndim) = other; `dims` are moved to the end of `self` first."""
    a = self
    if dims is not None:
        a = a.movedim(list(dims), list(range(a.dim() - len(dims), a.dim())))
    shape = tuple(a.shape[other.dim() :])
    right, left = math.prod(shape), math.prod(other.shape)
    if right != left:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {right} != {left}"
        )
    return solve(a.reshape(right, right), other.flatten()).reshape(shape)


# ---- least squares ---------------------------------------------------------------------------------------------------
def _of_full_rank(a, B, rcond):
    """The least squares solution by QR, which takes a tenth of the time of singular values. None unless all matrices
    have full rank for certain: the largest singular value is at most the norm of R, the least one at least 1 over that
    of its inverse."""
    tall = a.shape[-2] >= a.shape[-1]
    Q, R = qr(a if tall else a.mH)
    inverse = solve_triangular(R, _eye_like(R), upper=True)
    condition = torch.linalg.matrix_norm(R) * torch.linalg.matrix_norm(inverse)
    if not bool((condition * (2 * rcond) < 1).all()):
        return None
    if tall:
        return solve_triangular(R, Q.mH.matmul(B), upper=True)
    return Q.matmul(solve_triangular(R.mH, B, upper=False))


@_linalg(
    "lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, "
    "Tensor rank, Tensor singular_values)",
    nondiff=(2, 3),
    out=Out(tags="plain"),
)
def lstsq(self, b, rcond=None, driver=None):
    """X that makes the norm of A X - B least, and of these the smallest;
    residuals of full-rank tall systems, rank, singular values."""
    A, name = self, "torch.linalg.lstsq"
    if A.dim() < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if b.dim() < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if A.dtype != b.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype {A.dtype._scalar_type} "
            f"and other's dtype {b.dtype._scalar_type}"
        )
    _no_half("linalg_lstsq_cpu", A, True)
    if driver is not None and driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    driver = driver or "gelsy"
    vector = A.dim() - 1 == b.dim() and A.shape[:-1] == b.shape
    B = b.unsqueeze(-1) if vector else b
    if not 0 <= A.dim() - b.dim() <= 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    if B.dim() < 2 or A.shape[-2] != B.shape[-2]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({-2 if B.dim() >= 2 else -1})")
    a, B = _expand_batch(_read_by_columns(A), B)
    m, n = a.shape[-2:]
    batch = tuple(a.shape[:-2])
    real = A.dtype.to_real()
    if rcond is None:
        rcond = torch.finfo(real).eps * max(m, n)
    if min(m, n) == 0:
        x = a.mH.matmul(B)  # zeros
        full = torch.zeros(batch, dtype=torch.int64, device=A.device)
        S = torch.zeros(batch + (0,), dtype=real, device=A.device)
    else:
        x = None
        if driver in ("gels", "gelsy") and not (_needs_vectors(a) or _needs_vectors(B)):
            x = _of_full_rank(a, B, rcond)
        if x is not None:
            full = torch.full(batch, min(m, n), device=A.device)
        else:
            x = _pinv_of(a, 0.0, rcond, False).matmul(B)
            with torch.no_grad():
                S = _svd(a.detach(), False, _needs_vectors(a.detach()))[1]
                full = (S > rcond * S.amax(-1, keepdim=True)).sum(-1)
    residuals = x.flatten()[:0]  # empty, but part of the graph
    if x.is_complex():
        residuals = torch.real(residuals).clone(memory_format=torch.contiguous_format)
    if m > n and driver != "gelsy" and (driver == "gels" or bool((all_examples(full) == n).all())):
        d = a.matmul(x) - B
        residuals = torch.real(d * d.conj()).sum(-2) if d.is_complex() else (d * d).sum(-2)
    rank = torch.empty(0, dtype=torch.int64, device=A.device) if driver == "gels" else full
    values = S if driver in ("gelsd", "gelss") else torch.empty(0, dtype=real, device=A.device)
    if m > n:  # LAPACK's solution stands in the place of B
        x = torch.cat([x.mT, x.new_zeros(batch + (x.shape[-1], m - n))], -1)[..., :n].mT
    else:
        x = _columns(x)
    return (x.squeeze(-1) if vector else x), residuals, rank, values


# ---- low-rank approximations (Halko, Martinsson, Tropp) --------------------------------------------------------------
def _range(A, q, niter=2, M=None):
    R = torch.randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    X = A.matmul(R) if M is None else (A - M).matmul(R)
    Q = qr(X)[0]
    for _ in range(niter):
        X = A.mH.matmul(Q) if M is None else (A - M).mH.matmul(Q)
        Q = qr(X)[0]
        X = A.matmul(Q) if M is None else (A - M).matmul(Q)
        Q = qr(X)[0]
    return Q


def svd_lowrank(A, q=6, niter=2, M=None):
    """Approximate U, S, V of the q largest singular values, by a random range finder."""
    m, n = A.shape[-2:]
    M = M.broadcast_to(A.shape) if M is not None else None
    flip = m < n
    if flip:
        A = A.mH
        M = M.mH if M is not None else None
    Q = _range(A, q, niter, M)
    B = Q.mH.matmul(A) if M is None else Q.mH.matmul(A - M)
    U, S, Vh = svd(B, False)
    V = Vh.mH
    U = Q.matmul(U)
    return (V, S, U) if flip else (U, S, V)


def pca_lowrank(A, q=None, center=True, niter=2):
    """Approximate principal components: `svd_lowrank` of A with its column means taken off."""
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not (0 <= q <= min(m, n)):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not (A.is_floating_point() or A.is_complex()):
        raise ValueError(f"input must be a floating point or complex tensor, but got {A.dtype}")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


def lu(A, pivot=True, get_infos=False, out=None):
    """Deprecated: see torch.linalg.lu_factor; A_LU, pivots and, when asked for, infos."""
    lines = [
        f"LU, pivots{more} = torch.{name}(A, compute_pivots{flag})"
        for more, name, flag in (
            ("", "lu", ""),
            ("", "linalg.lu_factor", ""),
            (", info", "lu", ", get_infos=True"),
            (", info", "linalg.lu_factor_ex", ""),
        )
    ]
    torch._C.warn_once(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed "
        "in a future PyTorch release.\n%s\nshould be replaced with\n%s\nand\n%s\n"
        "should be replaced with\n%s" % tuple(lines)
    )
    LU, pivots, info = torch.linalg.lu_factor_ex(A, pivot=pivot, check_errors=not get_infos)
    result = (LU, pivots, info) if get_infos else (LU, pivots)
    if out is not None:
        for o, r in zip(out, result):
            o.resize_(r.shape).copy_(r)
        return out
    return result


def _method_lu(self, pivot=True, get_infos=False):
    """Deprecated: see torch.linalg.lu_factor."""
    return lu(self, pivot, get_infos)


_method_lu.__name__ = "lu"
methods()["lu"] = _method_lu
_functions.setdefault("", {}).update(svd_lowrank=svd_lowrank, pca_lowrank=pca_lowrank, lu=lu)
