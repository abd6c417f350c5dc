"""Factorisations on the webgpu device: LU, Cholesky, QR, triangular and general systems, singular values,
Hermitian eigenvalues."""

import pytest
import torchlite as torch
from moved import fail_alike
from test_elementwise import check
from torchlite.webgpu import fallback

pytestmark = pytest.mark.usefixtures("bridge", "on_the_gpu")
L = torch.linalg
DTYPES = [torch.float32, torch.complex64]
SHAPES = [(1, 1), (2, 2), (5, 5), (3, 17, 17), (2, 1, 6, 6), (0, 3, 3), (70, 70)]


def matrix(shape, dtype, shift=0.5):
    torch.manual_seed(sum(shape))
    a = torch.randn(*shape, dtype=dtype)
    return a + shape[-1] * shift * torch.eye(shape[-2], shape[-1], dtype=dtype)


def near(ours, wanted, tolerance=2e-5):
    assert ours.device.type == "webgpu" and ours.dtype is wanted.dtype and ours.shape == wanted.shape
    if wanted.numel():
        size = max(1.0, wanted.abs().max().item())
        torch.testing.assert_close(ours.detach().cpu(), wanted.detach(), rtol=tolerance, atol=tolerance * size)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_square(shape, dtype):
    a = matrix(shape, dtype)
    b = torch.randn(*shape[:-1], 3, dtype=dtype)
    x, y = a.to("webgpu"), b.to("webgpu")
    near(L.solve(x, y), L.solve(a, b))
    near(L.solve(x.mT, y), L.solve(a.mT, b))
    near(L.inv(x), L.inv(a))
    for ours, wanted in zip(L.lu_factor(x), L.lu_factor(a)):
        near(ours, wanted)
    for ours, wanted in zip(L.lu(x), L.lu(a)):
        near(ours, wanted)
    for ours, wanted in zip(L.qr(x), L.qr(a)):
        near(ours, wanted)
    h = a @ a.mH + torch.eye(shape[-1], dtype=dtype)
    near(L.cholesky(h.to("webgpu")), L.cholesky(h), 5e-5)
    near(L.cholesky(h.to("webgpu"), upper=True), L.cholesky(h, upper=True), 5e-5)
    t = a / shape[-1] + torch.eye(shape[-1], dtype=dtype)
    for upper in (False, True):
        for unit in (False, True):
            near(
                L.solve_triangular(t.to("webgpu"), y, upper=upper, unitriangular=unit),
                L.solve_triangular(t, b, upper=upper, unitriangular=unit),
                1e-4,
            )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_oblong(dtype):
    a = torch.randn(2, 7, 4, dtype=dtype)
    for m in (a, a.mT, a[:, :, :1], a[:, :1]):
        for mode in ("reduced", "complete", "r"):
            for ours, wanted in zip(L.qr(m.to("webgpu"), mode=mode), L.qr(m, mode=mode)):
                near(ours, wanted)
        for ours, wanted in zip(L.lu(m.to("webgpu")), L.lu(m)):
            near(ours, wanted)
    large = torch.randn(6, 3, dtype=dtype) * 1e25  # squares beyond float32's range
    near(L.qr(large.to("webgpu"))[1] * 1e-25, L.qr(large)[1] * 1e-25)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (3, 17, 9), (2, 4, 11), (64, 30)], ids=str)
@pytest.mark.parametrize("deficient", [False, True])
def test_svd(shape, dtype, deficient):
    a = matrix(shape, dtype, 0)
    if deficient and shape[-1] > 2:
        a[..., 1], a[..., 2] = a[..., 0] * 2, 0
    r = min(shape[-2:])
    for full in (False, True):
        u, s, v = L.svd(a.to("webgpu"), full)
        near(s, L.svdvals(a))
        near((u[..., :r] * s.unsqueeze(-2)) @ v[..., :r, :], a)
        near(u.mH @ u, torch.eye(u.shape[-1], dtype=dtype).expand(*u.shape[:-2], -1, -1))
        near(v @ v.mH, torch.eye(v.shape[-2], dtype=dtype).expand(*v.shape[:-2], -1, -1))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [1, 2, 9, 40])
def test_eigh(n, dtype):
    a = matrix((2, n, n), dtype, 0)
    signs = torch.diag(torch.tensor([(-1.0) ** i for i in range(n)])).to(dtype).expand(2, n, n)
    for h in (a + a.mH, signs, torch.zeros(2, n, n, dtype=dtype)):
        w, v = L.eigh(h.to("webgpu"))
        near(w, L.eigvalsh(h))
        near(h.to("webgpu") @ v, (v * w.unsqueeze(-2)).cpu())
        near(v.mH @ v, torch.eye(n, dtype=dtype).expand(2, n, n))
    near(L.eigh(a.to("webgpu"))[0], L.eigh(a)[0])  # the lower triangle alone is read


def test_gradients():
    a, b = matrix((2, 4, 4), torch.float32).requires_grad_(), torch.randn(2, 4, 3, requires_grad=True)
    check(L.solve, a, b)
    check(L.inv, a)
    check(L.det, a)
    check(lambda a: L.cholesky(a @ a.mT + 4 * torch.eye(4, device=a.device)), a)
    check(lambda a: tuple(L.qr(a)), a)
    check(lambda a: L.svdvals(a), a)
    check(lambda a: L.eigvalsh(a + a.mT), a)
    check(L.pinv, a)
    check(lambda a: L.matrix_norm(a, "nuc"), a)
    check(lambda a, b: L.lstsq(a, b)[0], a.detach(), b.detach())
    check(lambda a: torch.cholesky_inverse(a.tril()), a.detach())
    check(L.matrix_rank, a.detach())
    check(lambda a: L.matrix_power(a, -2), a.detach())


@pytest.mark.parametrize("f", [L.inv, L.cholesky, lambda s: L.solve(s, s)])
def test_errors(f):
    singular = torch.tensor([[1.0, 2, 3], [2, 4, 6], [1, 0, 1]])
    fail_alike(f, singular)
    assert L.inv_ex(singular.to("webgpu"))[1].item() == 3 and L.cholesky_ex(singular.to("webgpu"))[1].item() == 2


def test_views_and_batches():
    a = matrix((5, 6, 6), torch.float32)
    x = a.to("webgpu")
    near(L.solve(x[1:3, ::2, 1::2], x[1:3, ::2, :2]), L.solve(a[1:3, ::2, 1::2], a[1:3, ::2, :2]), 1e-4)
    near(L.inv(x[0].expand(3, 6, 6)), L.inv(a[0].expand(3, 6, 6)))
    near(L.inv(x * 2 + 0), L.inv(a * 2))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_matrix_exp(dtype):
    for size in (0.1, 1.0, 5.0):
        a = torch.randn(2, 6, 6, dtype=dtype) * size / 3
        near(L.matrix_exp(a.to("webgpu")), L.matrix_exp(a))
    check(L.matrix_exp, (torch.randn(4, 4, dtype=dtype) / 2).requires_grad_())


def test_too_large():
    """A matrix that is too much for one workgroup is the CPU's, which is said."""
    from torchlite.webgpu.plan import linalg

    a = matrix((8, 8), torch.float32)
    was, linalg.MOST = linalg.MOST, 8**3 - 1
    try:
        with pytest.warns(UserWarning, match="_linalg_solve"):
            near(L.solve(a.to("webgpu"), a.to("webgpu")), L.solve(a, a))
    finally:
        linalg.MOST = was
        fallback.fallbacks.pop("_linalg_solve")
