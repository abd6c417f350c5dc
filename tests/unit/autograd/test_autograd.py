"""Autograd scenarios: each runs on torchlite and on real PyTorch and must give the same numbers, names and flags."""

import pytest
import torchlite
from plain import plain

real = pytest.importorskip("torch", reason="needs real PyTorch to compare with")
if hasattr(real.version, "torchlite"):
    pytest.skip("needs real PyTorch to compare with", allow_module_level=True)

SCENARIOS = []


def scenario(fn):
    SCENARIOS.append(fn)
    return fn


@pytest.mark.parametrize("fn", SCENARIOS, ids=lambda f: f.__name__)
def test_scenario(fn):
    assert plain(fn(torchlite)) == plain(fn(real))


def leaf(t, *values):
    return t.tensor(list(values), dtype=t.float64, requires_grad=True)


@scenario
def diamond(t):
    x = leaf(t, 1.0, 2.0)
    y = x * x
    z = (y + y * x).sum()
    z.backward()
    return x.grad


@scenario
def accumulates(t):
    x = leaf(t, 1.0, 2.0)
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    first = x.grad.clone()
    x.grad = None
    (x * 5).sum().backward()
    return first, x.grad


@scenario
def shared_gradient_is_not_aliased(t):
    x, y = leaf(t, 1.0), leaf(t, 2.0)
    (x + y).sum().backward()
    x.grad.add_(10)
    return x.grad, y.grad


@scenario
def second_order(t):
    x = leaf(t, 0.5, -1.5)
    (g,) = t.autograd.grad((x**3).sum(), x, create_graph=True)
    (gg,) = t.autograd.grad(g.sum(), x, create_graph=True)
    (ggg,) = t.autograd.grad(gg.sum(), x)
    return g, gg, ggg


@scenario
def grad_through_grad_penalty(t):
    w = leaf(t, 1.0, -2.0, 3.0)
    x = leaf(t, 0.1, 0.2, 0.3)
    out = (w * x).tanh().sum()
    (g,) = t.autograd.grad(out, x, create_graph=True)
    (g.norm() - 1).pow(2).backward()
    return w.grad, x.grad


@scenario
def unused_input(t):
    x, y = leaf(t, 1.0), leaf(t, 2.0)
    return t.autograd.grad(x.sum(), [x, y], allow_unused=True)


@scenario
def materialized(t):
    x, y = leaf(t, 1.0), leaf(t, 2.0)
    return t.autograd.grad(x.sum(), [x, y], materialize_grads=True)


@scenario
def grad_of_intermediate(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 3
    z = (y * y).sum()
    (gy,) = t.autograd.grad(z, y, retain_graph=True)
    (gx,) = t.autograd.grad(z, x)
    return gy, gx


@scenario
def backward_with_inputs(t):
    x, y = leaf(t, 1.0), leaf(t, 2.0)
    (x * y).backward(inputs=[x])
    return x.grad, y.grad


@scenario
def retain_grad(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward()
    return y.grad, x.grad, y.retains_grad, x.retains_grad


@scenario
def hooks(t):
    seen = []
    x = leaf(t, 1.0, 2.0)
    y = x * 2
    x.register_hook(lambda g: seen.append(g.clone()))
    h = y.register_hook(lambda g: g * 10)
    y.sum().backward(retain_graph=True)
    h.remove()
    y.sum().backward()
    return seen, x.grad


@scenario
def post_accumulate_hook(t):
    x = leaf(t, 1.0, 2.0)
    seen = []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    (x * 3).sum().backward()
    (x * 3).sum().backward()
    return seen


@scenario
def node_hooks(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 2
    y.grad_fn.register_hook(lambda gi, go: tuple(None if g is None else g * 100 for g in gi))
    y.sum().backward()
    return x.grad


@scenario
def names(t):
    x = leaf(t, 1.0, 2.0)
    m = t.eye(2, dtype=t.float64, requires_grad=True)
    outs = [
        x + 1,
        x * 2,
        x.sum(),
        x.mean(),
        x.sum(0),
        m @ m,
        m.mm(m),
        m.t(),
        m.view(4),
        m[0],
        m[:, 0:1],
        x.exp(),
        x.relu(),
        x.softmax(0),
        x.log_softmax(0),
        x.clone(),
        x.unsqueeze(0),
        x.expand(3, 2),
        t.cat([x, x]),
        t.stack([x, x]),
        x / 2,
        x - 1,
        1 - x,
        -x,
        x**2,
        x.max(),
        x.max(0)[0],
        x.reshape(2, 1),
        m.permute(1, 0),
        x.pow(3),
        x.sqrt(),
        x.sigmoid(),
        x.tanh(),
        x.clamp(0, 1),
        x.norm(),
        t.nn.functional.linear(m, m, x),
        m.transpose(0, 1),
        x.std(),
        x.var(),
        x.prod(),
        x.cumsum(0),
        x.gather(0, t.tensor([0])),
        x.index_select(0, t.tensor([0])),
        x[t.tensor([0])],
        x.masked_fill(x > 1, 0.0),
        t.where(x > 1, x, x * 1),
        x.abs(),
        x.double().float(),
        t.nn.functional.gelu(x),
        t.nn.functional.silu(x),
        x.split(1)[0],
        x.unbind()[1],
        x.squeeze(),
        x.flip(0),
    ]
    return [o.grad_fn.name() for o in outs]


@scenario
def next_functions(t):
    x = leaf(t, 1.0)
    y = x * 2
    z = y + 1
    return (
        z.grad_fn.name(),
        z.grad_fn.next_functions[0][0].name(),
        z.grad_fn.next_functions[0][0].next_functions[0][0].name(),
    )


@scenario
def inplace_on_intermediate(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 2
    y.mul_(3)
    y.add_(x)
    y.sum().backward()
    return x.grad, y.grad_fn.name()


@scenario
def inplace_keeps_input_of_mul(t):
    x, w = leaf(t, 1.0, 2.0), leaf(t, 3.0, 4.0)
    y = x * 1
    y *= w
    y.sum().backward()
    return x.grad, w.grad


@scenario
def inplace_on_view(t):
    x = leaf(t, 1.0, 2.0, 3.0)
    y = x * 2
    y[0].mul_(10)
    y[1:].add_(x[:2])
    (y * y).sum().backward()
    return x.grad, y.grad_fn.name()


@scenario
def view_of_changed_base(t):
    x = leaf(t, 1.0, 2.0, 3.0)
    y = x * 1
    v = y[1:]
    y.mul_(4)
    v.sum().backward()
    return x.grad


@scenario
def setitem(t):
    x = leaf(t, 1.0, 2.0)
    y = t.zeros(4, dtype=t.float64)
    y[1] = x[0] * 3
    y[2:] = x
    y[0] = 7.0
    (y**2).sum().backward()
    return x.grad, y


@scenario
def setitem_index_tensor(t):
    x = leaf(t, 1.0, 2.0)
    y = t.zeros(4, dtype=t.float64)
    y[t.tensor([3, 1])] = x * 2
    y[t.tensor([True, False, False, False])] = 5.0
    (y**2).sum().backward()
    return x.grad, y


@scenario
def copy_into(t):
    x = leaf(t, 1.0, 2.0)
    y = t.ones(2, 2, dtype=t.float64)
    y.copy_(x)
    (y * t.arange(4.0, dtype=t.float64).view(2, 2)).sum().backward()
    return x.grad


@scenario
def fill_cuts_history(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 2
    y[0].fill_(9)
    y.sum().backward()
    return x.grad


@scenario
def zero_grad_forms(t):
    x = leaf(t, 1.0, 2.0)
    (x * 2).sum().backward()
    x.grad.zero_()
    (x * 3).sum().backward()
    return x.grad


@scenario
def no_grad_forms(t):
    x = leaf(t, 1.0)
    with t.no_grad():
        a = x * 2
        with t.enable_grad():
            b = x * 3
    with t.set_grad_enabled(False):
        c = x * 4

    @t.no_grad()
    def f():
        return x * 5

    with t.inference_mode():
        d = x * 6
    return [v.requires_grad for v in (a, b, c, f(), d)], d.is_inference(), t.is_grad_enabled()


@scenario
def update_without_grad(t):
    w = leaf(t, 1.0, 2.0)
    for _ in range(3):
        ((w - 5) ** 2).sum().backward()
        with t.no_grad():
            w -= 0.1 * w.grad
            w.grad = None
    return w, w.requires_grad, w.is_leaf


@scenario
def data_is_apart(t):
    x = leaf(t, 1.0, 2.0)
    y = x * x
    x.data.mul_(2)
    y.sum().backward()
    return x.grad, x._version


@scenario
def detach_shares(t):
    x = leaf(t, 1.0, 2.0)
    d = x.detach()
    d[0] = 5
    return x, d.requires_grad, d.is_leaf, x._version


@scenario
def flags(t):
    x = leaf(t, 1.0)
    y = x * 2
    return (
        x.is_leaf,
        y.is_leaf,
        x.requires_grad,
        y.requires_grad,
        x.grad_fn is None,
        y.detach().requires_grad,
        (y > 1).requires_grad,
        y.long().requires_grad,
    )


@scenario
def broadcasting(t):
    a = t.ones(3, 1, dtype=t.float64, requires_grad=True)
    b = t.arange(4.0, dtype=t.float64).requires_grad_()
    s = t.tensor(2.0, dtype=t.float64, requires_grad=True)
    ((a * b + s) ** 2).sum().backward()
    return a.grad, b.grad, s.grad


@scenario
def mixed_dtypes(t):
    a = t.ones(2, requires_grad=True)
    b = t.ones(2, dtype=t.float64, requires_grad=True)
    (a * b * t.tensor([1, 2])).sum().backward()
    return a.grad, b.grad


@scenario
def several_outputs(t):
    x = t.arange(6.0, dtype=t.float64).view(2, 3).requires_grad_()
    a, b = x.split([1, 2], 1)
    v, i = x.max(1)
    (a.sum() * 2 + (b * b).sum() + v.sum()).backward()
    return x.grad, i


@scenario
def one_of_several_outputs(t):
    x = t.arange(6.0, dtype=t.float64).view(2, 3).requires_grad_()
    parts = x.unbind(0)
    parts[1].sum().backward()
    return x.grad


@scenario
def expanded_gradient(t):
    x = t.ones(3, 4, dtype=t.float64, requires_grad=True)
    x.sum().backward()
    x.grad[0, 0] = 5
    return x.grad, x.grad.is_contiguous()


@scenario
def custom_function(t):
    class Cube(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.save_for_backward(x)
            ctx.k = k
            return x**3 * k

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x * x * ctx.k, None

    x = leaf(t, 1.0, 2.0)
    y = Cube.apply(x, 2)
    y.sum().backward(create_graph=True)
    g = x.grad.clone()
    (second,) = t.autograd.grad(x.grad.sum(), x)
    return g.detach(), second, y.grad_fn.name()


@scenario
def custom_function_many(t):
    class Both(t.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            ctx.mark_non_differentiable()
            return a * b, a + b

        @staticmethod
        def backward(ctx, g1, g2):
            a, b = ctx.saved_tensors
            return (g1 * b + g2 if ctx.needs_input_grad[0] else None), (
                g1 * a + g2 if ctx.needs_input_grad[1] else None
            )

    a, b = leaf(t, 1.0, 2.0), t.tensor([3.0, 4.0], dtype=t.float64)
    p, s = Both.apply(a, b)
    p.sum().backward()
    return a.grad, s.requires_grad


@scenario
def custom_function_setup_context(t):
    class Scale(t.autograd.Function):
        @staticmethod
        def forward(x, k):
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.k = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g * ctx.k, None

    x = leaf(t, 1.0, 2.0)
    Scale.apply(x, 4).sum().backward()
    return x.grad


@scenario
def straight_through(t):
    class Round(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.round()

        @staticmethod
        def backward(ctx, g):
            return g

    x = leaf(t, 1.3, 2.7)
    (Round.apply(x) * x).sum().backward()
    return x.grad


@scenario
def inplace_custom_function(t):
    class Relu(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            x.clamp_(min=0)
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (x > 0)

    x = leaf(t, -1.0, 2.0)
    y = x * 1
    z = Relu.apply(y)
    (z * z).sum().backward()
    return x.grad, z is y


@scenario
def saved_hooks(t):
    packed = []

    def pack(v):
        packed.append(v.shape)
        return v * 1

    x = leaf(t, 1.0, 2.0)
    with t.autograd.graph.saved_tensors_hooks(pack, lambda v: v):
        y = x * x
    y.sum().backward()
    return x.grad, len(packed)


@scenario
def complex_gradient(t):
    z = t.tensor([1 + 2j, 3 - 1j], dtype=t.complex128, requires_grad=True)
    (z * z.conj()).real.sum().backward()
    first = z.grad.clone()
    z.grad = None
    z.abs().sum().backward()
    return first, z.grad


@scenario
def jacobian_hessian(t):
    f = t.autograd.functional
    x = t.tensor([1.0, 2.0], dtype=t.float64)
    return (
        f.jacobian(lambda v: v**2 * v.sum(), x),
        f.hessian(lambda v: (v**3).sum() * v[0], x),
        f.vjp(lambda v: v**2, x, t.ones(2, dtype=t.float64)),
        f.jvp(lambda v: v**2, x, t.ones(2, dtype=t.float64)),
    )


@scenario
def func_transforms(t):
    x = t.tensor([1.0, 2.0], dtype=t.float64)
    return (
        t.func.grad(lambda v: (v**2).sum())(x),
        t.func.jacrev(lambda v: v**3)(x),
        t.func.vmap(lambda v: v * 2)(t.ones(3, 2)),
    )


@scenario
def graph_kept_by_reference(t):
    x = leaf(t, 2.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


@scenario
def grad_outputs(t):
    x = leaf(t, 1.0, 2.0, 3.0)
    return t.autograd.grad(x * x, x, grad_outputs=t.tensor([1.0, 0.0, 2.0], dtype=t.float64))


@scenario
def rnn_like_loop(t):
    t.manual_seed(0)
    w = t.randn(4, 4, dtype=t.float64, requires_grad=True)
    h = t.zeros(1, 4, dtype=t.float64)
    for _ in range(5):
        h = (h @ w + 1).tanh()
    h.sum().backward()
    return w.grad


@scenario
def transposed_and_strided(t):
    x = t.arange(12.0, dtype=t.float64).view(3, 4).requires_grad_()
    (x.t()[1:, ::2].contiguous().view(-1) ** 2).sum().backward()
    return x.grad


@scenario
def clone_detach_mix(t):
    x = leaf(t, 1.0, 2.0)
    y = x.clone()
    y.detach().add_(1)
    (y * y).sum().backward()
    return x.grad, x


@scenario
def gradient_layout(t):
    x = t.ones(2, 3, requires_grad=True)
    (x.t() * t.arange(6.0).view(3, 2)).sum().backward()
    return x.grad, list(x.grad.stride())


@scenario
def modes_belong_to_threads(t):
    import threading

    seen = []
    with t.no_grad():
        thread = threading.Thread(target=lambda: seen.append(t.is_grad_enabled()))
        thread.start()
        thread.join()
        seen.append(t.is_grad_enabled())
    return seen
