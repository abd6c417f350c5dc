"""Indexing on webgpu gives what the CPU gives: values, dtypes, errors, gradients."""

from __future__ import annotations

import pytest

import torchlite as torch
from moved import DTYPES, both, error_of, fail_alike, numbers, on_device, same

pytestmark = pytest.mark.usefixtures("bridge")
L = torch.tensor


def views(dtype: torch.dtype) -> list[torch.Tensor]:
    """3 x 4 x 5 tensors: dense, transposed, with an offset and gaps, expanded."""
    base = numbers((6, 5, 9), dtype)
    return [
        numbers((3, 4, 5), dtype),
        base[:, :, ::2].permute(2, 1, 0)[:3, 1:5, :5],
        base[1:4, :4, 2:7],
        numbers((3, 1, 5), dtype).expand(3, 4, 5),
    ]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gather_and_index_read_every_dtype(dtype):
    i, j = L([[2, 0, 1], [1, 1, 0]]), L([3, 0, 2])
    for x in views(dtype):
        both(lambda x, i: x.gather(0, i), x, i.reshape(2, 3, 1))
        both(lambda x, j: x.gather(2, j), x, L([[[4, 4, 0]], [[1, 2, 3]]]))
        both(lambda x, j: x.index_select(1, j), x, j)
        both(lambda x, j: x.index_select(-1, j.int()), x, j)
        both(lambda x, j: x[:, j], x, j)
        both(lambda x, i, j: x[i, j], x, i, j)
        both(lambda x, i, j: x[i, :, j], x, i, j)
        both(lambda x, j: x[..., j - 3], x, j)
        both(lambda x, i: x[:, :, i], x, i)
        both(lambda x, j: x.take(j * 5 - 1), x, j)
        both(lambda x, j: torch.take_along_dim(x, j.reshape(1, 3, 1), 1), x, j)
        both(lambda x, i, j: x[i[:, :1], j, None], x, i, j)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_elements_selected_by_a_mask(dtype):
    m = numbers((3, 4, 5), torch.float32) > 0
    for x in views(dtype):
        both(lambda x, m: x[m], x, m)
        both(lambda x, m: x[:, m[0, :, 0]], x, m)
        both(lambda x, m: x.masked_select(m), x, m)
        both(lambda x, m: x.masked_select(m[0]), x, m)
        both(lambda x, m: x.masked_scatter(m, x.flip(0).contiguous()), x, m)
        both(lambda x, m: x.masked_fill(m, 1), x, m)
        both(lambda x, m: x.masked_fill(m[1], x[0, 0, 0]), x, m)
        both(lambda x, m: x.clone().transpose(0, 1).masked_fill_(m.transpose(0, 1), 3), x, m)
        both(lambda x, m: x.index_put((None, m[0]), x[0, 0, 0]), x, m)
        both(lambda x, m: x.nonzero(), x, m)
        both(lambda x, m: torch.where(x), x, m)

    both(lambda x, m: x[m.any() & False], numbers((3,), dtype), m)
    x, m = numbers((7, 20), dtype).reshape(-1)[3:], (numbers((7, 20), torch.float32) > 0).reshape(-1)[3:]
    both(lambda x, m: (x[m], x[5:25][m[7:27]], m[7:27].nonzero(), x.clone()[2:].masked_scatter(m[2:], x)), x, m)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_writes_every_dtype(dtype):
    i, src = L([[2, 0, 1], [1, 2, 0]]), numbers((2, 3, 5), dtype)
    for x in views(dtype)[:3]:

        def put(x, i, src):
            x = x.clone()
            x[i[0], 1] = src[0]
            x[:, i[1]] = src[1, :, :1]
            x[i[0, :2], :, 3] = src[0, 0, 0]
            x[L([0]), L([1])] = 1  # CPU indices, a number
            return x

        both(put, x, i, src)
        both(lambda x, i, s: x.scatter(1, i[:, :, None], s), x, i, src)
        both(lambda x, i, s: x.scatter(1, i[:, :, None], 2), x, i, src)
        both(lambda x, i, s: x.index_copy(1, i[0], s[:1].expand(3, 3, 5).contiguous()), x, i, src)
        both(lambda x, i, s: x.index_fill(2, i[0], 3), x, i, src)
        both(lambda x, i, s: x.index_fill(-1, i[0] - 5, s[0, 0, 0]), x, i, src)
        both(lambda x, i, s: x.put(i * 7 - 3, s[:, :, 0]), x, i, src)

    def into_view(x, i, s):
        x = x.clone()
        v = x[:, 1:, ::2]
        v[i[0], 2] = s[0, :, :3]
        v.scatter_(0, i[:1, :, None].expand(1, 3, 3), 1)
        return x

    both(into_view, views(dtype)[0], i, src)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if not d.is_complex], ids=str)
def test_sums_and_reductions_with_repeated_indices(dtype):
    i = L([[2, 0, 2, 2], [2, 0, 2, 1]])
    x, src = numbers((3, 4), dtype, 0, 4), numbers((2, 4), dtype, 1, 3)
    both(lambda x, i, s: x.scatter_add(0, i, s), x, i, src)
    both(lambda x, i, s: x.index_add(0, i[:, 0], s), x, i, src)
    both(lambda x, i, s: x.put(i, s, True), x, i, src)
    both(lambda x, i, s: x.index_put((i[0],), s[0], True), x, i, src)
    both(lambda x, i, s: x.clone().t().index_add_(1, i[0], s[:1, :].expand(4, 4)).t(), x, i, src)
    both(lambda x, i, s: x.scatter(0, i, s, reduce="add"), x, i, src)
    for kind in ("sum", "prod", "mean", "amax", "amin"):
        # WGSL allows a quotient an error of 2.5 ulp, and an NVIDIA GPU has it
        tol = 1e-6 if kind == "mean" and dtype.is_floating_point else 0.0
        for include in (True, False):
            both(lambda x, i, s: x.scatter_reduce(0, i, s, kind, include_self=include), x, i, src, tol=tol)
            if kind != "sum" and dtype is not torch.bool:
                both(lambda x, i, s: x.index_reduce(0, i[:, 0], s, kind, include_self=include), x, i, src, tol=tol)


def test_complex_sums():
    i = L([[2, 0, 2, 2], [2, 0, 2, 1]])
    x, src = numbers((3, 4), torch.complex64), numbers((2, 4), torch.complex64)
    both(lambda x, i, s: x.scatter_add(0, i, s), x, i, src)
    both(lambda x, i, s: x.scatter(0, i, 2 - 1j, reduce="add"), x, i, src)
    both(lambda x, i, s: x.index_add(0, i[:, 0], s), x, i, src)
    both(lambda x, i, s: x.index_add(0, i[:, 0], s, alpha=2), x, i, src, fallback=True)
    both(lambda x, i, s: x.index_put((i[0], i[1]), s[0], True), x, i, src)
    both(lambda x, i, s: x.put(i, s, True), x, i, src)
    both(lambda x, i, s: x.scatter_reduce(0, i, s, "sum", include_self=False), x, i, src)
    both(lambda x, i, s: x.masked_fill(x.real > 3, 1 - 2j), x, i, src)


def test_int64_sums_carry():
    x = L([2**40 + 1, -1, 2**32 - 1])
    both(lambda x, i, s: x.index_add(0, i, s), x, L([2, 2, 1, 0]), L([1, 2**32, -(2**50), -(2**41)]))


def test_the_last_of_several_int64_writes_stays():
    n = 3000
    i, v = L([k * 7 % 11 for k in range(n)]), torch.arange(n) * (2**33 + 1)
    both(lambda x, i, v: x.index_put((i,), v), torch.zeros(11, dtype=torch.int64), i, v)
    both(lambda x, i, v: x.scatter(0, i, v), torch.zeros(11, dtype=torch.int64), i, v)


def test_float_sums_are_the_cpus_bit_for_bit_every_time():
    torch.manual_seed(3)
    n, i, g = 2000, torch.randint(0, 7, (2000,)), torch.randn(2000, 6)
    for _ in range(2):
        both(lambda x, i, g: x.index_add(0, i, g), torch.randn(7, 6), i, g)
        both(lambda x, i, g: x.index_add(1, i, g.t()), torch.randn(6, 7), i, g)
        both(lambda x, i, g: x.scatter_add(0, i[:, None].expand(n, 6), g), torch.randn(7, 6), i, g)
        both(lambda x, i, g: x.scatter_add(1, i[:, None].expand(n, 6), g), torch.randn(n, 7), i, g)
        both(lambda x, i, g: x.scatter_add(0, i.reshape(500, 4), g[:500, :4]), torch.randn(7, 5), i, g)
        both(lambda x, i, g: x.index_put((i, i.flip(0)), g[:, 0], True), torch.randn(7, 7), i, g)
        both(lambda x, i, g: x.put(i * 2 - 14, g[:, 1], True), torch.randn(7, 2), i, g)
        both(lambda x, i, g: torch.embedding_dense_backward(g, i, 8, 3, False), torch.randn(1), i, g)
        both(lambda x, i, g: x.scatter_reduce(0, i, g[:, 0] / 8 + 1, "prod", include_self=False), torch.randn(7), i, g)


def test_embedding():
    w, i = numbers((7, 3), torch.float32), L([[1, 6, 1], [0, 1, 5]])
    both(lambda w, i: torch.nn.functional.embedding(i, w), w, i)
    both(lambda w, i: torch.nn.functional.embedding(i.int(), w.t().contiguous().t()), w, i)
    both(lambda w, i: torch.nn.functional.one_hot(i), w, i)
    both(lambda w, i: torch.nn.functional.one_hot(i, 9), w, i)
    both(lambda w, i: torch.nn.functional.one_hot((i * 1), 9), w, i)
    for padding, freq in ((None, False), (1, False), (None, True)):
        both(
            lambda w, i: torch.autograd.grad(
                (torch.nn.functional.embedding(i, w, padding, scale_grad_by_freq=freq) ** 2).sum(), w
            )[0],
            w.requires_grad_(),
            i,
        )

    def renorm(w, i):
        w = w.clone()
        torch.nn.functional.embedding(i, w, max_norm=0.5)
        return w

    both(renorm, w.detach(), i, tol=1e-6)
    for mode in ("sum", "mean", "max"):
        both(lambda w, i: torch.nn.functional.embedding_bag(i, w, mode=mode), w.detach(), i, tol=1e-6, fallback=True)


def test_gradients():
    x, i, m = numbers((4, 3), torch.float32), L([[2, 0, 1], [1, 2, 0]]), numbers((4, 3), torch.float32) > 0

    def check(f, *more):
        def g(x, *more):
            x = x.detach().requires_grad_()
            return torch.autograd.grad((f(x, *more) ** 2).sum(), x)[0]

        both(g, x, *more, tol=1e-6)

    check(lambda x, i: x.gather(0, i), i)
    check(lambda x, i: x[i[0], i[1]], i)
    check(lambda x, i: x.index_select(0, i[0]), i)
    check(lambda x, i: x.index_add(0, i[0], x[1:] * 2), i)
    check(lambda x, i: x.scatter(0, i, x[:2] * 3), i)
    check(lambda x, i: x.scatter_add(0, i, x[:2] * 3), i)
    check(lambda x, i: x.index_put((i[0],), x[0]), i)
    check(lambda x, i: x.index_copy(0, i[0], x[1:] * 2), i)
    check(lambda x, i: x.take(i), i)
    check(lambda x, i: x.scatter_reduce(0, i, x[2:] * 2, "mean"), i)
    check(lambda x, i: x.scatter_reduce(0, i, x[2:] * 2, "amax"), i)
    check(lambda x, m: x.masked_fill(m, 2), m)
    check(lambda x, m: x[m], m)
    check(lambda x, m: x.masked_scatter(m, x * 2), m)


def test_in_place_writes_where_the_tensor_is(bridge):
    x = torch.zeros(5, 4, device="webgpu")
    v = x[1:4]
    before = x.data_ptr()
    v.index_add_(0, L([0, 2, 2]).to("webgpu"), torch.ones(3, 4, device="webgpu"))
    v[:, 1].scatter_(0, L([0]).to("webgpu"), 7.0)
    x[L([4])] = 5
    x.masked_fill_(x == 2, -1)
    assert x.data_ptr() == before and x.sum(1).tolist() == [0.0, 10.0, 0.0, -4.0, 20.0]
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.zeros(1, device="webgpu").expand(3).index_add_(0, L([0]).to("webgpu"), torch.ones(1, device="webgpu"))


def test_nothing_selected_nothing_there():
    none, e = torch.zeros(0, dtype=torch.int64), numbers((0, 3), torch.float32)
    x = numbers((2, 3), torch.float32)
    both(lambda x, n: x[n], x, none)
    both(lambda x, n: x.index_select(1, n), x, none)
    both(lambda x, n: x.gather(0, n.reshape(0, 3)), x, none)
    both(lambda x, n: x.index_add(0, n, x[:0]), x, none)
    both(lambda x, n: x.scatter(0, n.reshape(0, 3), 5), x, none)
    both(lambda x, n: x[n], e, none)
    both(lambda x, n: x.nonzero(), e, none)
    both(lambda x, n: x[x > 5], x, none)
    both(lambda x, n: x.masked_fill(x > 5, 1), e, none)
    both(lambda x, n: torch.nn.functional.embedding(n, x), x, none)
    both(lambda x, n: x[()], L(3.0), none)
    both(lambda x, n: x.gather(0, torch.zeros_like(n.sum())), L(3.0), none)
    both(lambda x, n: x[None][n], L(3.0), none)


ERRORS = [
    lambda x, i, f: x.gather(0, f),
    lambda x, i, f: x.gather(2, i),
    lambda x, i, f: x.gather(0, i[0]),
    lambda x, i, f: x.gather(0, i.repeat(1, 9)),
    lambda x, i, f: x.scatter(0, i, x.int()),
    lambda x, i, f: x.scatter(0, i, x[:1]),
    lambda x, i, f: x.scatter_reduce(0, i, x, "max"),
    lambda x, i, f: x.scatter(0, i, x, reduce="mean"),
    lambda x, i, f: x.index_select(0, i),
    lambda x, i, f: x.index_select(0, f[0]),
    lambda x, i, f: x.index_add(1, i[0], x),
    lambda x, i, f: x.index_copy(1, i[0], x),
    lambda x, i, f: x.index_copy(0, i[0].int(), x),
    lambda x, i, f: x.index_fill(0, i, 1),
    lambda x, i, f: x.index_reduce(0, i[0], x[:2], "sum"),
    lambda x, i, f: x[f],
    lambda x, i, f: x[i, i, i],
    lambda x, i, f: x[i, i[:1, :1].repeat(3, 1)],
    lambda x, i, f: x[x[0] > 0],
    lambda x, i, f: x.index_put((i,), i),
    lambda x, i, f: x.index_put((i,), x[:, :3]),
    lambda x, i, f: x.take(f),
    lambda x, i, f: x.put(i, x),
    lambda x, i, f: x.masked_fill(i, 1),
    lambda x, i, f: x.masked_fill(x > 0, x),
    lambda x, i, f: x.masked_select(i),
    lambda x, i, f: x.masked_scatter(x > -9, f[:0]),
    lambda x, i, f: x.masked_fill(x[:1, :2] > 0, 1),
    lambda x, i, f: i.masked_fill(i > 0, float("inf")),
    lambda x, i, f: x.clone().index_add_(1, i[0], x.int()),
    lambda x, i, f: torch.embedding(x[0], i),
    lambda x, i, f: torch.embedding(x, f),
    lambda x, i, f: torch.nn.functional.one_hot(f),
    lambda x, i, f: torch.nn.functional.one_hot(i, 1),
    lambda x, i, f: torch.nn.functional.one_hot(-i),
]


@pytest.mark.parametrize("k", range(len(ERRORS)))
def test_errors_are_the_cpus(k):
    fail_alike(ERRORS[k], numbers((3, 4), torch.float32), L([[1, 0, 2], [0, 1, 1]]), numbers((2, 3), torch.float32))


RANGE = [
    lambda x, i: x.gather(0, i.reshape(-1, 1)),
    lambda x, i: x[i],
    lambda x, i: x[:, i],
    lambda x, i: x.index_select(1, i),
    lambda x, i: torch.embedding(x, i),
    lambda x, i: x.scatter(1, i.reshape(1, -1), 1.0),
    lambda x, i: x.scatter_add(1, i.reshape(1, -1), torch.ones_like(x)),
    lambda x, i: x.index_add(0, i, x[:2]),
    lambda x, i: x.index_copy(0, i, x[:2]),
    lambda x, i: x.index_fill(0, i, 2),
    lambda x, i: x[0].take(i),
    lambda x, i: x[0].put(i, x[0, :2]),
    lambda x, i: x.index_put((i,), x[0]),
    lambda x, i: torch.nn.functional.one_hot(i, 4),
]


@pytest.mark.parametrize("k", range(len(RANGE)))
@pytest.mark.parametrize("bad", [5, -5, 2**33])
def test_an_index_out_of_range_is_told_at_once_where_its_numbers_are_known(k, bad):
    fail_alike(RANGE[k], numbers((3, 4), torch.float32), L([1, bad]))


@pytest.mark.parametrize("k", range(len(RANGE)))
@pytest.mark.parametrize("bad", [5, -5, 2**33])
def test_an_index_out_of_range_is_told_before_any_number_is_read(k, bad):
    x, i = numbers((3, 4), torch.float32), L([1, bad])
    dx, di = on_device(x), on_device(i) + 0  # numbers that only the GPU knows
    other = torch.ones(3, device="webgpu")
    want = error_of(RANGE[k], x, i)
    result = RANGE[k](dx, di)
    later = result.sum() * 2
    for read in (lambda: other.tolist(), lambda: result.cpu(), lambda: later.item(), lambda: print(result)):
        assert error_of(read) == want
    assert other.tolist() == [1.0, 1.0, 1.0] and same(dx, x)  # what was there before is good
    assert torch.zeros(2, device="webgpu").tolist() == [0.0, 0.0]


def test_a_range_is_not_known_of_the_same_bytes_as_other_numbers():
    w = L([1, 1, 2, 0], dtype=torch.int32).to("webgpu")
    x = torch.ones(3, device="webgpu")
    assert x[w].sum().item() == 4
    kind, text = error_of(lambda: x[w.view(torch.int64)].tolist())
    assert kind is IndexError and "index 4294967297 is out of bounds" in text


def test_reads_that_are_awaited_look_first_as_well():
    import asyncio

    from torchlite.webgpu import tensors

    for n in (2, 40000):  # with the status in one read, and after it
        x = torch.arange(float(n)).to("webgpu")
        bad = x[torch.tensor([n]).to("webgpu") + 0]
        for t in (bad, x + bad):
            with pytest.raises(IndexError, match="index %d is out of bounds for dimension 0 with size %d" % (n, n)):
                asyncio.run(tensors.host_copy_async(t))
        good = x[torch.tensor([n - 1]).to("webgpu") + 0] + x
        assert asyncio.run(tensors.host_copy_async(good))[0].item() == n - 1


def test_synchronize_tells_of_bad_indices_and_overwritten_tensors_are_good_again():
    x = torch.zeros(4, device="webgpu")
    kept = torch.ones(2, device="webgpu")
    i = torch.tensor([7]).to("webgpu") + 0
    x.index_add_(0, i, torch.ones(1, device="webgpu"))
    with pytest.raises(RuntimeError, match="index 7 is out of bounds for dimension 0 with size 4"):
        torch.webgpu.synchronize()
    torch.webgpu.synchronize()
    for f in (lambda: x.tolist(), lambda: (x + 1).tolist(), lambda: x.add_(1).tolist()):
        with pytest.raises(RuntimeError, match="index 7 is out of bounds"):
            f()
    assert kept.tolist() == [1.0, 1.0]
    x.zero_()
    assert x.tolist() == [0.0] * 4
    x += 1
    x[torch.tensor([1]).to("webgpu") + 0] = 3
    assert x.tolist() == [1.0, 3.0, 1.0, 1.0]


def test_isin_unique_and_friends_use_no_cpu():
    both(lambda x, y: torch.isin(x, y), L([1, 2, 3, 4]), L([2, 4, 8]))
    both(lambda x, i: torch.unravel_index(i, (3, 4)), L([1.0]), L([11, 5]), fallback=True)
    both(lambda x, i: torch.cartesian_prod(x, i.float()), L([1.0, 2.0]), L([1, 5]))
    both(lambda x, i: x.unfold(0, 2, 1), L([1.0, 2.0, 3.0]), L([1]))
