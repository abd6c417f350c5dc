"""Sizes that no memory has, resizing under views, unaligned memory, interrupts, training that does not grow."""

import gc
import signal
import sys
import threading
import time

import pytest
import torchlite as torch
from torchlite import _C

BROWSER = sys.platform == "emscripten"
HUGE = 10**15


def big(n):
    """A tensor of n elements over the memory of one."""
    return torch.ones(1).expand(n)


IMPOSSIBLE = {
    "empty": lambda: torch.empty(HUGE),
    "zeros": lambda: torch.zeros(2**60),
    "ones": lambda: torch.ones(10**6, 10**6, 10**3),
    "double": lambda: torch.empty(2**58, dtype=torch.complex128),
    "strided": lambda: torch.empty_strided((2, 2), (2**60, 1)),
    "add": lambda: big(HUGE) + 1,
    "broadcast": lambda: big(10**8)[:, None] + big(10**8),
    "contiguous": lambda: big(HUGE).contiguous(),
    "clone": lambda: big(HUGE).clone(memory_format=torch.contiguous_format),
    "cast": lambda: big(HUGE).double(),
    "cat": lambda: torch.cat([big(HUGE)] * 3),
    "stack": lambda: torch.stack([big(HUGE)] * 3),
    "repeat": lambda: torch.ones(4).repeat(HUGE),
    "matmul": lambda: big(10**8)[:, None] @ big(10**8)[None],
    "outer": lambda: torch.outer(big(10**8), big(10**8)),
    "conv": lambda: torch.nn.functional.conv2d(
        torch.ones(1, 1, 1, 1).expand(1, 1, 10**7, 10**7), torch.ones(1, 1, 1, 1)
    ),
    "pad": lambda: torch.nn.functional.pad(torch.ones(3), (0, HUGE)),
    "interpolate": lambda: torch.nn.functional.interpolate(torch.ones(1, 1, 2, 2), size=(10**8, 10**8)),
    "one_hot": lambda: torch.nn.functional.one_hot(torch.tensor([1]), HUGE),
    "index": lambda: torch.ones(4)[torch.zeros(1, dtype=torch.int64).expand(HUGE)],
    "sum of rows": lambda: big(HUGE)[:, None].expand(HUGE, 0).sum(1),
    "sum of rows of one": lambda: big(2**45)[:, None].sum(1),
    "arange": lambda: torch.arange(HUGE),
    "eye": lambda: torch.eye(10**8),
    "rand": lambda: torch.rand(HUGE),
    "sort": lambda: big(HUGE).sort(),
    "diag": lambda: torch.diag_embed(big(10**8)),
    "tril": lambda: torch.tril_indices(10**8, 10**8),
    "resize": lambda: torch.ones(2).resize_(HUGE),
    "storage": lambda: torch.UntypedStorage(HUGE * 8),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_impossible(name):
    """OutOfMemoryError (a RuntimeError and, for those who catch that, no crash), and everything goes on."""
    gc.collect()
    before = _C.memory_stats()[0]
    for _ in range(3):
        with pytest.raises(torch.OutOfMemoryError, match="allocate"):
            IMPOSSIBLE[name]()
    assert torch.ones(3).add(1).tolist() == [2, 2, 2]
    gc.collect()
    assert _C.memory_stats()[0] == before
    assert issubclass(torch.OutOfMemoryError, RuntimeError)


@pytest.mark.parametrize("shape", [(2**63 - 1, 2), (2**62, 2**62), (2**40, 2**40), (2**32, 2**32)])
def test_overflowing_sizes(shape):
    for make in (torch.empty, torch.zeros, torch.rand, lambda s: torch.ones(1).expand(s)):
        with pytest.raises(RuntimeError, match="overflow|allocate"):
            make(shape)
    with pytest.raises(RuntimeError):
        torch.ones(0).reshape(*shape, 0, -1)


@pytest.mark.skipif(not BROWSER, reason="the address space of this platform is not small")
def test_near_the_limit():
    """Sizes around 2 and 4 GiB, where 32-bit arithmetic wraps around: an error or a tensor that is really there."""
    for n in (2**29 - 1, 2**29, 2**29 + 1, 2**30 - 1, 2**30, 2**30 + 1, 2**31, 2**32 - 1, 2**32, 2**32 + 16, 2**33):
        for dtype in (torch.uint8, torch.float32, torch.float64):
            try:
                t = torch.empty(n, dtype=dtype)
            except torch.OutOfMemoryError:
                continue
            t[-1] = 1
            assert t[-1].item() == 1 and t.untyped_storage().nbytes() == n * dtype.itemsize
            del t
    for n in (2**29, 2**30, 2**31):  # accumulators of 8 bytes for each
        with pytest.raises(torch.OutOfMemoryError):
            torch.ones(1, dtype=torch.uint8).expand(n, 2).sum(1)
    assert torch.ones(1000).sum().item() == 1000


# ---- geometry --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "offset, shape, strides",
    [
        (0, (5,), (1,)),
        (-1, (1,), (1,)),
        (0, (2,), (-1,)),
        (0, (-2,), (1,)),
        (1, (4,), (1,)),
        (2**62, (1,), (1,)),
        (0, (2,), (2**62,)),
        (0, (2**62,), (4,)),
        (0, (2, 2**62), (0, 0)),
        (2**63 - 1, (2,), (1,)),
        (0, (2, 2), (2**62, 2**62)),
        (0, (3, 2), (2, 1)),
        (0, (2**32 + 1,), (2**32,)),
    ],
)
def test_geometry_outside_of_the_storage(offset, shape, strides):
    s = torch.arange(4.0).untyped_storage()
    if strides == (0, 0):
        t = torch.ones(4).as_strided(shape, strides, offset) if shape[0] * shape[1] < 2**63 else None
        assert t is None or t.storage_offset() == offset
        return
    for make in (
        lambda: _C.tensor_from_storage(s, torch.float32, offset, shape, strides),
        lambda: torch.arange(4.0).as_strided(shape, strides, offset),
    ):
        with pytest.raises(RuntimeError):
            make()


def test_geometry_arguments():
    s = torch.arange(4.0).untyped_storage()
    with pytest.raises(ValueError):
        _C.tensor_from_storage(s, torch.float32, 0, (2,), (1, 1))
    with pytest.raises(TypeError):
        _C.tensor_from_storage("text", torch.float32, 0, (2,), (1,))
    assert _C.tensor_from_storage(s, torch.float32, 1, (2, 2), (1, 1)).tolist() == [[1, 2], [2, 3]]
    assert _C.tensor_from_storage(s, torch.float32, 4, (0, 3), (3, 1)).shape == (0, 3)


def test_dimensions():
    deep = torch.ones([1] * 64)
    assert deep.dim() == 64 and (deep + deep).sum().item() == 2
    for call in (
        lambda: deep.unsqueeze(0),
        lambda: deep[None],
        lambda: deep.unfold(0, 1, 1),
        lambda: torch.stack([deep, deep]),
        lambda: torch.ones([1] * 65),
        lambda: deep.expand(2, *deep.shape),
        lambda: deep.view([1] * 65),
        lambda: deep[None, None, ..., None],
        lambda: torch.tensor(0)[(None,) * 80],
    ):
        with pytest.raises(RuntimeError):
            call()


def test_resize():
    t = torch.arange(8.0)
    v = t[4:]
    t.untyped_storage().resize_(0)
    v.sum(), t.tolist()  # the block stays as long as tensors may look at it
    t.untyped_storage().resize_(64)
    assert t.untyped_storage().nbytes() == 64
    with pytest.raises(RuntimeError):
        t.untyped_storage().resize_(-1)
    with pytest.raises(RuntimeError):
        t.resize_(-1)
    view = memoryview(t.untyped_storage())
    with pytest.raises(RuntimeError, match="not resizable"):
        t.resize_(1000)
    view.release()
    assert t.resize_(1000).numel() == 1000
    for n in (0, 5, 3, 2000, 1, 0, 10):
        assert t.resize_(n).fill_(1).sum().item() == n


# ---- memory that does not begin where its type wants -----------------------------------------------------------------
DTYPES = ["int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shift", [1, 3])
def test_unaligned(dtype, shift):
    dtype = getattr(torch, dtype)
    values = torch.arange(1, 13).to(dtype)
    raw = bytearray(b"\xaa" * shift + bytes(values.clone().untyped_storage()) + b"\xbb")
    t = torch.frombuffer(raw, dtype=dtype, count=12, offset=shift)
    assert t.tolist() == values.tolist() and t[3].item() == values[3].item()
    m, w = t.view(3, 4), values.view(3, 4)
    float_ = dtype.is_floating_point or dtype.is_complex
    for call in (
        lambda a: a + 1,
        lambda a: a * a,
        lambda a: a.sum(0),
        lambda a: a.t().contiguous(),
        lambda a: a.clone(),
        lambda a: a.to(torch.complex128),
        lambda a: torch.cat([a, a]),
        lambda a: torch.stack([a, a.flip(0)]),
        lambda a: a[[0, 2]],
        lambda a: a[:, 1:3].reshape(-1),
        lambda a: a.t() @ a,
        lambda a: a.cumsum(0),
        lambda a: torch.where(a == 3, a, a + a),
        lambda a: a.repeat(2, 1),
        lambda a: a.roll(1, 0),
        lambda a: a[a == 5],
        lambda a: torch.outer(a[0], a[1]),
        lambda a: a.expand(2, 3, 4).sum(0),
        lambda a: a.diagonal() * 2,
    ):
        assert call(m).tolist() == call(w).tolist()
    if not dtype.is_complex:
        assert m.sort(1, descending=True).values.tolist() == w.sort(1, descending=True).values.tolist()
        assert (m.max(), m.argmin(1).tolist()) == (w.max(), w.argmin(1).tolist())
    for change in (
        lambda a: a.add_(1),
        lambda a: a.mul_(a),
        lambda a: a.t().copy_(torch.ones(4, 3)),
        lambda a: a.__setitem__((0, slice(None)), 5),
        lambda a: a[1:].zero_(),
        lambda a: a.__setitem__(a == 5, 2),
        lambda a: a.fill_(3),
        lambda a: a.view(-1).index_fill_(0, torch.tensor([1, 5]), 7),
        lambda a: a.index_add_(0, torch.tensor([0, 0]), a[:2].clone()),
        lambda a: a.scatter_(1, torch.tensor([[0], [1], [2]]), 4),
        lambda a: a.clamp_(0, 6) if not dtype.is_complex else a,
        lambda a: a.sub_(a[0].clone()),
        lambda a: torch.add(a, 1, out=a),
    ):
        change(m)
        change(w)
        assert m.tolist() == w.tolist()
    assert raw[:shift] == b"\xaa" * shift and raw[-1:] == b"\xbb"
    assert bytes(raw[shift:-1]) == bytes(w.clone().untyped_storage())
    if float_:
        a, b = (s.detach().requires_grad_() for s in (m, w))
        for s in (a, b):
            (s * s).sum().abs().backward()
        assert a.grad.tolist() == b.grad.tolist()


def test_unaligned_arrays():
    np = pytest.importorskip("numpy")
    raw = np.zeros(81, dtype=np.uint8)
    a = raw[1:].view(np.float64).reshape(2, 5)
    a[:] = np.arange(10).reshape(2, 5)
    t = torch.from_numpy(a)
    assert t.t().sum(0).tolist() == [10, 35]
    t.mul_(2)
    assert a[1, 4] == 18


# ---- interrupts ------------------------------------------------------------------------------------------------------
@pytest.mark.skipif(BROWSER or not hasattr(signal, "setitimer"), reason="no timer signals here")
@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread only"
)
@pytest.mark.parametrize("name", ["matmul", "conv", "sort", "one", "ints", "mode", "lu", "svd", "exp", "randn", "fft"])
def test_interrupt(name):
    def calls():
        if name == "matmul":
            a = torch.ones(4096, 4096)
            return lambda: a @ a
        if name == "conv":
            a, w = torch.ones(16, 64, 128, 128), torch.ones(64, 64, 7, 7)
            return lambda: torch.nn.functional.conv2d(a, w, padding=3)
        if name == "sort":
            a = torch.rand(400, 20000)
            return lambda: [a.sort() for _ in range(50)]
        if name in ("one", "ints", "mode"):  # one row: ties, a radix sort, and a sort within another op
            a = torch.randint(1 << 20, (20_000_000,)).to(torch.int64 if name == "ints" else torch.float32)
            return lambda: [a.mode() if name == "mode" else a.sort() for _ in range(9)]
        if name in ("lu", "svd"):
            a = torch.rand(1500, 1500)
            return (lambda: torch.linalg.svd(a)) if name == "svd" else (lambda: [torch.linalg.inv(a) for _ in range(9)])
        if name == "fft":
            a = torch.rand(1 << 20)
            return lambda: [torch.fft.fft(a) for _ in range(99)]
        if name == "randn":
            return lambda: [torch.randn(20_000_000) for _ in range(99)]
        a = torch.rand(20_000_000)
        return lambda: [a.exp() for _ in range(999)]

    def stop(*_):
        raise KeyboardInterrupt

    call = calls()
    gc.collect()
    before, old = _C.memory_stats()[0], signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            call()
        took = time.monotonic() - start
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert took < 2.5  # a fraction of a second where nothing else runs
    gc.collect()
    assert _C.memory_stats()[0] == before
    assert (torch.eye(3) @ torch.ones(3)).tolist() == [1, 1, 1]


# ---- training --------------------------------------------------------------------------------------------------------
def test_training_does_not_grow():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    optimizer = torch.optim.Adam(model.parameters())
    data, target = torch.randn(8, 8), torch.randint(0, 4, (8,))

    def steps(n):
        for _ in range(n):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(data), target).backward()
            optimizer.step()

    steps(50)
    gc.collect()
    before, objects = _C.memory_stats()[0], len(gc.get_objects())
    steps(300)
    gc.collect()
    assert _C.memory_stats()[0] == before
    assert abs(len(gc.get_objects()) - objects) < 50
