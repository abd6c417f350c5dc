"""float16 on webgpu: products, convolutions, attention and element-wise ops with values at the edges of half precision.
Where the device has shader-f16 the kernels read f16, else bits; the numbers must be the same.
The CPU gives what is expected, or real PyTorch where it is there."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
import torchlite as torch
from torchlite.nn import functional as F

pytestmark = pytest.mark.usefixtures("bridge", "on_the_gpu")

PYODIDE = sys.platform == "emscripten"
H = torch.float16
# smallest and largest subnormal, smallest normal, around 1, largest;
# what overflows when it is doubled, and what vanishes when it is halved
EDGES = [
    0.0,
    -0.0,
    2.0**-24,
    -(2.0**-24),
    1023 * 2.0**-24,
    2.0**-14,
    -(2.0**-14),
    1.0,
    1 + 2.0**-10,
    -2049.0,
    32768.0,
    65504.0,
    -65504.0,
    float("inf"),
    float("-inf"),
    float("nan"),
]


def made(*shape, seed=0, small=False, special=False):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=g)
    n = x.numel()
    if small:  # every third is subnormal
        flat = x.view(-1)
        flat[::3] *= 2.0**-16
    if special:
        flat = x.view(-1)
        for i, v in enumerate(EDGES):
            flat[(i * 37 + 5) % n] = v
    return x.to(H)


def same(got, want, ulps=1):
    """Equal but for `ulps` places of float16, with equal infinities and NaNs. Sums may be added up in another order:
    the rounded result of one that nearly cancels moves by more places, but not by more than 1e-3 of what was added."""
    assert got.dtype == want.dtype and got.shape == want.shape
    torch.testing.assert_close(
        got.cpu().float(), want.float(), rtol=ulps * 2.0**-10, atol=2.0**-24 if ulps <= 1 else 2e-3, equal_nan=True
    )


def up(x):
    return x.to("webgpu") if isinstance(x, torch.Tensor) else x


def forward(fn, *args, ulps=1):
    same(fn(*map(up, args)), fn(*args), ulps)


def gradients(fn, *args, ulps=2):
    """Results and gradients of the CPU and of the device."""

    def run(place):
        leaves = [place(a).detach().requires_grad_() for a in args]
        y = fn(*leaves)
        y.backward(place(made(*y.shape, seed=99)))
        return [y.detach(), *(x.grad for x in leaves)]

    for got, want in zip(run(up), run(lambda x: x)):
        same(got, want, ulps)


def all_halves():
    bits = torch.arange(65536, dtype=torch.int32)
    return torch.where(bits < 32768, bits, bits - 65536).to(torch.int16).view(H)


def test_every_half_is_read_and_written_as_it_is():
    x = all_halves()
    d = up(x)
    same(d.float().cpu().to(H), x, 0)
    got, want = (d * 1).cpu().view(torch.int16), x.view(torch.int16)
    assert torch.equal(got[~x.isnan()], want[~x.isnan()])
    same(d.flip(0)[1:] * 1, x.flip(0)[1:], 0)  # one at a time
    for f in (lambda t: t / 2, lambda t: t * 2, lambda t: t + t, lambda t: t * t, torch.abs, torch.neg):
        forward(f, x, ulps=0)


def test_rounding_between_halves():
    x = all_halves().float()
    x = x[x.isfinite()].sort().values
    middle = (x[1:] + x[:-1]) / 2
    for v in (
        middle,
        middle * (1 + 2.0**-20),
        middle * (1 - 2.0**-20),
        torch.tensor([65519.0, 65519.996, 65520.0, 70000.0, 2.0**-25, 2.0**-25 * 1.001]),
    ):
        assert torch.equal(up(v).to(H).cpu().view(torch.int16), v.to(H).view(torch.int16))


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize(
    "m, k, n", [(1, 9, 1), (5, 7, 3), (64, 32, 64), (66, 34, 70), (40, 600, 24), (1, 300, 50), (50, 300, 1)]
)
def test_products(m, k, n, special):
    a, b = made(m, k, seed=1, small=True, special=special and m * k > 16), made(k, n, seed=2, small=True)
    forward(torch.mm, a, b, ulps=2)
    forward(lambda x, y: x.t().mm(y), a.t().contiguous(), b, ulps=2)
    forward(lambda x, y: x.mm(y.t()), a, b.t().contiguous(), ulps=2)


def test_products_of_strided_operands():
    a, b = made(70, 80, seed=3), made(80, 90, seed=4)
    for fn in (
        lambda x, y: x[:, ::2] @ y[::2],
        lambda x, y: x[1:, 4:] @ y[4:, 4:],
        lambda x, y: x[2:66, 2:] @ y[2:, 2:],
        lambda x, y: x[:64, 1:65].t() @ y[1:65, 3:67],
        lambda x, y: x[:64, :64].expand(3, 64, 64) @ y[:64, :64],
        lambda x, y: x.view(7, 10, 80) @ y,
    ):
        forward(fn, a, b, ulps=2)


def test_sums_are_added_in_float32():
    ones = torch.ones(4, 4096, dtype=H)
    same(up(ones) @ up(ones).t(), torch.full((4, 4), 4096.0, dtype=H), 0)
    # each product is below half precision's smallest number, their sum is not
    tiny = torch.full((4, 64), 2.0**-14, dtype=H)
    same(up(tiny) @ up(torch.full((64, 4), 2.0**-14, dtype=H)), torch.full((4, 4), 2.0**-22, dtype=H), 0)
    # 60000 + 60000 - 60000
    big = torch.tensor([[60000.0, 60000.0, -60000.0] + [0.0] * 61] * 4).to(H)
    same(up(big) @ up(torch.ones(64, 4, dtype=H)), torch.full((4, 4), 60000.0, dtype=H), 0)
    over = up(torch.full((4, 64), 60000.0, dtype=H)) @ up(torch.ones(64, 4, dtype=H))
    assert over.isinf().all().item()


@pytest.mark.parametrize("m, k, n", [(6, 10, 7), (64, 64, 64), (33, 130, 65)])
def test_linear(m, k, n):
    x, w, b = made(m, k, seed=5, small=True), made(n, k, seed=6) * 0.125, made(n, seed=7)
    gradients(F.linear, x, w, b, ulps=3)
    gradients(lambda x, w, b: F.gelu(F.linear(x, w, b)), x, w, b, ulps=4)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("size, stride, padding", [((9, 8), 1, 1), ((12, 12), 2, 0)])
def test_conv(groups, size, stride, padding):
    x, w, b = made(2, 6, *size, seed=8, small=True), made(10, 6 // groups, 3, 3, seed=9) * 0.25, made(10, seed=10)
    gradients(lambda x, w, b: F.conv2d(x, w, b, stride, padding, 1, groups), x, w, b, ulps=4)
    gradients(lambda x, w: F.conv_transpose2d(x, w, None, stride, padding), x, made(6, 4, 3, 3, seed=11) * 0.25, ulps=4)


def test_conv_of_edges():
    forward(
        lambda x, w: F.conv2d(x, w, padding=1),
        made(1, 3, 12, 12, seed=12, special=True),
        made(5, 3, 3, 3, seed=13),
        ulps=2,
    )


@pytest.mark.parametrize("dim", [10, 16, pytest.param(64, marks=pytest.mark.slow)])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(dim, causal):
    q, k, v = made(2, 2, 21, dim, seed=14), made(2, 2, 21, dim, seed=15), made(2, 2, 21, dim, seed=16, small=True)
    gradients(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal), q, k, v, ulps=6)


def test_row_kernels_within_ulps():
    x = made(9, 130, seed=17, small=True)
    for fn in (lambda x: x.softmax(-1), lambda x: F.layer_norm(x, (130,)), lambda x: x.log_softmax(0)):
        gradients(fn, x, ulps=4)
    for fn in (lambda x: x.sum(-1), lambda x: x.mean(0), lambda x: x.amax(1), lambda x: x.cumsum(1)):
        forward(fn, x, ulps=4)


def test_element_wise():
    x, y = made(33, 35, seed=18, special=True), made(33, 35, seed=19, small=True)
    for fn in (
        torch.add,
        torch.sub,
        torch.mul,
        torch.maximum,
        lambda a, b: torch.where(a > b, a, b),
        lambda a, b: a * b + a,
    ):
        forward(fn, x, y)
        forward(fn, x.t(), y.t())
    for fn in (torch.sqrt, torch.tanh, torch.sigmoid, torch.relu):
        forward(fn, x)
    gradients(lambda a, b: (a * b).tanh() * a, y, y.flip(0), ulps=4)


@pytest.mark.skipif(PYODIDE, reason="compares with real PyTorch, which is not there")
def test_like_pytorch():
    real = pytest.importorskip("torch", reason="real PyTorch is not installed")

    def theirs(x):
        return real.tensor(x.float().tolist()).half()

    a, b = made(40, 50, seed=20, small=True, special=True), made(50, 30, seed=21, small=True)
    pairs = [
        (up(a) @ up(b), theirs(a) @ theirs(b)),
        (up(a) * up(a), theirs(a) * theirs(a)),
        (up(a) / 3, theirs(a) / 3),
        (F.linear(up(b), up(made(7, 30, seed=22))), real.nn.functional.linear(theirs(b), theirs(made(7, 30, seed=22)))),
    ]
    for got, want in pairs:
        same(got, torch.tensor(want.float().tolist()).to(H), 2)


def test_the_report_says_how_halves_are_read(bridge):
    p = torch.webgpu.get_device_properties()
    assert p.halves in ("f16", "bits") and (p.halves == "bits" or "shader-f16" in p.features)
    assert p.halves in repr(p)


@pytest.mark.skipif(PYODIDE, reason="starts processes")
@pytest.mark.parametrize(
    "options",
    ['{"software": false}', pytest.param('{"software": false, "without": ["shader-f16"]}', marks=pytest.mark.slow)],
)
def test_on_a_device_with_shader_f16(options):
    """All of the above in Deno on Mesa's software driver, which has the feature: the kernels for GPUs,
    with it and without."""
    import dawn

    try:
        driver, _ = dawn.lavapipe(), dawn.deno()
    except dawn.runtime.Missing as e:
        pytest.skip(str(e))
    env = {
        **os.environ,
        "TORCHLITE_WEBGPU_HOST": "deno",
        "TORCHLITE_WEBGPU_OPTIONS": options,
        "VK_ICD_FILENAMES": driver,
    }
    cmd = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", __file__, "-k", "not shader_f16"]
    done = subprocess.run(cmd, env=env, capture_output=True, text=True, check=False, cwd=pathlib.Path(__file__).parent)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
