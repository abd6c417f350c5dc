"""gradcheck and gradgradcheck: for each option a function that fails with it and passes without,
and PyTorch's texts."""

import warnings

import pytest
import torchlite as torch
from torchlite.autograd import Function, gradcheck, gradgradcheck
from torchlite.autograd._gradcheck import GradcheckError

FAST = pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])


def x(*shape, dtype=torch.float64):
    t = torch.linspace(0.2, 1.1, max(torch.Size(shape).numel(), 1), dtype=torch.float64).reshape(shape)
    return (torch.complex(t, t * t) if dtype.is_complex else t.to(dtype)).requires_grad_()


def function(forward, backward, materialize=True):
    """A Function of one tensor."""

    def run(ctx, a):
        ctx.set_materialize_grads(materialize)
        ctx.save_for_backward(a)
        return forward(a)

    made = type(
        "Made",
        (Function,),
        {"forward": staticmethod(run), "backward": staticmethod(lambda ctx, *g: backward(ctx.saved_tensors[0], *g))},
    )
    return made.apply


WRONG = function(lambda a: a * 2, lambda a, g: g * 3)


@FAST
def test_mismatch(fast):
    with pytest.raises(
        GradcheckError, match=r"(?s)Jacobian mismatch for output 0 with respect to input 0,\nnumerical:.*\nanalytical:"
    ):
        gradcheck(WRONG, x(3), fast_mode=fast)
    assert gradcheck(WRONG, x(3), fast_mode=fast, raise_exception=False) is False
    assert gradcheck(lambda a, b: (a * b, a.exp()), (x(3), x(3)), fast_mode=fast)
    with pytest.raises(GradcheckError, match="output 1 with respect to input 1"):
        gradcheck(lambda a, b: (a * b, WRONG(b)), (x(3), x(3)), fast_mode=fast)


@FAST
def test_tolerances(fast):
    assert gradcheck(WRONG, x(3), fast_mode=fast, atol=5.0)
    assert gradcheck(WRONG, x(3), fast_mode=fast, rtol=0.6)
    cube = function(lambda a: a**3, lambda a, g: g * (3 * a * a + 0.25))  # the difference with a step of 0.5
    assert gradcheck(cube, x(1), fast_mode=fast, eps=0.5)
    assert not gradcheck(cube, x(1), fast_mode=fast, raise_exception=False)


def test_fast_mode_shows_the_matrices():
    with pytest.raises(
        GradcheckError, match=r"(?s)slow mode:.*Numerical:.*Analytical:.*max per-element difference \(slow mode\) is: "
    ):
        gradcheck(WRONG, x(3), fast_mode=True)


def test_fast_mode_is_fast():
    calls = []
    gradcheck(lambda a: (calls.append(1), a.sin())[1], x(50), fast_mode=True)
    assert len(calls) < 10


@FAST
def test_nondet_tol(fast):
    turn = []

    def unsteady(a, g):
        turn.append(1)
        return g * (1 + 1e-7 * (len(turn) % 2))

    fn = function(lambda a: a * 1, unsteady)
    with pytest.raises(GradcheckError, match=r"Backward is not reentrant.*The tolerance for nondeterminism was 0.0\."):
        gradcheck(fn, x(3), fast_mode=fast)
    assert gradcheck(fn, x(3), fast_mode=fast, nondet_tol=1e-6)


def test_nondet_tol_batched():
    """check_batched_grad compares values of its own."""
    calls = []

    def counting(a, g):
        calls.append(1)
        return g * (1 + len(calls))

    fn = function(lambda a: a * 1, counting)
    options = {"atol": 1e9, "nondet_tol": 1e9}
    assert gradcheck(fn, x(3), **options)
    with pytest.raises(GradcheckError, match="failed while testing batched gradient computation"):
        gradcheck(fn, x(3), check_batched_grad=True, **options)
    assert gradcheck(torch.sin, x(3), check_batched_grad=True)
    assert gradgradcheck(torch.sin, x(3), check_batched_grad=True)


def none_is_an_error(g):
    if g is None:
        raise RuntimeError("no gradient")
    return g


def hooked(a):
    y = a.clone()
    y.register_hook(none_is_an_error)
    return y


UNDEFINED = {
    "none": (
        function(lambda a: a * 1, lambda a, g: none_is_an_error(g), False),
        "Expected backward function to handle undefined output grads",
    ),
    "a hook": (hooked, "Expected backward function to handle undefined output grads"),
    "not zero": (
        function(lambda a: a * 1, lambda a, g: torch.ones_like(a) if g is None else g, False),
        "Expected all input grads to be undefined or zero",
    ),
}


@FAST
@pytest.mark.parametrize("name", UNDEFINED)
def test_check_undefined_grad(name, fast):
    fn, text = UNDEFINED[name]
    with (
        pytest.warns(UserWarning, match="New undefined gradient support checking feature"),
        pytest.raises(GradcheckError, match=text),
    ):
        gradcheck(fn, x(3), fast_mode=fast)
    assert gradcheck(fn, x(3), fast_mode=fast, check_undefined_grad=False)


@FAST
def test_zero_in_zero_out(fast):
    tiny = function(lambda a: a * 1, lambda a, g: torch.where(g == 0, torch.full_like(g, 1e-9), g))
    with pytest.raises(GradcheckError, match="backward not multiplied by grad_output"):
        gradcheck(tiny, x(3), fast_mode=fast)
    assert gradcheck(tiny, x(3), fast_mode=fast, masked=True, check_undefined_grad=False)


def test_check_grad_dtypes(monkeypatch):
    plain = torch.autograd.grad

    def narrow(*args, **kwargs):
        return tuple(g.float() if g is not None else g for g in plain(*args, **kwargs))

    monkeypatch.setattr(torch.autograd, "grad", narrow)
    with pytest.raises(GradcheckError, match="Gradient has dtype mismatch"):
        gradcheck(torch.sin, x(3), check_grad_dtypes=True)
    with pytest.raises(GradcheckError, match="grad is incorrect type"):
        gradcheck(torch.sin, x(3))


def test_options_that_exclude_each_other():
    for options in ({"check_backward_ad": False}, {"check_batched_forward_grad": True}):
        with pytest.raises(AssertionError):
            gradcheck(torch.sin, x(3), **options)
    for options in ({"check_rev_over_rev": False}, {"check_rev_over_rev": False, "check_fwd_over_rev": True}):
        with pytest.raises(AssertionError):
            gradgradcheck(torch.sin, x(3), **options)


@FAST
def test_complex(fast):
    no_conjugate = function(lambda a: a * a, lambda a, g: g * 2 * a)
    with pytest.raises(
        GradcheckError, match="While considering the imaginary part of complex outputs only, Jacobian mismatch"
    ):
        gradcheck(no_conjugate, x(2, dtype=torch.complex128), fast_mode=fast)
    for fn in (torch.abs, torch.exp, lambda z: (z * z.conj(), z.real)):
        assert gradcheck(fn, x(2, dtype=torch.complex128), fast_mode=fast)
    assert gradcheck(lambda a: torch.complex(a, a * a), x(2), fast_mode=fast)
    assert gradgradcheck(lambda z: z * z, x(2, dtype=torch.complex128), fast_mode=fast)


@FAST
def test_inputs(fast):
    with pytest.raises(ValueError, match="but none of them have requires_grad=True"):
        gradcheck(torch.sin, torch.ones(2, dtype=torch.float64), fast_mode=fast)
    with pytest.raises(
        RuntimeError,
        match="The 0th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping",
    ):
        gradcheck(torch.sin, torch.ones(1, dtype=torch.float64).expand(3).requires_grad_(), fast_mode=fast)
    with pytest.warns(
        UserWarning, match="Input #0 requires gradient and is not a double precision floating point or complex"
    ):
        gradcheck(lambda a: a * 2, x(3, dtype=torch.float32), fast_mode=fast, raise_exception=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gradcheck(lambda a, n: a * n, (x(3), 2), fast_mode=fast)
        assert gradcheck(torch.sin, torch.zeros(0, dtype=torch.float64, requires_grad=True), fast_mode=fast)
        assert gradcheck(lambda a: torch.autograd.grad((a**3).sum(), a, create_graph=True)[0], x(2), fast_mode=fast)


@FAST
def test_outputs(fast):
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda a: a.detach() * 2, x(3), fast_mode=fast)
    assert gradcheck(lambda a: torch.ones(3, dtype=torch.float64), x(3), fast_mode=fast)
    assert gradcheck(lambda a: [a * 2, a], x(3), fast_mode=fast)
    calls = []
    with pytest.raises(
        AssertionError, match="Expected `func` to return outputs with the same shape when inputs are perturbed"
    ):
        gradcheck(lambda a: (calls.append(1), a.repeat(len(calls)))[1], x(3), fast_mode=fast)


@FAST
def test_second_gradients(fast):
    assert gradgradcheck(lambda a, b: a * b.exp(), (x(3), x(3)), fast_mode=fast)
    assert gradgradcheck(torch.exp, x(3), x(3), fast_mode=fast)
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradgradcheck(function(lambda a: a**3, lambda a, g: g * 3 * a.detach() * a), x(3), fast_mode=fast)
    strides = []
    seen = function(lambda a: a * 1, lambda a, g: (strides.append(g.is_contiguous()), g * 1)[1])
    assert gradgradcheck(seen, x(2, 3), gen_non_contig_grad_outputs=True, fast_mode=fast) and not strides[0]
    strides.clear()
    assert gradgradcheck(seen, x(2, 3), fast_mode=fast) and strides[0]


def test_inputs_come_back():
    """The differences leave the values and the version of the input, even where the function raises."""
    t = x(3)
    before = t.tolist()
    calls = []

    def breaks(a):
        calls.append(1)
        if len(calls) == 4:
            raise KeyError("stop")
        return a * 2

    with pytest.raises(KeyError):
        gradcheck(breaks, t)
    assert t.tolist() == before and t._version == 0


@FAST
def test_random_numbers_of_the_caller(fast):
    """gradcheck draws from a generator of its own."""
    torch.manual_seed(0)
    want = torch.rand(2)
    torch.manual_seed(0)
    assert gradcheck(torch.sin, x(3), check_forward_ad=True, fast_mode=fast)
    assert torch.equal(torch.rand(2), want)
