"""Pooling in one to three dims, windows as columns, and interpolation, with their gradients.

The CPU's kernel is asked once, on tensors without images, for the shape of the result and for errors;
the answer is kept.
Gradients gather: each element adds up what the windows over it send back, in the same order each time.
"""

from __future__ import annotations


import torchlite as torch

from ... import _C
from ..lazy import stream
from .matmul import multiply
from ..devices import check_devices
from ..fallback import stand_in
from ..registry import planner
from ..tensors import FLOATS, contiguous, upload
from ..lazy.stream import family, float_word, fresh, geometry, launch, ready
from ..layout import as_on_cpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from ..._types import DType, Overload, Tensor


_shapes: dict[Any, tuple[int, ...]] = {}  # the spatial sizes of results
MOST = 4096  # entries of that, after which it is emptied


def _spatial(ov: Any, args: Any, x: Any, n: Any) -> tuple[int, ...]:
    """The spatial sizes of the result; PyTorch's errors."""
    key = (ov.kernel, tuple(x.shape[-n - 1 :]), x.dim(), x.dtype, *args[1:])
    sizes = _shapes.get(key)
    if sizes is None:
        try:
            few = stand_in(x)
            few = few.unsqueeze(0)[:0] if x.dim() == n + 1 else few[:0]
            r = _C.call_below_autograd(ov, (few, *args[1:]))
            sizes = tuple((r[0] if type(r) is tuple else r).shape[-n:])
        except Exception:
            _C.call_below_autograd(ov, tuple([stand_in(a) for a in args]))  # the same with the true sizes in its text
            raise
        if len(_shapes) > MOST:
            _shapes.clear()
        _shapes[key] = sizes
    return sizes


def _numel(shape: tuple[int, ...]) -> int:
    n = 1
    for s in shape:
        n *= s
    return n


def _spread(v: Any, n: int) -> tuple[int, ...]:
    v = (v,) if isinstance(v, int) else tuple(v)
    return v * n if len(v) == 1 else v


_WINDOW = "kernel", "stride", "padding", "dilation"
_pool_plan = family("pool", "op", "dtype", *_WINDOW, "backward", "countPadding", "divisor", "positions")
_upsample_plan = family("upsample", "mode", "ndim", "dtype", "align", "backward")


def _plan(op: Any, dtype: DType, window: Any, backward: bool = False, *rest: bool | None) -> int:
    """window: (kernel, stride, padding, dilation), or the number of dims where nothing but that counts."""
    if type(window) is not tuple:
        window = (1,) * window, None, None, None
    return _pool_plan(op, dtype, *window, backward, *rest)


def _windows(
    n: int, kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...], dilation: Any = 1
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    kernel = _spread(kernel, n)
    stride = (stride,) if isinstance(stride, int) else tuple(stride)
    return kernel, _spread(stride, n) if stride else kernel, _spread(padding, n), _spread(dilation, n)


def _forward(
    x: Tensor, sizes: tuple[int, ...], n: int, number: int, positions: bool = False, middle: tuple[()] = ()
) -> tuple[Tensor, Tensor | None]:
    """Runs a pool over the last n dims; (values, positions or None)."""
    lead = tuple(x.shape[:-n])
    shape = lead + sizes
    numel = _numel(shape)
    index = None
    if not numel:
        return fresh(shape, x.dtype)[0], fresh(shape, torch.int64)[0] if positions else None
    buffer, own, _, offset, dtype, _, _ = geometry(contiguous(x))
    handles = [ready(buffer)]
    r, handle = fresh(shape, dtype)
    handles.append(handle)
    ends: tuple[int, ...] = (offset, 0)
    if positions:
        index, handle = fresh(shape, torch.int64)
        handles.append(handle)
        ends = (offset, 0, 0)
    launch(number, handles, (_numel(lead), *own[-n:], *sizes, *middle, *ends))
    return r, index


def _back(
    g: Tensor, shape: Any, n: int, number: int, index: Tensor | None = None, middle: tuple[int, ...] = ()
) -> Tensor:
    """Gradient of a pool: g [planes, pooled...] to `shape`."""
    numel = _numel(shape)
    if not numel:
        return fresh(shape, g.dtype)[0]
    buffer, own, _, offset, dtype, _, _ = geometry(contiguous(g))
    handles, ends = [ready(buffer)], [offset]
    if index is not None:
        at = geometry(contiguous(index))
        handles.append(ready(at[0]))
        ends.append(at[3])
    r, handle = fresh(shape, dtype)
    handles.append(handle)
    launch(number, handles, (_numel(shape[:-n]), *shape[-n:], *own[-n:], *middle, *ends, 0))
    return r


# ---- maxima ----------------------------------------------------------------------------------------------------------
@planner(
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool1d_with_indices",
    "max_pool2d_with_indices",
    "max_pool3d_with_indices",
)
@as_on_cpu(images=2)
def _max_pool(ov: Any, a: tuple[Any, ...]) -> Any:
    x, kernel, stride, padding, dilation, _ = a
    n, positions = int(ov.kernel[8]), ov.kernel.endswith("s")
    sizes = _spatial(ov, a, x, n)
    if x.dtype not in FLOATS:
        return NotImplemented
    window = _windows(n, kernel, stride, padding, dilation)
    number = _plan("max", x.dtype, window, False, None, None, None if positions else False)
    r, index = _forward(x, sizes, n, number, positions)
    return (r, index) if positions else r


@planner("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
@as_on_cpu(images=2)
def _adaptive_max(ov: Any, a: tuple[Any, ...]) -> Any:
    x = a[0]
    n = int(ov.kernel[17])
    sizes = _spatial(ov, a, x, n)
    return _forward(x, sizes, n, _plan("adaptive_max", x.dtype, n), True) if x.dtype in FLOATS else NotImplemented


@planner("_max_pool_backward")
@as_on_cpu(images=2, shape=2, last=5)
def _max_back(ov: Overload, a: tuple[Any, ...]) -> Any:
    """window: what the pool was called with, () for an adaptive one;
    without it the positions are scattered on the CPU."""
    g, index, shape, n, window = a[:5]
    check_devices(a)
    if window is None or g.dtype not in FLOATS or tuple(g.shape) != tuple(index.shape):
        return NotImplemented
    number = _plan("max", g.dtype, _windows(n, *window), True) if window else _plan("adaptive_max", g.dtype, n, True)
    return _back(g, tuple(shape), n, number, index)


# ---- averages --------------------------------------------------------------------------------------------------------
def _average(
    dtype: DType,
    window: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]],
    include: bool,
    divisor: int | None,
    backward: bool = False,
) -> Any:
    """(plan, divisor's word)"""
    middle = () if divisor is None else (float_word(divisor),)
    return _plan("avg", dtype, window, backward, bool(include), divisor is not None), middle


@planner("avg_pool1d", "avg_pool2d", "avg_pool3d")
@as_on_cpu(images=2)
def _avg_pool(ov: Any, a: tuple[Any, ...]) -> Any:
    x, kernel, stride, padding, _, include = a[:6]
    n = int(ov.kernel[8])
    sizes = _spatial(ov, a, x, n)
    if x.dtype not in FLOATS:
        return NotImplemented
    number, middle = _average(x.dtype, _windows(n, kernel, stride, padding), include, a[6] if len(a) > 6 else None)
    return _forward(x, sizes, n, number, False, middle)[0]


@planner("_avg_pool_backward")
@as_on_cpu(images=2, shape=1, last=8)
def _avg_back(ov: Overload, a: tuple[Any, ...]) -> Any:
    g, shape, kernel, stride, padding, _, include, divisor = a[:8]
    if g.dtype not in FLOATS:
        return NotImplemented
    n = len(kernel)
    number, middle = _average(g.dtype, _windows(n, kernel, stride, padding), include, divisor, True)
    return _back(g, tuple(shape), n, number, None, middle)


@planner("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
@as_on_cpu(images=2)
def _adaptive_avg(ov: Any, a: tuple[Any, ...]) -> Tensor:
    x = a[0]
    n = int(ov.kernel[17])
    sizes = _spatial(ov, a, x, n)
    return _forward(x, sizes, n, _plan("adaptive", x.dtype, n))[0] if x.dtype in FLOATS else NotImplemented


@planner("_adaptive_avg_pool_backward")
@as_on_cpu(images=2, shape=1, last=3)
def _adaptive_back(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    g, shape, n = a[:3]
    return _back(g, tuple(shape), n, _plan("adaptive", g.dtype, n, True)) if g.dtype in FLOATS else NotImplemented


# ---- columns ---------------------------------------------------------------------------------------------------------
@planner("im2col")
def _im2col(ov: Overload, a: tuple[Any, ...]) -> Any:
    x, kernel, dilation, padding, stride = a
    if x.dtype is torch.bool and x.dim() == 4:
        return _im2col(ov, (x.to(torch.float32), *a[1:])) != 0
    if x.dtype not in FLOATS or x.dim() != 4:
        return NotImplemented
    window = _windows(2, kernel, stride, padding, dilation)
    sizes = _blocks(x.shape[2:], window)
    taps = _numel(window[0])
    shape = (x.shape[0], x.shape[1] * taps, _numel(sizes))
    numel = _numel(shape)
    if not numel:
        return fresh(shape, x.dtype)[0]
    buffer, own, _, offset, dtype, _, _ = geometry(contiguous(x))
    handle = ready(buffer)
    r, out = fresh(shape, dtype)
    launch(_plan("columns", dtype, window), (handle, out), (own[0] * own[1], *own[2:], *sizes, offset, 0))
    return r


def _blocks(size: Any, window: Any) -> Any:
    return tuple([(s + 2 * p - d * (k - 1) - 1) // st + 1 for s, k, st, p, d in zip(size, *window)])


@planner("col2im")
def _col2im(ov: Overload, a: tuple[Any, ...]) -> Any:
    g, size, kernel, dilation, padding, stride = a
    if g.dtype is torch.bool and g.dim() == 3:
        r = _col2im(ov, (g.to(torch.float32), *a[1:]))
        return r if r is NotImplemented else r != 0
    if g.dtype not in FLOATS or g.dim() != 3:
        return NotImplemented
    window = _windows(2, kernel, stride, padding, dilation)
    size = _spread(size, 2)
    blocks, taps = _blocks(size, window), _numel(window[0])
    shape = (g.shape[0], g.shape[1] // taps, *size)
    if g.shape[1] % taps or g.shape[2] != _numel(blocks):
        return NotImplemented
    numel = _numel(shape)
    if not numel:
        return fresh(shape, g.dtype)[0]
    buffer, _, _, offset, dtype, _, _ = geometry(contiguous(g))
    handle = ready(buffer)
    r, out = fresh(shape, dtype)
    launch(_plan("columns", dtype, window, True), (handle, out), (shape[0] * shape[1], *size, *blocks, offset, 0))
    return r


# ---- interpolation ---------------------------------------------------------------------------------------------------
_MODES = ("nearest", "nearest-exact", "linear", "cubic")
_tables: dict[Any, Tensor] = {}


def _scales(
    before: tuple[int, int], after: tuple[int, int], align: bool, scales: list[float] | None, mode: int
) -> list[int]:
    """Input pixels per output pixel, as words."""
    out = []
    for d, (i, o) in enumerate(zip(before, after)):
        factor = scales[d] if scales is not None else None
        if align and mode > 1:
            s = (i - 1) / (o - 1) if o > 1 else 0.0
        else:
            s = 1 / factor if factor is not None and factor > 0 else i / o
        out.append(float_word(s))
    return out


def _resample(
    x: Tensor,
    mode: int,
    before: tuple[int, int],
    after: tuple[int, int],
    align: bool,
    scales: list[float] | None,
    back: bool,
) -> Tensor:
    """x [N, C, ...] from `before` to `after`, or its gradient the other way."""
    n = len(before)
    shape = tuple(x.shape[:2]) + (before if back else after)
    numel = _numel(shape)
    if not numel:
        return fresh(shape, x.dtype)[0]
    number = _upsample_plan(_MODES[mode], n, x.dtype, align, back)
    buffer, own, _, offset, dtype, _, _ = geometry(contiguous(x))
    handle = ready(buffer)
    r, out = fresh(shape, dtype)
    launch(
        number,
        (handle, out),
        (own[0] * own[1], *before, *after, *_scales(before, after, align, scales, mode), offset, 0),
    )
    return r


def _table(ov: Overload, mode: int, start: int, end: int, align: bool, factor: float | None) -> Tensor:
    """Antialiased resampling along one dim (or its gradient) as a matrix (start,
    end): what the CPU makes of unit vectors."""
    key = ov.kernel, mode, start, end, align, factor
    t = _tables.get(key)
    if t is None or geometry(t)[0].epoch != stream.device_epoch():
        unit = _C.fill(_C.empty((1, start, 1, start), torch.float32), 0)
        _C.fill(unit[0, :, 0].diagonal(), 1)
        t = _C.call_below_autograd(ov, (unit, mode, (1, end), align, True, None if factor is None else [1.0, factor]))
        if len(_tables) > 64:
            _tables.clear()
        t = _tables[key] = upload(t[0, :, 0])
    return t


def _smooth(
    ov: Overload, x: Tensor, mode: int, size: tuple[int, int], align: bool, scales: list[float] | None
) -> Tensor:
    """Antialiased resampling of images: a product along each dim."""
    factors = scales if scales is not None else (None, None)
    rows, columns = (_table(ov, mode, s, e, align, f) for s, e, f in zip(x.shape[2:], size, factors))
    r = multiply(rows.t(), multiply(x.detach().float(), columns))
    return r if x.dtype is torch.float32 else r.to(x.dtype)


@planner("_upsample")
@as_on_cpu(images=2)
def _upsample(ov: Overload, a: tuple[Any, ...]) -> Any:
    x, mode, size, align, antialias, scales = a
    if x.dtype not in FLOATS or not 3 <= x.dim() <= 5:
        return NotImplemented
    before, after = tuple(x.shape[2:]), tuple(size)
    if antialias or mode > 3:
        return _smooth(ov, x, mode, after, align, scales)
    return _resample(x, mode, before, after, bool(align), scales, False)


@planner("_upsample_backward")
@as_on_cpu(images=2)
def _upsample_back(ov: Overload, a: tuple[Any, ...]) -> Any:
    g, mode, size, align, antialias, scales = a
    if g.dtype not in FLOATS or not 3 <= g.dim() <= 5:
        return NotImplemented
    before, after = tuple(size), tuple(g.shape[2:])
    if antialias or mode > 3:
        return _smooth(ov, g, mode, before, align, scales)
    return _resample(g, mode, before, after, bool(align), scales, True)
