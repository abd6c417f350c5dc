"""Products of vectors, matrices and batches on webgpu: what the CPU gives for the same tensors, without its help."""

from __future__ import annotations

import pytest
import torchlite as torch
from moved import fail_alike
from torchlite.nn import functional as F

pytestmark = pytest.mark.usefixtures("bridge", "on_the_gpu")

FLOATS = [torch.float32, torch.float16, torch.bfloat16]
INTS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
EPS = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.complex64: 1e-5}
SIZES = [(3, 4, 5), (1, 7, 1), (1, 64, 9), (33, 1, 2), (2, 0, 3), (0, 3, 2), (2, 3, 0), (36, 20, 40)]


def made(*shape, dtype=torch.float32, seed=0):
    g = torch.Generator().manual_seed(seed + 7 * len(shape) + sum(shape))
    if dtype.is_complex:
        return torch.complex(torch.randn(shape, generator=g), torch.randn(shape, generator=g))
    if dtype.is_floating_point:
        return torch.randn(shape, generator=g).to(dtype)
    bits = {torch.int8: 7, torch.uint8: 8, torch.int16: 15, torch.int32: 31, torch.int64: 62}[dtype]
    return torch.randint(0 if dtype is torch.uint8 else -(1 << bits), 1 << bits, shape, generator=g).to(dtype)


def up(x):
    return x.to("webgpu") if isinstance(x, torch.Tensor) else x


def both(fn, *args):
    want, got = fn(*args), fn(*[up(a) for a in args])
    assert got.device.type == "webgpu"
    assert (got.dtype, got.shape, got.stride()) == (want.dtype, want.shape, want.stride())
    e = EPS.get(want.dtype, 0)
    got = got.cpu()
    if e and want.dtype is not torch.complex64:
        got, want = got.float(), want.float()
    torch.testing.assert_close(got, want, rtol=e, atol=e * max(1.0, float(args[-1].shape[0]) ** 0.5), equal_nan=True)


@pytest.mark.parametrize("dtype", FLOATS + INTS)
@pytest.mark.parametrize("m, k, n", SIZES)
def test_matrices(dtype, m, k, n):
    def t(*shape):
        return made(*shape, dtype=dtype)

    both(torch.mm, t(m, k), t(k, n))
    both(lambda a, b: a.t().mm(b.t()), t(k, m), t(n, k))
    both(torch.mv, t(m, k), t(k))
    both(torch.bmm, t(3, m, k), t(3, k, n))
    both(F.linear, t(m, k), t(n, k), t(n))
    both(F.linear, t(2, m, k), t(n, k))


@pytest.mark.parametrize("dtype", FLOATS + INTS)
@pytest.mark.parametrize("m, k, n", [(3, 4, 5), (1, 6, 1), (2, 0, 3), (0, 3, 2)])
def test_products_with_an_added_tensor(dtype, m, k, n):
    def t(*shape):
        return made(*shape, dtype=dtype)

    for alpha, beta in [(1, 1), (3, 2), (2, 0)]:
        for shape in [(n,), (m, 1), (m, n), (1, 1), ()]:
            both(lambda s, a, b: torch.addmm(s, a, b, alpha=alpha, beta=beta), t(*shape), t(m, k), t(k, n))
        for shape in [(n,), (2, 1, n), (2, m, 1), (1, m, n)]:
            both(lambda s, a, b: torch.baddbmm(s, a, b, alpha=alpha, beta=beta), t(*shape), t(2, m, k), t(2, k, n))
        for shape in [(m,), (1,), ()]:
            both(lambda s, a, b: torch.addmv(s, a, b, alpha=alpha, beta=beta), t(*shape), t(m, k), t(k))


BATCHES = [
    ((4,), (4,)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 3)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 5, 4, 3)),
    ((7, 1, 4), (4, 2)),
    ((2, 3, 2, 3, 4), (1, 3, 1, 4, 3)),
    ((2, 1, 2, 3, 2, 4), (1, 3, 2, 1, 4, 2)),
    ((0, 3, 4), (4, 5)),
    ((2, 3, 0), (2, 0, 4)),
    ((40, 2, 4), (1, 4, 3)),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.complex64])
@pytest.mark.parametrize("left, right", BATCHES)
def test_batches(dtype, left, right):
    both(torch.matmul, made(*left, dtype=dtype), made(*right, dtype=dtype))


def test_strides():
    a, b = made(2, 3, 5, 4), made(2, 3, 4, 6)
    both(lambda x, y: x.transpose(1, 2)[:, 2:4] @ y[:, :1].mT, made(2, 3, 5, 4), made(2, 2, 6, 4))
    both(lambda x, y: x.mT.contiguous().mT @ y, a, b)
    both(lambda x, y: x.transpose(0, 1) @ y.transpose(0, 1), a, b)
    both(lambda x, y: x[..., ::2] @ y[:, :, 1::2], a, b)
    both(lambda x, y: x[1:, 2] @ y[1:, 2], a, b)
    both(lambda x, y: x.expand(5, 4, 3) @ y, made(3), made(5, 3, 2))
    both(lambda x, y: x.transpose(0, 1) @ y, made(6, 5, 4), made(4, 3))
    both(lambda x, y: x.transpose(0, 1) @ y, made(6, 50, 4)[:, :40], made(4, 3))
    both(lambda x, w, c: F.linear(x.transpose(0, 1), w[:, ::2], c[::3]), made(6, 5, 4), made(3, 8), made(9))
    both(lambda s, x, y: torch.baddbmm(s.t(), x.transpose(0, 1), y), made(3, 5), made(5, 2, 4), made(2, 4, 3))


def test_broadcast_rows_of_what_is_added():
    both(lambda x, w, c: F.linear(x, w, c), made(2, 3, 4), made(5, 4), made(1))
    both(lambda x, w, c: F.linear(x, w, c), made(3, 4), made(5, 4), made(3, 5))


def test_long_sums_and_large_matrices():
    both(torch.dot, made(100000), made(100000, seed=1))
    both(torch.mm, made(3, 9000), made(9000, 2))
    both(lambda s, a, b: torch.addmm(s, a, b, alpha=0.5, beta=2), made(2), made(3, 9000), made(9000, 2))
    both(torch.mm, made(130, 70), made(70, 150))
    both(torch.mv, made(500, 300), made(300))
    both(F.linear, made(1, 300), made(200, 300), made(200))
    both(F.linear, made(1, 400), made(300, 400), made(300))
    both(lambda s, a, b: torch.addmv(s, a, b, beta=2, alpha=3), made(300), made(300, 400), made(400))


def test_integers_are_exact():
    a = torch.tensor([[2**62, 3], [-(2**63), 1]])
    b = torch.tensor([[2, -1], [2**40, 2**33]])
    both(torch.mm, a, b)
    both(torch.dot, torch.tensor([2**31 - 1, 7], dtype=torch.int32), torch.tensor([3, 2**30], dtype=torch.int32))


def test_not_finite():
    inf, nan = float("inf"), float("nan")
    a = torch.tensor([[inf, 1.0, 0.0], [nan, 0.0, 1.0], [1.0, 2.0, 3.0]])
    both(torch.mm, a, torch.ones(3, 3))
    both(torch.mm, a, torch.zeros(3, 3))
    both(lambda s, x: torch.addmm(s, x, x, beta=0), torch.full((3, 3), nan), torch.ones(3, 3))
    both(lambda s, x: torch.addmm(s, x, x, alpha=0), torch.ones(3, 3), a)


def test_in_place_and_out():
    def inplace(s, a, b):
        s = s.clone()
        kept = s[0]
        s.addmm_(a, b, alpha=2)
        return s + kept

    both(inplace, made(3, 5), made(3, 4), made(4, 5))
    both(lambda s, a, b: s.clone().baddbmm_(a, b), made(2, 3, 5), made(2, 3, 4), made(2, 4, 5))
    both(lambda a, b: torch.mm(a, b, out=torch.empty(0, device=a.device)), made(3, 4), made(4, 5))
    both(lambda a: torch.mm(a.t(), a, out=a.new_empty(4, 5)[:, :4]), made(3, 4))


def test_vectors_complex():
    both(torch.vdot, made(9, dtype=torch.complex64), made(9, dtype=torch.complex64, seed=1))
    both(torch.vdot, made(9), made(9, seed=1))
    both(lambda a, b: a.mT @ b, made(2, 3, 4, dtype=torch.complex64), made(2, 3, 4, dtype=torch.complex64))


def test_built_from_products():
    both(lambda a, b: torch.einsum("bij,bkj->bik", a, b), made(2, 3, 4), made(2, 5, 4))
    both(lambda a, b: torch.einsum("ij,j", a, b), made(3, 4), made(4))
    both(lambda a, b: torch.tensordot(a, b, 2), made(2, 3, 4), made(3, 4, 5))
    both(torch.outer, made(3), made(4))
    both(torch.inner, made(3, 4), made(5, 4))
    both(torch.addr, made(3, 4), made(3), made(4))
    both(torch.addbmm, made(3, 5), made(2, 3, 4), made(2, 4, 5))
    both(torch.kron, made(2, 3), made(3, 2))
    both(F.bilinear, made(2, 3), made(2, 4), made(5, 3, 4))


CASES = [
    (torch.mm, (2, 3), (4, 5)),
    (torch.mm, (2, 3, 1), (4, 5)),
    (torch.bmm, (2, 3), (3, 5)),
    (torch.bmm, (2, 3, 4), (3, 4, 5)),
    (torch.matmul, (2, 3, 4), (3, 4, 5)),
    (torch.matmul, (), (3,)),
    (torch.dot, (2,), (3,)),
    (torch.mv, (2, 3), (4,)),
    (torch.addmm, (7,), (2, 3), (3, 5)),
    (torch.addmm, (5,), (2, 3), (4, 5)),
    (torch.addmv, (3,), (2, 3), (3,)),
    (torch.baddbmm, (2, 2), (2, 3, 4), (2, 4, 5)),
    (F.linear, (2, 3), (4, 4)),
    (F.linear, (2, 3), (4, 3), (3,)),
    (F.linear, (2, 3), (2, 4, 3)),
]


@pytest.mark.parametrize("fn, shapes", [(c[0], c[1:]) for c in CASES])
def test_shape_errors(fn, shapes):
    fail_alike(fn, *[made(*s) for s in shapes])


def test_type_errors():
    for a, b in [
        (torch.ones(2, 2), torch.ones(2, 2).half()),
        (torch.ones(2, 2) > 0, torch.ones(2, 2) > 0),
        (torch.ones(2, 2), torch.ones(2, 2).long()),
    ]:
        for fn in (
            torch.mm,
            torch.matmul,
            F.linear,
            lambda x, y: torch.addmm(x, x, y),
            lambda x, y: torch.bmm(x[None], y[None]),
        ):
            fail_alike(fn, a, b)
    for fn in (torch.mm, torch.matmul, F.linear):
        for xs in ((torch.ones(2, 2), up(torch.ones(2, 2))), (up(torch.ones(2, 2)), torch.ones(2, 2))):
            with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
                fn(*xs)


GRADS = [
    (torch.mm, (3, 4), (4, 5)),
    (torch.matmul, (2, 1, 3, 4), (5, 4, 2)),
    (torch.matmul, (2, 3, 4), (4, 5)),
    (torch.matmul, (4,), (2, 4, 3)),
    (torch.mv, (3, 4), (4,)),
    (torch.dot, (4,), (4,)),
    (torch.addmm, (5,), (3, 4), (4, 5)),
    (torch.baddbmm, (3, 5), (2, 3, 4), (2, 4, 5)),
    (torch.addmv, (3,), (3, 4), (4,)),
    (F.linear, (2, 3, 4), (5, 4), (5,)),
    (F.linear, (4,), (5, 4), (5,)),
    (F.linear, (3, 4), (5, 4)),
]


@pytest.mark.parametrize("fn, shapes", [(c[0], c[1:]) for c in GRADS])
def test_gradients(fn, shapes):
    results = []
    for device in ("cpu", "webgpu"):
        xs = [made(*s, seed=i).to(device).requires_grad_() for i, s in enumerate(shapes)]
        y = fn(*xs)
        y.backward(made(*y.shape, seed=9).to(device))
        results.append([x.grad.cpu() for x in xs])
    for a, b in zip(*results):
        torch.testing.assert_close(b, a, rtol=1e-5, atol=1e-5)
