"""Products on several threads: the same bits as on one, whatever the shape; the settings; forks and interrupts."""

import os
import signal
import subprocess
import sys
import threading

import pytest
import torchlite as torch

F = torch.nn.functional
HOST = sys.platform != "emscripten" and os.name != "nt"


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch._C.set_threads(before)


@pytest.fixture(autouse=True, scope="module")
def workers():
    """Those of a page start once, with the first product."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    product()
    yield
    torch.set_num_threads(before)


def results(fn):
    """Of one thread, and of two and five."""
    out = []
    for n in (1, 2, 5):
        torch._C.set_threads(n)
        got = fn()
        out.append([t for t in (got if isinstance(got, tuple) else (got,)) if t is not None])
    return out


def check(fn):
    one, two, five = results(fn)
    assert all(torch.equal(a, b) for a, b in zip(one, two))
    assert all(torch.equal(a, b) for a, b in zip(one, five))


def numbers(*shape, dtype=torch.float32):
    if not dtype.is_floating_point and not dtype.is_complex:
        return torch.randint(-99, 99, shape, dtype=dtype)
    return torch.randn(shape, dtype=torch.complex64 if dtype.is_complex else torch.float32).to(dtype)


# (m, n, k): packed by columns, by rows, odd; long dot products; one row, few rows, few columns; very deep
SIZES = [(300, 290, 70), (900, 60, 90), (61, 963, 91), (3, 2100, 700), (1, 3100, 1700), (7, 1500, 600), (1700, 1, 1900)]


def test_a_part_of_one_column():
    a, b = torch.randn(1, 400001, dtype=torch.float64), torch.randn(5, 400001, dtype=torch.float64)
    check(lambda: a @ b.t())


@pytest.mark.parametrize("size", [*SIZES, (37, 41, 9001)], ids=str)
def test_products(size):
    torch.manual_seed(0)
    m, n, k = size
    a, b = numbers(m, k), numbers(k, n)
    for x in (a, a.t().contiguous().t()):
        for y in (b, b.t().contiguous().t()):
            check(lambda x=x, y=y: x @ y)
    check(lambda: F.linear(a, b.t(), numbers(n) * 0 + 1))
    c = numbers(m, n)
    check(lambda: torch.addmm(c, a, b))
    check(lambda: torch.addmm(c, a, b, beta=0.5, alpha=2))


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.int8, torch.float16, torch.complex64], ids=str)
def test_dtypes(dtype):
    torch.manual_seed(1)
    a, b = numbers(210, 131, dtype=dtype), numbers(131, 150, dtype=dtype)
    check(lambda: a @ b)
    check(lambda: numbers(3, 1, dtype=dtype) * 0 + (a[:3] @ b).sum(-1, keepdim=True))


@pytest.mark.parametrize("shape", [(8, 32, 40, 20), (3, 1, 190, 190), (2, 2, 130, 260)], ids=str)
def test_batches(shape):
    torch.manual_seed(2)
    a = numbers(*shape)
    b = numbers(*shape[:2], shape[3], shape[2])
    check(lambda: a @ b)
    check(lambda: a @ b[:, :1])
    check(lambda: a.transpose(0, 1) @ b.transpose(0, 1))
    check(lambda: a @ b.transpose(-1, -2).contiguous().transpose(-1, -2))


CONVOLUTIONS = [
    ((5, 16, 19, 19), (24, 16, 3, 3), {"padding": 1}),
    ((1, 3, 65, 67), (32, 3, 5, 5), {"stride": 2}),
    ((3, 32, 21, 21), (64, 16, 3, 3), {"groups": 2, "dilation": 2}),
    ((4, 64, 28, 28), (64, 64, 1, 1), {}),
    ((2, 8, 9, 12, 13), (16, 8, 3, 3, 3), {"padding": 1}),
    ((9, 20, 300), (40, 20, 5), {"stride": 3}),
]


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=lambda c: "x".join(map(str, c[0])))
@pytest.mark.parametrize("last", [False, True])
def test_convolutions(case, last):
    torch.manual_seed(3)
    shape, weight, options = case
    nd = len(shape) - 2
    if last and nd != 2:
        pytest.skip("the format is for images")
    form = torch.channels_last if last else torch.contiguous_format
    x, w, bias = numbers(*shape).to(memory_format=form), numbers(*weight).to(memory_format=form), numbers(weight[0])
    conv = getattr(F, f"conv{nd}d")
    check(lambda: conv(x, w, bias, **options))

    def gradients():
        leaves = [t.detach().requires_grad_() for t in (x, w, bias)]
        y = conv(*leaves, **options)
        return torch.autograd.grad(y, leaves, torch.linspace(-1, 1, y.numel()).view(y.shape))

    check(gradients)


def test_settings():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    assert torch.get_num_threads() == 3
    assert "at::get_num_threads() : 3" in torch.__config__.parallel_info()
    for n, error, text in (
        (0, RuntimeError, "set_num_threads expects a positive integer"),
        (1.5, RuntimeError, "set_num_threads expects an int, but got float"),
        (1 << 40, ValueError, "Overflow when unpacking long"),
    ):
        with pytest.raises(error, match=text):
            torch.set_num_threads(n)
    assert torch.get_num_threads() == 3
    torch.set_num_threads(before)


def product():
    a = torch.arange(400 * 400.0).view(400, 400) / 1e5
    return a @ a


@pytest.mark.skipif(not HOST, reason="needs POSIX threads")
class TestProcesses:
    def test_default(self):
        code = "import torchlite as torch; print(torch.get_num_threads())"

        def said(**env):
            env = {**{k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}, **env}
            return int(subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True).stdout)

        assert said(OMP_NUM_THREADS="3") == 3
        if hasattr(os, "sched_getaffinity"):
            assert said() == len(os.sched_getaffinity(0))

    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_a_forked_child_has_threads_of_its_own(self):
        torch.set_num_threads(2)
        want = product()
        child = os.fork()
        if not child:
            os._exit(0 if torch.equal(product(), want) and torch.equal(product(), want) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert torch.equal(product(), want)

    def test_an_interrupt_ends_all_parts(self):
        torch.set_num_threads(2)
        want, a = product(), torch.ones(3000, 3000)

        def interrupt(*_):
            assert torch.equal(product(), want)  # on one thread, as the others are busy
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            with pytest.raises(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                a @ a
        finally:
            signal.signal(signal.SIGALRM, before)
        assert torch.equal(product(), want)

    def test_threads_of_python(self):
        torch.set_num_threads(2)
        want, right = product(), []
        pool = [threading.Thread(target=lambda: right.append(torch.equal(product(), want))) for _ in range(8)]
        for t in pool:
            t.start()
        for t in pool:
            t.join()
        assert right == [True] * 8
