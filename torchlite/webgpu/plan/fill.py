"""Padding, repetition by a tensor, and sequences made on the device."""

from __future__ import annotations

from functools import partial

import torchlite as torch

from ... import _C
from ..lazy.checks import known
from ..lazy.expression import Coord, Leaf, Number, dense_strides, expression, operand, result, store
from .index import MOVE, Pick, geometry, outside, put_at
from ..fallback import cpu_result
from ..registry import PLANNERS, planner
from ..tensors import contiguous, empty, filled
from .shape import moved
from ..lazy.stream import family, launch, ready
from ..layout import ALL, as_on_cpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from ..._types import Overload, Tensor


_pad_family = family("pad", "ndim", "dtype", "mode", "backward")


# ---- padding ---------------------------------------------------------------------------------------------------------
@planner("constant_pad_nd")
@as_on_cpu(images=ALL)
def _constant_pad(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    self, pad, value = a
    nd, shape = self.dim(), list(self.shape)
    if len(pad) % 2 or len(pad) > 2 * nd:
        return cpu_result(ov, a)
    x = moved(self)
    buffer, sizes, strides, offset, _, _, _ = geometry(x)
    sizes, low = list(sizes), [0] * nd
    for j in range(len(pad) // 2):
        d = nd - 1 - j
        before, after = pad[2 * j], pad[2 * j + 1]
        sizes[d] += min(before, 0) + min(after, 0)
        offset -= min(before, 0) * strides[d]
        low[d] = max(before, 0)
        shape[d] += before + after
        if shape[d] < 0 or sizes[d] < 0:
            return cpu_result(ov, a)
    r = filled(shape, self.dtype, value)
    if 0 not in sizes:
        out = dense_strides(shape)
        name = x.dtype.name
        if buffer.pending is not None and x.is_contiguous() and sizes == list(x.shape):
            node = operand(x, tuple(sizes))
        else:
            ready(buffer)
            node = expression("cast", [Leaf(buffer, name, tuple(strides), offset)], name, None, tuple(sizes))
        store(
            node if type(node) is not Leaf else expression("cast", [node], name, None, tuple(sizes)),
            geometry(r)[0],
            out,
            sum(n * s for n, s in zip(low, out)),
        )
    return r


def _pad_plan(
    mode: str, size: tuple[int, ...], pad: tuple[int, ...], dtype: str, backward: bool
) -> tuple[int, list[int], tuple[int, ...]] | None:
    """(plan, words of the sizes, sizes of the padded image, of the image); None where the kernel has no such case."""
    n = len(pad) // 2
    if len(pad) % 2 or n > 3 or n > len(size) or not n:
        return None
    image = list(size[len(size) - n :])
    low = [pad[2 * (n - 1 - i)] for i in range(n)]
    high = [pad[2 * (n - 1 - i) + 1] for i in range(n)]
    padded = [s + x + y for s, x, y in zip(image, low, high)]
    for s, x, y, p in zip(image, low, high, padded):
        most = {"reflect": s - 1, "circular": s}.get(mode)
        if p < 0 or s < 1 or most is not None and (x > most or y > most) or mode == "circular" and min(x, y) < 0:
            return None
    outer = 1
    for s in size[: len(size) - n]:
        outer *= s
    number = _pad_family(n + 1, dtype, mode, backward)
    total = outer
    for p in padded:
        total *= p
    return number, [total, outer, *padded, outer, *image, 0, *low], (*size[: len(size) - n], *padded)


def _cropped(t: Tensor, pad: Any) -> tuple[Tensor, list[int]] | None:
    """The part of t that circular padding goes around when it is negative, and the padding left;
    None where nothing remains."""
    for j in range(len(pad) // 2):
        d, low, high = t.dim() - 1 - j, min(pad[2 * j], 0), min(pad[2 * j + 1], 0)
        if t.shape[d] + low + high < 1:
            return None
        t = t.narrow(d, -low, t.shape[d] + low + high)
    return t, [max(p, 0) for p in pad]


@planner("pad_reflect", "pad_replicate", "pad_circular")
@as_on_cpu(images=ALL)
def _pad(ov: Any, a: tuple[Any, ...]) -> Tensor:
    self, pad = a
    name = self.dtype.name
    if ov.kernel == "pad_circular" and len(pad) % 2 == 0 and len(pad) <= 2 * self.dim() and min(pad, default=0) < 0:
        rest = _cropped(self, pad)
        return cpu_result(ov, a) if rest is None else _pad(ov, rest)
    found = _pad_plan(ov.kernel[4:], tuple(self.shape), tuple(pad), MOVE.get(name, name), False)
    if found is None:
        return cpu_result(ov, a)
    number, values, shape = found
    if 0 in shape:
        return empty(shape, self.dtype)
    x, r = contiguous(self), empty(shape, self.dtype)
    launch(number, [ready(geometry(x)[0]), ready(geometry(r)[0])], [*values, x.storage_offset(), 0])
    return r


@planner("pad_reflect_backward", "pad_replicate_backward", "pad_circular_backward")
@as_on_cpu(images=ALL, last=3)
def _pad_backward(ov: Any, a: tuple[Any, ...]) -> Any:
    grad, pad, size = a[:3]
    if (
        ov.kernel == "pad_circular_backward"
        and len(pad) % 2 == 0
        and len(pad) <= 2 * len(size)
        and min(pad, default=0) < 0
    ):
        r = filled(size, grad.dtype, 0)
        rest = _cropped(r, pad)
        if rest is None:
            return cpu_result(ov, a)
        _C.copy(rest[0], _pad_backward(ov, (grad, rest[1], tuple(rest[0].shape), *a[3:])), False)
        return r
    if grad.dtype.is_complex:
        r = empty(size, grad.dtype)
        for k in (0, 1):
            part = torch.view_as_real(grad).select(-1, k)
            _C.copy(torch.view_as_real(r).select(-1, k), _pad_backward(ov, (part, pad, size, *a[3:])), False)
        return r
    if not grad.dtype.is_floating_point:
        return NotImplemented
    found = _pad_plan(ov.kernel[4:-9], tuple(size), tuple(pad), grad.dtype.name, True)
    if found is None or found[2] != tuple(grad.shape):
        return cpu_result(ov, a)
    number, values, shape = found
    if 0 in shape:
        return filled(size, grad.dtype, 0)
    r = empty(size, grad.dtype)
    if r.numel():
        g = contiguous(grad)
        launch(number, [ready(geometry(g)[0]), ready(geometry(r)[0])], [*values, g.storage_offset(), 0])
    return r


# ---- repetition by a tensor ------------------------------------------------------------------------------------------
@planner("repeat_interleave")
def _repeat_interleave(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    repeats, size = a[0], a[1]
    if repeats.dim() != 1 or repeats.dtype not in (torch.int64, torch.int32):
        return cpu_result(ov, a)
    n, bounds = repeats.numel(), known(geometry(repeats)[0], repeats.itemsize)
    if not n:
        return empty((0,), repeats.dtype) if size in (None, 0) else cpu_result(ov, a)
    ends = repeats.cumsum(0)
    low = 0 if bounds is not None and bounds[0] >= 0 else int(repeats.min().item())
    total = int(ends[-1].item())
    if low < 0:
        raise RuntimeError("repeats can not be negative")
    if size is not None and size != total:
        raise RuntimeError("allocated size does not match required size")
    if not total:
        return empty((0,), repeats.dtype)
    # how many entries end at or before each place
    marks = filled((total + 1,), torch.int32, 0)
    at = Pick(ends, ends.stride(), 0)
    at.bounds = (0, total)
    put_at(marks, (n,), [None], [at], False, partial(outside, "rows", None), "add", scalar=1)
    r = marks[:total].cumsum(0, dtype=repeats.dtype)
    geometry(r)[0].bounds = 0, n - 1, r.itemsize
    return r


# ---- sequences -------------------------------------------------------------------------------------------------------
EXACT = 1 << 24  # whole numbers up to here are float32's own


def _whole(x: float) -> bool:
    return type(x) is int or type(x) is float and x.is_integer()


@planner("arange", "arange_start", "arange_step")
def _arange(ov: Any, a: tuple[Any, ...]) -> Tensor:
    """On the device where every value is a whole number that it computes exactly;
    else the CPU's values are uploaded."""
    k = {"arange": 0, "arange_start": 1, "arange_step": 2}[ov.kernel]
    if k == 0:
        start, end, step = (0, a[0], 1)
    else:
        start, end, step = (a[0], a[1], a[2] if k == 2 else 1)
    dtype = a[k + 1]
    numbers = (start, end, step)
    whole = all(type(x) is int for x in numbers)
    if dtype is None:
        dtype = torch.int64 if whole else torch.get_default_dtype()
    made = PLANNERS["rand"]  # the CPU's
    if (
        not step
        or not all(_whole(x) and abs(x) < 1 << 53 for x in numbers)
        or (end - start) * step < 0
        or dtype is torch.bool
        or dtype.is_complex
        or dtype is torch.float64
    ):
        return made(ov, a)
    start, end, step = int(start), int(end), int(step)
    n = len(range(start, end, step))
    last = start + (n - 1) * step
    if (
        not 0 < n < 1 << 31
        or dtype.is_floating_point
        and max(abs(start), abs(last)) > EXACT
        or not whole
        and not dtype.is_floating_point
    ):
        return made(ov, a)
    shape = (n,)
    narrow = max(abs(start), abs(last), abs(step)) < 1 << 31
    kind = "int32" if narrow else "int64"
    node = Coord(-1)
    if step != 1:
        node = expression("mul", [node, Number(step, kind)], kind, kind, shape)
    if start:
        node = expression("add", [node, Number(start, kind)], kind, kind, shape)
    r = result(expression("cast", [node], dtype.name, None, shape), dtype)
    if dtype is torch.int64 or dtype is torch.int32 and narrow:
        geometry(r)[0].bounds = min(start, last), max(start, last), r.itemsize
    return r


@planner("eye", "eye_m")
def _eye(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    m = ov.kernel == "eye_m"
    rows, columns, dtype = a[0], a[1] if m else a[0], a[1 + m]
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if (
        type(rows) is not int
        or type(columns) is not int
        or rows < 0
        or columns < 0
        or dtype.is_complex
        or dtype is torch.float64
    ):
        return PLANNERS["rand"](ov, a)
    shape = (rows, columns)
    if not rows or not columns:
        return empty(shape, dtype)
    node = expression("eq", [Coord(0), Coord(1)], "bool", "int32", shape)
    return result(node if dtype is torch.bool else expression("cast", [node], dtype.name, None, shape), dtype)
