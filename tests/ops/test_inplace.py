"""In-place forms under autograd: first and second gradients of every declared one,
on a tensor with history and on a view."""

import warnings

import pytest
import torchlite as torch
from declared import calls, declared_function, ident, sampled

RANDOM = {"dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout", "rrelu_"}
SMALL = 30  # elements; differences take a call for each


def _forms():
    """(id, spec, function in place, sample calls) of each in-place form that has a gradient."""
    for spec in sampled():
        if not spec.differentiable or spec.grad == {} or spec.name in RANDOM:
            continue
        if spec.inplace:
            yield ident(spec) + "_", spec, declared_function(spec, "_")
        elif spec.name.endswith("_") and not spec.name.startswith("_"):
            yield ident(spec), spec, declared_function(spec)


def _plain(x):
    return x.detach().clone() if isinstance(x, torch.Tensor) else x


def _works(fn, args, kwargs):
    """Whether fn takes this sample in place: the result has self's shape, and its dtype can be stored in it."""
    try:
        fn(*map(_plain, args), **{k: _plain(v) for k, v in kwargs.items()})
    except (RuntimeError, TypeError):
        return False
    return True


def _samples(spec, fn):
    """The smallest sample that fits, with its tensor arguments numbered."""
    found = []
    for args, kwargs in calls(spec, torch.float64, grad=True):
        if isinstance(args[0], torch.Tensor) and args[0].dtype is torch.float64 and _works(fn, args, kwargs):
            size = sum(a.numel() for a in args if isinstance(a, torch.Tensor) and a.requires_grad)
            found.append((size, len(found), args, kwargs))
    return [(args, kwargs) for _, _, args, kwargs in sorted(found, key=lambda f: f[:2])[:2]]


def on_tensor(x):
    z = x * 1
    return z, z


def on_view(x):
    """A view of a view of a base with more in it than the view shows."""
    base = torch.stack([x * 0.5, x, x * 2])
    return base, base.transpose(0, -1).select(-1, 1) if x.dim() < 2 else base[1:].transpose(1, 2)[0].transpose(0, 1)


def build(fn, args, kwargs, place):
    """The in-place call as a function of the tensors that take a gradient."""
    slots = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor) and a.requires_grad]

    def run(*tensors):
        given = list(args)
        for i, t in zip(slots, tensors):
            given[i] = t
        whole, part = place(given[0])
        assert part.shape == args[0].shape
        got = fn(part, *given[1:], **kwargs)
        assert got is part or got.data_ptr() == part.data_ptr()
        return whole

    return run, [args[i] for i in slots]


FORMS = list(_forms())


@pytest.mark.parametrize("place", [on_tensor, on_view])
@pytest.mark.parametrize("spec, fn", [f[1:] for f in FORMS], ids=[f[0] for f in FORMS])
def test_gradients(spec, fn, place):
    samples = _samples(spec, fn)
    assert samples, "no sample fits the in-place form"
    for n, (args, kwargs) in enumerate(samples):
        run, tensors = build(fn, args, kwargs, place)
        if sum(t.numel() for t in tensors) > SMALL and n:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert torch.autograd.gradcheck(run, tensors, atol=1e-5, rtol=1e-3)
            assert torch.autograd.gradgradcheck(run, tensors, atol=1e-4, rtol=1e-3)
