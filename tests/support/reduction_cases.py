"""Random tensors and comparison shared by the tests of reductions, scans, sorting, normalisation and losses."""

import torch
import torchlite as tl

FLOATS = ("float16", "bfloat16", "float32", "float64")
SHAPES = (
    (),
    (1,),
    (5,),
    (3, 4),
    (2, 3, 4),
    (7, 33),
    (33, 7),
    (2, 3, 4, 5),
    (1100,),
    (65, 70),
    (0,),
    (3, 0),
    (0, 3),
    (600, 3),
)
TOL = {
    "float16": (4e-3, 2e-3),
    "bfloat16": (3e-2, 2e-2),
    "float32": (2e-5, 2e-5),
    "float64": (1e-9, 1e-9),
    "complex64": (2e-5, 2e-5),
    "complex128": (1e-9, 1e-9),
}


def make(rng, dtype, shape=None):
    """A torch tensor of that dtype in a random layout, sometimes with NaN or inf in it."""
    dt = getattr(torch, dtype)
    shape = rng.choice(SHAPES) if shape is None else tuple(shape)
    if dt == torch.bool:
        x = torch.rand(shape) > 0.5
    elif dt.is_complex or dt.is_floating_point:
        x = torch.randn(shape, dtype=dt if dt.is_complex else torch.float64).to(dt)
    else:
        x = torch.randint(0 if dtype == "uint8" else -5, 6, shape, dtype=dt)
    if dt.is_floating_point and x.numel() and rng.random() < 0.1:
        x.view(-1)[rng.randrange(x.numel())] = rng.choice([float("nan"), float("inf")])
    layout = rng.choice("ccts")
    if layout == "t" and x.dim() > 1:
        x = x.transpose(0, -1).contiguous().transpose(0, -1)
    elif layout == "s" and x.dim():
        x = torch.stack([x, x], -1)[..., 1]
    return x


def ours(x):
    """A torch tensor (or a container of them) as torchlite's, strides included."""
    if isinstance(x, torch.Tensor):
        room = 1 + sum((n - 1) * s for n, s in zip(x.shape, x.stride())) if x.numel() else 0
        flat = torch.as_strided(x.detach(), (room,), (1,))
        base = tl.tensor(flat.tolist(), dtype=getattr(tl, str(x.dtype)[6:]))
        return tl.as_strided(base, tuple(x.shape), x.stride()) if x.numel() else base.reshape(tuple(x.shape))
    if isinstance(x, torch.dtype):
        return getattr(tl, str(x)[6:])
    if isinstance(x, (list, tuple)):
        return type(x)(ours(v) for v in x)
    return x


def same(a, b, scale=1):
    """a, from torchlite, is what torch's b is."""
    if isinstance(b, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y, scale)
        return
    if not isinstance(b, torch.Tensor):
        assert a == b
        return
    name = str(b.dtype)[6:]
    assert str(a.dtype)[6:] == name and tuple(a.shape) == tuple(b.shape), (
        a.dtype,
        b.dtype,
        tuple(a.shape),
        tuple(b.shape),
    )
    back = torch.tensor(a.tolist(), dtype=b.dtype).reshape(b.shape)
    if name in TOL:
        rtol, atol = TOL[name]
        torch.testing.assert_close(back, b.detach(), rtol=rtol * scale, atol=atol * scale, equal_nan=True)
    else:
        assert torch.equal(back, b), (back, b)


def compare(f, *args, scale=1, text=True):
    """f(module, *args) gives the same with both modules, or fails with the same exception (and message)."""
    try:
        want = f(torch, *args)
    except Exception as e:
        try:
            got = f(tl, *ours(args))
        except Exception as mine:
            assert isinstance(mine, type(e)) or isinstance(e, type(mine)), (repr(mine), repr(e))
            if text:
                assert str(mine).split("\n")[0] == str(e).split("\n")[0]
            return
        raise AssertionError(f"torch raises {e!r}, torchlite gives {got!r}") from None
    same(f(tl, *ours(args)), want, scale)
