"""First and second gradients where functions have kinks, poles, ties and underflow, against PyTorch."""

import math

import pytest
import torchlite
from against_torch import check, torch

INF, NAN = math.inf, math.nan
LINE = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1e-30, -1e-30, 2.0, -2.0]
FAR = [INF, -INF, 0.0, 1.0, -1.0, 30.0, -30.0]


def grid(a, b):
    """Every pair."""
    return [[x for x in a for _ in b], [y for _ in a for y in b]]


UNARY = {
    "sinc": (lambda m, x: m.sinc(x), [0.0, -0.0, 0.5, 1.0, -1.5]),
    "acosh": (lambda m, x: m.acosh(x), [1.0, -1.0, -2.0, -INF, INF, 3.0]),
    "sqrt": (lambda m, x: m.sqrt(x), [0.0, 1.0, -1.0, INF]),
    "rsqrt": (lambda m, x: m.rsqrt(x), [0.0, 1.0, -1.0, INF]),
    "log": (lambda m, x: m.log(x), [0.0, 1.0, INF]),
    "acos": (lambda m, x: m.acos(x), [1.0, -1.0, 0.0, 2.0]),
    "asin": (lambda m, x: m.asin(x), [1.0, -1.0, 0.0, 2.0]),
    "abs": (lambda m, x: m.abs(x), LINE),
    "x**0": (lambda m, x: x**0, LINE),
    "x**1": (lambda m, x: x**1, LINE),
    "x**0.5": (lambda m, x: x**0.5, [0.0, 1.0, 4.0]),
    "elu": (lambda m, x: m.nn.functional.elu(x, 1.3), LINE + FAR),
    "selu": (lambda m, x: m.selu(x), LINE + FAR),
    "celu": (lambda m, x: m.celu(x, 0.7), LINE + FAR),
    "softplus": (lambda m, x: m.nn.functional.softplus(x, 2, 1), LINE + FAR),
    "hardtanh": (lambda m, x: m.nn.functional.hardtanh(x), LINE + FAR),
    "relu6": (lambda m, x: m.nn.functional.relu6(x), [0.0, 6.0, 3.0, 7.0]),
    "leaky_relu": (lambda m, x: m.nn.functional.leaky_relu(x), LINE),
    "hardswish": (lambda m, x: m.nn.functional.hardswish(x), [0.0, 2.9, -2.9, 4.0]),
    "logsigmoid": (lambda m, x: m.nn.functional.logsigmoid(x), LINE + [30.0, -30.0]),
    "sigmoid": (lambda m, x: m.sigmoid(x), LINE + FAR),
    "clamp": (lambda m, x: m.clamp(x, -0.5, 0.5), LINE),
    "entr": (lambda m, x: m.special.entr(x), [0.0, 1.0, 0.5, -1.0]),
    "nan_to_num": (lambda m, x: m.nan_to_num(x), [NAN, INF, -INF, 1.0]),
    "i1": (lambda m, x: m.special.i1(x), LINE),
    "i1e": (lambda m, x: m.special.i1e(x), LINE),
    "digamma": (lambda m, x: m.digamma(x), [1.0, -1e-20, 1e-20, -0.5]),
    "max": (lambda m, x: x.max(), [1.0, 2.0, 2.0]),
    "amax": (lambda m, x: m.amax(x, 0), [2.0, 1.0, 2.0]),
    "min": (lambda m, x: x.min(0)[0], [1.0, 1.0, 2.0]),
    "median": (lambda m, x: x.median(), [1.0, 1.0, 2.0, 1.0]),
    "logsumexp": (lambda m, x: m.logsumexp(x, 0), [-INF, 1.0]),
    "prod": (lambda m, x: x.prod(), [0.0, 2.0, 3.0]),
    "prod of two zeros": (lambda m, x: x.prod(0), [0.0, 2.0, 0.0]),
    "prod of one": (lambda m, x: x.reshape(()).prod(), [INF]),
    "cumprod": (lambda m, x: x.cumprod(0), [2.0, 0.0, 3.0, 0.0]),
    "std": (lambda m, x: x.std(0, correction=0), [1.0, 1.0, 1.0]),
    "std of one": (lambda m, x: x.std(), [1.0]),
    "normalize": (lambda m, x: m.nn.functional.normalize(x, dim=0), [0.0, 0.0]),
    "safe softmax": (lambda m, x: m._safe_softmax(x, 0), [-INF, -INF]),
    "renorm": (lambda m, x: x.reshape(2, 2).renorm(2, 0, 1.0), [0.0, 0.0, 3.0, 4.0]),
    **{
        f"norm {p}": (lambda m, x, p=p: m.linalg.vector_norm(x, p), [3.0, 0.0, -4.0])
        for p in (0, 1, 1.5, 2, 3, INF, -INF)
    },
    **{
        f"norm {p} of zeros": (lambda m, x, p=p: m.linalg.vector_norm(x, p), [0.0, 0.0])
        for p in (0, 0.5, 1, 1.5, 2, 3, INF, -INF)
    },
}


@pytest.mark.parametrize("name", UNARY)
def test_one_argument(name):
    fn, values = UNARY[name]
    for dtype in (torch.float64, torch.float32):
        check(fn, torch.tensor(values, dtype=dtype), second=True)


SIDES = [0.0, 1.0, -1.0, 0.5, 2.0]
BINARY = {
    "xlogy": (lambda m, x, y: m.xlogy(x, y), SIDES, [0.5, 1.0, 0.0, 2.0]),
    "xlog1py": (lambda m, x, y: m.special.xlog1py(x, y), SIDES, [0.5, -1.0, 0.0]),
    "atan2": (lambda m, x, y: m.atan2(x, y), SIDES, [0.0, -0.0, 1.0]),
    "hypot": (lambda m, x, y: m.hypot(x, y), SIDES, [0.0, 3.0]),
    "pow": (lambda m, x, y: m.pow(x, y), [0.0, 1.0, 2.0], [0.0, 1.0, 2.0, -1.0]),
    "copysign": (lambda m, x, y: m.copysign(x, y), SIDES, [0.0, -0.0, 1.0]),
    "float_power": (lambda m, x, y: m.float_power(x, y), [0.0, 1.0], [0.0, 1.0]),
    "maximum": (lambda m, x, y: m.maximum(x, y), SIDES, SIDES),
    "fmod": (lambda m, x, y: m.fmod(x, y), SIDES, [1.0, 0.5]),
    "logaddexp": (lambda m, x, y: m.logaddexp(x, y), SIDES, [0.0, 40.0, -40.0]),
    "prelu": (
        lambda m, x, y: sum(m.prelu(a, b) for a, b in zip(x.unbind(), y.unbind())),
        [0.0, 1.0, -1.0, INF, -INF],
        [0.0, 0.25, INF],
    ),
    "polar": (lambda m, x, y: m.polar(x, y), SIDES, [0.0, 1.0]),
    "huber": (lambda m, x, y: m.nn.functional.huber_loss(x, y), [*SIDES, INF, NAN], [0.0, 1.0, INF, NAN]),
    "smooth_l1": (
        lambda m, x, y: m.nn.functional.smooth_l1_loss(x, y, reduction="none"),
        [*SIDES, NAN],
        [0.0, 1.0, INF, NAN],
    ),
    "soft margin": (lambda m, x, y: m.nn.functional.soft_margin_loss(x, y.detach()), SIDES, [1.0, -1.0]),
    "bce": (lambda m, x, y: m.nn.functional.binary_cross_entropy(x, y), [0.0, 0.5, 1.0], [0.0, 0.5, 1.0]),
    "bce of logits": (
        lambda m, x, y: m.nn.functional.binary_cross_entropy_with_logits(x, y, pos_weight=m.tensor(1.7, dtype=x.dtype)),
        SIDES,
        [0.0, 1.0],
    ),
    "kl_div": (lambda m, x, y: m.nn.functional.kl_div(x, y, reduction="sum"), SIDES, [0.0, 1.0, 0.5]),
    "gaussian_nll": (lambda m, x, y: m.nn.functional.gaussian_nll_loss(x, y.detach() * 0, y), SIDES, [0.0, 1.0, 1e-7]),
    "cosine_similarity": (lambda m, x, y: m.cosine_similarity(x.reshape(5, 2), y.reshape(5, 2)), SIDES, [0.0, 1e-9]),
}


@pytest.mark.parametrize("name", BINARY)
def test_two_arguments(name):
    fn, a, b = BINARY[name]
    for dtype in (torch.float64, torch.float32):
        x, y = grid(a, b)
        check(fn, torch.tensor(x, dtype=dtype), torch.tensor(y, dtype=dtype), second=True)


@pytest.mark.parametrize("p", [0.5, 1.0, 1.5, 2.0, 3.0, INF])
def test_equal_points(p):
    """The distance of a point to itself has gradient 0. PyTorch has no second gradient."""
    x = torch.tensor([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]], dtype=torch.float64)
    check(lambda m, x: m.pdist(x, p), x)
    check(lambda m, x, y: m.cdist(x, y, p), x, x.clone())


def test_underflow():
    """Squares and powers of small float32 are 0; the gradient is as at 0, not NaN."""
    tiny = torch.tensor([1e-40, 2e-40, 0.0, 1e-30])
    check(lambda m, x: m.sinc(x), tiny)
    check(lambda m, x: m.atan2(x, x.flip(0)), tiny)
    check(lambda m, x: m.linalg.vector_norm(x[:2], 3), tiny)


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3)], ids=str)
def test_variances(name, dtype, shape):
    """Every dim and correction, with no element left over as well; 0-dim tensors take a dim, too."""
    x = torch.tensor([1.0, 2.5, 4.0, 2.0, 2.0, 2.0][: math.prod(shape)], dtype=dtype).reshape(shape)
    for dim in (None, 0, -1):
        for correction in (0, 1, 2, 3, 1.5):
            check(lambda m, x: getattr(m, name)(x, dim, correction=correction, keepdim=True), x, second=True)


def test_every_target_ignored():
    target = torch.tensor([-100, -100])
    for reduction in ("sum", "none", "mean"):
        for name in ("cross_entropy", "nll_loss"):
            x = torch.zeros(2, 3, dtype=torch.float64)
            check(lambda m, x, t: getattr(m.nn.functional, name)(x * x, t, reduction=reduction), x, target, second=True)


J = 1j
MIXED = {
    "linear": lambda m, a: m.nn.functional.linear(m.eye(2, dtype=a.dtype), a) * J,
    "mm": lambda m, a: a.mm(a) * J,
    "mv": lambda m, a: a.mv(a[0]) * J,
    "bmm": lambda m, a: m.bmm(a[None], a[None]) * J,
    "conv1d": lambda m, a: m.nn.functional.conv1d(a[None], a[:, :, None]) * J,
    "relu": lambda m, a: J * m.relu(a),
    "gelu": lambda m, a: m.nn.functional.gelu(a) / J,
    "softmax": lambda m, a: a.softmax(0) + J,
    "inv": lambda m, a: J - m.linalg.inv(a),
    "norm": lambda m, a: a.norm() * J,
    "add": lambda m, a: a + J,
    "sub": lambda m, a: a - J,
    "rsub": lambda m, a: J - a,
    "div": lambda m, a: J / a,
    "pow": lambda m, a: (a.abs() + 1) ** (1 + J),
    "rpow": lambda m, a: (1 + J) ** a,
    "sgn": lambda m, a: (a * J + 1).sgn(),
    "div mode": lambda m, a: m.div(a, 2j, rounding_mode=None),
    "float_power": lambda m, a: m.float_power(a.abs(), J),
    "mul complex": lambda m, a: a * m.tensor(J, dtype=m.complex128),
    "addcmul": lambda m, a: m.addcmul(a * J, a, a, value=2j),
    "cat": lambda m, a: m.cat([a, a * J]),
    "stack": lambda m, a: m.stack([a, a * J]),
    "cat of dtypes": lambda m, a: m.cat([a.float(), a.half(), a]),
    "conj": lambda m, a: (a * J).conj().real + (a * J).imag,
}


@pytest.mark.parametrize("name", MIXED)
def test_real_tensors_in_complex_results(name):
    """The gradient of a real tensor is real, first and second, whatever came after it."""
    x = torch.tensor([[0.5, -1.25], [2.0, 0.75]], dtype=torch.float64)
    check(lambda m, a: MIXED[name](m, a * 1).abs().square(), x, second=True)


def test_complex_alpha_is_refused():
    for lib in (torch, torchlite):
        with pytest.raises(
            RuntimeError, match="For non-complex input tensors, argument alpha must not be a complex number."
        ):
            lib.add(lib.ones(2, requires_grad=True), 1.5, alpha=2j)


def test_gradient_of_complex_parts_at_an_odd_place():
    """Pairs that are read from one past the beginning of the memory are complex numbers all the same."""
    z = torchlite.ones(2, dtype=torchlite.complex128, requires_grad=True)
    g = torchlite.arange(5.0, dtype=torchlite.float64)[1:].reshape(2, 2)
    (grad,) = torchlite.autograd.grad(torchlite.view_as_real(z), z, g)
    assert grad.tolist() == [1 + 2j, 3 + 4j]


def test_gradient_of_the_product_of_one_zero():
    x = torchlite.zeros(1, 1, requires_grad=True)
    assert torchlite.autograd.grad(x.prod(), x)[0].tolist() == [[1.0]]


def test_tangent_of_parts_may_be_a_conjugate():
    fw = torchlite.autograd.forward_ad
    with fw.dual_level():
        z = fw.make_dual(torchlite.ones(2, dtype=torchlite.complex128), torchlite.tensor([1 + 2j, 3j]).conj())
        assert fw.unpack_dual(z.imag).tangent.tolist() == [-2.0, -3.0]


def test_gradient_of_the_cell_state_of_a_step():
    """c is part of h, so its gradient has what comes through h."""
    cells, found = (torch.nn.LSTMCell(3, 4).double(), torchlite.nn.LSTMCell(3, 4).double()), []
    cells[1].load_state_dict({k: torchlite.tensor(v.tolist()).double() for k, v in cells[0].state_dict().items()})
    for lib, cell in zip((torch, torchlite), cells):
        h, c = cell(lib.arange(6.0, dtype=lib.float64).reshape(2, 3))
        c.retain_grad()
        (h.sum() + 2 * c.sum()).backward()
        found.append(c.grad.flatten().tolist())
    assert found[1] == pytest.approx(found[0], rel=1e-6)
