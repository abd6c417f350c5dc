"""Long sums in float32: dot products and deep matrix products."""

import pytest

import torchlite

DEEP = {
    "dot": lambda x, y: torchlite.dot(x, y),
    "vdot": lambda x, y: torchlite.vdot(x, y),
    "inner": lambda x, y: torchlite.inner(x, y),
    "einsum": lambda x, y: torchlite.einsum("i,i->", x, y),
    "matmul": lambda x, y: x @ y,
    "strided": lambda x, y: x.repeat_interleave(2)[::2] @ y,
    "rows": lambda x, y: torchlite.mv(x.expand(3, -1).contiguous(), y),
    "columns": lambda x, y: x @ y[:, None].expand(-1, 3).contiguous(),
    "wide": lambda x, y: x @ y[:, None].expand(-1, 20).contiguous(),
    "tiles": lambda x, y: x.expand(9, -1) @ y[:, None].expand(-1, 9),
    "linear": lambda x, y: torchlite.nn.functional.linear(x[None], y[None]),
    "added": lambda x, y: torchlite.addmv(torchlite.zeros(2), x.expand(2, -1), y),
    "complex": lambda x, y: torchlite.dot(torchlite.complex(x, x), torchlite.complex(y, 0 * y)).real,
}


@pytest.mark.parametrize("value", [0.1, 1e4])
@pytest.mark.parametrize("name", DEEP)
def test_deep_products_keep_their_digits(name, value):
    """The error of a long sum does not grow with its length: rounding errors of equal terms all have one sign."""
    n = 300_000 if name in ("tiles", "wide") else 1_000_001
    x = torchlite.full((n,), value)
    got = DEEP[name](x, x).double()
    assert ((got / (x[0].double().square() * n) - 1).abs() < 3e-5).all()


@pytest.mark.parametrize("n", [1, 3, 15, 16, 17, 1023, 1024, 1025, 8193, 12_345])
def test_depths_around_the_blocks(n):
    x = torchlite.arange(n) % 7 - 3
    y = torchlite.arange(n) % 5 - 2
    want = (x * y).sum().item()
    for dtype in (torchlite.float32, torchlite.float64, torchlite.int64):
        a, b = x.to(dtype), y.to(dtype)
        assert torchlite.dot(a, b).item() == want
        assert (a.expand(5, -1) @ b[:, None].expand(-1, 7)).tolist() == [[want] * 7] * 5
        assert torchlite.addmv(torchlite.ones(2, dtype=dtype), a.expand(2, -1), b).tolist() == [want + 1] * 2
