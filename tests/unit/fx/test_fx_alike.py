"""torch.fx beside PyTorch's: traced graphs, their code and texts, what they compute, refusals, passes."""

import importlib
import warnings

import pytest
from alike import alike, cases

with warnings.catch_warnings():  # of what PyTorch imports itself
    warnings.simplefilter("ignore")
    importlib.import_module("torch.fx.experimental.optimization")


_PROGRAM = """
import copy, operator, pickle
fx, trace = torch.fx, torch.fx.symbolic_trace
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 4)
        self.seq = nn.Sequential(nn.ReLU(), nn.Linear(4, 4))
        self.p = nn.Parameter(torch.ones(3))
        self.register_buffer("b", torch.ones(4))
        self.unused = nn.Tanh()
    def forward(self, x, y: torch.Tensor = None, *args, flag: bool = True, **more) -> torch.Tensor:
        a = self.seq(self.lin(x + self.p)).relu()
        d = torch.cat([F.dropout(a, 0.3, self.training), a], dim=-1)
        return {"a": -d + 2 * d[:, 1:2, ...] - 1 / d, "b": (d.shape[0], [self.b])}
class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.lin = nn.Linear(4, 2)
    def forward(self, x):
        x = self.bn(self.conv(x)).relu()
        return self.lin(F.adaptive_avg_pool2d(x, 1).flatten(1)) + 1
def many(x, y):
    z = x["k"]
    z += y
    return [torch.add(z, y, alpha=2), x[0], x @ y, x & y, ~x, x.foo.bar(1, k=y), x**2, 2**x, 3 // x, 7 % x, x << 1,
            x == y, abs(x), x.T, torch.float32, slice(x, None), F.linear(x, y), torch.fft.fft(x), F.gelu(x),
            torch.linalg.norm(x), torch.device("cpu"), torch.Size([1]), float("inf"), float("nan"), 1j, None, ...,
            torch.special.gammaln(x), F.conv2d(x, y), torch.ops.aten.add.Tensor(x, y), x.to(torch.float32),
            F.softmax(x, dim=1), F.cross_entropy(x, y), torch.zeros(3) + x, math.floor(2.5)]
def chain(x, y):
    a = x + y
    b = torch.relu(a) * 2
    return torch.cat([b, a.neg()]).sum()
x, y = torch.arange(6.0).reshape(2, 3), torch.ones(2, 3)
torch.manual_seed(0)
"""


@cases("""
trace(M()).code
str(trace(M()).graph)
trace(many).code
f = lambda a, b, c: a; f.__annotations__ = {'a': int|None, 'b': list[int|str], 'return': int|None}; trace(f).code
str(trace(many).graph)
[(n.name, n.op, n.format_node(), len(n.users), n.is_impure()) for n in trace(M()).graph.nodes]
trace(lambda x, y: x + (1 if y else 2), concrete_args={'y': True}).code
trace(lambda a: a[0] + a[1]['k'], concrete_args={'a': [fx.PH, {'k': fx.PH}]}).code
trace(lambda x, y: {'a': [x, (y, 3)], 'b': slice(x, y)})(1, 2)
trace(chain)(x, y), trace(chain).print_readable(print_output=False)
m = M().eval(); m(x)['a'], trace(m)(x)['a'], trace(m)(x)['b']
m = Plain().eval(); torch.equal(m(torch.ones(1, 3, 5, 5)), trace(m)(torch.ones(1, 3, 5, 5)))
repr(trace(Plain())).splitlines()
[k for k, _ in trace(M()).named_parameters()], trace(M()).training, type(trace(M())).__name__
g = trace(chain); pickle.loads(pickle.dumps(g)).code == g.code
g = trace(M()); c = copy.deepcopy(g); c.code == g.code, c.lin is g.lin, c.lin.weight.equal(g.lin.weight)
fx.Tracer().trace(M()).python_code('self').src
G = type('G', (nn.Linear,), {'__getattr__':lambda s, k: nn.Linear.__getattr__(s,k)}); trace(nn.Sequential(G(2, 3))).code
s = fx._symbolic_trace; s._orig_module_getattr(nn.Linear(2,3), 'bias').shape,s.ScriptObject.__name__,s.Proxy is fx.Proxy
s = fx._symbolic_trace; s.FunctionType.__name__, s.functools.wraps.__name__, s._orig_module_call is nn.Module.__call__
""")
def test_traced(line):
    alike(_PROGRAM + line)


@cases("""
trace(lambda x: x if x.sum() > 0 else -x)
trace(lambda x: len(x))
trace(lambda x: [i for i in x])
trace(lambda x: int(x))
trace(lambda x: {x: 1, **x})
trace(lambda x: range(x))
trace(lambda x: x.shape in [1])
trace(lambda x: [*x])
a, b = fx.Proxy(fx.Graph().placeholder('a')), fx.Proxy(fx.Graph().placeholder('b')); a + b
trace(lambda x, y: x, concrete_args={'y': object()})
trace(nn.Module())
trace(chain)(x)
fx.Graph().node_copy(1)
fx.Graph().create_node('nope', 'a')
fx.Graph().call_function('relu')
fx.Graph().call_module(3)
g = fx.Graph(); a = g.placeholder('a'); b = g.call_function(torch.relu, (a,)); g.erase_node(a)
g = fx.Graph(); g.call_module('nothing.here'); fx.GraphModule(nn.Module(), g)
fx.GraphModule(3, fx.Graph())
g = trace(M()).graph; g.call_module('not_there'); g.get_attr('nor_this'); g.lint()
g = fx.Graph(); a = g.placeholder('a'); b = g.call_function(torch.relu, (a,)); b.args = (b,); g.output(b); g.lint()
fx.wrap(3)
fx.Node(fx.Graph(), 'a', 'b', 'c', (), {})
trace(chain).graph.owning_module.foo
fx.immutable_collections.immutable_list([1]).append(2)
fx.immutable_collections.immutable_dict(a=1)['b'] = 2
fx.subgraph_rewriter.replace_pattern(trace(chain), lambda x: x.relu(), lambda x, y: x)
""")
def test_refused(line):
    alike(_PROGRAM + line)


@cases("""
g = fx.Graph(); [g.create_node('call_function', torch.add, (), name=n).name
    for n in ['a', 'a', 'a_1', '1a', 'a.b', 'for', 'self', 'torch', 'inf', 'input', 'print', 'x-y', 'Conv2D', '__x__']]
g = trace(chain).graph; n = list(g.nodes); n[2].replace_all_uses_with(n[0]); g.erase_node(n[2]); g.lint(); str(g)
g = trace(chain).graph; n = list(g.nodes); n[3].prepend(g.call_function(torch.neg, (n[2],))); str(g)
g = trace(chain); n = list(g.graph.nodes);
    m = [setattr(k, 'target', torch.sub) for k in n if k.target is operator.add]; g.recompile(); g.code, g(x, y)
g = trace(chain).graph; n = list(g.nodes); n[4].args = (n[2], 3); str(n[2].users), str(n[4].args), g.lint()
g = trace(chain).graph; n = list(g.nodes); n[4].update_arg(1, 7); n[4].insert_arg(0, n[0]); n[4].args, n[4].kwargs
g = trace(lambda x: (x + 1, x * 2)[0]).graph; str(g), g.eliminate_dead_code(), str(g)
g = trace(lambda x: (torch.rand(3), x.add_(1), x.sum(), x)[3]).graph; g.eliminate_dead_code(), str(g)
g = fx.Graph(); a = g.placeholder('a', torch.Tensor, 2.5); b = g.call_function(torch.cat, ([a, a],), {'dim': 0});
    g.output((b, {'k': b})); fx.GraphModule({}, g).code
g = fx.Graph(); g.output(g.graph_copy(trace(chain).graph, {})); str(g), len(g.nodes)
g = trace(chain).graph; [(n.prev.name, n.next.name) for n in g.nodes], [n.name for n in reversed(g.nodes)]
g = trace(chain).graph; n = list(g.nodes); [(n[1] < n[2]), n[2] > n[4], sorted(n[::-1])]
g = trace(chain).graph; g.find_nodes(op='placeholder'), g.find_nodes(op='call_function', target=torch.relu)
fx.map_arg([fx.Graph().placeholder('q'), {'a': 1}], lambda n: n.name), fx.node.map_aggregate((1, [2]), lambda v: v + 1)
g = trace(M()); g.delete_all_unused_submodules(), [k for k, _ in g.named_modules()]
g = trace(M()); g.add_submodule('a.b', nn.ReLU()), g.delete_submodule('lin'), [k for k, _ in g.named_modules()]
l = fx.immutable_collections.immutable_list([1, 2]); d = fx.immutable_collections.immutable_dict(a=l);
    type(l + [3]), hash(l) == hash((1, 2)), d, pickle.loads(pickle.dumps(l)) == l
""")
def test_graphs_edited(line):
    alike(_PROGRAM + line)


@pytest.mark.parametrize(
    "program",
    [
        "fx.Interpreter(trace(chain)).run(x, y)",
        """
class Times(fx.Interpreter):
    def call_function(self, target, args, kwargs):
        r = super().call_function(target, args, kwargs)
        return r * 2 if target is torch.relu else r
Times(trace(chain)).run(x, y)
""",
        """
class Swap(fx.Transformer):
    def call_function(self, target, args, kwargs):
        return super().call_function(torch.sigmoid if target is torch.relu else target, args, kwargs)
    def call_method(self, target, args, kwargs):
        return super().call_method("abs" if target == "neg" else target, args, kwargs)
g = Swap(trace(chain)).transform()
g.code, g(x, y)
""",
        """
class Leaves(fx.Tracer):
    def is_leaf_module(self, m, name):
        return isinstance(m, nn.Sequential)
str(Leaves().trace(M()))
""",
        """
class Pair(metaclass=fx.ProxyableClassMeta):
    def __init__(self, a, b):
        self.a, self.b = a, b
    def sum(self):
        return self.a + self.b
g = trace(lambda x, y: Pair(x, y).sum())
str(g.graph), g(x, y)
""",
        """
class Tracks(fx.Tracer):
    record_stack_traces = True
g = fx.GraphModule(M(), Tracks().trace(M()))
[(n.name, list(n.meta.get("nn_module_stack", {}))) for n in g.graph.nodes]
""",
        """
fx.wrap("len")
trace(lambda q: q + len(q)).code
""",
    ],
)
def test_classes_of_users(program):
    alike(_PROGRAM + program)


@cases("""
g = trace(chain); fx.subgraph_rewriter.replace_pattern(g, lambda a: torch.relu(a) * 2, lambda a: torch.tanh(a)); g.code
g = trace(chain); r = fx.subgraph_rewriter.replace_pattern(g, lambda a, b: a + b, lambda a, b: a.sub(b));
    [len(m.nodes_map) for m in r], g(x, y)
m = Plain().eval(); i = torch.ones(1, 3, 5, 5); g = trace(m); fx.passes.shape_prop.ShapeProp(g).propagate(i);
    [n.meta['tensor_meta'] for n in g.graph.nodes]
from torch.fx.experimental.optimization import fuse; m = Plain().eval(); g = fuse(m);
    g.code, torch.allclose(m(torch.ones(1, 3, 5, 5)), g(torch.ones(1, 3, 5, 5)), atol=1e-5)
from torch.fx.passes.split_module import split_module; m = Plain().eval(); g = trace(m); n = iter(range(99));
    s = split_module(g, m, lambda node: next(n) // 3); s.code, s.submod_0.code, s.submod_1.code,
    torch.equal(s(torch.ones(1, 3, 5, 5)), m(torch.ones(1, 3, 5, 5)))
from torch.fx.passes.graph_manipulation import get_size_of_all_nodes; g = trace(Plain().eval());
    get_size_of_all_nodes(g, [torch.ones(1, 3, 5, 5)]), [n.size_bytes for n in g.graph.nodes]
from torch.fx.passes.dialect.common.cse_pass import CSEPass, get_CSE_banned_ops;
    g = trace(lambda x: (x.sin() + 1) * (x.sin() + 1)); CSEPass(get_CSE_banned_ops())(g).graph_module.code
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner as C;
    from torch.fx.passes.operator_support import create_op_support;
    g = trace(lambda x: (x.sin() + 1).cos().relu() * 2);
    s = create_op_support(lambda mods, n: n.op == 'call_function'); C(g, s).partition_and_fuse().code
from torch.fx.experimental.normalize import NormalizeArgs; g = trace(lambda x, y: torch.add(x, y, alpha=2));
    NormalizeArgs(g).transform().code
from torch.fx.operator_schemas import normalize_function; normalize_function(torch.sum, (x, 1),
    normalize_to_only_use_kwargs=True)
from torch.fx.operator_schemas import normalize_function; normalize_function(F.dropout, (x,), {'p': 0.1})
""")
def test_passes(line):
    alike(_PROGRAM + line)


@cases("""
str(inspect.signature(F.dropout))
str(inspect.signature(F.embedding))
str(inspect.signature(F.alpha_dropout))
str(inspect.signature(F.cross_entropy))
str(inspect.signature(F.multi_head_attention_forward))
str(inspect.signature(F.layer_norm)), str(inspect.signature(F.elu)), str(inspect.signature(F.log_softmax))
inspect.isbuiltin(torch.add), inspect.isbuiltin(F.dropout), inspect.isbuiltin(F.linear)
""")
def test_signatures(line):
    alike("import inspect; " + line)


@cases("""
(1, 2.)
()
[]
[1, 2.]
[x, None]
[(1, 2)]
None
torch.float32
{'a': [1]}
slice(1)
""")
def test_types_of_values(line):
    alike(
        "from torch.fx.operator_schemas import _torchscript_type_to_python_type as python; x = torch.ones(1); "
        "r = torch._C._jit_try_infer_type(%s); t = r.type() if r.success() else None; "
        "r.success() or r.reason(), str(t), t and t.kind(), t and t.kind() != 'DictType' and python(t)" % line
    )


@cases("""
A.permute(x, [1, 0])
A.permute.default(x, [1, 0])
A.mm(x, x), A.t(x), A.native_layer_norm(x, [2], None, None, 1e-5)
A.mse_loss(x, x), A.cat([x, x]), A.topk(x, 1), A.relu_(x)
str(torch.fx.symbolic_trace(lambda v: A.permute(v, [1, 0])).graph)
""")
def test_what_operators_by_name_hand_on(line):
    alike(
        """
class Asked(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return type(func).__name__, str(func)
x, A = torch.ones(2, 2).as_subclass(Asked), torch.ops.aten
"""
        + line
    )


@cases("""
m = kept[0](); m.lin = nn.Linear(1, 1); hasattr(m, "lin"), [n for n, _ in m.named_children()]
kept[1]().missing
""")
def test_module_classes_that_are_made_during_a_trace(line):
    alike(
        """
kept = []
class Traced(nn.Module):
    def forward(self, x):
        class Plain(nn.Module):
            pass
        class Asking(nn.Module):
            def __getattr__(self, name):
                return "found" if name == "missing" else super().__getattr__(name)
        kept.extend([Plain, Asking])
        return x
torch.fx.symbolic_trace(Traced())
"""
        + line
    )


def test_a_new_target_is_found():
    alike(
        _PROGRAM
        + """
g = trace(lambda x, y: torch.add(x, y).relu()).graph
for n in g.nodes:
    if n.op == "call_method":
        n.op = "call_function"
        n.target = torch.tanh
    elif n.target == torch.add:
        n.target = torch.mul
g.lint()
found = [str(g.find_nodes(op="call_function", target=t)) for t in (torch.add, torch.mul, torch.tanh)]
last = g.find_nodes(op="call_function", target=torch.tanh)[0]
last.replace_all_uses_with(last.args[0])
g.erase_node(last)
g.lint()
found, str(g)
"""
    )
