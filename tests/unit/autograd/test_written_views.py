"""Views and tensors that are written after others depend on them, each case beside PyTorch.

Views made under no_grad, in-place changes of views of any layout, tensors that a gradient does or does not need.
"""

import pytest
from graph_cases import check, leaf

real = pytest.importorskip("torch")
CASES = []


def case(program):
    CASES.append(program)
    return program


@case
def write_of_a_tensor_with_history_to_a_view_made_under_no_grad(t):
    x = leaf(t, 3, 4)
    y = x * 2
    w = leaf(t, 4)
    with t.no_grad():
        v = y[1]
    v.mul_(w)
    y.sum().backward()
    return x.grad, w.grad


@case
def write_of_a_number_to_a_view_made_under_no_grad(t):
    x = leaf(t, 3, 4)
    y = x * 2
    with t.no_grad():
        v = y[1]
    v.mul_(2)
    y.sum().backward()
    return x.grad, v.requires_grad


@case
def write_to_a_view_of_a_leaf_made_under_no_grad(t):
    x = leaf(t, 3, 4)
    with t.no_grad():
        v = x[1]
    v.mul_(2)
    return x, v.requires_grad, x._version


@case
def view_of_a_leaf_made_under_no_grad_has_a_base(t):
    x = leaf(t, 3, 4)
    with t.no_grad():
        v = x[1]
    return v._base is x, v.requires_grad, v._is_view()


@case
def write_to_one_of_several_views(t):
    x = leaf(t, 4)
    y = x * 2
    a, b = y.chunk(2)
    a.mul_(2)
    y.sum().backward()
    return x.grad


@case
def write_to_a_view_of_a_base_by_columns(t):
    x = leaf(t, 3, 4)
    y = x.t() * 2
    y[1].mul_(3)
    y.pow(2).sum().backward()
    return x.grad


@case
def write_to_the_real_part(t):
    x = leaf(t, 3)
    y = t.complex(x, x * 2) * 1
    y.real.mul_(3)
    y.abs().pow(2).sum().backward()
    return x.grad


@case
def write_to_view_as_complex(t):
    x = leaf(t, 3, 2)
    y = t.view_as_complex(x * 1.0)
    y.mul_(1j)
    t.view_as_real(y).pow(3).sum().backward()
    return x.grad


@case
def squeeze_in_place(t):
    x = leaf(t, 1, 3)
    y = x * 1
    y.squeeze_(0)
    y.mul_(2)
    y.sum().backward()
    return x.grad, y.shape


@case
def t_in_place(t):
    x = leaf(t, 2, 3)
    y = x * 1
    y.t_()
    (y * t.arange(6.0).reshape(3, 2)).sum().backward()
    return x.grad


@case
def unsqueeze_in_place(t):
    x = leaf(t, 3)
    y = x * 1
    y.unsqueeze_(0)
    (y * 2).sum().backward()
    return x.grad


@case
def transpose_in_place_of_a_view(t):
    x = leaf(t, 2, 3)
    y = x * 1
    v = y[0:1]
    v.transpose_(0, 1)
    (v * 2).sum().backward()
    return x.grad, v.shape


@case
def as_strided_of_a_matrix_by_columns(t):
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


changed_after("factor_that_is_not_needed", lambda t, a: a * t.ones(3), 3)
changed_after("matrix_that_is_not_needed", lambda t, a: a @ t.ones(2, 2), 2, 2)
changed_after("input_of_linear_that_is_not_needed", lambda t, a: t.nn.functional.linear(a, t.ones(2, 2)), 2, 2)
changed_after("start_of_lerp_that_is_not_needed", lambda t, a: t.lerp(a, t.ones(2), 0.3), 2)
changed_after("factor_that_is_needed", lambda t, a: a * leaf(t, 3), 3)


@case
def write_to_a_result_that_pow_does_not_save(t):
    x = leaf(t, 3)
    y = x**2.0
    y.add_(1)
    y.sum().backward()
    return x.grad


@case
def write_to_a_sum(t):
    x = leaf(t, 3)
    y = x.sum(0)
    y.mul_(2)
    y.backward()
    return x.grad


@case
def t_in_place_of_a_base_with_views(t):
    x = leaf(t, 2, 3)
    y = x * 1
    v = y[0]
    y.t_()
    y[0].mul_(5)
    (v * v).sum().backward()
    return x.grad


@case
def t_in_place_of_a_view_and_writes_to_its_base(t):
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
def unsqueeze_in_place_of_a_leaf_under_no_grad(t):
    x = leaf(t, 3)
    with t.no_grad():
        x.unsqueeze_(0)
    return x, x._version


@case
def write_to_the_imaginary_part_and_an_element(t):
    x = leaf(t, 2, 2)
    z = t.view_as_complex(x * 1.0)
    z.imag.mul_(2)
    z[0] = z[1] * 1j
    t.view_as_real(z).pow(2).sum().backward()
    return x.grad


@case
def write_to_the_real_part_of_a_slice(t):
    x = leaf(t, 4)
    z = t.complex(x, x) * (1 + 1j)
    z[1:3].real.add_(z.imag[1:3].clone())
    (z.abs() ** 2).sum().backward()
    return x.grad


@case
def setitem_of_a_tensor_by_columns(t):
    x = leaf(t, 3, 4)
    y = (x * 2).t()
    y = y.clone(memory_format=t.preserve_format)
    y[1] = x[0, :3]
    y[:, 1] *= 2
    y.pow(2).sum().backward()
    return x.grad


@case
def setitem_of_channels_last(t):
    x = leaf(t, 1, 2, 2, 2)
    y = (x * 2).contiguous(memory_format=t.channels_last)
    y[:, 0] *= 3
    y.pow(2).sum().backward()
    return x.grad


@case
def as_strided_of_an_expanded_tensor(t):
    x = leaf(t, 3)
    y = x.expand(2, 3).as_strided((3,), (1,))
    (y * t.arange(3.0)).sum().backward()
    return x.grad


@case
def as_strided_of_a_slice(t):
    x = leaf(t, 6)
    y = x[2:5].as_strided((2,), (1,))
    (y * t.arange(1.0, 3.0)).sum().backward()
    return x.grad


@case
def as_strided_of_a_slice_with_an_offset(t):
    x = leaf(t, 6)
    y = x[2:5].as_strided((2,), (1,), 3)
    (y * t.arange(1.0, 3.0)).sum().backward()
    return x.grad


@case
def second_gradient_of_as_strided(t):
    x = leaf(t, 6)
    y = x.as_strided((2, 3), (1, 2))
    (g,) = t.autograd.grad((y**3).sum(), x, create_graph=True)
    g.sum().backward()
    return x.grad


@case
def second_gradient_of_a_write_to_a_slice(t):
    x = leaf(t, 4)
    y = x * 1
    y[1:3] = y[:2].clone() ** 2
    (g,) = t.autograd.grad((y**2).sum(), x, create_graph=True)
    g.sum().backward()
    return x.grad


@case
def retained_gradients_of_a_base_and_its_view(t):
    x = leaf(t, 4)
    y = x * 1
    v = y[:2]
    y.retain_grad()
    v.retain_grad()
    v.mul_(3)
    (y**2).sum().backward()
    return x.grad, y.grad


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


@pytest.mark.parametrize("program", CASES, ids=lambda program: program.__name__)
def test_as_pytorch(program):
    check(program, real)
