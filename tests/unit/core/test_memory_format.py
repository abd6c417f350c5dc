"""Memory formats: which results are channels last, that their numbers do not depend on it,
and the strides that copies have."""

import pytest
import torchlite
from torchlite.nn import functional as F

CL, CL3 = torchlite.channels_last, torchlite.channels_last_3d
IMAGE, VOLUME, ROW = (2, 4, 6, 6), (2, 4, 4, 6, 6), (2, 4, 8)

# name, dims, call(lib, x, *parameters), shapes of parameters,
# format of the result and of the gradient for channels-last input and
# gradient: C channels last, N contiguous
OPS = [
    ("conv2d", IMAGE, lambda m, x, w, b: m.nn.functional.conv2d(x, w, b, padding=1), [(6, 4, 3, 3), (6,)], "CC"),
    ("conv2d strided", IMAGE, lambda m, x, w: m.nn.functional.conv2d(x, w, None, 2, 1), [(6, 4, 3, 3)], "CC"),
    ("conv2d pointwise", IMAGE, lambda m, x, w, b: m.nn.functional.conv2d(x, w, b), [(6, 4, 1, 1), (6,)], "CC"),
    ("conv2d groups", IMAGE, lambda m, x, w: m.nn.functional.conv2d(x, w, None, 1, 1, 1, 2), [(6, 2, 3, 3)], "CC"),
    (
        "conv2d depthwise",
        (2, 20, 6, 6),
        lambda m, x, w, b: m.nn.functional.conv2d(x, w, b, 1, 1, 1, 20),
        [(20, 1, 3, 3), (20,)],
        "CC",
    ),
    (
        "conv2d depthwise x2",
        IMAGE,
        lambda m, x, w, b: m.nn.functional.conv2d(x, w, b, 2, 2, 2, 4),
        [(8, 1, 3, 3), (8,)],
        "CC",
    ),
    ("conv3d", VOLUME, lambda m, x, w: m.nn.functional.conv3d(x, w, None, 1, 1), [(3, 4, 3, 3, 3)], "CC"),
    (
        "conv_transpose2d",
        IMAGE,
        lambda m, x, w: m.nn.functional.conv_transpose2d(x, w, None, 2, 1, 1),
        [(4, 3, 3, 3)],
        "CC",
    ),
    (
        "conv_transpose2d depthwise",
        IMAGE,
        lambda m, x, w: m.nn.functional.conv_transpose2d(x, w, None, 2, 1, 1, 4),
        [(4, 1, 3, 3)],
        "CC",
    ),
    ("conv_transpose3d", VOLUME, lambda m, x, w: m.nn.functional.conv_transpose3d(x, w), [(4, 3, 2, 2, 2)], "CC"),
    ("max_pool2d", IMAGE, lambda m, x: m.nn.functional.max_pool2d(x, 3, 2, 1), [], "CC"),
    ("max_pool3d", VOLUME, lambda m, x: m.nn.functional.max_pool3d(x, 2), [], "CC"),
    ("avg_pool2d", IMAGE, lambda m, x: m.nn.functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False), [], "CC"),
    ("avg_pool3d", VOLUME, lambda m, x: m.nn.functional.avg_pool3d(x, 2), [], "NN"),
    ("adaptive_avg_pool2d", IMAGE, lambda m, x: m.nn.functional.adaptive_avg_pool2d(x, (4, 3)), [], "CC"),
    ("adaptive_avg_pool2d to 1", IMAGE, lambda m, x: m.nn.functional.adaptive_avg_pool2d(x, 1), [], "CN"),
    ("adaptive_avg_pool3d", VOLUME, lambda m, x: m.nn.functional.adaptive_avg_pool3d(x, 3), [], "NN"),
    ("adaptive_max_pool2d", IMAGE, lambda m, x: m.nn.functional.adaptive_max_pool2d(x, 4), [], "CC"),
    ("lp_pool2d", IMAGE, lambda m, x: m.nn.functional.lp_pool2d(x, 2.0, 2), [], "CC"),
    ("batch_norm", IMAGE, lambda m, x, w, b: m.nn.functional.batch_norm(x, None, None, w, b, True), [(4,), (4,)], "CC"),
    (
        "batch_norm of volumes",
        VOLUME,
        lambda m, x: m.nn.functional.batch_norm(x, m.zeros(4).to(x), m.ones(4).to(x)),
        [],
        "CC",
    ),
    ("group_norm", IMAGE, lambda m, x, w, b: m.nn.functional.group_norm(x, 2, w, b), [(4,), (4,)], "CC"),
    ("group_norm of volumes", VOLUME, lambda m, x: m.nn.functional.group_norm(x, 1), [], "CC"),
    ("instance_norm", IMAGE, lambda m, x, w, b: m.nn.functional.instance_norm(x, None, None, w, b), [(4,), (4,)], "NN"),
    ("rms_norm", IMAGE, lambda m, x, w: m.nn.functional.rms_norm(x, (6,), w), [(6,)], "CC"),
    ("nearest", IMAGE, lambda m, x: m.nn.functional.interpolate(x, scale_factor=2), [], "CC"),
    ("bilinear", IMAGE, lambda m, x: m.nn.functional.interpolate(x, (5, 9), mode="bilinear"), [], "CC"),
    (
        "bilinear, antialias",
        IMAGE,
        lambda m, x: m.nn.functional.interpolate(x, (4, 3), mode="bilinear", antialias=True),
        [],
        "CC",
    ),
    ("bicubic", IMAGE, lambda m, x: m.nn.functional.interpolate(x, (5, 9), mode="bicubic"), [], "CN"),
    ("same size", IMAGE, lambda m, x: m.nn.functional.interpolate(x, (6, 6), mode="bilinear"), [], "CC"),
    ("nearest of volumes", VOLUME, lambda m, x: m.nn.functional.interpolate(x, (3, 5, 4)), [], "CN"),
    ("trilinear", VOLUME, lambda m, x: m.nn.functional.interpolate(x, (3, 5, 4), mode="trilinear"), [], "CC"),
    ("pad", IMAGE, lambda m, x: m.nn.functional.pad(x, (1, 2, 0, 1)), [], "CC"),
    ("pad that crops", IMAGE, lambda m, x: m.nn.functional.pad(x, (-1, -1)), [], "CC"),
    ("reflect", IMAGE, lambda m, x: m.nn.functional.pad(x, (1, 2, 2, 1), "reflect"), [], "CC"),
    ("replicate", VOLUME, lambda m, x: m.nn.functional.pad(x, (1, 2, 2, 1, 0, 1), "replicate"), [], "CC"),
    ("circular", IMAGE, lambda m, x: m.nn.functional.pad(x, (1, 2, 2, 1), "circular"), [], "N?"),
    ("pixel_shuffle", (2, 8, 3, 3), lambda m, x: m.nn.functional.pixel_shuffle(x, 2), [], "CC"),
    ("pixel_unshuffle", IMAGE, lambda m, x: m.nn.functional.pixel_unshuffle(x, 2), [], "CC"),
    ("channel_shuffle", IMAGE, lambda m, x: m.channel_shuffle(x, 2), [], "CC"),
    (
        "grid_sample",
        IMAGE,
        lambda m, x, g: m.nn.functional.grid_sample(x, g, align_corners=False),
        [(2, 3, 3, 2)],
        "N?",
    ),
    (
        "max_unpool2d",
        IMAGE,
        lambda m, x: m.nn.functional.max_unpool2d(*m.nn.functional.max_pool2d(x, 2, return_indices=True), 2),
        [],
        "CC",
    ),
]
ROWS = [
    ("conv1d", ROW, lambda m, x, w: m.nn.functional.conv1d(x, w, None, 1, 1), [(6, 4, 3)], ""),
    ("conv_transpose1d", ROW, lambda m, x, w: m.nn.functional.conv_transpose1d(x, w, None, 2), [(4, 3, 3)], ""),
    ("max_pool1d", ROW, lambda m, x: m.nn.functional.max_pool1d(x, 2), [], ""),
    ("avg_pool1d", ROW, lambda m, x: m.nn.functional.avg_pool1d(x, 2), [], ""),
    ("adaptive_avg_pool1d", ROW, lambda m, x: m.nn.functional.adaptive_avg_pool1d(x, 3), [], ""),
    ("batch_norm of rows", ROW, lambda m, x: m.nn.functional.batch_norm(x, None, None, None, None, True), [], ""),
    ("pad of rows", ROW, lambda m, x: m.nn.functional.pad(x, (1, 2), "reflect"), [], ""),
]


def last(t):
    """A copy of t whose channels lie together."""
    n = t.dim()
    return t.permute(0, *range(2, n), 1).contiguous().permute(0, n - 1, *range(1, n - 1))


def formats(t):
    """N: contiguous, C: channels last, NC: both"""
    return "N" * t.is_contiguous() + "C" * t.is_contiguous(memory_format=CL if t.dim() == 4 else CL3)


def run(lib, call, layout, values, gradient_last):
    x = layout(values[0].detach()).requires_grad_()
    parameters = [v.detach().requires_grad_() for v in values[1:]]
    y = call(lib, x, *parameters)
    g = lib.cos(lib.arange(y.numel(), dtype=y.dtype)).reshape(y.shape)
    return (y, *lib.autograd.grad(y, [x, *parameters], last(g) if gradient_last else g))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, shape, call, parameters, want", OPS, ids=[o[0] for o in OPS])
def test_channels_last_changes_strides_not_numbers(name, shape, call, parameters, want, dtype):
    torchlite.manual_seed(1)
    values = [torchlite.randn(s, dtype=getattr(torchlite, dtype)) for s in (shape, *parameters)]
    plain = run(torchlite, call, lambda t: t, values, False)
    got = run(torchlite, call, last, values, True)
    if dtype == "float64" and name in ("conv3d", "conv_transpose3d"):  # not by oneDNN in PyTorch
        want = "NN"
    assert plain[0].is_contiguous()
    assert want[0] in formats(got[0])
    assert want[1] == "?" or want[1] in formats(got[1])
    y, ybase = call(torchlite, values[0], *values[1:]), call(torchlite, last(values[0]), *values[1:])
    assert y.stride() == plain[0].stride() and ybase.stride() == got[0].stride()  # the same without a graph
    # the gradients above were taken at other places of g: compare with the same g
    got = run(torchlite, call, last, values, False)
    for a, b in zip(got, plain):
        torchlite.testing.assert_close(a.contiguous(), b.contiguous(), rtol=1e-4, atol=1e-5)


# shape, strides; is_contiguous() in each format; strides of clone(), of exp(), of
# contiguous(memory_format=channels_last), of max_pool(1)
STRIDES = [
    ((2, 4, 3, 3), (36, 9, 3, 1), "N", (36, 9, 3, 1), (36, 9, 3, 1), (36, 1, 12, 4)),
    ((2, 4, 3, 3), (36, 1, 12, 4), "C", (36, 1, 12, 4), (36, 1, 12, 4), (36, 1, 12, 4)),
    ((2, 4, 3, 3), (72, 1, 24, 8), "", (36, 1, 12, 4), (36, 1, 12, 4), (36, 1, 12, 4)),  # half of the channels
    ((2, 4, 3, 3), (9, 18, 3, 1), "", (9, 18, 3, 1), (9, 18, 3, 1), (36, 1, 12, 4)),  # dense, another order
    ((2, 4, 3, 3), (36, 0, 3, 1), "", (36, 9, 3, 1), (36, 9, 3, 1), (36, 1, 12, 4)),  # expanded
    ((2, 1, 3, 3), (9, 9, 3, 1), "NC", (9, 9, 3, 1), (9, 9, 3, 1), (9, 9, 3, 1)),  # one channel: both formats
    ((2, 1, 3, 3), (9, 1, 3, 1), "NC", (9, 1, 3, 1), (9, 9, 3, 1), (9, 1, 3, 1)),
    ((2, 4, 1, 1), (4, 1, 1, 1), "NC", (4, 1, 1, 1), (4, 1, 1, 1), (4, 1, 1, 1)),  # one pixel
    ((2, 4, 1, 1), (4, 1, 4, 4), "NC", (4, 1, 4, 4), (4, 1, 1, 1), (4, 1, 4, 4)),
    ((1, 4, 3, 3), (77, 1, 12, 4), "C", (77, 1, 12, 4), (36, 1, 12, 4), (77, 1, 12, 4)),  # a batch of one
    ((0, 4, 3, 3), (36, 1, 12, 4), "NC", (36, 1, 12, 4), (36, 9, 3, 1), (36, 1, 12, 4)),
    ((2, 0, 3, 3), (0, 1, 0, 0), "NC", (0, 1, 0, 0), (9, 9, 3, 1), (0, 1, 0, 0)),
]


@pytest.mark.parametrize("shape, strides, which, clone, like, asked", STRIDES)
def test_strides_of_copies(shape, strides, which, clone, like, asked):
    x = torchlite.zeros(400).as_strided(shape, strides)
    assert formats(x) == which
    assert x.clone().stride() == torchlite.empty_like(x).stride() == x.to(torchlite.float64).stride() == clone
    assert x.neg().stride() == like
    assert x.contiguous(memory_format=CL).stride() == asked
    for make in (torchlite.empty_like, torchlite.zeros_like, torchlite.rand_like):
        assert make(x, memory_format=torchlite.contiguous_format).is_contiguous()
        assert make(x, memory_format=CL).is_contiguous(memory_format=CL)


def test_to_gives_what_has_the_format_already():
    x = torchlite.zeros(3, 5).t()
    assert (
        x.to(memory_format=torchlite.contiguous_format) is x and x.cpu(memory_format=torchlite.contiguous_format) is x
    )
    half = last(torchlite.zeros(2, 8, 3, 3))[:, :4]  # asks for channels last, but has gaps
    assert half.to(memory_format=CL) is half and half.contiguous(memory_format=CL) is not half
    assert x.contiguous().contiguous(memory_format=torchlite.preserve_format).is_contiguous()


def test_resize_takes_a_format():
    x = torchlite.empty(0).resize_(2, 3, 4, 5, memory_format=CL)
    assert x.stride() == (60, 1, 15, 3)
    assert torchlite.empty(0).resize_as_(x).stride() == (60, 20, 5, 1)
    assert torchlite.empty(0).resize_as_(x, memory_format=torchlite.preserve_format).stride() == (60, 1, 15, 3)
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        x.resize_(2, 3, memory_format=CL)
    with pytest.raises(RuntimeError, match="unsupported memory format Preserve"):
        torchlite.empty(2, memory_format=torchlite.preserve_format)


def test_the_weight_asks_too():
    x, w = torchlite.randn(1, 3, 5, 5), torchlite.randn(4, 3, 3, 3).to(memory_format=CL).requires_grad_()
    y = F.conv2d(x, w)
    assert formats(y) == "C" and formats(torchlite.autograd.grad(y.sum(), w)[0]) == "C"
    net = torchlite.nn.Sequential(
        torchlite.nn.Conv2d(3, 4, 3), torchlite.nn.BatchNorm2d(4), torchlite.nn.Conv1d(2, 3, 2)
    ).to(memory_format=CL)
    assert formats(net[0].weight) == "C" and net[2].weight.is_contiguous() and formats(net[:2](x)) == "C"
    row = torchlite.randn(6, 3, 4).permute(0, 2, 1)  # (6, 4, 3) with channels together
    assert F.conv1d(torchlite.randn(2, 4, 8), row).stride() == (36, 1, 6)
    assert F.conv1d(last(torchlite.randn(2, 4, 8)), row.contiguous()).is_contiguous()


LAYOUTS = {
    "contiguous": lambda t: t,
    "channels last": last,
    "half of the channels": lambda t: (
        last(t.repeat_interleave(2, 1))[:, ::2]
        if t.dim() < 3
        else last(type(t).repeat(t, 1, 2, *[1] * (t.dim() - 2)))[:, : t.shape[1]]
    ),
    "last dims swapped": lambda t: t.transpose(-1, -2).contiguous().transpose(-1, -2),
    "batch inside": lambda t: t.transpose(0, 1).contiguous().transpose(0, 1),
    "every second": lambda t: t.repeat_interleave(2, -1)[..., ::2],
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("name, shape, call, parameters, want", OPS + ROWS, ids=[o[0] for o in OPS + ROWS])
def test_strides_are_those_of_pytorch(name, shape, call, parameters, want, layout):
    torch = pytest.importorskip("torch")
    torch.manual_seed(2)
    for batch in (shape[0], 1):
        for g_last in (False, True):
            if name == "instance_norm" and batch == 1 and g_last:  # PyTorch's gradient is wrong there
                continue
            values = [
                torch.randn((batch, *s[1:]) if i == 0 or name == "grid_sample" else s)
                for i, s in enumerate((shape, *parameters))
            ]
            theirs = run(torch, call, layout, values, g_last)
            for got, real in zip(
                run(torchlite, call, layout, [torchlite.from_numpy(v.numpy()) for v in values], g_last), theirs
            ):
                assert got.stride() == real.stride()
                assert torch.allclose(
                    torch.from_numpy(got.detach().contiguous().numpy()), real.detach(), rtol=1e-4, atol=1e-4
                )


def unbatched(t):
    """A copy of the volume t (C, D, H, W) as a channels-last batch of one has it."""
    return t.permute(1, 2, 3, 0).contiguous().permute(3, 0, 1, 2)


VOLUMES = [
    ("max_pool3d", lambda m, x: m.nn.functional.max_pool3d(x, (3, 2, 2), 2, 1)),
    ("max_pool3d_with_indices", lambda m, x: m.nn.functional.max_pool3d(x, 2, 1, 0, 2, return_indices=True)[0]),
    ("avg_pool3d", lambda m, x: m.nn.functional.avg_pool3d(x, 2)),
    ("conv3d", lambda m, x: m.nn.functional.conv3d(x, m.ones(2, x.shape[0], 2, 2, 2))),
    ("reflect", lambda m, x: m.nn.functional.pad(x, (1, 2, 0, 1, 1, 1), "reflect")),
    ("replicate", lambda m, x: m.nn.functional.pad(x, (1, -1, 0, 1, 1, 1), "replicate")),
    ("circular", lambda m, x: m.nn.functional.pad(x, (1, 2, 0, 1, 1, 1), "circular")),
]


@pytest.mark.parametrize("name, call", VOLUMES, ids=[v[0] for v in VOLUMES])
def test_volumes_without_batch(name, call):
    x = torchlite.arange(3.0 * 4 * 5 * 6).cos().reshape(3, 4, 5, 6)
    layouts = [lambda t: t, unbatched, last]
    plain = run(torchlite, call, layouts[0], [x], False)
    for layout in layouts[1:]:
        got = run(torchlite, call, layout, [x], False)
        if name.startswith("max") and layout is unbatched:
            assert got[0].stride() == unbatched(got[0]).stride() and plain[0].is_contiguous()
        if name in ("reflect", "replicate") and layout is last:
            assert formats(got[0]) == formats(got[1]) == "C"
        for a, b in zip(got, plain):
            torchlite.testing.assert_close(a.contiguous(), b.contiguous())
    torch = pytest.importorskip("torch")
    for channels in (3, 1):
        real = torch.arange(channels * 120.0).cos().reshape(channels, 4, 5, 6)
        ours = torchlite.from_numpy(real.numpy())
        for layout in layouts:
            for g in layouts:
                if name.startswith("max") and last in (layout, g):  # refused by PyTorch
                    continue
                results = []
                for lib, value in ((torchlite, ours), (torch, real)):
                    v = layout(value).detach().requires_grad_()
                    y = call(lib, v)
                    grad = g(lib.arange(float(y.numel())).cos().reshape(y.shape))
                    results.append((y, *lib.autograd.grad(y, v, grad)))
                for got, want in zip(*results):
                    assert got.stride() == want.stride()
                    values = torch.from_numpy(got.detach().contiguous().numpy())
                    assert torch.allclose(values, want.detach(), rtol=1e-4, atol=1e-4)


# shape, strides of the input; of the result of batch_norm;
# of its gradient for a gradient like the input, contiguous, and channels last
NORMED = [
    (
        (1, 2, 3, 1),
        (6, 1, 2, 1),
        (6, 1, 2, 2),
        [(6, 1, 2, 2), (6, 1, 2, 2), (6, 3, 1, 1)],
    ),  # channels last but for sizes of 1
    ((2, 1, 3, 3), (9, 1, 3, 1), (9, 9, 3, 1), [(9, 9, 3, 1), (9, 1, 3, 1), (9, 9, 3, 1)]),  # one channel: both
    ((2, 4, 3, 3), (72, 1, 24, 8), (36, 1, 12, 4), [(36, 1, 12, 4)] * 3),
    ((2, 4, 3, 3), (36, 3, 12, 1), (36, 9, 3, 1), [(36, 9, 3, 1)] * 3),
    ((1, 2, 3, 1, 1), (6, 1, 2, 1, 1), (6, 1, 2, 2, 2), [(6, 1, 2, 2, 2), (6, 1, 2, 2, 2), (6, 3, 1, 1, 1)]),
]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("shape, strides, want, grads", NORMED)
def test_batch_norm_of_what_is_dense(shape, strides, want, grads, training):
    x = torchlite.arange(200.0).cos().as_strided(shape, strides).requires_grad_()
    c = torchlite.linspace(1, 2, shape[1])
    mean, var = c.clone(), c.clone()
    y = F.batch_norm(x, c.clone(), c.clone(), c, c, training)
    assert y.stride() == want
    plain = F.batch_norm(x.contiguous(), mean, var, c, c, training)
    torchlite.testing.assert_close(y.contiguous(), plain, rtol=1e-4, atol=1e-5)
    like = torchlite.ones(200).as_strided(shape, strides)
    step, own = 1, [0] * len(shape)
    for d in (1, *range(len(shape) - 1, 1, -1), 0):
        own[d], step = step, step * shape[d]
    formatted = torchlite.ones(200).as_strided(shape, own)
    got = [torchlite.autograd.grad(y, x, g, retain_graph=True)[0] for g in (like, torchlite.ones(shape), formatted)]
    assert [g.stride() for g in got] == grads
    for g in got:
        torchlite.testing.assert_close(g.contiguous(), got[1].contiguous())


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape, kernel", [(ROW, (4, 4, 3)), (IMAGE, (4, 4, 3, 2)), (VOLUME, (4, 4, 2, 3, 2))])
def test_complex_convolution(shape, kernel, transposed):
    """Results have the formats of real ones, and gradients are contiguous."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    values = [torch.randn(s, dtype=torch.complex64) for s in (shape, kernel)]
    name = f"conv{'_transpose' * transposed}{len(shape) - 2}d"
    for layout in (lambda t: t, last):
        for of_weight in (lambda t: t, last):
            results = []
            for lib, (x, w) in ((torch, values), (torchlite, [torchlite.from_numpy(v.numpy()) for v in values])):
                x, w = layout(x).detach().requires_grad_(), of_weight(w).detach().requires_grad_()
                y = getattr(lib.nn.functional, name)(x, w)
                results.append((y, *lib.autograd.grad(y, [x, w], lib.ones_like(y))))
            for want, got in zip(*results):
                assert got.stride() == want.stride()
                values_of = torch.from_numpy(got.detach().contiguous().resolve_conj().numpy())
                assert torch.allclose(values_of, want.detach(), rtol=1e-3, atol=1e-3)
