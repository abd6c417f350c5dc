"""jacfwd, hessian and jvp beside PyTorch: values, layout, and the jvp of custom Functions."""

import pytest

import torchlite

torch = pytest.importorskip("torch")


def square(lib, with_backward):
    """x -> x * x, whose tangent is told by a jvp that no derivative would give."""

    class Square(lib.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(inputs[0], output)
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def jvp(ctx, t):
            x, out = ctx.saved_tensors
            return t * x * 7 + out * t

        if with_backward:

            @staticmethod
            def backward(ctx, g):
                return g * ctx.saved_tensors[0] * 100

    return Square.apply


def facts(lib, value):
    if isinstance(value, lib.Tensor):
        return (
            tuple(value.shape),
            value.stride(),
            value.requires_grad,
            [round(v, 3) for v in value.detach().reshape(-1).tolist()],
        )
    if isinstance(value, dict):
        return {k: facts(lib, v) for k, v in value.items()}
    return [facts(lib, v) for v in value]


def x(lib):
    return lib.tensor([1.0, 2.0])


def y(lib):
    return lib.tensor([[2.0, 2.0, 1.0], [0.5, 0.1, 3.0]])


CASES = {
    "vector": lambda lib: lib.func.jacfwd(lib.sin)(x(lib)),
    "matrix": lambda lib: lib.func.jacfwd(lambda t: t @ t.T)(y(lib)),
    "of a number": lambda lib: lib.func.jacfwd(lambda t: t * lib.arange(3.0))(lib.tensor(2.0)),
    "two arguments": lambda lib: lib.func.jacfwd(lambda a, b: a[:, None] * b, (0, 1))(x(lib), y(lib)),
    "auxiliary": lambda lib: lib.func.jacfwd(lambda a: (a * a, {"k": a * 2}), has_aux=True)(x(lib)),
    "trees": lambda lib: lib.func.jacfwd(lambda d: {"s": d["a"].sum(), "t": (d["a"] * d["b"], d["b"] * 2)})(
        {"a": x(lib), "b": y(lib)[:, 0]}
    ),
    "no numbers": lambda lib: lib.func.jacfwd(lambda a: a * 2)(lib.zeros(0)),
    "a constant": lambda lib: lib.func.jacfwd(lambda a: lib.ones(2))(x(lib)),
    "nested": lambda lib: lib.func.jacfwd(lib.func.jacfwd(lambda t: t**3))(x(lib)),
    "forward over reverse": lambda lib: lib.func.jacfwd(lib.func.jacrev(lambda t: (t**3).sum()))(x(lib)),
    "reverse over forward": lambda lib: lib.func.jacrev(lib.func.jacfwd(lambda t: (t**3).sum()))(x(lib)),
    "hessian": lambda lib: lib.func.hessian(lambda a, b: (a[:, None] * b).pow(2).sum(), (0, 1))(x(lib), y(lib)),
    "not symmetric": lambda lib: lib.func.hessian(lambda a: (a.detach().flip(0) * a * a).sum() * a[0])(x(lib)),
    "in vmap": lambda lib: lib.func.vmap(lib.func.jacfwd(lambda t: t * t))(y(lib)),
    "gradient": lambda lib: lib.func.grad(lambda t: lib.func.jacfwd(lib.sin)(t).sum())(x(lib)),
    "writes": lambda lib: lib.func.jacfwd(lambda a, b: b.add_(1) * a.mul_(3) * a)(x(lib), lib.zeros(2)),
    "one place twice": lambda lib: lib.func.jacfwd(
        lambda t: lib.zeros(3).index_put((lib.tensor([0, 0]),), t) + lib.zeros(3).scatter(0, lib.tensor([1, 1]), t)
    )(x(lib)),
    "functional": lambda lib: lib.autograd.functional.jacobian(
        lambda a, b: (a[:, None] * b, a.sum()), (x(lib), y(lib)), vectorize=True, strategy="forward-mode"
    ),
    "functional hessian": lambda lib: lib.autograd.functional.hessian(
        lambda t: (t**3).sum(), x(lib), vectorize=True, outer_jacobian_strategy="forward-mode"
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_jacobian(case):
    ours, theirs = (facts(lib, CASES[case](lib)) for lib in (torchlite, torch))
    assert ours == theirs


@pytest.mark.parametrize("with_backward", [False, True])
def test_transforms_use_jvp(with_backward):
    def outcomes(lib):
        f, at, along = square(lib, with_backward), x(lib), lib.tensor([1.0, 0.5])
        return facts(
            lib,
            [
                lib.func.jvp(f, (at,), (along,)),
                lib.func.linearize(f, at)[1](along),
                lib.func.jacfwd(f)(at),
                lib.func.jacfwd(lambda t: lib.sin(f(t * t)))(at),
                lib.func.grad(lambda t: lib.func.jvp(lambda u: u * 3, (t,), (along,))[1].sum() + (t * t).sum())(at),
                lib.func.jvp(lambda t: lib.func.jvp(lib.sin, (t,), (along,))[1], (at,), (along,)),
                lib.autograd.functional.jacobian(f, at, vectorize=True, strategy="forward-mode"),
            ],
        )

    assert outcomes(torchlite) == outcomes(torch)


def test_gradient_of_tangent():
    """What jvp saved has a history: its tangent can be differentiated."""

    def outcome(lib):
        f, along = square(lib, True), lib.tensor([1.0, 0.5])
        return facts(lib, lib.func.grad(lambda t: lib.func.jvp(f, (t,), (along,))[1].sum())(x(lib)))

    assert outcome(torchlite) == outcome(torch)


def test_jvp_may_write_its_tangent():
    class Same(torchlite.autograd.Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.mark_dirty(inputs[0])

        @staticmethod
        def jvp(ctx, t):
            return t.add_(0)

    out, tangent = torchlite.func.jvp(lambda t: Same.apply(t.clone()), (x(torchlite),), (x(torchlite) * 3,))
    assert out.tolist() == [1.0, 2.0] and tangent.tolist() == [3.0, 6.0]
