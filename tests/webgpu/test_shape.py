"""Ops that move elements on webgpu give what the CPU gives: values, dtypes, layout, errors, gradients."""

from __future__ import annotations

import pytest

import torchlite as torch
from moved import DTYPES, both, error_of, fail_alike, numbers

pytestmark = pytest.mark.usefixtures("bridge")
F = torch.nn.functional


def views(dtype: torch.dtype) -> list[torch.Tensor]:
    """2 x 3 x 4 tensors: dense, transposed with gaps, with an offset, expanded."""
    base = numbers((5, 7, 9), dtype)
    return [
        numbers((2, 3, 4), dtype),
        base[:, 1:7:2, 3:5].permute(2, 1, 0)[:, :, :4],
        base[1:3, 1:4, 3:7],
        numbers((2, 1, 4), dtype).expand(2, 3, 4),
    ]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_joined(dtype):
    a, b, c, d = views(dtype)
    for dim in (0, 1, -1):
        both(lambda *t: torch.cat(t, dim), a, b, c, d)
        both(lambda *t: torch.stack(t, dim), a, b, c, d)
    both(lambda *t: torch.cat([t[0][:, :2], t[1][:, :0], t[2], t[3][:, 1:]], 1), a, b, c, d)
    both(lambda *t: torch.cat([*t] * 4, 1), a, b, c, d)  # more inputs than a kernel binds
    both(lambda *t: torch.stack([*t] * 4, 3), a, b, c, d)
    both(lambda *t: torch.cat([x.reshape(-1)[:n] for n, x in enumerate(t, 1)]), a, b, c, d)
    both(lambda *t: torch.cat([t[0]], 2), a)
    both(lambda *t: torch.stack([t[0]], 1), b)
    both(lambda *t: torch.stack([x[0, 0, 0] for x in t]), a, b, c, d)
    both(lambda *t: torch.cat([torch.empty(0, dtype=t[0].dtype, device=t[0].device), t[0]], 1), a)
    both(lambda *t: torch.hstack(t), a, b)
    both(lambda *t: torch.block_diag(t[0][0], t[1][1]), a, b)


def test_joined_dtypes_are_promoted():
    x, y, z = numbers((2, 3), torch.float16), numbers((2, 1), torch.int64), numbers((2, 2), torch.bool)
    both(lambda *t: torch.cat(t, 1), x, y, z)
    both(lambda *t: torch.cat(t[1:], 1), x, y, z)
    both(lambda *t: torch.stack([t[0], t[1].expand(2, 3)]), x, y, z)


def test_joined_expressions_see_later_writes_not():
    x, y = numbers((3, 4), torch.float32), numbers((3, 4), torch.float32, 0, 9)

    def f(x, y):
        x = x.clone()
        r = torch.cat([x * 2, y + 1, (x + y).t().reshape(3, 4)], 1)
        x += 1
        return r, x

    both(f, x, y)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rearranged(dtype):
    for x in views(dtype):
        both(lambda x: x.flip(0), x)
        both(lambda x: x.flip((0, 2)), x)
        both(lambda x: x.flip((-2,)).flip((0, 1, 2)), x)
        both(lambda x: x.flip(()), x)
        both(lambda x: x.roll(2), x)
        both(lambda x: x.roll(-1, 1), x)
        both(lambda x: x.roll((1, 7, -1), (0, 1, 2)), x)
        both(lambda x: x.roll(0, 0), x)
        both(lambda x: x.repeat(2, 1, 3), x)
        both(lambda x: x.repeat(2, 2, 1, 1), x)
        both(lambda x: x.repeat(1, 0, 1), x)
        both(lambda x: x.tile((2,)), x)
        both(lambda x: torch.rot90(x, 1, (0, 2)), x)
        both(lambda x: x.repeat_interleave(2, 1), x)
        both(lambda x: x.repeat_interleave(torch.tensor([1, 0, 3], device=x.device), 1), x)
        both(lambda x: x.repeat_interleave(torch.tensor([2, 0, 3], device=x.device) + 0, 1, output_size=5), x)
        for k in (-5, -1, 0, 2, 9):
            both(lambda x: x.tril(k), x)
            both(lambda x: x.triu(k), x)
        both(lambda x: x.clone().tril_(), x)
        both(lambda x: x.clone().transpose(0, 2).triu_(1), x)
        both(lambda x: x.diag_embed(), x)
        both(lambda x: x.diag_embed(-2, 0, 2), x)
        both(lambda x: torch.diag(x[0, 0], 1), x)
        both(lambda x: x[0].clone().fill_diagonal_(3), x)
        both(lambda x: x[0].t().contiguous().fill_diagonal_(1, wrap=True), x)
        both(lambda x: torch.meshgrid(x[0, 0], x[0, 1], indexing="xy"), x)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_padded(dtype):
    for x in views(dtype):
        both(lambda x: F.pad(x, (1, 2)), x)
        both(lambda x: F.pad(x, (-1, 2, 0, 1, 3, -1), value=2), x)
        both(lambda x: F.pad(x, (0, 0)), x)
        both(lambda x: F.pad(x, (4, 3), "circular"), x)
        both(lambda x: F.pad(x[None], (1, 4, 2, 3), "circular"), x)
        if dtype is not torch.bool:
            both(lambda x: F.pad(x, (3, 2), "reflect"), x)
            both(lambda x: F.pad(x[None], (1, 2, 2, 1), "reflect"), x)
            both(lambda x: F.pad(x, (5, 2), "replicate"), x)
            both(lambda x: F.pad(x[None], (-1, 2, 3, -2), "replicate"), x)
            both(lambda x: F.pad(x[None], (1, 0, 2, 3, 0, 4), "replicate"), x)


def test_gradients():
    x, y = numbers((2, 3, 4), torch.float32), numbers((2, 3, 4), torch.float32, 0, 9)

    def check(f, *more):
        def g(x, *more):
            x = x.detach().requires_grad_()
            return torch.autograd.grad((f(x, *more) ** 2).sum(), x)[0]

        both(g, x, *more, tol=1e-6)

    check(lambda x, y: torch.cat([x, y, x], 1), y)
    check(lambda x, y: torch.stack([x, y, x], 1), y)
    check(lambda x: x.flip(1))
    check(lambda x: x.roll((1, 2), (0, 1)))
    check(lambda x: x.repeat(2, 1, 2))
    check(lambda x: x.repeat_interleave(torch.tensor([1, 0, 3], device=x.device), 1))
    check(lambda x: x.tril(1) + x.triu())
    check(lambda x: x.diag_embed(1))
    check(lambda x: x.unfold(2, 2, 1))
    for mode in ("constant", "reflect", "replicate", "circular"):
        check(lambda x: F.pad(x, (2, 1), mode))
        check(lambda x: F.pad(x[None], (2, 1, 1, 2), mode))


def test_gradients_of_padding_are_the_cpus_bit_for_bit():
    torch.manual_seed(5)
    for dtype in (torch.float32, torch.float16, torch.complex64):
        for mode, pad in (
            ("reflect", (4, 3, 2, 1)),
            ("replicate", (9, 3, 2, 7)),
            ("replicate", (-1, 5, 3, -2)),
            ("reflect", (-2, 3, 4, -1)),
            ("circular", (5, 4, 6, 2)),
            ("circular", (-1, 2, 3, -2)),
            ("replicate", (1, 2, 3, 0, 2, 4)),
            ("reflect", (1, 2, 3, 0, 1, 2)),
            ("circular", (1, 2, 3, 0, 3, 3)),
        ):
            x = torch.randn(2, 3, 3 if len(pad) == 6 else 1, 6, 5)
            x = (x if len(pad) == 6 else x[:, :, 0]).to(dtype).requires_grad_()
            g = torch.randn_like(F.pad(x, pad, mode))
            both(lambda x, g: torch.autograd.grad(F.pad(x, pad, mode), x, g)[0], x, g.detach())


@pytest.mark.parametrize("dtype", [None, *[d for d in DTYPES if d is not torch.bool and not d.is_complex]], ids=str)
def test_sequences_are_the_cpus_bit_for_bit(dtype):
    for args in (
        (7,),
        (0,),
        (2.5,),
        (3, 9),
        (-4, 4),
        (5, -5, -3),
        (1.5, 4.0, 0.25),
        (0, 1, 0.1),
        (2**24 - 2, 2**24 + 6),
        (-3.0, 9.0, 2.0),
        (250, 260),
        (10, 2, -1),
    ):
        if dtype is torch.int64 and len(args) == 3 and args[2] % 1:
            continue  # an error
        both(lambda d: torch.arange(*args, dtype=dtype, device=d.device), torch.empty(0))
    both(
        lambda d: torch.linspace(
            -1, 2, 7, dtype=dtype if dtype is None or dtype.is_floating_point else None, device=d.device
        ),
        torch.empty(0),
    )
    both(lambda d: torch.eye(3, dtype=dtype, device=d.device), torch.empty(0))
    both(lambda d: torch.eye(2, 5, dtype=dtype, device=d.device), torch.empty(0))
    both(lambda d: torch.eye(0, 5, dtype=dtype, device=d.device), torch.empty(0))


def test_sequences_of_large_numbers_and_of_other_kinds():
    for args in ((2**40, 2**40 + 5), (-(2**62), 2**62, 2**60), (2**31 - 3, 2**31 + 3)):
        for dtype in (None, torch.int32, torch.uint8, torch.float32):
            both(lambda d: torch.arange(*args, dtype=dtype, device=d.device), torch.empty(0))
    both(lambda d: torch.eye(3, dtype=torch.bool, device=d.device), torch.empty(0))
    both(lambda d: torch.tril_indices(4, 3, 1, device=d.device), torch.empty(0))
    both(lambda d: torch.triu_indices(4, 3, -1, device=d.device), torch.empty(0))
    both(
        lambda d: torch.arange(12.0, device=d.device).reshape(3, 4) * 2 + torch.eye(3, 4, device=d.device),
        torch.empty(0),
    )
    both(lambda d: torch.arange(70000, device=d.device).flip(0)[::7] + 1, torch.empty(0))


def test_an_arange_is_known_to_be_in_range():
    from torchlite.webgpu.lazy import stream

    x = torch.ones(4, 3, device="webgpu")
    assert x[torch.arange(4, device="webgpu")].sum().item() == 12
    before = stream.last_check[0]
    torch.nn.functional.embedding(torch.arange(4, device="webgpu"), x)
    assert stream.last_check[0] == before
    with pytest.raises(IndexError, match="index out of range in self"):
        torch.nn.functional.embedding(torch.arange(5, device="webgpu"), x)


ERRORS = [
    lambda x, y: torch.cat([x, y]),
    lambda x, y: torch.cat([x, x[0]]),
    lambda x, y: torch.cat([x[0, 0]]),
    lambda x, y: torch.cat([x, x], 2),
    lambda x, y: torch.cat([]),
    lambda x, y: torch.stack([x, y]),
    lambda x, y: torch.stack([x, x], 4),
    lambda x, y: torch.stack([]),
    lambda x, y: x.flip(3),
    lambda x, y: x.flip((0, 0)),
    lambda x, y: x.roll(1, 5),
    lambda x, y: x.roll((1, 2), 0),
    lambda x, y: x.repeat(2),
    lambda x, y: x.repeat(2, -1),
    lambda x, y: x[0].tril(),
    lambda x, y: x.diag_embed(0, 1, 1),
    lambda x, y: F.pad(x, (1,)),
    lambda x, y: F.pad(x, (-3, -1)),
    lambda x, y: F.pad(x, (3, 0), "reflect"),
    lambda x, y: F.pad(x, (1, 9), "circular"),
    lambda x, y: torch.repeat_interleave(y),
    lambda x, y: x.repeat_interleave(torch.tensor([-1, 2], device=x.device), 0),
    lambda x, y: x.repeat_interleave(torch.tensor([1, 2], device=x.device) * -1, 0),
    lambda x, y: torch.arange(3, 0, device=x.device),
    lambda x, y: torch.eye(-1, device=x.device),
    lambda x, y: torch.arange(3, dtype=torch.bool, device=x.device),
    lambda x, y: torch.arange(0, float("inf"), device=x.device),
    lambda x, y: torch.arange(0, 3, 0, device=x.device),
    lambda x, y: x.repeat_interleave(torch.tensor([1, 2], device=x.device), 0, output_size=4),
    lambda x, y: x.as_strided((3, 3), (2, 1)),
    lambda x, y: x.as_strided((2,), (1,), 5),
    lambda x, y: x.as_strided((2,), (-1,), 5),
    lambda x, y: x.as_strided_scatter(y, (3, 4), (4, 1)),
    lambda x, y: torch.cat([x, x.cpu() if not x.is_cpu else x.to("meta")]),
]


@pytest.mark.parametrize("k", range(len(ERRORS) - 1))
def test_errors_are_the_cpus(k):
    fail_alike(ERRORS[k], numbers((2, 3), torch.float32), numbers((3, 4), torch.float32))


def test_devices_do_not_mix():
    x = numbers((2, 3), torch.float32)
    kind, text = error_of(lambda: torch.cat([x, x.to("webgpu")]))
    assert kind is RuntimeError and "Expected all tensors to be on the same device" in text


def same(ours, wanted, **tolerance):
    assert ours.device.type == "webgpu" and ours.dtype is wanted.dtype and ours.shape == wanted.shape
    torch.testing.assert_close(ours.cpu(), wanted, **tolerance)


@pytest.mark.parametrize("count", [1, 2, 6, 7, 8, 9, 14, 15, 40, 100])
def test_many_parts(count):
    """cat and stack of more tensors than a kernel has buffers for:
    several launches, whose borders may fall inside a word of memory."""
    torch.manual_seed(count)
    for dtype in (torch.float32, torch.uint8, torch.bool, torch.bfloat16, torch.int64, torch.complex64):
        parts = [(torch.randn(3, 1 + i % 3) * 20).to(dtype) for i in range(count)]
        there = [p.to("webgpu") for p in parts]
        for dim, turned in ((1, False), (0, True)):
            ours = torch.cat([p.t() if turned else p for p in there], dim)
            same(ours, torch.cat([p.t() if turned else p for p in parts], dim))
        same(torch.stack([p[:, 0] for p in there], 1), torch.stack([p[:, 0] for p in parts], 1))
    # pending expressions, tensors that come several times, and gradients
    a, b = torch.randn(2, 3), torch.randn(2, 3)

    def joined(a, b):
        return torch.cat([(a if i % 2 else b) * i for i in range(count)], 1)

    leaves = a.to("webgpu").requires_grad_(), b.to("webgpu").requires_grad_()
    wanted = a.clone().requires_grad_(), b.clone().requires_grad_()
    ours, expected = joined(*leaves), joined(*wanted)
    same(ours.detach(), expected.detach())
    g = torch.randn(expected.shape)
    ours.backward(g.to("webgpu"))
    expected.backward(g)
    for x, y in zip(leaves, wanted):
        same(
            x.grad if x.grad is not None else torch.zeros(2, 3, device="webgpu"),
            y.grad if y.grad is not None else torch.zeros(2, 3),
            rtol=1e-5,
            atol=1e-5,
        )


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.float32, torch.int64, torch.complex64], ids=str)
def test_copies_of_parts(dtype):
    """Of a part that begins at a word, or inside of one, and of one that is still to be computed."""
    x = numbers((7, 5), dtype)
    for part in (slice(None), slice(1, None), slice(4, 7), slice(2, 2)):
        both(lambda x, part=part: x[part].clone(), x)
        both(lambda x, part=part: x.flatten()[part].clone(), x)
        both(lambda x, part=part: (x + x)[part].clone(), x)
        both(lambda x, part=part: torch.empty_like(x[part]).copy_(x[part]), x)
    both(lambda x: x.clone().copy_(x.t().contiguous().t()), x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.complex64], ids=str)
def test_views_replaced(dtype):
    """Copies with a view replaced, and their gradients, of inputs of every layout."""

    def graded(f, base, src):
        base, src = base.clone().requires_grad_(), src.clone().requires_grad_()
        y = f(base, src)
        return y, *torch.autograd.grad((y * y).real.sum(), (base, src))

    base, src = numbers((5, 8), dtype), numbers((2, 2), dtype, 0, 9)
    for view in (
        lambda b: b[1:4].contiguous(),
        lambda b: b[1:4],
        lambda b: b[1:4, 2:6].t(),
        lambda b: b[:, 2:3].expand(5, 4),
    ):
        for replaced in (
            lambda b, s: b.as_strided_scatter(s, (2, 2), (3, 1)),
            lambda b, s: b.as_strided_scatter(s, (2, 2), (3, 1), 9),
            lambda b, s: b.slice_scatter(s[0, :1].expand(1, b.shape[1]), 0, 1, 2),
            lambda b, s: b.select_scatter(s[0, :1].expand(b.shape[0]), 1, -1),
            lambda b, s: b.diagonal_scatter(s[0, :1].expand(b.diagonal(1).shape), 1),
        ):
            both(lambda b, s: graded(lambda b, s: replaced(view(b), s), b, s), base, src)


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64], ids=str)
def test_roll_is_no_view(dtype):
    for shifts, dims in ((1, 0), (2, None), ((1, 1), (0, 1)), (0, 0)):
        x = torch.ones(2, 3, dtype=dtype, device="webgpu")
        assert not (x.roll(shifts) if dims is None else x.roll(shifts, dims))._is_view()
