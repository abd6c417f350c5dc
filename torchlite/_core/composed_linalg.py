"""How PyTorch composes linear algebra of what it has kernels for. Used while a TorchDispatchMode is on."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _aten() -> Any:
    from .. import _ops

    return _ops.ops.aten


def _checked(found: Any, name: str, a: Any) -> Any:
    """The result, where the info behind it says that there is one."""
    *result, info = found
    _aten()._linalg_check_errors.default(info, name, is_matrix=a.dim() == 2)
    return result[0] if len(result) == 1 else tuple(result)


def det(a: Any) -> Any:
    return _aten()._linalg_det.default(a)[0]


def slogdet(a: Any) -> Any:
    return tuple(_aten()._linalg_slogdet.default(a)[:2])


def logdet(a: Any) -> Any:
    aten = _aten()
    sign, size = slogdet(a)
    if a.is_complex():
        return aten.add.Tensor(aten.log.default(sign), size)
    negative = aten.eq.Scalar(sign, -1.0)
    nan = aten.scalar_tensor.default(float("nan"), dtype=a.dtype, layout=a.layout, device=a.device)
    return aten.where.self(negative, nan, size)


def solve_ex(a: Any, b: Any, left: bool, check_errors: bool) -> Any:
    result = _aten()._linalg_solve_ex.default(a, b, left=left, check_errors=check_errors)
    return result[0], result[3]


def solve(a: Any, b: Any, left: bool) -> Any:
    return _checked(solve_ex(a, b, left, False), "torch.linalg.solve", a)


def inv(a: Any) -> Any:
    return _checked(_aten().linalg_inv_ex.default(a), "linalg.inv", a)


def cholesky(a: Any, upper: bool) -> Any:
    return _checked(_aten().linalg_cholesky_ex.default(a, upper=upper), "linalg.cholesky", a)


def eigh(a: Any, half: str) -> Any:
    return tuple(_aten()._linalg_eigh.default(a, half, True))


def _needs_vectors(a: Any) -> bool:
    """Whether a gradient may be asked for, which is made of the vectors."""
    from .. import _C

    return bool(a.requires_grad and _C.is_grad_enabled()) or a._dispatches


def eigvalsh(a: Any, half: str) -> Any:
    return _aten()._linalg_eigh.default(a, half, _needs_vectors(a))[0]


def svd(a: Any, full: bool, driver: Any) -> Any:
    return tuple(_aten()._linalg_svd.default(a, full, True, driver=driver))


def svdvals(a: Any, driver: Any) -> Any:
    return _aten()._linalg_svd.default(a, False, _needs_vectors(a), driver=driver)[1]


def old_svd(a: Any, some: bool, vectors: bool) -> Any:
    if not vectors:
        return NotImplemented
    u, s, vh = _aten()._linalg_svd.default(a, not some, True)
    return u, s, vh.mH


def lu_factor(a: Any, pivot: bool) -> Any:
    return _checked(_aten().linalg_lu_factor_ex.default(a, pivot=pivot), "torch.linalg.lu_factor", a)


def lu_solve(b: Any, lu: Any, pivots: Any) -> Any:
    return _aten().linalg_lu_solve.default(lu, pivots, b)


def ldl_factor(a: Any, hermitian: bool) -> Any:
    return _checked(_aten().linalg_ldl_factor_ex.default(a, hermitian=hermitian), "torch.linalg.ldl_factor", a)


def eigvals(a: Any) -> Any:
    return _aten().linalg_eig.default(a)[0]


BODIES: dict[str, Any] = {
    **dict.fromkeys(("det", "linalg_det"), det),
    **dict.fromkeys(("slogdet", "linalg_slogdet"), slogdet),
    "logdet": logdet,
    "linalg_solve": solve,
    "linalg_solve_ex": solve_ex,
    **dict.fromkeys(("inverse", "linalg_inv"), inv),
    "linalg_cholesky": cholesky,
    "linalg_eigh": eigh,
    "linalg_eigvalsh": eigvalsh,
    "linalg_eigvals": eigvals,
    "linalg_svd": svd,
    "linalg_svdvals": svdvals,
    "svd": old_svd,
    "linalg_lu_factor": lu_factor,
    "lu_solve": lu_solve,
    "linalg_ldl_factor": ldl_factor,
}
