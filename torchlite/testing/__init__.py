"""torch.testing: assert_close and make_tensor."""

import math
from typing import Any

import torchlite as torch

_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """Raises AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere,
    with equal dtype and shape."""
    if isinstance(expected, dict):
        if actual.keys() != expected.keys():
            raise AssertionError("The keys of the mappings do not match")
        for k in expected:
            assert_close(
                actual[k], expected[k], rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype, msg=msg
            )
        return
    if isinstance(expected, (list, tuple)):
        if len(actual) != len(expected):
            raise AssertionError("The length of the sequences mismatch: %d != %d" % (len(actual), len(expected)))
        for a, e in zip(actual, expected):
            assert_close(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype, msg=msg)
        return

    def fail(text):
        if callable(msg):
            raise AssertionError(msg(text))
        raise AssertionError(text if msg is None else msg)

    numbers = not isinstance(actual, torch.Tensor)
    if numbers != (not isinstance(expected, torch.Tensor)):
        raise TypeError(
            "No comparison pair was able to handle inputs of type %s and %s." % (type(actual), type(expected))
        )
    a, e = torch.as_tensor(actual), torch.as_tensor(expected)
    if numbers:
        a, e = (
            a.to(torch.promote_types(a.dtype, torch.float64 if not a.dtype.is_complex else torch.complex128)),
            e.to(torch.promote_types(e.dtype, torch.float64 if not e.dtype.is_complex else torch.complex128)),
        )
    if a.shape != e.shape:
        fail("The values for attribute 'shape' do not match: %s != %s." % (a.shape, e.shape))
    if check_dtype and not numbers and a.dtype is not e.dtype:
        fail("The values for attribute 'dtype' do not match: %s != %s." % (a.dtype, e.dtype))
    if check_stride and a.stride() != e.stride():
        fail("The values for attribute 'stride()' do not match: %s != %s." % (a.stride(), e.stride()))
    if (rtol is None) != (atol is None):
        raise ValueError(
            "rtol and atol must both be specified or both be unspecified, but got rtol=%s and atol=%s." % (rtol, atol)
        )
    if rtol is None:
        pairs = [_TOLERANCES.get(str(t.dtype)[6:], (0.0, 0.0)) for t in (a, e)]
        rtol, atol = max(p[0] for p in pairs), max(p[1] for p in pairs)
    dtype = torch.promote_types(a.dtype, e.dtype)
    a, e = a.detach().to(dtype), e.detach().to(dtype)
    ok = torch.isclose(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if bool(ok.all()):
        return
    wide = torch.complex128 if dtype.is_complex else torch.float64
    diff = (a.to(wide) - e.to(wide)).abs()
    bad = int((~ok).sum())
    diff = torch.where(ok, torch.zeros_like(diff), diff)
    at = int(diff.argmax()) if diff.numel() else 0
    if a.dim() == 0:
        head = "Scalars are not close!" if not (rtol == 0 and atol == 0) else "Scalars are not equal!"
        fail(
            "%s\n\nExpected %s but got %s.\nAbsolute difference: %s (up to %s allowed)\nRelative difference: "
            "%s (up to %s allowed)"
            % (
                head,
                e.item(),
                a.item(),
                diff.item(),
                atol,
                diff.item() / abs(e.item()) if e.item() else float("inf"),
                rtol,
            )
        )
    index, rest = [], at
    for s in reversed(a.shape):
        index.append(rest % s)
        rest //= s
    head = "Tensor-likes are not close!" if not (rtol == 0 and atol == 0) else "Tensor-likes are not equal!"
    fail(
        "%s\n\nMismatched elements: %d / %d (%.1f%%)\nGreatest absolute difference: %s at index %s (up to %s allowed)"
        % (head, bad, a.numel(), 100.0 * bad / a.numel(), diff.reshape(-1)[at].item(), tuple(reversed(index)), atol)
    )


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """Old form of assert_close, without the dtype check."""
    assert_close(
        actual, torch.as_tensor(expected), rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None
    )


def _bounds(dtype, low, high, least, end, low_default, high_default):
    """The interval to draw from: asked for, within [least, end) of the dtype; whole numbers for integers."""
    low, high = low_default if low is None else low, high_default if high is None else high
    whole = not (dtype.is_floating_point or dtype.is_complex)
    if low != low or high != high:
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if low == high and not whole:
        import warnings

        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since "
            "2.1 and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= end:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
            f"[{least}, {end})"
        )
    low, high = min(max(low, least), end), min(max(high, least), end)
    return (math.ceil(low), math.ceil(high)) if whole else (low, high)


def make_tensor(
    *shape,
    dtype,
    device,
    low=None,
    high=None,
    requires_grad=False,
    noncontiguous=False,
    exclude_zero=False,
    memory_format=None,
):
    """A tensor of values drawn uniformly from [low, high): by default [-9, 9), of integers [-9, 10)."""
    shape = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous!r} and memory_format={memory_format!r}"
        )
    whole = not (dtype.is_floating_point or dtype.is_complex)
    if requires_grad and whole:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype!r}"
        )
    apart = noncontiguous and math.prod(shape) > 1
    full = (*shape[:-1], 2 * shape[-1]) if apart else shape
    info: Any  # its kind follows dtype's
    if whole:
        info = None if dtype is torch.bool else torch.iinfo(dtype)
        ends = (0, 2, 0, 2) if info is None else (info.min, info.max + (dtype is not torch.int64), -9, 10)
        low, high = _bounds(dtype, low, high, *ends)
        t = torch.randint(low, high, full, device=device, dtype=dtype)
    else:
        info = torch.finfo(dtype)
        low, high = _bounds(dtype, low, high, info.min, info.max, -9, 9)
        t = torch.empty(full, device=device, dtype=dtype)
        parts = torch.view_as_real(t) if dtype.is_complex else t
        if high - low >= info.max:  # more than uniform_ can span
            parts.uniform_(low / 2, high / 2).mul_(2)
        else:
            parts.uniform_(low, high)
    if apart:
        t = t[..., 1::2]
    elif memory_format is not None:
        t = t.clone(memory_format=memory_format)
    if exclude_zero:
        t[t == 0] = 1 if whole else info.tiny
    if not whole:
        t.requires_grad = requires_grad
    return t


from .._core import absent as _absent  # noqa: E402

__getattr__ = _absent.of(__name__)
