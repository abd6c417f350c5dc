"""make_fx, functionalize and functorch's older functions beside PyTorch's."""

import re
import sys

import pytest
from alike import alike

import torchlite as torch
from torchlite.fx.experimental.proxy_tensor import make_fx

FX = "from torch.fx.experimental.proxy_tensor import make_fx; from torch.func import functionalize\n"
MF = "from torch._functorch.make_functional import *\n"


def programs(text):
    """A decorator that makes a test of each program of a text. An indented line is the next one of a program."""
    found = re.sub(r"\n    ", "\0", text.strip()).split("\n")
    return pytest.mark.parametrize("line", [p.replace("\0", "\n") for p in found])


LINALG = """torch.det(a) L.det(a) L.solve(a,b) L.solve_ex(a,b) L.inv(a) a.inverse() L.cholesky(a)
    L.cholesky(a,upper=True) L.eigh(a) L.eigvalsh(a) L.eigvals(a) L.svd(a) torch.svd(a) L.svdvals(a) L.slogdet(a)
    torch.logdet(a) L.lu_factor(a) L.lu_solve(*L.lu_factor(a),b) L.ldl_factor(a) L.matrix_power(a,-2)
    L.matrix_norm(a,2) L.matrix_norm(a,'nuc') L.pinv(a) L.tensorsolve(a,b[:,0])""".split()


@pytest.mark.parametrize("line", LINALG)
def test_linear_algebra_is_traced(line):
    alike(FX + "L = torch.linalg; a = torch.eye(3) * 2 + 1; b = torch.ones(3, 2)\nmake_fx(lambda a: %s)(a).code" % line)


@pytest.mark.parametrize("name", ("det", "solve", "inv", "cholesky", "svd", "eigh", "tensorinv"))
def test_traced_linear_algebra_computes(name):
    def call(a):
        return getattr(torch.linalg, name)(a, *{"solve": [torch.ones(3)], "tensorinv": [1]}.get(name, []))

    a = torch.eye(3) * 2 + 1
    got, want = make_fx(call)(torch.eye(3))(a), call(a)
    torch.testing.assert_close(got, want if isinstance(got, torch.Tensor) else type(got)(want))
    if name in ("solve", "inv", "cholesky"):
        with pytest.raises(RuntimeError, match="the input" if name == "cholesky" else "singular"):
            make_fx(call)(torch.eye(3))(a * 0)


@programs(
    """
make_fx(lambda x: x.sin() + 1)(torch.ones(3)).code
make_fx(lambda x, w: (x @ w).tanh())(torch.ones(2, 3), torch.ones(3, 2)).code
def f(a, b): return {'s': a.split(2)[0].relu(), 'b': [b, 3]}
    make_fx(f)(torch.ones(4), torch.ones(2)).code
def f(x): x.add_(1); x.unsqueeze_(0); return x.sum(1)
    make_fx(f)(torch.ones(4)).code
def f(x): return x * torch.tensor(2.0)
    make_fx(f)(torch.ones(4)).code
c = torch.ones(3); make_fx(lambda x: x + c, tracing_mode='fake')(torch.ones(3))
c = torch.ones(3); make_fx(lambda x: x + c, tracing_mode='fake', _allow_non_fake_inputs=True)(torch.ones(3)).code
make_fx(lambda x: x + torch.tensor([1., 2., 3.]), tracing_mode='fake')(torch.ones(3)).code
make_fx(lambda x: nn.functional.dropout(x, .5, True, True), tracing_mode='fake')(torch.ones(3)).code
make_fx(lambda x: nn.functional.alpha_dropout(x, .5, True))(torch.ones(3)).code
make_fx(lambda x: x.squeeze_().t_())(torch.ones(3, 1, 2)).code
l = nn.Linear(3, 2); make_fx(lambda x: l(x))(torch.ones(3)).code
def f(x): y = x.clone(); y[0] = 1.; y[1:] = x[1:]; y[::2] = 0; return y
    make_fx(f)(torch.ones(3)).code
functionalize(torch.linalg.det)(torch.eye(3) * 2 + 1)
functionalize(torch.func.grad(lambda x: torch.linalg.slogdet(x)[1]))(torch.eye(3) * 2 + 1)
functionalize(torch.func.grad(lambda x: torch.linalg.eigvalsh(x).square().sum()))(torch.eye(3) * 2 + 1)
functionalize(lambda x: torch.linalg.svdvals(x.add_(1)))(torch.eye(3))
torch.func.vmap(functionalize(torch.linalg.inv))(torch.eye(3).expand(2, 3, 3) * 2 + 1)
functionalize(torch.func.grad(lambda x: nn.functional.interpolate(x, scale_factor=2).sum()))(torch.ones(1, 1, 3))
make_fx(torch.trapezoid)(torch.ones(3))(torch.ones(3))
def f(x): y = torch.tensor(2.0) * 3; return x * y.item()
    make_fx(f)(torch.ones(4)).code
def f(x): return x.item()
    make_fx(f)(torch.ones(()))
def f(x): return x if x.sum() > 0 else -x
    make_fx(f)(torch.ones(3))
def f(x): return torch.arange(4) + x.detach()
    make_fx(f)(torch.ones(4)).graph.find_nodes(op='call_function', target=torch.ops.aten.add.Tensor)
def f(l, d): return l[0] + d['a']
    make_fx(f)([torch.ones(4)], {'a': torch.ones(4)})([torch.ones(4)], {'a': torch.ones(4) * 2})
def f(*a): return a[0] + a[1]
    make_fx(f)(torch.ones(4), torch.ones(4)).code
table = {torch.ops.aten.silu.default: lambda x: x * torch.sigmoid(x)}; f = lambda x: F.silu(x) + 1
    make_fx(f, decomposition_table=table)(torch.ones(4)).code
make_fx(lambda x: x, tracing_mode='other')(torch.ones(2))
def f(x): return x.sin()
    gm = make_fx(f, tracing_mode='fake')(torch.ones(4)); gm.code, gm(torch.ones(2))
def f(x, y): return x.t() @ y.T
    make_fx(f)(torch.ones(4, 2), torch.ones(3, 4)).code
make_fx(lambda x, w: F.conv2d(x, w, padding=1, groups=2))(torch.ones(2, 4, 5, 5), torch.ones(6, 2, 3, 3)).code
make_fx(lambda x, w, b: F.conv1d(x, w, b, stride=2))(torch.ones(2, 4, 5), torch.ones(6, 4, 3), torch.ones(6)).code
make_fx(lambda x, w: F.conv_transpose2d(x, w, stride=2))(torch.ones(2, 4, 5, 5), torch.ones(4, 2, 3, 3)).code
m = nn.Linear(3, 2); make_fx(m)(torch.ones(4, 3)).code
def f(x): return x.resize_(6).fill_(2)
    make_fx(f)(torch.ones(4)).code
n = list(make_fx(lambda x: x.sum(0))(torch.ones(4, 2)).graph.nodes)[1]
    n.meta['val'].shape, n.meta['tensor_meta'].shape, n.meta['tensor_meta'].dtype
"""
)
def test_make_fx(line):
    alike(FX + line)


@programs(
    """
def f(x): y = x.view(4, 2); y.add_(1); return x
    make_fx(functionalize(f, remove='mutations_and_views'))(torch.zeros(4, 2)).code
def f(x): y = x.view(4, 2); y.add_(1); return x
    make_fx(functionalize(f))(torch.zeros(4, 2)).code
def f(x): y = x + 1; y[0].mul_(3); y.t()[1] = 5; return y
    functionalize(f)(torch.ones(3, 4)), functionalize(f, remove='mutations_and_views')(torch.ones(3, 4))
def f(x): a, b = x.split(2); b.diagonal().add_(1); a.unbind(1)[0].zero_(); return x * 2
    x = torch.ones(4, 2); functionalize(f)(x), x
def f(x): x.permute(1, 2, 0)[1].sub_(1); x.squeeze(1).unsqueeze(2).expand(3, 4, 1).exp_(); return x.sum()
    x = torch.ones(3, 1, 4); functionalize(f)(x), x
def f(x): out = torch.empty(3); torch.add(x, 1, out=out); out.view(3, 1).neg_(); return out
    functionalize(f)(torch.arange(3.))
def f(x): y = x.clone(); z = y[1:3]; y.mul_(2); z.add_(1); y.sub_(1); return y, z
    functionalize(f)(torch.arange(4.))
def f(x): y = x.clone().transpose_(0, 1); y.unsqueeze_(0).add_(1); return y.view_as(y).sum(2)
    functionalize(f)(torch.arange(6.).view(2, 3))
def f(x): y = x * 2; y.mul_(x); return y.sum()
    torch.func.grad(functionalize(f))(torch.arange(3.))
def f(x): y = x * 2; y[0].mul_(3); return y.sin()
    torch.vmap(functionalize(f))(torch.arange(6.).view(2, 3))
x = torch.arange(3., requires_grad=True); f = lambda x: (x * 2).mul_(x).sum(); functionalize(f)(x).backward()
    x.grad
functionalize(lambda x: x, remove='both')
c = torch.ones(2); make_fx(functionalize(lambda: c))().code
def f(x): return torch.randn(3).add_(x)
    torch.manual_seed(0); functionalize(f)(torch.ones(3))
def f(x): torch.view_as_real(x)[..., 0] = 7; x.imag.add_(1); return x
    functionalize(f)(torch.ones(2, dtype=torch.complex64))
"""
)
def test_functionalize(line):
    alike(FX + line)


@programs(
    """
f, p = make_functional(nn.Linear(2, 3)); f(p, torch.ones(4, 2)), [t.requires_grad for t in p], f.param_names
make_functional(nn.BatchNorm1d(2))
f, p, b = make_functional_with_buffers(nn.BatchNorm1d(2)); f(p, b, torch.tensor([[1., 2], [4, 3]])), b, f.buffer_names
f, p = make_functional(nn.Linear(2, 3), disable_autograd_tracking=True); [t.requires_grad for t in p]
m = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)); m[1].weight = m[0].weight
    f, p = make_functional(m); len(p), f([t * 2 for t in p], torch.ones(1, 2)), f.names_map
f, p, b = combine_state_for_ensemble([nn.Linear(2, 3) for _ in range(4)])
    torch.vmap(f, (0, 0, None))(p, b, torch.ones(5, 2)).shape
combine_state_for_ensemble([])
combine_state_for_ensemble([nn.Linear(2, 2), nn.Linear(2, 2).eval()])
combine_state_for_ensemble([nn.Linear(2, 2), nn.Tanh()])
f, p = make_functional(nn.Linear(2, 1)); torch.func.grad(lambda p: f(p, torch.ones(1, 2)).sum())(p)
"""
)
def test_make_functional(line):
    alike(MF + line)


@programs(
    """
from torch._functorch.apis import chunk_vmap; chunk_vmap(torch.sin, chunks=3)(torch.arange(7.))
from torch._functorch.eager_transforms import _slice_argnums; _slice_argnums((1, 2, 3), (0, -1))
from torch._functorch.eager_transforms import _slice_argnums; _slice_argnums((1, 2, 3), 1, as_tuple=False)
from torch._functorch.eager_transforms import _slice_argnums; _slice_argnums((1, 2, 3), 3)
from torch._functorch.autograd_function import reductify_leaf as r; r(torch.ones(3, 4), None, 1, 2, (4,))
from torch._functorch.autograd_function import reductify_leaf as r; r(torch.ones(2, 3, 4), 0, None, 2)
m = torch.func.replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(2))); m.state_dict()
torch.func.grad(lambda x: x.requires_grad_().sum())(torch.ones(2))
torch.vmap(lambda x: x.requires_grad_(False))(torch.ones(2))
def f(x): y = x.sin(); y.retain_grad(); return y.sum()
    torch.func.grad(f)(torch.ones(3))
torch.vmap(lambda x: torch.autograd.functional.jacobian(torch.sin, x))(torch.ones(2, 2))
torch.vmap(lambda x: torch.nn.Parameter(torch.ones(2)) * x)(torch.ones(2)).requires_grad
"""
)
def test_transforms(line):
    alike(line)


def test_symbolic_sizes_are_refused():
    with pytest.raises(NotImplementedError, match="no symbolic sizes"):
        make_fx(torch.sin, tracing_mode="symbolic")(torch.ones(2))


def test_an_op_without_operator_is_refused():
    def f(x):
        return torch.from_numpy(x.numpy())

    with pytest.raises(RuntimeError, match="numpy"):
        make_fx(f)(torch.ones(2))


def test_the_name_functorch():
    held = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "functorch"}
    from torchlite.compat import alias

    try:
        alias._make_functorch()
        import functorch
        from functorch.experimental import chunk_vmap

        with pytest.warns(FutureWarning, match="Please use `torch.func.grad`"):
            assert functorch.grad(torch.sin)(torch.zeros(())) == 1
        assert chunk_vmap(torch.sin)(torch.zeros(3)).shape == (3,)
        assert functorch.compile.make_boxed_func(max)([1, 2]) == 2
        with pytest.raises(AttributeError, match="module 'functorch' has no attribute 'nothing'"):
            functorch.nothing  # noqa: B018
    finally:
        for name in alias._FUNCTORCH:
            sys.modules.pop(name, None)
        sys.modules.update(held)


def test_a_write_to_a_tensor_from_outside_is_refused():
    c = torch.ones(2)
    with pytest.raises(RuntimeError, match="mutating a non-functional tensor with a functional tensor is not allowed"):
        torch.func.functionalize(lambda x: c.add_(x))(torch.ones(2))
