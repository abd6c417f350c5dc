"""Unusual graphs and memory, each compared with PyTorch: views made under no_grad,
in-place changes of views of any layout, hooks and Functions that return something else,
gradients that need not be kept."""

import gc
import warnings

import pytest

import torchlite as ours

real = pytest.importorskip("torch")
CASES = []


def case(fn):
    CASES.append(fn)
    return fn


def leaf(t, *shape):
    n = 1
    for s in shape:
        n *= s
    return (t.arange(1.0, n + 1).reshape(shape) / 3).requires_grad_()


def fn(t, forward, backward):
    return type("F", (t.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def plain(m, x):
    if isinstance(x, m.Tensor):
        return str(x.dtype), tuple(x.shape), x.detach().tolist(), x.requires_grad, x.is_leaf
    return [plain(m, v) for v in x] if isinstance(x, (list, tuple)) else x


def outcome(m, run):
    try:
        return plain(m, run(m))
    except Exception as error:
        return type(error).__name__, str(error).strip()[:60]


def close(a, b):
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b))
    return (
        a == b
        or isinstance(a, float)
        and isinstance(b, float)
        and (abs(a - b) <= 1e-5 * (1 + abs(b)) or a != a and b != b)
    )


@case
def view_made_nograd_then_inplace(t):
    x = leaf(t, 3, 4)
    y = x * 2
    w = leaf(t, 4)
    with t.no_grad():
        v = y[1]
    v.mul_(w)
    y.sum().backward()
    return x.grad, w.grad


@case
def view_made_nograd_then_inplace_const(t):
    x = leaf(t, 3, 4)
    y = x * 2
    with t.no_grad():
        v = y[1]
    v.mul_(2)
    y.sum().backward()
    return x.grad, v.requires_grad


@case
def view_made_nograd_of_leaf(t):
    x = leaf(t, 3, 4)
    with t.no_grad():
        v = x[1]
    v.mul_(2)
    return x, v.requires_grad, x._version


@case
def view_nograd_base(t):
    x = leaf(t, 3, 4)
    with t.no_grad():
        v = x[1]
    return v._base is x, v.requires_grad, v._is_view()


@case
def inplace_view_multi(t):
    x = leaf(t, 4)
    y = x * 2
    a, b = y.chunk(2)
    a.mul_(2)
    y.sum().backward()
    return x.grad


@case
def inplace_noncontig_base(t):
    x = leaf(t, 3, 4)
    y = x.t() * 2
    y[1].mul_(3)
    y.pow(2).sum().backward()
    return x.grad


@case
def hook_wrong_type(t):
    x = leaf(t, 3)
    y = x * 2
    y.register_hook(lambda g: 5)
    y.sum().backward()
    return x.grad


@case
def hook_wrong_shape(t):
    x = leaf(t, 3)
    y = x * 2
    y.register_hook(lambda g: t.ones(4))
    y.sum().backward()
    return x.grad


@case
def hook_raises_then_again(t):
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
def twice_ok_no_saved(t):
    x = leaf(t, 3)
    y = (x + x).sum()
    y.backward()
    y.backward()
    return x.grad


@case
def f_return_input_nograd(t):
    F = fn(t, lambda c, x: x, lambda c, g: g * 3)
    x = t.ones(3)
    y = F.apply(x)
    return y is x, y.requires_grad


@case
def f_wrong_type(t):
    F = fn(t, lambda c, x: x * 2, lambda c, g: 3.0)
    x = leaf(t, 3)
    F.apply(x).sum().backward()
    return x.grad


@case
def f_dirty_leaf(t):
    F = fn(t, lambda c, x: (c.mark_dirty(x), x.mul_(2))[1], lambda c, g: g * 2)
    x = leaf(t, 3)
    r = F.apply(x)
    return r


@case
def f_dirty_unreturned(t):
    F = fn(t, lambda c, x: (c.mark_dirty(x), x.mul_(2), x * 3)[2], lambda c, g: g * 2)
    x = leaf(t, 3)
    y = x * 1
    r = F.apply(y)
    return r


@case
def f_same_output_twice(t):
    F = fn(t, lambda c, x: (lambda y: (y, y))(x * 2), lambda c, a, b: a * 2 + b * 5)
    x = leaf(t, 3)
    r = F.apply(x)
    (r[0] + 2 * r[1]).sum().backward()
    return x.grad


@case
def f_returns_view_inplace(t):
    F = fn(t, lambda c, x: x.view(-1), lambda c, g: g.view(2, 2))
    x = leaf(t, 2, 2)
    r = F.apply(x * 1)
    r.mul_(2)
    return r


@case
def f_needs_nograd(t):
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
def f_complex_grad_real_input(t):
    F = fn(t, lambda c, x: x * 2, lambda c, g: g * (1 + 2j))
    x = leaf(t, 3)
    F.apply(x).sum().backward()
    return x.grad


@case
def ag_backward_inputs_dup(t):
    x = leaf(t, 3)
    y = leaf(t, 3)
    (x * y).sum().backward(inputs=[x, x])
    return x.grad, y.grad


@case
def retain_grad_inplace(t):
    x = leaf(t, 3)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    return y.grad, x.grad


@case
def retain_grad_alias(t):
    x = leaf(t, 3)
    y = x * 2
    y.retain_grad()
    z = y.view(3)
    z.sum().backward()
    y.grad.mul_(3)
    return x.grad


@case
def set_data_dtype(t):
    x = leaf(t, 3)
    x.data = t.zeros(3, dtype=t.int64)
    return x


@case
def infer_inplace_outside(t):
    with t.inference_mode():
        y = t.ones(3)
    y.add_(1)
    return y


@case
def infer_normal_view(t):
    x = leaf(t, 3)
    y = x * 2
    with t.inference_mode():
        v = y[:2]
    return v.is_inference(), v.requires_grad


@case
def infer_nested(t):
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
def nograd_out_reqs(t):
    x = leaf(t, 3)
    with t.no_grad():
        y = x * 2
        z = x.view(3)
        x.detach()
        n = t.nn.Parameter(t.ones(2))
    return y.requires_grad, z.requires_grad, n.requires_grad


@case
def inplace_real(t):
    x = leaf(t, 3)
    y = t.complex(x, x * 2) * 1
    y.real.mul_(3)
    y.abs().pow(2).sum().backward()
    return x.grad


@case
def inplace_view_as_real(t):
    x = leaf(t, 3, 2)
    y = t.view_as_complex(x * 1.0)
    y.mul_(1j)
    t.view_as_real(y).pow(3).sum().backward()
    return x.grad


@case
def inplace_squeeze_(t):
    x = leaf(t, 1, 3)
    y = x * 1
    y.squeeze_(0)
    y.mul_(2)
    y.sum().backward()
    return x.grad, y.shape


@case
def inplace_t_(t):
    x = leaf(t, 2, 3)
    y = x * 1
    y.t_()
    (y * t.arange(6.0).reshape(3, 2)).sum().backward()
    return x.grad


@case
def inplace_unsq(t):
    x = leaf(t, 3)
    y = x * 1
    y.unsqueeze_(0)
    (y * 2).sum().backward()
    return x.grad


@case
def inplace_transpose_view(t):
    x = leaf(t, 2, 3)
    y = x * 1
    v = y[0:1]
    v.transpose_(0, 1)
    (v * 2).sum().backward()
    return x.grad, v.shape


@case
def as_strided_noncontig_grad(t):
    x = leaf(t, 2, 3)
    y = x.t().as_strided((2, 2), (1, 2))
    (y * t.arange(4.0).reshape(2, 2)).sum().backward()
    return x.grad


def changed_after(name, op, *shape):
    """A case: the argument of an op changes before the backward pass, which may need it or not."""

    def run(t):
        x = leaf(t, *shape)
        a = x * 1
        y = op(t, a)
        a.add_(1)
        y.sum().backward()
        return x.grad

    run.__name__ = name
    case(run)


changed_after("unneeded_self", lambda t, a: a * t.ones(3), 3)
changed_after("unneeded_mm", lambda t, a: a @ t.ones(2, 2), 2, 2)
changed_after("unneeded_linear", lambda t, a: t.nn.functional.linear(a, t.ones(2, 2)), 2, 2)
changed_after("unneeded_lerp", lambda t, a: t.lerp(a, t.ones(2), 0.3), 2)
changed_after("needed_self_err", lambda t, a: a * leaf(t, 3), 3)


@case
def unneeded_pow(t):
    x = leaf(t, 3)
    y = x**2.0
    y.add_(1)
    y.sum().backward()
    return x.grad


@case
def out_inplace_sum(t):
    x = leaf(t, 3)
    y = x.sum(0)
    y.mul_(2)
    y.backward()
    return x.grad


@case
def t_inplace_base_views(t):
    x = leaf(t, 2, 3)
    y = x * 1
    v = y[0]
    y.t_()
    y[0].mul_(5)
    (v * v).sum().backward()
    return x.grad


@case
def view_t_inplace_base(t):
    x = leaf(t, 2, 3)
    y = x * 1
    v = y[:, :2]
    v.t_()
    y.mul_(2)
    v.mul_(3)
    (v * t.arange(4.0).reshape(2, 2)).sum().backward(retain_graph=True)
    y.sum().backward()
    return x.grad, v


@case
def unsq_leaf_nograd(t):
    x = leaf(t, 3)
    with t.no_grad():
        x.unsqueeze_(0)
    return x, x._version


@case
def cplx_inplace2(t):
    x = leaf(t, 2, 2)
    z = t.view_as_complex(x * 1.0)
    z.imag.mul_(2)
    z[0] = z[1] * 1j
    t.view_as_real(z).pow(2).sum().backward()
    return x.grad


@case
def cplx_inplace3(t):
    x = leaf(t, 4)
    z = t.complex(x, x) * (1 + 1j)
    z[1:3].real.add_(z.imag[1:3].clone())
    (z.abs() ** 2).sum().backward()
    return x.grad


@case
def noncontig_setitem(t):
    x = leaf(t, 3, 4)
    y = (x * 2).t()
    y = y.clone(memory_format=t.preserve_format)
    y[1] = x[0, :3]
    y[:, 1] *= 2
    y.pow(2).sum().backward()
    return x.grad


@case
def cl_setitem(t):
    x = leaf(t, 1, 2, 2, 2)
    y = (x * 2).contiguous(memory_format=t.channels_last)
    y[:, 0] *= 3
    y.pow(2).sum().backward()
    return x.grad


@case
def asstrided_expanded(t):
    x = leaf(t, 3)
    y = x.expand(2, 3).as_strided((3,), (1,))
    (y * t.arange(3.0)).sum().backward()
    return x.grad


@case
def asstrided_slice(t):
    x = leaf(t, 6)
    y = x[2:5].as_strided((2,), (1,))
    (y * t.arange(1.0, 3.0)).sum().backward()
    return x.grad


@case
def asstrided_slice_off(t):
    x = leaf(t, 6)
    y = x[2:5].as_strided((2,), (1,), 3)
    (y * t.arange(1.0, 3.0)).sum().backward()
    return x.grad


@case
def asstrided_double(t):
    x = leaf(t, 6)
    y = x.as_strided((2, 3), (1, 2))
    (g,) = t.autograd.grad((y**3).sum(), x, create_graph=True)
    g.sum().backward()
    return x.grad


@case
def copyslices_double(t):
    x = leaf(t, 4)
    y = x * 1
    y[1:3] = y[:2].clone() ** 2
    (g,) = t.autograd.grad((y**2).sum(), x, create_graph=True)
    g.sum().backward()
    return x.grad


@case
def retain_after_view_inplace(t):
    x = leaf(t, 4)
    y = x * 1
    v = y[:2]
    y.retain_grad()
    v.retain_grad()
    v.mul_(3)
    (y**2).sum().backward()
    return x.grad, y.grad


@case
def inference_tensor_set_item(t):
    with t.inference_mode():
        y = t.ones(3)
    y[0] = 5
    return y


@case
def inference_tensor_as_out(t):
    with t.inference_mode():
        y = t.ones(3)
    t.add(t.ones(3), 1, out=y)
    return y


@case
def inference_tensor_data(t):
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
def unrecorded_view_leads_nowhere(t):
    p, q = leaf(t, 4), leaf(t, 4)
    with t.no_grad():
        v = p.view(4)
    (v * q).sum().backward()
    return p.grad, v.grad, q.grad


# Views of a tensor that is changed: several that one op returned, those made under no_grad, and views of such ones.
SPLITS = {
    "split": lambda z: z.split(2),
    "chunk": lambda z: z.chunk(2),
    "unbind": lambda z: z.unbind(),
    "tensor_split": lambda z: z.tensor_split(2),
    "hsplit": lambda z: z.hsplit(2),
    "iteration": list,
    "indices": lambda z: [z[0], z[1]],
    "view of one": lambda z: [z.unbind()[1].view(-1)],
}
CHANGES = {
    "base": lambda t, z, a: z.mul_(2),
    "another view": lambda t, z, a: z[0].mul_(2),
    "itself": lambda t, z, a: a[0].mul_(2),
    "without recording": lambda t, z, a: _no_grad(t, lambda: a[0].mul_(2)),
    "a view of it": lambda t, z, a: a[0].view(-1).mul_(2),
    "by a tensor with history": lambda t, z, a: a[0].mul_(leaf(t, 1)),
}


def _no_grad(t, run):
    with t.no_grad():
        return run()


def _use(t, z, views):
    x = z.sum() + sum((v * v).sum() for v in views)
    x.backward()
    return [v.requires_grad for v in views]


for split, change, plain_base, unrecorded in [
    (s, c, p, u) for s in SPLITS for c in CHANGES for p in (0, 1) for u in (0, 1)
]:

    def view_of_changed(t, split=SPLITS[split], change=CHANGES[change], plain_base=plain_base, unrecorded=unrecorded):
        x = leaf(t, 4, 2)
        z = t.ones(4, 2) if plain_base else x * 2
        views = _no_grad(t, lambda: split(z)) if unrecorded else split(z)
        change(t, z, views)
        used = _use(t, z, views) if z.requires_grad else []
        return [used, x.grad, [v.is_leaf for v in views]]

    view_of_changed.__name__ = "changed %s of %s%s%s" % (
        change,
        split,
        ", no history" if plain_base else "",
        ", no_grad" if unrecorded else "",
    )
    CASES.append(view_of_changed)


@case
def base_that_requires_grad_after_its_view_was_written(t):
    z = t.ones(3)
    v = z[1:]
    v.sub_(0.5)
    z.requires_grad_()
    (v * v).sum().backward()
    return [v.is_leaf, z.grad]


@case
def view_of_a_base_that_was_detached(t):
    z = leaf(t, 3, 2) * 1
    v = z[0]
    z.mul_(2)
    assert v.grad_fn is not None
    z.detach_()
    v.mul_(2)


@case
def comparison_in_place_with_what_needs_a_gradient(t):
    x, y = leaf(t, 3), t.ones(3)
    y.eq_(x)
    z = leaf(t, 3) * 1
    z.lt_(x).le_(2)
    plain = t.ones(3)
    plain.gt_(0.5)
    return [y.requires_grad, t.autograd.grad(y.sum() + z.sum(), x)[0], plain.requires_grad]


@case
def set_of_leaf(t):
    leaf(t, 2).set_(t.zeros(2))


@case
def set_of_result(t):
    z = leaf(t, 2) * 1
    z.set_(t.zeros(2))
    z.sum().backward()


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
    fn(t, forward, backward).apply(t.full((4,), 3.0), z).sum().backward()
    return [x.grad, z]


@case
def function_that_changes_a_view_and_returns_two(t):
    def forward(ctx, b, a):
        ctx.mark_dirty(b)
        return b.mul_(2), a * 2

    x = leaf(t, 4)
    return fn(t, forward, lambda ctx, g, h: (g * 2, h * 2)).apply((x * 1)[1:], x)


@case
def l1_loss_of_what_is_written_to_later(t):
    grads = []
    for reduction in ("mean", "sum", "none"):
        x, y = leaf(t, 2, 3), leaf(t, 2, 3)
        a, b = x * 2, y * 1
        loss = t.nn.functional.l1_loss(a, b, reduction=reduction)
        a.relu_()
        b.zero_()
        grads += [loss, *t.autograd.grad(loss.sum(), [x, y])]
    return grads


@pytest.mark.parametrize("run", CASES, ids=lambda run: run.__name__)
def test_case(run):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got, want = outcome(ours, run), outcome(real, run)
    assert close(got, want), (got, want)


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
        lambda t, x: t.linalg.ldl_factor(x @ x.t())[0],
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
