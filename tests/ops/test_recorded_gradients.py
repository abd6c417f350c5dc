"""A gradient is the same whether it is recorded (create_graph) or not, also beside numbers that are not finite, and
where squares overflow. Kernels compute what is not recorded, bodies and formulas the rest."""

import math

import declared
import pytest

import torchlite as torch

RANDOM = "bernoulli dropout empty multinomial new_ normal_ poisson rand rrelu".split()
# op -> the numbers for which the two differ, and why
APART = {
    "batch_norm": ({1e150, 1e300}, "statistics that overflow, and differences of huge gradients"),
    "native_batch_norm": ({1e150, 1e300}, "as batch_norm"),
    "instance_norm": ({1e150, 1e300}, "as batch_norm"),
    "group_norm": ({math.inf, -math.inf}, "sums of infinite gradients in another order"),
    "native_group_norm": ({math.inf, -math.inf}, "as group_norm"),
    "logit": ({-0.0, math.nan}, "PyTorch has two formulas, too: the kernel gives inf at -0, and NaN for NaN"),
    "logcumsumexp": ({-math.inf, 1e150, 1e300}, "PyTorch's formula in log space gives NaN after -inf; pairs do not"),
}
NUMBERS = [math.nan, math.inf, -math.inf, -0.0, 1e150, 1e300]


def leaves(x):
    if isinstance(x, torch.Tensor):
        return [x] if x.requires_grad else []
    if isinstance(x, dict):
        x = list(x.values())
    return [t for v in x for t in leaves(v)] if isinstance(x, (list, tuple)) else []


def gradients(call, spec, number, which, argument, recorded):
    """The gradients of a sample, of which the first element of an argument is `number`; None where it is refused."""
    args, kwargs = declared.calls(spec, torch.float64, grad=True)[which]
    inputs = leaves([*args, kwargs])
    with torch.no_grad():
        inputs[argument][(0,) * inputs[argument].dim()] = number
    try:
        outputs = [t for t in declared.tensors(call(*args, **kwargs)) if t.requires_grad]
    except RuntimeError:  # a number that the op refuses
        return None
    if not outputs:
        return None
    found = torch.autograd.grad(
        outputs, inputs, [torch.ones_like(t) for t in outputs], create_graph=recorded, allow_unused=True
    )
    return [torch.zeros_like(t) if g is None else g.detach().to_dense() for g, t in zip(found, inputs)]


@pytest.mark.parametrize("spec", declared.sampled(), ids=declared.ident)
def test_recorded_or_not(spec):
    if any(word in spec.name for word in RANDOM):
        pytest.skip("random: two calls differ")
    if spec.grad == {} or not spec.differentiable:
        pytest.skip("the op has no gradient")
    if declared.ident(spec).endswith("_"):
        pytest.skip("in place only, and the samples are leaves")
    call = declared.declared_function(spec)
    apart = APART.get(declared.ident(spec).partition(".")[0], (set(), ""))[0]
    for which, (args, kwargs) in enumerate(declared.calls(spec, torch.float64, grad=True)):
        for argument, leaf in enumerate(leaves([*args, kwargs])[:3]):
            for number in NUMBERS if leaf.numel() else []:
                if any(number == n or number != number and n != n for n in apart):
                    continue
                plain, recorded = (gradients(call, spec, number, which, argument, r) for r in (False, True))
                if plain is not None:
                    torch.testing.assert_close(
                        recorded, plain, equal_nan=True, msg=lambda m: f"{number} in argument {argument}: {m}"
                    )
