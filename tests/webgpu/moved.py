"""Running a function on the CPU and on webgpu and comparing."""

from __future__ import annotations

import itertools
import warnings
from typing import Any, Callable

import torchlite as torch

DTYPES = [
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
]


def numbers(shape: tuple[int, ...], dtype: torch.dtype, low: int = -40, high: int = 60) -> torch.Tensor:
    """Different small numbers that every dtype holds."""
    n = 1
    for m in shape:
        n *= m
    if dtype is torch.bool:
        return torch.tensor([k % 3 == 1 or k % 7 == 2 for k in range(n)]).reshape(shape)
    if dtype is torch.uint8:
        low = max(low, 0)
    t = torch.tensor(
        [low + k * 37 % (high - low) for k in range(n)],
        dtype=torch.float32 if dtype.is_floating_point or dtype.is_complex else torch.int64,
    )
    if dtype.is_complex:
        return torch.complex(t, t.flip(0) / 2).reshape(shape)
    if dtype.is_floating_point:
        t = t / 4
    return t.reshape(shape).to(dtype)


def made(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape))).to(dtype)


def on_device(a: Any) -> Any:
    """Tensors on webgpu, with the same strides where they have gaps."""
    if isinstance(a, torch.Tensor):
        if not a.is_contiguous() and a.numel() and not a.requires_grad:
            whole = torch.empty(0, dtype=a.dtype).set_(
                a.untyped_storage(), 0, (a.untyped_storage().nbytes() // a.itemsize,), (1,)
            )
            return whole.to("webgpu").as_strided(a.shape, a.stride(), a.storage_offset())
        moved = a.detach().to("webgpu")
        return moved.requires_grad_() if a.requires_grad else moved
    if isinstance(a, (list, tuple)):
        return type(a)(on_device(x) for x in a)
    return a


def same(got: Any, want: Any, tol: float = 0.0) -> bool:
    if isinstance(want, (list, tuple)):
        return len(got) == len(want) and all(itertools.starmap(lambda g, w: same(g, w, tol), zip(got, want)))
    if not isinstance(want, torch.Tensor):
        return bool(got == want)
    assert got.device.type == "webgpu", "the result is not on the device"
    got = got.detach().cpu()
    want = want.detach()
    if got.dtype is not want.dtype or got.shape != want.shape:
        return False
    return torch.allclose(got, want, tol, tol, equal_nan=True) if tol else torch.equal(got, want)


def both(f: Callable[..., Any], *args: Any, tol: float = 0.0, fallback: bool = False) -> None:
    """f gives the same on both devices, and runs on the GPU."""
    from torchlite.webgpu import fallback

    want = f(*args)
    before = dict(fallback.fallbacks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = f(*[on_device(a) for a in args])
    used = {k: n for k, n in fallback.fallbacks.items() if n != before.get(k)}
    assert fallback or not used, f"ran on the CPU: {used}"
    assert same(got, want, tol), f"{got}\nis not\n{want}"


def error_of(f: Callable[..., Any], *args: Any) -> tuple[Any, str]:
    """(type, text) of the exception that f raises; (None, "") if it does not."""
    try:
        f(*args)
    except Exception as e:
        return type(e), str(e)
    return None, ""


def fail_alike(f: Callable[..., Any], *args: Any) -> None:
    """f fails in the same way on both devices; a string among its arguments is the device."""
    want, got = error_of(f, *args), error_of(f, *["webgpu" if isinstance(a, str) else on_device(a) for a in args])
    assert want[0] is not None and got == want
