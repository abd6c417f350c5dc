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
y = X * 1; z = y + 1; y.detach_(); P(z.sin())
y = X * 1; v = y.view(4); z = v.sin(); y.detach_(); P(z)
"""


@alike.cases(DETACHED)
def test_detached_after_it_was_saved(line):
    alike.alike(HEAD + line)
