"""Every declared op with samples gives on webgpu what it gives on the CPU: results and gradients, and their layout.

Where the CPU runs an op in the device's place this still compares what is uploaded and read back; which ops those are,
torch.explain tells and tests/webgpu/conformance.py counts.
"""

import pytest

import torchlite as torch

from declared import calls, declared_function, ident, sampled, tensors

pytestmark = [pytest.mark.usefixtures("bridge"), pytest.mark.filterwarnings("ignore")]


def there(x):
    if isinstance(x, torch.Tensor):
        return x.detach().to("webgpu").requires_grad_(x.requires_grad)
    return type(x)(there(v) for v in x) if isinstance(x, (list, tuple)) else x


def leaves(x):
    if isinstance(x, torch.Tensor):
        return [x] if x.requires_grad else []
    return [t for v in x for t in leaves(v)] if isinstance(x, (list, tuple)) else []


def call(spec, args, kwargs):
    """(results, gradients) or the error."""
    try:
        torch.manual_seed(3)
        start = leaves(args)
        if spec.name.endswith("_") and args and isinstance(args[0], torch.Tensor):
            args = (args[0].clone(), *args[1:])
        out = [t for t in tensors(declared_function(spec)(*args, **kwargs)) if isinstance(t, torch.Tensor)]
        wanted = [t for t in out if t.requires_grad and spec.grad != {}]
        grads = (
            torch.autograd.grad(wanted, start, [torch.ones_like(t) for t in wanted], allow_unused=True)
            if wanted and start
            else ()
        )
        if spec.name.endswith("_") and args and isinstance(args[0], torch.Tensor):
            out.append(torch.tensor(args[0]._version))  # how many changes it counts
        return out, grads, None
    except Exception as error:
        return None, None, error


def double(x):
    return (
        isinstance(x, torch.Tensor)
        and x.dtype in (torch.float64, torch.complex128)
        or x in (torch.float64, torch.complex128)
        if isinstance(x, (torch.Tensor, torch.dtype))
        else isinstance(x, (list, tuple)) and any(double(v) for v in x)
    )


@pytest.mark.parametrize("spec", sampled(), ids=ident)
def test_as_on_the_cpu(spec):
    compared = 0
    for args, kwargs in calls(spec, torch.float32, grad=True):
        if double(args) or double(list(kwargs.values())):
            continue
        out, grads, error = call(spec, args, kwargs)
        if out is not None and double(out):
            continue
        ours, our_grads, our_error = call(spec, there(args), {k: there(v) for k, v in kwargs.items()})
        if error is not None:
            assert type(our_error) is type(error), (args, error, our_error)
            continue
        assert our_error is None, (args, our_error)
        rtol, atol = (spec.tol or {}).get("float32", (1.3e-6, 1e-5))
        for name, mine, theirs in (("result", ours, out), ("gradient", our_grads, grads)):
            assert len(mine) == len(theirs)
            for a, b in zip(mine, theirs):
                assert (a is None) == (b is None)
                if b is None:
                    continue
                assert a.dtype is b.dtype and a.shape == b.shape, name
                # both devices round; PyTorch's tolerances are against exact answers
                slack = 8 if name == "gradient" else 4
                torch.testing.assert_close(
                    a.detach().cpu(),
                    b.detach(),
                    rtol=rtol * slack,
                    atol=atol * slack,
                    equal_nan=True,
                    msg=lambda m: f"{spec.name} {name} {args}: {m}",
                )
        compared += 1
    if not compared:
        pytest.skip("all its samples are float64, which the device has not")


# PyTorch has no rule (fuzz/known.py); the fused kernel has PyTorch's layout, the CPU's products have not
OPEN = {"linalg_matrix_exp", "scaled_dot_product_attention"}


def channels_last(t):
    d = 1 if t.dim() > 2 else 0
    return t.movedim(d, -1).contiguous().movedim(-1, d)


def reversed_dims(t):
    order = [*range(t.dim())][::-1]
    return t.permute(order).contiguous().permute(order)


LAYOUTS = [channels_last, reversed_dims]


def laid(x, how):
    if isinstance(x, torch.Tensor):
        return how(x.detach()).requires_grad_(x.requires_grad) if x.dim() > 1 else x
    return type(x)(laid(v, how) for v in x) if isinstance(x, (list, tuple)) else x


def alike(a, b):
    """The same strides, where they reach elements."""
    return 0 in a.shape or all(n == 1 or x == y for n, x, y in zip(a.shape, a.stride(), b.stride()))


@pytest.mark.parametrize("spec", [s for s in sampled() if s.name not in OPEN], ids=ident)
def test_laid_out_as_on_the_cpu(spec):
    for args, kwargs in calls(spec, torch.float32, grad=True)[:2]:
        if double(args) or double(list(kwargs.values())):
            continue
        for how in LAYOUTS:
            here, named = laid(args, how), {k: laid(v, how) for k, v in kwargs.items()}
            out, grads, error = call(spec, here, named)
            if error is not None or double(out):
                continue
            ours, our_grads, our_error = call(spec, there(here), {k: there(v) for k, v in named.items()})
            assert our_error is None, (args, our_error)
            for name, mine, theirs in (("result", ours, out), ("gradient", our_grads, grads)):
                for a, b in zip(mine, theirs):
                    assert b is None or alike(a, b), (name, how.__name__, b.shape, a.stride(), b.stride())
