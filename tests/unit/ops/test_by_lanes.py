"""Loops that take several elements at once by what holds for nearly all: each rare element in each place."""

import pytest

import torchlite as tl

torch = pytest.importorskip("torch")


def bits(x):
    return x.view(torch.int16 if x.dtype.itemsize == 2 else torch.int32)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_to_halves(dtype):
    generator = torch.Generator().manual_seed(1)
    x = torch.randint(-(2**31), 2**31, (40000,), generator=generator).to(torch.int32).view(torch.float32)
    x = torch.cat([x, torch.randn(40000, generator=generator), torch.ldexp(torch.ones(200), torch.arange(-160, 40))])
    x = x[~x.isnan()]
    want, got = x.to(getattr(torch, dtype)), tl.tensor(x.tolist()).to(getattr(tl, dtype))
    assert got.view(tl.int16).tolist() == bits(want).tolist()
    rare = (65520.0, 1e30, float("inf"), -70000.0, 1e-6, 0.0)
    for n in (1, 7, 16, 33):
        for at in range(n):
            x = torch.linspace(1, 2, n)
            x[at] = rare[at % len(rare)]
            got = tl.tensor(x.tolist()).to(getattr(tl, dtype))
            assert got.view(tl.int16).tolist() == bits(x.to(getattr(torch, dtype))).tolist(), (n, at)


def test_from_halves():
    x = torch.arange(-(2**15), 2**15).to(torch.int16)
    floats = x.view(torch.float16).float()
    got = tl.tensor(x.tolist(), dtype=tl.int16).view(tl.float16).float()
    torch.testing.assert_close(torch.tensor(got.tolist()), floats, rtol=0, atol=0, equal_nan=True)


def test_to_integers():
    rare = (2.0**31, -(2.0**31) - 256, float("nan"), float("inf"), 2.0**62, -(2.0**63))
    for n in (1, 4, 9):
        for at in range(n):
            x = [i - 3.5 for i in range(n)]
            x[at] = rare[at % len(rare)]
            want = [-(2**63) if v != v or v >= 2**63 else int(v) for v in x]
            assert tl.tensor(x).long().tolist() == want
            assert tl.tensor(x).int().tolist() == [v if -(2**31) <= v < 2**31 else -(2**31) for v in want]


def test_whole_numbers():
    x = torch.cat([torch.linspace(-4, 4, 65), torch.tensor([-0.0, 8388607.5, -8388609.0, 1e30, float("inf")])])
    for name in ("floor", "ceil", "trunc", "round", "frac"):
        want, got = getattr(torch, name)(x[:-1]), getattr(tl, name)(tl.tensor(x[:-1].tolist()))
        assert got.view(tl.int32).tolist() == bits(want).tolist(), name


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("shape", [(6, 6), (9, 4), (3, 8)])
def test_singular_values_of_any_size(scale, shape):
    x = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    x[:, 1] = x[:, 0] * 1e-12
    got = tl.linalg.svdvals(tl.tensor((x * scale).tolist(), dtype=tl.float64)) / scale
    torch.testing.assert_close(torch.tensor(got.tolist(), dtype=torch.float64), torch.linalg.svdvals(x))


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample(mode, padding):
    generator = torch.Generator().manual_seed(3)
    x, grid = torch.randn(2, 3, 5, 7, generator=generator), torch.rand(2, 20, 20, 2, generator=generator) * 3 - 1.5
    x[:, 0, 0] = float("nan")
    for align in (False, True):
        want = torch.nn.functional.grid_sample(x, grid, mode, padding, align)
        got = tl.nn.functional.grid_sample(tl.tensor(x.tolist()), tl.tensor(grid.tolist()), mode, padding, align)
        torch.testing.assert_close(torch.tensor(got.tolist()), want, equal_nan=True, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dims", [(0, 1, 2), (1, 2), (2, 0)])
def test_transforms_of_real_numbers(dims):
    x = torch.randn(4, 5, 14, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    for name in ("fftn", "ifftn", "rfftn"):
        got = getattr(tl.fft, name)(tl.tensor(x.tolist(), dtype=tl.float64), dim=dims)
        want = getattr(torch.fft, name)(x, dim=dims)
        assert got.stride() == want.stride()
        torch.testing.assert_close(torch.tensor(got.tolist(), dtype=torch.complex128), want)


ROWS = [((32, 1, 40, 1), (1, 33, 1, 31)), ((3, 1, 5, 1), (3, 70, 1, 7)), ((1, 17, 1), (9, 17, 130)), ((90, 1), (90, 3))]


@pytest.mark.parametrize("types", [("float32", "float32"), ("float16", "float32"), ("int32", "int64")])
@pytest.mark.parametrize("shapes", [*ROWS, ((2, 1, 1, 3), (1, 90, 4, 3)), ((5, 1, 6), (1, 300, 6))])
def test_rows_that_repeat(shapes, types):
    """Broadcast operands are gathered once for the chunks in which they come again."""
    made = [torch.arange(torch.Size(s).numel()).reshape(s).to(getattr(torch, t)) % 97 for s, t in zip(shapes, types)]
    a, b = (tl.tensor(x.tolist(), dtype=getattr(tl, t)).reshape(tuple(x.shape)) for x, t in zip(made, types))
    assert (a * b).tolist() == (made[0] * made[1]).tolist()
    assert tl.where(b > 5, a, b).tolist() == torch.where(made[1] > 5, *made).tolist()
    flipped = b.transpose(0, 1).contiguous().transpose(0, 1)
    assert (flipped - a).tolist() == (made[1] - made[0]).tolist()
