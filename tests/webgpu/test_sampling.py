"""Samples of probabilities on the webgpu device are those that the CPU draws with the same seed,
and nothing is read for them."""

import pytest
import torchlite as torch
from torchlite.webgpu import fallback
from torchlite.webgpu.lazy import stream

pytestmark = pytest.mark.usefixtures("bridge")


def sampled(f, *tensors, seed=3):
    """f on the CPU and on the device with one seed; the state of the generator after it is the same."""
    before = dict(fallback.fallbacks)
    torch.manual_seed(seed)
    wanted, after = f(*tensors), torch.get_rng_state()
    torch.manual_seed(seed)
    ours = f(*[t.to("webgpu") for t in tensors])
    assert torch.equal(torch.get_rng_state(), after)
    assert ours.device.type == "webgpu" and ours.dtype is wanted.dtype and fallback.fallbacks == before
    assert torch.equal(ours.cpu(), wanted)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_multinomial(dtype):
    p = torch.rand(7, 40).to(dtype)
    p[:, 3] = 0
    sampled(lambda p: torch.multinomial(p, 1), p)
    sampled(lambda p: torch.multinomial(p, 1, True), p)
    sampled(lambda p: torch.multinomial(p, 1), p[2])
    sampled(lambda p: torch.multinomial(p[2:4], 1), p)
    sampled(lambda p: torch.multinomial(torch.softmax(p * 3, -1), 1), p.float())
    if dtype is torch.float32:
        sampled(lambda p: torch.multinomial(p, 5), p)
        sampled(lambda p: torch.multinomial(p, 40), p[1] + 1)
    g = torch.Generator().manual_seed(5)
    first = torch.multinomial(p.to("webgpu"), 1, generator=g).cpu()
    assert torch.equal(first, torch.multinomial(p, 1, generator=torch.Generator().manual_seed(5)))


def test_bernoulli():
    p = torch.rand(6, 50)
    sampled(lambda p: torch.bernoulli(p), p)
    sampled(lambda p: torch.bernoulli(p.to(torch.bfloat16)), p)
    sampled(lambda p: torch.empty(6, 50, device=p.device).bernoulli_(p[:1]), p)
    sampled(lambda p: torch.zeros(6, 50, dtype=torch.bool, device=p.device).bernoulli_(p), p)
    sampled(lambda p: torch.ones(6, 50, dtype=torch.int64, device=p.device).bernoulli_(p), (p > 0.5).float())
    sampled(lambda p: torch.nn.functional.alpha_dropout(p, 0.3, True), p)


LAYOUTS = {
    "permuted": lambda t: t.permute(2, 0, 1),
    "transposed": lambda t: t.transpose(0, 1),
    "steps": lambda t: t[:, ::2],
    "part": lambda t: t[:, 1:, 1:].transpose(0, 1),
    "one row": lambda t: t[:1].expand(2, 3, 8),
    "as it is": lambda t: t,
}
DRAWN = {
    **{name: lambda t, name=name: getattr(torch, name)(t) for name in ("rand_like", "randn_like", "bernoulli")},
    "randint_like": lambda t: torch.randint_like(t, 0, 50),
    **{
        name: lambda t, name=name: getattr(torch.nn.functional, name)(t, 0.4, True)
        for name in ("dropout", "alpha_dropout", "dropout1d")
    },
    "rrelu": lambda t: torch.nn.functional.rrelu(t - 0.5, training=True),
}
WRITTEN = {
    name: lambda t, name=name, args=args: getattr(t, name)(*args)
    for name, args in dict(
        normal_=(),
        uniform_=(),
        exponential_=(),
        geometric_=(0.4,),
        cauchy_=(),
        log_normal_=(),
        random_=(),
        bernoulli_=(0.4,),
    ).items()
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_numbers_are_drawn_in_the_order_of_memory(layout):
    """A seed gives the CPU's numbers and strides for tensors of any layout;
    what is written through a view is there in its base."""
    base = torch.rand(2, 3, 8, generator=torch.Generator().manual_seed(1))
    for name, draw in DRAWN.items():
        out = []
        for device in ("cpu", "webgpu"):
            torch.manual_seed(3)
            out.append(draw(LAYOUTS[layout](base.to(device))))
        assert out[0].stride() == out[1].stride(), name
        torch.testing.assert_close(out[1].cpu(), out[0], rtol=1e-6, atol=1e-6, msg=lambda m: f"{name}: {m}")
    for name, write in WRITTEN.items() if layout != "one row" else ():
        out = []
        for device in ("cpu", "webgpu"):
            torch.manual_seed(3)
            t = base.to(device, copy=True)
            write(LAYOUTS[layout](t))
            out.append(t)
        assert torch.equal(out[1].cpu(), out[0]), name


@pytest.mark.parametrize(
    "f, bad, text",
    [
        (
            lambda p: torch.multinomial(p, 1),
            [[0.5, -1.0]],
            "probability tensor contains either `inf`, `nan` or element < 0",
        ),
        (
            lambda p: torch.multinomial(p, 2),
            [0.5, float("nan")],
            "probability tensor contains either `inf`, `nan` or element < 0",
        ),
        (
            lambda p: torch.multinomial(p, 1),
            [float("inf"), 1.0],
            "probability tensor contains either `inf`, `nan` or element < 0",
        ),
        (lambda p: torch.multinomial(p, 1), [[1.0, 0.5], [0.0, 0.0]], "invalid multinomial distribution"),
        (lambda p: torch.bernoulli(p), [0.5, 1.5], "Expected p_in >= 0 && p_in <= 1"),
        (lambda p: torch.bernoulli(p), [0.5, float("nan")], "Expected p_in >= 0 && p_in <= 1"),
    ],
)
def test_what_is_no_probability(f, bad, text):
    """The CPU's error comes before a value that depends on it."""
    with pytest.raises(RuntimeError, match=text):
        f(torch.tensor(bad))
    with pytest.raises(RuntimeError, match=text):
        f(torch.tensor(bad, device="webgpu")).cpu()
    fine = torch.multinomial(torch.tensor([0.0, 1.0], device="webgpu"), 1)
    assert fine.item() == 1 and not stream.open_checks


def test_arguments():
    p = torch.rand(4, 5, device="webgpu")
    for args in ((p, 6), (p, 0), (p.long(), 1), (p[None], 1)):
        with pytest.raises(RuntimeError) as wanted:
            torch.multinomial(args[0].cpu(), args[1])
        with pytest.raises(RuntimeError) as ours:
            torch.multinomial(*args)
        assert str(ours.value) == str(wanted.value)
