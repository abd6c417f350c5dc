"""Runs the same call in torch and in torchlite and compares results, gradients, second gradients and error texts."""

import pytest

import torchlite

torch = pytest.importorskip("torch")
TOL = {
    torch.float32: (1e-4, 1e-5),
    torch.float16: (2e-2, 2e-2),
    torch.bfloat16: (5e-2, 1e-1),
    torch.complex64: (1e-4, 1e-4),
}


def ours(x, grad=False):
    """A torchlite tensor with the values and strides of a torch tensor."""
    if isinstance(x, (list, tuple)):
        return type(x)(ours(v, grad) for v in x)
    if not isinstance(x, torch.Tensor):
        return x
    if x.dtype == torch.bfloat16:
        t = torchlite.tensor(x.tolist(), dtype=torchlite.bfloat16).reshape(x.shape)
    else:
        t = torchlite.from_numpy(x.detach().numpy())
    return t.requires_grad_(True) if grad and (x.is_floating_point() or x.is_complex()) else t


def same(got, want, tol=None):
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            same(g, w, tol)
        return
    if want is None:
        assert got is None
        return
    assert tuple(got.shape) == tuple(want.shape)
    assert str(got.dtype) == str(want.dtype)
    rtol, atol = tol or TOL.get(want.dtype, (1e-7, 1e-8))
    back = torch.tensor(got.tolist(), dtype=want.dtype).reshape(want.shape)
    torch.testing.assert_close(back, want.detach(), rtol=rtol, atol=atol, equal_nan=True)


def _outputs(r):
    return [
        t
        for t in (r if isinstance(r, (tuple, list)) else [r])
        if t is not None and (t.is_floating_point() or t.is_complex()) and t.requires_grad
    ]


def check(call, *args, tol=None, grad=True, second=False, **kwargs):
    """call(lib, *args, **kwargs) in both; args are torch tensors."""

    def run(lib, values):
        r = call(lib, *values, **kwargs)
        leaves = [
            v
            for a in values
            for v in (a if isinstance(a, (tuple, list)) else [a])
            if getattr(v, "requires_grad", False) is True
        ]
        outs = _outputs(r) if grad and leaves else []
        if not outs:
            return r, None, None
        # cotangents that do not depend on a random generator
        cots = [
            lib.cos(lib.arange(max(o.numel(), 1), dtype=lib.float64))[: o.numel()].reshape(o.shape).to(o.dtype)
            for o in outs
        ]
        first = lib.autograd.grad(outs, leaves, cots, allow_unused=True, create_graph=second)
        if not second:
            return r, first, None
        parts = [
            (g * g.conj()).real.sum() if g.is_complex() else (g * g).sum()
            for g in first
            if g is not None and g.requires_grad
        ]
        return r, first, lib.autograd.grad(sum(parts), leaves, allow_unused=True) if parts else None

    def leaf(v):
        if isinstance(v, (list, tuple)):
            return type(v)(leaf(x) for x in v)
        ok = isinstance(v, torch.Tensor) and (v.is_floating_point() or v.is_complex())
        return v.detach().requires_grad_(grad) if ok else v

    want = run(torch, [leaf(a) for a in args])
    got = run(torchlite, [ours(a, grad) for a in args])
    for g, w in zip(got, want):
        if w is not None:
            same(g, w, tol)


def fails_alike(call, *args, **kwargs):
    """Both raise, with the same class name and the same first line."""
    with pytest.raises(Exception) as want:
        call(torch, *args, **kwargs)
    with pytest.raises(Exception) as got:
        call(torchlite, *[ours(a) for a in args], **kwargs)
    assert type(got.value).__name__ == type(want.value).__name__
    assert str(got.value).split("\n")[0] == str(want.value).split("\n")[0]
