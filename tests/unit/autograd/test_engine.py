"""The loop of the backward pass beside PyTorch's: its order, hooks, passes within passes, its own errors."""

import pytest

import torchlite
from alike import torch
from torchlite import _C


def both(program):
    """A test of a function of the library that gives comparable values."""

    @pytest.mark.skipif(torch is None, reason="PyTorch is not installed")
    def test():
        assert program(torchlite) == program(torch)

    return test


def names_of_ones_own(t):
    """A context may have any attribute, also one that the nodes of ops have."""

    class Twice(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.rec, ctx.kept, ctx.plain, ctx.plan, ctx.input_meta = 3, [1], {}, (), "a"
            return x * 2

        @staticmethod
        def backward(ctx, g):
            assert (ctx.rec, ctx.kept, ctx.plain, ctx.plan, ctx.input_meta) == (3, [1], {}, (), "a")
            return g * 2

    x = t.ones(3, requires_grad=True)
    (found,) = t.autograd.grad(Twice.apply(x).sum(), x)
    Twice.apply(x).sum().backward()
    return found.tolist(), x.grad.tolist()


def order_of_nodes(t):
    order = []
    x = t.ones(2, requires_grad=True)
    a, b = x.sin(), x.cos()
    c, d = a * b, a.exp()
    out = (c + d).sum()
    for node in (a.grad_fn, b.grad_fn, c.grad_fn, d.grad_fn, out.grad_fn):
        node.register_prehook(lambda g, node=node: order.append(node.name()))
    out.backward()
    return order


def a_pass_within_a_pass(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    inner = y.detach().requires_grad_()

    def hook(g):
        with t.enable_grad():
            (inner * inner).sum().backward()
            (found,) = t.autograd.grad((inner * g).sum(), inner)
        return found * 2

    y.register_hook(hook)
    (y * 3).sum().backward()
    return x.grad.tolist(), inner.grad.tolist()


def one_node_several_outputs(t):
    x = t.arange(6.0).reshape(2, 3).requires_grad_()
    a, b, c = x.unbind(1)
    values, places = x.max(1)
    out = (a * 2).sum() + (c * a).sum() + (values * values).sum()
    found = t.autograd.grad(out, [x, a, values], retain_graph=True)
    again = t.autograd.grad(out, [values, x, a])
    return [g.tolist() for g in found + again], places.tolist()


def an_error_within(t):
    x = t.ones(2, requires_grad=True)
    y = x * 2

    def wrong(g):
        raise KeyError("here")

    y.register_hook(wrong)
    z = (y * y).sum()
    errors = []
    for _ in range(2):
        try:
            z.backward()
        except (KeyError, RuntimeError) as e:
            errors.append(type(e).__name__)
    (x * 3).sum().backward()
    return errors, x.grad.tolist()


def the_node_that_runs(t):
    seen = []
    x = t.ones(2, requires_grad=True)

    class Look(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            seen.append(t._C._current_autograd_node().name())
            return g

    Look.apply(x).sum().backward()
    return seen, t._C._current_autograd_node()


def several_gradients_in_every_form(t):
    x = t.linspace(0.1, 1.2, 12, dtype=t.float64).reshape(3, 4).sin().requires_grad_()
    w = t.linspace(2.0, 9.0, 16, dtype=t.float64).reshape(4, 4).cos().requires_grad_()
    y = t.nn.functional.layer_norm(x @ w, (4,)).chunk(2, 1)
    z = (y[0] * y[1] + x.sum(0)[:2]).pow(2).sum()
    first = t.autograd.grad(z, [w, x], create_graph=True)
    second = t.autograd.grad(sum(g.square().sum() for g in first), [x, w])
    return [[round(v, 3) for v in g.flatten().tolist()] for g in (*first, *second)]


test_names = both(names_of_ones_own)
test_order = both(order_of_nodes)
test_within = both(a_pass_within_a_pass)
test_outputs = both(one_node_several_outputs)
test_error = both(an_error_within)
test_running = both(the_node_that_runs)
test_forms = both(several_gradients_in_every_form)


def test_an_unpack_hook_that_releases_the_node():
    """PyTorch waits without end there."""
    x = torchlite.ones(3, requires_grad=True)
    inner = []

    def unpack(t):
        if inner:
            inner.pop().backward()
        return t

    with torchlite.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = (x * x.sin() * x).sum()
    inner.append(y)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


def test_private_functions_check_their_arguments():
    x = torchlite.ones(2, requires_grad=True)
    node = (x * x).grad_fn
    for call in (
        lambda: _C.apply_node(3, []),
        lambda: _C.apply_node(torchlite.ones(1), [x]),
        lambda: _C.apply_node(node, 3),
        lambda: _C.engine_helpers(()),
        lambda: _C.run_nodes(1, 2),
        lambda: _C.run_nodes([(3, 0)], [x], {}, False, None, None, None, None, None, None),
        lambda: _C.run_nodes([(node, -1)], [x], {}, False, None, None, None, None, None, None),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(IndexError):
        _C.apply_node(node, [])
