"""torch.autograd.graph: hooks on saved tensors and on several gradients."""

import pytest
import torchlite as torch
from torchlite.autograd import graph


def same(t):
    return t


def ones():
    return torch.ones(2, requires_grad=True)


def packed_now():
    """Whether a hook is left over: what a product saves here passes through none."""
    x = ones()
    log = []
    with graph.saved_tensors_hooks(lambda t: (log.append(1), t)[1], same):
        x * x
    assert len(log) == 2
    node = (x * x).grad_fn
    from torchlite.autograd import _node

    return bool(_node.saved_hooks) or node is None


def test_inner_hooks_win():
    order, x = [], ones()
    with graph.saved_tensors_hooks(lambda t: (order.append("outer"), t)[1], same):
        with graph.saved_tensors_hooks(lambda t: (order.append("inner"), t)[1], same):
            y = x * x
        y * y
    assert order == ["inner", "inner", "outer", "outer"] and not packed_now()


def test_context_inside_unpack():
    def unpack(t):
        with graph.saved_tensors_hooks(same, unpack):
            return t * 1

    x = ones()
    with graph.saved_tensors_hooks(same, unpack):
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0] and not packed_now()


def test_inner_contexts_that_were_never_left():
    """An error between entering and leaving takes the inner hooks away with the outer ones."""
    with pytest.raises(KeyError), graph.saved_tensors_hooks(same, same):
        graph.saved_tensors_hooks(same, same).__enter__()
        raise KeyError
    assert not packed_now()

    def unpack(t):
        graph.saved_tensors_hooks(same, unpack).__enter__()
        raise KeyError

    x = ones()
    hooks = graph.saved_tensors_hooks(same, unpack)
    with pytest.raises(KeyError), hooks:
        (x * x).sum().backward()
    assert not packed_now()


def test_one_object_entered_twice():
    hooks = graph.saved_tensors_hooks(same, same)
    with hooks, hooks:
        pass
    assert not packed_now()


def test_pack_that_raises():
    with pytest.raises(ZeroDivisionError), graph.saved_tensors_hooks(lambda t: 1 / 0, same):
        ones() * ones()
    assert not packed_now()


def test_disabled():
    """The message of the innermost context; hooks that are set already are refused as well."""
    with graph.disable_saved_tensors_hooks("outer"):
        with pytest.raises(RuntimeError, match="^outer$"), graph.saved_tensors_hooks(same, same):
            pass
        with (
            graph.disable_saved_tensors_hooks("inner"),
            pytest.raises(RuntimeError, match="^inner$"),
            graph.save_on_cpu(),
        ):
            pass
        with pytest.raises(RuntimeError, match="^outer$"), graph.save_on_cpu():
            pass
    with (
        graph.saved_tensors_hooks(same, same),
        pytest.raises(RuntimeError, match="^late$"),
        graph.disable_saved_tensors_hooks("late"),
    ):
        pass
    with graph.save_on_cpu():
        x = ones()
        (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0] and not packed_now()


def chain():
    a, b = torch.rand(2, 3, requires_grad=True), torch.rand(2, 3, requires_grad=True)
    return a, b, a * b, a * b


def test_multi_grad_hook_waits_for_what_comes():
    """Only for the tensors that this pass computes a gradient for."""
    calls = []
    a, b, c, d = chain()
    handle = graph.register_multi_grad_hook((a, b, c, d), lambda gs: calls.append([g is not None for g in gs]))
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    (c + d).sum().backward(retain_graph=True)
    torch.autograd.grad(d.sum(), b, retain_graph=True)
    assert calls == [
        [True, True, True, False],
        [True, False, True, False],
        [True, True, True, True],
        [False, True, False, True],
    ]
    handle.remove()
    c.sum().backward()
    assert len(calls) == 4


def test_multi_grad_hook_after_an_error():
    """A pass that fails half-way leaves nothing for the next one."""
    calls, fail = [], [True]
    a, b, c, d = chain()
    graph.register_multi_grad_hook((a, c), calls.append)
    c.register_hook(lambda g: 1 / 0 if fail[0] else None)
    with pytest.raises(ZeroDivisionError):
        c.sum().backward(retain_graph=True)
    fail[0] = False
    c.sum().backward()
    assert len(calls) == 1 and all(g is not None for g in calls[0])


def test_multi_grad_hook_any():
    calls = []
    a = ones()
    b = a * 2
    c = b * 3
    handle = graph.register_multi_grad_hook((a, b, c, torch.ones(1)), lambda g: calls.append(g.tolist()), mode="any")
    c.sum().backward(retain_graph=True)
    c.sum().backward(retain_graph=True)
    handle.remove()
    c.sum().backward()
    assert calls == [[1.0, 1.0], [1.0, 1.0]]


def test_multi_grad_hook_errors():
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\) but got some"):
        graph.register_multi_grad_hook((ones(),), print, mode="some")
    with pytest.raises(AssertionError, match="Expected gradient function to be set"):
        graph.register_multi_grad_hook((torch.ones(1),), print)


PACKS = {
    "as it is": lambda t: t,
    "copied": lambda t: t.clone(),
    "without history": lambda t: t.detach().clone(),
    "as numbers": lambda t: t.tolist(),
}


@pytest.mark.parametrize("pack", PACKS)
def test_what_a_hook_returns_has_the_history_of_what_was_saved(pack):
    """First, second and mixed derivatives do not depend on hooks:
    leaves, results and values from before a change in place."""

    def derivatives():
        x, y = torch.arange(1.0, 7).div(7).reshape(2, 3).requires_grad_(), torch.tensor([0.5, 2, 1], requires_grad=True)
        z = x * y
        z[1:].mul_(x[1:])
        w = z.exp() * y
        first = torch.autograd.grad(w.sum(), (x, y), create_graph=True)
        second = torch.autograd.grad(sum(g.sin().sum() for g in first), (x, y), create_graph=True)
        third = torch.autograd.grad(second[0].sum() + (second[1] * x[0]).sum(), (x, y))
        return *first, *second, *third

    want = derivatives()
    with graph.saved_tensors_hooks(PACKS[pack], lambda v: torch.tensor(v) if isinstance(v, list) else v):
        got = derivatives()
    for a, b in zip(got, want):
        torch.testing.assert_close(a, b)
    with graph.save_on_cpu():
        got = derivatives()
    for a, b in zip(got, want):
        torch.testing.assert_close(a, b)


def test_mark_dirty_counts_a_change():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    for needs in (False, True):
        x = torch.ones(3).requires_grad_(needs) * 1
        Twice.apply(x)
        assert x._version == 2
        Twice.apply(x[1:])
        assert x._version == 4


def test_hooks_of_parameters_run_in_the_order_of_pytorchs_edges():
    """A linear layer is addmm there, whose first argument is the bias."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2, bias=False), torch.nn.LayerNorm(2))
    order = []
    for name, p in net.named_parameters():
        p.register_hook(lambda g, name=name: order.append(name))
    net(torch.ones(2, 3)).sum().backward()
    assert order == ["2.weight", "2.bias", "1.weight", "0.bias", "0.weight"]
    x, layer = ones(), torch.nn.Linear(2, 1)
    assert [e[0].variable for e in layer(x[None]).grad_fn.next_functions[:1]] == [layer.bias]
