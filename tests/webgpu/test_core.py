"""The webgpu device itself: lazy element-wise expressions, fused, writes between them, copies,
devices."""

import copy
import io
import random
import warnings

import moved
import pytest
import torchlite as torch

pytestmark = pytest.mark.usefixtures("bridge")

DTYPES = [dtype for dtype in moved.DTYPES if not dtype.is_complex]
CASES = {
    "mul": lambda p, q: p * q,
    "add": lambda p, q: p + q,
    "sub": lambda p, q: p - q,
    "eq": lambda p, q: p == q,
    "lt": lambda p, q: p < q,
    "where": lambda p, q: torch.where(p > q, p, q),
    "maximum": lambda p, q: torch.maximum(p, q),
    "div": lambda p, q: p / q,
    "add number": lambda p, q: p + 2,
    "mul float": lambda p, q: p * 2.5,
    "square": lambda p, q: p**2,
    "float": lambda p, q: p.float(),
    "long": lambda p, q: p.to(torch.int64),
    "bool": lambda p, q: p.bool(),
    "slices": lambda p, q: p[1:, 2:4] + 1,
    "clone": lambda p, q: p.clone(),
    "transposed": lambda p, q: p.t() * q[:3],
    "contiguous": lambda p, q: p.t().contiguous(),
    "expand": lambda p, q: q.expand(4, 5).contiguous(),
    "alpha": lambda p, q: torch.add(p, q, alpha=2),
    "neg": lambda p, q: -p,
    "abs": lambda p, q: p.abs(),
    "sign": lambda p, q: p.sign(),
    "clamp": lambda p, q: p.clamp(1, 3),
    "floor": lambda p, q: p // 3,
    "remainder": lambda p, q: p % 3,
    "exp": lambda p, q: p.float().exp().to(p.dtype),
    "and": lambda p, q: torch.logical_and(p, q),
    "bits": lambda p, q: p & q,
    "empty": lambda p, q: p[:0] + 1,
    "0-dim": lambda p, q: p[0, 0] * q,
}


def same(ours, wanted, **tolerance):
    assert ours.device.type == "webgpu" and ours.dtype is wanted.dtype and ours.shape == wanted.shape
    torch.testing.assert_close(ours.cpu(), wanted, equal_nan=True, **tolerance)


def outcome(f, *args):
    try:
        return f(*args), None
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(dtype, name):
    """Result type, shape, values or error are the CPU's."""
    torch.manual_seed(0)
    a, b = (torch.randn(3, 5) * 10).to(dtype), (torch.randn(5) * 10).to(dtype)
    if dtype is not torch.bool and not dtype.is_floating_point:
        b[b == 0] = 1  # a GPU does not stop at an integer division by zero
    wanted, error = outcome(CASES[name], a, b)
    ours, our_error = outcome(CASES[name], a.to("webgpu"), b.to("webgpu"))
    assert our_error == error
    if error is None:
        rtol = {torch.float16: 1e-3, torch.bfloat16: 1e-2}.get(dtype, 1.3e-6)
        same(ours, wanted, rtol=rtol, atol=1e-5)


def test_writes_between_expressions():
    """A lazy expression sees the values from before a write; views write through."""
    c = torch.randn(5, 7)
    g = c.to("webgpu")
    y = g * 2
    g += 1
    same(y, c * 2)
    c2 = c + 1
    same(g, c2)
    v = g[1:3, ::2]
    v *= 3
    c2[1:3, ::2] *= 3
    same(g, c2)
    w = g.t() + 1
    g[0] = 5
    g.zero_()
    same(w, c2.t() + 1)
    g.copy_(c)
    g[:, 1:].add_(g[:, :-1])  # overlapping operands
    c3 = c.clone()
    c3[:, 1:] += c3[:, :-1].clone()
    same(g, c3)


OVERLAPS = {
    "add_": lambda x: x[1:].add_(x[:-1]),
    "transposed": lambda x: x[:9].view(3, 3).mul_(x[:9].view(3, 3).T),
    "row": lambda x: x[:9].view(3, 3).sub_(x[:3]),
    "element": lambda x: x.div_(x[3]),
    "itself": lambda x: x.add_(x[:]),
    "halves": lambda x: x[:5].add_(x[5:]),
    "even and odd": lambda x: x[::2].add_(x[1::2]),
    "lerp_": lambda x: x[1:].lerp_(x[:-1], 0.5),
    "complex": lambda x: torch.view_as_complex(x.view(5, 2))[1:].add_(torch.view_as_complex(x.view(5, 2))[:-1]),
    "copy_": lambda x: x[1:].copy_(x[:-1]),
    "copy itself": lambda x: x.copy_(x[:]),
    "copy halves": lambda x: x[:5].copy_(x[5:]),
    "copy strided": lambda x: x[::2].copy_(x[:5]),
    "copy complex": lambda x: torch.view_as_complex(x.view(5, 2))[::2].copy_(torch.view_as_complex(x.view(5, 2))[:3]),
    "assign": lambda x: x.__setitem__(slice(1, None), x[:-1]),
    "out": lambda x: torch.add(x[:-1], 1, out=x[1:]),
    "out itself": lambda x: torch.mul(x, 2, out=x),
    "expanded": lambda x: x[:1].expand(4).add_(1),
    "expanded copy": lambda x: x[:1].expand(4).copy_(x[4:8]),
    "expanded fill": lambda x: x[:1].expand(4).fill_(3),
    "expanded out": lambda x: torch.exp(x[:4], out=x[8:9].expand(4)),
    "shapes": lambda x: x.int().add_(x[:4]),
    "dtypes": lambda x: x.int().add_(x),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_writes_over_an_argument(name):
    """As on the CPU, whose errors are PyTorch's: calls that Python plans,
    those that the core makes from what it remembers, and values that are still to come."""
    f = OVERLAPS[name]
    ahead = torch.arange(20.0, device="webgpu")
    ahead[:10].add_(ahead[10:])  # the core knows it from here on
    for pending in (False, True):
        x, g = torch.arange(10.0), torch.arange(10.0).to("webgpu")
        if pending:
            x, g = x + 1, g + 1
        assert outcome(f, g)[1] == outcome(f, x)[1]
        same(g, x)


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.uint8, torch.bool, torch.int16, torch.float32, torch.int64], ids=str
)
def test_resized(dtype):
    """Sizes whose bytes are no multiple of 4 too."""
    for n in (1, 2, 3, 5, 7, 8):
        for m in (1, 2, 3, 5, 6, 9):
            c = (torch.arange(n) % 2).to(dtype)
            g = c.to("webgpu").resize_(m)
            assert g.shape == (m,)
            same(g[:n], c[:m])
            g.fill_(1)  # all of it is there
            same(g, torch.ones(m, dtype=dtype))
    out = torch.ones(3, dtype=dtype, device="webgpu")
    with pytest.warns(UserWarning, match="was resized"):
        torch.logical_not(torch.zeros(5, device="webgpu"), out=out)
    same(out, torch.ones(5, dtype=dtype))


def test_long_chains_and_many_inputs():
    c = torch.randn(5, 7)
    z, zc = c.to("webgpu"), c
    for _ in range(60):
        z, zc = (z * 1.01 + 0.1).tanh(), (zc * 1.01 + 0.1).tanh()
    same(z, zc, rtol=1e-4, atol=1e-5)
    many = [torch.randn(7) for _ in range(20)]
    total, wanted = torch.zeros(5, 7, device="webgpu"), torch.zeros(5, 7)
    for m in many:
        total, wanted = total + m.to("webgpu") * c.to("webgpu"), wanted + m * c
    same(total, wanted, rtol=1e-5, atol=1e-5)


def test_random_programs():
    """Expressions, views, writes and reads in random order agree with the CPU."""
    for seed in range(25):
        rng = random.Random(seed)
        torch.manual_seed(seed)
        cpu = [torch.randn(4, 6) for _ in range(3)]
        gpu = [t.to("webgpu") for t in cpu]
        for _ in range(25):
            i, j, k = (rng.randrange(3) for _ in range(3))
            step = rng.randrange(9)
            lo, hi = sorted((rng.randrange(4), rng.randrange(1, 5)))
            for ts in (cpu, gpu):
                if step == 0:
                    ts[i] = ts[j] * 0.5 + ts[k]
                elif step == 1:
                    ts[i].mul_(0.5).add_(ts[j])
                elif step == 2:
                    ts[i][lo:hi] = ts[j][lo:hi] - 1
                elif step == 3:
                    ts[i] = ts[i].t().contiguous().reshape(4, 6)
                elif step == 4:
                    ts[i][:, lo] += ts[j][:, hi]
                elif step == 5:
                    ts[i] = torch.where(ts[j] > 0, ts[i], ts[k]).clamp(-3, 3)
                elif step == 6:
                    ts[i].copy_(ts[j])
                elif step == 7:
                    ts[i] = ts[j].reshape(6, 4).t().tanh() + ts[k]
                else:
                    ts[i][lo, hi].fill_(0.25)
            assert gpu[i].stride() == cpu[i].stride()
            if step == 8 and rng.random() < 0.5:
                same(gpu[i], cpu[i], rtol=1e-4, atol=1e-5)
        for a, b in zip(gpu, cpu):
            same(a, b, rtol=1e-4, atol=1e-5)


def test_ways_to_read_a_tensor():
    x = torch.arange(10, device="webgpu")
    x[2:5] = 7
    assert (
        x[3].item() == 7
        and bool(x[0] == 0)
        and x.tolist() == [0, 1, 7, 7, 7, 5, 6, 7, 8, 9]
        and int(x[-1]) == 9
        and f"{x[1]}" == "1"
    )
    assert repr(x[:3]) == "tensor([0, 1, 7], device='webgpu:0')"
    assert torch.tensor([True, False], device="webgpu").tolist() == [True, False]
    big = torch.arange(300_001, dtype=torch.int64)
    assert torch.equal(big.to("webgpu").cpu(), big)
    odd = torch.arange(7, dtype=torch.uint8).to("webgpu")
    assert odd[1:4].tolist() == [1, 2, 3] and odd[3:].cpu().tolist() == [3, 4, 5, 6] and odd[5].item() == 5


def test_devices():
    g = torch.ones(5, 7, device="webgpu")
    with torch.device("webgpu"):
        assert (
            torch.ones(2).is_cpu is False
            and torch.tensor([1.0]).device.type == "webgpu"
            and torch.nn.Linear(2, 3).weight.device.type == "webgpu"
        )
        assert torch.ones(2, device="cpu").is_cpu
    assert torch.ones(2).is_cpu
    torch.set_default_device("webgpu")
    try:
        assert torch.zeros(2).device == torch.device("webgpu:0") and torch.randn(3).device.type == "webgpu"
    finally:
        torch.set_default_device(None)
    assert (
        torch.zeros(1).is_cpu
        and torch.zeros_like(g).device == g.device
        and g.new_zeros(2).device == g.device
        and g.new_zeros(2, device="cpu").is_cpu
    )
    assert g.to("webgpu") is g and g.to(torch.device("webgpu", 0)) is g and g.cpu().is_cpu and g.to(g.cpu()).is_cpu
    same(g + torch.tensor(2.0), torch.full((5, 7), 3.0))  # a 0-dim CPU tensor goes with any device
    for make, kind, text in [
        (lambda: torch.zeros(2, dtype=torch.float64, device="webgpu"), TypeError, "doesn't support float64"),
        (lambda: g.double(), TypeError, "doesn't support float64"),
        (lambda: torch.ones(2, dtype=torch.float64).to("webgpu"), TypeError, "doesn't support float64"),
        (
            lambda: g + torch.ones(7),
            RuntimeError,
            "Expected all tensors to be on the same device, but found at least two devices, webgpu:0 and cpu!",
        ),
        (lambda: g.numpy(), TypeError, "Use Tensor.cpu() to copy the tensor to host memory first."),
        (lambda: torch.zeros(1, device="webgpu:1"), RuntimeError, "webgpu:1 does not exist"),
        (
            lambda: g + torch.ones(3, device="webgpu"),
            RuntimeError,
            "The size of tensor a (7) must match the size of tensor b (3)",
        ),
        (
            lambda: memoryview(
                g.untyped_storage()._untyped_storage if hasattr(g.untyped_storage(), "_untyped_storage") else g._storage
            ),
            BufferError,
            "cpu()",
        ),
    ]:
        with pytest.raises(kind) as error:
            make()
        assert text in str(error.value)


def test_modules_copies_and_files():
    torch.manual_seed(0)
    cpu = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    gpu = copy.deepcopy(cpu).to("webgpu")
    assert all(p.device.type == "webgpu" and p.is_leaf and p.requires_grad for p in gpu.parameters())
    twin = copy.deepcopy(gpu)
    x = torch.randn(5, 3)
    for m in (gpu, twin):
        same(m(x.to("webgpu")).detach(), cpu(x).detach(), rtol=1e-5, atol=1e-6)
    file = io.BytesIO()
    torch.save(gpu.state_dict(), file)
    file.seek(0)
    assert torch.load(file)["0.weight"].device.type == "webgpu"
    file.seek(0)
    loaded = torch.load(file, map_location="cpu")
    assert loaded["0.weight"].is_cpu and torch.equal(loaded["2.bias"], cpu.state_dict()["2.bias"])
    back = gpu.cpu()
    assert all(p.is_cpu for p in back.parameters())


def test_gradients_cross_devices():
    a = torch.randn(4, requires_grad=True)
    (a.to("webgpu") * 3).sin().sum().cpu().backward()
    b = a.detach().clone().requires_grad_()
    (b * 3).sin().sum().backward()
    assert a.grad.is_cpu
    torch.testing.assert_close(a.grad, b.grad)
    p = torch.nn.Parameter(torch.ones(3, device="webgpu"))
    (p * 2).exp().sum().backward()
    assert p.grad.device == p.device
    same(p.grad, torch.full((3,), 2 * 7.389056), rtol=1e-5, atol=1e-5)


def test_same_random_numbers():
    for make in (
        lambda d: torch.rand(5, device=d),
        lambda d: torch.randn(3, 3, device=d),
        lambda d: torch.randint(0, 9, (7,), device=d),
        lambda d: torch.randperm(11, device=d),
        lambda d: torch.empty(4, device=d).uniform_(-1, 1),
        lambda d: torch.rand_like(torch.ones(3, device=d)),
        lambda d: torch.nn.functional.dropout(torch.ones(20, device=d), 0.5),
        lambda d: torch.nn.init.kaiming_uniform_(torch.empty(4, 5, device=d)),
    ):
        torch.manual_seed(7)
        wanted = make("cpu")
        torch.manual_seed(7)
        same(make("webgpu"), wanted, rtol=0, atol=0)


def test_fallback_is_said_once():
    from torchlite.webgpu import fallback

    x = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
    g = x.to("webgpu")
    fallback.fallbacks.pop("_linalg_eig", None)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(2):
            same(torch.linalg.eigvals(g), torch.linalg.eigvals(x), rtol=1e-5, atol=1e-5)
    texts = [str(w.message) for w in seen]
    assert len(texts) == 1 and "aten::_linalg_eig" in texts[0] and seen[0].filename == __file__
    assert fallback.fallbacks["_linalg_eig"] == 2
    fallback.strict = True
    try:
        with pytest.raises(
            NotImplementedError, match="aten::_linalg_eig.*not currently implemented for the webgpu device"
        ):
            torch.linalg.eigvals(g)
    finally:
        fallback.strict = False


def test_memory_is_given_back(bridge):
    import gc

    gc.collect()
    torch.zeros(1, device="webgpu").item()
    before = bridge.stats()["slots"]
    for _ in range(3):
        x = torch.randn(1000, device="webgpu")
        y = (x * 2).relu()
        z = y + y.t()
        z.sum().item()
    del x, y, z
    gc.collect()
    torch.zeros(1, device="webgpu").item()
    assert bridge.stats()["slots"] <= before + 1


def test_cuda_as_another_name():
    assert not torch.cuda.is_available() and torch.cuda.device_count() == 0
    torch.webgpu.use_as_cuda()
    try:
        assert (
            torch.cuda.is_available()
            and torch.device("cuda").type == "webgpu"
            and torch.device("cuda:0") == torch.device("webgpu:0")
        )
        x = torch.ones(3).cuda()
        assert x.is_cuda and x.device.type == "webgpu" and torch.zeros(2, device="cuda").device == x.device
        assert torch.nn.Linear(2, 2).to("cuda").weight.is_cuda
        torch.cuda.synchronize()
        assert torch.cuda.memory_allocated() > 0 and torch.cuda.get_device_name(0)
        with pytest.raises(NotImplementedError, match="one queue"):
            torch.cuda.Stream()
    finally:
        torch.webgpu.use_as_cuda(False)
    assert not torch.cuda.is_available() and not torch.ones(2, device="webgpu").is_cuda
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        torch.ones(2, device="cuda")


def test_numbers_of_one_kind_are_not_taken_for_each_other():
    """The same op with other numbers of the same type, one after the other."""
    c = torch.randn(6) * 10
    g = c.to("webgpu")
    for alpha in (1.0, 2.5, 1, 3):
        same(torch.add(g, g, alpha=alpha), torch.add(c, c, alpha=alpha), rtol=1e-6, atol=1e-6)
        same(torch.rsub(g, g * 2, alpha=alpha), torch.rsub(c, c * 2, alpha=alpha), rtol=1e-6, atol=1e-6)
    for decimals in (0, 3, 1):
        same(torch.round(g, decimals=decimals), torch.round(c, decimals=decimals), rtol=1e-6, atol=1e-6)
    for alpha, scale, input_scale in ((2, 1, 3), (3, 1, 2), (2, 2, 3), (1.5, 2.0, 1.0), (1.0, 1.0, 1.0)):
        same(
            torch.ops.aten.elu(g, alpha, scale, input_scale),
            torch.ops.aten.elu(c, alpha, scale, input_scale),
            rtol=1e-5,
            atol=1e-5,
        )
    for low, high in ((1, 1), (2, 5), (None, 3), (-1.5, None)):
        same(g.clamp(low, high), c.clamp(low, high))
    for approximate in ("none", "tanh"):
        same(
            torch.nn.functional.gelu(g, approximate=approximate),
            torch.nn.functional.gelu(c, approximate=approximate),
            rtol=1e-5,
            atol=1e-5,
        )
