"""Dual levels, tangents and their rules, line by line beside PyTorch; every op's tangents: tests/ops."""

import contextlib
import warnings

import pytest
from alike import alike, cases
from alike import torch as REAL

import torchlite as torch
import torchlite.autograd.forward_ad as forward_ad

real = REAL.autograd.forward_ad
SETUP = (
    "import torch.autograd.forward_ad as fw; x, t = torch.tensor([1., 2.]), torch.tensor([1., 3.]);\n"
    "def parts(d): p = fw.unpack_dual(d); return p.primal, p.tangent\n"
)


@contextlib.contextmanager
def levels_closed():
    """Closes, in both libraries, the level that a line left open."""
    try:
        yield
    finally:
        for library in (forward_ad, real):
            if library._current_level >= 0:
                library.exit_dual_level()


@pytest.fixture(scope="module", autouse=True)
def loaded():
    """PyTorch warns of its own use of torch.jit at the first dual."""
    with warnings.catch_warnings(), real.dual_level():
        warnings.simplefilter("ignore")
        real.make_dual(REAL.ones(1), REAL.ones(1))


@cases("""
fw.make_dual(x, t)
parts(x)
fw.exit_dual_level()
level = fw.dual_level(); level.__enter__(); fw.exit_dual_level(level=3)
""")
def test_without_a_level(line):
    with levels_closed():
        alike(SETUP + line)


@cases("""
fw.enter_dual_level()
fw.make_dual(torch.tensor(1), t)
fw.make_dual(x, torch.tensor([1, 1]))
fw.make_dual(x, torch.ones(3))
parts(fw.make_dual(x, t.double()))
fw.make_dual(d, t)
(d, d * 2, d._is_view(), d is x)
parts(d)[1] is t
parts(x)
parts(d.detach())
parts(d.data)
z = d.clone(); z.detach_(); parts(z)
(torch._C._is_fwd_grad_enabled(), torch._C._set_fwd_grad_enabled(True))
parts(d.floor())
[parts(f)[1] for f in (torch.bernoulli(d / 2), torch.poisson(d), torch.normal(d, 1.), torch.normal(0., d))]
parts(d.argmax())
parts(d > 1)
torch.add(d, 1, out=torch.zeros(2))
z = torch.zeros(2, 2); v = z[0]; v.copy_(d); (parts(z), parts(v))
z = torch.zeros(2, 2); w = z[:, 1]; z[0] = d; (parts(z), parts(w))
z = torch.zeros(2, 2); z[0] = d; z.zero_(); parts(z)
z = d * 1; z.mul_(d); (parts(z), t)
z = d + 0; z.add_(5); z.mul_(2); (parts(z), t)
z = (d * 1).view(2, 1); z.t_(); parts(z)
with torch.no_grad(): r = parts(d * d)
r
with fw._set_fwd_grad_enabled(False): r = parts(d * d)
r
with torch.inference_mode(): r = parts(d * d)
r
parts(d.clone())
parts(d.view(2, 1).T)
parts(d.double())
(d.tolist(), d[0].item(), float(d[1]), d.numpy())
parts(torch.stack([d, x]))
parts(torch.einsum('i,j->ij', d, d))
parts(d[torch.tensor([1, 0, 1])])
parts(d[..., None])
[parts(r) for r in d]
parts(torch.where(d > 1, d, 0.))
parts(torch.masked_fill(x, x > 1, d[0]))
parts(F.softmax(d, 0))
parts(nn.Linear(2, 1).requires_grad_(False)(d * 0))[1].shape
p = nn.Parameter(torch.ones(2)); parts(fw.make_dual(p, t) * 2)[1].detach()
s = torch.ones(2, requires_grad=True); e = fw.make_dual(s, t); y = (e * e).sum();
    torch.autograd.grad(fw.unpack_dual(y).tangent, s)
s = torch.ones(2, requires_grad=True); e = fw.make_dual(s, t); g, = torch.autograd.grad((e ** 3).sum(), e,
    create_graph=True); parts(g)[1]
s = torch.ones(2, requires_grad=True); e = fw.make_dual(s, t); g, = torch.autograd.grad(e.exp().sum(), e,
    create_graph=True); parts(g)[1]
c = fw.make_dual(torch.tensor([1 + 2j]), torch.tensor([1j]));
    [parts(f) for f in (c * c, c.abs(), c.conj() * 1, c.real * 1)]
""")
def test_in_a_level(line):
    body = SETUP + "level = fw.dual_level(); level.__enter__(); d = fw.make_dual(x, t)\n"
    with levels_closed():
        alike(body + line)


FUNCTIONS = """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b=None):
        ctx.save_for_forward(a)
        ctx.save_for_backward(a)
        return a * a
    @staticmethod
    def jvp(ctx, ta, tb=None):
        a, = ctx.saved_tensors
        return 2 * a * ta
class NoTangent(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a): return a * 2
class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a): return a * 2, a * 3
    @staticmethod
    def jvp(ctx, t): return t
class Both(torch.autograd.Function):
    @staticmethod
    def forward(a, b): return a * b, a + b
    @staticmethod
    def setup_context(ctx, inputs, output): ctx.save_for_forward(*inputs)
    @staticmethod
    def jvp(ctx, ta, tb):
        a, b = ctx.saved_tensors
        return ta * b + tb * a, ta + tb
class NotSaved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a): ctx.save_for_backward(a); return a * a
    @staticmethod
    def jvp(ctx, t): raise ValueError(len(ctx.saved_tensors))
class AsTheyCome(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b): ctx.set_materialize_grads(False); return a * b
    @staticmethod
    def jvp(ctx, ta, tb): return (ta, ta * 0)[tb is None]
"""


@cases("""
parts(Square.apply(d))
parts(Square.apply(d, 3))
parts(Square.apply(x))
NoTangent.apply(d)
NoTangent.apply(x)
Two.apply(d)
[parts(r) for r in Both.apply(d, x)]
[parts(r) for r in Both.apply(d, d)]
parts(AsTheyCome.apply(d, x))
NotSaved.apply(d)
""")
def test_custom_functions(line):
    body = SETUP + FUNCTIONS + "level = fw.dual_level(); level.__enter__(); d = fw.make_dual(x, t)\n"
    with levels_closed():
        alike(body + line)


D = {"dtype": torch.float64, "requires_grad": True}
CHECKED = {
    "product": lambda a, b: a @ b.t(),
    "in place": lambda a, b: (a * 1).mul_(b).sin_(),
    "written": lambda a, b: torch.stack([a, b]).index_fill(0, torch.tensor([0]), 2.0) * a,
    "layers": lambda a, b: torch.nn.functional.layer_norm(a, (3,)) * b.softmax(-1),
    "batches": lambda a, b: torch.nn.functional.batch_norm(a, None, None, training=True) + b.exp(),
    "parts": lambda a, b: (torch.complex(a, b).exp().real, a.sort()[0]),
}


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("fast_mode", [False, True])
def test_gradcheck_of_tangents(name, fast_mode):
    a, b = torch.tensor([[0.3, -1, 2], [1.5, 0.7, -0.2]], **D), torch.tensor([[1.1, 0.4, -2], [0.5, -0.6, 1]], **D)
    more = {"check_forward_ad": True, "check_batched_forward_grad": True, "fast_mode": fast_mode}
    assert torch.autograd.gradcheck(CHECKED[name], (a, b), **more)
    assert torch.autograd.gradgradcheck(CHECKED[name], (a, b), check_fwd_over_rev=True, fast_mode=fast_mode)


def test_gradcheck_finds_wrong_tangents():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            ctx.save_for_forward(a)
            return a * a

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx, t):
            return 3 * ctx.saved_tensors[0] * t

    x = torch.ones(2, **D)
    assert torch.autograd.gradcheck(Wrong.apply, (x,))
    with pytest.raises(RuntimeError, match="Jacobian computed with forward mode mismatch for output 0"):
        torch.autograd.gradcheck(Wrong.apply, (x,), check_forward_ad=True)


def test_tangents_end_with_the_level():
    with forward_ad.dual_level():
        d = forward_ad.make_dual(torch.ones(2), torch.ones(2)) * 2
        assert forward_ad.unpack_dual(d).tangent is not None
    assert forward_ad.unpack_dual(d).tangent is None
    assert not forward_ad._tangents
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(d).tangent is None
        for _ in range(3):
            forward_ad.make_dual(torch.ones(2), torch.ones(2))
        assert not forward_ad._tangents, "what nobody holds has no tangent either"
