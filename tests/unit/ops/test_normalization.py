"""Softmax, normalisation layers and losses against PyTorch:
values, gradients, second gradients, running statistics, errors."""

import random
import warnings

import pytest

torch = pytest.importorskip("torch")
import torchlite as tl
from reduction_cases import FLOATS, compare, make, ours, same

warnings.simplefilter("ignore")


def check(f, *inputs, scale=5, second=True):
    """Values and first (and second) gradients of f(module, *inputs) with regard to the floating inputs."""
    theirs = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    mine = [ours(x).requires_grad_() if x.is_floating_point() else ours(x) for x in inputs]
    y, z = f(torch, *theirs), f(tl, *mine)
    same(z, y, scale)
    if not y.numel():
        return
    at = [i for i, x in enumerate(inputs) if x.is_floating_point()]
    g = torch.randn(y.shape, dtype=torch.float64).to(y.dtype)
    first = torch.autograd.grad(y, [theirs[i] for i in at], g, create_graph=second, allow_unused=True)
    got = tl.autograd.grad(z, [mine[i] for i in at], ours(g), create_graph=second, allow_unused=True)
    same([v for v in got if v is not None], [v for v in first if v is not None], scale * 2)
    if second:
        h = [torch.randn(v.shape, dtype=v.dtype) for v in first if v is not None]
        total = sum((v * w).sum() for v, w in zip([v for v in first if v is not None], h))
        other = sum((v * ours(w)).sum() for v, w in zip([v for v in got if v is not None], h))
        if total.grad_fn is not None:
            want = torch.autograd.grad(total, [theirs[i] for i in at], allow_unused=True)
            again = tl.autograd.grad(other, [mine[i] for i in at], allow_unused=True)
            for v, w in zip(again, want):
                if w is not None and bool((w != 0).any()):
                    same(v, w, scale * 20)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name, dtype):
    rng = random.Random(name + dtype)
    for shape in ((5,), (3, 4), (2, 7, 3), (4, 300), (300, 4), (), (0, 3)):
        x = torch.nan_to_num(make(rng, dtype, shape), 0, 1, -1)
        d = rng.randrange(-max(x.dim(), 1), max(x.dim(), 1))
        check(lambda m, a: getattr(m, name)(a, d), x, second=dtype == "float64")
    x = torch.tensor([[float("-inf"), 1.0, 200.0], [float("-inf")] * 3, [0.0, -200.0, float("nan")]])
    compare(lambda m, a: getattr(m, name)(a, 1), x)
    compare(lambda m: getattr(m, name)(m.ones(2, 3, dtype=m.int64), 1))
    compare(lambda m: getattr(m, name)(m.ones(2, 3, dtype=m.int64), 1, dtype=m.float64))
    compare(lambda m: getattr(m, name)(m.ones(2, 3), 2))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_log_softmax_of_short_floats_has_pytorchs_bits(dtype):
    torch.manual_seed(0)
    for shape, dim in (((50, 3), 1), ((9, 100), -1), ((6,), 0), ((2, 3, 33), 2), ((5, 9), 0), ((5, 9, 1), 1)):
        x = (torch.randn(shape) * 2).to(dtype)
        assert tl.log_softmax(ours(x), dim).tolist() == torch.log_softmax(x, dim).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_layer_norms(dtype):
    dt = getattr(torch, dtype)
    torch.manual_seed(0)
    for shape, k in (((3, 4), 1), ((2, 5, 7), 2), ((6, 33), 1), ((2, 3, 4, 5), 3), ((0, 4), 1)):
        x = torch.randn(shape).to(dt)
        w, b = torch.randn(shape[-k:]).to(dt), torch.randn(shape[-k:]).to(dt)
        second = dtype == "float64"
        check(lambda m, a, v, u: m.nn.functional.layer_norm(a, shape[-k:], v, u), x, w, b, second=second)
        check(lambda m, a: m.nn.functional.layer_norm(a, shape[-k:], eps=1e-3), x, second=second)
        if dtype != "bfloat16":
            check(lambda m, a, v: m.nn.functional.rms_norm(a, shape[-k:], v), x, w, second=second)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(training, dtype):
    dt = getattr(torch, dtype)
    torch.manual_seed(0)
    for shape in ((4, 3), (5, 16), (2, 3, 7), (4, 8, 5, 5), (2, 3, 2, 2, 2)):
        x, c = torch.randn(shape, dtype=dt), shape[1]
        if len(shape) == 4:
            x = x.to(memory_format=torch.channels_last)
        w, b = torch.randn(c, dtype=dt), torch.randn(c, dtype=dt)
        mean, var = torch.randn(c, dtype=dt), torch.rand(c, dtype=dt) + 0.5
        held = {}

        def f(m, a, v, u):
            rm, rv = (mean.clone(), var.clone()) if m is torch else (ours(mean), ours(var))
            held[m] = (rm, rv)
            return m.nn.functional.batch_norm(a, rm, rv, v, u, training)

        check(f, x, w, b, second=dtype == "float64")
        same(held[tl], held[torch])
        if training:
            check(lambda m, a: m.nn.functional.batch_norm(a, None, None, training=True), x, second=False)


def test_two_passes_before_backward():
    bn = tl.nn.BatchNorm1d(3)
    x = tl.ones(4, 3).cumsum(0).requires_grad_()
    (bn(x) * bn(x * 2)).sum().backward()
    assert x.grad is not None and bn.num_batches_tracked.item() == 2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_group_and_instance_norm(dtype):
    dt = getattr(torch, dtype)
    torch.manual_seed(0)
    for shape, groups in (((4, 6, 3), 2), ((2, 8, 5, 5), 4), ((3, 4, 2), 1)):
        x = torch.randn(shape, dtype=dt)
        w, b = torch.randn(shape[1], dtype=dt), torch.randn(shape[1], dtype=dt)
        check(
            lambda m, a, v, u: m.nn.functional.group_norm(a, groups, v, u), x, w, b, scale=20, second=dtype == "float64"
        )
        check(lambda m, a, v, u: m.nn.functional.instance_norm(a, None, None, v, u), x, w, b, scale=20, second=False)


ERRORS = [
    lambda m, F: F.layer_norm(m.ones(2, 3), (2,)),
    lambda m, F: F.layer_norm(m.ones(2, 3), ()),
    lambda m, F: F.layer_norm(m.ones(2, 3), (3,), m.ones(2)),
    lambda m, F: F.rms_norm(m.ones(2, 3), (2,)),
    lambda m, F: F.batch_norm(m.ones(2, 3), m.zeros(2), m.zeros(3)),
    lambda m, F: F.batch_norm(m.ones(2, 3), None, None),
    lambda m, F: F.batch_norm(m.ones(2, 3), m.zeros(3), m.zeros(3), m.ones(2)),
    lambda m, F: F.batch_norm(m.ones(1, 3), None, None, training=True),
    lambda m, F: F.group_norm(m.ones(2, 3), 2),
    lambda m, F: F.instance_norm(m.ones(2, 3, 1)),
    lambda m, F: F.nll_loss(m.ones(2, 3), m.tensor([0, 5])),
    lambda m, F: F.nll_loss(m.ones(2, 3), m.tensor([0, -1])),
    lambda m, F: F.nll_loss(m.ones(2, 3), m.tensor([0, 1, 2])),
    lambda m, F: F.nll_loss(m.ones(2, 3), m.tensor([0.0, 1.0])),
    lambda m, F: F.nll_loss(m.ones(2, 3), m.tensor([0, 1]), m.ones(2)),
    lambda m, F: F.cross_entropy(m.ones(2, 3), m.tensor([0, 5])),
    lambda m, F: F.mse_loss(m.ones(2, 3), m.ones(2, 3), reduction="foo"),
    lambda m, F: F.mse_loss(m.ones(2, dtype=m.int64), m.ones(2, dtype=m.int64)),
    lambda m, F: F.smooth_l1_loss(m.ones(2), m.ones(2), beta=-1),
    lambda m, F: F.huber_loss(m.ones(2), m.ones(2), delta=0),
    lambda m, F: F.binary_cross_entropy(m.tensor([0.5, 1.5]), m.ones(2)),
    lambda m, F: F.binary_cross_entropy(m.ones(2), m.ones(3)),
    lambda m, F: F.binary_cross_entropy_with_logits(m.ones(2), m.ones(3)),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case):
    compare(lambda m: ERRORS[case](m, m.nn.functional))


LOSSES = {
    "mse_loss": {},
    "l1_loss": {},
    "smooth_l1_loss": {"beta": 0.5},
    "huber_loss": {"delta": 0.7},
    "kl_div": {"log_target": True},
    "poisson_nll_loss": {"full": False},
}


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", LOSSES)
def test_pair_losses(name, reduction):
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.float64):
        x, y = torch.randn(4, 33, dtype=dtype), torch.randn(4, 33, dtype=dtype)
        check(
            lambda m, a, b: getattr(m.nn.functional, name)(a, b, reduction=reduction, **LOSSES[name]),
            x,
            y,
            second=dtype == torch.float64,
        )


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_probability_losses(reduction):
    torch.manual_seed(0)
    x, t = torch.randn(4, 5, dtype=torch.float64), torch.rand(4, 5, dtype=torch.float64)
    w = torch.rand(5, dtype=torch.float64)
    check(lambda m, a, b: m.nn.functional.binary_cross_entropy(a.sigmoid(), b, reduction=reduction), x, t)
    check(lambda m, a, b: m.nn.functional.binary_cross_entropy_with_logits(a, b, reduction=reduction), x, t)
    check(
        lambda m, a, b: m.nn.functional.binary_cross_entropy_with_logits(
            a, b, ours(w) if m is tl else w, pos_weight=ours(w) if m is tl else w, reduction=reduction
        ),
        x,
        t,
    )
    for shape in ((4, 5), (2, 5, 3), (2, 5, 3, 4), (5,)):
        z = torch.randn(shape, dtype=torch.float64)
        y = torch.randint(0, 5, shape[:1] + shape[2:] if len(shape) > 1 else ())
        if y.numel() > 3:
            y.view(-1)[1] = -100
        for weight in (None, w):
            for smoothing in (0.0, 0.1):
                check(
                    lambda m, a, b: m.nn.functional.cross_entropy(
                        a, b, ours(weight) if m is tl else weight, reduction=reduction, label_smoothing=smoothing
                    ),
                    z,
                    y,
                )
    p = torch.softmax(torch.randn(4, 5, dtype=torch.float64), 1)
    check(lambda m, a, b: m.nn.functional.cross_entropy(a, b, reduction=reduction), x, p)


def test_margin_and_sequence_losses():
    torch.manual_seed(0)
    a, b, c = (torch.randn(4, 6, dtype=torch.float64) for _ in range(3))
    y = torch.tensor([1, -1, 1, -1])
    i = torch.tensor([0, 5, 2, 3])
    check(lambda m, p, q, t: m.nn.functional.cosine_embedding_loss(p, q, t, 0.1), a, b, y, second=False)
    check(
        lambda m, p, q: m.nn.functional.margin_ranking_loss(p[:, 0], q[:, 0], ours(y) if m is tl else y, 0.3),
        a,
        b,
        second=False,
    )
    check(lambda m, p: m.nn.functional.soft_margin_loss(p[:, 0], ours(y) if m is tl else y), a)
    check(lambda m, p: m.nn.functional.hinge_embedding_loss(p[:, 0], ours(y) if m is tl else y), a, second=False)
    check(lambda m, p, q, r: m.nn.functional.triplet_margin_loss(p, q, r, swap=True), a, b, c, second=False)
    check(lambda m, p, t: m.nn.functional.multi_margin_loss(p, t, p=2), a, i, second=False)
    labels = torch.tensor([[3, 0, -1, 1, 2, 4], [1, -1, 0, 0, 0, 0], [-1] * 6, [0, 1, 2, 3, 4, 5]])
    check(lambda m, p, t: m.nn.functional.multilabel_margin_loss(p, t), a, labels, second=False)
    logits = torch.randn(12, 3, 5, dtype=torch.float64)
    targets, lengths = torch.randint(1, 5, (3, 4)), [4, 2, 3]
    for reduction in ("none", "mean", "sum"):
        check(
            lambda m, p, t: m.nn.functional.ctc_loss(p.log_softmax(2), t, [12, 10, 9], lengths, reduction=reduction),
            logits,
            targets,
            second=False,
        )


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_cross_map_response(size):
    """PyTorch's own gradient, which leaves out what its running sum keeps too long."""
    torch.manual_seed(size)
    for channels in (1, 3, 7):
        check(lambda m, x: m.nn.CrossMapLRN2d(size, 0.3, 0.75, 2)(x), torch.randn(2, channels, 3, 3), second=False)


def test_linear_cross_entropy_errors():
    for x, w, y in (((2, 3), (4, 2), (2,)), ((2, 3), (3,), (2,)), ((2, 5, 3), (4, 3), (2,)), ((2, 3), (4, 3), (3,))):
        texts = []
        for lib in (torch, tl):
            with pytest.raises(Exception) as error:
                lib.nn.functional.linear_cross_entropy(lib.zeros(x), lib.zeros(w), lib.zeros(y, dtype=lib.int64))
            texts.append((type(error.value).__name__, str(error.value)))
        assert texts[0] == texts[1]


ARGUMENTS = (  # grad_out, input, mean, rstd, weight: shape and dtype of each; those of native_group_norm_backward
    ((2, 4, 2), "float32"),
    ((2, 4, 3), "float64"),
    ((2, 1), "float32"),
    ((2, 2), "float64"),
    ((2, 2), "float16"),
    ((3,), "float32"),
    ((4,), "float64"),
)
RIGHT = [((2, 4, 3), "float32")] * 2 + [((2, 2), "float32")] * 2 + [((4,), "float32")]


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("at", range(5))
@pytest.mark.parametrize("wrong", ARGUMENTS)
def test_native_group_norm_backward_looks_at_its_arguments(at, wrong, half):
    def call(m):
        kinds = [(shape, "float16" if half and i < 2 else dtype) for i, (shape, dtype) in enumerate(RIGHT)]
        kinds[at] = wrong
        tensors = [m.ones(shape, dtype=getattr(m, dtype)) for shape, dtype in kinds]
        try:
            found = m.ops.aten.native_group_norm_backward(*tensors, 2, 4, 3, 2, [True] * 3)
            return [str(t.dtype) for t in found]
        except Exception as e:
            return type(e).__name__, str(e)

    assert call(tl) == call(torch)


@pytest.mark.parametrize("n, c, area", [(1, 4, 3), (2, 4, 4), (2, 8, 3)])
@pytest.mark.parametrize("weight, bias", [(None, None), (None, 3), (3, None), (4, 3), (4, 4), (8, 8)])
def test_native_group_norm_looks_at_its_arguments(weight, bias, n, c, area):
    def call(m):
        w, b = (None if size is None else m.ones(size) for size in (weight, bias))
        try:
            return m.native_group_norm(m.ones(2, 4, 3), w, b, n, c, area, 2, 1e-5)[0].tolist()
        except Exception as e:
            return type(e).__name__, str(e)

    assert call(tl) == call(torch)


@pytest.mark.parametrize("n", [*range(1, 20), 29, 255, 257, 259, 260, 511, 1001])
def test_softmax_of_rows_of_any_length(n):
    torch.manual_seed(0)
    x = torch.randn(6, n) * 10
    x[3, -1], x[4, -1], x[5, -1] = float("nan"), float("inf"), float("-inf")
    for name in ("softmax", "log_softmax"):
        got, want = getattr(tl, name)(tl.from_numpy(x.numpy()), 1), getattr(torch, name)(x, 1)
        torch.testing.assert_close(torch.from_numpy(got.numpy()), want, rtol=1e-5, atol=1e-5, equal_nan=True)
