"""copy, deepcopy and pickle of tensors, modules, parameters, optimizers and generators, with hooks and attributes."""

from __future__ import annotations

from random import Random

from fuzz_parts.case import Case, code

HEAD = """\
import copy, functools, importlib, pickle
calls = []
def hook(*a): calls.append(len(a))
def changed(m, args, out): return out * 2
"""
TENSORS = """\
x = torch.arange(6.0).reshape(2, 3)
x = torch.arange(6.0).reshape(2, 3).t()
x = torch.arange(6.0).reshape(2, 3)[1:]
x = torch.arange(6.0).reshape(2, 3).requires_grad_()
x = nn.Parameter(torch.arange(6.0).reshape(2, 3), requires_grad=False)
x = nn.Parameter(torch.arange(6.0).reshape(2, 3))
x = torch.arange(6.0).requires_grad_() * 2
x = torch.arange(6.0).requires_grad_()[2:]
x = torch.arange(6).to(torch.complex64).conj()
x = torch._neg_view(torch.arange(6.0))
x = torch.arange(6.0).expand(2, 6)
x = torch.arange(6).to(torch.bfloat16)
x = torch.eye(3).to_sparse()
x = torch.eye(3).to_sparse_csr()
x = torch.empty(2, 3, device='meta')
x = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
x = nn.Buffer(torch.ones(2), persistent=False)
x = nn.UninitializedParameter()
x = torch.zeros(0)
x = torch.tensor(3)
x = torch.arange(6.0).view(torch.int32)""".splitlines()
TOUCHES = """\
x.mark = [1]
x.grad = torch.ones_like(x)
x.register_hook(hook)
x.requires_grad_(); x.sum().backward()
x.add_(1)
x.register_post_accumulate_grad_hook(hook)
x._backward_hooks
x.retain_grad()
x.names
x.grad_fn""".splitlines()
MODULES = """\
m = nn.Linear(3, 3)
m = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.0))
m = nn.LSTM(3, 3)
m = nn.ModuleList([nn.Linear(3, 3)] * 2)
m = nn.Sequential(l := nn.Linear(3, 3), l)
m = nn.MultiheadAttention(3, 1)
m = nn.utils.weight_norm(nn.Linear(3, 3))
m = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
m = nn.utils.spectral_norm(nn.Linear(3, 3))
m = nn.LazyLinear(3)
m = nn.ParameterDict({'a': nn.Parameter(torch.ones(3))})
m = importlib.import_module(torch.__name__ + '.nn.utils.prune').identity(nn.Linear(3, 3), 'bias')""".splitlines()
CHANGES = """\
m.register_forward_hook(hook)
m.register_forward_hook(changed)
m.register_forward_pre_hook(hook)
m.register_full_backward_hook(hook)
m.register_state_dict_post_hook(hook)
m.register_load_state_dict_post_hook(hook)
m.register_forward_hook(hook, prepend=True, always_call=True)
m.register_buffer('b', torch.ones(2), persistent=False)
m.register_parameter('p', None)
m.eval()
m.half()
m.mark = torch.ones(2)
m.requires_grad_(False)
m.share = next(m.parameters(), None)
m.forward = lambda *a: a[0]
m.add_module('extra', nn.ReLU())
m.zero_grad()""".splitlines()
OTHERS = """\
o = torch.optim.Adam([p := nn.Parameter(torch.ones(2))], lr=0.1); p.sum().backward(); o.step()
o = torch.optim.lr_scheduler.StepLR(torch.optim.SGD([nn.Parameter(torch.ones(2))], 0.1), 2)
o = torch.Generator(); o.manual_seed(3)
o = torch.float32
o = torch.device('cpu')
o = torch.Size([1, 2])
o = torch.strided
o = torch.ones(3).untyped_storage()
o = torch.ones(3).storage()
o = torch.max(torch.eye(2), 0)
o = torch.finfo(torch.float32)
o = torch.distributions.Normal(0.0, torch.ones(2))
o = nn.utils.rnn.pack_sequence([torch.ones(2), torch.ones(1)])
o = torch.utils.data.TensorDataset(torch.ones(2))
o = torch.utils.data.DataLoader([1, 2, 3], 2)
o = torch.utils.data.Subset([1, 2], [0])
o = torch.contiguous_format
o = torch.nn.functional.relu
o = torch.add
o = torch.nn.Linear
o = torch.Tensor.add
o = torch.no_grad()
o = torch.set_grad_enabled
o = torch.autograd.Function
o = torch.jit.ScriptModule
o = torch.testing.assert_close
o = torch.nn.init.ones_
o = torch.ops.aten.add.Tensor
o = torch.dtype
o = torch.quantile
o = torch.amp.GradScaler(enabled=False)
o = torch.optim.swa_utils.AveragedModel(nn.Linear(2, 2))
o = functools.partial(torch.sum, dim=0)
o = torch.linalg.norm""".splitlines()
WAYS = """\
copy.copy(@)
copy.deepcopy(@)
pickle.loads(pickle.dumps(@))
pickle.loads(pickle.dumps(@, 2))
copy.deepcopy([@, @])
copy.copy({'a': @})
@.__reduce_ex__(2)[0].__name__
@.__deepcopy__({})
copy.deepcopy((@, [@], @))""".splitlines()


def draw(r: Random) -> Case:
    way, kind = r.choice(WAYS), r.random()
    if kind < 0.4:
        lines = [r.choice(TENSORS), *r.sample(TOUCHES, r.choice([0, 1, 1, 2])), f"y = {way.replace('@', 'x')}"]
        lines += [
            "out = [y]",
            "for t in y if isinstance(y, (list, tuple)) else [y]:",
            "    if isinstance(t, torch.Tensor):",
            "        out += [type(t).__name__, t.is_leaf, t.grad, sorted(t.__dict__), t is x]",
            "        if t.layout == torch.strided and not t.is_nested and not nn.parameter.is_lazy(t) and t.numel():",
            "            out += [t.untyped_storage().data_ptr() == x.untyped_storage().data_ptr(), t.is_conj(), "
            "t.is_neg()]",
            "            out += [t.untyped_storage().nbytes(), t.storage_offset()]",
        ]
    elif kind < 0.8:
        lines = [r.choice(MODULES), *r.sample(CHANGES, r.choice([0, 1, 2, 3])), f"y = {way.replace('@', 'm')}"]
        lines += [
            "y = y[0] if isinstance(y, (list, tuple)) else y['a'] if isinstance(y, dict) else y",
            "out = [repr(y)]",
            "if isinstance(y, nn.Module):",
            "    out += [y.state_dict() if not isinstance(y, nn.LazyLinear) else 0, sorted(vars(y)), y.training]",
            "    out += [[(n, p.requires_grad, any(p is q for q in m.parameters())) for n, p in y.named_parameters()]]",
            "    out += [[len(getattr(y, a)) for a in ('_forward_hooks', '_forward_pre_hooks', "
            "'_backward_hooks', '_modules')]]",
            "    if isinstance(y, (nn.Linear, nn.Sequential)):",
            "        p = next(iter(y.parameters()))",
            "        z = y(torch.ones(2, 3, dtype=p.dtype))",
            "        out += [z, len(calls)]",
            "        if z.requires_grad: z.sum().backward(); out += [[p.grad for p in y.parameters()], len(calls)]",
        ]
    else:
        lines = [r.choice(OTHERS), f"y = {way.replace('@', 'o')}"]
        lines += [
            "y = y[0] if isinstance(y, list) else y",
            "out = [type(y).__name__, y is o, repr(y) if not callable(y) else getattr(y, '__name__', '')]",
            "if hasattr(y, 'state_dict') and not isinstance(y, type): out.append(y.state_dict())",
            "if isinstance(y, torch.Generator): out.append(torch.rand(2, generator=y))",
        ]
    return code(HEAD + "\n".join(lines))
