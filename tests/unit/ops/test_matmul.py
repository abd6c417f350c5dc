"""Products of matrices against PyTorch: dtypes, strides, broadcasting, empty dims, gradients, messages."""

import itertools
import math

import pytest
import torchlite
from against_torch import check, fails_alike, torch

REAL = [torch.float32, torch.float64]
ALL = REAL + [
    torch.float16,
    torch.bfloat16,
    torch.int8,
    torch.uint8,
    torch.int32,
    torch.int64,
    torch.complex64,
    torch.complex128,
]


def make(*shape, dtype=torch.float32):
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, dtype=dtype if dtype.is_complex else torch.float64).to(dtype)
    return torch.randint(0, 9, shape).to(dtype)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize(
    "m,k,n",
    [(1, 1, 1), (2, 3, 4), (5, 17, 9), (33, 40, 29), (1, 64, 65), (70, 300, 1), (0, 3, 2), (2, 0, 3), (130, 13, 70)],
)
def test_mm(dtype, m, k, n):
    a, b = make(m, k, dtype=dtype), make(k, n, dtype=dtype)
    grad = dtype in REAL
    check(lambda t, x, y: t.mm(x, y), a, b, grad=grad)
    check(lambda t, x, y: x @ y, make(k, m, dtype=dtype).t(), make(n, k, dtype=dtype).t(), grad=grad)
    check(
        lambda t, x, y: t.addmm(x[0, :1], x, y, beta=2, alpha=3), make(m + 1, k, dtype=dtype)[1:], b, grad=False
    ) if m and k else None


def test_large_product_in_blocks():
    a, b = make(150, 700, dtype=torch.float64), make(1300, 700, dtype=torch.float64)
    check(lambda t, x, y: x @ y.t(), a, b, grad=False)
    check(lambda t, x, y: t.mm(y, x.t()), a, b, grad=False)


@pytest.mark.parametrize(
    "a,b",
    [
        ((4,), (4,)),
        ((3, 4), (4,)),
        ((4,), (4, 3)),
        ((2, 3, 4), (4,)),
        ((4,), (2, 4, 3)),
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((1, 3, 4), (6, 4, 2)),
        ((3, 4), (2, 4, 5)),
        ((2, 0, 4), (4, 3)),
    ],
)
def test_matmul_shapes(a, b):
    for dtype in (torch.float64, torch.complex128):
        check(
            lambda t, x, y: t.matmul(x, y), make(*a, dtype=dtype), make(*b, dtype=dtype), second=dtype == torch.float64
        )


@pytest.mark.parametrize("beta,alpha", [(1, 1), (0, 1), (2, 1), (1, 3), (0.5, 2)])
def test_scaled_sums(beta, alpha):
    d = torch.float64
    check(
        lambda t, s, x, y: t.addmm(s, x, y, beta=beta, alpha=alpha),
        make(5, dtype=d),
        make(3, 4, dtype=d),
        make(4, 5, dtype=d),
    )
    check(
        lambda t, s, x, y: t.addmv(s, x, y, beta=beta, alpha=alpha),
        make(3, dtype=d),
        make(3, 4, dtype=d),
        make(4, dtype=d),
    )
    check(
        lambda t, s, x, y: t.baddbmm(s, x, y, beta=beta, alpha=alpha),
        make(3, 5, dtype=d),
        make(2, 3, 4, dtype=d),
        make(2, 4, 5, dtype=d),
    )
    check(
        lambda t, s, x, y: t.addbmm(s, x, y, beta=beta, alpha=alpha),
        make(3, 5, dtype=d),
        make(2, 3, 4, dtype=d),
        make(2, 4, 5, dtype=d),
    )
    check(
        lambda t, s, x, y: t.addr(s, x, y, beta=beta, alpha=alpha),
        make(3, 4, dtype=d),
        make(3, dtype=d),
        make(4, dtype=d),
    )


def test_beta_zero_ignores_nan():
    nan = torch.full((2, 2), float("nan"))
    check(lambda t, s, x, y: t.addmm(s, x, y, beta=0), nan, make(2, 3), make(3, 2), grad=False)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4), (0, 4)])
def test_linear(shape):
    for bias in (None, make(5)):
        check(lambda t, x, w, b: t.nn.functional.linear(x, w, b), make(*shape), make(5, 4), bias)


EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ij->ji", (2, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("...ij,...jk->...ik", (5, 2, 3), (3, 4)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("i,j->ij", (2,), (3,)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("abc,cd,d->ab", (2, 3, 4), (4, 5), (5,)),
    ("ab...,b...->a...", (2, 3, 4), (3, 4)),
    ("bn,anm,bm->ba", (2, 5), (3, 5, 4), (2, 4)),
    ("i j , j k -> i k", (2, 3), (3, 4)),
    ("...->...", (2, 3)),
]


@pytest.mark.parametrize("case", EQUATIONS, ids=[c[0] for c in EQUATIONS])
def test_einsum(case):
    check(lambda t, *xs: t.einsum(case[0], *xs), *[make(*s, dtype=torch.float64) for s in case[1:]])


def test_products_with_rules_of_their_own():
    d = torch.float64
    check(lambda t, x, y: t.tensordot(x, y, dims=2), make(2, 3, 4, dtype=d), make(3, 4, 5, dtype=d))
    check(lambda t, x, y: t.tensordot(x, y, dims=([1, 0], [0, 1])), make(2, 3, 4, dtype=d), make(3, 2, 5, dtype=d))
    check(lambda t, x, y: t.kron(x, y), make(2, 3, dtype=d), make(3, 1, 2, dtype=d))
    check(lambda t, x, y: t.inner(x, y), make(2, 3, dtype=d), make(4, 3, dtype=d))
    check(lambda t, x, y: t.outer(x, y), make(2, dtype=d), make(3, dtype=d))
    check(lambda t, x, y: t.vdot(x, y), make(3, dtype=torch.complex128), make(3, dtype=torch.complex128))
    check(
        lambda t, x, y, w, b: t.nn.functional.bilinear(x, y, w, b),
        make(2, 3, dtype=d),
        make(2, 4, dtype=d),
        make(5, 3, 4, dtype=d),
        make(5, dtype=d),
    )
    check(
        lambda t, *m: t.linalg.multi_dot(list(m)),
        make(3, dtype=d),
        make(3, 4, dtype=d),
        make(4, 2, dtype=d),
        make(2, dtype=d),
    )
    check(lambda t, x, y: t.cross(x, y, dim=-1), make(4, 3, dtype=d), make(4, 3, dtype=d))


@pytest.mark.parametrize(
    "causal,masked,gqa",
    [c for c in itertools.product([False, True], ["", "bool", "float"], [False, True]) if not (c[0] and c[1])],
)
def test_attention(causal, masked, gqa):
    q, k, v = make(2, 4, 5, 8), make(2, 2 if gqa else 4, 5, 8), make(2, 2 if gqa else 4, 5, 6)
    if not masked:
        mask = None
    elif masked == "bool":
        mask = torch.rand(5, 5) > 0.4
    else:
        mask = make(5, 5)
    check(
        lambda t, q, k, v, m: t.nn.functional.scaled_dot_product_attention(
            q, k, v, m, is_causal=causal, enable_gqa=gqa, scale=0.3
        ),
        q,
        k,
        v,
        mask,
    )


@pytest.mark.parametrize("heads", [0, 3])
def test_attention_with_heads_that_do_not_divide(heads):
    """PyTorch's process ends where there are none."""
    q, k = torchlite.ones(1, 4, 3, 8), torchlite.ones(1, heads, 3, 8)
    for f in (torchlite.nn.functional.scaled_dot_product_attention, torchlite._scaled_dot_product_attention_math):
        with pytest.raises(RuntimeError, match="Number of heads in key and value must divide"):
            f(q, k, k, enable_gqa=True)
        with pytest.raises(IndexError, match="Dimension out of range"):
            f(q[0, 0], q[0, 0], q[0, 0], enable_gqa=True)


def test_attention_rows_that_see_nothing():
    mask = torch.zeros(5, 5)
    mask[1], mask[2, 3:] = -math.inf, -math.inf
    for m in (mask, mask == 0):
        q, k, v = (make(2, 4, 5, 8).requires_grad_() for _ in range(3))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, m)
        grads = torch.autograd.grad((y * y).sum(), (q, k, v))
        assert not y[:, :, 1].any() and not grads[0][:, :, 1].any()
        assert all(bool(torch.isfinite(g).all()) for g in grads)


MISTAKES = [
    (lambda t, x, y: t.mm(x, y), (2, 3), (4, 5)),
    (lambda t, x, y: t.mm(x, y), (2,), (4, 5)),
    (lambda t, x, y: t.mm(x, y), (2, 3), (3,)),
    (lambda t, x, y: x @ y, (2, 3), (4, 5)),
    (lambda t, x, y: x @ y, (3,), (4,)),
    (lambda t, x, y: x @ y, (2, 3), (4,)),
    (lambda t, x, y: x @ y, (2, 3, 4), (3, 4, 5)),
    (lambda t, x, y: x @ y, (2, 3, 4), (2, 5, 5)),
    (lambda t, x, y: x @ y, (), (3,)),
    (lambda t, x, y: t.bmm(x, y), (2, 3, 4), (2, 3, 4)),
    (lambda t, x, y: t.bmm(x, y), (3, 4), (3, 4, 4)),
    (lambda t, x, y: t.dot(x, y), (2,), (3,)),
    (lambda t, x, y: t.dot(x, y), (2, 1), (2,)),
    (lambda t, x, y: t.mv(x, y), (2, 3), (4,)),
    (lambda t, x, y: t.nn.functional.linear(x, y), (2, 3), (4, 5)),
    (lambda t, x, y: t.outer(x, y), (2, 3), (3,)),
    (lambda t, x, y: t.inner(x, y), (2, 3), (4, 2)),
    (lambda t, x, y: t.tensordot(x, y, 1), (2, 3), (4, 3)),
    (lambda t, x, y: t.einsum("ij,jk->ik", x, y), (2, 3), (4, 5)),
    (lambda t, x, y: t.einsum("ij->i", x), (3,), (1,)),
    (lambda t, x, y: t.einsum("i1,j", x, y), (2, 3), (2,)),
    (lambda t, x, y: t.einsum("ij,jk", x), (2, 3), (2,)),
    (lambda t, x, y: t.einsum("i,j->k", x, y), (2,), (3,)),
    (lambda t, x, y: t.addmm(x, y, y.t()), (2, 3), (2, 3)),
]


@pytest.mark.parametrize("i", range(len(MISTAKES)))
def test_messages(i):
    call, a, b = MISTAKES[i]
    fails_alike(call, make(*a), make(*b))


def test_dtype_messages():
    x, y = make(2, 3), make(3, 2, dtype=torch.float64)
    fails_alike(lambda t, x, y: x @ y, x, y)
    fails_alike(lambda t, x, y: t.nn.functional.linear(x, y.t()), x, y)
    fails_alike(lambda t, x, y: t.bmm(x[None], y[None]), x, y)
    fails_alike(lambda t, x, y: t.dot(x[0], y[:, 0]), x, y)
    fails_alike(lambda t, x: t.mm(x, x), torch.ones(2, 2, dtype=torch.bool))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64])
def test_integers_are_exact(dtype):
    """Sums below 2^24, below 2^53, of 64 bits and beyond, which wrap around in the dtype."""
    info = torch.iinfo(dtype)
    for size in (9, 360, 1 << 20, (1 << 22) + 1, 1 << 31, 1 << 60, info.max):
        low, high = max(-size, info.min), min(size, info.max)
        a, b = (torch.randint(low, high, shape, dtype=dtype) for shape in ((33, 128), (128, 40)))
        a[0], b[:, 0] = high, high  # one sum has the largest terms, so that the last bit counts
        a[0, 0], b[0, 0] = high - 1, 1 if low == 0 else high - 2
        a[1] = low
        batch = torch.stack([a, a - 1])
        for call in (
            lambda t, a, b, batch: a @ b,
            lambda t, a, b, batch: a.t().contiguous().t() @ b.t().contiguous().t(),
            lambda t, a, b, batch: batch @ b,
            lambda t, a, b, batch: t.nn.functional.linear(a, b.t()),
        ):
            check(call, a, b, batch, grad=False, tol=(0, 0))
