"""What torch.compile returns. The answers are PyTorch's, whose own compiler takes seconds to load."""

import copy
import pickle

import pytest
import torchlite as torch
from torchlite import nn
from torchlite._dynamo.eval_frame import OptimizedModule


class Marked(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
        self.mark = "a"

    def forward(self, x, *, twice=False):
        return self.layer(x) * (1 + twice)


@pytest.fixture
def pair():
    m = Marked()
    return m, torch.compile(m, backend="eager")


def test_keys_and_names_begin_with_the_module(pair):
    m, c = pair
    assert type(c) is OptimizedModule and c._orig_mod is m
    assert list(c.state_dict()) == ["_orig_mod.layer.weight", "_orig_mod.layer.bias"]
    assert [n for n, _ in c.named_modules()] == ["", "_orig_mod", "_orig_mod.layer"]
    assert repr(c).startswith("OptimizedModule(\n  (_orig_mod): Marked(\n")
    assert list(c.parameters())[0] is m.layer.weight
    assert str(c.load_state_dict(c.state_dict())) == "<All keys matched successfully>"


def test_it_runs_the_module_with_its_hooks(pair):
    m, c = pair
    x, seen = torch.ones(1, 2), []
    m.register_forward_hook(lambda *a: seen.append("inner"))
    c.register_forward_hook(lambda *a: seen.append("outer"))
    assert torch.equal(c(x, twice=True), m.forward(x, twice=True)) and seen == ["inner", "outer"]
    c(x).sum().backward()
    assert m.layer.weight.grad is not None


def test_attributes_and_modes_are_those_of_the_module(pair):
    m, c = pair
    c.mark, c.new = "b", 3
    assert (m.mark, m.new, c.mark) == ("b", 3, "b")
    c.eval()
    assert not m.training and not c.training
    m.train()
    assert c.training and c.layer is m.layer
    c.layer.weight = nn.Parameter(torch.zeros(3, 2))
    assert c.to(torch.float64) is c and m.layer.weight.dtype == torch.float64
    with pytest.raises(AttributeError, match="'Marked' object has no attribute 'nope'"):
        c.nope  # noqa: B018
    with pytest.raises(TypeError, match="Marked does not support len()"):
        len(c)
    assert len(torch.compile(nn.Sequential(nn.ReLU(), nn.ReLU()))) == 2
    del c.new
    assert not hasattr(m, "new")


def test_copies(pair):
    m, c = pair
    for made in (copy.deepcopy(c), pickle.loads(pickle.dumps(c))):
        assert type(made) is OptimizedModule and made._orig_mod is not m
        assert torch.equal(made(torch.ones(1, 2)), m(torch.ones(1, 2)))


def test_what_is_no_module():
    def f(x):
        return x + 1

    assert torch.compile(f)(1) == 2 and torch.compile(fullgraph=True)(f)(1) == 2
    assert type(torch.compile(nn.ReLU(), disable=True)) is nn.ReLU
    assert torch.compile(nn.ReLU) is nn.ReLU
    with pytest.raises(AssertionError, match="A callable function is expected, but <class 'int'> is provided."):
        torch.compile(3)
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast, should be one of: default, lite, reduce-overhead"):
        torch.compile(f, mode="fast")
    with pytest.raises(torch._dynamo.exc.InvalidBackend, match="Invalid backend: 'fast', see"):
        torch.compile(f, backend="fast")
    with pytest.raises(RuntimeError, match="Either mode or options can be specified"):
        torch.compile(f, mode="default", options={})


def test_example_inputs_of_a_trace():
    seen = []
    torch.jit.trace(lambda a, b: seen.append((a, b)), [1, 2])
    torch.jit.trace(lambda a: seen.append(a["x"]), {"x": 3})
    torch.jit.trace_module(nn.Identity(), {"forward": [torch.ones(2)], "extra_repr": ()})
    assert seen == [(1, 2), 3]


def test_what_a_compiled_module_would_have_is_explained():
    scripted, traced = torch.jit.script(torch.nn.Linear(2, 2)), torch.jit.trace(torch.nn.ReLU(), torch.ones(2))
    for module in (scripted, traced):
        for name in ("save", "code", "graph"):
            with pytest.raises(NotImplementedError, match="state_dict"):
                getattr(module, name)
            assert not hasattr(module, name)
    with pytest.raises(AttributeError, match="^'Linear' object has no attribute 'save'$"):
        torch.nn.Linear(2, 2).save  # noqa: B018 asked for, not used
    scripted.save = 3
    assert scripted.save == 3

    class Equal(torch.nn.ReLU):
        def __eq__(self, other):  # so it has no hash
            return True

    assert type(torch.jit.script(Equal())) is Equal
