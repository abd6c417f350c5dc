"""Reductions against PyTorch: all dtypes, layouts, dims, empty tensors, errors, gradients."""

import random
import warnings

import pytest

torch = pytest.importorskip("torch")
import torchlite as tl
from dtype_names import DTYPES
from reduction_cases import FLOATS, compare, make, ours, same

warnings.simplefilter("ignore")


def pick(rng, x):
    n = max(x.dim(), 1)
    d1 = rng.randrange(-n, n)
    dims = rng.choice([None, (d1,), tuple(rng.sample(range(x.dim()), rng.randint(0, x.dim())))])
    return d1, dims, rng.random() < 0.5


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(8))
def test_values(dtype, seed):
    rng = random.Random(f"{dtype}{seed}")
    torch.manual_seed(rng.randrange(9999))
    x = make(rng, dtype)
    d1, dims, keep = pick(rng, x)
    narrow = dtype in ("float16", "bfloat16")
    compare(lambda m, a: m.sum(a, dims, keep), x)
    compare(lambda m, a: m.mean(a, dims, keep), x)
    compare(lambda m, a: m.nansum(a, dims, keep), x)
    compare(lambda m, a: m.any(a, dims, keep), x)
    compare(lambda m, a: m.all(a, dims, keep), x)
    if dims is not None:
        compare(lambda m, a: m.count_nonzero(a, dims), x)
        if dims:
            compare(lambda m, a: m.logsumexp(a, dims, keep), x)
    if not narrow:
        compare(lambda m, a: m.prod(a, d1, keep), x)
    for name in ("max", "min"):
        compare(lambda m, a, n=name: getattr(m, n)(a, d1, keep), x)
        compare(lambda m, a, n=name: getattr(m, "a" + n)(a, dims or (), keep), x, text=x.numel() > 0)
        compare(lambda m, a, n=name: getattr(m, "arg" + n)(a, rng.choice([d1]), keep), x)
        compare(lambda m, a, n=name: getattr(m, n)(a), x)
        compare(lambda m, a, n=name: getattr(m, "arg" + n)(a), x)
    compare(lambda m, a: m.aminmax(a, dim=d1, keepdim=keep), x, text=False)
    finite = torch.nan_to_num(x, 0, 1, -1) if x.is_floating_point() else x
    for name in ("var", "std", "var_mean", "std_mean"):
        for correction in (0, 1, 0.5):
            compare(lambda m, a, n=name, c=correction: getattr(m, n)(a, dims, correction=c, keepdim=keep), finite)
    for order in (0, 1, 2, 3, 0.5, -1, float("inf"), -float("inf")):
        compare(lambda m, a, o=order: m.linalg.vector_norm(a, o, dims, keep), x, text=x.numel() > 0)


@pytest.mark.parametrize("name", ["sum", "mean", "prod"])
@pytest.mark.parametrize("out", ["int8", "int64", "float32", "float64", "complex64", "bool"])
def test_dtype_argument(name, out):
    rng = random.Random(name + out)
    for dtype in ("bool", "int32", "float32"):
        if name == "prod" and out == "bool":
            continue
        x = make(rng, dtype, (3, 4))
        if dtype == "float32" and out in ("int8", "int64", "bool"):
            x = torch.nan_to_num(x, 0, 1, -1)
        compare(lambda m, a: getattr(m, name)(a, 0, dtype=getattr(m, out)), x)


def test_long_sums_stay_exact():
    x = torch.full((3_000_001,), 0.1)
    want = 3_000_001 * float(x[0])
    assert abs(ours(x).sum().item() - want) < 0.2
    wide = ours(x[:3_000_000].view(-1, 4))
    assert all(abs(v - want / 4) < 0.05 for v in wide.sum(0).tolist())


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.ones(2, 3).sum((0, 0)),
        lambda m: m.ones(2, 3).sum(2),
        lambda m: m.max(m.ones(0, 3)),
        lambda m: m.max(m.ones(0, 3), 0),
        lambda m: m.argmax(m.ones(0, 3)),
        lambda m: m.amax(m.ones(0, 3), 0),
        lambda m: m.mean(m.ones(2, dtype=m.int64)),
        lambda m: m.aminmax(m.ones(0, 3)),
        lambda m: m.var(m.ones(3, dtype=m.int32)),
        lambda m: m.median(m.ones(0, 3), 0),
        lambda m: m.kthvalue(m.ones(3), 5),
        lambda m: m.quantile(m.ones(3), 1.5),
        lambda m: m.quantile(m.ones(3), 0.5, interpolation="a"),
        lambda m: m.linalg.vector_norm(m.ones(0, 3), float("inf")),
        lambda m: m.linalg.vector_norm(m.ones(2, dtype=m.int64)),
        lambda m: m.nansum(m.ones(2, dtype=m.complex64)),
        lambda m: m.argmax(m.ones(2, dtype=m.bool)),
        lambda m: m.max(m.ones(2, dtype=m.complex64), 0),
        lambda m: m.any(m.ones(2, 2), (0, 0)),
    ],
)
def test_errors(call):
    compare(lambda m: call(m))


@pytest.mark.parametrize("dtype", FLOATS)
def test_medians_and_quantiles(dtype):
    rng = random.Random(dtype)
    for shape in ((7,), (3, 4), (5, 2, 3), (33, 7)):
        x = make(rng, dtype, shape)
        for name in ("median", "nanmedian"):
            compare(lambda m, a, n=name: getattr(m, n)(a), x)
            compare(lambda m, a, n=name: getattr(m, n)(a, 0, True)[0], x)
        compare(lambda m, a: m.kthvalue(a, 2, 0)[0], x)
        compare(lambda m, a: m.mode(a.round(), 0)[0], torch.nan_to_num(x, 0, 1, -1))
        if dtype in ("float32", "float64"):
            for how in ("linear", "lower", "higher", "midpoint", "nearest"):
                compare(lambda m, a, h=how: m.quantile(a, 0.3, 0, interpolation=h), x)
                compare(
                    lambda m, a, h=how: m.nanquantile(
                        a, m.tensor([0.1, 0.5], dtype=a.dtype), -1, True, interpolation=h
                    ),
                    x,
                )


def test_named_results():
    r = tl.tensor([[1.0, 5.0], [7.0, 2.0]]).max(1)
    assert type(r) is tl.return_types.max and r.values.tolist() == [5, 7] and r.indices.tolist() == [1, 0]
    assert repr(r) == "torch.return_types.max(\nvalues=tensor([5., 7.]),\nindices=tensor([1, 0]))"
    values, indices = r
    assert values is r[0] and indices is r[1]


GRADIENTS = {
    "sum": lambda m, x: x.sum((0, 2)),
    "mean": lambda m, x: x.mean(1, True),
    "prod": lambda m, x: x.prod(1),
    "prod_all": lambda m, x: x.prod(),
    "amax": lambda m, x: x.amax((0, 1)),
    "max": lambda m, x: x.max(2)[0],
    "min_all": lambda m, x: x.min(),
    "aminmax": lambda m, x: m.aminmax(x, dim=1)[1],
    "var": lambda m, x: x.var((0, 1)),
    "std": lambda m, x: x.std(),
    "var_mean": lambda m, x: m.stack(list(m.var_mean(x, 1))),
    "std_mean": lambda m, x: m.stack(list(m.std_mean(x, 1))),
    "norm": lambda m, x: x.norm(),
    "norm1": lambda m, x: x.norm(1, 0),
    "norm3": lambda m, x: x.norm(3, (0, 2)),
    "norm_inf": lambda m, x: m.linalg.vector_norm(x, float("inf"), 1),
    "logsumexp": lambda m, x: x.logsumexp(1),
    "median": lambda m, x: x.median(),
    "median_dim": lambda m, x: x.median(1)[0],
    "kthvalue": lambda m, x: x.kthvalue(2, 0)[0],
    "quantile": lambda m, x: x.quantile(0.3, 1),
    "nansum": lambda m, x: x.nansum(0),
    "cov": lambda m, x: m.cov(x[0]),
    "corrcoef": lambda m, x: m.corrcoef(x[1]),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    f = GRADIENTS[name]
    torch.manual_seed(1)
    for dtype in (torch.float64, torch.float32):
        x = torch.randn(3, 4, 5, dtype=dtype)
        mine = ours(x).requires_grad_()
        x.requires_grad_()
        y, z = f(torch, x), f(tl, mine)
        same(z, y, 3)
        g = torch.randn(y.shape, dtype=dtype)
        h = torch.randn(x.shape, dtype=dtype)
        (first,) = torch.autograd.grad(y, x, g, create_graph=True)
        (got,) = tl.autograd.grad(z, mine, ours(g), create_graph=True)
        same(got, first, 10)
        if first.grad_fn is not None and name not in ("cov", "corrcoef"):
            second = torch.autograd.grad((first * h).sum(), x, allow_unused=True)[0]
            again = tl.autograd.grad((got * ours(h)).sum(), mine, allow_unused=True)[0] if got.requires_grad else None
            if second is not None and bool((second != 0).any()):
                same(again, second, 30)


def test_product_gradient_around_zeros():
    for row in ([0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1.0, 2.0, 3.0]):
        x = torch.tensor([row, [4.0, 5.0, 6.0]], dtype=torch.float64)
        a, b = x.clone().requires_grad_(), ours(x).requires_grad_()
        a.prod(1).sum().backward()
        b.prod(1).sum().backward()
        same(b.grad, a.grad)
        a, b = x.clone().requires_grad_(), ours(x).requires_grad_()
        a.cumprod(1).sum().backward()
        b.cumprod(1).sum().backward()
        same(b.grad, a.grad)


@pytest.mark.parametrize("name", "sum mean prod any all amax argmax var count_nonzero nansum".split())
@pytest.mark.parametrize("sizes", [(0, 2**40, 2**23), (0, 2**32, 2**31), (0, 2**31 - 1, 2**33)])
def test_more_results_than_can_be_counted(name, sizes):
    """Only an input without elements has as many; the number of results does not fit 64 bits, or their bytes do not."""
    x = tl.zeros(0, 1, 1).expand(sizes)
    with pytest.raises((RuntimeError, IndexError)):
        getattr(x, name)(dim=0)
