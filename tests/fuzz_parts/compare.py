"""Runs a case in PyTorch and in torchlite, and says what differs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

import alike
from fuzz.compare import Difference, distance_of, far, show, strided, tolerance
from fuzz.known import justified
from fuzz_parts.case import Case
from fuzz_parts.known import MEANT

COUNTED = re.compile(r"0x[0-9a-f]{4,}|\bj\d+\b")  # addresses, and the lengths that nested tensors count
COMPARED = 60  # characters of an error's first line


def plain(text: str) -> str:
    return COUNTED.sub("#", alike.plain(text))


def run(torch: Any, case: Case) -> tuple[Any, Exception | None, list[str]]:
    """(what the case returned, or what it raised, the warnings)"""
    result, error = None, None
    torch.manual_seed(0)
    with alike.every_warning(torch) as seen:
        try:
            result = case.run(torch)
        except Exception as e:
            error = e
    # __array_wrap__ and __array__ have the arguments that numpy asks for; PyTorch's lack them
    told = {plain(f"{w.category.__name__}: {w.message}")[:COMPARED] for w in seen if "__array_" not in str(w.message)}
    return result, error, sorted(told)


def numbers(t: Any) -> list[Any]:
    """A tensor's elements in order."""
    found = t.detach().resolve_conj().resolve_neg().reshape(-1).tolist()
    assert isinstance(found, list)
    return found


def has_no_shape(t: Any) -> bool:
    """Of nested tensors, and of parameters of lazy modules."""
    return bool(t.is_nested) or type(t).__name__.startswith("Uninitialized")


def tensors(a: Any, b: Any, name: str, rounding: float) -> Iterator[Difference]:
    for field in ("is_nested", "layout", "dtype", "requires_grad", "is_leaf", *([] if has_no_shape(a) else ["shape"])):
        x, y = (plain(str(getattr(t, field))) for t in (a, b))
        if x != y:
            yield Difference(field, -1, name, x, y)
            return
    if type(a).__name__ != type(b).__name__:
        yield Difference("type", -1, name, type(a).__name__, type(b).__name__)
    if str(a.layout) != "torch.strided" or a.is_nested or a.is_meta:
        if repr(a.detach()) != plain(repr(b.detach())):
            yield from parts_of(a.detach(), b.detach(), name, rounding)
        return
    if has_no_shape(a):
        return
    if a.stride() != b.stride() and strided(a.shape, a.stride(), b.stride()) == "stride":
        yield Difference("stride", -1, name, f"{a.stride()} of {tuple(a.shape)}", b.stride())
    yield from elements(numbers(a), numbers(b), str(a.dtype), name, rounding)


def elements(x: list[Any], y: list[Any], dtype: str, name: str, rounding: float) -> Iterator[Difference]:
    places = far(x, y, tolerance(dtype, 0.0) * rounding)
    if places:
        yield Difference("value", -1, name, *show(x, y, places))


def parts_of(a: Any, b: Any, name: str, rounding: float) -> Iterator[Difference]:
    """Of tensors that are not strided: the tensors that they consist of."""
    layout = str(a.layout).removeprefix("torch.")
    if a.is_nested:
        methods = ["values", "offsets"] if layout == "jagged" else ["unbind"]
    elif layout == "sparse_coo":
        methods = ["_indices", "_values"]
    elif layout in ("sparse_csr", "sparse_bsr"):
        methods = ["crow_indices", "col_indices", "values"]
    elif layout in ("sparse_csc", "sparse_bsc"):
        methods = ["ccol_indices", "row_indices", "values"]
    else:  # meta
        methods = ["stride"]
    for m in methods:
        yield from values(getattr(a, m)(), getattr(b, m)(), f"{name}.{m}()", rounding)


def values(a: Any, b: Any, name: str, rounding: float) -> Iterator[Difference]:
    """What differs between two results, `a` being PyTorch's."""
    is_tensor = [hasattr(x, "requires_grad") and hasattr(x, "layout") for x in (a, b)]
    if all(is_tensor):
        yield from tensors(a, b, name, rounding)
    elif type(a).__name__ != type(b).__name__:
        yield Difference("type", -1, name, f"{type(a).__name__} {a}"[:200], f"{type(b).__name__} {b}"[:200])
    elif isinstance(a, dict):
        if list(map(str, a)) != list(map(str, b)):
            yield Difference("keys", -1, name, [k for k in a if k not in b], [k for k in b if k not in a])
        for k in a.keys() & b.keys():
            yield from values(a[k], b[k], f"{name}[{k!r}]", rounding)
    elif isinstance(a, (list, tuple)):
        if len(a) != len(b):
            yield Difference("length", -1, name, len(a), len(b))
        else:
            for i, (x, y) in enumerate(zip(a, b)):
                yield from values(x, y, f"{name}[{i}]", rounding)
    elif isinstance(a, (np.ndarray, np.generic)):
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            yield Difference("array", -1, name, f"{a.dtype} {a.shape}", f"{b.dtype} {b.shape}")
        elif a.dtype != object:
            yield from elements(a.ravel().tolist(), b.ravel().tolist(), str(a.dtype), name, rounding)
    elif isinstance(a, (float, complex)):
        if distance_of(a, b) > 1e-6 * rounding:
            yield Difference("value", -1, name, a, b)
    elif plain(str(a)) != plain(str(b)):
        yield Difference("text", -1, name, plain(str(a))[:400], plain(str(b))[:400])


def found(theirs: tuple[Any, Any, Any], ours: tuple[Any, Any, Any], case: Case) -> Iterator[Difference]:
    (a, e, told), (b, f, said) = theirs, ours
    if type(e).__name__ != type(f).__name__:
        kind = " , ".join(type(x).__name__ if x else "nothing" for x in (e, f)).replace(" ,", ",")
        yield Difference(f"raises {kind}", -1, "", str(e)[:200] if e else "nothing", str(f)[:200] if f else "nothing")
    elif e:
        x, y = (plain(str(x)).split("\n")[0][:COMPARED] for x in (e, f))
        if x != y and case.texts:
            yield Difference("error's text", -1, "", str(e)[:300], str(f)[:300])
    else:
        yield from values(a, b, "out", case.rounding)
    if told != said:
        yield Difference("warnings", -1, "", told, said)


def check(real: Any, lite: Any, case: Case) -> list[Difference]:
    """The differences that count, the first of each kind."""
    theirs, ours = run(real, case), run(lite, case)
    kinds: dict[str, Difference] = {}
    for d in found(theirs, ours, case):
        if not justified(d, [case.text], "cpu", MEANT):
            kinds.setdefault(d.kind, d)
    return list(kinds.values())
