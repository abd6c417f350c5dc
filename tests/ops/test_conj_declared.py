"""Every op gives the same for a view of conjugates or negatives as for a plain tensor of the same values:
results, what it wrote, gradients, errors."""

import math

import pytest
import torchlite as torch
from declared import calls, declared_function, ident, sampled, tensors

# random, of no defined values, about memory itself, and what the place of a view in its memory changes
LEFT_OUT = (
    "dropout",
    "alpha_dropout",
    "feature_dropout",
    "rrelu",
    "rand",
    "randn",
    "bernoulli",
    "multinomial",
    "normal",
    "empty",
)
BY_MEMORY = {"as_strided", "as_strided_copy", "as_strided_scatter", "view_as_complex", "view_as_complex_copy"}
BY_MEMORY |= {"_linalg_det", "_linalg_slogdet"}  # they factor the adjoint of a contiguous matrix, as PyTorch does
ON_LEAVES = {"fill_diagonal_"}  # the error for a leaf that is a view has another text


def plain(t):
    return t.clone()


def conjugate(t):
    return t.conj_physical().conj() if t.is_complex() else t


def negative(t):
    return (-t)._neg_view() if t.is_floating_point() else t


def imaginary(t):
    """The negatives that .imag of conjugates is, with strides of 2."""
    return torch.complex(torch.zeros_like(t), -t).conj().imag if t.dtype in (torch.float32, torch.float64) else t


def mapped(x, view):
    if isinstance(x, torch.Tensor):
        t = view(x.detach())
        return t.requires_grad_() if x.requires_grad else t
    return type(x)(mapped(v, view) for v in x) if isinstance(x, (list, tuple)) else x


def seen(t):
    return None if t is None else (str(t.dtype), tuple(t.shape), t.detach().resolve_conj().resolve_neg().tolist())


def outcome(spec, args, kwargs, view, inplace):
    args, kwargs = mapped(args, view), {k: mapped(v, view) for k, v in kwargs.items()}
    leaves = [t for t in tensors([*args, *kwargs.values()]) if t.requires_grad]
    first = args[0] if args else None
    if inplace and isinstance(first, torch.Tensor) and first.requires_grad:
        first = first * 1 if view is plain else view((first * 1).resolve_conj().resolve_neg())
        args = (first, *args[1:])
    try:
        outs = tensors(declared_function(spec, "_" if inplace else "")(*args, **kwargs))
        found = [seen(t) for t in outs] + [seen(t) for t in tensors(list(args))]
        outs = [t for t in outs if t.requires_grad]
        if outs and leaves:
            signs = [
                torch.arange(1.0, 1 + t.numel(), dtype=torch.float64).cos().reshape(t.shape).to(t.dtype) for t in outs
            ]
            found += [seen(g) for g in torch.autograd.grad(outs, leaves, mapped(signs, view), allow_unused=True)]
    except Exception as e:
        return [(type(e).__name__, str(e)[:200])]
    return found


def alike(a, b):
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, (float, complex)) and isinstance(b, (float, complex)):
        a, b = complex(a), complex(b)
        return all(
            x == y or (x != x and y != y) or math.isclose(x, y, rel_tol=1e-7, abs_tol=1e-9)
            for x, y in ((a.real, b.real), (a.imag, b.imag))
        )
    return a == b


CASES = [s for s in sampled() if not s.name.startswith(LEFT_OUT)]


@pytest.mark.parametrize("view", [plain, conjugate])
@pytest.mark.parametrize("name", ["abs", "angle", "real", "imag"])
def test_parts_of_complex_numbers_are_real(name, view):
    """Errors that are the same for both kinds of tensors would pass the next test."""
    z = view(torch.tensor([3 + 4j, -2j], dtype=torch.complex128)).requires_grad_()
    want = {"abs": [5, 2], "angle": [math.atan2(4, 3), -math.pi / 2], "real": [3, 0], "imag": [4, -2]}[name]
    for got in (getattr(torch, name)(z), getattr(torch, name)(z.detach())):
        assert alike([float(v) for v in got.tolist()], [float(v) for v in want])
    if name in ("abs", "angle"):
        out = torch.empty(0, dtype=torch.float64)
        assert alike(getattr(torch, name)(z.detach(), out=out).tolist(), [float(v) for v in want])
    with pytest.raises(RuntimeError, match="In-place abs is not supported for complex tensors."):
        z.detach().abs_()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("spec", CASES, ids=ident)
def test_views_of_conjugates_and_negatives(spec):
    for dtype, view in ((torch.complex128, conjugate), (torch.float64, negative), (torch.float64, imaginary)):
        if view is imaginary and spec.name in BY_MEMORY:
            continue
        for grad in (False, True):
            if grad and spec.name in ON_LEAVES:
                continue
            for inplace in (False, True) if spec.inplace else (False,):
                try:
                    samples = calls(spec, dtype, grad=grad)
                except (TypeError, ValueError, RuntimeError):  # samples that only real numbers have
                    continue
                for args, kwargs in samples:
                    assert alike(
                        outcome(spec, args, kwargs, plain, inplace), outcome(spec, args, kwargs, view, inplace)
                    ), (view.__name__, inplace, args)
