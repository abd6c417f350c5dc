"""Sorting, selection, distinct values, searches and histograms on webgpu: what the CPU gives for the same tensors."""

from __future__ import annotations

import math

import pytest
from test_reduce import FLOATS, INTS, both, flat, made, same

import torchlite as torch

pytestmark = pytest.mark.usefixtures("bridge", "on_the_gpu")
ON_THE_CPU = {"unique_dim"}  # has no kernel


def kth(t, dim):
    """The second value, and what lies where it is said to be: of equal elements any may be named, as in PyTorch."""
    values, at = t.kthvalue(2, dim, keepdim=True)
    return values, t.gather(dim, at)


def top(t, k, dim=-1, **more):
    """The largest, and what lies where they are said to be: of equal elements the CPU names those that the C++ library
    finds, and the GPU the first."""
    values, at = t.topk(k, dim, **more)
    return values, t.gather(dim, at)


@pytest.mark.parametrize("dtype", FLOATS + INTS, ids=str)
def test_orders(dtype):
    x = made((4, 7, 3), dtype, 1)
    for dim in (0, 1, -1):
        for descending in (False, True):
            both(lambda t: tuple(t.sort(dim, descending)), x)
            both(lambda t: t.argsort(dim, descending), x)
        both(lambda t: tuple(torch.sort(t, dim=dim, stable=True)), x)
        both(lambda t: top(t, 2, dim), x)
        both(lambda t: top(t, 3, dim, largest=False), x)
        both(lambda t: kth(t, dim), x)
        both(lambda t: tuple(t.median(dim)), x)
        both(lambda t: tuple(t.nanmedian(dim, keepdim=True)), x)
        both(lambda t: tuple(t.mode(dim)), x)
    both(lambda t: (t.median(), t.nanmedian()), x)
    both(lambda t: tuple(t[1:, ::2].transpose(0, 2).sort(1)), x)
    both(lambda t: top(t[0, 2:] * 2, 2), x)


def test_special_values_and_long_rows():
    inf, nan = math.inf, math.nan
    x = torch.tensor(
        [
            [1.0, nan, 3.0, -inf, nan],
            [inf, -inf, 2.0, 2.0, inf],
            [nan, nan, nan, nan, nan],
            [-0.0, 0.0, -0.0, 0.0, -1.0],
        ]
    )
    for dim in (0, 1):
        for descending in (False, True):
            both(lambda t: tuple(t.sort(dim, descending)), x)
        for fn in (torch.median, torch.nanmedian):
            both(lambda t: tuple(fn(t, dim)), x)
        # among NaN the CPU's depends on its way of sorting
        both(lambda t: tuple(t.mode(dim)), x.nan_to_num(9.0, inf, -inf))
        both(lambda t: top(t, 3, dim), x)
        both(lambda t: kth(t, dim), x)
    both(lambda t: (t.median(), t.nanmedian()), x)
    both(lambda t: (t.median(), t[1].median(), t[:, 0].nanmedian()), x)
    x = made((3, 3001), torch.float32, 2)
    # of equal numbers the GPU keeps the order, the CPU where it is asked to
    both(lambda t: tuple(t.sort(dim=1, stable=True)), x)
    both(lambda t: top(t, 50, 1), x)
    both(lambda t: t.median(1)[0], x)
    both(lambda t: tuple((t * 10).int().sort(dim=1, descending=True, stable=True)), x)
    both(lambda t: tuple(t.sort(dim=0, stable=True)), x.t().contiguous())
    big = torch.tensor([5, 1 << 62, -(1 << 63), (1 << 62) + 1, 0, -1, 1 << 32, (1 << 53) + 1, 1 << 53])
    both(lambda t: tuple(t.sort()), big)
    both(lambda t: tuple(t.topk(3)), big)


def test_zero_dim_and_empty():
    x = torch.tensor(3.0)
    for fn in (
        lambda t: tuple(t.sort()),
        lambda t: t.argsort(),
        lambda t: tuple(t.topk(1)),
        lambda t: tuple(t.kthvalue(1)),
        lambda t: tuple(t.median(0)),
        lambda t: tuple(t.mode()),
        lambda t: t.median(),
        lambda t: tuple(t.topk(1, 0)),
        lambda t: torch.unique(t, return_inverse=True),
    ):
        both(fn, x)
    for shape in ((0,), (0, 3), (3, 0)):
        x = torch.empty(shape)
        for fn in (
            lambda t: tuple(t.sort()),
            lambda t: t.argsort(0),
            lambda t: tuple(t.topk(0)),
            lambda t: t.median(),
            lambda t: torch.unique(t),
            lambda t: tuple(t.mode(0)),
            lambda t: torch.bucketize(t, t.new_zeros(4)),
            lambda t: t.histc(4),
            lambda t: tuple(t.kthvalue(1, 0)),
            lambda t: torch.unique_consecutive(t, return_counts=True),
        ):
            both(fn, x)
    both(lambda t: tuple(t.topk(0)), torch.ones(2, 3))
    both(lambda t: torch.bincount(t, minlength=3), torch.empty(0, dtype=torch.int64))
    both(lambda t: torch.searchsorted(t[:0], t), torch.ones(3))


def test_errors():
    x = made((3, 4), torch.float32)
    for fn in (
        lambda t: t.sort(2),
        lambda t: t.topk(5),
        lambda t: t.topk(-1),
        lambda t: t.kthvalue(0),
        lambda t: t.kthvalue(5),
        lambda t: t.median(-3),
        lambda t: torch.searchsorted(t, t[:2]),
        lambda t: torch.bucketize(t, t),
        lambda t: torch.searchsorted(t, t, side="middle"),
        lambda t: torch.searchsorted(t, t, side="left", right=True),
        lambda t: torch.searchsorted(t, 1.0),
        lambda t: t.histc(0),
        lambda t: t.histc(3, 2, 1),
        lambda t: (t * math.inf).histc(3),
        lambda t: t.bincount(),
        lambda t: t.long().bincount(),
        lambda t: t[0].long().bincount(),
        lambda t: t[0].bool().topk(1),
        lambda t: (t[0] * 0).long().bincount(t),
        lambda t: t.unique(dim=2),
        lambda t: t.int().histc(4),
    ):
        both(fn, x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool], ids=str)
def test_distinct_values(dtype):
    x = made((6, 9), dtype, 3, -3, 4)
    if dtype is torch.bfloat16:
        x = (x * 2).to(dtype)
    elif dtype is torch.float32:
        x = x.round()
    both(lambda t: torch.unique(t), x)
    both(lambda t: tuple(torch.unique(t, return_inverse=True, return_counts=True)), x)
    both(lambda t: tuple(torch.unique(t.t(), return_inverse=True)), x)
    both(lambda t: tuple(torch.unique_consecutive(t, return_inverse=True, return_counts=True)), x)
    y = x[[0, 1, 1, 3, 0, 4, 4, 4]][:, [1, 2, 2, 5]].contiguous()
    for dim in (0, 1):
        both(lambda t: tuple(torch.unique(t, return_inverse=True, return_counts=True, dim=dim)), y)
        both(lambda t: tuple(torch.unique_consecutive(t, return_inverse=True, return_counts=True, dim=dim)), y)
    both(lambda t: torch.unique(t.reshape(2, 4, 4), dim=1), y)


def test_distinct_values_at_large():
    x = made((5000,), torch.int64, 4, -500, 500)
    both(lambda t: tuple(torch.unique(t, return_inverse=True, return_counts=True)), x)
    both(lambda t: torch.unique(t), torch.tensor([1.0, math.nan, 0.0, -0.0, math.nan, 1.0]))
    both(lambda t: torch.unique(t[:, None].expand(-1, 100), dim=0), x[:20])


def test_searches():
    rows = made((3, 8), torch.float32, 5).sort(1)[0]
    v = made((3, 5), torch.float32, 6)
    v[0, :3] = rows[0, 2:5]
    for right in (False, True):
        both(lambda r, t: torch.searchsorted(r, t, right=right), rows, v)
        both(lambda r, t: torch.bucketize(t, r[1], right=right), rows, v)
    both(lambda r, t: torch.searchsorted(r, t, side="right", out_int32=True), rows, v)
    both(lambda r, t: torch.searchsorted(r[0], t), rows, v)
    both(lambda r: torch.searchsorted(r[2], 0.25), rows)
    both(lambda r: torch.bucketize(1, r[2]), rows)
    both(lambda r, t: torch.bucketize(t.half(), r[1]), rows, v)
    both(lambda r, t: torch.bucketize(t.long(), r[1]), rows, v)
    both(lambda r, t: torch.bucketize((t * 100).long(), (r[1] * 100).to(torch.int16).sort()[0]), rows, v)
    both(lambda r, t: torch.searchsorted(r[:, ::2], t[:, 1:]), rows, v)
    plain = made((2, 6), torch.float32, 7)
    both(lambda r: torch.searchsorted(r, r, sorter=r.argsort(1)), plain)
    nan = torch.tensor([1.0, math.nan, math.inf])
    both(lambda r, t: torch.searchsorted(r[1], t), rows, nan)


def test_histograms():
    x = made((40, 5), torch.float32, 8)
    both(lambda t: t.histc(10), x)
    both(lambda t: t.histc(7, -1, 1), x)
    both(lambda t: t.half().histc(7, -1, 2), x)
    both(lambda t: torch.ones_like(t).histc(4), x)
    i = made((300,), torch.int64, 9, 0, 12)
    both(lambda t: t.bincount(), i)
    both(lambda t: t.bincount(minlength=20), i)
    both(lambda t: t.to(torch.uint8).bincount(), i)
    both(lambda t, w: t.bincount(w), i, made((300,), torch.float32, 10), scale=10)
    both(lambda t: tuple(torch.histogram(t, 5, range=(-2.0, 2.0))), x)
    both(lambda t: torch.quantile(t, 0.3, dim=0), x)
    both(lambda t: t.nanquantile(0.5), x)


def test_tensors_of_two_devices():
    x = torch.arange(4.0)
    w = x.to("webgpu")
    for fn in (
        lambda: torch.searchsorted(w, x),
        lambda: torch.searchsorted(x, w),
        lambda: torch.bucketize(w, x),
        lambda: torch.searchsorted(w, w, sorter=x.long()),
        lambda: torch.bincount(w.long(), x),
    ):
        with pytest.raises(RuntimeError, match="same device"):
            fn()


def test_gradients():
    def grads(device):
        x = made((4, 6), torch.float32, 11).to(device).requires_grad_()
        w = torch.arange(1, 7, device=device)
        loss = (
            (x.sort(1, True)[0] * w).sum()
            + (x.topk(3, 0)[0] ** 2).sum()
            + (x.median(1)[0] ** 2).sum()
            + x.median() * 3
            + x.kthvalue(2, 1)[0].prod()
            + x.mode(0)[0].sum()
            + x.quantile(0.4, dim=1).sum()
            + (x.msort() * 2).sum()
        )
        loss.backward()
        return x.grad

    same(grads("webgpu"), grads("cpu"), 10)


def test_results_are_tensors_of_their_own():
    x = made((4, 6), torch.float32, 12).to("webgpu")
    for r in (
        x.kthvalue(1),
        x.median(0),
        x.sort(0),
        x.topk(2, 0),
        x.mode(1),
        x.unique(return_inverse=True),
        x.unique(dim=0),
        [x.median(), x.histc(3), x.half().histc(3)],
    ):
        for t in flat(r):
            assert t._base is None
            t += 1
