"""complex64 on the webgpu device: every op gives the CPU's results without the CPU."""

import pytest
import torchlite as torch
from test_elementwise import check

pytestmark = pytest.mark.usefixtures("bridge")

FUNCTIONS = """square reciprocal sgn exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sinh cosh tanh sin cos tan asin
    acos acosh asinh atanh atan sigmoid sinc neg conj_physical abs angle isnan isinf isfinite logical_not""".split()
BINARY = "add sub mul div pow eq ne logical_and logical_or logical_xor".split()
GRID = [complex(a, b) for a in (0.0, 1.5, -2.0, 0.25, -0.75, 3.0) for b in (0.0, 1.0, -0.5, -2.5)]


def values(*shape):
    torch.manual_seed(0)
    return torch.randn(*shape, dtype=torch.complex64) * 2


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    f = getattr(torch, name)
    x = torch.cat([values(20), torch.tensor(GRID[1:])])  # the logarithms' gradients at 0 are not numbers
    if name in ("asin", "acos", "acosh", "asinh", "atan", "atanh"):
        x = values(20)  # off their branch points
    check(f, x)
    check(f, values(3, 4).t())
    check(lambda x: f(x[:, 1:3]), values(3, 4))
    if name not in ("isnan", "isinf", "isfinite", "logical_not"):
        check(f, values(5).requires_grad_())


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    f = getattr(torch, name)
    x, y = values(2, 3), torch.tensor([[1 + 2j, -0.5 + 0.25j, 2 - 1j]])
    check(f, x, y)
    check(f, x, torch.tensor([1.0, 2.0, -3.0]))
    check(f, torch.tensor([1.0, 2.0, -3.0]), x)
    check(f, x, torch.tensor([1, 2, -3]))
    check(f, x, torch.tensor(2 - 1j))
    if not name.startswith("logical"):
        check(lambda x: f(x, 2.5), x)
        check(lambda x: f(x, 2 - 1j), x)
        check(lambda x: f(x, 2 - 1j), x.real.contiguous())
    if name not in ("eq", "ne") and not name.startswith("logical"):
        check(f, x.requires_grad_(), y.requires_grad_())


def test_infinities():
    """What is no number and what is infinite, where they have an answer."""
    inf, nan = float("inf"), float("nan")
    x = torch.tensor(
        [complex(inf, 1), complex(-inf, 1), complex(1, inf), complex(nan, 0), complex(0, nan), complex(-inf, inf)]
    )
    for name in ("exp", "abs", "sqrt", "angle", "isnan", "isinf", "isfinite", "neg", "conj_physical", "log"):
        check(getattr(torch, name), x)
    check(lambda x: torch.nan_to_num(x), x)
    check(lambda x: x * 2, x)


def test_others():
    x, y, z = values(4, 3), values(4, 3) + 1, values(3)
    check(lambda x, y: torch.add(x, y, alpha=2), x, y)
    check(lambda x, y: torch.add(x, y, alpha=2j), x, y)
    check(lambda x: 3j - x, x)
    check(lambda x, y, z: torch.addcmul(x, y, z, value=0.5), x, y, z)
    check(lambda x, y, z: torch.addcmul(x, y, z, value=0.5j), x, y, z)
    check(lambda x, y, z: torch.addcdiv(x, z, y, value=0.5), x, y, z)
    for weight in (0.3, 0.7, 0.2j):
        check(lambda x, y, w=weight: torch.lerp(x, y, w), x, y)
    check(torch.lerp, x, y, z)
    check(lambda x, y: torch.where(x.real > 0, x, y), x.requires_grad_(), y.requires_grad_())
    check(lambda x: torch.where(x != 1, x, 2.0), x.detach())
    check(torch.logaddexp, x.detach(), y.detach())
    check(torch.polar, x.detach().abs(), x.detach().angle())
    check(torch.complex, x.detach().abs(), x.detach().angle())
    check(lambda x, y: ((x + y) * x - y).abs(), x, y)
    check(lambda x: torch.view_as_real(x * 2j), x)
    check(lambda x: (x * 1j).real + (x * x).imag, x)
    check(lambda x: x.to(torch.complex64) * 1j, x.real.detach())
    check(lambda x: x * x + 1, x.detach()[:0])
    check(lambda x: x * x + 1, x.detach()[1, 1])


@pytest.mark.parametrize("dim", [None, 0, 1, (0, 2)])
def test_reductions(dim):
    x = values(5, 4, 3)
    over = () if dim is None else (dim,)
    check(lambda x: x.sum(*over), x.requires_grad_())
    check(lambda x: x.mean(*over), x)
    if type(dim) is not tuple:
        check(lambda x: (x * 0.6).prod(*over), x.detach())
    if type(dim) is int:
        check(lambda x: x.cumsum(dim), x)
        check(lambda x: (x * 0.6).cumprod(dim), x.detach())


def test_writes():
    def f(x, y):
        x = x.clone()
        x += y
        x *= y
        x[1:3] *= 2j
        x.mul_(x)
        x.t()[0].neg_()
        return x

    check(f, values(4, 4), values(4, 4))
    with pytest.raises(RuntimeError, match="result type ComplexFloat can't be cast to the desired output type Float"):
        torch.ones(2, device="webgpu").mul_(2j)


def test_training():
    """A small complex least squares problem is solved as on the CPU."""
    a, b = values(8, 3), values(8)

    def run(a, b):
        w = torch.zeros(3, dtype=torch.complex64, device=a.device, requires_grad=True)
        for _ in range(5):
            loss = ((a @ w - b).abs() ** 2).mean()
            (grad,) = torch.autograd.grad(loss, w)
            w = (w - 0.05 * grad).detach().requires_grad_()
        return w.detach()

    check(run, a, b)


def _writes(z):
    """The memory after each of these writes to views of its conjugates and negatives."""

    def on(data, **kwargs):
        return torch.tensor(data, device=z.device, **kwargs)

    c, seen = z.conj(), []
    for write in (
        lambda: c.mul_(2j),
        lambda: c.__setitem__((0, 0), 5 + 6j),
        lambda: c.__setitem__(1, on([1j, 2j])),
        lambda: c.imag.mul_(3),
        lambda: c.fill_(1 + 2j),
        lambda: c.imag.fill_(7),
        lambda: c.copy_(on([[1 + 2j, -3 - 4j], [2 + 3j, 7 - 1j]]).mH),
        lambda: c.masked_fill_(c.real > 1, 9j),
        lambda: c.__setitem__(c.imag > 8, 4j),
        lambda: c.__setitem__(on([0]), on([1 + 1j])),
        lambda: c.exp_(),
        lambda: torch.add(z, 1j, out=c),
        lambda: c.index_add_(0, on([0]), on([[1j, 2j]])),
        lambda: z.copy_(z.conj()),
        lambda: z.copy_((z * 2).conj()),
        lambda: c.copy_(torch.ones(2, 2, dtype=torch.complex64) * 3j),
        lambda: c.zero_(),
    ):
        write()
        seen += [z.clone().cpu(), c.cpu().resolve_conj(), c.imag.cpu().resolve_neg(), (z @ z.mH).cpu()]
    return seen


def test_views_of_conjugates():
    start = torch.tensor([[1 + 2j, -3 - 4j], [2 + 3j, 7 - 1j]])
    for got, want in zip(_writes(start.to("webgpu")), _writes(start.clone())):
        torch.testing.assert_close(got, want)
    x = start.to("webgpu")
    assert (
        x.conj().is_conj()
        and x.conj().imag.is_neg()
        and x.conj().tolist() == start.conj().tolist()
        and x.mH[0, 1].item() == 2 - 3j
    )
    n = torch.arange(4, device="webgpu")._neg_view()
    assert (n + 1).tolist() == [1, 0, -1, -2] and n.add_(1).tolist() == [1, 0, -1, -2]


def test_gradients_through_views_of_conjugates():
    def run(device):
        a = torch.tensor([1 + 2j, 3 - 1j], device=device, requires_grad=True)
        b = a * 1
        b.conj().mul_(a)
        b.conj().imag.mul_(a.real)
        (b * b.conj()).real.sum().backward()
        return a.grad.cpu()

    torch.testing.assert_close(run("webgpu"), run("cpu"))
