"""Factorizations of matrices whose rows are equal, of few ranks, nilpotent or near the ends of the range: by residuals.

Their later steps work on rounding errors of rounding errors, down to numbers whose squares are no numbers any more.
"""

import pytest
import torchlite as torch

DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]


def matrices(n, dtype):
    def random(*shape):
        return torch.randn(*shape, dtype=dtype)

    q = torch.linalg.qr(random(n, n))[0]
    ones = torch.ones(n - 1, dtype=dtype)
    return {
        "equal rows": random(n).expand(n, n).contiguous(),
        "rank 3": random(n, 3) @ random(3, n),
        "ones": torch.ones(n, n, dtype=dtype),
        "zeros": torch.zeros(n, n, dtype=dtype),
        "jordan": 2 * torch.eye(n, dtype=dtype) + torch.diag(ones, 1),
        "nilpotent": torch.diag(ones, -1),
        "cyclic": torch.roll(torch.eye(n, dtype=dtype), 1, 0),
        "projection": q[:, : n // 2] @ q[:, : n // 2].mH,
        "repeated": q @ torch.diag((torch.arange(n) // 5).to(dtype)) @ q.mH,
        "half zero": torch.block_diag(random(n // 2, n // 2), torch.zeros(n - n // 2, n - n // 2, dtype=dtype)),
        "large": random(n, n) * 1e30,
        "small": random(n, n) * 1e-30,
    }


@pytest.mark.parametrize("n", [7, 40, 120])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_residuals(dtype, n):
    torch.manual_seed(n)
    limit = 200 * torch.finfo(dtype).eps

    def close(name, got, want, scale=1.0):
        error = float((got - want).abs().max()) / scale
        assert error < limit, (name, error)

    for name, a in matrices(n, dtype).items():
        scale = float(a.abs().max()) * n or 1.0
        eye = torch.eye(n, dtype=dtype)
        values, vectors = torch.linalg.eig(a)
        close(name + ", eig", a.to(vectors.dtype) @ vectors, vectors * values, scale)
        alone = torch.linalg.eigvals(a)
        close(name + ", eigvals", alone.sum(), a.to(alone.dtype).diagonal().sum(), scale * n)
        hermitian = (a + a.mH) / 2
        values, vectors = torch.linalg.eigh(hermitian)
        close(name + ", eigh", hermitian @ vectors, vectors * values.to(dtype), scale)
        close(name + ", eigh's vectors", vectors.mH @ vectors, eye)
        u, s, vh = torch.linalg.svd(a)
        close(name + ", svd", (u * s.to(dtype)) @ vh, a, scale)
        close(name + ", svd's vectors", torch.cat([u.mH @ u, vh @ vh.mH]), torch.cat([eye, eye]))
        q, r = torch.linalg.qr(a)
        close(name + ", qr", q @ r, a, scale)
        close(name + ", qr's vectors", q.mH @ q, eye)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_squares_leave_the_range(size):
    torch.manual_seed(0)
    a = torch.randn(20, 20, dtype=torch.float64)
    for name, at, x in (("qr", 1, a), ("eigh", 0, a @ a.T), ("svd", 1, a)):
        factor = getattr(torch.linalg, name)
        assert torch.allclose(factor(x * size)[at] / size, factor(x)[at], rtol=1e-12, atol=1e-12), name
