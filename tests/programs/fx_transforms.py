"""torch.fx as its tutorials use it: convolution and batch norm fused, ops replaced, an interpreter, patterns."""

import copy
import operator
from typing import Any

import torch
import torch.fx as fx
import torch.nn as nn
from torch.fx.node import Node
from torch.fx.passes.shape_prop import ShapeProp


class WrappedBatchNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.mod = nn.BatchNorm2d(1)

    def forward(self, x):
        return self.mod(x)


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)
        self.conv2 = nn.Conv2d(1, 1, 1)
        self.nested = nn.Sequential(nn.BatchNorm2d(1), nn.Conv2d(1, 1, 1))
        self.wrapped = WrappedBatchNorm()

    def forward(self, x):
        x = self.conv1(x)
        x = self.bn1(x)
        x = self.conv2(x)
        x = self.nested(x)
        return self.wrapped(x)


def fuse_conv_bn_eval(conv, bn):
    fused = copy.deepcopy(conv)
    b = torch.zeros_like(bn.running_mean) if conv.bias is None else conv.bias
    scale = torch.rsqrt(bn.running_var + bn.eps)
    fused.weight = nn.Parameter(conv.weight * (bn.weight * scale).reshape([-1] + [1] * (conv.weight.dim() - 1)))
    fused.bias = nn.Parameter((b - bn.running_mean) * scale * bn.weight + bn.bias)
    return fused


def _parent_name(target: str) -> tuple[str, str]:
    *parent, name = target.rsplit(".", 1)
    return parent[0] if parent else "", name


def replace_node_module(node: fx.Node, modules: dict[str, Any], new_module: nn.Module):
    parent_name, name = _parent_name(node.target)
    setattr(modules[parent_name], name, new_module)


def fuse(model: nn.Module) -> nn.Module:
    model = copy.deepcopy(model)
    fx_model: fx.GraphModule = fx.symbolic_trace(model)
    modules = dict(fx_model.named_modules())
    for node in fx_model.graph.nodes:
        if node.op != "call_module":
            continue
        if type(modules[node.target]) is nn.BatchNorm2d and type(modules[node.args[0].target]) is nn.Conv2d:
            if len(node.args[0].users) > 1:
                continue
            conv, bn = modules[node.args[0].target], modules[node.target]
            replace_node_module(node.args[0], modules, fuse_conv_bn_eval(conv, bn))
            node.replace_all_uses_with(node.args[0])
            fx_model.graph.erase_node(node)
    fx_model.graph.lint()
    fx_model.recompile()
    return fx_model


class ShapeCounter(fx.Interpreter):
    def __init__(self, mod):
        super().__init__(mod)
        self.counts: dict[str, int] = {}

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        if isinstance(value, torch.Tensor):
            self.counts[n.name] = value.numel()
        return value


class NegSigmSwap(fx.Transformer):
    def call_function(self, target, args, kwargs):
        return super().call_function(torch.neg if target is torch.sigmoid else target, args, kwargs)

    def call_method(self, target, args, kwargs):
        if target == "neg":
            call_self, *tail = args
            return call_self.sigmoid(*tail, **kwargs)
        return super().call_method(target, args, kwargs)


torch.manual_seed(71)
model = M().eval()
for m in model.modules():
    if isinstance(m, nn.BatchNorm2d):
        m.running_mean.normal_(), m.running_var.uniform_(0.5, 2), m.weight.data.normal_()
fused = fuse(model)
print(fused.code.strip())
inp = torch.randn(5, 1, 4, 4)
print("fused", torch.allclose(fused(inp), model(inp), atol=1e-5), f"{fused(inp).sum().item():.5f}")
counter = ShapeCounter(fused)
counter.run(inp)
print(counter.counts)


class MyModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.param = nn.Parameter(torch.rand(3, 4))
        self.linear = nn.Linear(4, 5)

    def forward(self, x, scale: float = 2.0):
        parts = (self.linear(x + self.param) * scale).clamp(min=0.0, max=1.0).split([2, 3], dim=-1)
        return torch.add(parts[0].sum(dim=-1), operator.getitem(parts, 1)[..., -1].relu())


gm = fx.symbolic_trace(MyModule())
print(gm.graph)
for node in gm.graph.nodes:
    if node.op == "call_function" and node.target is torch.add:
        with gm.graph.inserting_after(node):
            new = gm.graph.call_function(torch.mul, node.args)
            node.replace_all_uses_with(new)
        gm.graph.erase_node(node)
gm.recompile()
x = torch.rand(3, 4)
print([f"{v:.5f}" for v in gm(x).tolist()], [n.op for n in gm.graph.nodes].count("call_method"))


def f(x):
    return torch.sigmoid(x.neg()) + x.neg()


swapped = NegSigmSwap(fx.symbolic_trace(f)).transform()
print(swapped.code.strip().splitlines()[-1], swapped(torch.ones(1)))
torch.fx.wrap("len")


def with_len(x):
    return x * len(x)


def pattern(a, b):
    return torch.relu(a + b)


def replacement(a, b):
    return torch.clamp(a - b, 0)


traced = fx.symbolic_trace(lambda a, b: torch.relu(a + b) * torch.relu(b + a))
matches = fx.replace_pattern(traced, pattern, replacement)
print(
    len(matches), traced(torch.tensor([1.0, 5.0]), torch.tensor([3.0, 2.0])), fx.symbolic_trace(with_len)(torch.ones(3))
)
graph = fx.Graph()
a = graph.placeholder("a")
graph.output(graph.call_function(torch.exp, (graph.call_method("t", (a,)),)))
built = fx.GraphModule(nn.Module(), graph)
print(
    built(torch.zeros(1, 2)).shape,
    [str(n) for n in a.users],
    graph.find_nodes(op="call_function", target=torch.exp)[0].args,
)


class Decomposed(fx.Tracer):
    def is_leaf_module(self, m, qualname):
        return not isinstance(m, nn.GELU) and super().is_leaf_module(m, qualname)


seq = nn.Sequential(nn.Linear(2, 2), nn.GELU())
print([(n.op, str(n.target).split(" at ")[0][:24]) for n in Decomposed().trace(seq).nodes])
try:
    fx.symbolic_trace(lambda x: x if x.sum() > 0 else -x)
except fx.proxy.TraceError as e:
    print(str(e)[:62])
ShapeProp(fused).propagate(inp)
print([tuple(n.meta["tensor_meta"].shape) for n in fused.graph.nodes][:3])
concrete = fx.symbolic_trace(lambda x, flag: x + 1 if flag else x - 1, concrete_args={"flag": True})
print(concrete(torch.zeros(1), True), isinstance(concrete, fx.GraphModule))
