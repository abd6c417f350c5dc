"""Operators of one's own: torch.library.custom_op with gradient, fake and vmap, Library, opcheck, make_fx, errors."""

import math
import warnings

import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx
from torch.library import Library, custom_op, infer_schema, opcheck


@custom_op("shop::sine", mutates_args=())
def sine(x: Tensor, scale: float = 1.0) -> Tensor:
    return torch.tensor([math.sin(v) * scale for v in x.detach().reshape(-1).tolist()]).reshape(x.shape)


@sine.register_fake
def _(x, scale=1.0):
    return torch.empty_like(x)


def keep(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.scale = inputs[1]


sine.register_autograd(lambda ctx, g: (g * ctx.saved_tensors[0].cos() * ctx.scale, None), setup_context=keep)


@sine.register_vmap
def _(info, in_dims, x, scale=1.0):
    return sine(x, scale), in_dims[0]


x = torch.linspace(0, 1, 4, requires_grad=True)
y = sine(x, 2.0)
y.sum().backward()
print(y.detach(), x.grad, torch.ops.shop.sine.default._schema)
print(sine(torch.empty(3, device="meta")).shape, torch.vmap(sine)(torch.ones(2, 3)))
checks = ("test_schema", "test_autograd_registration", "test_faketensor")
print(opcheck(sine, (torch.randn(3, requires_grad=True),), test_utils=checks))
print(make_fx(lambda v: sine(v) * 2)(torch.ones(2)).code)


@custom_op("shop::add_to", mutates_args={"total"}, device_types="cpu")
def add_to(total: Tensor, value: Tensor) -> None:
    total.add_(value)


leaf = torch.zeros(2, requires_grad=True)
total = leaf * 1
add_to(total, torch.ones(2))
total.sum().backward()
print(total.detach(), leaf.grad, torch.ops.shop.add_to.default._schema)


def typed(x: Tensor, k: int | None, sizes: list[int], where: torch.device, f: float | None = None) -> list[Tensor]:
    return [x]


print(infer_schema(typed, mutates_args={"x"}))

# an operator of a library whose kernel is written with other operators: it is differentiated, with a warning
library = Library("kiosk", "DEF")
library.define("half(Tensor x, int times=1) -> Tensor")
library.impl("half", lambda x, times=1: x / 2**times, "CPU")
library.define("rank(Tensor x) -> Tensor")
library.impl("rank", lambda x: x.detach().argsort().argsort().float(), "CPU")
q = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    torch.ops.kiosk.half(q, 2).sum().backward()
    print(q.grad)
    (torch.ops.kiosk.rank(q) * q).sum().backward()
    print(q.grad, [str(w.message)[:80] for w in caught])
torch.library.register_autograd("kiosk::half", lambda ctx, g: (g * 10, None))
q.grad = None
torch.ops.kiosk.half(q).sum().backward()
print(q.grad)


@custom_op("shop::blank", mutates_args=(), device_types="cpu")
def blank(n: int, device: torch.device) -> Tensor:
    return torch.zeros(n)


print(blank(2, "cpu"))
for wrong in (
    lambda: blank(2, "cuda"),
    lambda: torch.ops.kiosk.half(),
    lambda: torch.ops.kiosk.half("a"),
    lambda: torch.ops.kiosk.nope(q),
    lambda: sine(x, "s"),
    lambda: library.define("half(Tensor x) -> Tensor"),
    lambda: library.define("quarter(Tensor x) -> tensor"),
    lambda: library.define("quarter(double x) -> Tensor"),
    lambda: custom_op("shop::same", mutates_args=())(lambda x: x),
):
    try:
        print(wrong())
    except Exception as e:
        print(type(e).__name__, str(e).strip()[:110])
