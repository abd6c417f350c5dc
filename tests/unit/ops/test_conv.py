"""Convolutions against PyTorch: every option in one to three dims, gradients, second gradients, messages."""

import random

import pytest
from against_torch import check, fails_alike, torch

import torchlite


def case(seed):
    """A valid random convolution: input, weight, bias and the arguments of torch.convolution."""
    r = random.Random(seed)
    torch.manual_seed(seed)
    while True:
        nd = r.choice([1, 2, 2, 3])
        groups, ic, oc, n = r.choice([1, 1, 2, 3]), r.choice([1, 2, 3]), r.choice([1, 2, 4]), r.choice([1, 2, 3])
        if r.random() < 0.25:
            groups, ic = r.choice([4, 6]), 1  # depthwise
        k, s = [r.choice([1, 2, 3, 4]) for _ in range(nd)], [r.choice([1, 1, 2, 3]) for _ in range(nd)]
        p, d = [r.choice([0, 0, 1, 2]) for _ in range(nd)], [r.choice([1, 1, 2]) for _ in range(nd)]
        size, tr = [r.choice([1, 4, 7, 9]) for _ in range(nd)], r.random() < 0.4
        outpad = [r.randrange(max(a, b)) for a, b in zip(s, d)] if tr else [0] * nd
        x = torch.randn(n, groups * ic, *size, dtype=torch.float64)
        w = (
            torch.randn(groups * ic, oc, *k, dtype=torch.float64)
            if tr
            else torch.randn(groups * oc, ic, *k, dtype=torch.float64)
        )
        b = torch.randn(groups * oc, dtype=torch.float64) if r.random() < 0.5 else None
        args = (s, p, d, tr, outpad, groups)
        try:
            torch.convolution(x, w, b, *args)
        except RuntimeError:
            continue
        return x, w, b, args


@pytest.mark.parametrize("seed", range(60))
def test_convolution(seed):
    x, w, b, args = case(seed)
    check(lambda t, x, w, b: t.convolution(x, w, b, *args), x, w, b, second=seed % 3 == 0)
    half = [None if v is None else v.float() for v in (x, w, b)]
    check(lambda t, x, w, b: t.convolution(x, w, b, *args), *half, tol=(1e-4, 1e-4))
    s, p, d, tr, outpad, groups = args
    n = x.dim() - 2
    if tr:
        check(
            lambda t, x, w, b: getattr(t.nn.functional, f"conv_transpose{n}d")(x, w, b, s, p, outpad, groups, d),
            x[0],
            w,
            b,
        )
    else:
        check(lambda t, x, w, b: getattr(t.nn.functional, f"conv{n}d")(x, w, b, s, p, d, groups), x[0], w, b)


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.int64, torch.int8, torch.complex64, torch.complex128]
)
def test_dtypes(dtype):
    torch.manual_seed(0)

    def make(*s):
        return (
            torch.randn(s, dtype=dtype)
            if dtype.is_complex or dtype.is_floating_point
            else torch.randint(-4, 4, s).to(dtype)
        )

    x, w, b = make(2, 4, 6, 5), make(6, 2, 3, 3), make(6)
    check(lambda t, x, w, b: t.nn.functional.conv2d(x, w, b, padding=1, groups=2), x, w, b, grad=dtype.is_complex)
    if dtype != torch.int8:
        check(
            lambda t, x, w: t.nn.functional.conv_transpose2d(x, w, stride=2, groups=2),
            x,
            make(4, 2, 3, 3),
            grad=dtype.is_complex,
        )


def test_layouts_and_words_for_padding():
    torch.manual_seed(0)
    x, w = torch.randn(2, 4, 9, 7), torch.randn(6, 4, 2, 3)
    check(lambda t, x, w: t.nn.functional.conv2d(x, w), x.contiguous(memory_format=torch.channels_last), w)
    check(lambda t, x, w: t.nn.functional.conv2d(x, w), x.transpose(2, 3), w)
    for padding in ("same", "valid"):
        check(lambda t, x, w: t.nn.functional.conv2d(x, w, padding=padding, dilation=(1, 2)), x, w)
    check(lambda t, x, w: t.nn.functional.conv2d(x, w), torch.randn(0, 4, 9, 7), w)


def test_large_images_go_in_pieces():
    torch.manual_seed(0)
    x, w = torch.randn(3, 8, 60, 64), torch.randn(24, 8, 3, 3)
    check(lambda t, x, w: t.nn.functional.conv2d(x, w, padding=1, stride=2), x, w, tol=(1e-3, 1e-3))


MISTAKES = [
    (((1, 4, 8, 8), (4, 3, 3, 3), None), {}),
    (((8, 8), (4, 3, 3, 3), None), {}),
    (((1, 4, 8, 8), (1, 2, 3, 3), None), {"groups": 2}),
    (((1, 4, 8, 8), (3, 2, 3, 3), None), {"groups": 2}),
    (((1, 3, 8, 8), (4, 3, 3, 3), (3,)), {}),
    (((1, 3, 2, 2), (4, 3, 3, 3), None), {}),
    (((1, 3, 8, 8), (4, 3, 3, 3), None), {"padding": -1}),
    (((1, 3, 8, 8), (4, 3, 3, 3), None), {"stride": 0}),
    (((1, 3, 8, 8), (4, 3, 3, 3), None), {"dilation": 0}),
    (((1, 3, 8, 8), (4, 3, 3, 3), None), {"stride": (1, 2, 3)}),
    (((1, 3, 8, 8), (4, 3, 3, 3), None), {"padding": "foo"}),
    (((1, 3, 8, 8), (4, 3, 3, 3), None), {"padding": "same", "stride": 2}),
]


@pytest.mark.parametrize("i", range(len(MISTAKES)))
def test_messages(i):
    (x, w, b), kw = MISTAKES[i]
    fails_alike(
        lambda t, x, w, b: t.nn.functional.conv2d(x, w, b, **kw),
        torch.ones(x),
        torch.ones(w),
        None if b is None else torch.ones(b),
    )


@pytest.mark.parametrize(
    "x,w,kw",
    [
        ((1, 5, 8, 8), (4, 3, 3, 3), {}),
        ((1, 4, 8, 8), (4, 3, 3, 3), {"output_padding": 1}),
        ((8, 8), (4, 3, 3, 3), {}),
        ((1, 4, 8, 8), (4, 3, 3, 3), {"padding": 20}),
        ((1, 4, 8, 8), (4, 3, 3, 3), {"groups": 3}),
    ],
)
def test_transposed_messages(x, w, kw):
    fails_alike(lambda t, x, w: t.nn.functional.conv_transpose2d(x, w, **kw), torch.ones(x), torch.ones(w))


def test_dtype_messages():
    x, w = torch.ones(1, 3, 8, 8), torch.ones(4, 3, 3, 3)
    fails_alike(lambda t, x, w: t.nn.functional.conv2d(x, w), x, w.double())
    fails_alike(lambda t, x, w, b: t.nn.functional.conv2d(x, w, b), x, w, torch.ones(4, dtype=torch.float64))
    fails_alike(lambda t, x, w: t.nn.functional.conv2d(x, w), x.bool(), w.bool())


def nans(module, name, x, w, options):
    """Where a convolution and the gradient of its input are NaN, in channels-last memory too."""
    found = []
    for last in (False, True):
        if last and x.ndim == 4:
            x = x.contiguous(memory_format=module.channels_last)
        x = x.detach().requires_grad_()
        y = getattr(module.nn.functional, name)(x, w, **options)
        gradient = module.autograd.grad(y, x, module.ones_like(y))[0]
        found += [y.isnan().tolist(), gradient.isnan().tolist()]
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize(
    "name, options",
    [
        ("conv_transpose1d", {"dilation": 2}),
        ("conv_transpose1d", {"stride": 3, "padding": 1}),
        ("conv_transpose2d", {"stride": 2, "dilation": 2, "output_padding": 1}),
        ("conv_transpose3d", {"stride": (1, 2, 1)}),
        ("conv1d", {"padding": 2}),
        ("conv1d", {"stride": 3}),
        ("conv2d", {"padding": 1, "dilation": 2}),
        ("conv3d", {"padding": (1, 0, 2)}),
    ],
)
def test_weights_that_are_not_finite_meet_no_zeros_from_outside(name, options, groups, dtype):
    """0 * NaN is NaN: a padded zero that PyTorch does not multiply is not multiplied here."""
    n = int(name[-2])
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # with several, PyTorch computes other sizes by oneDNN
    try:
        found = []
        for module in (torch, torchlite):
            w = module.ones(4, 4 // groups, *[3] * n, dtype=getattr(module, dtype))
            w.view(-1)[::5] = float("nan")
            found.append(
                nans(module, name, module.ones(1, 4, *[6] * n, dtype=w.dtype), w, {**options, "groups": groups})
            )
        assert found[0] == found[1]
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("stride", [1, 2, 3, (1, 2), (2, 1)], ids=str)
@pytest.mark.parametrize("kernel", [1, 3, 5, (7, 2)], ids=str)
def test_one_channel_for_each_group(kernel, stride, dilation):
    """Blocks of rows and of columns and what is left over, forward and both gradients, and as a transposed one."""
    for size in ((1, 17, 23), (2, 8, 33), (1, 14, 14), (2, 29, 7), (1, 13, 3)):
        for outputs in (1, 2):
            torch.manual_seed(sum(size))
            channels, k = 3, (kernel, kernel) if isinstance(kernel, int) else kernel
            if any(s + 2 < dilation * (n - 1) + 1 for s, n in zip(size[1:], k)):
                continue
            x, w = torch.randn(size[0], channels, *size[1:]), torch.randn(channels * outputs, 1, *k)
            args = (None, stride, 1, dilation, channels)
            y = torch.nn.functional.conv2d(x.double(), w.double(), *args).shape
            g = torch.randn(y)
            results = []
            for module, dtype in ((torch, torch.float64), (torchlite, torchlite.float32)):
                a, b, up = (module.tensor(t.tolist(), dtype=dtype) for t in (x, w, g))
                a, b = a.requires_grad_(), b.requires_grad_()
                result = module.nn.functional.conv2d(a, b, *args)
                gradients = module.autograd.grad(result, (a, b), up)
                turned = module.nn.functional.conv_transpose2d(up, b, None, stride, 1, 0, len(b), dilation)
                results.append([torch.tensor(t.tolist()).float() for t in (result, *gradients, turned)])
            for want, got in zip(*results):
                torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)


LARGE_KERNELS = [  # sizes of x and w, options: one pixel, rows cut at both ends, strides and dilation, groups, volumes
    ((5, 24, 1, 1), (24, 3, 4, 4), {}),
    ((2, 24, 1, 1), (24, 3, 4, 5), {"padding": 1}),
    ((2, 40, 3, 2), (40, 3, 5, 6), {"padding": (1, 2)}),
    ((2, 40, 2, 3), (40, 5, 6, 6), {"stride": (1, 2), "dilation": (2, 1), "output_padding": (0, 1)}),
    ((1, 48, 2, 2), (48, 2, 5, 5), {"groups": 2, "dilation": 2}),
    ((2, 32, 2), (32, 4, 9), {"padding": 3}),
    ((1, 40, 2, 3, 2), (40, 2, 4, 3, 5), {"padding": (1, 0, 2)}),
    # one pixel, whose result has as many elements as the kernel, but not the kernel's
    ((1, 32, 1), (32, 2, 5), {"padding": 2, "dilation": 2}),
    ((1, 16, 1, 1), (16, 8, 3, 3), {"padding": 1, "dilation": 2}),
    ((1, 64, 1, 1), (64, 2, 8, 8), {"stride": 3, "padding": 1, "output_padding": 2}),
    ((2, 32, 1, 1), (32, 8, 1, 4), {"stride": (2, 1), "padding": (0, 1), "output_padding": (1, 0)}),
    ((2, 32, 1, 1, 1), (32, 3, 2, 3, 1), {}),
]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("x, w, options", LARGE_KERNELS, ids=str)
def test_kernels_larger_than_the_image(x, w, options, bias):
    torch.manual_seed(0)
    name = f"conv_transpose{len(x) - 2}d"
    images, weight, b = torch.randn(x), torch.randn(w), torch.randn(w[1] * options.get("groups", 1)) if bias else None

    def run(t, x, w, b):
        return getattr(t.nn.functional, name)(x, w, b, **options)

    check(run, images, weight, b, tol=(1e-4, 1e-4))
    if len(x) == 4:
        check(run, images.contiguous(memory_format=torch.channels_last), weight, b, tol=(1e-4, 1e-4))


def test_gradient_of_an_image_that_shrinks_to_a_pixel():
    torch.manual_seed(0)
    check(
        lambda t, x, w: t.nn.functional.conv2d(x, w),
        torch.randn(4, 6, 5, 5),
        torch.randn(40, 6, 5, 5),
        tol=(1e-4, 1e-4),
    )


def test_gradient_of_an_image_that_a_dilated_kernel_covers():
    torch.manual_seed(0)
    x, w = torch.randn(1, 8, 3, 3), torch.randn(16, 8, 3, 3)
    check(lambda t, x, w: t.nn.functional.conv2d(x, w, padding=1, dilation=2), x, w, tol=(1e-4, 1e-4))
