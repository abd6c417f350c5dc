"""vmap of each declared op: results and gradients are those of one example after the other.

Each sample gives two examples. All tensors are mapped over, then each of them alone, while the others stay the same.
"""

import contextlib
import warnings

import pytest
import torchlite as torch
from declared import calls, declared_function, ident, sampled, tensors

from torchlite._functorch import rules

# by the numbers that came before, or of memory that nobody wrote
NUMBERS_DIFFER = frozenset("empty_like new_empty new_empty_strided empty_permuted empty_strided empty".split())
# PyTorch's vmap refuses these as well: what comes out has another shape for each example, or is a number
REFUSED = (
    "data-dependent control flow",
    "dynamic shape",
    "we don't support vmap over calling .item()",
    "called random operation",
    "randomness with a batched tensor",
    "must only return Tensors",
    "not being vmapped",
    "which will be updated in place, were not batched",
    "inside vmap is not possible",
    "doesn't have storage",
)
# what runs once per example, and nothing else: no pointwise op, no reduction, no indexing, no linear algebra
BY_EXAMPLE = frozenset("_segment_reduce_backward embedding_bag histc segment_reduce".split())


def other(t):
    """Another example like t: indices stay in range, and matrices stay positive definite."""
    if t.dtype.is_floating_point or t.dtype.is_complex:
        return t.detach() * 0.75
    return t.flip(0) if t.dim() else t


def with_tensors(x, made):
    if isinstance(x, torch.Tensor):
        return made.pop(0)
    if isinstance(x, (list, tuple)):
        return type(x)([with_tensors(v, made) for v in x])
    return x


def close(got, want):
    got, want = got.detach(), want.detach()
    assert got.shape == want.shape and got.dtype is want.dtype
    if want.dtype.is_floating_point or want.dtype.is_complex:
        assert torch.allclose(got, want, rtol=1e-4, atol=1e-4, equal_nan=True)
    else:
        assert torch.equal(got, want)


def weighed(outs):
    """A number of all outputs, each element with a weight of its own."""
    total = 0
    for o in outs:
        if o.requires_grad:
            o = torch.view_as_real(o.resolve_conj()) if o.is_complex() else o
            total = total + (o.double() * torch.arange(o.numel(), dtype=torch.float64).cos().reshape(o.shape)).sum()
    return total


def patterns(count):
    yield (0,) * count
    if count > 1:
        for at in range(min(count, 4)):
            yield tuple(0 if i == at else None for i in range(count))


def compare(function, args, kwargs, dims, given):
    """Results, and gradients where there are any, of both ways; whether the loop itself works."""

    def call(*each):
        made = list(each)
        out = function(*with_tensors(list(args), made), **{k: with_tensors(v, made) for k, v in kwargs.items()})
        found = tensors(out)
        if not found or len(found) != len(out if isinstance(out, (list, tuple)) else (out,)):
            pytest.skip("returns no tensors")
        return tuple(found)

    def leaves():
        stacked = [torch.stack([t.detach(), other(t)]) if d == 0 else t.detach().clone() for t, d in zip(given, dims)]
        return [s.requires_grad_() if t.requires_grad else s for s, t in zip(stacked, given)]

    ins = leaves()
    try:
        outs = [call(*(x[i].clone() if d == 0 else x for x, d in zip(ins, dims))) for i in range(2)]  # own memory
        want = [torch.stack(column) for column in zip(*outs)]
        wrt = [x for x in ins if x.requires_grad]
        loss = weighed(want)
        grads = torch.autograd.grad(loss, wrt, allow_unused=True) if wrt and isinstance(loss, torch.Tensor) else ()
    except RuntimeError:
        return False
    ins = leaves()
    got = torch.func.vmap(call, in_dims=dims, randomness="same")(*ins)
    for g, w in zip(got, want):
        close(g, w)
    if grads:
        wrt = [x for x in ins if x.requires_grad]
        for x, g, w in zip(wrt, torch.autograd.grad(weighed(got), wrt, allow_unused=True), grads):
            close(*(torch.zeros_like(x) if t is None else t for t in (g, w)))
    return True


@pytest.fixture
def once_per_example(monkeypatch):
    """The names of ops that vmap ran on one example after the other."""
    seen, real = set(), rules.by_example

    def counted(call, refused):
        result = real(call, refused)
        seen.add(call.ov.spec.name)
        return result

    monkeypatch.setattr(rules, "by_example", counted)
    return seen


@pytest.mark.parametrize("spec", sampled(), ids=ident)
@pytest.mark.parametrize("grad", [False, True], ids=["result", "gradients"])
def test_vmap(spec, grad, once_per_example):
    if spec.name in NUMBERS_DIFFER or spec.name.endswith("_") or "Generator?" in spec.schemas[0]:
        pytest.skip("two calls differ in their numbers, or the call changes its argument")
    function, made, refusal = declared_function(spec), 0, ""
    for args, kwargs in list(calls(spec, torch.float32, grad=grad))[:4]:
        given = tensors(list(args) + list(kwargs.values()))
        if not given or grad and not any(t.requires_grad for t in given):
            continue
        for dims in patterns(len(given)):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    made += compare(function, args, kwargs, dims, given)
            except RuntimeError as error:
                refusal = str(error)
                assert any(text in refusal for text in REFUSED), refusal
    if not made:
        pytest.skip(refusal or "none of its samples has a tensor%s" % (" that takes a gradient" if grad else ""))
    assert once_per_example <= BY_EXAMPLE


def test_the_list_is_no_longer_than_it_must_be(once_per_example):
    for spec in sampled():
        if spec.name in BY_EXAMPLE:
            for grad in (False, True):
                for args, kwargs in list(calls(spec, torch.float32, grad=grad))[:4]:
                    given = tensors(list(args) + list(kwargs.values()))
                    for dims in patterns(len(given)):
                        with warnings.catch_warnings(), contextlib.suppress(RuntimeError):
                            warnings.simplefilter("ignore")
                            compare(declared_function(spec), args, kwargs, dims, given)
    assert once_per_example == BY_EXAMPLE
