"""torch.testing: assert_close and make_tensor."""

import torchlite as torch

_TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
               "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7)}


def assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True, check_dtype=True,
                 check_layout=True, check_stride=False, msg=None):
    """Raises AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere, with equal dtype and shape."""
    if isinstance(expected, dict):
        if actual.keys() != expected.keys():
            raise AssertionError("The keys of the mappings do not match")
        for k in expected:
            assert_close(actual[k], expected[k], rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype, msg=msg)
        return
    if isinstance(expected, (list, tuple)):
        if len(actual) != len(expected):
            raise AssertionError("The length of the sequences mismatch: %d != %d" % (len(actual), len(expected)))
        for a, e in zip(actual, expected):
            assert_close(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype, msg=msg)
        return

    def fail(text):
        raise AssertionError(msg(text) if callable(msg) else msg if msg is not None else text)

    numbers = not isinstance(actual, torch.Tensor)
    if numbers != (not isinstance(expected, torch.Tensor)):
        raise TypeError("No comparison pair was able to handle inputs of type %s and %s." % (type(actual), type(expected)))
    a, e = torch.as_tensor(actual), torch.as_tensor(expected)
    if numbers:
        a, e = a.to(torch.promote_types(a.dtype, torch.float64 if not a.dtype.is_complex else torch.complex128)), e.to(
            torch.promote_types(e.dtype, torch.float64 if not e.dtype.is_complex else torch.complex128))
    if a.shape != e.shape:
        fail("The values for attribute 'shape' do not match: %s != %s." % (a.shape, e.shape))
    if check_dtype and not numbers and a.dtype is not e.dtype:
        fail("The values for attribute 'dtype' do not match: %s != %s." % (a.dtype, e.dtype))
    if check_stride and a.stride() != e.stride():
        fail("The values for attribute 'stride()' do not match: %s != %s." % (a.stride(), e.stride()))
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must both be specified or both be unspecified, but got rtol=%s and atol=%s." % (rtol, atol))
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
        fail("%s\n\nExpected %s but got %s.\nAbsolute difference: %s (up to %s allowed)\nRelative difference: %s (up to %s allowed)"
             % (head, e.item(), a.item(), diff.item(), atol, diff.item() / abs(e.item()) if e.item() else float("inf"), rtol))
    index, rest = [], at
    for s in reversed(a.shape):
        index.append(rest % s)
        rest //= s
    head = "Tensor-likes are not close!" if not (rtol == 0 and atol == 0) else "Tensor-likes are not equal!"
    fail("%s\n\nMismatched elements: %d / %d (%.1f%%)\nGreatest absolute difference: %s at index %s (up to %s allowed)"
         % (head, bad, a.numel(), 100.0 * bad / a.numel(), diff.reshape(-1)[at].item(), tuple(reversed(index)), atol))


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """Old form of assert_close, without the dtype check."""
    assert_close(actual, torch.as_tensor(expected), rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


def make_tensor(*shape, dtype, device="cpu", low=None, high=None, requires_grad=False, noncontiguous=False, exclude_zero=False, memory_format=None):
    """A tensor of uniformly distributed values: floats in [-9, 9), ints in [-9, 10), bools."""
    shape = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    full = (*shape[:-1], shape[-1] * 2) if noncontiguous and shape else shape
    if dtype is torch.bool:
        t = torch.randint(0, 2, full, dtype=dtype)
    elif not (dtype.is_floating_point or dtype.is_complex):
        low = (0 if dtype is torch.uint8 else -9) if low is None else int(low)
        t = torch.randint(low, 10 if high is None else int(high), full, dtype=dtype)
    else:
        low, high = -9.0 if low is None else low, 9.0 if high is None else high
        if dtype.is_complex:
            t = torch.complex(*(torch.rand(full) * (high - low) + low for _ in range(2))).to(dtype)
        else:
            t = (torch.rand(full, dtype=torch.float64) * (high - low) + low).to(dtype)
    if noncontiguous and shape:
        t = t[..., ::2]
    if exclude_zero:
        t = torch.where(t == 0, torch.ones_like(t), t)
    return t.requires_grad_(requires_grad)
