"""Element-wise ops beyond the plain rows: numbers that choose the operation, several results."""

import pytest
import torchlite as torch
from torchlite.webgpu import fallback

pytestmark = pytest.mark.usefixtures("bridge")

FLOATS = [torch.float32, torch.float16, torch.bfloat16]
LINE = [
    0.0,
    -0.0,
    0.1,
    0.5,
    0.25,
    1.0,
    -2.5,
    3.7,
    2.0,
    12.345,
    1234.567,
    -0.35,
    float("inf"),
    -float("inf"),
    float("nan"),
    1e-3,
    55.5,
]
POLYNOMIALS = """chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w
    shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
    shifted_chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l
    legendre_polynomial_p""".split()


def tolerance(dtype):
    return {torch.float32: 2e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}.get(dtype, 2e-5)


def check(f, *args):
    """f on the device gives the CPU's results, types and gradients, and no op of it is run by the CPU."""
    before = dict(fallback.fallbacks)
    on_cpu = [a.detach().clone().requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) else a for a in args]
    there = [
        a.detach().to("webgpu").requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) else a for a in args
    ]
    wanted, ours = f(*on_cpu), f(*there)
    for w, o in zip(wanted if isinstance(wanted, tuple) else (wanted,), ours if isinstance(ours, tuple) else (ours,)):
        assert o.device.type == "webgpu" and o.dtype is w.dtype and o.shape == w.shape
        t = tolerance(w.dtype)
        torch.testing.assert_close(o.detach().cpu(), w.detach(), rtol=t, atol=t, equal_nan=True)
    first_wanted, first = (wanted[0], ours[0]) if isinstance(wanted, tuple) else (wanted, ours)
    if first_wanted.requires_grad:
        g = torch.randn(first_wanted.shape, dtype=first_wanted.dtype)
        first_wanted.backward(g)
        first.backward(g.to("webgpu"))
        for a, b in zip(on_cpu, there):
            if isinstance(a, torch.Tensor) and a.requires_grad:
                t = 4 * tolerance(a.dtype)
                torch.testing.assert_close(b.grad.cpu(), a.grad, rtol=t, atol=t, equal_nan=True)
    assert fallback.fallbacks == before


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_numbers_choose(dtype):
    """round by its decimals, logit by eps, div by its rounding, polygamma by its order: the number's value,
    not its type, decides."""
    x = torch.tensor(LINE, dtype=dtype)
    for decimals in (0, 2, 0, 3, -2, 1):
        check(lambda x, d=decimals: torch.round(x, decimals=d), x)
    for eps in (None, 0.1, 0.0, -1.0, 0.2):
        check(lambda x, e=eps: torch.logit(x, e), x)
    for mode in (None, "trunc", "floor"):
        check(lambda x, m=mode: torch.div(x, 0.75, rounding_mode=m), x)
    for n in (0, 1, 2, 3):
        check(lambda x, n=n: torch.polygamma(n, x), x[:-5])


def test_rounding_of_integers():
    x, y = torch.tensor([7, -7, 8, -9, 0]), torch.tensor([2, 2, -3, 5, 7])
    for dtype in (torch.int64, torch.int32, torch.int8):
        for mode in (None, "trunc", "floor"):
            check(lambda x, y, m=mode: torch.div(x, y, rounding_mode=m), x.to(dtype), y.to(dtype))
    with pytest.raises(RuntimeError, match="div expected rounding_mode to be one of None, 'trunc', or 'floor'"):
        torch.div(x.to("webgpu"), 2, rounding_mode="down")
    with pytest.raises(NotImplementedError, match="round_cpu"):
        torch.round(x.to("webgpu"), decimals=1)
    with pytest.raises(RuntimeError, match="does not support negative n"):
        torch.polygamma(-1, torch.ones(2, device="webgpu"))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_nan_counts_as_on_the_cpu(dtype):
    """Where comparisons choose a value, NaN gets the one that the CPU chooses."""
    x, y = torch.tensor(LINE, dtype=dtype), torch.full((len(LINE),), 2.0, dtype=dtype)
    check(torch.heaviside, x, y)
    check(torch._C._nn.hardswish_backward, y, x)


@pytest.mark.parametrize("dtype", FLOATS[1:], ids=str)
def test_division_of_halves_rounds_each_step(dtype):
    """A quotient that becomes an integer when it is rounded is that integer; a divisor of one element is a number."""
    a = (torch.arange(1.0, 2000) / 7).to(dtype)
    b = -a.flip(0) / 90
    for f in (
        lambda a, b: torch.div(a, b, rounding_mode="trunc"),
        lambda a, b: a // b,
        lambda a, b: a.clone().div_(b, rounding_mode="floor"),
        lambda a, b: torch.div(a, b[:1], rounding_mode="trunc"),
        lambda a, b: torch.div(a, 0.1, rounding_mode="trunc"),
        lambda a, b: a // b[5:6],
    ):
        want, got = f(a, b), f(a.to("webgpu"), b.to("webgpu"))
        assert got.device.type == "webgpu" and got.dtype == dtype
        # WGSL's division may err by 2.5 ulp of float32
        assert (got.cpu() != want).float().mean() < 0.002


def test_gradients():
    x = torch.rand(3, 4) * 0.9 + 0.05
    check(lambda x: torch.logit(x, 0.2), x.requires_grad_())
    check(lambda x: torch.logit(x), x)
    check(lambda x: torch.digamma(x + 1), x)
    check(lambda x: torch.frexp(x * 9), x)
    check(lambda x: torch.round(x * 9, decimals=1), x)
    check(lambda x: torch.div(x * 9, 2, rounding_mode="floor"), x)
    check(lambda x: torch.polygamma(2, x), x)
    check(lambda x: torch.remainder(x * 9, 0.7), x)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_frexp(dtype):
    check(lambda x: tuple(torch.frexp(x)), torch.tensor(LINE, dtype=dtype))
    check(lambda x: tuple(torch.frexp(x.t())), torch.randn(3, 4).to(dtype))
    with pytest.raises(RuntimeError, match="only supports floating-point dtypes"):
        torch.frexp(torch.ones(2, dtype=torch.int64, device="webgpu"))


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name):
    f = getattr(torch.special, name)
    x = torch.tensor([0.0, 0.1, 0.5, -0.25, 1.0, -1.0, -0.7, 0.9, 0.05, -0.35])
    for n in (0, 1, 2, 5, 9):
        check(lambda x, n=n: f(x, n), x)
    check(f, x.reshape(2, 5), torch.tensor([-1, 0, 2, 3, 9]))
    check(lambda n: f(0.3, n), torch.arange(6))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8], ids=str)
def test_activations_of_integers(dtype):
    f = torch.nn.functional
    x = torch.arange(-40, 40).to(dtype)
    check(torch.relu, x)
    check(f.relu6, x)
    check(lambda x: f.hardtanh(x, -3, 2), x)
    check(lambda x: f.threshold(x, 1, 2), x)
    if dtype is torch.int64:
        check(torch.relu, torch.tensor([2**40, -(2**40), 2**31, -(2**31), 0]))


def test_columns_of_truth_values():
    f = torch.nn.functional
    x = torch.arange(2 * 3 * 4 * 4).reshape(2, 3, 4, 4) % 3 == 0
    check(lambda x: f.unfold(x, (2, 2)), x)
    check(lambda x: f.fold(x, (4, 4), (2, 2)), f.unfold(x, (2, 2)))


@pytest.mark.parametrize(
    "divide",
    [
        lambda x, z: x // z,
        lambda x, z: x % z,
        lambda x, z: torch.fmod(x, z),
        lambda x, z: torch.div(x, z, rounding_mode="trunc"),
        lambda x, z: x.clone().remainder_(z),
    ],
)
def test_integer_division_by_a_known_zero(divide):
    """An error as on the CPU where the divisor is a number, or came from there; nothing where nothing is divided."""
    x, none = torch.tensor([7, -7, 0]).to("webgpu"), torch.zeros(0, dtype=torch.int64, device="webgpu")
    for zero in (0, torch.zeros(3, dtype=torch.int64).to("webgpu"), torch.tensor(0).to("webgpu")):
        for _ in range(2):
            with pytest.raises(RuntimeError, match="^ZeroDivisionError$"):
                divide(x, zero)
    assert divide(none, 0).numel() == 0
    assert divide(x.float(), 0).shape == (3,)


def test_logit_backward_at_zero():
    """Infinite with the gradient's sign, whatever the sign of the zero, as in PyTorch."""
    for device in ("cpu", "webgpu"):
        x, g = torch.tensor([0.0, -0.0]).to(device), torch.tensor([2.0, 2.0]).to(device)
        for eps in (None, 0.0):
            assert torch.ops.aten.logit_backward(g, x, eps).tolist() == [torch.inf] * 2
            assert torch.ops.aten.logit_backward(-g, x, eps).tolist() == [-torch.inf] * 2


def test_nothing_cancels_in_a_fused_expression():
    """A shader compiler would make x of x * x / x, and 1 of x / x: what overflows or is NaN shows."""
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, 3e38, 1e-30, 2.5, -7.0])
    for f in (lambda x: x / x, lambda x: x - x, lambda x: x == x, lambda x: torch.where(x >= x, 1.0, 0.0)):
        check(f, x)
    check(lambda x: (x * 1) / x, x)
    check(lambda x: x * x / x, x)
    check(lambda x: (x - x) + x, x)
    check(lambda x: (x + 1e8) - x, x)
    check(lambda x: ((x * x / x) * 2).sum(), x[3:])
    check(lambda x: (x * x / x).view(2, 4) @ torch.ones(4, 2, device=x.device), x)
    check(
        lambda x: torch.relu(torch.ones(8, 1, device=x.device) @ x.view(1, 8)) * 1e38 * 10 / x,
        x[torch.arange(8) % 2 * 5 + 2],
    )
