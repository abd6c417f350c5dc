"""torch.func beside PyTorch: results without dims, names, arguments that are refused, tied weights."""

import warnings

import pytest
from alike import alike, cases, torch

import torchlite

_NAMES = """
def total(x): return x.sum()
def on_cpu(x):
    with torch.autograd.graph.save_on_cpu(): return x.sin().sum()
class Old(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x.sin()
    @staticmethod
    def backward(ctx, g): return g
m = nn.Linear(1, 1)
m.b2 = m.bias
one = torch.ones(1)
"""


@pytest.fixture(autouse=True, scope="module")
def jit():
    """PyTorch's first jacfwd compiles decompositions by torch.jit, which warns of its own end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.func.jacfwd(torch.sin)(torch.ones(1))


@cases("""
torch.func.jacrev(lambda x: x)(torch.ones(())), torch.func.jacfwd(lambda x: x * 2)(torch.ones(()))
torch.func.hessian(lambda x: x ** 3)(torch.ones(()))
torch.func.jacrev(lambda a, b: a[0] + a[1] * 2 + b * 3, argnums=(0, 1))(
    (torch.ones(()), torch.ones(())), torch.ones(()))
torch.func.jvp(torch.sin, (torch.ones(2),), (torch.ones(2), torch.ones(2)))
torch.func.jvp(torch.sin, (1.0,), (torch.ones(2),))
torch.func.jvp(torch.sin, (torch.ones(2),), (1.0,))
torch.func.jvp(torch.sin, torch.ones(2), (torch.ones(2),))
torch.func.grad(total).__name__, torch.func.grad_and_value(total).__name__, torch.func.vmap(total).__name__
torch.func.jacrev(total).__name__, torch.func.jacfwd(total).__name__, torch.func.hessian(total).__name__
torch.func.grad(on_cpu)(torch.ones(2))
torch.func.grad(lambda x: Old.apply(x).sum())(torch.ones(2))
torch.func.functional_call(m, ({'weight': torch.ones(1, 1)}, {'weight': torch.ones(1, 1)}), torch.ones(1, 1))
torch.func.functional_call(m, ({'weight': torch.ones(1, 1)}, {'bias': torch.zeros(1)}), torch.ones(1, 1))
torch.func.functional_call(m, 3, torch.ones(1, 1))
torch.func.functional_call(m, ({'weight': torch.ones(1, 1)}, 3), torch.ones(1, 1))
torch.func.functional_call(m, {'weight': 3}, torch.ones(1, 1))
torch.func.functional_call(m, {'bias': one, 'b2': torch.zeros(1)}, torch.ones(1, 1))
torch.func.functional_call(m, {'bias': one, 'b2': one, 'weight': torch.ones(1, 1)}, torch.ones(1, 1))
torch.func.functional_call(m, {'b2': one, 'weight': torch.ones(1, 1)}, torch.ones(1, 1))
torch.func.functional_call(m, {'b2': one, 'weight': torch.ones(1, 1), 'bias': torch.zeros(1)}, torch.ones(1, 1),
    tie_weights=False)
""")
def test_transforms(line):
    alike(_NAMES + line)


def test_hooks_outside_a_transform_are_refused():
    with torchlite.autograd.graph.save_on_cpu(), pytest.raises(RuntimeError, match="saved tensor hooks"):
        torchlite.func.vjp(torchlite.sin, torchlite.ones(2))


def test_an_absent_function_asks_its_arguments():
    """A class may have what torchlite lacks."""

    class Quantized:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, len(args)

    assert torchlite.dequantize(Quantized()) == ("dequantize", 1)
    assert torchlite.dequantize in torchlite.overrides.get_overridable_functions()[torchlite]


def test_attributes_have_the_names_of_the_base_class():
    for name in ("grad", "shape", "is_leaf"):
        assert getattr(torchlite.Tensor, name).__qualname__ == "TensorBase." + name
