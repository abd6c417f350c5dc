"""torch.fx as a tool: shapes for each node, activations replaced, a model split in two, layers fused, a node moved."""

import copy
import operator

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import fx
from torch.fx.experimental.optimization import fuse
from torch.fx.passes.shape_prop import ShapeProp
from torch.fx.passes.split_module import split_module

torch.manual_seed(3)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.bn = nn.BatchNorm2d(4)
        self.fc = nn.Linear(4, 2)
        self.shift = nn.Parameter(torch.ones(2))
        self.register_buffer("scale", torch.full((1,), 0.5))

    def forward(self, x, twice: bool = False):
        h = torch.relu(self.bn(self.conv(x))) * self.scale
        h = h.mean(dim=(2, 3))
        out = self.fc(h.view(h.size(0), -1)) + self.shift
        return {"out": out, "parts": (h, h[:, 0])}


net = Net().eval()
x = torch.randn(2, 3, 6, 6)
traced = fx.symbolic_trace(net)
print(traced.code)
ShapeProp(traced).propagate(x)
for node in traced.graph.nodes:
    meta = node.meta.get("tensor_meta")
    print(node.op, node.name, getattr(meta, "shape", type(meta).__name__), sorted(map(str, node.users)))
print(torch.equal(traced(x)["out"], net(x)["out"]))

# nn.Sequential is seen here for the first time: one that is traced must find its layers
stack = nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), nn.Linear(2, 1))
print([n.target for n in fx.symbolic_trace(stack).graph.nodes if n.op == "call_module"])


class WholeStacks(fx.Tracer):
    def is_leaf_module(self, module, name):
        return isinstance(module, nn.Sequential) or super().is_leaf_module(module, name)


print(WholeStacks().trace(nn.Sequential(stack, nn.Tanh())))


class Sigmoids(fx.Transformer):
    def call_function(self, target, args, kwargs):
        return super().call_function(torch.sigmoid if target is torch.relu else target, args, kwargs)


class Types(fx.Interpreter):
    def run_node(self, node):
        result = super().run_node(node)
        seen.append("%s:%s" % (node.name, type(result).__name__))
        return result


seen = []
Types(Sigmoids(traced).transform()).run(x)
print(" ".join(seen))

leaky = copy.deepcopy(traced)
found = fx.replace_pattern(leaky, lambda v: torch.relu(v), lambda v: F.leaky_relu(v, 0.1))
print(len(found), found[0].anchor, [n.name for n in leaky.graph.nodes][4:8])
print("fused", torch.allclose(fuse(net)(x)["out"], net(x)["out"], atol=1e-5))
split = split_module(traced, net, lambda node: int(node.name not in ("x", "conv", "bn")))
print([name for name, _ in split.named_children()], torch.equal(split(x)["out"], net(x)["out"]))

graph = fx.Graph()
a = graph.placeholder("a")
b = graph.call_function(torch.add, (a, 1))
c = graph.call_method("relu", (b,))
with graph.inserting_before(c):
    d = graph.call_function(operator.mul, (b, 2))
c.replace_input_with(b, d)
graph.output(c)
graph.lint()
print(fx.GraphModule({}, graph)(torch.tensor([-3.0, 3.0])), graph.find_nodes(op="call_method", target="relu"))
try:
    graph.erase_node(b)
except RuntimeError as e:
    print(e)
try:
    fx.symbolic_trace(lambda v: v if v.sum() > 0 else -v)
except fx.proxy.TraceError as e:
    print(e)
