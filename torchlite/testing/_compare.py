"""assert_close: compares tensors, arrays, numbers and what holds them."""

import torchlite as torch

_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
_NUMBER_TOLERANCES = {int: (0.0, 0.0), float: (1e-7, 1e-7), complex: (1e-7, 1e-7)}


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
    if (rtol is None) != (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no %s."
            % ("rtol" if rtol is None else "atol")
        )
    options = dict(
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=check_device,
        check_dtype=check_dtype,
        check_layout=check_layout,
        check_stride=check_stride,
    )
    found = None
    for a, e, place in list(_pairs(actual, expected, (), msg)):
        found = found or _difference(a, e, **options)
        if found:
            where = "\n\nThe failure occurred for item " + "".join("[%r]" % p for p in place) if place else ""
            _fail(found + where, msg)


def _fail(text, msg):
    if callable(msg):
        msg = msg(text)
    raise AssertionError(text if msg is None else msg)


def _is_sequence(x):
    return isinstance(x, (list, tuple)) or hasattr(x, "__getitem__") and hasattr(x, "index") and hasattr(x, "count")


def _is_number(x):
    scalar = hasattr(x, "__array_interface__") and not hasattr(x, "__setitem__")
    return scalar or isinstance(x, (int, float, complex))


def _is_tensor(x):
    return isinstance(x, torch.Tensor) or hasattr(x, "__array_interface__")


def _pairs(a, e, place, msg):
    """Each (actual, expected) that holds no others, with the keys that lead to it."""
    plain = not isinstance(a, (str, bytes)) and not isinstance(e, (str, bytes))
    if isinstance(a, dict) and isinstance(e, dict):
        missing, more = [k for k in e if k not in a], [k for k in a if k not in e]
        if missing or more:
            text = "The keys of the mappings do not match:\n"
            text += "Missing keys in the actual mapping: %s\n" % sorted(missing, key=repr) if missing else ""
            text += "Additional keys in the actual mapping: %s\n" % sorted(more, key=repr) if more else ""
            _fail(text.rstrip("\n"), msg)
        for k in a:
            yield from _pairs(a[k], e[k], (*place, k), msg)
    elif plain and not _is_tensor(a) and not _is_tensor(e) and _is_sequence(a) and _is_sequence(e):
        if len(a) != len(e):
            _fail("The length of the sequences mismatch: %d != %d" % (len(a), len(e)), msg)
        for i, (x, y) in enumerate(zip(a, e)):
            yield from _pairs(x, y, (*place, i), msg)
    else:
        yield a, e, place


def _difference(a, e, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride):
    """What differs, in PyTorch's words, or None."""
    if a is None or e is None:
        return None if a is e else "None mismatch: %s is not %s" % (a, e)
    if isinstance(a, bool) and isinstance(e, bool):
        return None if a is e else "Booleans mismatch: %s is not %s" % (a, e)
    if _is_number(a) and _is_number(e):
        x, y = (v.item() if hasattr(v, "item") else v for v in (a, e))
        if check_dtype and type(x) is not type(y):
            return "The (d)types do not match: %s != %s." % (type(x), type(y))
        if rtol is None:
            limits = [_NUMBER_TOLERANCES.get(type(v), (0.0, 0.0)) for v in (x, y)]
            rtol, atol = (max(t) for t in zip(*limits))
        return _number_difference(x, y, rtol, atol, equal_nan)
    if not _is_tensor(a) or not _is_tensor(e) or isinstance(a, torch.Tensor) != isinstance(e, torch.Tensor):
        raise TypeError("No comparison pair was able to handle inputs of type %s and %s." % (type(a), type(e)))
    a, e = torch.as_tensor(a), torch.as_tensor(e)
    if a.shape != e.shape:
        return "The values for attribute 'shape' do not match: %s != %s." % (a.shape, e.shape)
    strided = a.layout is torch.strided
    for name, asked in (
        ("layout", check_layout),
        ("stride()", check_stride and strided and e.layout is a.layout),
        ("device", check_device),
        ("dtype", check_dtype),
    ):
        if asked:
            values = [t.stride() if name == "stride()" else getattr(t, name) for t in (a, e)]
            if values[0] != values[1]:
                return "The values for attribute '%s' do not match: %s != %s." % (name, *values)
    if a.layout is not e.layout:
        a, e = a.to_dense(), e.to_dense()
        strided = True
    e = e.to(a.device)
    if rtol is None:
        limits = [_TOLERANCES.get(str(t.dtype)[6:], (0.0, 0.0)) for t in (a, e)]
        rtol, atol = (max(t) for t in zip(*limits))
    dtype = torch.promote_types(a.dtype, e.dtype)
    compare = _tensor_difference if strided else _sparse_difference
    return compare(a.detach().to(dtype), e.detach().to(dtype), rtol, atol, equal_nan)


def _sparse_difference(a, e, *limits):
    kind = str(a.layout).rpartition("_")[2].upper()
    parts = {"COO": ("indices",), "CSR": ("crow_indices", "col_indices"), "BSR": ("crow_indices", "col_indices")}
    if a._nnz() != e._nnz():
        counts = (kind, a._nnz(), e._nnz())
        return "The number of specified values in sparse %s tensors does not match: %d != %d" % counts
    for name in (*parts.get(kind, ("ccol_indices", "row_indices")), "values"):
        read = "_" + name if kind == "COO" else name
        allowed = limits if name == "values" else (0.0, 0.0, False)
        found = _tensor_difference(getattr(a, read)(), getattr(e, read)(), *allowed)
        if found:
            return found.replace("Tensor-likes", "Sparse %s %s" % (kind, name), 1)
    return None


def _allowed(limit, exact):
    return "" if exact else " (up to %s allowed)" % limit


def _number_difference(a, e, rtol, atol, equal_nan):
    diff = abs(a - e)
    if a == e or a != a and e != e and equal_nan or diff <= atol + rtol * abs(e) and diff != float("inf"):
        return None
    exact = rtol == 0 and atol == 0
    return "Scalars are not %s!\n\nExpected %s but got %s.\nAbsolute difference: %s%s\nRelative difference: %s%s" % (
        "equal" if exact else "close",
        e,
        a,
        diff,
        _allowed(atol, exact),
        diff / abs(e) if e else float("inf"),
        _allowed(rtol, exact),
    )


def _tensor_difference(a, e, rtol, atol, equal_nan):
    if a.is_meta or e.is_meta:
        return None  # they have no values
    same = torch.isclose(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if bool(same.all()):
        return None
    if a.dim() == 0:
        return _number_difference(a.item(), e.item(), rtol, atol, equal_nan)
    exact = rtol == 0 and atol == 0
    if not (a.is_floating_point() or a.is_complex()):
        a, e = a.to(torch.int64), e.to(torch.int64)
    diff = (a - e).abs()
    lines = [
        "Tensor-likes are not %s!\n" % ("equal" if exact else "close"),
        "Mismatched elements: %d / %d (%.1f%%)"
        % (int((~same).sum()), a.numel(), 100.0 * int((~same).sum()) / a.numel()),
    ]
    for word, values, limit in (("absolute", diff, atol), ("relative", diff / e.abs(), rtol)):
        values = torch.where(same, torch.zeros_like(values), values).reshape(-1)
        at = int(values.argmax())
        index, rest = [], at
        for s in reversed(a.shape):
            index.append(rest % s)
            rest //= s
        place = tuple(reversed(index))
        lines.append(
            "Greatest %s difference: %s at index %s%s" % (word, values[at].item(), place, _allowed(limit, exact))
        )
    return "\n".join(lines)
