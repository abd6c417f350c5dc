"""Forward-mode AD: dual numbers, modules with dual parameters, custom Functions with jvp, Hessian-vector products."""

import torch
import torch.autograd.forward_ad as fwAD
import torch.nn as nn
from torch.func import functional_call, grad, jvp, linearize


def fn(x, y):
    return x**2 + y**2


torch.manual_seed(0)
primal, tangent = torch.randn(6, 6), torch.randn(6, 6)
with fwAD.dual_level():
    dual_input = fwAD.make_dual(primal, tangent)
    assert fwAD.unpack_dual(dual_input).tangent is tangent
    plain_tensor = torch.randn(6, 6)
    dual_output = fn(dual_input, plain_tensor)
    jvp_value = fwAD.unpack_dual(dual_output).tangent
    print(
        fwAD.unpack_dual(dual_input)._fields,
        f"{jvp_value.sum().item():.5f}",
        (2 * primal * tangent).allclose(jvp_value),
    )
    inner = dual_input.t()[1:, ::2].clone()
    inner[0] = 1.0
    print(f"{fwAD.unpack_dual(inner).tangent.norm().item():.5f}", fwAD.unpack_dual(plain_tensor).tangent)
print(fwAD.unpack_dual(dual_output).tangent)

model = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.LayerNorm(4), nn.Linear(4, 2), nn.Softmax(-1))
inp = torch.randn(16, 5)
params = {name: p for name, p in model.named_parameters()}
tangents = {name: torch.rand_like(p) for name, p in params.items()}
with fwAD.dual_level():
    for name, p in params.items():
        owner = model.get_submodule(name.rpartition(".")[0])
        delattr(owner, name.rpartition(".")[2])
        setattr(owner, name.rpartition(".")[2], fwAD.make_dual(p, tangents[name]))
    out = model(inp)
    first = fwAD.unpack_dual(out).tangent
    print("module", f"{first.abs().sum().item():.6f} {first.sum().item():.4f}")
model = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.LayerNorm(4), nn.Linear(4, 2), nn.Softmax(-1))
_, second = jvp(lambda p: functional_call(model, p, (inp,)), (params,), (tangents,))
print(torch.allclose(first, second, atol=1e-6))


class Fn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, foo):
        result = torch.exp(foo)
        ctx.result = result
        return result

    @staticmethod
    def jvp(ctx, gI):
        gO = gI * ctx.result
        del ctx.result
        return gO


with fwAD.dual_level():
    o = Fn.apply(fwAD.make_dual(primal[0].cpu().double(), tangent[0].cpu().double()))
    print([f"{v:.5f}" for v in fwAD.unpack_dual(o).tangent.tolist()])
x = torch.randn(4, dtype=torch.double, device="cpu", requires_grad=True)
print(torch.autograd.gradcheck(lambda t: (t.sin() * t.cumsum(0)).sum(), (x,), check_forward_ad=True),
      torch.autograd.gradgradcheck(torch.logsumexp, (x, 0)))  # fmt: skip


def loss(v):
    return (v.exp() / (1 + v.exp().sum())).pow(2).sum() + torch.linalg.norm(v)


point, direction = torch.randn(4), torch.randn(4)
_, forward_over_reverse = jvp(grad(loss), (point,), (direction,))
v = point.clone().requires_grad_()
(g,) = torch.autograd.grad(loss(v), v, create_graph=True)
(reverse_over_reverse,) = torch.autograd.grad(g @ direction, v)
print(
    [f"{a:.5f}" for a in forward_over_reverse.tolist()],
    torch.allclose(forward_over_reverse, reverse_over_reverse, atol=1e-5),
)
value, linear = linearize(loss, point)
print(
    f"{value.item():.5f} {linear(direction).item():.6f} {linear(2 * direction).item() / linear(direction).item():.3f}"
)
nested = jvp(lambda a: jvp(torch.sin, (a,), (torch.ones(()),))[1], (torch.tensor(0.5),), (torch.ones(()),))
print([f"{t.item():.6f}" for t in nested])
try:
    fwAD.make_dual(primal, tangent)
except RuntimeError as e:
    print(str(e)[:44])
with fwAD.dual_level(), torch.no_grad():
    d = fwAD.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0]))
    print(fwAD.unpack_dual(torch.stack([d.prod(), d.norm(), d.max(), torch.where(d > 1, d, -d)[0]])).tangent)
