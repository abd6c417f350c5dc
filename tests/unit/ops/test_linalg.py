"""torch.linalg against PyTorch: values that are unique, factors by what they satisfy, gradients, messages."""

import pytest
from against_torch import check, fails_alike, ours, torch

import torchlite
from torchlite.ops import namespace

DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]
TOL = {torch.float32: 2e-3, torch.complex64: 2e-3, torch.float64: 1e-9, torch.complex128: 1e-9}


def matrix(*shape, dtype=torch.float64):
    torch.manual_seed(sum(shape))
    return torch.randn(shape, dtype=dtype)


def positive(n, dtype=torch.float64):
    a = matrix(2, n, n, dtype=dtype)
    return a @ a.mH + torch.eye(n, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique_results(dtype):
    tol = (TOL[dtype], TOL[dtype])
    a, b, h = matrix(2, 4, 4, dtype=dtype), matrix(2, 4, 3, dtype=dtype), positive(4, dtype)
    for call in (
        lambda t, a: t.linalg.inv(a),
        lambda t, a: t.linalg.det(a),
        lambda t, a: t.linalg.slogdet(a),
        lambda t, a: t.linalg.pinv(a[..., :3]),
        lambda t, a: t.linalg.matrix_power(a, -2),
        lambda t, a: t.linalg.matrix_exp(a),
        lambda t, a: t.linalg.lu(a),
        lambda t, a: t.linalg.svdvals(a),
        lambda t, a: t.linalg.matrix_norm(a, "nuc"),
        lambda t, a: t.linalg.norm(a, 2, dim=(-2, -1)),
        lambda t, a: t.linalg.cond(a),
        lambda t, a: t.linalg.qr(a),
        lambda t, a: t.linalg.qr(a[..., :3, :]),
        lambda t, a: t.linalg.qr(a[..., :3]),
        lambda t, a: t.linalg.lu(a[..., :3]),
        lambda t, a: t.linalg.lu(a[..., :3, :]),
        lambda t, a: t.linalg.eigvals(a).abs().sum(),
        lambda t, a: t.linalg.lu_solve(*t.linalg.lu_factor(a), a),
    ):
        check(call, a, tol=tol)
    check(lambda t, a, b: t.linalg.solve(a, b), a, b, tol=tol)
    check(lambda t, a, b: t.linalg.solve(a, b.mT, left=False), a, b, tol=tol)
    check(
        lambda t, a, b: t.linalg.solve_triangular(a, b, upper=False),
        a.tril() + 3 * torch.eye(4, dtype=dtype),
        b,
        tol=tol,
    )
    check(lambda t, a, b: t.linalg.lstsq(a, b)[0], matrix(2, 5, 3, dtype=dtype), matrix(2, 5, 2, dtype=dtype), tol=tol)
    check(lambda t, h: t.linalg.cholesky(h), h, tol=tol)
    check(lambda t, h: t.linalg.eigvalsh(h), h, tol=tol)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (4, 4)])
@pytest.mark.parametrize("driver", ["gelsy", "gelsd"])
def test_least_squares_of_full_and_lesser_rank(dtype, shape, driver):
    a, b = matrix(*shape, dtype=dtype), matrix(shape[0], 3, dtype=dtype)
    lesser = a.clone()
    lesser[:, 1] = lesser[:, 0] * 2
    lesser[1] = lesser[0] - lesser[2]
    for x in (a, torch.stack([a, lesser]), lesser):
        y = b if x.dim() == 2 else torch.stack([b, b])
        # PyTorch's gelsy does not find the least residual where the rank is not full
        drivers = {torch: "gelsd", torchlite: driver}
        for part in (0, 2):
            check(lambda t, a, b, i=part: t.linalg.lstsq(a, b, driver=drivers[t])[i], x, y, tol=(TOL[dtype],) * 2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m,n", [(1, 1), (3, 3), (5, 2), (2, 5), (20, 20)])
def test_factors(dtype, m, n):
    x = matrix(2, m, n, dtype=dtype)
    a, tol = ours(x), TOL[dtype]

    def near(u, v):
        assert u.shape == v.shape
        assert float((u - v).abs().max()) < tol * max(m, n)

    for full in (False, True):
        u, s, vh = torchlite.linalg.svd(a, full_matrices=full)
        k = min(m, n)
        near((u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :], a)
        near(u.mH @ u, torchlite.eye(u.shape[-1], dtype=a.dtype).expand(2, -1, -1))
        near(vh @ vh.mH, torchlite.eye(vh.shape[-2], dtype=a.dtype).expand(2, -1, -1))
        q, r = torchlite.linalg.qr(a, "complete" if full else "reduced")
        near(q @ r, a)
        near(q.mH @ q, torchlite.eye(q.shape[-1], dtype=a.dtype).expand(2, -1, -1))
    if m == n:
        w, v = torchlite.linalg.eig(a)
        near(a.to(w.dtype) @ v, v * w.unsqueeze(-2))
        h = a + a.mH
        w, v = torchlite.linalg.eigh(h)
        near((v * w.unsqueeze(-2)) @ v.mH, h)
        ld, p = torchlite.linalg.ldl_factor(h, hermitian=True)
        near(h @ torchlite.linalg.ldl_solve(ld, p, a, hermitian=True), a)


def test_singular_matrices():
    z = torch.zeros(2, 3, 3, dtype=torch.float64)
    z[0] = torch.eye(3)
    check(lambda t, a: t.linalg.det(a), z)
    check(lambda t, a: t.linalg.matrix_rank(a), z, grad=False)
    check(lambda t, a: t.linalg.pinv(a), z)
    fails_alike(lambda t, a: t.linalg.inv(a), z)
    fails_alike(lambda t, a: t.linalg.solve(a, a), z[1])
    fails_alike(lambda t, a: t.linalg.cholesky(a), z)
    with pytest.raises(torchlite.linalg.LinAlgError):
        torchlite.linalg.inv(torchlite.zeros(2, 2))


def test_second_gradients():
    a = matrix(3, 3)
    for call in (
        lambda t, a: t.linalg.inv(a),
        lambda t, a: t.linalg.det(a),
        lambda t, a: t.linalg.cholesky(a @ a.mT),
        lambda t, a: t.linalg.svdvals(a),
    ):
        check(call, a, second=True, tol=(1e-6, 1e-6))


def test_sign_of_a_real_determinant_has_no_gradient():
    def of(t, a, which):
        return t.autograd.grad(t.linalg.slogdet(a)[which].real, a, allow_unused=True)[0]

    a = matrix(3, 3)
    assert of(torchlite, ours(a, True), 0) is None is of(torch, a.clone().requires_grad_(), 0)
    assert of(torchlite, ours(a, True), 1) is not None
    assert of(torchlite, ours(a.to(torch.complex128), True), 0) is not None


@pytest.mark.parametrize(
    "name", ["inv", "det", "slogdet", "cholesky", "eigh", "eig", "eigvals", "svd", "qr", "matrix_exp", "lu_factor"]
)
def test_messages(name):
    for x in (torch.ones(3), torch.ones(2, 2, dtype=torch.int64)):
        fails_alike(lambda t, a: getattr(t.linalg, name)(a), x)
    if name not in ("svd", "qr", "lu_factor"):
        fails_alike(lambda t, a: getattr(t.linalg, name)(a), torch.ones(2, 3))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("n", [31, 33, 65])
def test_blocks(n, dtype):
    """Sizes beyond which factorisations go by blocks, whole blocks or not."""
    a, b, h = matrix(n, n, dtype=dtype), matrix(n, 9, dtype=dtype), positive(n, dtype)[0]
    for call in (
        lambda t, a, b, h: t.linalg.solve(a, b),
        lambda t, a, b, h: t.linalg.inv(a),
        lambda t, a, b, h: t.linalg.lu_factor(a)[0],
        lambda t, a, b, h: t.linalg.lu_factor(a[:, : n // 2 + 17])[0],
        lambda t, a, b, h: t.linalg.lu_factor(a[: n // 2 + 17])[0],
        lambda t, a, b, h: t.linalg.cholesky(h),
        lambda t, a, b, h: t.linalg.solve_triangular(t.linalg.cholesky(h), b, upper=False),
        lambda t, a, b, h: t.linalg.solve_triangular(t.linalg.cholesky(h).mH, b, upper=True),
    ):
        check(call, a, b, h, tol=(1e-8, 1e-8))
    x = ours(a)
    for y in (x, x[:, : n // 2 + 17], x[: n // 2 + 17]):
        for mode in ("reduced", "complete"):
            q, r = torchlite.linalg.qr(y, mode=mode)
            assert torchlite.allclose(q @ r, y, atol=1e-10)
            assert torchlite.allclose(q.mH @ q, torchlite.eye(q.shape[1], dtype=q.dtype), atol=1e-10)
            assert torchlite.equal(r, r.triu())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (40, 40), (9, 4), (2, 4, 9), (0, 3), (2, 0, 0)])
def test_values_without_vectors(dtype, shape):
    """What is computed without vectors are the values that come with them."""
    hidden = namespace("_hidden")
    a = ours(matrix(*shape, dtype=dtype))
    tol = {"rtol": TOL[dtype] / 100, "atol": TOL[dtype] / 100}
    empty, values, rest = hidden["_matrix_svd"](a, False, False)
    assert empty.shape == rest.shape == (*shape[:-2], 0, 0)
    for got in (values, torchlite.linalg.svdvals(a)):
        torchlite.testing.assert_close(got, torchlite.linalg.svd(a)[1], **tol)
    if shape[-1] == shape[-2]:
        h = a + a.mH
        values, empty = hidden["_linalg_eig"](a, False)
        assert empty.shape == (*shape[:-2], 0, 0)
        for got in (values, torchlite.linalg.eigvals(a)):  # in any order
            near = (got[..., None] - torchlite.linalg.eig(a)[0][..., None, :]).abs() < TOL[dtype]
            assert near.any(-1).all() and near.any(-2).all()
        values, empty = hidden["_matrix_eigh"](h, False)
        assert empty.shape == (*shape[:-2], 0, 0)
        for got in (values, torchlite.linalg.eigvalsh(h), torchlite.linalg.eigvalsh(h, "U")):
            torchlite.testing.assert_close(got, torchlite.linalg.eigh(h)[0], **tol)


def test_values_with_gradients_and_tangents():
    """These need vectors, recorded or forward, and under vmap."""
    for name in ("svdvals", "eigvalsh"):
        check(lambda t, a: getattr(t.linalg, name)(a), positive(4), second=True)
        f, g = getattr(torchlite.linalg, name), getattr(torch.linalg, name)
        a, v = positive(4), matrix(2, 4, 4)
        v = v + v.mT
        got = torchlite.func.jvp(f, (ours(a),), (ours(v),))[1]
        want = torch.func.jvp(g, (a,), (v,))[1]
        assert torch.allclose(torch.tensor(got.tolist(), dtype=v.dtype), want)
        torchlite.testing.assert_close(torchlite.vmap(f)(ours(a)), f(ours(a)))
