"""Every allocation that an op's kernels make fails once:
the call is an out-of-memory error, and what comes after is right.

`_C.fail_allocation(n)` makes the n-th request for memory fail; what it returns tells how many a call makes.
"""

import warnings

import pytest
import torchlite as torch
from declared import calls, declared_function, ident, sampled, tensors

from torchlite import _C

MANY = 1 << 40
MOST = 60  # points of one call; the longest bodies repeat the same ops


def count(run):
    """How many allocations run() makes."""
    _C.fail_allocation(MANY)
    try:
        result = run()
    finally:
        made = MANY - _C.fail_allocation(0)
    return made, result


def fail(run, n, want):
    """Makes the n-th allocation of run() fail: it reports that, or does without that memory and is right."""
    _C.fail_allocation(n)
    try:
        result = run()
    except (torch.OutOfMemoryError, MemoryError):
        return
    finally:
        _C.fail_allocation(0)
    assert seen(result) == want


def points(made):
    return range(1, made + 1) if made <= MOST else [1 + i * (made - 1) // (MOST - 1) for i in range(MOST)]


def seen(result):
    return [(t.dtype, tuple(t.shape), str(t.detach().tolist())) for t in tensors(result)]


def backward(spec, args, kwargs):
    """The call and its gradients."""
    run = declared_function(spec)
    out = run(*args, **kwargs)
    outs = [t for t in tensors(out) if t.requires_grad]
    leaves = [t for a in (*args, *kwargs.values()) for t in tensors(a) if t.requires_grad]
    if not outs or not leaves or spec.grad == {}:
        return out
    return [out, torch.autograd.grad(outs, leaves, [torch.ones_like(t) for t in outs], allow_unused=True)]


def program(spec, grad):
    args, kwargs = calls(spec, torch.float64, grad=grad)[0]
    if spec.name.endswith("_"):  # in place: on a fresh copy each time

        def run():
            torch.manual_seed(0)
            return backward(spec, (args[0] * 1 if grad else args[0].clone(), *args[1:]), kwargs)
    else:

        def run():
            torch.manual_seed(0)
            return backward(spec, args, kwargs)

    return run


SPECS = [s for s in sampled() if not s.name.startswith("empty")]


def _label(value):
    if hasattr(value, "schemas"):
        return ident(value)
    return "backward" if value else "forward"


@pytest.mark.parametrize(
    "grad, spec",
    [(g, s) for s in SPECS for g in (False, True) if s.differentiable or not g],
    ids=_label,
)
def test_each_allocation_of_an_op_fails_once(grad, spec):
    run = program(spec, grad)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = seen(run())
        made, _ = count(run)
        for n in points(made):
            fail(run, n, want)
            assert seen(run()) == want
