"""Random numbers: PyTorch's own, draw for draw. The goldens need no PyTorch;
where it is there, more is compared live."""

import json
import math
import pathlib

import pytest

import torchlite
from torchlite import random as _random

GOLDENS = json.loads((pathlib.Path(__file__).parents[2] / "goldens" / "random.json").read_text())


def numbers(t):
    if t.is_complex():
        t = torchlite.view_as_real(t)
    return t.flatten().tolist()


def close(a, b, ulps):
    return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= ulps * math.ulp(max(abs(a), abs(b)))


@pytest.mark.parametrize(
    "seed, text, dtype, shape, values", GOLDENS["cases"], ids=[f"{c[1][6:]}-{c[0]}" for c in GOLDENS["cases"]]
)
def test_golden(seed, text, dtype, shape, values):
    torchlite.manual_seed(seed)
    t = eval(text, {"torch": torchlite})
    assert str(t.dtype) == "torch." + dtype and list(t.shape) == shape
    got = numbers(t)
    want = [float.fromhex(v) if isinstance(v, str) else v for v in values]
    if dtype == "float64":
        # transforms in double go through the platform's libm
        assert all(close(a, b, 8) for a, b in zip(got, want))
    elif "orthogonal" in text:
        assert got == pytest.approx(want, rel=1e-5)
    elif any(word in text for word in ("init", "Linear", "alpha_dropout", "rrelu")):
        assert got == pytest.approx(want, rel=1e-6, abs=1e-9)
    else:
        assert got == want


def test_state_layout():
    torchlite.manual_seed(7)
    torchlite.randn(3)
    torchlite.rand(700)
    state = torchlite.get_rng_state()
    assert state.dtype == torchlite.uint8 and bytes(state.tolist()).hex() == GOLDENS["state"]
    want = [float.fromhex(v) for v in GOLDENS["after_state"]]
    assert torchlite.randn(5).tolist() == want
    torchlite.set_rng_state(state)
    assert torchlite.randn(5).tolist() == want


@pytest.mark.parametrize("wrong", [{1: 2}, object(), "a", 3, [torchlite.Generator()]])
def test_what_is_no_generator(wrong):
    x = torchlite.ones(2)
    for name, call in {
        "normal_": lambda: x.normal_(generator=wrong),
        "random_": lambda: x.random_(-4294967295, None, generator=wrong),
        "bernoulli": lambda: torchlite.bernoulli(x, generator=wrong),
        "randint_like": lambda: torchlite.randint_like(x, 2**60, generator=wrong),
    }.items():
        with pytest.raises(TypeError, match=rf"{name}\(\)(:| received an invalid)"):
            call()
    assert x.tolist() == [1, 1]


def test_generator():
    g = torchlite.Generator()
    assert g.initial_seed() == 67280421310721 and str(g.device) == "cpu"
    assert g.manual_seed(3) is g and g.initial_seed() == 3
    a = torchlite.rand(4, generator=g)
    torchlite.manual_seed(3)
    assert torchlite.equal(a, torchlite.rand(4))
    assert g.manual_seed(-1).initial_seed() == 2**64 - 1
    h = g.clone_state()
    assert torchlite.equal(torchlite.randn(3, generator=g), torchlite.randn(3, generator=h))
    assert g.seed() == g.initial_seed()
    for bad in ("a", 1.5):
        with pytest.raises(RuntimeError, match="manual_seed expected a long, but got"):
            g.manual_seed(bad)
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        g.manual_seed(2**64)
    with pytest.raises(TypeError, match="RNG state must be a torch.ByteTensor"):
        g.set_state(torchlite.zeros(5))
    with pytest.raises(RuntimeError, match="of size 5056 but found the input RNG state size to be 5"):
        g.set_state(torchlite.zeros(5, dtype=torchlite.uint8))


def test_generator_without_a_device():
    assert torchlite.Generator(device=None).device == torchlite.Generator(None).device == torchlite.device("cpu")


def test_pickle_and_fork():
    import pickle

    g = torchlite.Generator().manual_seed(5)
    torchlite.randn(3, generator=g)
    h = pickle.loads(pickle.dumps(g))
    assert torchlite.equal(torchlite.randn(4, generator=g), torchlite.randn(4, generator=h))
    torchlite.manual_seed(1)
    want = torchlite.rand(3)
    torchlite.manual_seed(1)
    with _random.fork_rng():
        torchlite.rand(10)
    assert torchlite.equal(torchlite.rand(3), want)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(7,), (3, 7), (5, 100), (2, 1000), (1, 5000)])
def test_multinomial_as_in_pytorch(shape, dtype):
    """Among equal ratios, those of weight 0, too."""
    pytorch = pytest.importorskip("torch")
    x = pytorch.rand(shape).to(getattr(pytorch, dtype))
    x[..., 0], x[..., 3:5] = 0, 0
    mine, n = torchlite.tensor(x.double().tolist(), dtype=getattr(torchlite, dtype)), shape[-1]
    for m in (1, 2, 5, n // 70 + 1, n // 2, n):
        for replacement in (False, True):
            pytorch.manual_seed(m)
            torchlite.manual_seed(m)
            want = pytorch.multinomial(x, m, replacement)
            assert torchlite.multinomial(mine, m, replacement).tolist() == want.tolist()


@pytest.mark.parametrize(
    "text, kind, words",
    [
        (
            "torch.zeros(3).uniform_(5, 3)",
            RuntimeError,
            "uniform_ expects to return a [from, to) range, but found from=5 > to=3",
        ),
        ("torch.zeros(3).normal_(0, -1)", RuntimeError, "normal expects std >= 0.0, but found std -1"),
        ("torch.zeros(3).bernoulli_(2)", RuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=2"),
        (
            "torch.zeros(3).long().uniform_()",
            NotImplementedError,
            "\"check_uniform_bounds\" not implemented for 'Long'",
        ),
        ("torch.zeros(3).exponential_(-1)", RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=-1"),
        (
            "torch.zeros(3).random_(5, 3)",
            RuntimeError,
            "random_ expects 'from' to be less than 'to', but got from=5 >= to=3",
        ),
        ("torch.zeros(3).byte().random_(0, 300)", RuntimeError, "to - 1 is out of bounds for unsigned char"),
        (
            "torch.multinomial(torch.ones(3), 4)",
            RuntimeError,
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
        ),
        (
            "torch.multinomial(torch.zeros(3) - 1, 1)",
            RuntimeError,
            "probability tensor contains either `inf`, `nan` or element < 0",
        ),
        (
            "torch.nn.functional.dropout(torch.zeros(3), 2)",
            ValueError,
            "dropout probability has to be between 0 and 1, but got 2",
        ),
        ("torch.rand(-1)", RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
        ("torch.zeros(1, 3).expand(3, 3).normal_()", RuntimeError, "unsupported operation: more than one element"),
    ],
)
def test_errors(text, kind, words):
    with pytest.raises(kind) as e:
        eval(text, {"torch": torchlite})
    assert words in str(e.value)


def test_inplace_is_recorded():
    w = torchlite.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        w.uniform_()
    y = w * 2
    y.uniform_()
    y.sum().backward()
    assert w.grad.tolist() == [0, 0, 0]
    x = torchlite.zeros(2, 3)
    version = x._version
    x.normal_()
    assert x._version == version + 1


def test_dropout():
    x = torchlite.ones(1000, requires_grad=True)
    torchlite.manual_seed(0)
    y = torchlite.nn.functional.dropout(x, 0.25)
    y.sum().backward()
    assert torchlite.equal(x.grad, y.detach()) and set(y.tolist()) == {0.0, torchlite.tensor(1 / 0.75).item()}
    assert torchlite.nn.functional.dropout(x, 0.25, training=False) is x
    assert not torchlite.nn.functional.dropout(x, 1.0).any()
    z = torchlite.ones(4)
    assert torchlite.nn.functional.dropout(z, 0.5, inplace=True) is z
    d = torchlite.nn.functional.dropout2d(torchlite.ones(50, 4, 3, 3)).flatten(2)
    assert bool((d == d[..., :1]).all())


# ---- against PyTorch itself ------------------------------------------------------------------------------------------
def live(text, torch, seed):
    out = []
    for m in (torch, torchlite):
        m.manual_seed(seed)
        t = eval(text, {"torch": m})
        out.append(((m.view_as_real(t) if t.is_complex() else t).tolist(), m.get_rng_state().tolist()))
    assert out[0] == out[1], (text, seed)


@pytest.mark.parametrize("seed", [0, 1, 42, 2**40 + 7])
def test_every_size(seed):
    torch = pytest.importorskip("torch")
    for n in list(range(1, 201)) + [625, 1001]:
        for call in (
            f"torch.rand({n})",
            f"torch.randn({n})",
            f"torch.randn({n}, dtype=torch.float64)",
            f"torch.randperm({n})",
            f"torch.randint(0, 1000, ({n},))",
            f"torch.empty({n}).normal_(0.3, 1.7)",
            f"torch.randn({n}, dtype=torch.float16)",
            f"torch.empty({n}, dtype=torch.bfloat16).uniform_(-1, 2)",
            f"torch.empty({n}).bernoulli_(0.3)",
            f"torch.empty({n}).exponential_()",
        ):
            live(call, torch, seed)


def test_layouts():
    torch = pytest.importorskip("torch")
    for e in (
        "torch.empty(2, 3, 4, 5).permute(0, 2, 3, 1)",
        "torch.empty(4, 1, 5).transpose(0, 1)",
        "torch.empty(3, 4, 5)[:, 1:, ::2]",
        "torch.empty(2, 3, 4, 5, memory_format=torch.channels_last)",
    ):
        for f in (
            ".normal_()",
            ".uniform_()",
            ".bernoulli_(0.4)",
            ".random_(1000)",
            ".bernoulli_(torch.full((1,), 0.5))",
        ):
            live(e + f, torch, 5)


DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64".split()
BOUNDS = "() (5) (0) (-3,3) (2,1) (300,400) (-200,10) (70000,80000) (0,None) (-40000,None) (2**24+5,None) (-2**63,None)"


@pytest.mark.parametrize("bounds", [*BOUNDS.split(), "(5,2**60)", "(2048,None)", "(-2**60,2**62)", "(3,2050)"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_ranges_of_random(dtype, bounds):
    """Which bounds a dtype allows, with which error or warning; the numbers."""
    from alike import alike

    alike(f"torch.manual_seed(3); torch.zeros(7, dtype=torch.{dtype}).random_({bounds[1:-1]})")


@pytest.mark.parametrize("call", ["cauchy_(0, 1)", "exponential_(1)", "geometric_(0.5)", "uniform_(0, 1e39)"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_of_distributions(dtype, call):
    from alike import alike

    alike(f"torch.manual_seed(3); torch.zeros(7, dtype=torch.{dtype}).{call}")
