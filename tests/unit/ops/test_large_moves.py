"""Copies, conversions and broadcasts of sizes at which tiles, squares of four and padded ends of vectors meet."""

import functools
import itertools
import math
import struct

import pytest

import torchlite as torch


def numbers(*shape, dtype=torch.float32):
    return torch.arange(math.prod(shape)).to(dtype).reshape(shape)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.float32, torch.float64, torch.complex128])
@pytest.mark.parametrize("shape", [(37, 45), (3, 70, 2), (2, 33, 5, 6), (5, 4, 3, 8)])
def test_every_order_of_dims(shape, dtype):
    x = (numbers(*shape) % 100).to(dtype)
    n = len(shape)
    for turn in range(1, n):
        order = [(d + turn) % n for d in range(n)]
        moved = x.permute(order)
        back = [order.index(d) for d in range(n)]
        assert moved.contiguous().is_contiguous()
        assert torch.equal(moved.contiguous().permute(back), x)
        into = torch.zeros([shape[d] for d in reversed(range(n))], dtype=dtype).permute(list(reversed(range(n))))
        assert torch.equal(into.copy_(x), x)


@pytest.mark.parametrize("dtype", [torch.int8, torch.float16, torch.int32, torch.float64, torch.complex128])
@pytest.mark.parametrize("n", [1, 3, 4, 7, 9, 64, 131])
def test_rows_reversed_and_filled(n, dtype):
    x = (numbers(70, n) % 100).to(dtype)
    assert x.flip(1).tolist() == [row[::-1] for row in x.tolist()]
    assert x.flip(0, 1).tolist() == [row[::-1] for row in x.tolist()[::-1]]
    assert x.t().flip(0).t().tolist() == x.flip(1).tolist()
    assert x[:, :1].expand(70, n).contiguous().tolist() == [row[:1] * n for row in x.tolist()]


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("shape", [(4, 3, 5), (4, 1, 5), (4, 3, 1)], ids=str)
def test_gather_of_any_index(shape, dim):
    """The index may be expanded, transposed or a part of another, as may what is taken from."""
    size = 6
    whole = [size if d == dim else s for d, s in enumerate(shape)]
    x = numbers(*whole)
    whole_numbers = functools.partial(numbers, dtype=torch.int64)
    for index in (
        whole_numbers(*shape) * 7 % size,
        (whole_numbers(*reversed(shape)) * 5 % size).permute(2, 1, 0),
        (whole_numbers(*shape, 2) * 7 % size)[..., 1],
        (whole_numbers(shape[0], 1, 1) % size).expand(shape),
        (whole_numbers(1, *shape[1:]) % size).expand(shape),
    ):
        want = [
            x[tuple(index[at].item() if d == dim else a for d, a in enumerate(at))].item()
            for at in itertools.product(*map(range, shape))
        ]
        assert x.gather(dim, index).flatten().tolist() == want
        assert x.permute(2, 0, 1).contiguous().permute(1, 2, 0).gather(dim, index).flatten().tolist() == want
        with pytest.raises(RuntimeError, match="out of bounds"):
            x.gather(dim, index + size)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("pads", [(2, 1), (0, 3), (-2, 1), (1, -3)])
def test_padded_rows(mode, pads):
    x = list(range(9))
    got = torch.nn.functional.pad(numbers(1, 1, 9), pads, mode=mode).flatten().tolist()
    kept = x[max(-pads[0], 0) : 9 + min(pads[1], 0)]
    left, right = max(pads[0], 0), max(pads[1], 0)
    ends = {
        "reflect": (x[left:0:-1], x[-2 : -2 - right : -1]),
        "replicate": ([0] * left, [8] * right),
        "circular": (kept[len(kept) - left :], kept[:right]),
    }[mode]
    assert got == [*ends[0], *kept, *ends[1]]


@pytest.mark.parametrize("n", [127, 128, 300, 1500])
def test_broadcast_rows_columns_and_channels(n):
    x, row, column = numbers(3, 2, n), numbers(n) * 2, numbers(2, 1) + 1
    for i, plane in enumerate((x + row).tolist()):
        assert plane == [[(i * 2 + j) * n + k + 2 * k for k in range(n)] for j in range(2)]
    for i, plane in enumerate((x * column).tolist()):
        assert plane == [[((i * 2 + j) * n + k) * (j + 1) for k in range(n)] for j in range(2)]
    assert torch.equal(x - torch.ones(1).expand(3, 2, n), x - 1)
    assert torch.equal(x.transpose(0, 2) + row.view(n, 1, 1), (x + row).transpose(0, 2))


def test_every_half():
    """All 16-bit floats to float and back, and each rounding between two of them, in every place of eight."""
    bits = torch.arange(65536).to(torch.int16)
    halves = bits.view(torch.float16)
    floats = halves.float()
    want = struct.unpack("<65536e", struct.pack("<65536H", *range(65536)))
    number = torch.tensor([w == w for w in want])
    assert torch.equal(floats[number], torch.tensor([w for w in want if w == w]))
    assert bool(floats[~number].isnan().all())
    assert torch.equal(floats.half()[number].view(torch.int16), bits[number])
    low, high = floats[1:31744], floats[2:31745].clone()
    high[-1] = 65536.0  # what the next half would be, but for infinity
    middle = (low.double() + high.double()) / 2
    up = torch.nextafter(middle.float(), torch.tensor(math.inf)).half().view(torch.int16)
    down = torch.nextafter(middle.float(), torch.tensor(0.0)).half().view(torch.int16)
    assert torch.equal(up, bits[2:31745]) and torch.equal(down, bits[1:31744])
    even = bits[1:31744] + (bits[1:31744] & 1)
    assert torch.equal(middle.float().half().view(torch.int16), even)
    assert torch.equal((-middle.float()[:5]).half(), -(middle.float()[:5].half()))


def test_bfloat16_rounds_to_even():
    x = torch.tensor([1 + 2**-8, 1 + 3 * 2**-8, 3.4e38, -math.inf, math.nan, 1e-40, -0.0, 1 + 2**-8 + 2**-20, 5.0])
    got = x.bfloat16().float().tolist()
    assert got[:4] == [1.0, 1 + 2**-6, math.inf, -math.inf] and math.isnan(got[4])
    assert got[5] == pytest.approx(1e-40, rel=0.01) and math.copysign(1, got[6]) == -1 and got[7:] == [1 + 2**-7, 5.0]


@pytest.mark.parametrize("weight", [0.25, 0.75, 1.0, -0.5])
def test_lerp_by_a_number_is_lerp_by_a_tensor(weight):
    for dtype in (torch.float32, torch.float64):
        a, b = numbers(3, 7, dtype=dtype) / 7, numbers(7, 3, dtype=dtype).t() / 3
        assert torch.equal(torch.lerp(a, b, weight), torch.lerp(a, b, torch.full((3, 7), weight, dtype=dtype)))


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("padding", [(5, -6), (-6, 5), (5, -9), (2, -4), (-4, 2), (-2, -2), (-3, 1), (1, -3), (5, -8)])
def test_padding_of_one_side_that_the_other_cuts(mode, padding):
    """What one side adds may be more than is left of the row."""
    x = torch.arange(12.0).reshape(1, 2, 6)
    left, right = padding
    if mode == "circular" and min(padding) <= -5:  # PyTorch's result is memory that nobody has written
        with pytest.raises(RuntimeError, match="size too large for the input"):
            torch.nn.functional.pad(x, padding, mode)
        return
    width, first, end = 6 + left + right, max(-left, 0), 6 + min(right, 0)
    place = {
        "replicate": lambda i: min(max(i, 0), 5),
        "reflect": lambda i: abs(i) if i < 6 else 10 - i,
        "circular": lambda i: (i - first) % (end - first) + first,  # of what is left
    }[mode]
    want = [[6.0 * row + place(i - left) for i in range(width)] for row in range(2)]
    assert torch.nn.functional.pad(x, padding, mode).tolist() == [want]


@pytest.mark.parametrize("name", ["_pad_reflect", "_pad_replicate", "_pad_wrap"])
def test_no_padding_at_all(name):
    x = torch.arange(6.0).reshape(2, 3)
    assert getattr(torch.ops.functions, name)(x, []).tolist() == x.tolist()
