"""Backward after an argument or a result of an op was overwritten: an error, or the gradient of the old values."""

import math

import pytest
import torchlite as torch
from declared import calls, declared_function, ident, sampled, tensors

PLACES = 8  # how many arguments and results of a call are tried


def overwrite(t):
    with torch.no_grad():
        old = t.detach()
        t.copy_(old * 2 + 1 if old.is_floating_point() or old.is_complex() else old.roll(1))


def prepared(x, leaves):
    """The arguments of one call: what can have a gradient is the result of an op, so that it may be overwritten."""
    if isinstance(x, torch.Tensor):
        t = x.detach().clone()
        if t.is_floating_point() or t.is_complex():
            leaves.append(t.requires_grad_())
            t = t * 1
        return t
    return type(x)(prepared(v, leaves) for v in x) if isinstance(x, (list, tuple)) else x


def gradients(spec, args, kwargs, kind=None, place=0):
    """The gradients after a tensor was overwritten; None where there is nothing to compare, "no place" at the end."""
    leaves = []
    torch.manual_seed(0)
    args, kwargs = prepared(args, leaves), {k: prepared(v, leaves) for k, v in kwargs.items()}
    try:
        outs = tensors(declared_function(spec)(*args, **kwargs))
    except (TypeError, ValueError, RuntimeError):  # samples for other dtypes
        return None
    ends = [t for t in outs if t.requires_grad]
    if not ends or not leaves:
        return None
    if kind:
        found = tensors([*args, *kwargs.values()]) if kind == "argument" else outs
        if place >= len(found):
            return "no place"
        try:
            overwrite(found[place])
        except RuntimeError:  # a result that several elements share, a view made without grad mode
            return None
    try:
        got = torch.autograd.grad(ends, leaves, [torch.ones_like(t) for t in ends], allow_unused=True)
    except (RuntimeError, NotImplementedError) as e:
        return str(e)
    return [None if g is None else g.detach().resolve_conj().resolve_neg().tolist() for g in got]


def alike(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if a is None or b is None:
        return a is b
    parts = ((complex(a).real, complex(b).real), (complex(a).imag, complex(b).imag))
    return all(x == y or (x != x and y != y) or math.isclose(x, y, rel_tol=1e-7, abs_tol=1e-9) for x, y in parts)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("spec", sampled(), ids=ident)
def test_no_gradient_of_new_values(spec):
    for dtype in (torch.float64, torch.complex128):
        try:
            samples = calls(spec, dtype)
        except (TypeError, ValueError, RuntimeError):  # samples that only real numbers have
            continue
        for args, kwargs in samples[:4]:
            want = gradients(spec, args, kwargs)
            if not isinstance(want, list):
                continue
            for kind in ("argument", "result"):
                for place in range(PLACES):
                    got = gradients(spec, args, kwargs, kind, place)
                    if got == "no place":
                        break
                    if isinstance(got, list):
                        assert alike(got, want), (kind, place, args, kwargs)
                    elif got:
                        assert "modified" in got or "in-place" in got or "inplace" in got, got


def test_values_that_are_kept_are_noticed():
    """The rule above would pass for a test that overwrites nothing."""
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    out = y.exp()
    overwrite(out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(out.sum(), x)
