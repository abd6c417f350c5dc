"""Pooling, interpolation, unfolding and grids against PyTorch."""

import math
import random

import pytest
import torchlite as tl
from against_torch import check, fails_alike, torch

SIZES = {1: (9,), 2: (9, 6), 3: (6, 5, 5)}
WINDOWS = [
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1},
    {"kernel_size": 3, "stride": 1, "ceil_mode": True},
    {"kernel_size": 2, "stride": 3, "ceil_mode": True, "padding": 1},
]


def image(n, lead=(2, 3), dtype=torch.float64):
    torch.manual_seed(n)
    x = torch.randn(lead + SIZES[n], dtype=torch.float64)
    return (x * 10).to(dtype)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("window", WINDOWS)
def test_windows(n, window):
    for lead in ((2, 3), (3,)):
        x = image(n, lead)
        check(lambda t, x: getattr(t.nn.functional, f"max_pool{n}d")(x, **window), x)
        check(lambda t, x: getattr(t.nn.functional, f"max_pool{n}d")(x, return_indices=True, **window), x)
        check(lambda t, x: getattr(t.nn.functional, f"avg_pool{n}d")(x * x, **window), x, second=True)
        check(lambda t, x: getattr(t.nn.functional, f"avg_pool{n}d")(x, count_include_pad=False, **window), x)
    check(lambda t, x: getattr(t.nn.functional, f"max_pool{n}d")(x, 2, 1, dilation=2), image(n))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8])
def test_dtypes(dtype):
    x = image(2, dtype=dtype) if dtype != torch.uint8 else image(2).abs().to(dtype)
    check(lambda t, x: t.nn.functional.max_pool2d(x, 3, 2), x, grad=False)
    if dtype.is_floating_point:
        check(lambda t, x: t.nn.functional.avg_pool2d(x, 3, 2, divisor_override=2), x, grad=False)
        check(lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, (2, 3)), x, grad=False)


def test_nan_and_infinities():
    x = image(2)
    x[0, 0, 0, 1], x[0, 1, 3, 3], x[1, 0] = math.nan, math.inf, -math.inf
    check(lambda t, x: t.nn.functional.max_pool2d(x, 2, return_indices=True), x, grad=False)


@pytest.mark.parametrize("seed", range(8))
def test_any_window_of_floats(seed):
    """Four maxima are made at a time, and the others one by one: ties, NaN and infinities give the same indices."""
    pick = random.Random(seed)
    for _ in range(40):
        n = pick.choice((1, 2, 2, 3))
        kernel, stride, dilation = ([pick.randint(1, most) for _ in range(n)] for most in (5, 4, 3))
        window = {"stride": stride, "dilation": dilation, "padding": [pick.randint(0, k // 2) for k in kernel]}
        size = [d * (k - 1) + pick.randint(1, 16) for d, k in zip(dilation, kernel)]
        x = torch.randn(1, 2, *size).round(decimals=pick.choice((0, 5)))
        x[torch.rand_like(x) < 0.1] = pick.choice((math.nan, -math.inf, 0.0))
        ceil = pick.random() < 0.3
        y, i = (
            [v.tolist() for v in f(t.tensor(x.tolist()), kernel, ceil_mode=ceil, return_indices=True, **window)]
            for t in (tl, torch)
            for f in (getattr(t.nn.functional, f"max_pool{n}d"),)
        )
        assert repr(y) == repr(i), (x.shape, kernel, ceil, window)


def test_short_rows():
    """Rows of 1 to 600 bytes that lie side by side in both tensors are copied in one loop."""
    for dtype in (torch.uint8, torch.float32, torch.float64):
        for width in (1, 2, 3, 4, 5, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 150):
            x = torch.arange(6 * (width + 1)).to(dtype).view(2, 3, width + 1)
            check(lambda t, x: x[..., 1:].contiguous(), x, grad=False)
            check(lambda t, x: t.roll(x, (1, 2), (1, 2)), x, grad=False)
            check(lambda t, x: t.cat([x[..., :1], x[..., 1:], x[:, :, ::2]], -1), x, grad=False)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("out", [1, 3, None])
def test_adaptive(n, out):
    size = (out,) * n if n > 1 or out is None else out
    if n == 1 and out is None:
        return
    check(lambda t, x: getattr(t.nn.functional, f"adaptive_avg_pool{n}d")(x * x, size), image(n), second=True)
    check(lambda t, x: getattr(t.nn.functional, f"adaptive_max_pool{n}d")(x, size, return_indices=True), image(n))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_average_of_everything(n):
    x = torch.rand(2, 3, *(4, 5, 6)[-n:])
    y, z = (
        getattr(t.nn.functional, f"adaptive_avg_pool{n}d")(t.tensor(x.tolist()).requires_grad_(), 1)
        for t in (tl, torch)
    )
    torch.testing.assert_close(torch.tensor(y.tolist()), z.detach())
    assert y.stride() == z.stride()
    if n > 1:
        assert y.grad_fn.name() == z.grad_fn.name() == "MeanBackward1"


def test_unpool_and_fractional():
    def back(t, x):
        y, i = t.nn.functional.max_pool2d(x, 2, return_indices=True)
        return t.nn.functional.max_unpool2d(y, i, 2, output_size=x.shape[-2:])

    check(back, image(2))
    samples = torch.rand(2, 3, 2, dtype=torch.float64)
    check(
        lambda t, x, s: t.nn.functional.fractional_max_pool2d(x, 2, (4, 3), return_indices=True, _random_samples=s),
        image(2),
        samples,
        grad=False,
    )
    check(lambda t, x: t.nn.functional.lp_pool2d(x, 2, 3, 2), image(2).abs())


MODES = [
    ("nearest", 1),
    ("nearest", 2),
    ("nearest", 3),
    ("nearest-exact", 2),
    ("linear", 1),
    ("bilinear", 2),
    ("bicubic", 2),
    ("trilinear", 3),
    ("area", 2),
]


@pytest.mark.parametrize("mode,n", MODES)
@pytest.mark.parametrize(
    "how",
    [{"scale_factor": 2}, {"scale_factor": 0.6}, {"scale_factor": 1.7, "recompute_scale_factor": True}, {"size": 5}],
)
def test_interpolate(mode, n, how):
    corners = [None] if mode in ("nearest", "nearest-exact", "area") else [False, True]
    for align in corners:
        check(
            lambda t, x: t.nn.functional.interpolate(x, mode=mode, align_corners=align, **how),
            image(n),
            tol=(1e-6, 1e-6),
        )
        check(
            lambda t, x: t.nn.functional.interpolate(x, mode=mode, align_corners=align, **how),
            image(n).float(),
            tol=(1e-4, 1e-3),
        )


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_interpolate_antialias_and_bytes(mode):
    for size in ((4, 3), (14, 5)):
        check(lambda t, x: t.nn.functional.interpolate(x, size, mode=mode, antialias=True), image(2), tol=(1e-6, 1e-6))
        for antialias in (False, True):
            x = torch.randint(0, 256, (2, 3, 9, 6), dtype=torch.uint8)
            check(lambda t, x: t.nn.functional.interpolate(x, size, mode=mode, antialias=antialias), x)


def test_interpolate_takes_sizes_that_are_integers():
    np = pytest.importorskip("numpy")
    for mode in ("nearest", "bilinear", "area"):
        for size in ((np.int64(2), 3), [2, np.int32(5)]):
            check(lambda t, x: t.nn.functional.interpolate(x, size, mode=mode), image(2))
        check(lambda t, x: t.nn.functional.interpolate(x, (t.tensor(2), 3), mode=mode), image(2))
        with pytest.raises(TypeError, match="expected size to be one of int"):
            tl.nn.functional.interpolate(tl.ones(1, 1, 4, 4), (tl.tensor(2.0), 3), mode=mode)


def test_unfold_and_fold():
    kw = {"kernel_size": (2, 3), "dilation": (1, 2), "padding": 1, "stride": (2, 1)}
    check(lambda t, x: t.nn.functional.unfold(x * x, **kw), image(2), second=True)
    check(lambda t, x: t.nn.functional.fold(t.nn.functional.unfold(x, **kw), (9, 6), **kw), image(2))
    check(lambda t, x: t.nn.functional.pixel_unshuffle(t.nn.functional.pixel_shuffle(x, 3), 3), torch.randn(2, 9, 2, 2))
    check(lambda t, x: t.nn.functional.channel_shuffle(x, 3), torch.randn(2, 6, 2, 2))


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [False, True])
def test_grids(padding, align):
    torch.manual_seed(0)
    x, g = torch.randn(2, 3, 5, 6, dtype=torch.float64), torch.randn(2, 4, 3, 2, dtype=torch.float64) * 1.2
    for mode in ("bilinear", "nearest", "bicubic"):
        check(lambda t, x, g: t.nn.functional.grid_sample(x, g, mode, padding, align), x, g)
    v, h = torch.randn(1, 2, 4, 5, 3, dtype=torch.float64), torch.randn(1, 2, 3, 2, 3, dtype=torch.float64)
    check(lambda t, x, g: t.nn.functional.grid_sample(x, g, "bilinear", padding, align), v, h)
    check(lambda t, a: t.nn.functional.affine_grid(a, (2, 1, 3, 4), align), torch.randn(2, 2, 3, dtype=torch.float64))
    check(
        lambda t, a: t.nn.functional.affine_grid(a, (1, 1, 2, 3, 4), align), torch.randn(1, 3, 4, dtype=torch.float64)
    )


MISTAKES = [
    (lambda t, x: t.nn.functional.max_pool2d(x, 2), (8, 8)),
    (lambda t, x: t.nn.functional.max_pool2d(x, 2, padding=2), (1, 1, 8, 8)),
    (lambda t, x: t.nn.functional.max_pool2d(x, 9), (1, 1, 8, 8)),
    (lambda t, x: t.nn.functional.max_pool2d(x, 2, stride=0), (1, 1, 8, 8)),
    (lambda t, x: t.nn.functional.max_pool2d(x, (2, 2, 2)), (1, 1, 8, 8)),
    (lambda t, x: t.nn.functional.max_pool1d(x, 2), (8,)),
    (lambda t, x: t.nn.functional.max_pool1d(x, 9), (1, 1, 8)),
    (lambda t, x: t.nn.functional.avg_pool2d(x, 9), (1, 1, 8, 8)),
    (lambda t, x: t.nn.functional.avg_pool2d(x, 2, divisor_override=0), (1, 1, 8, 8)),
    (lambda t, x: t.nn.functional.avg_pool3d(x, 9), (1, 1, 8, 8, 8)),
    (lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 2), (8, 8)),
    (lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 2), (1, 1, 0, 8)),
    (lambda t, x: t.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"), (1, 1, 8)),
    (lambda t, x: t.nn.functional.interpolate(x), (1, 1, 8, 8)),
    (lambda t, x: t.nn.functional.interpolate(x, size=(2, 2, 2)), (1, 1, 8, 8)),
    (lambda t, x: t.nn.functional.interpolate(x, size=0), (1, 1, 8, 8)),
    (lambda t, x: t.nn.functional.unfold(x, 3), (1, 1, 2, 2)),
    (lambda t, x: t.nn.functional.unfold(x, 0), (1, 1, 8, 8)),
    (lambda t, x: t.nn.functional.fold(x, (4, 4), 2), (1, 5, 4)),
    (lambda t, x: t.nn.functional.fold(x, (4, 4), 2), (1, 4, 5)),
    (lambda t, x: t.nn.functional.pixel_shuffle(x, 2), (1, 5, 2, 2)),
    (lambda t, x: t.nn.functional.channel_shuffle(x, 2), (1, 5, 2, 2)),
    (lambda t, x: t.nn.functional.fractional_max_pool2d(x, (1, 1, 1), 2), (1, 1, 8, 8)),
    (lambda t, x: t.nn.functional.fractional_max_pool3d(x, (), 2), (1, 8, 8, 8)),
    (lambda t, x: t.nn.functional.fractional_max_pool3d(x, (1,), 2), (1, 8, 8, 8)),
    (lambda t, x: t.nn.functional.fractional_max_pool2d(x, 2, (2,)), (1, 1, 8, 8)),
    (lambda t, x: t.nn.functional.fractional_max_pool3d(x, 2, (7, 2, 2)), (1, 8, 8, 8)),
    (lambda t, x: t.nn.functional.fractional_max_pool2d(x, 2, (2, 8)), (1, 8, 8)),
    (lambda t, x: t.nn.functional.fractional_max_pool3d(x, 2, (2, 2, -1)), (1, 8, 8, 8)),
    (lambda t, x: t.nn.functional.fractional_max_pool3d(x, 2, 2), (1, 1, 8, 0, 8)),
    (
        lambda t, x: t.nn.functional.fractional_max_pool2d(x, 2, 2, _random_samples=t.ones(1, 1, 2, dtype=t.float64)),
        (1, 1, 8, 8),
    ),
    (lambda t, x: t.nn.functional.fractional_max_pool2d(x, 2, output_ratio=(0.5, 0.5, 0.5)), (1, 1, 8, 8)),
    (lambda t, x: t.nn.functional.fractional_max_pool3d(x, 2, 2), (8, 8, 8)),
    (lambda t, x: t.nn.functional.fractional_max_pool2d(x, 2, 2), (1, 1, 1, 8, 8)),
    (lambda t, x: t.nn.functional.grid_sample(x, x, mode="x"), (1, 1, 4, 4)),
    (lambda t, x: t.nn.functional.affine_grid(x, (1, 1, 2, 2), False), (1, 2, 2)),
]


@pytest.mark.parametrize("i", range(len(MISTAKES)))
def test_messages(i):
    call, shape = MISTAKES[i]
    fails_alike(call, torch.ones(shape))


@pytest.mark.parametrize("kind", ["avg", "max"])
@pytest.mark.parametrize("n, size", [(1, 0), (2, 0), (2, (2, 0)), (3, (0, 2, 2))])
def test_adaptive_to_nothing_has_no_gradient(kind, n, size):
    for lead in ((2, 3), (3,)):
        x = torch.ones(lead + SIZES[n])
        check(lambda t, x: getattr(t.nn.functional, f"adaptive_{kind}_pool{n}d")(x, size), x, grad=False)
        fails_alike(
            lambda t, x: (
                getattr(t.nn.functional, f"adaptive_{kind}_pool{n}d")(x.requires_grad_(), size).sum().backward()
            ),
            x,
        )


@pytest.mark.parametrize("n", [2, 3])
def test_fractional_to_nothing(n):
    x = image(n)
    check(
        lambda t, x: getattr(t.nn.functional, f"fractional_max_pool{n}d")(x, 2, (0, 2, 1)[:n], return_indices=True),
        x,
        grad=False,
    )


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("width", [*range(3, 24), 33, 34, 35, 47])
def test_maxima_of_rows_of_any_width(width, stride):
    torch.manual_seed(0)
    x = torch.randn(3, 2, width)
    x[1, 0, -1], x[1, 1, 0], x[2, 1] = float("nan"), float("inf"), float("-inf")
    for size in (1, 2, 3):
        if size > width:
            continue
        check(lambda t, x: t.nn.functional.max_pool1d(x, size, stride), x, grad=False)
        check(lambda t, x: t.nn.functional.max_pool1d(x, size, stride, return_indices=True), x, grad=False)
