"""__torch_function__, on tensors' classes and on any object, and modes: which of them is called, with which
arguments, and what is refused."""

import pytest
from alike import alike, cases

import torchlite

_CLASSES = """
class D:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, [t.__name__ for t in types], [type(a).__name__ for a in args], kwargs and sorted(kwargs)
class E(D):
    pass
class N:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented
class S(torch.Tensor):
    log = []
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        S.log.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})
class P(torch.Tensor):
    pass
d, e, n, x = D(), E(), N(), torch.ones(2)
s = torch.ones(2, 2).as_subclass(S)
p = torch.ones(2, 2).as_subclass(P)
S.log.clear()
from torch.overrides import TorchFunctionMode, BaseTorchFunctionMode, has_torch_function, handle_torch_function
class M(TorchFunctionMode):
    def __init__(self):
        self.log = []
    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.log.append(func.__name__)
        return func(*args, **(kwargs or {}))
m = M()
"""


def _with_classes(line):
    return _CLASSES + line.replace(" | ", "\n")


@cases("""
torch.add(d, x)
torch.add(x, d, alpha=2)
torch.add(x, e), torch.add(d, e), torch.add(e, d)
torch.add(n, d), torch.add(d, n)
torch.cat([x, d]), torch.stack((d, x))
torch.mean(d), torch.where(d, x, x), torch.zeros_like(d), torch.ones(d), torch.max(d), torch.full((2,), d)
torch.add(x, x, out=d)
x.add(d), x.add_(d), x.sum(dim=d), x.to(d)
x + d, d + x, x - d, d - x, x * d, d * x, d / x, x // d, d // x, x ** d, x @ d, d @ x
x == d, d == x, x < d, x >= d
x & d, d & x, x | d, d | x, x ^ d, x << d, d << x, x >> d
S.log.clear(); s == 1, 1 == s, s == s, x[:1] == s, s != 1; S.log
s = torch.ones(2, dtype=torch.int64).as_subclass(S); S.log.clear(); s & 1, 1 & s, s | s, 1 ^ s, s << 1, 1 << s; S.log
x[d]
x[0, d]
x += d; x
F.relu(d), F.linear(x, d), F.cross_entropy(d, x), F.softmax(d)
torch.einsum('i,i', x, d)
torch.split(d, 1), torch.norm(d), torch.unique(d), torch.meshgrid(d, d), torch.broadcast_tensors(d)
torch.tensor(d)
torch.is_tensor(d)
nn.Linear(2, 2)(d)
torch.Tensor.add(d, x)
torch.Tensor.size(d)
torch.ops.aten.add.Tensor(d, x)
torch.ops.aten.add(x, d)
x * object()
s + 1, S.log
1 + s, s - 1, 1 - s, 2 / s, s // 2, 2 // s, s % 2, abs(s), -s, +s, S.log
s.shape, s.dtype, s.ndim, s.requires_grad, s.is_leaf, S.log
s.T, s.mT, s.real, s.data, S.log
s[0], len(s), bool((s > 0).all()), float(s.sum()), S.log
type(s.grad), s.size(), s.dim(), s.tolist(), S.log
type(torch.sum(s)), type(F.relu(s)), type(s.max(0)), type(s.split(1)[0]), S.log
s.add_(1) is s
s[0] = 1; s, S.log
list(s), S.log
repr(s), S.log
t=torch.ones(2,requires_grad=True); q=t.as_subclass(P); (q*2).sum().backward(); type(q), t.grad
type(p + 1), type(p.T), type(p[0]), type(p.detach()), p.shape, type(torch.cat([p, p])), type(p.sum())
type(nn.Parameter(p)), type(nn.Linear(2, 2)(p))
with torch._C.DisableTorchFunctionSubclass(): r = type(s + 1), S.log | r
with torch._C.DisableTorchFunctionSubclass(): r = has_torch_function([d]) | r
has_torch_function([d]), has_torch_function([x, 1, None]), has_torch_function((p,)), has_torch_function(())
with m: torch.ones(2) + 1 | m.log
with m: r = x.sum().item(), torch.tensor(1.), F.relu(x), x.shape, x[0], x.T | m.log
with m, BaseTorchFunctionMode(): r = x * 2 | m.log
with m: s * 2 | m.log, S.log
with m, torch._C.DisableTorchFunction(): x * 2 | m.log
with m: nn.Parameter(x), torch.Tensor._make_subclass(P, x) | m.log
with m, torch._C.DisableTorchFunctionSubclass(): x * s | m.log, S.log
with m: d + x, F.dropout(d) | m.log
torch.overrides._get_current_function_mode_stack(), torch.overrides.is_tensor_like(d), torch.overrides.is_tensor_like(1)
with m: r = torch.overrides._get_current_function_mode_stack() == [m] | r
[torch.overrides.resolve_name(f) for f in (torch.add, torch.Tensor.add, F.relu)]
torch.overrides.resolve_name(torch.Tensor.shape.__get__), torch.overrides.resolve_name(torch.ops.aten.add.Tensor)
f=torch.overrides.wrap_torch_function(lambda a: (a,))(lambda a: 3); f(1)
handle_torch_function(F.relu, (d,), d, inplace=True)
torch.overrides.is_tensor_method_or_property(torch.Tensor.add), torch.overrides.is_tensor_method_or_property(torch.add)
""")
def test_who_is_asked(line):
    alike(_with_classes(line))


@cases("""
torch.add(n, x)
torch.add(n, n)
x.add(n)
F.relu(n)
F.linear(x, n)
torch.split(n, 1)
x * n
n - x
x == n
torch.svd(n)
handle_torch_function(F.relu, (n,), n)
""")
def test_everybody_declines(line):
    alike(_with_classes(line))


def test_most_functions_ask():
    overrides = pytest.importorskip("torchlite.overrides")
    from torchlite._core import overridable

    table = overrides.get_overridable_functions()
    assert len(table[torchlite]) > 400 and len(table[torchlite.Tensor]) > 500
    assert not set(overrides.get_ignored_functions()) & set(table[torchlite])
    assert {torchlite.sparse_coo_tensor, torchlite.sparse_bsc_tensor} < set(overrides.get_ignored_functions())

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func

    silent = []
    for space in (torchlite, torchlite.nn.functional, torchlite.linalg, torchlite.fft, torchlite.special):
        for func in table[space]:
            needed = [
                p for p in overridable._parameters(func) if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
            ]
            try:
                answer = func(*[Duck() for _ in needed] or [Duck()])
            except Exception as error:
                answer = error
            if answer != func:
                silent.append((func, answer))
    assert not silent


def test_arguments_that_do_not_fit_an_op_of_python():
    """The error of an op that PyTorch has in Python, called by the core's own name: asking went round in a circle."""
    import torchlite as torch

    class Sub(torch.Tensor):
        pass

    one = torch.ones(2).as_subclass(Sub)
    for op in (torch.ops.functions.hardswish, torch.ops.functions.silu, torch.ops.functions.hardtanh):
        with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
            op(one, nonsense=1)


@cases("""
torch.sparse_coo_tensor(1, 1, 1)
torch.sparse_csr_tensor(1, 1, 1)
torch.sparse_compressed_tensor(1, 1, 1)
torch.tensor([1]), torch.tensor(data=[1], dtype=torch.int32), torch.as_tensor(1), torch.asarray(1, dtype=torch.int32)
""")
def test_a_mode_sees_arguments_as_they_were_given(line):
    lead = """
class M(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func.__name__, args
with M():
    r = """
    alike(lead.strip("\\n") + line + "\nr")


@cases("""
nn.init.normal_(r), nn.init.uniform_(r), nn.init.constant_(r, 2.0)
F.relu(r), torch.split(r, 1), F.mse_loss(r, r), nn.init.ones_(r)
""")
def test_a_class_that_hands_functions_on(line):
    alike(
        """
class R(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return torch.overrides.redispatch_function(func, types, args, kwargs)
r = torch.ones(2).as_subclass(R)
"""
        + line
    )


@cases("""
c.log, c.log is t.log, c.foo, type(c).__name__
""")
def test_a_copy_has_the_slots_of_its_class(line):
    alike(
        """
import copy
class R(torch.Tensor):
    __slots__ = ["log"]
    def new_empty(self, *args, **kwargs):
        return super().new_empty(*args, **kwargs).as_subclass(R)
t = torch.ones(2).as_subclass(R)
t.log, t.foo = [1], 3
c = copy.deepcopy(t)
"""
        + line
    )


@cases("""
x.as_subclass(A).mine(x.as_subclass(B))
type(torch.Tensor.mine).__name__, type(torch.Tensor.__dict__["mine"]).__name__
type(x.as_subclass(A).new_tensor([1.])).__name__
s.new_tensor([1.]), S.log
s.new([1.]), S.log
torch.result_type(s, 1), S.log
torch.result_type(1, s), S.log
torch.can_cast(torch.int, torch.float), S.log
""")
def test_what_others_put_on_tensors_is_theirs(line):
    alike(
        """
torch.Tensor.mine = lambda self, other: "plain"
class A(torch.Tensor):
    pass
class B(torch.Tensor):
    pass
class S(torch.Tensor):
    log = []
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        S.log.append((func.__name__, len(args), kwargs))
        return 7
x = torch.ones(2)
s = x.as_subclass(S)
"""
        + line
    )
