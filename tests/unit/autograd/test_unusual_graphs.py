"""Unusual graphs, each case beside PyTorch: hooks and Functions that return something else, inference mode, gradients
that are retained, shared or missing.
"""

import gc

import pytest
from graph_cases import check, function, leaf

import torchlite as ours

real = pytest.importorskip("torch")
CASES = []


def case(program):
    CASES.append(program)
    return program


@case
def hook_that_returns_a_number(t):
    x = leaf(t, 3)
    y = x * 2
    y.register_hook(lambda g: 5)
    y.sum().backward()
    return x.grad


@case
def hook_that_returns_another_shape(t):
    x = leaf(t, 3)
    y = x * 2
    y.register_hook(lambda g: t.ones(4))
    y.sum().backward()
    return x.grad


@case
def backward_again_after_a_hook_raised(t):
    x = leaf(t, 3)
    y = x * 2

    def h(g):
        raise ValueError("no")

    k = y.register_hook(h)
    z = y.sum()
    try:
        z.backward()
    except ValueError:
        pass
    k.remove()
    z.backward()
    return x.grad, t.is_grad_enabled()


@case
def backward_twice_where_nothing_is_saved(t):
    x = leaf(t, 3)
    y = (x + x).sum()
    y.backward()
    y.backward()
    return x.grad


@case
def function_that_returns_its_input_which_needs_no_gradient(t):
    F = function(t, lambda c, x: x, lambda c, g: g * 3)
    x = t.ones(3)
    y = F.apply(x)
    return y is x, y.requires_grad


@case
def function_whose_gradient_is_a_number(t):
    F = function(t, lambda c, x: x * 2, lambda c, g: 3.0)
    x = leaf(t, 3)
    F.apply(x).sum().backward()
    return x.grad


@case
def function_that_changes_a_leaf(t):
    F = function(t, lambda c, x: (c.mark_dirty(x), x.mul_(2))[1], lambda c, g: g * 2)
    x = leaf(t, 3)
    r = F.apply(x)
    return r


@case
def function_that_changes_an_input_and_does_not_return_it(t):
    F = function(t, lambda c, x: (c.mark_dirty(x), x.mul_(2), x * 3)[2], lambda c, g: g * 2)
    x = leaf(t, 3)
    y = x * 1
    r = F.apply(y)
    return r


@case
def function_that_returns_one_tensor_twice(t):
    F = function(t, lambda c, x: (lambda y: (y, y))(x * 2), lambda c, a, b: a * 2 + b * 5)
    x = leaf(t, 3)
    r = F.apply(x)
    (r[0] + 2 * r[1]).sum().backward()
    return x.grad


@case
def write_to_the_view_that_a_function_returned(t):
    F = function(t, lambda c, x: x.view(-1), lambda c, g: g.view(2, 2))
    x = leaf(t, 2, 2)
    r = F.apply(x * 1)
    r.mul_(2)
    return r


@case
def needs_input_grad_under_no_grad(t):
    seen = []

    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            seen.append(ctx.needs_input_grad)
            return x * y

    x = leaf(t, 3)
    with t.no_grad():
        F.apply(x, t.ones(3))
    return seen


@case
def function_with_a_complex_gradient_of_a_real_input(t):
    F = function(t, lambda c, x: x * 2, lambda c, g: g * (1 + 2j))
    x = leaf(t, 3)
    F.apply(x).sum().backward()
    return x.grad


@case
def backward_with_an_input_named_twice(t):
    x = leaf(t, 3)
    y = leaf(t, 3)
    (x * y).sum().backward(inputs=[x, x])
    return x.grad, y.grad


@case
def retained_gradient_of_a_tensor_that_is_written(t):
    x = leaf(t, 3)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    return y.grad, x.grad


@case
def write_to_a_retained_gradient(t):
    x = leaf(t, 3)
    y = x * 2
    y.retain_grad()
    z = y.view(3)
    z.sum().backward()
    y.grad.mul_(3)
    return x.grad


@case
def data_of_another_dtype(t):
    x = leaf(t, 3)
    x.data = t.zeros(3, dtype=t.int64)
    return x


@case
def write_to_an_inference_tensor_outside(t):
    with t.inference_mode():
        y = t.ones(3)
    y.add_(1)
    return y


@case
def view_made_in_inference_mode(t):
    x = leaf(t, 3)
    y = x * 2
    with t.inference_mode():
        v = y[:2]
    return v.is_inference(), v.requires_grad


@case
def nested_inference_mode(t):
    with t.inference_mode():
        a = t.is_grad_enabled()
        with t.inference_mode(False):
            b = t.is_grad_enabled()
            x = t.ones(2)
            c = x.is_inference()
        with t.enable_grad():
            d = t.is_grad_enabled()
            x = t.ones(2, requires_grad=True) * 2
            e = x.requires_grad
    return a, b, c, d, e


@case
def what_requires_a_gradient_under_no_grad(t):
    x = leaf(t, 3)
    with t.no_grad():
        y = x * 2
        z = x.view(3)
        x.detach()
        n = t.nn.Parameter(t.ones(2))
    return y.requires_grad, z.requires_grad, n.requires_grad


@case
def setitem_of_an_inference_tensor(t):
    with t.inference_mode():
        y = t.ones(3)
    y[0] = 5
    return y


@case
def out_that_is_an_inference_tensor(t):
    with t.inference_mode():
        y = t.ones(3)
    t.add(t.ones(3), 1, out=y)
    return y


@case
def write_to_the_data_of_an_inference_tensor(t):
    with t.inference_mode():
        y = t.ones(3)
    y.data.add_(1)
    return y


@case
def numpy_without_recording(t):
    p = t.nn.Parameter(t.ones(3))
    with t.no_grad():
        return p.numpy().tolist(), p[:2].numpy().tolist()


@case
def floor_divide_has_no_derivative(t):
    x = leaf(t, 3)
    y = x // 2
    return [y.requires_grad, y.sum().backward()]


@case
def heaviside_in_place_has_no_derivative(t):
    z = leaf(t, 3) * 1
    z.heaviside_(t.ones(3)).sum().backward()


@case
def gradients_that_pass_through(t):
    x = leaf(t, 3)
    s = x * 1
    return [t.autograd.grad(s, [s], s)[0], t.autograd.grad(x.sum(), [s], materialize_grads=True, create_graph=True)[0]]


@case
def real_times_complex_number(t):
    x = leaf(t, 3)
    (g,) = t.autograd.grad((x * 1j).abs().sum(), x, create_graph=True)
    return [g, (t.nn.functional.linear(t.eye(3), x[None]) * 1j).abs().sum().backward(), x.grad]


@case
def leaf_gradient_has_its_layout(t):
    x = leaf(t, 4, 5).detach().t().requires_grad_()
    (x * 2).sum().backward()
    y = leaf(t, 4, 6).detach()[:, ::2].requires_grad_()
    (y * 2).sum().backward()
    w = leaf(t, 3)
    g = t.ones(3)
    w.backward(g)
    g.zero_()
    return [x.grad.stride(), y.grad.stride(), w.grad]


@case
def grad_by_its_other_name(t):
    p = t.nn.Parameter(t.zeros(2))
    p._grad = t.ones(2)
    return [p.grad, p._grad]


@case
def function_that_changes_its_second_argument(t):
    def forward(ctx, a, b):
        ctx.save_for_backward(a)
        ctx.mark_dirty(b)
        return b.mul_(a)

    def backward(ctx, g):
        return None, g * ctx.saved_tensors[0]

    x = leaf(t, 4)
    z = x * 1
    function(t, forward, backward).apply(t.full((4,), 3.0), z).sum().backward()
    return [x.grad, z]


@case
def function_that_changes_a_view_and_returns_two(t):
    def forward(ctx, b, a):
        ctx.mark_dirty(b)
        return b.mul_(2), a * 2

    x = leaf(t, 4)
    return function(t, forward, lambda ctx, g, h: (g * 2, h * 2)).apply((x * 1)[1:], x)


@pytest.mark.parametrize("program", CASES, ids=lambda program: program.__name__)
def test_as_pytorch(program):
    check(program, real)


def _train():
    x = leaf(ours, 200, 200)
    y = x * 1
    y.mul_(2).exp_().sum().backward()


def _view_without_backward():
    y = leaf(ours, 200, 200) * 1
    v = y[0]
    v.exp_()
    y[1] = v * 2


def _times_itself():
    y = leaf(ours, 200, 200) * 1
    y.mul_(y)


def _save():
    import io

    ours.save(ours.nn.Linear(100, 100).state_dict(), io.BytesIO())


@pytest.mark.parametrize("run", [_train, _view_without_backward, _times_itself, _save], ids=lambda run: run.__name__)
def test_memory_goes_without_a_collection(run):
    run()
    gc.collect()
    gc.disable()
    try:
        before = ours._C.memory_stats()[0]
        run()
        assert ours._C.memory_stats()[0] == before
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: t.unique(x, return_inverse=True)[0],
        lambda t, x: t.unique(x, dim=0),
        lambda t, x: t.unique_consecutive(x),
        lambda t, x: t.histogram(x, 4)[0],
        lambda t, x: t.bincount(t.tensor([0, 1, 1]), x[0]),
        lambda t, x: t.geqrf(x)[0],
        lambda t, x: t.linalg.ldl_factor(x @ x.t() + t.eye(3))[0],
        lambda t, x: t._sample_dirichlet(x.abs()),
        lambda t, x: x // 2,
        lambda t, x: t.heaviside(x, x),
        lambda t, x: t.igamma(x, x),
        lambda t, x: t.special.zeta(x + 1, 2.0),
    ],
)
def test_no_derivative_is_an_error(call):
    """What PyTorch cannot differentiate is no constant:
    its result requires a gradient, and backward says that there is none."""
    for t in (ours, real):
        y = call(t, leaf(t, 3, 3))
        assert y.requires_grad
        with pytest.raises(RuntimeError, match="derivative"):
            y.sum().backward()
