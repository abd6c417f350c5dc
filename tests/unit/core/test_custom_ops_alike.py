"""Operators of one's own: torch._custom_ops, opcheck, and what modes see of them, beside PyTorch's."""

import re

import pytest
from alike import alike

HEAD = """import torch._custom_ops as co; from torch import Tensor; from torch._custom_op import impl as ci
from torch._subclasses.fake_tensor import FakeTensorMode; from torch.fx.experimental.proxy_tensor import make_fx
"""


def programs(text):
    """A decorator that makes a test of each program of a text. An indented line is the next one of a program; @ stands
    for the program's own namespace."""
    found = [p.replace("\0", "\n") for p in re.sub(r"\n    ", "\0", text.strip()).split("\n")]
    return pytest.mark.parametrize("line", [p.replace("@", "tl_ops%d" % i) for i, p in enumerate(found)])


@programs(
    """
co.custom_op('@::f', '(Tensor x) -> Tensor'); co.impl('@::f', func=lambda x: x * 2)
    torch.ops.@.f(torch.ones(2))
co.custom_op('@::f', '(Tensor(a!) x) -> Tensor')
co.custom_op('aten::f', '(Tensor x) -> Tensor')
co.custom_op('f', '(Tensor x) -> Tensor')
co.custom_op('@::f.g', '(Tensor x) -> Tensor')
co.custom_op('@::f', '(Tensor x) -> Tensor'); torch.ops.@.f(torch.ones(2))
co.custom_op('@::f', '(Tensor x) -> Tensor'); torch.ops.@.f(torch.ones(2, device='meta'))
co.custom_op('@::f', '(Tensor[] x) -> Tensor'); torch.ops.@.f([])
co.custom_op('@::f', '(Tensor x) -> Tensor'); torch.ops.@.f(torch.ones(2, requires_grad=True))
co.custom_op('@::f', '(Tensor x) -> Tensor'); co.impl('@::f', func=lambda x: x.sin())
    co.impl_save_for_backward('@::f', func=lambda inputs, output: inputs.x)
    co.impl_backward('@::f', func=lambda ctx, saved, g: {'x': g * saved.cos()})
    x = torch.ones(2, requires_grad=True); torch.ops.@.f(x).sum().backward(); x.grad
co.custom_op('@::f', '(Tensor x, Tensor[] y) -> (Tensor, Tensor)'); co.impl('@::f', func=lambda x, y: (x * 2, y[0] * x))
    co.impl_save_for_backward('@::f', func=lambda inputs, output: (inputs.x, inputs.y))
    co.impl_backward('@::f', func=lambda c, s, g, h: {'x': 2 * g + h * s[1][0], 'y': [h * s[0], None]})
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    a, b = torch.ops.@.f(x, [y, torch.ones(1)]); torch.autograd.grad((a + 3 * b).sum(), [x, y])
co.custom_op('@::f', '(Tensor x) -> Tensor'); co.impl_abstract('@::f', func=lambda x: x.new_empty(3))
    torch.ops.@.f(torch.ones(2, device='meta'))
op = co.custom_op('@::f', '(Tensor x) -> Tensor'); co._destroy('@::f'); co.custom_op('@::f', '(Tensor x) -> Tensor')
ci.get_op('@::none')
ci.CustomOp(None, None, None, None, None)
@torch.library.custom_op('@::f', mutates_args=())
    def f(x: Tensor) -> Tensor: return x.clone()
    f.register_fake(lambda x: torch.empty_like(x)); make_fx(lambda x: f(x) + 1)(torch.ones(2)).code
@torch.library.custom_op('@::f', mutates_args=())
    def f(x: Tensor) -> Tensor: return x.clone()
    with FakeTensorMode(): f(torch.ones(2))
@torch.library.custom_op('@::f', mutates_args=())
    def f(x: Tensor) -> Tensor: return x.clone()
    f.register_fake(lambda x: torch.empty_like(x))
    with FakeTensorMode(): y = f(torch.ones(2))
    y.shape
@torch.library.custom_op('@::f', mutates_args=())
    def f(x: Tensor) -> Tensor: return torch.from_numpy(x.numpy(force=True) ** 3)
    f.register_fake(lambda x: torch.empty_like(x))
    keep = lambda ctx, inputs, output: setattr(ctx, 'x', inputs[0])
    f.register_autograd(lambda ctx, g: g * 3 * ctx.x ** 2, setup_context=keep)
    torch.library.opcheck(f, (torch.ones(2, requires_grad=True),), test_utils=('test_schema', 'test_faketensor'))
torch.library.opcheck(torch.ops.aten.sin.default, (torch.ones(2, requires_grad=True),))
torch.library.opcheck(torch.ops.aten.sin.default, (torch.ones(2),), rtol=1.)
lib = torch.library.Library('@', 'FRAGMENT'); torch.library.define('@::f', '(Tensor x) -> Tensor', lib=lib)
    lib._destroy(); torch.library.define('@::f', '(Tensor x) -> Tensor')
co.custom_op('@::f', '(Tensor x) -> Tensor')
    with FakeTensorMode(): torch.ops.@.f(torch.ones(2))
from torch._library.utils import is_functional_schema as s
    [s(torch.ops.aten.sin.default._schema), s(torch.ops.aten.sin_.default._schema), s(torch.ops.aten.t.default._schema)]
from torch._library.infer_schema import tuple_to_list as t; import typing
    t(typing.Tuple[int, int]) == typing.List[int], t(typing.Tuple[int, ...]) == typing.List[int]
from torch._subclasses.schema_check_mode import SchemaCheckMode
    with SchemaCheckMode() as m: torch.ones(3).sin_().view(3)
    m.ops, m.mutated, m.aliasing
"""
)
def test_custom_ops(line):
    alike(HEAD + line)


@pytest.mark.parametrize(
    "name, schema, kernels, text",
    [
        ("writes", "(Tensor x) -> Tensor", {"CPU": lambda x: x.add_(1).clone()}, "is not defined as mutable"),
        ("views", "(Tensor x) -> Tensor", {"CPU": lambda x: x.view_as(x)}, "is not defined to alias output"),
        (
            "shapes",
            "(Tensor x) -> Tensor",
            {"CPU": lambda x: x * 2, "Meta": lambda x: x.unsqueeze(0) * 2},
            "Shapes .* are not equal",
        ),
    ],
)
def test_opcheck_finds(name, schema, kernels, text):
    import torchlite as torch

    lib = torch.library.Library("tl_checked", "FRAGMENT")
    try:
        lib.define(name + schema)
        for key, kernel in kernels.items():
            lib.impl(name, kernel, key)
        op = getattr(torch.ops.tl_checked, name)
        with pytest.raises(Exception, match=text):
            torch.library.opcheck(op, (torch.ones(2),))
        found = torch.library.opcheck(op, (torch.ones(2),), raise_exception=False)
        assert any(isinstance(v, Exception) and re.search(text, str(v)) for v in found.values())
    finally:
        lib._destroy()


def test_rules_of_modes():
    import torchlite as torch
    from torchlite.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    @torch.library.custom_op("tl_checked::ruled", mutates_args=())
    def ruled(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    @torch.library.register_torch_dispatch("tl_checked::ruled", Mode)
    def rule(mode, func, types, args, kwargs):
        return func(*args) * 10

    with Mode():
        assert ruled(torch.ones(1)).item() == 20
    assert ruled(torch.ones(1)).item() == 2


def test_an_op_that_only_writes_needs_no_fake():
    import torchlite as torch

    @torch.library.custom_op("tl_checked::writes", mutates_args=("x",))
    def writes(x: torch.Tensor) -> None:
        x.add_(1)

    assert writes(torch.zeros(2, device="meta")) is None
    assert set(torch.library.opcheck(writes, (torch.zeros(2),)).values()) == {"SUCCESS"}
