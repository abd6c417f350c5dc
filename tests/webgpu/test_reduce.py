"""Reductions and scans on webgpu: what the CPU gives for the same tensors."""

from __future__ import annotations

import math
import warnings

import pytest

import torchlite as torch

pytestmark = pytest.mark.usefixtures("bridge", "on_the_gpu")

FLOATS = [torch.float32, torch.float16, torch.bfloat16]
INTS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
# with these everything is tried; every combination is a kernel to compile
MAIN = (
    torch.float32,
    torch.int64,
    torch.bool,
)
EPS = {torch.float32: 1e-5, torch.float16: 1e-3, torch.bfloat16: 8e-3}


def made(shape, dtype, seed=0, low=-6, high=7):
    g = torch.Generator().manual_seed(seed)
    if dtype.is_floating_point:
        return torch.randn(shape, generator=g).to(dtype)
    if dtype is torch.bool:
        return torch.randint(0, 2, shape, generator=g).bool()
    return torch.randint(0 if dtype is torch.uint8 else low, high, shape, generator=g).to(dtype)


def flat(r):
    return list(r) if isinstance(r, (tuple, list)) else [r]


def same(got, want, scale=1.0):
    got, want = flat(got), flat(want)
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert a.device.type == "webgpu"
        assert a.dtype is b.dtype and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
        a = a.cpu()
        if b.dtype in EPS:
            e = EPS[b.dtype] * scale
            assert torch.allclose(a.float(), b.float(), rtol=e, atol=e, equal_nan=True), (a, b)
        else:
            assert torch.equal(a, b), (a, b)


def both(fn, *tensors, scale=1.0):
    """fn on the CPU and on webgpu; errors must be the same, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            want = fn(*tensors)
        except Exception as error:
            with pytest.raises(type(error)) as raised:
                fn(*[t.to("webgpu") for t in tensors])
            assert str(raised.value) == str(error)
            return
        same(fn(*[t.to("webgpu") for t in tensors]), want, scale)


@pytest.mark.parametrize("dtype", FLOATS + INTS, ids=str)
def test_sums_and_products_along_dims(dtype):
    x = made((3, 4, 5), dtype)
    few = dtype not in MAIN
    for fn in (torch.sum, torch.prod) if few else (torch.sum, torch.prod, torch.mean, torch.nansum):
        both(lambda t: fn(t), x)
        both(lambda t: fn(t, dtype=torch.float32), x)
        both(lambda t: fn(t, dtype=torch.int32), x)
        both(lambda t: fn(t, 1), x)
    for dims in ((0, 2), None) if few else (0, -1, (0, 2), (2, 1), (0, 1, 2), (), None):
        both(lambda t: t.sum(dims), x)
        both(lambda t: t.sum(dims, keepdim=True), x)
    both(lambda t: t.sum(dtype=torch.bool), x)
    both(lambda t: t.sum(0, dtype=torch.uint8), x)
    both(lambda t: t.sum(0, dtype=torch.float16), x)


@pytest.mark.parametrize("dtype", FLOATS + INTS, ids=str)
def test_extremes_and_tests(dtype):
    x = made((4, 6, 3), dtype, 1)
    few = dtype not in MAIN
    for fn in (
        torch.max,
        torch.min,
        torch.amax,
        torch.amin,
        torch.argmax,
        torch.argmin,
        torch.any,
        torch.all,
        torch.count_nonzero,
        torch.aminmax,
    ):
        both(lambda t: fn(t), x)
    for fn in (
        (torch.max, torch.argmin, torch.any)
        if few
        else (torch.max, torch.min, torch.argmax, torch.argmin, torch.any, torch.all)
    ):
        for dim in (1,) if few else (0, 1, -1):
            both(lambda t: tuple(flat(fn(t, dim))), x)
            both(lambda t: tuple(flat(fn(t, dim, keepdim=True))), x)
    both(lambda t: t.amax((0, 2)), x)
    both(lambda t: t.amin((1,), True), x)
    both(lambda t: t.any((0, 1)), x)
    both(lambda t: t.count_nonzero((0, 1)), x)
    both(lambda t: t.argmax(keepdim=True), x)
    both(lambda t: tuple(torch.aminmax(t, dim=1, keepdim=True)), x)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_statistics(dtype):
    x = made((5, 6, 4), dtype, 2)
    few = dtype is not torch.float32
    for fn in (torch.var_mean, torch.std) if few else (torch.var, torch.std, torch.var_mean, torch.std_mean):
        both(lambda t: fn(t), x)
        both(lambda t: fn(t, False), x)
        both(lambda t: fn(t, 1), x)
        both(lambda t: fn(t, (0, 2), correction=0, keepdim=True), x)
        both(lambda t: fn(t, 0, correction=7), x)
        both(lambda t: fn(t[:1], 0), x)
    for p in (2, 1, 3) if few else (2, 1, 0, math.inf, -math.inf, 3, 0.5, -1.5):
        both(lambda t: torch.linalg.vector_norm(t, p), x, scale=4)
        both(lambda t: torch.linalg.vector_norm(t, p, (0, 2), True), x, scale=4)
    both(lambda t: torch.linalg.vector_norm(t, 2, 1, dtype=torch.float32), x)
    both(lambda t: t.norm(), x)
    both(lambda t: t.logsumexp(1), x)
    both(lambda t: t.logsumexp((0, 2), True), x)


def test_special_values():
    inf, nan = math.inf, math.nan
    x = torch.tensor(
        [[1.0, nan, 3.0], [inf, -inf, 2.0], [nan, nan, -inf], [-inf, -inf, -inf], [inf, inf, 0.0], [-0.0, 0.0, -0.0]]
    )
    for fn in (
        torch.sum,
        torch.mean,
        torch.prod,
        torch.amax,
        torch.amin,
        torch.argmax,
        torch.argmin,
        torch.any,
        torch.all,
        torch.count_nonzero,
        torch.nansum,
        torch.logsumexp,
        torch.var,
        torch.std,
        torch.linalg.vector_norm,
        torch.nanmean,
    ):
        for dim in (0, 1):
            if fn is torch.linalg.vector_norm:
                both(lambda t: fn(t, 2, dim), x)
                both(lambda t: fn(t, inf, dim), x)
            else:
                both(lambda t: fn(t, dim), x)
    for fn in (torch.max, torch.min):
        both(lambda t: tuple(fn(t, 0)), x)
        both(lambda t: tuple(fn(t, 1)), x)
    ties = torch.tensor([[2, 5, 5, 1, 1], [0, 0, 0, 0, 0]])
    both(lambda t: (t.argmax(1), t.argmin(1), t.argmax(), t.argmin()), ties)
    both(lambda t: (t.argmax(1), t.argmin(1), t.argmax(), t.argmin()), ties.bfloat16())


def test_int64_is_exact():
    big = 1 << 40
    x = torch.tensor([[big, 3, -big], [7 * big + 1, big - 5, 9], [-(1 << 62), -(1 << 62), -(1 << 62)]])
    both(lambda t: (t.sum(), t.sum(0), t.sum(1), t.prod(1), t.amax(0), t.amin(1), t.argmax(1)), x)
    both(lambda t: t.sum(), torch.full((70000,), 123456789, dtype=torch.int32))
    both(lambda t: t.sum(dtype=torch.int32), torch.full((70000,), 123456789, dtype=torch.int32))
    both(lambda t: t.sum(), torch.full((300000,), 255, dtype=torch.uint8))


@pytest.mark.parametrize(
    "shape, dims",
    [
        ((100003,), None),
        ((3, 30011), 1),
        ((30011, 3), 0),
        ((2, 5000, 7), 1),
        ((5000, 2, 3), (0, 2)),
        ((2100, 40), 0),
        ((90, 3, 20), 0),
    ],
)
def test_long_rows(shape, dims):
    x = made(shape, torch.float32, 3)
    for fn in (torch.sum, torch.mean, torch.amax, torch.logsumexp):
        both(lambda t: fn(t, tuple(range(t.dim())) if dims is None else dims), x, scale=30)
    both(lambda t: torch.var_mean(t, dims), x, scale=10)
    if not isinstance(dims, tuple):
        both(lambda t: t.argmax(dims), x)
        both(lambda t: t.argmin(dims, keepdim=True), x)
    both(lambda t: t.sum(dims), (x * 100).to(torch.int32))
    both(lambda t: (t > 1).sum(dims), x)


def test_accuracy_of_long_sums():
    x = torch.full((1 << 20,), 0.1)
    assert abs(x.to("webgpu").sum().item() / (0.1 * (1 << 20)) - 1) < 1e-6
    h = torch.full((40000,), 0.1, dtype=torch.float16).to("webgpu")
    assert h.sum().item() == torch.tensor(40000 * float(torch.tensor(0.1, dtype=torch.float16))).half().item()


def test_views_are_read_in_place():
    x = made((6, 8, 10), torch.float32, 4)
    views = [
        lambda t: t.transpose(0, 2),
        lambda t: t[1:5, ::2, 3:],
        lambda t: t[2],
        lambda t: t[:, 3:4].expand(6, 5, 10),
        lambda t: t.permute(2, 0, 1)[1],
        lambda t: t.select(2, 7),
        lambda t: t.flatten(1).t(),
        lambda t: t[:, :, 0],
        lambda t: t[0, 0, 0],
    ]
    for view in views:
        n = view(x).dim()
        for dims in {0, n - 1, tuple(range(n))} if n else {None}:
            both(lambda t: view(t).sum(dims), x)
            both(lambda t: view(t).amax(dims if dims is not None else ()), x)
            if not isinstance(dims, tuple):
                both(lambda t: view(t).argmax(dims), x)
        both(lambda t: view(t).argmax(), x)
    both(lambda t: t[1:5, ::2, 3:].var((0, 2)), x)
    both(lambda t: t[1:5, ::2, 3:].half().sum(), x)


def test_empty():
    for shape in ((0,), (3, 0), (0, 4), (2, 0, 3)):
        for dtype in (torch.float32, torch.int64, torch.bool, torch.bfloat16):
            x = torch.empty(shape, dtype=dtype)
            for fn in (
                torch.sum,
                torch.mean,
                torch.prod,
                torch.any,
                torch.all,
                torch.count_nonzero,
                torch.max,
                torch.amin,
                torch.argmax,
                torch.aminmax,
                torch.std,
                torch.linalg.vector_norm,
            ):
                both(lambda t: fn(t), x)
            for fn in (
                torch.sum,
                torch.mean,
                torch.prod,
                torch.any,
                torch.all,
                torch.amax,
                torch.max,
                torch.argmin,
                torch.logsumexp,
                torch.var,
            ):
                both(lambda t: fn(t, 0), x)
                both(lambda t: fn(t, -1), x)
                both(lambda t: fn(t, -1, keepdim=True), x)


def test_errors():
    x = made((3, 4), torch.float32)
    i = made((3, 4), torch.int64)
    for t in (x, i, i.bool()):
        both(lambda t: t.sum(2), t)
        both(lambda t: t.sum((0, 0)), t)
        both(lambda t: t.mean((0, -2)), t)
        both(lambda t: t.max(5), t)
        both(lambda t: t.argmax(-3), t)
        both(lambda t: t.var(0), t)
        both(lambda t: t.mean(), t)
        both(lambda t: t.norm(), t)
        both(lambda t: t.cumsum(2), t)
    with pytest.warns(UserWarning, match="degrees of freedom is <= 0"):
        x.to("webgpu")[:1].var(0)
    with pytest.raises(TypeError):
        x.to("webgpu").sum(dtype=torch.float64)


def test_zero_dim():
    for dtype in (torch.float32, torch.int32, torch.bool):
        x = torch.tensor(2, dtype=dtype)
        for fn in (
            torch.sum,
            torch.prod,
            torch.amax,
            torch.max,
            torch.argmax,
            torch.any,
            torch.all,
            torch.count_nonzero,
        ):
            both(lambda t: fn(t), x)
        for dim in (0, -1, 1):
            both(lambda t: t.sum(dim), x)
            both(lambda t: tuple(t.max(dim)), x)
            both(lambda t: t.cumsum(dim), x)


@pytest.mark.parametrize("dtype", FLOATS + INTS, ids=str)
def test_scans_along_a_dim(dtype):
    x = made((3, 5, 4), dtype, 12, -2, 3)
    for dim in (0, 1, -1):
        for fn in (torch.cumsum, torch.cumprod):
            both(lambda t: fn(t, dim), x)
            both(lambda t: fn(t.transpose(0, 2), dim, dtype=torch.float32), x)
            both(lambda t: fn(t, dim, dtype=torch.bool), x)
            both(lambda t: fn(t[1:], dim, dtype=torch.int32), x)
        both(lambda t: tuple(t.cummax(dim)), x)
        both(lambda t: tuple(t.cummin(dim)), x)
        both(lambda t: t.logcumsumexp(dim), x)
    both(lambda t: t.clone().cumsum_(1), x)
    both(lambda t: t[:0].cumsum(1), x)


def test_scan_special_values_and_long_rows():
    inf, nan = math.inf, math.nan
    x = torch.tensor([[1.0, nan, 3.0, -inf], [-inf, -inf, 2.0, inf], [-0.0, 0.0, 2.0, 2.0]])
    for dim in (0, 1):
        for fn in (torch.cumsum, torch.cumprod, torch.cummax, torch.cummin, torch.logcumsumexp):
            both(lambda t: tuple(flat(fn(t, dim))), x)
    x = made((2, 20011), torch.float32, 13)
    both(lambda t: t.cumsum(1), x, scale=100)
    both(lambda t: t.logcumsumexp(1), x, scale=10)
    both(lambda t: tuple(t.cummax(1)), x)
    both(lambda t: (t > 0).cumsum(1), x)
    both(lambda t: t.cumsum(0), x.t().contiguous().long() << 33)


def launched():
    from torchlite.webgpu.transport import bridge
    from torchlite.webgpu.lazy import stream

    stream.run_pending()
    stream.flush()
    return bridge.current.stats()["dispatches"]


def test_the_expression_runs_inside_the_reduction():
    x, y = made((50, 40), torch.float32, 5).to("webgpu"), made((50, 40), torch.float32, 6).to("webgpu")
    want = (x.cpu() * y.cpu()).sum(1)
    (x * y).sum(1), x.sum()
    before = launched()
    got = (x * y).sum(1)
    assert launched() == before + 1
    same(got, want, 4)
    before = launched()
    loss = ((x - y) ** 2).reshape(-1).mean()
    assert launched() == before + 1
    same(loss, ((x.cpu() - y.cpu()) ** 2).mean())
    # held by somebody: reduced again it is computed once and kept
    before = launched()
    z = x.exp() + 1
    a, b, c = z.sum(), z.amax(0), z.mean(1)
    assert launched() == before + 4
    zc = x.cpu().exp() + 1
    same([a, b, c, z], [zc.sum(), zc.amax(0), zc.mean(1), zc], 10)
    # scalars, broadcasts, casts and masks
    same((x * 3 + y[0]).relu().sum(0), (x.cpu() * 3 + y.cpu()[0]).relu().sum(0), 10)
    same((x > 0).sum(), (x.cpu() > 0).sum())
    same((x.half() * 2).var(1), (x.cpu().half() * 2).var(1), 4)
    same(torch.where(x > y, x, y[:, :1]).argmax(1), torch.where(x.cpu() > y.cpu(), x.cpu(), y.cpu()[:, :1]).argmax(1))
    w = x + 1
    same([w.sum(0), w.t().sum(0)], [(x.cpu() + 1).sum(0), (x.cpu() + 1).t().sum(0)], 10)


def test_in_place_after_a_reduction():
    x = made((20, 30), torch.float32, 7).to("webgpu")
    c = x.cpu()
    y = x * 2
    s = y.sum(0)
    x.add_(1)
    same([s, y, y.sum(1)], [(c * 2).sum(0), c * 2, (c * 2).sum(1)], 10)


def test_gradients():
    def grads(device):
        x = made((4, 5), torch.float32, 8).to(device).requires_grad_()
        loss = (
            x.sum()
            + (x.mean(0) * x.amax(0)).sum()
            + x.max(1)[0].sum()
            + x.var(1).sum()
            + x.std()
            + x.logsumexp(1).sum()
            + x.norm()
            + x.prod(1).sum()
            + (x.cumsum(1) * x).sum()
            + x.cumprod(1).sum()
            + x.logcumsumexp(0).sum()
            + (x.cummax(0)[0] * x).sum()
            + torch.nansum(x)
        )
        loss.backward()
        return x.grad

    same(grads("webgpu"), grads("cpu"), 20)


def test_complex_sums():
    x = torch.complex(made((3, 4), torch.float32, 9), made((3, 4), torch.float32, 10))
    for got, want in ((x.to("webgpu").sum(0), x.sum(0)), (x.to("webgpu").mean(), x.mean())):
        assert torch.allclose(torch.view_as_real(got.cpu()), torch.view_as_real(want), atol=1e-5)
    same(torch.linalg.vector_norm(x.to("webgpu"), 2, 1), torch.linalg.vector_norm(x, 2, 1))


def test_out_of_reductions():
    x = made((3, 4), torch.float32, 11)
    out = torch.empty(4, device="webgpu")
    assert torch.sum(x.to("webgpu"), 0, out=out) is out
    same(out, x.sum(0))
