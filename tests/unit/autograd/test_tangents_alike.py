"""Gradients of tangents beside PyTorch: a tangent depends on the weights that its tensor depends on."""

import warnings

from alike import alike, cases, torch

with warnings.catch_warnings():  # of what PyTorch imports itself
    warnings.simplefilter("ignore")
    torch.func.jvp(torch.sin, (torch.ones(1),), (torch.ones(1),))

_PROGRAM = """
import torch.autograd.forward_ad as fwAD
D = {"dtype": torch.float64}
torch.manual_seed(0)
x, v, w, W, k = (torch.randn(s, **D) for s in ((3, 4), (3, 4), (3, 4), (5, 4), (2, 3, 3)))
s, b, c = torch.tensor(3., **D), torch.randn(5, **D), torch.randn(4, **D)
def slope(f, *weights, at=None):
    at = x if at is None else at
    weights = [p.clone().requires_grad_() for p in weights]
    with fwAD.dual_level():
        tangent = fwAD.unpack_dual(f(fwAD.make_dual(at, v.expand_as(at).clone()), *weights)).tangent
        grads = torch.autograd.grad(tangent.sum() + (tangent**2).sum(), weights, allow_unused=True)
    return tangent.requires_grad, [None if g is None else g + 0 for g in grads]
"""


@cases("""
slope(lambda d, w: (d * w).sin(), s)
slope(torch.mul, w)
slope(F.linear, W, b)
slope(lambda d, W, b, V: F.linear(torch.tanh(F.linear(d, W, b)), V), W, b, W.t())
slope(lambda d, W: d @ W.t(), W)
slope(lambda d, k: F.conv1d(d, k, padding=1), k, at=x.expand(2, 3, 4))
slope(lambda d, w, b: F.layer_norm(d, (4,), w, b), c, c + 1)
slope(lambda d, w, b: F.batch_norm(d, None, None, w, b, True), c, c + 1)
slope(lambda d, w: torch.einsum("ij,kj->ik", d, w), W)
slope(F.prelu, s[None] / 10)
slope(lambda d, w: torch.where(d > 0, d * w, w), w)
slope(lambda d, w: torch.stack([d * w, w]), w)
slope(lambda d, w: w / (d**2 + 1), w)
slope(lambda d, w: (d.abs() + 0.1) ** w, w / 5)
slope(lambda d, w: (d * w).view(-1)[:5].cos(), w)
slope(lambda d, w: (d * 2).mul_(w), w)
slope(lambda d, w: (d * w).mul_(w).exp_(), w / 5)
m = nn.GRU(4, 3, batch_first=True).double(); p = dict(m.named_parameters());
    slope(lambda d, *ws: torch.func.functional_call(m, dict(zip(p, ws)), (d[None],))[0], *p.values())
t = v.clone().requires_grad_(); fwAD.enter_dual_level(); y = fwAD.unpack_dual((fwAD.make_dual(x, t) * 2).sin()).tangent;
    fwAD.exit_dual_level(); y.requires_grad, torch.autograd.grad(y.sum(), t)
p, q = x.clone().requires_grad_(), s.clone().requires_grad_(); fwAD.enter_dual_level();
    y = fwAD.unpack_dual((fwAD.make_dual(p, v) * q).sin()).tangent; fwAD.exit_dual_level();
    y.requires_grad, torch.autograd.grad(y.sum(), (p, q))
q = s.clone().requires_grad_(); fwAD.enter_dual_level(); torch.set_grad_enabled(False);
    y = fwAD.unpack_dual((fwAD.make_dual(x, v) * q).sin()).tangent.requires_grad;
    torch.set_grad_enabled(True); fwAD.exit_dual_level(); y
m = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).double();
    [nn.init.constant_(p, 0.3) for p in m.parameters()];
    fwAD.enter_dual_level(); u = fwAD.unpack_dual(m(fwAD.make_dual(x, v))); fwAD.exit_dual_level();
    ((u.tangent - u.primal) ** 2).mean().backward(); [p.grad.flatten() for p in m.parameters()]
""")
def test_gradients_of_tangents(line):
    alike(_PROGRAM + line)
