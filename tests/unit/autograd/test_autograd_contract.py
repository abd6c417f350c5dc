"""Hooks, edges, custom Functions and views under autograd: each case runs in both libraries, and what it notes,
its error and its warnings agree."""

import importlib
import re
import warnings

import pytest

import torchlite as ours

real = pytest.importorskip("torch")
CASES = []


def case(fn):
    CASES.append(fn)
    return fn


def leaf(t):
    return t.tensor([0.5, 2.0, -1.5], dtype=t.float64, requires_grad=True)


def function(t, forward, backward, **more):
    more = {name: staticmethod(fn) for name, fn in {"forward": forward, "backward": backward, **more}.items()}
    return type("F", (t.autograd.Function,), more)


def attempt(run, *args, **kwargs):
    """The result, or the error's class and first line."""
    try:
        return run(*args, **kwargs)
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]


def seen(x):
    if isinstance(x, (ours.Tensor, real.Tensor)):
        made = attempt(lambda: x.grad_fn and x.grad_fn.name())
        return (
            tuple(x.shape),
            str(x.dtype)[-7:],
            [round(v, 6) for v in x.detach().reshape(-1).tolist()],
            x.requires_grad,
            made,
        )
    return [seen(v) for v in x] if isinstance(x, (list, tuple)) else x


def outcome(run, t):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        notes = []
        result = attempt(run, t, notes.append)
    texts = sorted({str(w.message).split(" (Triggered")[0] for w in warned})
    return re.sub("torchlite", "torch", repr((seen(result), seen(notes), texts)))


@case
def hooks_of_a_leafs_node(t, note):
    x = leaf(t)
    node = x.view_as(x).grad_fn.next_functions[0][0]
    note(
        [
            node.name(),
            node is x.view_as(x).grad_fn.next_functions[0][0],
            node.variable is x,
            node.next_functions,
            isinstance(node, t.autograd.graph.Node),
        ]
    )
    node.register_hook(lambda inputs, outputs: note(["after", inputs, outputs, x.grad.clone()]))
    node.register_prehook(lambda g: note(["before", g, x.grad]) or (g[0] * 10,))
    x.register_hook(lambda g: note(["tensor", g]))
    x.register_post_accumulate_grad_hook(lambda p: note(["added", p.grad.clone()]))
    (x * 2).sum().backward()
    (x * 3).sum().backward(inputs=[x])
    t.autograd.grad((x * 4).sum(), x)
    node(t.ones(3, dtype=t.float64))
    return x.grad


@case
def gradients_are_added_as_soon_as_they_are_complete(t, note):
    a, b = leaf(t), leaf(t)
    a.register_post_accumulate_grad_hook(lambda p: note("a"))
    b.register_post_accumulate_grad_hook(lambda p: note("b"))
    y = (a * 2).exp()
    y.register_hook(lambda g: note(b.grad is not None))
    (y * b + (a * b).sin()).sum().backward()
    return a.grad, b.grad


@case
def a_gradient_that_a_hook_kept_is_not_changed(t, note):
    kept = []
    x = leaf(t)
    x.register_hook(kept.append)
    x.register_post_accumulate_grad_hook(lambda p: None)
    (x * 2).exp().sum().backward()
    x.grad.zero_()
    return kept


@case
def what_a_tensors_hook_returns(t, note):
    ones = t.ones(3, dtype=t.float64)
    for new in (1, "x", [1], None, t.ones(3), t.ones(2, dtype=t.float64), ones, ones * 1j):
        for make in (leaf, lambda t: leaf(t) * 1):
            y = make(t)
            y.register_hook(lambda g, new=new: new)
            note(attempt((y * 2).sum().backward))


@case
def what_a_nodes_hook_returns(t, note):
    ones = t.ones(3, dtype=t.float64)
    for new in (1, (ones,), [ones], (), (None,), (ones, ones), ones, t.ones(2), (1,), (t.ones(3),)):
        for register in ("register_hook", "register_prehook"):
            x = leaf(t)
            y = x.exp()
            getattr(y.grad_fn, register)(lambda *_, new=new: new)
            note([attempt(y.sum().backward), x.grad])


@case
def edges_in_place_of_tensors(t, note):
    x, y = leaf(t), leaf(t)
    z = x * y
    edge, ones = t.autograd.graph.get_gradient_edge, t.ones(3, dtype=t.float64)
    note(t.autograd.grad(edge(z), x, ones, retain_graph=True))
    note(t.autograd.grad(z.exp().sum(), edge(z), retain_graph=True))
    note(t.autograd.grad(z.sum(), [edge(x), y], retain_graph=True))
    note(attempt(t.autograd.grad, x.sum(), edge(y)))
    note(attempt(t.autograd.grad, x.sum(), [edge(y), x], allow_unused=True))
    t.autograd.backward(edge(z), ones, retain_graph=True)
    z.sum().backward(inputs=[edge(y)])
    return x.grad, y.grad


@case
def gradients_and_inputs_that_do_not_fit(t, note):
    x, other = leaf(t), leaf(t)
    y, ones = x.exp(), t.ones(3, dtype=t.float64)
    rows = t.ones(2, 3, dtype=t.float64)
    grad, backward = t.autograd.grad, t.autograd.backward
    for call in (
        lambda: grad(y.sum(), []),
        lambda: grad([y, y.sum()], x, [ones]),
        lambda: grad(y.sum(), (x, None)),
        lambda: grad("a", x),
        lambda: grad(y.sum(), "a"),
        lambda: backward([None]),
        lambda: backward([y, y], [ones]),
        lambda: y.sum().backward(inputs=t.ones(1)),
        lambda: backward(y.sum(), ones[0], grad_variables=ones[0]),
        lambda: grad(y, x, is_grads_batched=True),
        lambda: grad([y, y], x, [rows, rows[:1]], is_grads_batched=True, retain_graph=True),
        lambda: grad(y, x, rows[:0], is_grads_batched=True),
        lambda: grad(y, [x, other], rows, is_grads_batched=True, allow_unused=True, retain_graph=True)[0],
        lambda: grad(y.sum(), x, only_inputs=False, retain_graph=True),
    ):
        note(attempt(call))


@case
def old_name_of_the_gradients(t, note):
    x = leaf(t)
    t.autograd.backward(x.exp().sum(), grad_variables=t.tensor(3.0, dtype=t.float64))
    return x.grad


@case
def inputs_that_are_no_leaves_keep_their_gradient(t, note):
    x = leaf(t)
    y = x.exp()
    (y * y).sum().backward(inputs=[y, x])
    return y.grad, x.grad, y.retains_grad


@case
def callbacks_at_the_end(t, note):
    x = leaf(t)
    engine = t.autograd.Variable._execution_engine
    y = x.exp()
    y.register_hook(lambda g: engine.queue_callback(lambda: note(["end", x.grad])))
    y.register_hook(lambda g: note(t._C._current_graph_task_id() >= 0))
    y.sum().backward()
    note(t._C._current_graph_task_id())
    return attempt(engine.queue_callback, print)


@case
def a_number_that_was_saved_is_freed(t, note):
    for f in (
        lambda x: x * 2,
        lambda x: 2 * x,
        lambda x: x / 2,
        lambda x: x + 2,
        lambda x: x - 2,
        lambda x: -x,
        lambda x: x[1:].mul_(2),
    ):
        y = f(leaf(t) * 1).sum()
        y.backward()
        note(attempt(y.backward))


@case
def hooks_on_saved_tensors(t, note):
    hooks = t.autograd.graph.saved_tensors_hooks
    x = leaf(t)
    with hooks(lambda v: note([v.requires_grad, v.is_leaf]) or v, lambda v: v):
        (x * 1).sin().square()
        x.sin()
    with hooks(lambda v: v, lambda v: 3):
        y = x.sin()
    note(attempt(y.sum().backward))
    with hooks(lambda v: v.mul_(2), lambda v: v):
        note(attempt(leaf(t).exp))
    note(attempt(x.cos().sum().backward))


@case
def requires_grad_is_a_bool(t, note):
    x = t.ones(2)
    for run in (
        lambda: x.requires_grad_(None),
        lambda: x.requires_grad_(1),
        lambda: setattr(x, "requires_grad", 1),
        lambda: setattr(x, "requires_grad", None),
        lambda: delattr(x, "requires_grad"),
        lambda: delattr(x, "data"),
    ):
        note(attempt(run))


@case
def keywords_of_a_function(t, note):
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, g * a

    def forward(ctx, a, b=None, k=5, *, only=1):
        note(ctx.needs_input_grad)
        ctx.save_for_backward(a, b)
        return a * b

    kind = function(t, forward, backward)
    x, y = leaf(t), leaf(t)
    for args, kwargs in (
        ((x,), {"b": y}),
        ((), {"b": y, "a": x}),
        ((x, y), {"only": 2}),
        ((x,), {"k": 3}),
        ((x, y), {"b": y}),
        ((x,), {"c": 1}),
    ):
        r = attempt(kind.apply, *args, **kwargs)
        note(r)
        if isinstance(r, t.Tensor):
            note(t.autograd.grad(r.sum(), [x, y]))


@case
def keywords_of_a_function_with_setup_context(t, note):
    def forward(a, k=2):
        return a * k

    def setup_context(ctx, inputs, output):
        note(inputs)
        ctx.k = inputs[1]

    kind = function(t, forward, lambda ctx, g: (g * ctx.k, None), setup_context=setup_context)
    x = leaf(t)
    for args, kwargs in (
        ((x,), {}),
        ((x, 3), {}),
        ((x,), {"k": 4}),
        ((), {"k": 4, "a": x}),
        ((x,), {"z": 1}),
        ((), {}),
    ):
        r = attempt(kind.apply, *args, **kwargs)
        note(r if isinstance(r, tuple) else t.autograd.grad(r.sum(), x))


@case
def one_input_returned_twice(t, note):
    x = leaf(t)
    a, b = function(t, lambda ctx, a, b: (a, b), lambda ctx, g, h: (g * 2, h * 3)).apply(x, x)
    note(a is b)
    (a * 5 + b * 7).sum().backward()
    return x.grad


@case
def an_input_and_a_view_that_a_function_returns(t, note):
    for forward in (lambda ctx, a: a, lambda ctx, a: a[1:], lambda ctx, a: (a * 2)[1:]):
        x = leaf(t)
        z = x * 1
        r = function(t, forward, lambda ctx, g: t.cat([g, g])[:3] * 5).apply(z)
        note([r, r._is_view()])
        note(attempt(lambda: r.mul_(2)))
        z.mul_(2)  # what r shows has changed: its history is lost
        note(attempt(lambda: r.sum().backward()))
        note(x.grad)


@case
def what_a_function_marks(t, note):
    def forward(mark, result):
        def run(ctx, a, n):
            mark(ctx, a, n)
            return result(a, n)

        return run

    for mark, result in (
        (lambda ctx, a, n: ctx.mark_dirty(3), lambda a, n: a * 1),
        (lambda ctx, a, n: ctx.mark_non_differentiable("a"), lambda a, n: a * 1),
        (lambda ctx, a, n: ctx.mark_dirty(n), lambda a, n: (a * 1, n.add_(1))),
        (lambda ctx, a, n: ctx.mark_dirty(a), lambda a, n: a.mul_(2)),
        (lambda ctx, a, n: ctx.mark_non_differentiable(a), lambda a, n: (a, a * 2)),
        (lambda ctx, a, n: None, lambda a, n: (a * 1, n, n[1:])),
    ):
        z, n = leaf(t) * 1, t.arange(3)
        r = attempt(function(t, forward(mark, result), lambda ctx, *g: (g[0], None)).apply, z, n)
        note([r, [v is z or v is n for v in r] if isinstance(r, tuple) else r is z, z._version, n._version])


@case
def functions_that_are_made_wrongly(t, note):
    plain = function(t, lambda ctx, a: a * 2, lambda ctx, g: g * 2)
    made = attempt(plain)
    note(type(made).__name__)
    note(attempt(made, leaf(t)))
    both = function(t, lambda ctx, a: a * 2, lambda ctx, g: g, vjp=lambda ctx, g: g)
    note(attempt(lambda: both.apply(leaf(t)).sum().backward()))
    saves = function(
        t, lambda a: a, lambda ctx, g: g, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0])
    )
    note(attempt(lambda: saves.apply(leaf(t))))


@case
def views_of_what_no_grad_changed(t, note):
    """A view finds its history anew after every change; several views of one op cannot."""
    for view in (lambda z: z[1:], lambda z: z.view(3), lambda z: z.chunk(2)[0], lambda z: z.unbind()[0]):
        x = leaf(t)
        z = x * 1
        v = view(z)
        with t.no_grad():
            z.mul_(2)
        note(attempt(lambda: t.autograd.grad(v.sum(), x)))


@case
def which_hooks_a_pass_runs(t, note):
    """grad() runs the hooks of the tensors it was asked for, and of their nodes only where it goes on below."""
    a = leaf(t)
    b = a.exp()
    c = b.sin().sum()
    node = b.grad_fn.next_functions[0][0]
    for kind, register in (
        ("before leaf", node.register_prehook),
        ("before", b.grad_fn.register_prehook),
        ("a", a.register_hook),
        ("b", b.register_hook),
        ("after", b.grad_fn.register_hook),
        ("after leaf", node.register_hook),
    ):
        register(lambda *_, kind=kind: note(kind))
    for inputs in ([b], [a, b], [a], None):
        note("grad" if inputs else "backward")
        t.autograd.grad(c, inputs, retain_graph=True) if inputs else c.backward(retain_graph=True)
    note("inputs")
    c.backward(inputs=[a, b])


@case
def edges_know_their_shape(t, note):
    x = leaf(t)
    edge = t.autograd.graph.get_gradient_edge
    for y in (x.exp(), x.exp().sum()):
        for g in (None, t.ones(4), t.ones((), dtype=t.float64), t.ones(3, dtype=t.complex64)):
            note(attempt(t.autograd.grad, edge(y), x, g, retain_graph=True))
    note(t.autograd.grad(x.sum(), [edge(leaf(t))], materialize_grads=True))


@case
def saved_tensors_of_a_checkpoint(t, note):
    """Each look, and each backward pass, runs the function again."""
    y = checkpoint_of(t).checkpoint(lambda a: (note("run"), a.exp())[1], leaf(t), use_reentrant=False)
    for _ in range(2):
        note(y.grad_fn._saved_result)
        y.sum().backward(retain_graph=True)


def checkpoint_of(t):
    return importlib.import_module(t.__name__ + ".utils.checkpoint")


@case
def checkpoints_of_what_changes_or_differs(t, note):
    def changes(a):
        a.mul_(2)
        return a * a

    def twice(a):
        runs.append(1)
        return a.sin() if len(runs) == 1 else a * a * a

    def fewer(a):
        runs.append(1)
        return (a.sin() * a).exp() if len(runs) == 1 else a.exp()

    checkpoint = checkpoint_of(t).checkpoint
    for f in (changes, twice, fewer, lambda a: (note("run"), a.exp(), note("late"), a * 1)[1]):
        for options in ({}, {"early_stop": False}, {"determinism_check": "x"}, {"determinism_check": "none"}):
            runs, x = [], leaf(t)
            note([attempt(lambda: checkpoint(f, x * 1, use_reentrant=False, **options).sum().backward()), x.grad])


@case
def checkpoints_and_grad(t, note):
    checkpoint = checkpoint_of(t).checkpoint
    x = leaf(t)
    note(attempt(lambda: t.autograd.grad(checkpoint(t.sin, x * 1, use_reentrant=True).sum(), x)))
    note(attempt(lambda: checkpoint(t.sin, x * 1, use_reentrant=True).sum().backward(inputs=[x])))
    with checkpoint_of(t).set_checkpoint_early_stop(False):
        y = checkpoint(lambda a: (a.sin(), note("ran"))[0], x, use_reentrant=False)
    y.sum().backward()
    return x.grad


@case
def anomaly_mode_says_what_it_is(t, note):
    x = leaf(t)
    with t.autograd.detect_anomaly(check_nan=False):
        note([t.is_anomaly_enabled(), t.is_anomaly_check_nan_enabled()])
        note(attempt(lambda: x.sqrt().sum().backward()))
    with t.autograd.set_detect_anomaly(True):
        note([t.is_anomaly_enabled(), t.is_anomaly_check_nan_enabled()])
    with t.autograd.set_multithreading_enabled(False):
        note(t.autograd.is_multithreading_enabled())
    return t.is_anomaly_enabled(), t.autograd.is_multithreading_enabled()


@case
def what_a_backward_switches_ends_with_it(t, note):
    def backward(ctx, g):
        t.set_grad_enabled(True)
        return g * 2

    x = leaf(t)
    y = function(t, lambda ctx, a: a * 2, backward).apply(x.exp())
    y.sum().backward()
    note([x.grad, t.is_grad_enabled()])
    hooks = t.autograd.graph.saved_tensors_hooks
    inner = hooks(lambda v: note("packed") or v, lambda v: v)
    with hooks(lambda v: v, lambda v: inner.__enter__() or v):
        y = x.exp()
    y.sum().backward()
    x.sin()


@case
def inference_tensors_have_no_version(t, note):
    with t.inference_mode():
        x = t.ones(3)
    return attempt(lambda: x._version)


@pytest.mark.parametrize("run", CASES, ids=lambda run: run.__name__)
def test_as_pytorch(run):
    assert outcome(run, ours) == outcome(run, real)
