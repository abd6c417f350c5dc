"""Random products, convolutions, recurrent layers and attention: the same bits on any number of threads."""

import random
import sys

import pytest
import torchlite as torch
from page_workers import PATIENT

F = torch.nn.functional
PAGE = sys.platform == "emscripten"


@pytest.fixture(autouse=True, scope="module")
def threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    if PAGE:
        import js
        from torchlite._core import page_threads as page

        large = torch.ones(512, 512)
        large @ large
        if page._pool is None:
            pytest.skip("no workers here: " + (page.problem or "Python cannot wait for them"))
        js.eval(PATIENT)(page._pool.debug, 500)
    yield
    torch.set_num_threads(before)


def size(r, low, high):
    """Small more often than large."""
    return r.choice([r.randint(low, high), low, r.randint(low, (low + high) // 2)])


def sizes(r, limits, least, most):
    """Of a product whose number of multiplications lies between two bounds."""
    while True:
        n = [size(r, low, high) for low, high in limits]
        total = 1
        for k in n:
            total *= k
        if least < total < most:
            return n


def tensor(r, *shape, dtype=torch.float32):
    """Numbers in memory of some layout."""
    t = torch.randn(shape).to(dtype)
    kind = r.randrange(6)
    if kind == 0:
        return t.transpose(0, -1).contiguous().transpose(0, -1)
    if kind == 1:
        return torch.randn([2 * n for n in shape]).to(dtype)[tuple(slice(None, None, 2) for _ in shape)]
    if kind == 2:
        return torch.randn(*shape[:-1], shape[-1] + 3).to(dtype)[..., 1:-2]
    return t[:1].expand(shape) if kind == 3 else t


def product(r):
    m, k, n = sizes(r, [(1, 700), (1, 3000), (1, 900)], 3e5, 5e7)
    dtype = r.choice([torch.float32] * 6 + [torch.float16, torch.bfloat16, torch.float64, torch.complex64])
    a, b = tensor(r, m, k, dtype=dtype), tensor(r, k, n, dtype=dtype)
    bias = tensor(r, n, dtype=dtype)
    return r.choice([lambda: a @ b, lambda: F.linear(a, b.t(), bias), lambda: torch.addmm(bias, a, b, beta=0.5)])


def row(r):
    k, n = sizes(r, [(200, 9000), (16, 3000)], 3e5, 2e7)
    a, b, c = tensor(r, 1, k), tensor(r, k, n), tensor(r, 1, n)
    return r.choice([lambda: a @ b, lambda: torch.addmm(c, a, b), lambda: b.t() @ a[0], lambda: F.linear(a, b.t(), c)])


def batch(r):
    n, m, k, p = sizes(r, [(1, 30), (1, 80), (1, 9500), (1, 80)], 5e5, 4e7)
    a, b = tensor(r, n, m, k), tensor(r, n, k, p)
    return r.choice([lambda: a @ b, lambda: a @ b[:1]])


def with_gradients(run, inputs):
    inputs = [t.requires_grad_() for t in inputs]

    def both():
        y = run()
        return (y.detach(), *torch.autograd.grad(y, inputs, torch.linspace(-1, 1, y.numel()).view(y.shape)))

    return both


def convolution(r):
    dims, groups, transposed = r.choice([1, 2, 2, 3]), r.choice([1, 1, 2, 4]), r.random() < 0.3
    kernel = [r.choice([1, 1, 3, 5]) for _ in range(dims)]
    outer = [max(9, size(r, 4, {1: 3000, 2: 90, 3: 20}[dims])) for _ in range(dims)]
    inward, outward = (groups * size(r, 5, 40) for _ in range(2))
    channels = (inward, outward // groups) if transposed else (outward, inward // groups)
    x, w, bias = torch.randn(size(r, 1, 4), inward, *outer), torch.randn(*channels, *kernel), torch.randn(outward)
    if dims == 2 and r.random() < 0.4:
        x, w = (t.to(memory_format=torch.channels_last) for t in (x, w))
    options = {"stride": r.choice([1, 1, 2]), "padding": r.choice([0, 1, 2]), "groups": groups}
    options["dilation"] = r.choice([1, 1, 2])
    conv = getattr(F, f"conv{'_transpose' * transposed}{dims}d")
    return with_gradients(lambda: conv(x, w, bias, **options), [x, w, bias])


def recurrent(r):
    kind, inward, width = r.choice([torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN]), size(r, 8, 300), size(r, 16, 300)
    net = kind(inward, width, num_layers=r.choice([1, 2]), bidirectional=r.random() < 0.3)
    x = torch.randn(size(r, 2, 12), size(r, 1, 40), inward)
    return with_gradients(lambda: net(x)[0], [x, *net.parameters()])


def attention(r):
    n, heads, rows, columns, width = *(size(r, 1, 4) for _ in range(2)), size(r, 16, 260), size(r, 16, 260), 32
    q, k, v = (torch.randn(n, heads, length, width) for length in (rows, columns, columns))
    causal = r.random() < 0.4
    return with_gradients(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal), [q, k, v])


KINDS = [product, row, batch, convolution, recurrent, attention]


def check(kind, seed):
    torch.manual_seed(seed)
    r = random.Random(seed)
    run = kind(r)
    torch._C.set_threads(1)
    want = run()
    for _ in range(4):  # so often that a page's workers keep copies
        torch._C.set_threads(r.choice([2, 3]))
        got = run()
        pairs = zip(want, got) if isinstance(want, tuple) else [(want, got)]
        assert all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in pairs), seed


@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_threads(kind):
    for seed in range(15):
        check(kind, seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_threads_at_length(kind):
    for seed in range(15, 500):
        check(kind, seed)
