"""Joining, padding, rearranging and factories against PyTorch."""

import itertools
import math
import random

import pytest

torch = pytest.importorskip("torch")
import torchlite as tl
from dtype_names import DTYPES
from index_cases import compare, make, shape_of


def test_cat_of_nothing():
    for dim in (0, -1, 5):
        compare(lambda m, x: m.cat([x, x], dim), torch.ones(0))
        compare(lambda m, x, y: m.cat([x, y], dim), torch.ones(0), torch.ones(0, 2))


@pytest.mark.parametrize("seed", range(30))
def test_cat_and_stack(seed):
    rng = random.Random(seed)
    for _ in range(5):
        x = make(rng, shape_of(rng, 0, 3))
        nd = x.dim()
        parts = []
        d = rng.randrange(-max(nd, 1), max(nd, 1))
        for _ in range(rng.randint(1, 3)):
            s = list(x.shape)
            if nd:
                s[d] = rng.randint(0, 3)
            if s and rng.random() < 0.05:
                s[0] += 1
            parts.append(make(rng, s, None if rng.random() < 0.4 else str(x.dtype)[6:]))
        if rng.random() < 0.1:
            parts.append(torch.zeros(0))
        compare(lambda m, p: m.cat(p, d), parts)
        for name in ("hstack", "vstack", "dstack", "column_stack"):
            compare(lambda m, p: getattr(m, name)(p), parts)
        at = rng.randrange(-nd - 1, nd + 1)
        compare(lambda m, p: m.stack(p, at), parts)
        if nd <= 2:
            compare(lambda m, p: m.block_diag(*p), parts)


@pytest.mark.parametrize("name", DTYPES)
def test_rearranging(name):
    rng = random.Random(name)
    for _ in range(15):
        x = make(rng, shape_of(rng, 0, 3), name)
        nd = x.dim()
        dims = [rng.randrange(-max(nd, 1), max(nd, 1)) for _ in range(rng.randint(0, 2))]
        shifts = [rng.randint(-5, 5) for _ in dims]
        repeats = [rng.randint(0, 3) for _ in range(rng.randint(0, nd + 2))]
        k = rng.randint(-3, 3)
        for call in (
            lambda m, x: x.flip(dims),
            lambda m, x: x.roll(shifts, dims),
            lambda m, x: x.roll(2),
            lambda m, x: x.repeat(repeats),
            lambda m, x: x.tile(repeats),
            lambda m, x: x.tril(k),
            lambda m, x: x.triu(k),
            lambda m, x: x.diag_embed(k),
            lambda m, x: m.diag(x, k),
            lambda m, x: x.rot90(k, (0, 1)),
            lambda m, x: x.repeat_interleave(2),
            lambda m, x: x.reshape(x.shape or (1,)).repeat_interleave(3, dim=0),
            lambda m, x: x.fliplr(),
            lambda m, x: x.flipud(),
            lambda m, x: m.diagflat(x, k),
            lambda m, x: m.constant_pad_nd(x, [1, -1] * min(nd, 1) + [0, 2] * max(0, min(nd - 1, 1)), 2),
        ):
            compare(call, x)
        if name not in ("bool", "float16", "bfloat16"):
            compare(lambda m, x: m.trace(x), x)
        if nd == 1:
            compare(lambda m, x: m.combinations(x), x)
            compare(lambda m, x: m.cartesian_prod(x, x), x)
            for indexing in ("ij", "xy"):
                compare(lambda m, x: m.meshgrid(x, x[:1], indexing=indexing), x)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_padding(mode):
    rng = random.Random(mode)
    for dims in (1, 2, 3):
        for _ in range(25):
            x = make(
                rng,
                [rng.randint(1, 4) for _ in range(dims + rng.randint(1, 2))],
                rng.choice(["float32", "float64", "int64", "complex64"]),
            )
            # -1 there reads what was not written
            pad = [rng.randint(0 if mode == "circular" else -1, 3) for _ in range(2 * dims)]
            compare(lambda m, x: m.nn.functional.pad(x, pad, mode=mode), x)

            def gradient(m, x):
                x = x.clone().requires_grad_()
                y = m.nn.functional.pad(x, pad, mode=mode)
                (y * m.arange(y.numel(), dtype=y.dtype).reshape(y.shape)).sum().backward()
                return x.grad

            if x.dtype in (torch.float32, torch.float64):
                try:
                    if 0 in torch.nn.functional.pad(x, pad, mode=mode).shape:
                        continue
                except Exception:
                    continue
                compare(gradient, x)
    x = torch.zeros(2, 3, 4)
    for args in ((1,), (1, 1) * 4, (-3, -3), (4, 0), (9, 0), (1.5, 1)):
        compare(lambda m, x: m.nn.functional.pad(x, args, mode=mode), x)
    compare(lambda m, x: m.nn.functional.pad(x, (1, 1), mode="foo"), x)


def test_factories():
    calls = """
    zeros(2, 3)|zeros((2, 3), dtype=m.int64)|ones(2)|ones(())|full((2, 2), 3)|full((2,), 1.5)|full((2,), True)
    |full((2,), 1j)|eye(3)|eye(2, 4)|eye(3, dtype=m.bool)|arange(5)|arange(1, 5.)|arange(5, 1, -2)|arange(0, 1, 0.1)
    |arange(3, dtype=m.float16)|arange(2.5, dtype=m.int64)|linspace(0, 1, 7)|linspace(-3, 5, 1)
    |linspace(0, 9, 4, dtype=m.int64)|linspace(0, 1j, 3)|logspace(0, 2, 5)|logspace(0, 2, 5, base=2)
    |tril_indices(3, 4, 1)|triu_indices(3, 4, -1)|tril_indices(2, 2, dtype=m.int32)|zeros(0)|zeros(2, -3)|ones('a')
    |zeros(2.5)|eye(-1)|arange(3, 0)|arange(0, 3, 0)|linspace(0, 1, -1)|full((2,), 300, dtype=m.uint8)
    |arange(2, dtype=m.bool)|zeros(2, 3).new_ones(4)|zeros(2, dtype=m.int8).new_full((3,), 7)
    |zeros(2).new_zeros((1, 2), dtype=m.bool)|ones_like(m.zeros(2, 3, dtype=m.int32))
    |zeros_like(m.ones(2, 3), dtype=m.float64)|full_like(m.zeros(2), 4)|zeros(2).new_empty(3).shape
    |empty(2, 3, 4, 5, memory_format=m.channels_last).stride()|empty_like(m.zeros(4, 3).t()).stride()
    |empty_strided((2, 3), (1, 2)).stride()|empty_permuted((2, 3, 4), (1, 2, 0)).stride()
    |zeros(2, requires_grad=True).requires_grad|scalar_tensor(3)|vander(m.arange(4))|arange(0, 2).dtype.itemsize
    |unravel_index(m.tensor([5, 7]), (3, 4))|isin(m.arange(5), m.tensor([1, 3]))
    |repeat_interleave(m.tensor([1, 0, 2]))|zeros(3, out=m.ones(3))|arange(4, out=m.zeros(4))"""
    for text in calls.replace("\n", "").split("|"):
        compare(lambda m: eval("m." + text.strip(), {"m": m}))


def test_samples_gradients():
    from torchlite.ops import load_all, specs

    load_all()
    names = {
        "cat",
        "stack",
        "hstack",
        "vstack",
        "dstack",
        "column_stack",
        "flip",
        "roll",
        "rot90",
        "repeat",
        "tile",
        "repeat_interleave",
        "tril",
        "triu",
        "diag_embed",
        "diag",
        "diagflat",
        "constant_pad_nd",
        "pad",
        "trace",
        "slice_scatter",
        "select_scatter",
        "diagonal_scatter",
    }
    g = tl.Generator().manual_seed(3)

    def t(*shape, lo=-2, hi=2, dtype=None):
        return (tl.rand(shape, generator=g, dtype=tl.float64) * (hi - lo) + lo).requires_grad_()

    checked = set()
    for s in specs:
        if s.name not in names or s.samples is None or s.namespace == "aten":
            continue
        for args in s.samples(t):
            kw = args[-1] if isinstance(args[-1], dict) else {}
            args = args[:-1] if kw else args
            leaves = [
                a
                for a in itertools.chain(*[a if isinstance(a, list) else [a] for a in args])
                if isinstance(a, tl.Tensor) and a.requires_grad
            ]

            def call(*values):
                values = iter(values)

                def put(a):
                    return next(values) if isinstance(a, tl.Tensor) and a.requires_grad else a

                full = [[put(x) for x in a] if isinstance(a, list) else put(a) for a in args]
                return (
                    getattr(tl.ops.aten, s.name, None)(*full, **kw) if s.name != "repeat" else full[0].repeat(*full[1:])
                )

            assert tl.autograd.gradcheck(call, leaves), s.name
            assert tl.autograd.gradgradcheck(call, leaves), s.name
            checked.add(s.name)
    assert checked == names


LAYOUTS = [
    lambda b: b[:12].clone().reshape(4, 3),
    lambda b: b[5:17].reshape(4, 3),
    lambda b: b[5:17].reshape(4, 3).t(),
    lambda b: b[:24].reshape(4, 6)[:, 1::2],
    lambda b: b.reshape(5, 8)[1:4, 2:6],
    lambda b: b[3:7].reshape(4, 1).expand(4, 3),
    lambda b: b[3:7].expand(3, 4).t(),
    lambda b: b.as_strided((4, 3), (2, 1), 3),
]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_as_strided_scatter(layout):
    """Values are PyTorch's. Gradients are those that PyTorch finds for the same in steps:
    its own for this op is not the derivative."""

    def values(m, b, size, stride, offset):
        src = -m.arange(1, 1 + math.prod(size), dtype=b.dtype).reshape(size)
        return m.as_strided_scatter(layout(b), src, size, stride, offset)

    def gradients(m, b, size, stride, offset):
        b = b.clone().requires_grad_()
        src = m.ones(size, dtype=b.dtype, requires_grad=True)
        if m is tl:
            out = m.as_strided_scatter(layout(b), src, size, stride, offset)
        else:
            out = layout(b * 1)
            out = out.clone() if 0 in out.stride() else out
            out.as_strided(size, stride, offset).copy_(src)
        weights = m.arange(1, out.numel() + 1, dtype=b.dtype).reshape(out.shape)
        first = m.autograd.grad((out * out * weights).sum(), (b, src), create_graph=True)
        return *first, *m.autograd.grad(sum((g * g).sum() for g in first), (b, src))

    b = torch.arange(40, dtype=torch.float64)
    for size, stride in (
        ((2, 2), (3, 1)),
        ((2, 2), (1, 2)),
        ((3,), (4,)),
        ((), ()),
        ((2, 3), (1, 1)),
        ((2, 3), (0, 1)),
        ((0, 2), (1, 4)),
        ((9, 9), (9, 9)),
    ):
        for offset in (None, 0, 1, 5, 7, 24):
            compare(values, b, size, stride, offset)
            compare(gradients, b, size, stride, offset)
