"""Indexing, gather and scatter, masks and embeddings against PyTorch: values, gradients, error texts."""

import random

import pytest

torch = pytest.importorskip("torch")
import torchlite as tl
from dtype_names import DTYPES
from index_cases import compare, make, shape_of

F = {"float32", "float64"}


def index_of(rng, size, shape, negative=False):
    n = torch.Size(shape).numel()
    return torch.tensor([rng.randint(-size if negative else 0, size - 1) for _ in range(n)], dtype=torch.int64).reshape(
        shape
    )


@pytest.mark.parametrize("seed", range(60))
def test_advanced_indexing(seed):
    rng = random.Random(seed)
    for _ in range(6):
        x = make(rng, shape_of(rng, 1, 4))
        wide, items, d = shape_of(rng, 0, 2), [], 0
        while d < x.dim():
            kind = rng.random()
            if kind < 0.3:
                items.append(slice(*rng.choice([(None,), (0, 2), (None, None, 2), (-2, None)])))
                d += 1
            elif kind < 0.65 and x.shape[d]:
                s = [1 if rng.random() < 0.2 else n for n in wide]
                items.append(index_of(rng, x.shape[d], s, True))
                d += 1
            elif kind < 0.8:
                k = min(rng.randint(1, 2), x.dim() - d)
                items.append(
                    torch.tensor([rng.random() < 0.5 for _ in range(torch.Size(x.shape[d : d + k]).numel())]).reshape(
                        x.shape[d : d + k]
                    )
                )
                d += k
            elif kind < 0.9 and x.shape[d]:
                items.append(rng.randrange(-x.shape[d], x.shape[d]))
                d += 1
            elif kind < 0.95:
                items.append(None)
            else:
                items.append(Ellipsis)
                break
        compare(lambda m, x, *i: x[i], x, *items)
        try:
            part = x[tuple(items)]
        except Exception:
            continue
        compare(lambda m, x, *i: set_to(x, i, 2), x, *items)
        repeated = any(isinstance(i, torch.Tensor) and i.dtype == torch.int64 for i in items)
        if not repeated:
            compare(lambda m, x, v, *i: set_to(x, i, v), x, make(rng, part.shape[1:], str(x.dtype)[6:]), *items)


def set_to(x, index, value):
    x = x.clone()
    x[index] = value
    return x


@pytest.mark.parametrize("name", DTYPES)
def test_along_a_dim(name):
    rng = random.Random(name)
    for _ in range(25):
        x = make(rng, shape_of(rng, 0, 3), name)
        nd = x.dim()
        d = rng.randrange(-max(nd, 1), max(nd, 1))
        size = x.size(d) if nd else 1
        if not size:
            continue
        shape = [rng.randint(0, s) for s in x.shape]
        if nd:
            shape[d] = rng.randint(0, 4)
        i = index_of(rng, size, shape)
        src = make(rng, [s + rng.randint(0, 1) for s in shape], name)
        compare(lambda m, x, i: m.gather(x, d, i), x, i)
        compare(lambda m, x, i: x.scatter(d, i, 3), x, i)
        compare(lambda m, x, i, s: x.scatter_add(d, i, s), x, i, src)
        for reduce in ("add", "multiply"):
            compare(lambda m, x, i, s: x.scatter(d, i, s, reduce=reduce), x, i, src)
        v = index_of(rng, size, [rng.randint(0, 4) if nd else 1])
        rows = list(x.shape)
        if nd:
            rows[d] = v.numel()
        src = make(rng, rows, name)
        compare(lambda m, x, v: x.index_select(d, v), x, v)
        compare(lambda m, x, v, s: x.index_add(d, v, s), x, v, src)
        compare(lambda m, x, v: x.index_fill(d, v, 2), x, v)
        if len(set(v.tolist())) == v.numel():
            compare(lambda m, x, v, s: x.index_copy(d, v, s), x, v, src)
        if name == "bool" or "complex" in name:
            continue
        for reduce in ("prod", "mean", "amax", "amin"):
            for include in (True, False):
                compare(
                    lambda m, x, i, s: x.scatter_reduce(d, i, s, reduce, include_self=include),
                    x,
                    i,
                    make(rng, shape, name),
                )
                if nd and x.numel():
                    compare(lambda m, x, v, s: x.index_reduce(d, v, s, reduce, include_self=include), x, v, src)


@pytest.mark.parametrize("name", DTYPES)
def test_masks_and_positions(name):
    rng = random.Random(name)
    for _ in range(25):
        x = make(rng, shape_of(rng, 0, 3), name)
        cut = rng.randint(0, x.dim())
        mask = torch.tensor([rng.random() < 0.5 for _ in range(torch.Size(x.shape[cut:]).numel())]).reshape(
            x.shape[cut:]
        )
        compare(lambda m, x, k: x.masked_fill(k, 2), x, mask)
        compare(lambda m, x, k: x.masked_select(k), x, mask)
        compare(lambda m, x, k, s: x.masked_scatter(k, s), x, mask, make(rng, [100], name))
        compare(lambda m, x: x.nonzero(), x)
        compare(lambda m, x: m.nonzero(x, as_tuple=True), x)
        compare(lambda m, x: m.where(x), x != 0)
        compare(lambda m, x: m.argwhere(x), x)
        if x.numel():
            i = index_of(rng, x.numel(), shape_of(rng), True)
            compare(lambda m, x, i: x.take(i), x, i)
            compare(lambda m, x, i, s: x.put(i, s, accumulate=True), x, i, make(rng, i.shape, name))


def test_out_of_range_and_wrong_types():
    x = torch.arange(12.0).view(3, 4)
    i = torch.tensor
    cases = [
        lambda m, x, a, b: x[a],
        lambda m, x, a, b: x[b],
        lambda m, x, a, b: x.index_select(0, a),
        lambda m, x, a, b: x.take(a + 20),
        lambda m, x, a, b: x.gather(0, a),
        lambda m, x, a, b: x.gather(0, a.unsqueeze(0)),
        lambda m, x, a, b: x.scatter(0, a.unsqueeze(0), 1.0),
        lambda m, x, a, b: x.index_copy(0, a, x[:1]),
        lambda m, x, a, b: x.index_fill(0, a, 1),
        lambda m, x, a, b: x.index_add(0, a, x),
        lambda m, x, a, b: x.masked_fill(a, 1),
        lambda m, x, a, b: x.masked_select(a),
        lambda m, x, a, b: x.masked_fill(b, 1),
        lambda m, x, a, b: x.masked_scatter(x > 0, x[0]),
        lambda m, x, a, b: m.nn.functional.embedding(a, x),
        lambda m, x, a, b: m.nn.functional.embedding(x, x),
        lambda m, x, a, b: m.nn.functional.one_hot(a, 3),
        lambda m, x, a, b: m.nn.functional.one_hot(-a),
        lambda m, x, a, b: m.nn.functional.one_hot(x),
        lambda m, x, a, b: x.scatter_add(0, a, x),
        lambda m, x, a, b: x.scatter(0, a.unsqueeze(0), x.long()),
        lambda m, x, a, b: x.scatter_reduce(0, a.unsqueeze(0), x, "foo"),
        lambda m, x, a, b: m.take_along_dim(x, a, 0),
        lambda m, x, a, b: x[a, a, a],
        lambda m, x, a, b: x[0.5 * a],
        lambda m, x, a, b: m.where(a, x, x),
        lambda m, x, a, b: m.unravel_index(x, (3, 4)),
        lambda m, x, a, b: x[5],
        lambda m, x, a, b: x[:, a],
        lambda m, x, a, b: x[m.tensor([0, 1]), m.tensor([0, 1, 2])],
        lambda m, x, a, b: x.index_put_((a * 0,), x.long()),
        lambda m, x, a, b: x.put(a * 0, x),
        lambda m, x, a, b: m.nn.functional.embedding_bag(a * 0, x),
        lambda m, x, a, b: m.nn.functional.embedding_bag(a * 0, x, a),
    ]
    for case in cases:
        compare(case, x, i([7]), i([True, False]))


def test_embedding():
    rng = random.Random(0)
    w = torch.arange(15.0).view(5, 3)
    i = torch.tensor([[0, 4, 4], [1, 0, 2]])
    compare(lambda m, w, i: m.nn.functional.embedding(i, w), w, i)
    compare(lambda m, w, i: m.nn.functional.embedding(i.int(), w, max_norm=2.0), w, i)
    compare(lambda m, i: m.nn.functional.one_hot(i), i)
    for mode in ("sum", "mean", "max"):
        compare(lambda m, w, i: m.nn.functional.embedding_bag(i, w, mode=mode), w, i)
        compare(
            lambda m, w, i: m.nn.functional.embedding_bag(
                i.reshape(-1), w, m.tensor([0, 2, 2, 5]), mode=mode, padding_idx=4
            ),
            w,
            i,
        )
        compare(
            lambda m, w, i: m.nn.functional.embedding_bag(
                i.reshape(-1), w, m.tensor([0, 2, 6]), mode=mode, include_last_offset=True
            ),
            w,
            i,
        )
    # bags of many lengths, of none too: the longest ones are taken together, then those of half their length
    bounds = [0, 1, 1, 4, 21, 23, 52, 52, 53, 60]
    table = make(rng, (50, 8), "float32")
    many = torch.tensor([rng.randrange(50) for _ in range(60)])
    for padding in (None, 7):

        def largest(m, w, i, padding=padding):
            args = (m.tensor(bounds), False, 2, False, None, False, padding)
            return m.embedding_bag(w, i, *args)

        compare(largest, table, many)
    for freq in (False, True):
        g = make(rng, (2, 3, 3), "float32")

        def gradient(m, w, i, g):
            w = w.clone().requires_grad_()
            m.nn.functional.embedding(i, w, padding_idx=1, scale_grad_by_freq=freq).backward(g)
            return w.grad

        compare(gradient, w, i, g)


def test_samples_gradients():
    from torchlite.ops._declare import namespace, specs

    names = {s.name for s in specs if s.body is None or s.grad} & {
        "index",
        "index_put",
        "gather",
        "scatter",
        "scatter_add",
        "scatter_reduce",
        "index_select",
        "index_add",
        "index_copy",
        "index_fill",
        "index_reduce",
        "masked_fill",
        "masked_select",
        "masked_scatter",
        "take",
        "put",
        "embedding",
        "take_along_dim",
    }
    g = tl.Generator().manual_seed(3)

    def t(*shape, lo=-2, hi=2, dtype=None):
        return (tl.rand(shape, generator=g, dtype=tl.float64) * (hi - lo) + lo).requires_grad_()

    checked = 0
    for s in specs:
        if s.name not in names or s.samples is None:
            continue
        for args in s.samples(t):
            kw = args[-1] if isinstance(args[-1], dict) else {}
            args = args[:-1] if kw else args
            if s.name == "embedding" and len(args) > 2 and args[2] is not None:
                continue  # the padding row has no gradient by design
            fn = namespace(s.namespace)[s.name]
            where = [n for n, a in enumerate(args) if isinstance(a, tl.Tensor) and a.requires_grad]

            def call(*leaves):
                full = list(args)
                for n, leaf in zip(where, leaves):
                    full[n] = leaf
                return fn(*full, **kw)

            leaves = [args[n] for n in where]
            assert tl.autograd.gradcheck(call, leaves), s.name
            assert tl.autograd.gradgradcheck(call, leaves), s.name
            checked += 1
    assert checked > 20
