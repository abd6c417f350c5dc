"""What results are and say of themselves, beside PyTorch: plain copies of subclasses, named results as trees, the
classes of nodes, names and texts of functions."""

from alike import alike, cases

_BEFORE = """
import torch.nn.functional as F
from torch.utils import _pytree
class S(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        asked.append(func)
        return super().__torch_function__(func, types, args, kwargs)
class Fn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
asked = []
s = torch.arange(3.).as_subclass(S)
t = torch.tensor([[3., 1., 2.], [0., 5., 4.]])
x = torch.ones(4, dtype=torch.double, requires_grad=True)
"""


@cases("""
type(torch.tensor(s)), type(torch.tensor(s, dtype=torch.float64)), asked
type(torch.Tensor(s)), type(torch.FloatTensor(s)), type(S(torch.ones(2))), type(S(s))
torch.Tensor(s).data_ptr() == s.data_ptr()
p = torch.tensor(torch.nn.Parameter(torch.ones(2))); type(p), p.requires_grad
torch.func.vmap(torch.sort)(t)
torch.func.vmap(torch.sort)(t).indices
torch.func.vmap(torch.sort, out_dims=(0, 1))(t)
torch.func.vmap(lambda r: torch.linalg.slogdet(torch.outer(r, r) + torch.eye(3)))(t)
_pytree.tree_flatten(torch.sort(t))[1]
_pytree.tree_map(lambda v: v + 1, torch.max(t, 1))
_pytree.tree_flatten_with_path(torch.max(t, 1))[0]
_pytree.tree_unflatten([1, 2], _pytree.tree_structure(torch.sort(t)))
_pytree.tree_leaves(__import__("time").gmtime(0)) == [__import__("time").gmtime(0)]
type(Fn.apply(x).grad_fn).__module__, repr(Fn.apply(x).grad_fn).split(" at ")[0], Fn.apply(x)
[repr(f).split(" at ")[0] for f in (torch.relu, torch.add, F.gelu, F.linear, torch.linalg.inv, torch.fft.fft)]
import torch._dynamo as d; d.mark_static_address(t); a = t._dynamo_static_input_type; a
torch._dynamo.mark_static_address(3)
[torch.overrides.resolve_name(f) for f in (torch.zeros, torch.tensor, torch.randn, torch.save, F.relu)]
""")
def test_alike(line):
    alike(_BEFORE + line)
