"""Corners of the graph, compared with PyTorch: saved tensors and their hooks, parts that are no views, names of nodes,
views of inference mode, empty convolutions."""

import re

import pytest

import torchlite
from alike import alike, cases, outcome, torch

LEAD = "x = torch.ones(2, 2, requires_grad=True); "


def shown(lib, line):
    return re.sub(r"object at 0x\w+", "object", repr(outcome(lib, LEAD + line)))


@cases("""
y = x * x; y.grad_fn._raw_saved_self, y.grad_fn._raw_saved_other
type((x * x).grad_fn._raw_saved_self)()
y = x.exp(); y.grad_fn._raw_saved_result.register_hooks(lambda t: t * 2, lambda t: t / 2); y.sum().backward(); x.grad
y = x * x; y.grad_fn._raw_saved_self.register_hooks(lambda t: t * 2, lambda t: t * 3); y.sum().backward(); x.grad
y = x * x; y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t);
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
y = x * x; y.sum().backward(); y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
y = x * x; y.grad_fn._raw_saved_self.register_hooks(lambda t: t.mul_(2), lambda t: t)
y = x * x; y.grad_fn._raw_saved_self.register_hooks(lambda t: 1, lambda t: t); y.sum().backward()
(x * x).grad_fn._raw_saved_nothing
torch.ones(4).unsafe_split(2), torch.unsafe_chunk(torch.ones(5), 2),
    torch.unsafe_split_with_sizes(torch.ones(4), [1, 3])
torch.ones(4).unsafe_chunk(0)
torch.ones(()).unsafe_chunk(1)
y = x.unsafe_split(1); y[0].mul_(2); y[0]._is_view(), y[0]._base, y[0].grad_fn.name(), y[1].grad_fn.name()
y = (x * 1).unsafe_chunk(2); y[0].mul_(2); (y[0].sum() + y[1].sum()).backward(); x.grad
y = (x * 1).unsafe_split_with_sizes([1, 1]); n = y[0].grad_fn.name(); y[0].mul_(2);
    (y[0].sum() + y[1].sum()).backward(); n, x.grad
b = torch.ones(4); c = b.unsafe_split(2); c[0].mul_(3); b, b._version, c[0]._version, c[1]._version
x.T.grad_fn.name(), x.mT.grad_fn.name(), x.t().grad_fn.name()
y = x * 1; y.set_(torch.ones(3)); y.grad_fn.name()
y = x * 1; c = torch.inference_mode(); c.__enter__(); v = y.view(4); c.__exit__(None, None, None); v.mul_(2)
y = x * 1; c = torch.inference_mode(); c.__enter__(); v = y.view(4); c.__exit__(None, None, None); v.view(2, 2).mul_(2)
y = x * 1; c = torch.inference_mode(); c.__enter__(); v = y.unbind(0)[0]; c.__exit__(None, None, None); v.mul_(2)
y = x * 1; c = torch.no_grad(); c.__enter__(); v = y.view(4); c.__exit__(None, None, None); v.mul_(2)
torch.ones(1, 2).expand(3, 2).copy_(1)
torch.ones(1, 2).expand(3, 2).copy_(torch.ones(4, 2))
torch.ones(1, 2, requires_grad=True).expand(3, 2).copy_(torch.ones(4, 2))
torch.ones(1, 2, requires_grad=True).mul(1).expand(3, 2).copy_(torch.ones(4, 2))
x.copy_(1)
F.conv1d(torch.ones(1, 0, 4), torch.ones(2, 0, 1))
F.conv1d(torch.ones(0, 4), torch.ones(2, 0, 1))
F.conv2d(torch.ones(1, 0, 4, 4), torch.ones(3, 0, 2, 2))
F.conv2d(torch.ones(0, 0, 4, 4), torch.ones(2, 0, 2, 2))
F.conv3d(torch.ones(1, 0, 4, 4, 4), torch.ones(2, 0, 1, 1, 1))
F.conv1d(torch.ones(1, 0, 4), torch.ones(2, 0, 1), groups=2)
F.conv_transpose1d(torch.ones(1, 0, 4), torch.ones(0, 2, 1))
i, w, b = torch.ones(1, 0, 4, requires_grad=True), torch.ones(2, 0, 1, requires_grad=True),
    torch.ones(2, requires_grad=True); F.conv1d(i, w, b).sum().backward(); i.grad, w.grad, b.grad
""")
def test_as_pytorch(line):
    assert shown(torchlite, line) == shown(torch, line)


@pytest.mark.parametrize("lib", [torchlite, torch], ids=["torchlite", "torch"])
def test_allow_mutation_on_saved_tensors(lib):
    graph = lib.autograd.graph
    a = lib.full((2,), 3.0, requires_grad=True)
    with graph.allow_mutation_on_saved_tensors() as context:
        b = a.clone()
        out = (b**2).sum() + b.view(2).exp().mul_(2).sum()
        b[0] = 5
        b.mul_(3)
        out.backward()
        assert [round(v, 3) for v in a.grad.tolist()] == [46.171] * 2
        late = (a.clone() ** 2).sum()
        cleared = (a.clone() ** 2).sum()
        context.clear()
    for loss in (late, cleared):
        with pytest.raises(
            AssertionError, match="Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
        ):
            loss.backward()
    with graph.allow_mutation_on_saved_tensors():
        with pytest.raises(RuntimeError, match="allow_mutation_on_saved_tensors contexts cannot be nested"):
            with graph.allow_mutation_on_saved_tensors():
                pass


@pytest.mark.parametrize(
    "line",
    [
        "y = x + 1; z = y * y; y.set_(torch.ones(3)); z.sum().backward()",
        "y = torch.ones(3); z = x * y; y.set_(torch.zeros(3)); z.sum().backward()",
        "y = x.detach().clone(); z = x * y; y.resize_(5); z.sum().backward()",
        "y = torch.ones(3); y.set_(torch.zeros(3)); y.resize_(3); y.resize_(2); y._version",
        "y = x.exp()\nwith torch.no_grad(): y.set_(torch.ones(3))\ny.sum().backward()",
    ],
)
def test_what_was_saved_is_not_taken_from_other_memory(line):
    """set_ and resize_ change a tensor as writing to it does: what was saved of it is gone."""
    alike("x = torch.tensor([1., 2, 3], requires_grad=True)\n" + line)


@cases("""
x.exp()
x * x
x.sum(0)
torch.cat([x, x], 1)
x.relu()
x.log1p()
F.gelu(x)
x ** x
x.masked_fill(x > 0, 1)
""")
def test_saved_values_are_listed(line):
    """Tools that draw graphs read `dir` of a node."""
    alike(f"x = torch.ones(2, 3, requires_grad=True); n = ({line}).grad_fn; type(n).__name__")
    alike(
        f"x = torch.ones(2, 3, requires_grad=True); n = ({line}).grad_fn; "
        "[(a, getattr(n, a)) for a in dir(n) if a in ('_saved_self', '_saved_result', '_saved_other', '_saved_dim', "
        "'_saved_mat2')]"
    )


@cases("""
F.avg_pool2d(x[None], 1), F.max_pool2d(x[None], 1), F.adaptive_avg_pool2d(x[None], 2), F.avg_pool3d(x[None, None], 1)
x ** x, x ** 2, 2 ** x, x.log1p(), torch.special.i0e(x), torch.special.i1e(x)
torch.remainder(x, x), torch.remainder(x, 2), torch.fmod(x, x), torch.fmod(x, 2), torch.copysign(x, x),
    torch.copysign(x, 1)
torch.lerp(x, x, x), torch.lerp(x, x, .5), x.clamp_min(0), x.clamp_min(x), x.clamp_max(0), x.clamp_max(x)
x / x, torch.div(x, x, rounding_mode='floor'), torch.div(x, 2, rounding_mode='trunc'), torch.div(x, 2)
x.sort()[0], x.sort(stable=True)[0]
""")
def test_nodes_have_names_of_their_overloads(line):
    alike("x = torch.ones(1, 2, 2, requires_grad=True); [type(y.grad_fn).__name__ for y in (" + line + ")]")


@cases("""
n = F.linear(x, x).grad_fn; n._saved_self, n._saved_mat2, n._saved_mat2_sym_sizes
n = F.linear(x, torch.rand(3, 2), torch.ones(3)).grad_fn; n._saved_mat1, n._saved_mat2, n._saved_mat2_sym_sizes
n = (x @ x).grad_fn; n._saved_self, n._saved_mat2, n._saved_self_sym_sizes
n = (x @ torch.ones(2)).grad_fn; n._saved_vec, n._saved_self
n = (x[0] @ x[1]).grad_fn; n._saved_self, n._saved_tensor
(x @ x).grad_fn._raw_saved_mat2
n = (x @ x).grad_fn; n._raw_saved_mat2.register_hooks(lambda t: t * 2, lambda t: t); n._saved_mat2
n = (x * x).grad_fn; n._set_sequence_nr(7); n._sequence_nr()
""")
def test_what_products_save_by_pytorchs_names(line):
    assert shown(torchlite, line) == shown(torch, line)


@pytest.mark.parametrize("lib", [torchlite, torch], ids=["torchlite", "torch"])
def test_allow_mutation_on_saved_tensors_copies_at_the_write(lib):
    with lib.autograd.graph.allow_mutation_on_saved_tensors() as context:
        a = lib.rand(2, 3, requires_grad=True)
        b = a.clone()
        out = (b**2).sum() + b.sin().sum()
        assert (len(context.cloned), len(context.tid_to_weakhandle)) == (0, 1)
        b.zero_()
        assert (len(context.cloned), len(context.tid_to_weakhandle)) == (1, 1)
        out.backward()
        assert lib.allclose(a.grad, 2 * a + a.cos())
        del out, b
        assert len(context.cloned) == 0


@pytest.mark.parametrize("lib", [torchlite, torch], ids=["torchlite", "torch"])
def test_grad_dtype(lib):
    x = lib.ones(3, requires_grad=True)
    assert x.grad_dtype is lib.float32 and lib.ones(2, dtype=lib.int64).grad_dtype is lib.int64
    with pytest.raises(RuntimeError, match="grad_dtype can only be accessed on leaf tensors."):
        _ = (x * 2).grad_dtype
    with pytest.raises(RuntimeError, match="grad_dtype must be a torch.dtype or None, but got int"):
        x.grad_dtype = 3
    with pytest.raises(RuntimeError, match="with dtype 'double' to a tensor with grad_dtype 'Float'"):
        x.grad = lib.ones(3, dtype=lib.float64)
    x.grad_dtype = lib.float64
    for n in (1, 2):
        (x * x).sum().backward()
        assert x.grad.dtype is lib.float64 and x.grad.tolist() == [2.0 * n] * 3
    with pytest.raises(RuntimeError, match="there is already a gradient with dtype 'double'"):
        x.grad_dtype = lib.float32
    x.grad_dtype = None
    x.grad = lib.ones(3, dtype=lib.float16)
