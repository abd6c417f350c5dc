"""torch.lobpcg: a few of the largest or smallest eigenvalues of a large symmetric matrix.

Locally optimal block preconditioned conjugate gradients: "basic" as by Knyazev (2001), "ortho" with an orthonormal
basis in each step, by Stathopoulos and Wu (2002) and Duersch and others (2018).
"""

from __future__ import annotations

from typing import Any

import torchlite as torch

from . import _linalg_utils as _utils

__all__ = ["lobpcg"]

_TOLERANCE = {torch.float32: 1.2e-07**0.5, torch.float64: 2.23e-16**0.5}


class LOBPCG:
    """The iteration for one matrix, as `tracker` sees it after each step.

    iparams, fparams, bparams: the options. ivars, fvars, bvars, tvars: numbers and tensors of the last step.
    X, E, R, S: eigenvectors, eigenvalues, residuals, and the columns in which the next ones are looked for.
    """

    def __init__(
        self, A: Any, B: Any, X: Any, iK: Any, iparams: Any, fparams: Any, bparams: Any, method: str, tracker: Any
    ) -> None:
        self.A, self.B, self.iK, self.method, self.tracker = A, B, iK, method, tracker
        self.iparams, self.fparams, self.bparams = iparams, fparams, bparams
        m, n = iparams["m"], iparams["n"]
        self.X = X
        self.E, self.R, self.S = X.new_zeros(n), X.new_zeros(m, n), X.new_zeros(m, 3 * n)
        self.tvars: dict[str, Any] = {}
        self.ivars: dict[str, int] = {"istep": 0}
        self.fvars: dict[str, float] = {"_": 0.0}
        self.bvars: dict[str, bool] = {"_": False}

    def __str__(self) -> str:
        names = ("iparams", "fparams", "bparams", "ivars", "fvars", "bvars", "tvars", "A", "B", "iK", "X", "E")
        return "LOBPCG:\n" + "".join("  %s=%s\n" % (n, getattr(self, n)) for n in names)

    def run(self) -> None:
        self.update()
        self.call_tracker()
        while not self.stop_iteration():
            self.update()
            self.call_tracker()

    def call_tracker(self) -> None:
        if self.tracker is not None:
            self.tracker(self)

    def stop_iteration(self) -> bool:
        return (
            self.bvars.get("force_stop", False)
            or self.ivars["iterations_left"] == 0
            or self.ivars["converged_count"] >= self.iparams["k"]
        )

    def update(self) -> None:
        """One step."""
        if self.ivars["istep"] == 0:
            size = float(torch.norm(self.X))
            self.fvars["X_norm"] = size
            self.fvars["A_norm"] = float(torch.norm(_utils.matmul(self.A, self.X))) / size
            self.fvars["B_norm"] = float(torch.norm(_utils.matmul(self.B, self.X))) / size
            self.ivars.update(iterations_left=self.iparams["niter"], converged_count=0, converged_end=0)
        if self.method == "ortho":
            self._update_ortho()
        else:
            self._update_basic()
        self.ivars["iterations_left"] -= 1
        self.ivars["istep"] += 1

    def update_residual(self) -> None:
        self.R = _utils.matmul(self.A, self.X) - _utils.matmul(self.B, self.X) * self.E

    def update_converged_count(self) -> int:
        """How many of the first eigenpairs have a small residual."""
        before = self.ivars["converged_count"]
        scale = self.fvars["A_norm"] + self.E[: self.X.shape[-1]].abs() * self.fvars["B_norm"]
        error = torch.norm(self.R, 2, (0,)) / (torch.norm(self.X, 2, (0,)) * scale)
        small = (error < self.fparams["tol"]).tolist()
        count = small.index(False) if False in small else len(small)
        if count < before:
            raise AssertionError(
                "the number of converged eigenpairs (was %d, got %d) cannot decrease" % (before, count)
            )
        self.ivars["converged_count"] = count
        self.tvars["rerr"] = error
        return count

    def _keep(self, directions: list[Any]) -> None:
        """The columns for the next step: X, then these."""
        self.S[:, : self.iparams["n"]] = self.X
        end = self.iparams["n"]
        for columns in directions:
            self.S[:, end : end + columns.shape[-1]] = columns
            end += columns.shape[-1]
        self.ivars["converged_end"] = end

    def _update_basic(self) -> None:
        n, done, largest = self.iparams["n"], self.ivars["converged_count"], self.bparams["largest"]
        first = self.ivars["istep"] == 0
        S = self.X if first else self.S[:, done : self.ivars["converged_end"]]
        Ri = self._rayleigh_ritz(S)
        E, Z = _utils.symeig(_utils.qform(_utils.qform(self.A, S), Ri), largest)
        if first:
            self.X[:], self.E[:] = S @ (Ri @ Z), E
            self.update_residual()
            self.update_converged_count()
            self._keep([_utils.matmul(self.iK, self.R)])
            return
        self.X[:, done:], self.E[done:] = S @ (Ri @ Z[:, : n - done]), E[: n - done]
        P = S @ (Ri @ Z[:, n : 2 * n - done])
        self.update_residual()
        done = self.update_converged_count()
        self._keep([P, _utils.matmul(self.iK, self.R[:, done:])])

    def _update_ortho(self) -> None:
        n, done, largest = self.iparams["n"], self.ivars["converged_count"], self.bparams["largest"]
        if self.ivars["istep"] == 0:
            Ri = self._rayleigh_ritz(self.X)
            Z = _utils.symeig(_utils.qform(_utils.qform(self.A, self.X), Ri), largest)[1]
            self.X = self.X @ (Ri @ Z)
            self.update_residual()
            self.update_converged_count()
            self._keep([self._ortho(self.R, self.X)])
            return
        S = self.S[:, done : self.ivars["converged_end"]]
        E, Z = _utils.symeig(_utils.qform(self.A, S), largest)
        self.X[:, done:], self.E[done:] = S @ Z[:, : n - done], E[: n - done]
        P = S @ (Z[:, n - done :] @ _utils.basis(Z[: n - done, n - done :].mT))
        self.update_residual()
        done = self.update_converged_count()
        self._keep([P, self._ortho(self.R[:, done:], torch.cat([self.X, P], 1))])

    def _rayleigh_ritz(self, S: Any) -> Any:
        """Ri with Ri.mT @ (S.mT @ B @ S) @ Ri = 1."""
        SBS = _utils.qform(self.B, S)
        row = SBS.diagonal() ** -0.5
        R = torch.linalg.cholesky(SBS * row * row.unsqueeze(1), upper=True)
        return torch.linalg.solve_triangular(R, row.diag_embed(), upper=True, left=False)

    def _svqb(self, U: Any, drop: bool, tau: float) -> Any:
        """U with B-orthonormal columns, by the eigenvectors of U.mT @ B @ U; drop: without nearly dependent ones."""
        if not U.numel():
            return U
        UBU = _utils.qform(self.B, U)
        used = UBU.diagonal() != 0
        if not bool(used.all()):
            U = U[:, used]
            if not U.numel():
                return U
            UBU = _utils.qform(self.B, U)
        scale = (UBU.diagonal() ** -0.5).unsqueeze(1)
        E, Z = _utils.symeig(UBU * scale * scale.mT)
        least = tau * E.abs().max()
        if drop:
            kept = least < E
            E, Z, scale = E[kept], Z[:, kept], scale[kept]
        else:
            E = torch.where(least > E, least, E)
        return (U * scale.mT) @ (Z * E**-0.5)

    def _ortho(self, U: Any, V: Any) -> Any:
        """U made B-orthonormal, and B-orthogonal to V."""
        for key in [k for k in self.fvars if k.startswith("ortho_") and k.endswith("_rerr")]:
            del self.fvars[key]
        size = torch.norm(_utils.matmul(self.B, V))
        VBU = V.mT @ _utils.matmul(self.B, U)
        i = j = 0
        for i in range(self.iparams["ortho_i_max"]):
            U = U - V @ VBU
            use_drop, tau, drop = self.bparams["ortho_use_drop"], self.fparams["ortho_tol_drop"], False
            for j in range(self.iparams["ortho_j_max"]):
                if not use_drop:
                    tau = self.fparams["ortho_tol_replace"]
                U = self._svqb(U, drop, tau)
                drop, tau = use_drop, self.fparams["ortho_tol_replace"]
                if not U.numel():
                    self.ivars.update(ortho_i=i, ortho_j=j)
                    return U
                BU = _utils.matmul(self.B, U)
                UBU = U.mT @ BU
                off = torch.norm(UBU - torch.eye(UBU.shape[-1], device=UBU.device, dtype=UBU.dtype))
                error = float(off) / float(torch.norm(BU) * torch.norm(U))
                self.fvars["ortho_UBUmI_rerr[%d, %d]" % (i, j)] = error
                if error < self.fparams["ortho_tol"]:
                    break
            VBU = V.mT @ BU
            error = float(torch.norm(VBU)) / float(size * torch.norm(U))
            self.fvars["ortho_VBU_rerr[%d]" % i] = error
            if error < self.fparams["ortho_tol"]:
                break
            if self.iparams["m"] < U.shape[-1] + V.shape[-1]:
                raise ValueError(
                    "Overdetermined shape of U: #B-cols(=%d) >= #U-cols(=%d) + #V-cols(=%d) must hold"
                    % (self.iparams["m"], U.shape[-1], V.shape[-1])
                )
        self.ivars.update(ortho_i=i, ortho_j=j)
        return U


def _gradient(D_grad: Any, U_grad: Any, A: Any, D: Any, U: Any) -> Any:
    """The gradient of A. The eigenvectors that were not asked for span the rest of the space; in it the derivative of
    each eigenvector solves a linear system."""
    gaps = D.unsqueeze(-2) - D.unsqueeze(-1)
    gaps.diagonal(dim1=-2, dim2=-1).fill_(float("inf"))
    inner = torch.diag_embed(D_grad) + (U.mT @ U_grad) / gaps
    found = U @ inner @ U.mT
    if U.shape[-1] < U.shape[-2]:
        rest = torch.linalg.qr(U, mode="complete").Q[..., U.shape[-1] :]
        values, turn = torch.linalg.eigh(rest.mT @ A @ rest)
        rest = rest @ turn
        found = found + rest @ ((rest.mT @ U_grad) / (D.unsqueeze(-2) - values.unsqueeze(-1))) @ U.mT
    return found


class LOBPCGAutogradFunction(torch.autograd.Function):
    """lobpcg with a gradient for A."""

    @staticmethod
    def forward(ctx: Any, A: Any, B: Any, *rest: Any) -> Any:
        D, U = _lobpcg(A, B, *rest)
        ctx.save_for_backward(A, B, D, U)
        return D, U

    @staticmethod
    def backward(ctx: Any, D_grad: Any, U_grad: Any) -> Any:
        A, B, D, U = ctx.saved_tensors
        if A.is_sparse or (B is not None and B.is_sparse and ctx.needs_input_grad[1]):
            what = "sparse input yet. Note that lobpcg.forward does though."
        elif A.is_complex() or B is not None and B.is_complex():
            what = "complex input yet. Note that lobpcg.forward does though."
        elif B is not None:
            what = "backward with B != I yet."
        else:
            return (_gradient(D_grad, U_grad, A, D, U), *(None,) * (len(ctx.needs_input_grad) - 1))
        raise ValueError("lobpcg.backward does not support " + what)


def lobpcg(
    A: Any,
    k: int | None = None,
    B: Any = None,
    X: Any = None,
    n: int | None = None,
    iK: Any = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Any, Any]:
    """(E, X): the k largest (or smallest) eigenvalues of A @ x = e * B @ x, and their eigenvectors as columns.

    A, B: symmetric, (*, m, m), dense or sparse; B None is the identity. X: a first guess (*, m, n), else n random
    columns. iK: a preconditioner. niter: -1 goes on until the relative residuals are below tol. method: "ortho" or
    "basic". tracker: called with the LOBPCG object after each step. m is at least 3 * n.
    """
    ortho = {**(ortho_iparams or {})}, {**(ortho_fparams or {})}, {**(ortho_bparams or {})}
    rest = k, X, n, iK, niter, tol, largest, method, tracker, *ortho
    if A.requires_grad or (B is not None and B.requires_grad):
        A, B = ((M if M is None else (M + M.mT) / 2) for M in (A, B))
        return LOBPCGAutogradFunction.apply(A, B, *rest)
    return _lobpcg(A, B, *rest)


def _lobpcg(
    A: Any,
    B: Any,
    k: int | None,
    X: Any,
    n: int | None,
    iK: Any,
    niter: int | None,
    tol: float | None,
    largest: bool | None,
    method: str | None,
    tracker: Any,
    ortho_iparams: dict[str, int],
    ortho_fparams: dict[str, float],
    ortho_bparams: dict[str, bool],
) -> tuple[Any, Any]:
    if A.shape[-2] != A.shape[-1]:
        raise AssertionError("A must be square, got shape %s" % (A.shape,))
    if B is not None and A.shape != B.shape:
        raise AssertionError("A and B must have same shape, got %s vs %s" % (A.shape, B.shape))
    dtype = _utils.get_floating_dtype(A)
    tol = _TOLERANCE[dtype] if tol is None else tol
    m = A.shape[-1]
    if X is not None:
        n = X.shape[-1]
    if k is None:
        k = 1 if X is None else X.shape[-1]
    if n is None:
        n = k
    if m < 3 * n:
        raise ValueError(
            "LOBPCG algorithm is not applicable when the number of A rows (=%d) is smaller than 3 x the number of "
            "requested eigenpairs (=%d)" % (m, n)
        )
    method = "ortho" if method is None else method
    iparams = {"m": m, "n": n, "k": k, "niter": 1000 if niter is None else niter}
    fparams: dict[str, float] = {"tol": tol}
    bparams = {"largest": True if largest is None else largest}
    if method == "ortho":
        iparams |= {"ortho_i_max": 3, "ortho_j_max": 3, **ortho_iparams}
        fparams |= {"ortho_tol": tol, "ortho_tol_drop": tol, "ortho_tol_replace": tol, **ortho_fparams}
        bparams |= {"ortho_use_drop": False, **ortho_bparams}

    def solve(a: Any, b: Any, x: Any) -> tuple[Any, Any]:
        x = torch.randn((m, n), dtype=dtype, device=A.device) if x is None else x
        if x.shape != (m, n):
            raise AssertionError("X shape mismatch: got %s, expected %s" % (x.shape, (m, n)))
        worker = LOBPCG(a, b, x, iK, iparams, fparams, bparams, method, tracker)
        worker.run()
        return worker.E[:k], worker.X[:, :k]

    if A.dim() == 2:
        return solve(A, B, X)
    batch = A.shape[:-2]
    found = []
    flat: list[Any] = [None if t is None else t.reshape(-1, *t.shape[-2:]) for t in (A, B, X)]
    for i in range(flat[0].shape[0]):
        iparams["batch_index"] = i
        found.append(solve(*(None if t is None else t[i] for t in flat)))
    E, U = (torch.stack(parts) for parts in zip(*found))
    return E.reshape(*batch, k), U.reshape(*batch, m, k)
