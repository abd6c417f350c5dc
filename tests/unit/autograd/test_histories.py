"""Hooks in second gradients, tensors detached in place, and gradients that depend on an input in form only,
beside PyTorch."""

import alike
import pytest

# P gives a gradient of X and the gradient of that one; hooked() is a tensor whose hook takes cosines
HEAD = """
X = torch.tensor([-1.3, .2, -0.4, 2.5]).double().requires_grad_()
def P(y):
    g, = torch.autograd.grad(y.sum(), [X], create_graph=True)
    return g.detach(), torch.autograd.grad(g.sum(), [X])[0]
def hooked(y):
    y.register_hook(lambda g: g.cos())
    return y
"""
CHANGES = """
F.celu(y, inplace=True)
F.elu_(y, 1.3)
F.selu_(y)
F.leaky_relu_(y, .3)
F.hardtanh_(y)
y.relu_()
y.exp_()
y.exp2_()
y.tanh_()
y.sin_()
y.pow_(3)
F.threshold_(y, .1, 3)
y.clamp_(-1, 1)
F.silu(y, inplace=True)
y.cumsum_(0)
y.lerp_(X, X)
F.rrelu_(y)
"""
MADE = ["y = X * 1", "w = X.repeat(2); y = w[::2]", "w = X * 1; y = w.view(4)"]


@pytest.mark.parametrize("made", MADE)
@alike.cases(CHANGES)
def test_hooks_of_what_was_changed_in_place(line, made):
    alike.alike(f"{HEAD}{made}; {line}; P(hooked(y))")


DETACHED = """
y = X * 1; z = y * y; y.detach_(); P(z)
y = X * 1; z = torch.complex(y, y); y.detach_(); P(z.real)
y = X * 1; z = y.sin(); y.detach_(); z.sum().backward()
y = X * 1; z = y.exp(); y.detach_(); P(z)
y = X * 1; z = y.exp(); z.detach_(); z.requires_grad
y = X * 1; z = y.exp(); w = z.sin(); z.detach_(); P(w)
y = X * 1; y.detach_(); y.requires_grad_(); z = y.sin(); torch.autograd.grad(z.sum(), [y])
y = X * 1; y.detach_(); z = (y * X).sin(); P(z)
y = X * 1; z = y.sin(); y.detach_(); y.requires_grad_(); P(z)
y = X.detach().requires_grad_(); z = y.sin(); y.detach_(); z.sum().backward(); y.grad
y = X.detach().requires_grad_(); z = y.sin(); y.requires_grad_(False); z.sum().backward(); y.grad
y = X.detach().requires_grad_(); z = y.sin(); y.detach_(); y.requires_grad_(); z.sum().backward(); y.grad
y = X.detach().requires_grad_(); z = y.sin(); y.detach_(); y[0] = X[1]; z.sum().backward(); y.grad
y = X.detach().requires_grad_(); z = y.sin(); y.detach_(); y[0] = X[1]; P(z)
y = X * 1; z = y + 1; y.detach_(); P(z.sin())
y = X * 1; v = y.view(4); z = v.sin(); y.detach_(); P(z)
"""


@alike.cases(DETACHED)
def test_detached_after_it_was_saved(line):
    alike.alike(HEAD + line)


# Q gives a gradient under create_graph and its own gradient; W is an image, L a row of weights
IMAGE = """
W = torch.linspace(0, 3, 64).double().cos().reshape(2, 2, 4, 4).requires_grad_()
L = torch.linspace(1, 2, 2).double().requires_grad_()
def Q(y, *x):
    g = torch.autograd.grad(y.sum(), x, create_graph=True)
    s = [t.sum() for t in g if t.requires_grad]
    h = torch.autograd.grad(s, x, allow_unused=True) if s else s
    return [t.requires_grad for t in g], [t is not None and (t * 1e6).round().long() for t in h]
"""
IN_FORM = """
[Q(f(W.flatten(2), 2), W) for f in (F.max_pool1d, F.avg_pool1d, F.adaptive_avg_pool1d, F.adaptive_max_pool1d)]
[Q(f(W, 2), W) for f in (F.max_pool2d, F.avg_pool2d, F.adaptive_avg_pool2d, F.adaptive_max_pool2d)]
[Q(f(W, 2), W) for f in (F.max_pool3d, F.avg_pool3d, F.adaptive_avg_pool3d, F.adaptive_max_pool3d)]
[Q(F.pad(x, p, m), W) for m in ('reflect', 'replicate') for x, p in ((W[0], (1, 1)), (W, (1, 0, 1, 1)))]
Q(F.max_pool2d(W, 2).sin(), W)
[Q(W.detach()[0, 0, 0, :1].clone().requires_grad_().prod(*d) * X, X) for d in ((), (0,))]
x = X.detach()[:1].requires_grad_(); [Q(x.prod(*d), x) for d in ((), (0,))], Q(x[0].prod(), x)
x = X.detach()[:0].requires_grad_(); [Q(x.prod(*d), x) for d in ((), (0,))]
[Q(F.batch_norm(v, None, None, w, None, t), w) for v in (W.detach(),) for w in (L,) for t in (True,)]
Q(F.batch_norm(W, None, None, L, L.detach(), True), W, L), Q(F.batch_norm(W.detach(), None, None, L, L, True), L)
Q(F.batch_norm(W, L.detach(), L.detach(), L), W, L)
w = torch.ones(4).double().requires_grad_(); Q(F.layer_norm(W, (4,), w), W, w), Q(F.layer_norm(W.detach(), (4,), w), w)
w = torch.ones(4).double().requires_grad_(); Q(F.layer_norm(W.detach(), (4,), None, w), w)
torch.autograd.grad(torch.cdist(W[0, 0], W[0, 1], 0.).sum(), W), torch.autograd.grad(torch.pdist(W[0, 0], 0.).sum(), W)
torch.diff(W, 0, 0, W[:1]), torch.autograd.grad(torch.diff(L, 0, 0, X).sum(), [L, X], allow_unused=True)
"""


@alike.cases(IN_FORM)
def test_gradients_that_depend_on_an_input_in_form(line):
    alike.alike(HEAD + IMAGE + line)


# inference tensors have no views that anybody follows, and an op of nothing else is not recorded
MADE_SO = "with torch.inference_mode(): y, v = torch.ones(3, requires_grad=True), torch.ones(2, 3)\n"
INFERENCE = """
y.requires_grad, y.is_leaf, y.is_inference(), v.is_inference()
[t.requires_grad for t in (y + 1, y * 2, 2 / y, y - torch.ones(3), y + v, y.sin(), y.exp(), y.sum(), y.softmax(0))]
[t.requires_grad for t in (y * y, F.linear(y, y[None]), torch.stack([y, y]), torch.stack([y, torch.ones(3)]))]
y.add(1).sum().backward(); y.grad
y.exp().sum().backward()
[(t.requires_grad, t.is_inference(), t._is_view()) for t in (y.view(3), y[0], y.unbind()[0], v.mT, v.detach())]
F.linear(torch.ones(1, 3), y[None]), y.relu().is_inference()
F.linear(torch.ones(1, 3), v)
v._base is None, v[0]._base is None, torch.ones(2)[0]._base is None
exec('with torch.inference_mode(): v.view(6).mul_(3); v.unbind()[0].add_(1); v[:, 1:] += 4; v[0] = 7'); v
exec('with torch.inference_mode(): v.t_(); v.unsqueeze_(0); w = v.detach()'); v.shape, w._is_view()
v[0] = 5
v.view(6).add_(1)
"""
SET = """
x = torch.ones(3) * 1; x.set_(torch.zeros(4).requires_grad_()); x.requires_grad, x.grad_fn.name()
x = torch.ones(3) * 1; x.set_(torch.zeros(4).requires_grad_()); x.sum().backward()
x = torch.ones(3) * 1; x.set_(torch.zeros(4)); x.requires_grad, x.grad_fn
x = torch.ones(3).requires_grad_() * 1; x.set_(torch.zeros(4)); x.requires_grad, x.grad_fn.name()
"""


@alike.cases(INFERENCE + SET)
def test_inference_tensors_and_set(line):
    alike.alike(MADE_SO + line)
