"""Whose memory results and gradients have, which of them have a history, and which gradients are None: every declared
op beside PyTorch. A write to a result or to a gradient must reach what PyTorch's would reach, and nothing else."""

import math
import pathlib
import sys

import pytest
import torchlite

torch = pytest.importorskip("torch")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from fuzz.declared_ops import collect


def value(lib, plan, made):
    """A tensor of a slot, a list of them, or the value of the text; tensors are added to `made`."""
    if isinstance(plan, list):
        return [value(lib, p, made) for p in plan]
    if isinstance(plan, str):
        return eval(plan, {"torch": lib})
    if plan.text:
        t = eval(plan.text, {"torch": lib})
    else:
        n = math.prod(plan.shape)
        t = lib.linspace(plan.low + 0.1, plan.high - 0.2, n, dtype=lib.float64).reshape(plan.shape)
        t = t.to(getattr(lib, plan.dtype))
    if t.dtype.is_floating_point or t.dtype.is_complex:
        t = t.detach().requires_grad_()
    made.append(t)
    return t


def tensors(lib, x):
    if isinstance(x, lib.Tensor):
        return [x]
    return [t for v in x for t in tensors(lib, v)] if isinstance(x, (list, tuple)) else []


def shared(a, others):
    place = a.untyped_storage().data_ptr()
    return [a.numel() > 0 and place == b.untyped_storage().data_ptr() for b in others]


def memory(lib, call, args, kwargs):
    """What the module's text names, of one call; None where the library refuses it."""
    lib.manual_seed(0)
    made = []
    args = [value(lib, a, made) for a in args]
    kwargs = {k: value(lib, v, made) for k, v in kwargs.items()}
    try:
        results = tensors(lib, eval(call, {"torch": lib, "a": args, "k": kwargs}))
        seen = [(t.is_leaf, t.requires_grad, shared(t, made)) for t in results]
        roots, inputs = [t for t in results if t.requires_grad], [t for t in made if t.requires_grad]
        if not roots:
            return seen
        given = [lib.ones_like(t).requires_grad_() for t in roots]
        for create_graph in (False, True):
            found = lib.autograd.grad(roots, inputs, given, True, create_graph, allow_unused=True)
            for g in found:
                seen.append(None if g is None else (g.is_leaf, g.requires_grad, shared(g, given), shared(g, made)))
    except (RuntimeError, NotImplementedError, TypeError, ValueError):
        return None
    return seen


OPS = collect(torch)


@pytest.mark.parametrize("declared", OPS, ids=lambda d: f"{d.spec.namespace}.{d.spec.name}".strip("."))
@pytest.mark.filterwarnings("ignore")
def test_memory_of_results_and_gradients(declared):
    calls = [f"{name}(*a, **k)" for name in declared.functions]
    calls = calls or [f"a[0].{name}(*a[1:], **k)" for name in declared.methods]
    for args, kwargs in declared.samples[:4]:
        for call in calls:
            ours, theirs = (memory(lib, call, args, kwargs) for lib in (torchlite, torch))
            if theirs is not None:
                assert ours == theirs, (call, args, kwargs)
