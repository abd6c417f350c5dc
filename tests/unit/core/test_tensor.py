"""What a tensor is to Python code: construction, attributes, conversion, subclasses.
Each scenario runs on torchlite and on real PyTorch and must give the same results and the same errors."""

import copy
import pickle

import pytest
import torchlite
from plain import plain

real = pytest.importorskip("torch", reason="needs real PyTorch to compare with")

SCENARIOS = []


def scenario(fn):
    SCENARIOS.append(fn)
    return fn


def outcome(f):
    try:
        return f()
    except Exception as e:
        return type(e).__name__, str(e).split("\n")[0].replace("torchlite", "torch")[:90]


@pytest.mark.parametrize("fn", SCENARIOS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore")
def test_scenario(fn):
    assert plain(fn(torchlite)) == plain(fn(real))


@scenario
def construction(t):
    return [
        t.tensor(v)
        for v in (
            1,
            1.5,
            True,
            2 + 1j,
            [1, 2],
            [1, 2.5],
            [[True], [False]],
            [],
            [[]],
            [[], []],
            ((1, 2), [3, 4]),
            [1, 2j],
            range(3),
            [t.tensor(1), t.tensor(2)],
            [t.tensor([1.5])],
        )
    ]


@scenario
def construction_with_dtype(t):
    return [
        t.tensor([1, 0, 2], dtype=d)
        for d in (
            t.bool,
            t.uint8,
            t.int8,
            t.int16,
            t.int32,
            t.int64,
            t.float16,
            t.bfloat16,
            t.float32,
            t.float64,
            t.complex64,
            t.complex128,
        )
    ]


@scenario
def construction_errors(t):
    return [outcome(lambda v=v: t.tensor(v)) for v in ([[1, 2], [3]], "x", ["a"], None, [None], object)] + [
        outcome(lambda: t.tensor([300], dtype=t.uint8)),
        outcome(lambda: t.tensor([2**70])),
    ]


@scenario
def as_tensor_shares(t):
    a = t.ones(3)
    b = t.as_tensor(a)
    c = t.as_tensor(a, dtype=t.float64)
    return b is a, c.dtype is t.float64


@scenario
def legacy_constructors(t):
    return [
        t.FloatTensor([1, 2]),
        t.LongTensor([1, 2]),
        list(t.Tensor(2, 3).shape),
        t.Tensor([1, 2]),
        list(t.Tensor().shape),
        t.IntTensor([[1], [2]]),
        isinstance(t.ones(1), t.FloatTensor),
        isinstance(t.ones(1), t.LongTensor),
        t.ones(1).type(),
        t.ones(1, dtype=t.int64).type(),
        t.ones(2).type(t.int32),
        t.ones(2).type("torch.DoubleTensor"),
        t.ones(2).type(t.LongTensor),
    ]


@scenario
def attributes(t):
    x = t.arange(24).reshape(2, 3, 4).transpose(0, 2)
    return (
        list(x.shape),
        list(x.size()),
        x.size(0),
        x.size(-1),
        list(x.stride()),
        x.stride(1),
        x.dim(),
        x.ndim,
        x.numel(),
        x.nelement(),
        x.element_size(),
        x.itemsize,
        x.nbytes,
        x.storage_offset(),
        x.is_contiguous(),
        str(x.dtype),
        str(x.device),
        x.is_cuda,
        x.is_cpu,
        x.is_floating_point(),
        x.is_complex(),
        x.is_signed(),
        x.requires_grad,
        x.is_leaf,
        len(x),
        str(x.layout),
        x.is_sparse,
        x.is_quantized,
        list(x.T.shape),
        list(x.mT.shape),
        x._version,
        x.get_device(),
        x.is_nested,
        x.is_meta,
    )


@scenario
def size_type(t):
    s = t.ones(2, 3, 4).shape
    return (
        repr(s),
        s.numel(),
        repr(s[1:]),
        repr(s + (5,)),
        type(s[0]).__name__,
        s == (2, 3, 4),
        isinstance(s, tuple),
        hash(s) == hash((2, 3, 4)),
        repr(t.Size([1, 2])),
    )


@scenario
def python_conversion(t):
    return (
        int(t.tensor(3.7)),
        float(t.tensor(3)),
        bool(t.tensor([1])),
        complex(t.tensor(2.0)),
        [1, 2, 3][t.tensor(1)],
        t.tensor(5).item(),
        t.tensor([[2.5]]).item(),
        t.tensor([[1, 2], [3, 4]]).tolist(),
        t.tensor(1.5).tolist(),
        "%.2f" % t.tensor(1.234),
        f"{t.tensor(1.234):.1f}",
        round(float(t.tensor(2.6))),
    )


@scenario
def python_conversion_errors(t):
    return [
        outcome(f)
        for f in (
            lambda: bool(t.ones(2)),
            lambda: bool(t.ones(0)),
            lambda: int(t.ones(2)),
            lambda: t.ones(2).item(),
            lambda: len(t.tensor(1)),
            lambda: [1][t.tensor(0.5)],
            lambda: iter(t.tensor(1)),
            lambda: t.ones(2).numpy() and 0 if False else t.ones(1, requires_grad=True).numpy(),
            lambda: float(t.tensor(1j + 1)),
        )
    ]


@scenario
def iteration(t):
    x = t.arange(6).reshape(3, 2)
    a, b, c = x
    return (
        a,
        [r.tolist() for r in x],
        [int(v) for v in x[0]],
        3 in x,
        9 in x,
        list(zip(x[0].tolist(), x[1].tolist())),
        list(reversed(x[0].tolist())),
        sum(x[:, 0]),
    )


@scenario
def hashing_and_identity(t):
    x, y = t.ones(2), t.ones(2)
    d = {x: 1, y: 2}
    return len(d), d[x], x is x, (x == y).all().item(), x.equal(y), x != y, x == "a", x is None, x == None  # noqa: E711


@scenario
def operators(t):
    x, y = t.tensor([7.0, -3.0, 2.0]), t.tensor([2.0, 2.0, -2.0])
    i, j = t.tensor([7, -3, 2]), t.tensor([2, 2, 3])
    return [
        x + y,
        x - 1,
        2 - x,
        x * y,
        3 * x,
        x / y,
        1 / x,
        x // y,
        5 // y,
        x % y,
        5 % y,
        x**2,
        2**y,
        -x,
        +x,
        abs(x),
        x > y,
        x >= 2,
        x < 1,
        x <= y,
        i & j,
        i | j,
        i ^ j,
        ~i,
        i << 1,
        i >> 1,
        i // j,
        i % j,
        i / j,
        i**2,
        2**j,
        10 // j,
        10 % j,
        True + i,
        i * 1.5,
        x @ y,
        divmod(7, 2),
        i & 3,
        1 | i,
    ]


@scenario
def inplace_operators(t):
    out = []
    x = t.arange(1.0, 5.0)
    first = x
    x += 1
    x -= t.ones(4)
    x *= 3
    x /= 2
    x **= 2
    x //= 2
    x %= 3
    out.append(x)
    i = t.arange(1, 5)
    i <<= 2
    i >>= 1
    i |= 1
    i &= 6
    i ^= 3
    out.append(i)
    return out, first is x, x._version


@scenario
def operator_errors(t):
    x = t.ones(2)
    return [
        outcome(f)
        for f in (
            lambda: x + "a",
            lambda: "a" + x,
            lambda: x + None,
            lambda: x @ 2,
            lambda: x & x,
            lambda: t.ones(2, dtype=t.bool) - t.ones(2, dtype=t.bool),
            lambda: x + t.ones(3),
            lambda: x @ t.ones(3),
            lambda: t.ones(2, 3) @ t.ones(2, 3),
            lambda: x < "a",
            lambda: t.ones(2, dtype=t.int64).add_(1.5),
            lambda: t.ones(2).add_(t.ones(2, 2)),
            lambda: t.tensor([1]) ** -1,
        )
    ]


@scenario
def indexing(t):
    x = t.arange(24).reshape(2, 3, 4)
    m = x % 2 == 0
    keys = [
        0,
        -1,
        (0, 1),
        (0, 1, 2),
        slice(1, None),
        (slice(None), 1),
        (slice(None), slice(0, 3, 2)),
        Ellipsis,
        (Ellipsis, 0),
        (0, Ellipsis, 1),
        None,
        (None, 0),
        (slice(None), None, 1),
        [0, 1],
        ([0, 1], [1, 2]),
        (slice(None), [0, 2]),
        (0, [0, 2]),
        ([1, 0], slice(None), [0, 3]),
        (t.tensor([0, 1]), Ellipsis),
        t.tensor(1),
        (t.tensor(0), t.tensor(2)),
        m,
        (0, m[0]),
        (slice(None), t.tensor([True, False, True])),
        (t.tensor([[0], [1]]), t.tensor([[0, 2]])),
        True,
        (Ellipsis, None),
        (slice(-2, None), slice(None, -1)),
        ([[0, 1], [1, 0]],),
        (slice(None), slice(None), [True, False, True, False]),
    ]
    return [x[k] for k in keys]


@scenario
def indexing_errors(t):
    x = t.arange(6).reshape(2, 3)
    return [
        outcome(lambda k=k: x[k])
        for k in (
            2,
            -3,
            (0, 3),
            (0, 0, 0),
            1.0,
            "a",
            t.tensor([5]),
            t.tensor([0.5]),
            slice(None, None, -1),
            t.ones(3, dtype=t.bool),
            ([0, 1], [0, 1, 2]),
        )
    ]


@scenario
def assignment(t):
    out = []
    for key, value in (
        (0, 9),
        ((0, 1), 7),
        (slice(1, None), t.tensor([1, 2, 3])),
        (Ellipsis, 4),
        ((slice(None), 1), t.tensor([5, 6])),
        ([0, 1], 3),
        ((t.tensor([0, 1]), t.tensor([1, 2])), t.tensor([8, 9])),
        (t.tensor([[True, False, True], [False, True, False]]), -1),
        ((None, 0), 2),
        ((0, slice(0, 2)), [1.0, 2.0][0]),
        (slice(0, 0), 1),
        (t.tensor(1), 6),
    ):
        x = t.arange(6).reshape(2, 3)
        x[key] = value
        out.append(x)
    return out


@scenario
def views_share(t):
    x = t.arange(12.0).reshape(3, 4)
    v = x.view(-1)[2:6].view(2, 2).t()
    v.fill_(-1)
    x.T[0].add_(100)
    x.diagonal().zero_()
    w = x.unfold(1, 2, 1)
    return x, w, v._base is not None, x.data_ptr() == x[0].data_ptr(), v._is_view()


@scenario
def type_methods(t):
    x = t.tensor([1.7, -2.3, 0.0])
    return [
        x.int(),
        x.long(),
        x.short(),
        x.char(),
        x.bool(),
        x.half(),
        x.double(),
        x.bfloat16(),
        x.to(t.int32),
        x.to("cpu") is x,
        x.to(x.dtype) is x,
        x.to(x.double()),
        x.type_as(t.tensor(1)),
        x.to(t.float32, copy=True) is x,
        x.cpu() is x,
        x.float() is x,
        x.clone() is x,
        x.contiguous() is x,
        x.new_tensor([1, 2]),
        x.new_zeros(2),
        x.new_ones((2, 1)),
        x.new_full((2,), 3.5),
        list(x.new_empty(3).shape),
        x.byte().dtype is t.uint8,
        x.cfloat(),
    ]


@scenario
def dtype_queries(t):
    return (
        t.result_type(t.ones(1), 2),
        t.result_type(t.ones(1, dtype=t.int32), 2.5),
        t.promote_types(t.int8, t.uint8),
        t.can_cast(t.float32, t.int32),
        t.get_default_dtype(),
        t.finfo(t.float32).eps,
        t.iinfo(t.int16).max,
        t.is_tensor(1),
        t.is_tensor(t.ones(1)),
        t.is_floating_point(t.ones(1)),
        repr(t.float32),
        t.float32 == t.float,
        t.int64.is_floating_point,
        t.float16.itemsize,
    )[5:]


@scenario
def default_dtype(t):
    t.set_default_dtype(t.float64)
    try:
        return t.tensor([1.0]), t.ones(1), t.rand(1).dtype is t.float64, t.tensor(1) / 2, t.zeros(1).to(t.complex128)
    finally:
        t.set_default_dtype(t.float32)


@scenario
def copies(t):
    x = t.arange(4.0).requires_grad_()
    y = copy.deepcopy(x)
    z = copy.copy(t.ones(2))
    model = t.nn.Linear(2, 2)
    model.twin = model.weight
    twin = copy.deepcopy(model)
    return (
        y,
        y.requires_grad,
        y is x,
        z,
        twin.weight is twin.twin,
        twin.weight is model.weight,
        outcome(lambda: copy.deepcopy(x * 2))[0],
    )


@scenario
def pickles(t):
    x = t.arange(6.0).reshape(2, 3).t()
    p = t.nn.Parameter(t.ones(2))
    y, q = pickle.loads(pickle.dumps((x, p)))
    return (
        y,
        list(y.stride()),
        q,
        q.requires_grad,
        type(q).__name__,
        pickle.loads(pickle.dumps(t.float32)) is t.float32,
        str(pickle.loads(pickle.dumps(t.device("cpu")))),
    )


@scenario
def subclasses(t):
    class Named(t.Tensor):
        pass

    x = t.ones(2).as_subclass(Named)
    y = x + 1
    z = x.sum()
    w = t.stack([x, x])
    return (
        type(y).__name__,
        type(z).__name__,
        type(w).__name__,
        type(x[0]).__name__,
        type(x.view(1, 2)).__name__,
        isinstance(x, t.Tensor),
        type(t.nn.Parameter(t.ones(1)) * 2).__name__,
    )


@scenario
def torch_function(t):
    log = []

    class Logged(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            log.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = t.ones(2).as_subclass(Logged)
    y = t.add(x, 1)
    z = x.mul(2)
    t.cat([x, x])
    return log, type(y).__name__, type(z).__name__


@scenario
def parameters(t):
    p = t.nn.Parameter(t.ones(2))
    q = t.nn.Parameter(t.ones(2), requires_grad=False)
    return (
        p.requires_grad,
        q.requires_grad,
        isinstance(p, t.Tensor),
        isinstance(p, t.nn.Parameter),
        p.is_leaf,
        type(p.data).__name__,
        type(p.detach()).__name__,
        (p * 1).requires_grad,
        repr(p),
    )


@scenario
def data_and_set(t):
    x = t.ones(3, requires_grad=True)
    x.data = t.arange(2.0)
    y = t.zeros(2)
    y.set_(t.arange(3.0))
    z = t.zeros(2, 2)
    z.resize_(3)
    return x, x.requires_grad, y, list(z.shape)


@scenario
def frombuffer(t):
    raw = bytearray(b"\x01\x00\x02\x00\x03\x00\x04\x00")
    x = t.frombuffer(raw, dtype=t.int16)
    raw[0] = 9
    return (
        x,
        t.frombuffer(raw, dtype=t.int16, count=2, offset=2),
        [
            outcome(f)
            for f in (lambda: t.frombuffer(raw, dtype=t.int32, offset=3), lambda: t.frombuffer(b"", dtype=t.int8))
        ],
    )


@scenario
def numpy_interop(t):
    np = pytest.importorskip("numpy")
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = t.from_numpy(a)
    x[0, 0] = 42
    y = t.arange(4)
    b = y.numpy()
    b[1] = 77
    return (
        x,
        a.tolist(),
        y,
        t.tensor(a[:, ::2]),
        t.from_numpy(a.T),
        str(t.from_numpy(np.array([1, 2])).dtype),
        np.sum(x.numpy()).item(),
        np.asarray(t.ones(2)).tolist(),
        t.tensor(np.float64(1.5)),
        t.tensor(np.int32(3)),
        t.ones(2) * np.float32(2),
        x.numpy().strides,
        t.as_tensor(a).data_ptr() == x.data_ptr(),
        np.array(t.tensor([True])).tolist(),
        t.tensor([np.float32(1.5), np.float32(2)]),
        list(t.zeros(np.int64(2), np.int64(3)).shape),
        t.ones(3)[np.int64(1)],
        t.ones(3)[np.array([0, 2])],
    )


@scenario
def memory_formats(t):
    x = t.arange(24.0).reshape(1, 2, 3, 4).contiguous(memory_format=t.channels_last)
    return (
        x,
        list(x.stride()),
        x.is_contiguous(),
        x.is_contiguous(memory_format=t.channels_last),
        list((x + 1).stride()),
        list(x.clone().stride()),
        list(t.empty_like(x).stride()),
        list(x.contiguous().stride()),
    )


@scenario
def new_axis_and_friends(t):
    x = t.arange(6)
    return (
        x.unflatten(0, (2, -1)),
        x.view(2, 3).flatten(),
        x.view(1, 6).squeeze(),
        x.expand(2, 6),
        x.repeat(2),
        x.view(2, 3).movedim(0, 1),
        x.tensor_split(4),
        x.chunk(4),
        x.view(2, 3).unbind(1),
    )
