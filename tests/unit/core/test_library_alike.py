"""torch.library: operators of one's own, their kernels, gradients, schemas and refusals."""

import pytest
from alike import alike, cases

import torchlite
from torchlite import library

_OPS = """
from typing import List, Optional, Sequence, Union
L, Tensor = torch.library, torch.Tensor
lib = L.Library("tl%d", "FRAGMENT")
lib.define("twice(Tensor x, *, float k=2.) -> Tensor")
lib.impl("twice", lambda x, k=2.0: x * k, "CompositeExplicitAutograd")
lib.define("parts(Tensor x, int[] n) -> Tensor[]")
lib.impl("parts", lambda x, n: [x + i for i in n], "CompositeImplicitAutograd")
def sine(x: Tensor, k: float = 2.0) -> Tensor:
    return x.sin() * k
def raised(x: Tensor, y: Optional[Tensor] = None) -> None:
    x.add_(1)
def same(x: Tensor) -> Tensor:
    return x
def stacked(xs: List[Tensor]) -> Tensor:
    return torch.stack(xs).sum(0)
def many(x: Tensor, y: int, z: bool = True, s: str = "a", q: Optional[float] = None,
         n: Union[int, float, bool] = 1, *, d: torch.dtype = torch.float32) -> List[Tensor]:
    return []
def bad(x: object) -> Tensor:
    return x
def keep(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.k = inputs[1]
def formula(ctx, g):
    return g * ctx.saved_tensors[0].cos() * ctx.k, None
x = torch.ones(3, requires_grad=True)
"""
_count = iter(range(10**6))


@cases("""
ops.twice(torch.ones(2)), ops.twice(torch.ones(2), k=3.), str(ops.twice.default)
ops.twice.default._schema.arguments[1].N
ops.parts(x, [1, 2])
lib.impl("twice", lambda x, k=2.0: x * 5, "CPU"); ops.twice(torch.ones(2))
lib.impl("twice", lambda x: x, "CPU"); lib.impl("twice", lambda x, k=2.0: x, "CPU", allow_override=False)
ops.nope
ops.twice(2)
ops.twice()
f=L.custom_op(name+'sine', sine, mutates_args=()); f(torch.ones(2)), ops.sine(torch.ones(2), 3.)
f=L.custom_op(name+'sine', sine, mutates_args=()); f.register_autograd(formula, setup_context=keep);
    f(x).sum().backward(); x.grad
f=L.custom_op(name+'raised', raised, mutates_args={'x'}); a=torch.zeros(2);
    f(a), a, a._version, ops.raised.default._schema.is_mutable
f=L.custom_op(name+'stacked', stacked, mutates_args=()); f([x, x])
f=L.custom_op(name+'one', sine, mutates_args=(), device_types='cpu'); f(torch.ones(1))
L.infer_schema(many, mutates_args=()), L.infer_schema(many, mutates_args=('x',))
L.infer_schema(raised, mutates_args='unknown')
L.infer_schema(lambda x: x, mutates_args=())
L.define('nope', '(Tensor x) -> Tensor')
L.define(name+'q', 'Tensor x -> Tensor')
L.Library('a', 'NO')
L.define(name+'half', '(Tensor x) -> Tensor'); L.impl(name+'half', 'cpu')(lambda x: x / 2); ops.half(torch.ones(2))
L.opcheck(ops.twice.default, (torch.ones(1),), test_utils='test_schema')
L.define(name+'half', '(Tensor x) -> Tensor'); L.impl(name+'half', 'cpu')(lambda x: x / 2);
    x = torch.ones(2, requires_grad=True); ops.half(x).sum().backward(); x.grad
L.define(name+'half', '(Tensor x) -> Tensor'); L.impl(name+'half', 'cpu')(lambda x: x.detach() / 2);
    x = torch.ones(2, requires_grad=True); y = ops.half(x); y.sum().backward(); y.requires_grad, x.grad
L.define(name+'both', '(Tensor x) -> (Tensor, Tensor)'); L.impl(name+'both', 'cpu')(lambda x: (x / 2, x.argmax()));
    x = torch.ones(2, requires_grad=True); y, i = ops.both(x); y.sum().backward(); i.requires_grad, x.grad
from torch.fx.experimental.proxy_tensor import make_fx;
    L.define(name+'o', "(Tensor x, int n=1, float[] s=[1.0, 2.0], *, str m='a', Tensor? t=None) -> Tensor");
    L.impl(name+'o', 'cpu')(lambda x, n=1, s=(1., 2.), m='a', t=None: x * n); f = ops.o;
    [make_fx(c)(torch.ones(2)).code for c in (lambda x: f(x, 1), lambda x: f(x, 2), lambda x: f(x, 1, [3.]),
    lambda x: f(x, m='b'), lambda x: f(x, 1, [1., 2.], t=x))]
L.define(name+'m', '(Tensor a) -> asdf')
L.define(name+'d', '(Tensor x) -> Tensor'); L.impl(name+'d', 'default')(lambda x: x.detach() + 1);
    L.register_fake(name+'d')(torch.empty_like); y = ops.d(x); ops.d(x.detach().to('meta')).shape, y.requires_grad, y
lib.impl("early", lambda x: x + 1, "CPU"); lib.define("early(Tensor x) -> Tensor"); ops.early(torch.ones(2))
L.impl(name+'early', 'default', lambda x: x + 1); L.define(name+'early', '(Tensor x) -> Tensor'); ops.early(x.detach())
lib.impl("early", lambda x: x, "CPU"); ops.early
lib.define("old(Tensor(a!) x) -> ()"); L.impl(lib, "old", "CPU")(lambda x: x.add_(1) and None); a = torch.ones(2);
    ops.old(a), a
lib.define("old(Tensor x) -> Tensor"); f = L.impl(lib, "old")(lambda x: x + 1); ops.old(torch.ones(2)), f(1)
f = L.define(lib, "old(Tensor x) -> Tensor")(lambda x: x + 1); ops.old(torch.ones(2)), f(1)
L.define(name+'m', '(asdf a) -> Tensor')
L.define(name+'m', '(int64_t a) -> Tensor')
L.define(name+'m', '(double a) -> Tensor')
L.define(name+'m', '(Tensor a -> Tensor')
f = L.custom_op(name+'r', mutates_args={}, schema='(Device device) -> Tensor', device_types='cpu')(
    lambda device: torch.ones(1)); f('cpu'), f(device=torch.device('cpu'))
f = L.custom_op(name+'r', mutates_args={}, schema='(Device device) -> Tensor', device_types='cpu')(
    lambda device: torch.ones(1)); f('cuda')
f = L.custom_op(name+'r', mutates_args={}, schema='(int x) -> Tensor', device_types='cpu')(lambda x: torch.ones(1))
f = L.custom_op(name+'r', mutates_args={}, schema='() -> Tensor')(lambda: torch.ones(1)); f()
f = L.custom_op(name+'into', mutates_args={'x'}, schema='(Tensor(a!) x) -> ()')(lambda x: x.mul_(2) and None);
    x = torch.ones(1, requires_grad=True); y = x.clone(); f(y); y.sum().backward(); y, x.grad
""")
def test_as_pytorch(line):
    space = "tl%d" % next(_count)
    names = "name='%s::'; ops=torch.ops.%s\n" % (space, space)
    alike("import torch.library\n" + _OPS.replace("tl%d", space) + names + line)


def test_refusals_name_the_op():
    torch = torchlite
    f = library.custom_op("tlmine::f", mutates_args=(), schema="(Tensor x) -> Tensor")(lambda x: x)
    with pytest.raises(RuntimeError, match="tlmine::f .*must not also be an input"):
        f(torch.ones(1))
    g = library.custom_op("tlmine::g", mutates_args=(), schema="(Tensor x) -> Tensor")(lambda x: x * 2)
    with pytest.raises(RuntimeError, match="Trying to backward through tlmine.g.default but no autograd formula"):
        g(torch.ones(1, requires_grad=True)).sum().backward()
    library.define("tlmine::h", "(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="Could not run 'tlmine::h' with arguments from the 'CPU' backend"):
        torch.ops.tlmine.h(torch.ones(1))
    with pytest.raises(NotImplementedError, match="kernels cannot be replaced"):
        library.impl("aten::add.Tensor", "cpu")(lambda a, b: a)
    for call in (lambda: library.wrap_triton(None), lambda: library.triton_op("a::b", mutates_args=())):
        with pytest.raises(NotImplementedError, match="no Triton"):
            call()


def test_a_kernel_is_switched_off(caplog):
    torch = torchlite
    f = library.custom_op("tlmine::switched", mutates_args=(), schema="(Tensor x) -> Tensor")(lambda x: x * 0)
    f.register_kernel("cpu")(lambda x: x * 2)
    x = torch.ones(1)
    with f.set_kernel_enabled("cpu", enabled=False):
        assert f(x) == 0
        with f.set_kernel_enabled("cpu"):
            assert f(x) == 2
        assert f(x) == 0 and not caplog.records
        with f.set_kernel_enabled("cpu", False):
            assert f(x) == 0 and "Attempted to disable kernel for cpu but it was already" in caplog.text
        assert f(x) == 0
    with f.set_kernel_enabled("cuda", False):
        assert "no kernel was registered for this device type" in caplog.text
    assert f(x) == 2


def test_libraries_of_compiled_operators():
    before = set(torchlite.ops.loaded_libraries)
    for path in ("/nowhere/libmine.so", __file__):
        with pytest.raises(OSError, match="cannot open shared object|does not load libraries"):
            torchlite.ops.load_library(path)
    assert torchlite.ops.loaded_libraries == before


def test_a_namespace_is_looked_up_once(monkeypatch):
    space = torchlite.ops.not_looked_up_before
    monkeypatch.setattr("importlib.util.find_spec", lambda name: pytest.fail("looked up again"))
    assert torchlite.ops.not_looked_up_before is space


_SCOPED = """
from typing import Optional, Sequence
T = torch.Tensor
def g(x: T, *, y: T) -> T: return x
def h(x: T, *, y: int, z: Optional[T]) -> T: return x
def k(x: T, *, y: int, z: Sequence[T]) -> T: return x
def ok(x: T, *, y: int = 2) -> T: return x * y
L = torch.library
"""


@cases("""
L.custom_op("by_name::g", g, mutates_args=())
L.custom_op("by_name::h", h, mutates_args=())
L.custom_op("by_name::k", k, mutates_args=())
L.custom_op("by_name::ok", ok, mutates_args=())(torch.ones(2), y=3)
L.infer_schema(ok, mutates_args="x")
L.infer_schema(ok, mutates_args="unknown")
""")
def test_tensors_by_name_and_what_is_changed(line):
    alike(_SCOPED + line)


def test_a_scoped_library_is_gone_after_it():
    alike(
        _SCOPED
        + """
with L._scoped_library("scoped_once", "FRAGMENT") as lib:
    lib.define("s(Tensor x) -> Tensor")
    lib.define("n(Tensor x, *, Tensor y) -> Tensor")
    lib.impl("s", lambda x: x + 1, "CPU")
    result = torch.ops.scoped_once.s(torch.ones(2))
    try:
        L.register_autograd("scoped_once::n", lambda ctx, g: g, lib=lib)
    except NotImplementedError as e:
        text = str(e)
result, text, hasattr(torch.ops.scoped_once, "s")
"""
    )


def test_a_kernel_for_autograd_runs_without_a_gradient_too():
    alike(
        _SCOPED
        + """
L.define("below::a", "(Tensor x)->Tensor")
L.define("below::b", "( Tensor x , Tensor ? y = None )  ->  Tensor")
L.define("below::c", "(Tensor[]x) ->Tensor")
L.impl("below::a", "Autograd")(lambda x: x * 5)
L.impl("below::a", "cpu")(lambda x: x * 7)
ops, x = torch.ops.below, torch.ones(2)
@L.impl("below::b", "Autograd")
def _(x, y=None):
    with torch._C._AutoDispatchBelowAutograd():
        return ops.b(x) + 1
L.impl("below::b", "cpu")(lambda x, y=None: x * 7)
found = [ops.a(x), ops.a(x.requires_grad_()), ops.b(x), str(ops.b.default._schema), str(ops.c.default._schema)]
with torch.no_grad():
    found.append(ops.a(x))
with torch._C._AutoDispatchBelowAutograd():
    found.append(ops.a(x))
with torch.inference_mode():
    found.append(ops.a(torch.ones(2)))
found
"""
    )


def test_a_kernel_found_by_its_key_can_be_called():
    alike(
        _SCOPED
        + """
keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
found = []
with L._scoped_library("kernel_found", "FRAGMENT") as lib:
    lib.define("q(Tensor x) -> Tensor")
    lib.define("r(Tensor x) -> Tensor")
    lib.impl("q", lambda x: x + 1, "CPU")
    custom = L.custom_op("kernel_found::s", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    for op in ("aten::sin", torch.ops.aten.cos.default, "kernel_found::q", "kernel_found::s"):
        for key in ("CPU", torch._C.DispatchKey.CPU):
            found.append(L.get_kernel(op, key).call_boxed(keys, torch.ones(2)))
    wrong = [("aten::nope", "CPU"), ("nope::nope", "CPU"), ("nope", "CPU"), (3, "CPU"), ("aten::add.Nope", "CPU")]
    wrong += [("aten::add.Tensor", "Nope"), ("aten::reshape", "CompositeImplicitAutograd"), ("kernel_found::r", "CPU")]
    for op, key in [*wrong, ("aten::add", "CPU")]:
        try:
            found.append(L.get_kernel(op, key))
        except (RuntimeError, ValueError) as e:
            found.append((type(e).__name__, str(e)))
found
"""
    )
