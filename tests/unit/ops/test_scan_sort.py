"""Scans, sorting, selection, unique values, searches and histograms against PyTorch."""

import random

import pytest

torch = pytest.importorskip("torch")
import torchlite as tl
from dtype_names import DTYPES
from reduction_cases import compare, make, ours, same

REAL = [d for d in DTYPES if not d.startswith("complex")]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(6))
def test_scans_of_random_layouts_as_in_pytorch(dtype, seed):
    rng = random.Random(f"{dtype}{seed}")
    torch.manual_seed(rng.randrange(9999))
    x = make(rng, dtype)
    d = rng.randrange(-max(x.dim(), 1), max(x.dim(), 1))
    compare(lambda m, a: m.cumsum(a, d), x)
    if dtype not in ("float16", "bfloat16"):
        compare(lambda m, a: m.cumprod(a, d), torch.nan_to_num(x, 0, 1, -1) if x.is_floating_point() else x)
    compare(lambda m, a: m.cummax(a, d), x)
    compare(lambda m, a: m.cummin(a, d), x)
    if dtype.startswith("float"):
        compare(lambda m, a: m.logcumsumexp(a, d), x)
    if x.dim():
        compare(lambda m, a: m.diff(a, 1, d), x)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("seed", range(6))
def test_sorting(dtype, seed):
    rng = random.Random(f"s{dtype}{seed}")
    torch.manual_seed(rng.randrange(9999))
    x = make(rng, dtype)
    d = rng.randrange(-max(x.dim(), 1), max(x.dim(), 1))
    n = x.shape[d] if x.dim() else 1
    down = rng.random() < 0.5
    compare(lambda m, a: m.sort(a, stable=True, dim=d, descending=down), x)
    compare(lambda m, a: m.argsort(a, stable=True, dim=d, descending=down), x)
    if dtype != "bool":
        k = rng.randint(0, min(n, 6))
        compare(lambda m, a: m.topk(a, k, d, down), x)
        v, i = ours(x).topk(min(n, 4), d, down)
        if x.dim():
            same(v, torch.gather(x, d, torch.tensor(i.tolist(), dtype=torch.int64).reshape(tuple(i.shape))))
    clean = torch.nan_to_num(x, 0, 1, -1) if x.is_floating_point() else x
    compare(lambda m, a: m.unique(a, return_inverse=True, return_counts=True), clean)
    compare(lambda m, a: m.unique(a, dim=d, return_inverse=True, return_counts=True), clean)
    compare(lambda m, a: m.unique_consecutive(a, return_inverse=True, return_counts=True), clean)
    compare(lambda m, a: a.unique_consecutive(dim=d, return_counts=True), clean)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bfloat16", "uint8"])
@pytest.mark.parametrize("n", [1, 3, 5, 17, 40, 129, 300, 1000, 5000])
def test_topk_among_equal_values(n, dtype):
    """Which of them it takes, and in which order, is the order of the C++ library."""
    torch.manual_seed(n)
    for high in (2, 7, 100):
        x = torch.randint(0, high, (3, n)).to(getattr(torch, dtype))
        if dtype.startswith("float") and n > 3:
            x[:, 2], x[1, 0] = float("nan"), -0.0
        for k in sorted({1, 2, min(n, 16), n // 64 or 1, n // 3 + 1, n}):
            if k > n:
                continue
            for largest in (True, False):
                for ordered in (True, False):
                    compare(lambda m, a: m.topk(a, k, 1, largest, ordered), x)
                compare(lambda m, a: m.topk(a.t(), k, 0, largest), x)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bfloat16", "uint8", "bool"])
@pytest.mark.parametrize("n", [1, 15, 16, 17, 40, 129, 1000, 32767, 32768])
def test_sort_of_equal_values(n, dtype):
    """Their order is that of the C++ library, where nobody asks for a stable sort; long rows of integers are sorted by
    digits, which is stable."""
    torch.manual_seed(n)
    for high in (2, 7, 100):
        x = torch.randint(0, high, (n,)).to(getattr(torch, dtype))
        if dtype.startswith("float") and n > 3:
            x[2::5], x[0] = float("nan"), -0.0
        for down in (False, True):
            compare(lambda m, a: m.sort(a, descending=down), x)
            compare(lambda m, a: m.argsort(a, descending=down), x)
            compare(lambda m, a: m.sort(a, stable=None, descending=down)[1], x)
            compare(lambda m, a: m.argsort(a, stable=False, descending=down), x)
            compare(lambda m, a: m.argsort(a, stable=True, descending=down), x)
            if n <= 1000:
                compare(lambda m, a: m.argsort(m.stack([a, a.flip(0)], 1), 0, descending=down), x)


def test_topk_where_quicksort_gives_up():
    """Rows whose medians of three split badly: a heap takes over."""
    n = 3000
    organ = torch.cat([torch.arange(n // 2), torch.arange(n // 2).flip(0)]).float()
    worst = torch.zeros(n)
    for i in range(1, n // 2 + 1):  # the sequence on which it is quadratic
        worst[i - 1] = i if i % 2 else n // 2 + i - 1
        worst[n // 2 + i - 1] = 2 * i
    for x in (organ, worst, organ.double(), worst.double()):
        for k in (100, 1500, 2999):
            compare(lambda m, a: m.topk(a, k), x)
            compare(lambda m, a: m.topk(a, k, largest=False), x)


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "float16"])
def test_searches(dtype):
    rng = random.Random(dtype)
    for _ in range(10):
        edges = torch.sort(torch.nan_to_num(make(rng, dtype, (9,)), 0, 1, -1)).values
        x = make(rng, rng.choice(["float32", "int64", dtype]))
        for right in (False, True):
            compare(lambda m, e, a: m.searchsorted(e, a, right=right, out_int32=right), edges, x)
            compare(lambda m, e, a: m.bucketize(a, e, right=right), edges, x)
        compare(lambda m, e: m.searchsorted(e, 0.5), edges)
    rows = torch.sort(torch.randn(3, 6)).values
    compare(lambda m, e, a: m.searchsorted(e, a, side="right"), rows, torch.randn(3, 4))
    shuffled = torch.randn(3, 6)
    compare(lambda m, e, a: m.searchsorted(e, a, sorter=m.argsort(e, -1)), shuffled, torch.randn(3, 4))
    for kwargs in ({"side": "mid"}, {"side": "left", "right": True}):
        compare(lambda m, e, k=kwargs: m.searchsorted(e, e, **k), rows)
    compare(lambda m, e: m.searchsorted(e, m.ones(2, 4)), rows)
    compare(lambda m, e: m.bucketize(e, e), rows)


def test_histograms():
    x = torch.randn(50)
    for args in ((5,), (7, -1, 2), (3, 0, 0)):
        compare(lambda m, a, p=args: m.histc(a, *p), x)
    compare(lambda m, a: m.histogram(a, 5), x)
    compare(lambda m, a: m.histogram(a, m.tensor([-1.0, 0, 0.5, 2]), density=True), x)
    compare(lambda m, a: m.histogram(a, 4, range=(-1.0, 1.0), weight=a.abs()), x)
    compare(lambda m, a: m.histogramdd(a.reshape(25, 2), [3, 4]), x)
    i = torch.randint(0, 9, (40,))
    compare(lambda m, a: m.bincount(a), i)
    compare(lambda m, a, w: m.bincount(a, w, 12), i, torch.rand(40))
    compare(lambda m, a: m.bincount(a - 3), i)
    compare(lambda m, a: m.bincount(a.float()), i)
    compare(lambda m, a: m.histc(a, 3, 5, 1), x)


def test_large_sorts():
    torch.manual_seed(0)
    for x in (
        torch.randn(5000),
        torch.randint(-(2**40), 2**40, (5000,)),
        torch.randint(0, 3, (5000,), dtype=torch.int32),
        torch.randn(3000, dtype=torch.float64),
    ):
        for down in (False, True):
            compare(lambda m, a: m.sort(a, stable=True, descending=down), x)
        compare(lambda m, a: m.topk(a, 7)[0], x)
        compare(lambda m, a: m.topk(a, 7, largest=False)[0], x)
        compare(lambda m, a: m.median(a), x)


GRADIENTS = {
    "cumsum": lambda m, x: x.cumsum(1),
    "cumprod": lambda m, x: x.cumprod(0),
    "cummax": lambda m, x: x.cummax(1)[0],
    "logcumsumexp": lambda m, x: x.logcumsumexp(1),
    "sort": lambda m, x: x.sort(1, True)[0],
    "topk": lambda m, x: x.topk(2, 0)[0],
    "msort": lambda m, x: m.msort(x),
    "diff": lambda m, x: x.diff(),
    "trapezoid": lambda m, x: m.trapezoid(x, dx=0.5),
    "trapezoid_x": lambda m, x: m.trapezoid(x, x.detach().cumsum(1)),
    "cumulative_trapezoid": lambda m, x: m.cumulative_trapezoid(x),
    "gradient": lambda m, x: m.gradient(x, edge_order=2)[0],
    "renorm": lambda m, x: x.renorm(2, 0, 0.7),
    "cdist": lambda m, x: m.cdist(x, x.flip(0)),
    "pdist": lambda m, x: m.pdist(x),
    "cosine": lambda m, x: m.cosine_similarity(x, x.flip(0)),
    "pairwise": lambda m, x: m.pairwise_distance(x, x.flip(1)),
    "dist": lambda m, x: m.dist(x, x.flip(1), 3),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    torch.manual_seed(2)
    x = torch.randn(4, 6, dtype=torch.float64)
    a, b = x.clone().requires_grad_(), ours(x).requires_grad_()
    y, z = GRADIENTS[name](torch, a), GRADIENTS[name](tl, b)
    same(z, y)
    g = torch.randn(y.shape, dtype=y.dtype)
    same(tl.autograd.grad(z, b, ours(g))[0], torch.autograd.grad(y, a, g)[0], 10)


@pytest.mark.filterwarnings("ignore")
def test_results_into_their_own_inputs():
    """Where PyTorch refuses to write over what it reads."""
    index = [[0, 1], [1, 0]]
    for call in (
        lambda m, x, i: m.gather(x, 0, i, out=x),
        lambda m, x, i: m.kthvalue(x, 1, out=(x, m.zeros(2, dtype=m.int64))),
        lambda m, x, i: m.take(x, i, out=x),
        lambda m, x, i: m.index_select(x, 0, i[0], out=x),
        lambda m, x, i: m.scatter(x, 0, i, x, out=x),
        lambda m, x, i: m.stack([x, x], out=x),
        lambda m, x, i: m.masked_select(x, x > 0, out=x),
    ):
        texts = []
        for lib in (torch, tl):
            with pytest.raises(RuntimeError) as error:
                call(lib, lib.ones(2, 2), lib.tensor(index))
            texts.append(str(error.value))
        assert texts[0] == texts[1]
    x = tl.ones(2, 2)
    assert tl.cumsum(x, 0, out=x) is x


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32", "float64"])
def test_mode_positions(dtype):
    """Of equally good positions the one that PyTorch's sort happens to leave, so that gradients agree."""
    torch.manual_seed(1)
    for n in (5, 16, 17, 40, 300, 3000):
        x = torch.randint(0, max(n // 4, 2), (3, n)).clamp(max=200).to(getattr(torch, dtype))
        want, got = torch.mode(x), ours(x).mode()
        assert got.values.tolist() == want.values.tolist() and got.indices.tolist() == want.indices.tolist()
