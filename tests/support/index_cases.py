"""Random tensors and comparison shared by the tests of indexing, joining and padding."""

import torch
import torchlite as tl
from dtype_names import DTYPES


def ours(x):
    """The same tensor, strides included, in torchlite."""
    if isinstance(x, torch.Tensor):
        if x.dim() and x.numel() and not x.is_contiguous():
            order = sorted(range(x.dim()), key=lambda d: -x.stride(d))
            back = [order.index(d) for d in range(x.dim())]
            return ours(x.permute(order).contiguous()).permute(back)
        flat = x.detach().reshape(-1)
        return tl.tensor(flat.tolist(), dtype=getattr(tl, str(x.dtype)[6:])).reshape(tuple(x.shape))
    if isinstance(x, (list, tuple)):
        return type(x)(ours(v) for v in x)
    return getattr(tl, str(x)[6:]) if isinstance(x, torch.dtype) else x


def same(a, b):
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if not isinstance(a, torch.Tensor):
        return a == b
    if str(a.dtype) != str(b.dtype) or tuple(a.shape) != tuple(b.shape):
        return False
    c = torch.tensor(b.reshape(-1).tolist(), dtype=a.dtype).reshape(a.shape)
    tol = 2e-2 if a.dtype in (torch.float16, torch.bfloat16) else 1e-5
    return torch.allclose(a.to(torch.complex128), c.to(torch.complex128), rtol=tol, atol=1e-6, equal_nan=True)


def compare(call, *args):
    """call(module, *args) in both; equal results, or errors of one type and first line."""
    results = []
    for module, values in ((torch, args), (tl, ours(args))):
        try:
            results.append(call(module, *values))
        except Exception as e:
            results.append(e)
    want, got = results
    if isinstance(want, Exception):
        if "INTERNAL ASSERT" in str(want):
            return
        assert type(got) is type(want), (want, got)
        assert str(got).partition("\n")[0] == str(want).partition("\n")[0]
    else:
        assert not isinstance(got, Exception), got
        assert same(want, got), (want, got)


def make(rng, shape, name=None):
    dtype = getattr(torch, name or rng.choice(DTYPES))
    t = (
        torch.tensor([rng.randint(0 if dtype is torch.uint8 else -4, 4) for _ in range(torch.Size(shape).numel())])
        .reshape(shape)
        .to(dtype)
    )
    if dtype.is_complex:
        t = t * (1 + 2j)
    if t.dim() > 1 and rng.random() < 0.4:
        t = t.transpose(0, -1).contiguous().transpose(0, -1)
    return t


def shape_of(rng, least=0, most=3):
    return [rng.randint(1 if rng.random() < 0.9 else 0, 4) for _ in range(rng.randint(least, most))]
