"""Classes with a __torch_dispatch__: wrappers that hold tensors, and subclasses with memory of their own."""

import pytest
from alike import alike, cases

HEAD = """
tree_map = torch.utils._pytree.tree_map
log = []
class Logged(torch.Tensor):
    @staticmethod
    def __new__(cls, elem, requires_grad=False):
        wanted = requires_grad or elem.requires_grad
        made = torch.Tensor._make_wrapper_subclass(cls, elem.size(), strides=elem.stride(), dtype=elem.dtype,
            storage_offset=elem.storage_offset(), layout=elem.layout, device=elem.device, requires_grad=wanted)
        made.elem = elem.detach() if wanted else elem
        return made
    def __repr__(self):
        return 'Logged(%s)' % self.elem
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def unwrap(x): return x.elem if isinstance(x, Logged) else x
        def wrap(x): return Logged(x) if isinstance(x, torch.Tensor) else x
        out = tree_map(wrap, func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {})))
        log.append(str(func))
        return torch.utils._python_dispatch.return_and_correct_aliasing(func, args, kwargs or {}, out)
class Plain(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        log.append((str(func), [t.__name__ for t in types]))
        with torch._C._DisableTorchDispatch(): return func(*args, **(kwargs or {}))
class Under(Plain): pass
class Never(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None): return NotImplemented
x = Logged(torch.tensor([3.]), requires_grad=True)
a = Logged(torch.arange(6.).reshape(2, 3))
def shown(t): return (type(t).__name__, t.elem if isinstance(t, Logged) else t, t.requires_grad)
def made(cls, *n): return torch.Tensor._make_subclass(cls, torch.ones(*n))
"""


@cases("""
(shown(x * x), (x * x).grad_fn.name(), log)
(x.shape, x.dtype, x.device, x.is_cpu, x.stride(), a.stride(), a.is_contiguous(), log)
g, = torch.autograd.grad(x * x, [x]); (shown(g), log)
y = x ** 3; g, = torch.autograd.grad(y, [x], create_graph=True); [shown(t) for t in torch.autograd.grad(g, [x])]
(x * x).sum().backward(); (shown(x.grad), type(x.grad).__name__, log)
x.sin().backward(); x.cos().backward(); shown(x.grad)
(a.sum().item(), log)
(bool((a > 7).any()), float(a[0, 1]), log)
[shown(t) for t in (torch.cat([a, a]), torch.stack([a[0], a[1]]), a @ a.T, a[0], a.view(6), a.mean(1), a.double())]
[shown(t) for t in (a + torch.ones(3), torch.ones(3) + a, torch.where(a > 1, a, 0.))]
b = Logged(torch.ones(2)); c = b.add_(1); (c is b, shown(b), b._version, log)
b = Logged(torch.ones(2)); c = torch.add(b, 1, out=b); (c is b, shown(b), log)
b = x * 1; b.mul_(2); shown(torch.autograd.grad(b.sum(), [x])[0])
(F.linear(a, Logged(torch.ones(4, 3))).elem, log)
p = nn.Parameter(a); (type(p).__name__, p.requires_grad, isinstance(p, nn.Parameter))
p = nn.Parameter(Logged(torch.ones(2))); o = torch.optim.SGD([p], lr=.1); (p * 2).sum().backward(); o.step(); shown(p)
z = Logged(torch.ones(2), requires_grad=True); h = z.register_hook(lambda g: g * 2); (z * 3).sum().backward();
    shown(z.grad)
a.tolist()
a.data_ptr()
(shown(a.detach()), shown(a.clone()), shown(torch.zeros_like(a)), log)
torch.Tensor._make_wrapper_subclass(torch.Tensor, (2,))
[torch.Tensor._make_wrapper_subclass(Plain, n).stride() for n in ((2, 3, 4), (0, 3), ())]
torch.Tensor._make_wrapper_subclass(Plain, (2, 3, 4, 5), memory_format=torch.channels_last).stride()
import copy; copy.deepcopy(torch.ones(2).as_subclass(Plain))
import copy; copy.deepcopy(torch.ones(0, 3).as_subclass(Plain))
import copy; copy.deepcopy(torch.ones(2, device="meta").as_subclass(Plain))
import copy; b = copy.deepcopy(a); (b.elem is a.elem, type(b).__name__)
z = Logged(torch.arange(4.), requires_grad=True); w = z * 1; v = w[0:2]; v.mul_(3);
    shown(torch.autograd.grad(w.sum(), [z])[0]), shown(w)
z = Logged(torch.arange(4.), requires_grad=True); w = z * 1; v = w[0:2]; w.mul_(3);
    shown(torch.autograd.grad(v.sum(), [z])[0])
z = Logged(torch.arange(4.), requires_grad=True); w = z.view(2, 2); w[0].mul_(2)
z = Logged(torch.arange(4.), requires_grad=True); w = z.view(2, 2).t();
    shown(torch.autograd.grad((w * w).sum(), [z])[0])
z = Logged(torch.arange(4.), requires_grad=True); w = z.exp(); w.add_(1); torch.autograd.grad(w.sum(), [z])
z = Logged(torch.arange(4.), requires_grad=True); w, i = z.max(0); (shown(w), shown(torch.autograd.grad(w, [z])[0]))
z = Logged(torch.arange(4.).reshape(1, 1, 2, 2), requires_grad=True); y = F.conv2d(z, Logged(torch.ones(1, 1, 2, 2)));
    (shown(y), shown(torch.autograd.grad(y.sum(), [z])[0]))
z = Logged(torch.arange(4.)); z[1:3] = 5; z[z > 4] = 7; (shown(z), shown(z[z > 1]))
z = Logged(torch.arange(4.)); z.copy_(torch.ones(4)); shown(z)
z = torch.ones(4); z.copy_(Logged(torch.arange(4.))); z
z = torch.ones(4); w = z; z += Logged(torch.arange(4.)); (z, z is w)
z = Logged(torch.arange(4.)); [type(t).__name__ for t in z], len(z), (z == z).all().item()
z = Logged(torch.arange(4.)); z.data = Logged(torch.ones(4)); shown(z)
(made(Plain, 2) + 1, log)
(torch.ones(2).as_subclass(Plain) * 2, log)
(made(Plain, 2) + made(Under, 2), log)
(made(Under, 2) + made(Plain, 2), log)
(torch.cat([torch.ones(2), made(Plain, 2)]), log)
torch.add(made(Never, 2), 1)
(made(Never, 2) + made(Plain, 2), log)
with torch._C._DisableTorchDispatch(): r = made(Plain, 2) + 1
(r, log)
with torch.utils._mode_utils.no_dispatch(): r = made(Plain, 2) + 1
(r, log)
[torch.utils._python_dispatch.is_traceable_wrapper_subclass(t) for t in (a, torch.ones(2), made(Plain, 2))]
""")
def test_line(line):
    alike(HEAD + line)


def test_modes_come_first():
    alike(
        HEAD + "import torch.utils._python_dispatch as pd\n"
        "class Mode(pd.TorchDispatchMode):\n"
        "    def __torch_dispatch__(self, func, types, args=(), kwargs=None):\n"
        "        log.append(('mode', str(func), len(types)))\n"
        "        return func(*args, **(kwargs or {}))\n"
        "with Mode(): y = a + 1\n(shown(y), log)"
    )


def test_two_tensors_in_one():
    alike(
        "class Two(torch.Tensor):\n"
        "    @staticmethod\n"
        "    def __new__(cls, a, b):\n"
        "        made = torch.Tensor._make_wrapper_subclass(cls, a.shape, dtype=a.dtype, device=a.device,\n"
        "            strides=a.stride(), requires_grad=a.requires_grad)\n"
        "        made.a, made.b = a, b\n"
        "        return made\n"
        "    def __tensor_flatten__(self): return ['a', 'b'], None\n"
        "    @staticmethod\n"
        "    def __tensor_unflatten__(inner, meta, size, stride): return Two(inner['a'], inner['b'])\n"
        "    @classmethod\n"
        "    def __torch_dispatch__(cls, func, types, args, kwargs=None):\n"
        "        m = torch.utils._pytree.tree_map\n"
        "        r = [func(*m(lambda x: getattr(x, n) if isinstance(x, Two) else x, args), **(kwargs or {}))\n"
        "            for n in ('a', 'b')]\n"
        "        return Two(*r) if isinstance(r[0], torch.Tensor) else r[0]\n"
        "t = Two(torch.ones(2, 2), torch.full((2, 2), 3.)); t.requires_grad_(); y = (t * t).sum(0).exp()\n"
        "g, = torch.autograd.grad(y.sum(), [t])\n"
        "u = torch.utils._python_dispatch.transform_subclass(t, lambda n, v: v * 2)\n"
        "(y.a, y.b, g.a, g.b, u.a, u.b, torch.utils._python_dispatch.is_traceable_wrapper_subclass(t))"
    )


def test_what_is_not_there_is_refused():
    import torchlite as torch

    class Wrapper(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise AssertionError

    with pytest.raises(NotImplementedError, match="asks no class for its device"):
        torch.Tensor._make_wrapper_subclass(Wrapper, (2,), dispatch_device=True)
    w = torch.Tensor._make_wrapper_subclass(Wrapper, (2,))
    with torch._C._DisableTorchDispatch(), pytest.raises(RuntimeError, match="doesn't have storage"):
        w + 1
    with pytest.raises((RuntimeError, BufferError)):
        memoryview(w.untyped_storage())


@pytest.mark.parametrize("policy", ["strides", "sizes"])
def test_a_class_says_its_geometry(policy):
    alike(
        """
from torch.utils._pytree import tree_map
class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, t):
        w = torch.Tensor._make_wrapper_subclass(cls, t.shape, dispatch_sizes_strides_policy=POLICY)
        w.t = t.mT
        return w
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        seen.append(str(func))
        return func(*tree_map(lambda x: x.t if isinstance(x, Wrapper) else x, args), **(kwargs or {}))
seen = []
w = Wrapper(torch.ones(2, 3))
found = [w.shape, w.size(), w.size(0), w.stride(), w.stride(-1), w.dim(), w.numel(), w.is_contiguous()]
[x if isinstance(x, (int, bool)) else tuple(x) for x in found], seen
""".replace("POLICY", repr(policy))
    )
