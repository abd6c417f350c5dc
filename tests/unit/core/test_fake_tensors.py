"""FakeTensorMode: what a program says without numbers. Each program gives what PyTorch's gives."""

import pytest
from alike import alike

START = """
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
mode = FakeTensorMode()
real = torch.ones(2, 3)
f = mode.from_tensor(real)
"""
INSIDE = [
    "repr(x)",
    "x.device, x.is_meta, x.is_cpu, type(x).__name__, x.fake_device, x.fake_mode is mode, x.constant",
    "repr([x + 1, x @ x.t(), x.sum(), x.view(6), x.double(), x.new_zeros(4), torch.zeros_like(x), F.dropout(x)])",
    "repr([torch.tensor([1.0, 2.0]), torch.arange(4), torch.randint(0, 5, (2,)), torch.ones(()) + x])",
    "torch.tensor(3).item(), (torch.tensor(3) + 4).item(), repr(torch.tensor(2.5))",
    "x + real",
    "x.item()",
    "x.sum().item()",
    "bool(x.sum())",
    "x.tolist()",
    "x.numpy()",
    "x.nonzero()",
    "x[x > 0]",
    "x.masked_select(x > 0)",
    "x.unique()",
    "torch.equal(x, x)",
    "torch.allclose(x, x)",
    "torch.cat([x, torch.empty(2, 3, device='meta')])",
    "repr([x.to('meta'), torch.empty(2, device='meta')]), x.to('cpu') is x",
    "repr([nn.Linear(3, 4)(x), nn.Linear(3, 4).weight, nn.Parameter(x)])",
    "y = torch.zeros(3, 4)\ny.add_(1)\ny[0] = 2\ny.t_()\nrepr(y), y.stride()",
    "w = torch.ones(3, 4, requires_grad=True)\n(torch.ones(2, 3) @ w).relu().sum().backward()\nrepr(w.grad)",
    "m = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))\no = torch.optim.Adam(m.parameters())\n"
    "l = F.cross_entropy(m(torch.rand(5, 4)), torch.zeros(5, dtype=torch.long))\nl.backward()\no.step()\n"
    "repr(l), [repr(p.grad) for p in m.parameters()], [s['step'].item() for s in o.state.values()]",
    "repr(torch.from_numpy(np.ones(2))), len(x), [r.shape for r in x], x.is_contiguous()",
    "torch._guards.detect_fake_mode() is mode, torch._guards.detect_fake_mode([x]) is mode",
    "torch._guards.active_fake_mode() is mode",
]
OUTSIDE = [
    "torch._guards.active_fake_mode()",
    "repr([f, f * 2, f.shape]), mode.from_tensor(real) is f, isinstance(f, torch.Tensor)",
    "f + real",
    "f + torch.tensor(2.0)",
    "real + f",
    "repr(mode.from_tensor(nn.Parameter(real))), isinstance(mode.from_tensor(nn.Parameter(real)), nn.Parameter)",
    "mode.from_tensor(torch.ones(4, 4)[::2].t()).stride(), mode.from_tensor(torch.ones(4, 4)[1:]).storage_offset()",
    "other = FakeTensorMode(allow_non_fake_inputs=True)\nrepr(other.from_tensor(real) + real)",
    "repr(mode.from_tensor(torch.ones(3, requires_grad=True)))",
    "g = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(3, 4), nn.ReLU()))\n"
    "from torch.fx.passes.shape_prop import ShapeProp\nShapeProp(g, fake_mode=mode).propagate(real)\n"
    "[tuple(n.meta['tensor_meta'].shape) for n in g.graph.nodes]",
]


@pytest.mark.parametrize("program", INSIDE)
def test_inside(program):
    lines = ["with mode:", "    x = torch.empty(2, 3)"] + ["    " + line for line in program.split("\n")]
    lines[-1] = "    shown = " + lines[-1].strip()
    alike(START + "\n".join(lines) + "\nshown")


@pytest.mark.parametrize("program", OUTSIDE)
def test_outside(program):
    alike(START + program)


def test_deepcopy():
    """PyTorch's warns of a data pointer that its own deepcopy asks for."""
    import copy

    import torchlite as torch
    from torchlite._subclasses import FakeTensorMode

    with FakeTensorMode():
        copied = copy.deepcopy(torch.nn.Linear(3, 4))
    assert repr(copied.weight) == "Parameter(FakeTensor(..., size=(4, 3), requires_grad=True))"


def test_modes_do_not_mix():
    import torchlite as torch
    from torchlite._subclasses import FakeTensorMode

    a, b = (FakeTensorMode().from_tensor(torch.ones(2)) for _ in range(2))
    with pytest.raises(AssertionError, match="Mixing fake modes NYI"):
        a + b
