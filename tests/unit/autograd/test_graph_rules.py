"""What autograd allows beside gradients, compared with PyTorch: out= of what requires grad, ops without a derivative,
results that are inputs."""

import warnings

import pytest

import torchlite as ours

real = pytest.importorskip("torch")


def leaf(t, *shape):
    return (t.arange(1.0, 1 + int(t.ones(shape).sum())).reshape(shape) / 3).requires_grad_()


def out_of_a_comparison(t):
    return t.gt(leaf(t, 3), leaf(t, 3), out=t.empty(0, dtype=t.bool))


def out_of_a_derivable(t):
    return t.mul(leaf(t, 3), 2, out=t.empty(0))


def out_requires_grad(t):
    return t.mul(t.ones(3), 2, out=leaf(t, 3))


def out_of_heaviside_requires_grad(t):
    return t.heaviside(t.ones(3), t.ones(3), out=leaf(t, 3))


def out_of_a_polynomial_requires_grad(t):
    return t.special.chebyshev_polynomial_t(t.ones(3), 2, out=leaf(t, 3))


def out_of_softmax(t):
    return t.softmax(leaf(t, 3), 0, out=t.empty(0))


def out_is_a_leaf_of_another_shape(t):
    with t.no_grad():
        return t.exp(t.ones(2, 2), out=leaf(t, 3))


def out_is_expanded_and_resized(t):
    return t.exp(t.ones(2, 2), out=t.ones(1).expand(3))


def out_is_expanded(t):
    return t.exp(t.ones(3), out=t.ones(1).expand(3))


def resize_of_a_leaf(t):
    with t.no_grad():
        return leaf(t, 3).resize_(4)


def floor_divide_of_what_requires_grad(t):
    return leaf(t, 3) // 2


def gradient_of_floor_divide(t):
    (leaf(t, 3) // leaf(t, 3)).sum().backward()


def gradient_of_floor_divide_in_place(t):
    x = leaf(t, 3) * 1
    x.floor_divide_(2)
    x.sum().backward()


def broadcast_of_one_shape(t):
    x = leaf(t, 3)
    a, b = t.broadcast_tensors(x, x[..., :1])
    return a, a is x, b


def materialized(t):
    x, y = leaf(t, 3), leaf(t, 2)
    return t.autograd.grad(x.sum(), [y], materialize_grads=True)


def grad_of_the_root(t):
    x, y = leaf(t, 3), leaf(t, 3)
    g, h = t.autograd.grad(x * 1, [x, y], y, allow_unused=True)
    z = x * 1
    return g, h, t.autograd.grad(z, [z], y)


def mean_overwritten(t):
    x = leaf(t, 2, 3)
    v, m = t.var_mean(x, 0)
    v.mul_(2)
    m.mul_(2)
    (v.sum() + m.sum()).backward()
    return x.grad


def deviation_overwritten(t):
    s, m = t.std_mean(leaf(t, 2, 3), 0)
    s.mul_(2)
    s.sum().backward()


def scattered_and_changed(t):
    x, y = leaf(t, 3, 3), leaf(t, 2, 2)
    z = x.detach().as_strided_scatter(y, (2, 2), (3, 1), 1)
    z[-1] += 1
    z.mul_(2)
    return z, z._is_view(), t.autograd.grad(z.square().sum(), [y])


def view_of_a_leaf_that_is_a_view(change):
    def case(t):
        x = t.zeros(4).view(2, 2).requires_grad_()
        change(t, x)

    case.__name__ = "leaf_view_" + change.__name__
    return case


def row(t, x):
    x[0].add_(1)


def whole(t, x):
    x.view(4).mul_(2)


def listed(t, x):
    x[0, [0]] = 1.0


def deeper(t, x):
    x.t()[0].unsqueeze(0).exp_()


def result_of_two(t):
    z = t.complex(leaf(t, 2, 2).t(), leaf(t, 2, 2))
    z.mul_(2)
    return z.grad_fn is not None, z._is_view()


def pixel_shuffle_copies(t):
    x = t.arange(4.0).reshape(1, 4, 1, 1)
    made = [
        t.pixel_shuffle(x, 1),
        t.pixel_shuffle(x, 2),
        t.pixel_unshuffle(x, 1),
        t.channel_shuffle(x, 4),
        t.channel_shuffle(x, 1),
    ]
    x.zero_()
    return made


def complex_operands(name, *numbers):
    def case(t):
        return getattr(t, name)(t.ones(2, dtype=t.complex64), *(t.ones(2, dtype=t.complex64) for _ in numbers))

    case.__name__ = "complex_" + name
    return case


CASES = [
    out_of_a_comparison,
    out_of_a_derivable,
    out_requires_grad,
    out_of_heaviside_requires_grad,
    out_of_a_polynomial_requires_grad,
    out_of_softmax,
    out_is_a_leaf_of_another_shape,
    out_is_expanded_and_resized,
    out_is_expanded,
    resize_of_a_leaf,
    floor_divide_of_what_requires_grad,
    gradient_of_floor_divide,
    gradient_of_floor_divide_in_place,
    broadcast_of_one_shape,
    materialized,
    grad_of_the_root,
    mean_overwritten,
    deviation_overwritten,
    scattered_and_changed,
    pixel_shuffle_copies,
    result_of_two,
    *map(view_of_a_leaf_that_is_a_view, (row, whole, listed, deeper)),
    *(complex_operands(n) for n in ("relu", "sign", "signbit", "deg2rad", "rad2deg", "isposinf", "isneginf")),
    *(complex_operands(n, 1) for n in ("maximum", "minimum", "fmax", "fmin", "heaviside")),
]


def seen(x):
    if isinstance(x, (ours.Tensor, real.Tensor)):
        return (
            tuple(x.shape),
            [round(v, 5) for v in x.detach().reshape(-1).tolist()],
            x.requires_grad,
            x.is_leaf,
            x.grad_fn is not None,
        )
    return [seen(v) for v in x] if isinstance(x, (list, tuple)) else x


def outcome(case, t):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return seen(case(t))
    except Exception as error:
        return type(error).__name__, str(error).replace("torchlite", "torch")


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_as_pytorch(case):
    assert outcome(case, ours) == outcome(case, real)
