"""Functions of one's own: setup_context, double backward, fused layers, in-place marks, saved outputs, error texts."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class LegendrePolynomial3(Function):
    @staticmethod
    def forward(input):
        return 0.5 * (5 * input**3 - 3 * input)

    @staticmethod
    def setup_context(ctx, inputs, output):
        (input,) = inputs
        ctx.save_for_backward(input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input**2 - 1)


class Sinh(Function):
    @staticmethod
    def forward(ctx, x):
        expx, expnegx = torch.exp(x), torch.exp(-x)
        ctx.save_for_backward(expx, expnegx)
        return (expx - expnegx) / 2, expx, expnegx  # the last two, so that a second derivative can be had

    @staticmethod
    def backward(ctx, grad_out, _grad_expx, _grad_expnegx):
        expx, expnegx = ctx.saved_tensors
        grad_input = grad_out * (expx + expnegx) / 2
        grad_input = grad_input + _grad_expx * expx
        return grad_input - _grad_expnegx * expnegx


class LinearFunction(Function):
    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


class FusedConvBN(Function):
    """Convolution and batch norm without keeping the convolution's output."""

    @staticmethod
    def forward(ctx, X, weight, eps=1e-3):
        ctx.eps = eps
        Y = F.conv2d(X, weight)
        mean, var = Y.mean((0, 2, 3), keepdim=True), Y.var((0, 2, 3), unbiased=False, keepdim=True)
        ctx.save_for_backward(X, weight)
        return (Y - mean) / torch.sqrt(var + eps)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        X, weight = ctx.saved_tensors
        with torch.enable_grad():
            X, weight = X.detach().requires_grad_(), weight.detach().requires_grad_()
            Y = F.conv2d(X, weight)
            out = F.batch_norm(Y, None, None, training=True, eps=ctx.eps)
        gx, gw = torch.autograd.grad(out, (X, weight), grad)
        return gx, gw, None


class InplaceDouble(Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return 2 * g


class SortRows(Function):
    @staticmethod
    def forward(ctx, x):
        values, order = x.sort(-1)
        ctx.mark_non_differentiable(order)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(order)
        return values, order

    @staticmethod
    def backward(ctx, g, _):
        (order,) = ctx.saved_tensors
        return None if g is None else torch.empty_like(g).scatter_(-1, order, g)


torch.manual_seed(5)
x = torch.linspace(-3.14159, 3.14159, 200)
y = torch.sin(x)
a, b, c, d = (torch.full((), v, requires_grad=True) for v in (0.0, -1.0, 0.0, 0.3))
for t in range(60):
    P3 = LegendrePolynomial3.apply
    y_pred = a + b * P3(c + d * x)
    loss = (y_pred - y).pow(2).sum()
    if t % 20 == 19:
        print(t, f"{loss.item():.5f}")
    loss.backward()
    with torch.no_grad():
        for p in (a, b, c, d):
            p -= 5e-6 * 20 * p.grad
            p.grad = None
print(f"Result: y = {a.item():.5f} + {b.item():.5f} * P3({c.item():.5f} + {d.item():.5f} x)")
z = torch.randn(5, dtype=torch.double, device="cpu", requires_grad=True)
print(
    torch.autograd.gradcheck(lambda v: Sinh.apply(v)[0], z), torch.autograd.gradgradcheck(lambda v: Sinh.apply(v)[0], z)
)
inputs = (
    torch.randn(4, 3, dtype=torch.double, device="cpu", requires_grad=True),
    torch.randn(2, 3, dtype=torch.double, device="cpu", requires_grad=True),
)
print(
    torch.autograd.gradcheck(LinearFunction.apply, inputs, eps=1e-6, atol=1e-4),
    repr(LinearFunction.apply(*inputs).grad_fn)[:59],
)
X = torch.rand(2, 3, 6, 6, requires_grad=True, dtype=torch.double, device="cpu")
weight = torch.rand(4, 3, 3, 3, requires_grad=True, dtype=torch.double, device="cpu")
print("fused", torch.autograd.gradcheck(FusedConvBN.apply, (X, weight)))
fused = FusedConvBN.apply(X, weight)
fused.square().mul(torch.arange(4.0, device="cpu").view(4, 1, 1)).sum().backward()
print(f"{X.grad.norm().item():.8f} {weight.grad.norm().item():.6f}")
try:
    (g,) = torch.autograd.grad(FusedConvBN.apply(X, weight).sum(), X, create_graph=True)
    g.sum().backward()
except RuntimeError as e:
    print(e)
leaf = torch.ones(3, requires_grad=True)
u = leaf * 1
w = InplaceDouble.apply(u)
print(w is u, u._version, torch.autograd.grad((u * w).sum(), leaf)[0])
values, order = SortRows.apply(torch.tensor([[3.0, 1.0, 2.0]], requires_grad=True) * 2)
print(values, order, order.requires_grad)
print(torch.autograd.grad((values * torch.tensor([1.0, 10.0, 100.0])).sum(), values)[0])


class Bad(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g, g


for f, arg in (
    (Bad.apply, leaf),
    (lambda v: Bad.apply(v).exp_() + InplaceDouble.apply(v), leaf),
    (lambda v: Bad()(v), leaf),
):
    try:
        f(arg).sum().backward()
    except (RuntimeError, TypeError) as e:
        print(type(e).__name__, str(e).splitlines()[0][:70])
layer = nn.Module()
layer.f = Sinh.apply
print(layer.f(torch.zeros(2))[1], Sinh.apply(leaf)[0].grad_fn.name(), isinstance(Sinh.apply(leaf)[0].grad_fn, Function))
