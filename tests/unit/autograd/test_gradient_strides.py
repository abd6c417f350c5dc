"""Strides of gradients, and of results whose operands' memory leaves a choice, beside PyTorch."""

import itertools

import alike
import pytest

import torchlite

torch = pytest.importorskip("torch")

# A is a matrix by columns, that is a leaf, B another one; Z and W are complex; G makes the gradient of a sum
HEAD = (
    "A = ((torch.arange(4.).double() * 0.7 + 1).sin() + 2).reshape(2, 2).t().detach().requires_grad_(); "
    "B = A.detach().cos() * 0.5 + 1; Z = torch.complex(A.detach(), B).detach().requires_grad_(); "
    "W = Z.detach().conj().mT * 2j; R = torch.arange(24.).double().cos().reshape(4, 3, 2).transpose(0, "
    "1).detach().requires_grad_(); G = lambda y, x=A: torch.autograd.grad(y.sum() if not y.is_complex() else "
    "y.real.sum(), [x]); "
)
LINES = """
[F.scaled_dot_product_attention(q, q, q, **k).stride() for q in (torch.arange(48.).reshape(2, 3, 2, 4).transpose(1, 2),
    torch.arange(48.).reshape(3, 2, 2, 4).permute(1, 2, 0, 3), torch.arange(8.).reshape(2, 1, 1, 4).transpose(1, 2),
    torch.arange(72.).reshape(1, 3, 3, 8).transpose(1, 2)[..., :4], torch.arange(12.).reshape(3, 4).expand(2, 2, 3, 4))
    for k in ({}, {'is_causal': True}, {'attn_mask': torch.ones(q.shape[2], q.shape[2])}, {'dropout_p': 0.1})]
[torch.empty(a).mul(torch.empty(b)).stride() for a, b in (((0, 1), (1,)), ((1, 0, 1), ()), ((0, 3), (3,)))],
    torch.rms_norm(torch.empty(0, 1), (1,), torch.ones(1)).stride(), torch.empty(0, 1, 1).triu().stride()
[G(F.affine_grid(t, size, align_corners=True).square(), t) for shape, size in (((2, 2, 3), (2, 1, 4, 3)),
    ((1, 3, 4), (1, 1, 2, 3, 2))) for t in (torch.ones(shape).requires_grad_(),)]
C = R.detach().contiguous().requires_grad_();
    y = torch.conv_tbc(C, torch.ones(2, 2, 5).double(), torch.ones(5).double(), 1); G(y, C), y.detach()
w = torch.ones(2, 2, 5).double().requires_grad_();
    G(torch.conv_tbc(R.detach().contiguous(), w, torch.ones(5).double()), w)
[G(f(Z).sin(), Z) for f in (torch.real, torch.imag)], [G(f(Z), Z) for f in (torch.real, torch.imag)]
G(Z.imag.mT * 1, Z), G(Z.abs(), Z), G(Z.angle(), Z)
torch.angle(Z.detach()), torch.angle(Z.detach().reshape(1, 2, 1, 2).to(memory_format=torch.channels_last)),
    torch.angle(B)
torch.rsub(torch.ones(1, 2, 2, 2).to(memory_format=torch.channels_last), torch.ones(2, 2, 1)),
    torch.rsub(torch.ones(2, 2, 1), torch.ones(1, 2, 2, 2).to(memory_format=torch.channels_last))
torch.ones(()).expand(2, 2) * Z.detach(), Z.detach() * torch.ones(()).expand(2, 2),
    torch.ones((), dtype=torch.int64).expand(2, 2) + B, torch.ones(()).double().expand(2, 2) * B
[(torch.manual_seed(0), y := A * 1, f(y, 0.5, True), y.grad_fn.name(), G(y), G(y.square()))[3:]
    for f in (torch.dropout_, torch.feature_dropout_, torch.alpha_dropout_, torch.feature_alpha_dropout_)]
L = torch.zeros(1, 3).requires_grad_(); [torch.autograd.grad(L.prod(d).sum(), L, create_graph=True) for d in (0, 1)]
[G(A.prod()), G(A.prod(0)), G((A * torch.tensor([0., 1])).prod())]
[G(f(A, t, reduction=r)) for f in (F.l1_loss, F.smooth_l1_loss, F.mse_loss, F.huber_loss)
    for r in ('none', 'mean', 'sum') for t in (B, B.contiguous())]
[torch.autograd.grad(torch.autograd.grad(f(A, B).sum(), [A], create_graph=True)[0].sum(), [A])[0]
    for f in (F.smooth_l1_loss, F.mse_loss, F.huber_loss)]
torch.autograd.grad(torch.autograd.grad(A.abs().sum(), [A], create_graph=True)[0].square().sum(), [A])[0].stride(),
    G(A.sgn())[0].stride()
[torch.autograd.grad(A.logcumsumexp(d).sum(), [A], create_graph=True)[0] for d in (0, 1)]
X = torch.arange(24.).reshape(2, 3, 2, 2).cos().to(memory_format=torch.channels_last).requires_grad_();
    [torch.autograd.grad(f(X), X, g, create_graph=c)[0].stride() for f in (lambda x: F.log_softmax(x, 1), F.softplus,
    lambda x: F.batch_norm(x, None, None, training=True), lambda x: F.batch_norm(x, torch.zeros(3), torch.ones(3)))
    for c in (False, True) for g in (torch.ones(2, 3, 2, 2), torch.ones_like(X), torch.ones(()).expand(2, 3, 2, 2))]
G(torch.special.log_ndtr(A)), torch.autograd.grad(torch.special.log_ndtr(A), A, torch.ones(()).double().expand(2, 2))
G(torch.tensordot(A, B, 2)), G(torch.tensordot(A, B, 1)), G(torch.tensordot(A, A, ([0, 1], [1, 0])))
x=torch.arange(8.).reshape(2,2,1,2).to(memory_format=torch.channels_last).requires_grad_(); y=torch.tensordot(x,x,4);
    torch.autograd.grad(y,[x]), y._is_view()
x=torch.arange(4.).reshape(2,2,1).requires_grad_(); z=torch.arange(4.).reshape(2,1,2).requires_grad_();
    y=torch.tensordot(x,z,([0,1],[2,0])); torch.autograd.grad(y.sum(),[x,z]), y._is_view(), y
x=torch.arange(6.).reshape(2,3).requires_grad_(); z=torch.arange(3.).reshape(1,3).requires_grad_();
    y=torch.tensordot(x,z,2); y._is_view(), y.grad_fn.name(), torch.autograd.grad(y,[x,z])
[G(f()) for f in (A.median, A.nanmedian, A.max, A.min, A.amax, A.norm)]
[G(f(A, b)) for f in (torch.minimum, torch.maximum) for b in (B, B.contiguous(), torch.tensor(1.).double())]
torch.rms_norm(torch.complex(R, R).detach(), (2,)).stride(), torch.rms_norm(R.detach(), (2,))
[f(R.detach().to(d), None, (0, 2), out=torch.empty(0, dtype=o)) for f, d, o in (
    (torch.fft.fftn, torch.complex128, torch.complex128), (torch.fft.irfftn, torch.complex128, torch.float64),
    (torch.fft.rfft2, torch.float64, torch.complex128), (torch.fft.hfft2, torch.complex128, torch.float64))]
[f(R.detach().to(d), None, 1, out=torch.empty(0, dtype=o)) for f, d, o in (
    (torch.fft.fft, torch.complex128, torch.complex128), (torch.fft.irfft, torch.complex128, torch.float64),
    (torch.fft.rfft, torch.float64, torch.complex128), (torch.fft.ihfft, torch.float64, torch.complex128))]
(y := A * 1).fill_(2.), torch.autograd.grad(y, [A], B), (z := A * 1).zero_(), torch.autograd.grad(z, [A], B)
y = A * 1; y[:] = 2.; z = A * 1; z[:] = B; w = A * 1; w.copy_(B); x = A * 1; x[1:] = 2.;
    [torch.autograd.grad(t, [A], B) for t in (y, z, w, x)]
s = B[0, 0].clone().requires_grad_(); y = A * 1; y[:] = s.detach(); z = A * 1; z[:] = s; w = A * 1; w.fill_(s);
    torch.autograd.grad(y, [A], B), [torch.autograd.grad(t, [A, s], B) for t in (z, w)]
y = A * 1; y.logical_not_(); torch.autograd.grad(y, [A], B)[0].stride()
y = A * 1; y.t_(); z = A * 1; z.swapaxes_(0, 0); w = A * 1; w.unsqueeze_(0); w.squeeze_(); v = Z * 1; v.t_();
    G(y), G(z), G(w), G(v, Z)
torch.autograd.grad(B.clone().requires_grad_().sum(), [A, R], materialize_grads=True)
torch.autograd.grad(torch.outer(W[0], A[0].detach()).mul(A[0]).real.sum(), [A]), G((Z.detach() + A[0]).real),
    G((Z.detach() ** A[:, 0]).real)
[G(y) for y in (A[:2], A[None, :2], A[:2, :2], A[0:5, ...], A[-2:, :], A[:, -2:])],
    [y.grad_fn.name() for y in (A[:2], A[None, :2], A[:2, 0:2], A[-2:, :], A[...])]
[torch.autograd.grad(F.batch_norm(x, None, None, training=True).sum(), [A], create_graph=c)[0].detach().stride()
    for x in (A, A.t()) for c in (False, True)]
T = (A.detach().tril() + torch.eye(2)).requires_grad_();
    [[t.detach() for t in torch.autograd.grad(
    torch.linalg.solve_triangular(T, b, upper=u, left=False, unitriangular=n).sin().sum(), [T, b])]
    for b in (A, R) for u in (False, True) for n in (False, True)]
L = (A.detach() + 1).requires_grad_();
    [G(torch.linalg.eigvalsh(L, UPLO=u).sin(), L) for u in 'LU'],
    [G(torch.linalg.eigh(L, UPLO=u)[1].abs().sin() * B, L) for u in 'LU']
b = torch.ones(3, 4, 5).double().requires_grad_();
    w = torch.linspace(-1, 1, 40).double().reshape(4, 2, 5).requires_grad_();
    F.bilinear(R, b, w), torch.autograd.grad(F.bilinear(R, b, w).sin().sum(), [R, b, w])
torch.angle(Z.detach()), torch.angle(Z.detach(), out=Z.detach().clone()), torch.abs(Z.detach(), out=Z.detach().clone()),
    Z.detach().clone().abs_()
torch.fft.fftfreq(4, 0.5, out=torch.empty(4, 1)), torch.fft.rfftfreq(4, out=torch.empty(3, 1)),
    torch.fft.fftfreq(4, out=torch.empty(0))
c = torch.linspace(-1, 2, 8).double().reshape(4, 2).requires_grad_();
    t = torch.tensor([.4, .7]).double().requires_grad_();
    M = torch.linspace(0, 3, 8).double().cos().reshape(4, 2).requires_grad_();
    [torch.autograd.grad(torch.ormqr(M, t, o, l).sin().sum(), [M, t, o])
    for o, l in ((c, True), (c.detach().t().contiguous().requires_grad_(), False))]
[torch.autograd.grad(torch.linalg.lstsq(m, b)[0].sin().sum(), [m, b]) for m, b in (
    (R, torch.ones(3, 4, 2).double().requires_grad_()),
    (R.detach().contiguous().requires_grad_(), torch.ones(3, 4, 1).double().requires_grad_()))]
b = torch.ones(2, 3).double().requires_grad_();
    G(torch.linalg.lu_solve(*torch.linalg.lu_factor(B), b).sin(), b),
    torch.autograd.grad(torch.lu_solve(b, *torch.linalg.lu_factor(B)), [b], torch.ones(2, 3).double())
q = torch.linspace(0, 5, 96).cos().reshape(2, 2, 4, 6).requires_grad_();
    k = q.detach()[:, :, :3].sin().requires_grad_();
    [[t.contiguous().double().round(decimals=4).as_strided(t.shape, t.stride()).stride()
    for t in torch.autograd.grad(F.scaled_dot_product_attention(q, k, k, **o).sin().sum(), [q, k])]
    for o in ({}, {'attn_mask': torch.ones(4, 3).bool()}, {'scale': .3})]
q = torch.linspace(0, 5, 96).cos().reshape(2, 2, 4, 6).requires_grad_(); m = torch.zeros(4, 4).requires_grad_();
    [t.stride() for t in torch.autograd.grad(F.scaled_dot_product_attention(q, q, q, m).sum(), [q, m])],
    [t.stride() for t in torch.autograd.grad(F.scaled_dot_product_attention(q[0], q[0], q[0]).sum(), [q])]
"""


@alike.cases(LINES)
def test_strides_of_gradients(line):
    alike.alike(HEAD + line)


PRODUCTS = [
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((1, 3), (3, 4)),
    ((2, 1), (1, 4)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (1, 3, 4)),
    ((5, 2, 3), (1, 1, 3, 4)),
    ((2, 3), (2, 1, 3, 4)),
    ((2, 1, 2, 3), (5, 3, 4)),
    ((0, 2, 3), (3, 4)),
    ((5, 1, 3), (3, 1)),
]


def laid(lib, shape, order, leaf):
    """A tensor of the shape whose dims lie in memory in that order, outermost first."""
    n = torch.Size(shape).numel()
    x = (lib.arange(n, dtype=lib.float64) * 0.7 + len(shape)).sin().reshape([shape[d] for d in order])
    return x.permute([order.index(d) for d in range(len(order))]).detach().requires_grad_(leaf)


def orders(shape):
    return list(itertools.permutations(range(len(shape))))[:: 1 if len(shape) < 4 else 5]


CASES = [("matmul", *p) for p in PRODUCTS] + [("linear", a, b[::-1]) for a, b in PRODUCTS if len(b) < 3]


@pytest.mark.parametrize("name, left, right", CASES, ids=str)
def test_products(name, left, right):
    calls = [lambda lib, a, b: getattr(lib if name == "matmul" else lib.nn.functional, name)(a, b)]
    if name == "linear" and len(right) == 2:
        calls.append(lambda lib, a, b: lib.nn.functional.linear(a, b, lib.ones(right[0], dtype=lib.float64)))
    for a, b in itertools.product(orders(left), orders(right)):
        for leaves in ((True, True), (True, False), (False, True)):
            for call in calls:
                results = []
                for lib in (torch, torchlite):
                    x, y = laid(lib, left, a, leaves[0]), laid(lib, right, b, leaves[1])
                    z = call(lib, x, y)
                    given = laid(lib, tuple(z.shape), tuple(range(z.dim())), False)
                    results.append([z, *lib.autograd.grad(z, [t for t in (x, y) if t.requires_grad], given)])
                for want, got in zip(*results):
                    assert got.stride() == want.stride(), (a, b, leaves)
                    torch.testing.assert_close(
                        torch.from_numpy(got.detach().contiguous().numpy()), want.detach().contiguous()
                    )
