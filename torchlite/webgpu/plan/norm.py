"""Softmax, layer norm and rms norm on webgpu. Statistics are float32 whatever the tensors' dtype."""

from __future__ import annotations


from math import prod
from typing import Any

import torchlite as torch

from ..lazy.expression import expression, operand, result
from ..lazy.graph import fresh, geometry, reduce
from ..devices import check_devices
from ..fallback import cpu_error, without_elements
from ..registry import planner
from ..tensors import FLOATS, contiguous, empty
from ..lazy.stream import core, float_word, launch, ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..._types import DType, Overload, Tensor


f32 = torch.float32
softmax, _softmax_plan = core.softmax, core.softmax_plan  # native/src/gpu/gpu_softmax.c
_norm_plan = core.norm_plan  # gpu_norm.c plans layer_norm's usual arguments


def _cast(t: Tensor, dtype: DType) -> Any:
    """t in another dtype, later."""
    if t.dtype is dtype:
        return t
    shape = tuple(t.shape)
    return result(expression("cast", [operand(t, shape)], dtype.name, None, shape), dtype)


# ---- softmax ---------------------------------------------------------------------------------------------------------
def _axis(shape: tuple[int, ...], dim: int) -> tuple[int, int, int] | None:
    """(rows, length, inner) of a contiguous tensor seen along a dim; None where there is no such dim."""
    ndim = len(shape)
    if dim < 0:
        dim += ndim or 1
    if not ndim:
        return (1, 1, 1) if dim == 0 else None
    if not 0 <= dim < ndim:
        return None
    inner = prod(shape[dim + 1 :])
    return prod(shape[:dim]) * inner, shape[dim], inner


@planner("softmax", "log_softmax")
def _softmax(ov: Overload, args: tuple[Any, ...]) -> Any:
    x, dim, dtype = args
    out = x.dtype if dtype is None else dtype
    r: Any = NotImplemented
    if not x.numel():
        return without_elements(ov, args)
    if out in FLOATS:
        if x.dtype is not out and not (x.dtype in FLOATS and out is f32):
            x = _cast(x, out)
        r = softmax(contiguous(x), dim, ov.kernel == "log_softmax", out)
    return cpu_error(ov, args) if r is NotImplemented else r


@planner("_softmax", "_log_softmax")
def _softmax_aten(ov: Overload, args: tuple[Any, ...]) -> Any:
    x, dim, wide = args
    r: Any = NotImplemented
    if x.dtype in FLOATS and (not wide or x.dtype is torch.float16):
        if not x.numel():
            plain = without_elements(ov, (x, dim, False))
            return empty(x.shape, f32) if wide else plain
        r = softmax(contiguous(x), dim, ov.kernel == "_log_softmax", f32 if wide else x.dtype)
    return cpu_error(ov, args) if r is NotImplemented else r


@planner("_softmax_backward_data", "_log_softmax_backward_data")
def _softmax_backward(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    g, y, dim, out = args
    check_devices((g, y), False)
    shape = tuple(y.shape)
    axis = _axis(shape, dim)
    if axis is None or y.dtype not in FLOATS or out not in FLOATS or tuple(g.shape) != shape:
        return cpu_error(ov, args)
    if not y.numel():
        return empty(shape, out)
    dtype = y.dtype
    g, y = contiguous(_cast(g, dtype)), contiguous(y)
    from_, _, _, go, _, _, numel = geometry(g)
    of, _, _, yo, _, _, _ = geometry(y)
    handles = ready(from_), ready(of)
    dx, to = fresh(shape, out)
    log = ov.kernel == "_log_softmax_backward_data"
    launch(_softmax_plan(dtype, out, log, True), (*handles, to), (*axis, yo, 0, go))
    return dx


# ---- layer norm and rms norm -----------------------------------------------------------------------------------------
def _tail(x: Any, shape: Any, params: Any) -> tuple[int, int] | None:
    """(rows, row length) where the trailing dims are `shape` and parameters fit, else None."""
    own = tuple(x.shape)
    lead = len(own) - len(shape)
    if lead < 0 or not shape or own[lead:] != shape:
        return None
    for p in params:
        if p is not None and (tuple(p.shape) != shape or p.dtype not in FLOATS):
            return None
    return prod(own[:lead]), prod(shape)


def _rows_forward(
    x: Tensor, weight: Tensor | None, bias: Any, rows: int, n: int, lead: int, eps: float, rms: bool
) -> Any:
    """y, mean, rstd of rows that lie one after the other."""
    dtype = x.dtype
    work: Any = dtype
    if weight is not None and weight.dtype is not dtype or bias is not None and bias.dtype is not dtype:
        work = f32
        x = _cast(x, work)
    if not x.is_contiguous():
        x = contiguous(x)
    buffer, shape, _, offset, _, _, numel = geometry(x)
    handles, words = [ready(buffer)], [rows, n, offset, 0, float_word(eps)]
    params = [contiguous(_cast(p, work)) for p in (weight, bias) if p is not None]  # kept until the launch
    for p in params:
        owner, _, _, at, _, _, _ = geometry(p)
        handles.append(ready(owner))
        words.append(at)
    stats = shape[:lead] + (1,) * (len(shape) - lead)
    y, to = fresh(shape, work)
    handles.append(to)
    mean = None
    if not rms:
        mean, to = fresh(stats, f32)
        handles.append(to)
        words.append(0)
    rstd, to = fresh(stats, f32)
    handles.append(to)
    words.append(0)
    launch(_norm_plan(work, rms, weight is not None, bias is not None), handles, words)
    return y if work is dtype else _cast(y, dtype), mean, rstd


@planner("native_layer_norm", "layer_norm")
def _layer_norm(ov: Overload, args: tuple[Any, ...]) -> Any:
    x, shape, weight, bias, eps = args[:5]
    check_devices((x, weight, bias), False)
    shape = tuple(shape)
    size = _tail(x, shape, (weight, bias))
    if size is None or x.dtype not in FLOATS:
        return cpu_error(ov, args)
    if not x.numel():
        return without_elements(ov, args)
    y, mean, rstd = _rows_forward(x, weight, bias, *size, x.dim() - len(shape), eps, False)
    if ov.kernel == "layer_norm":
        return y
    if weight is None or weight.dtype is x.dtype:
        mean, rstd = _cast(mean, x.dtype), _cast(rstd, x.dtype)
    return y, mean, rstd


# parts of reductions over g, x, rstd and mean (core.describe): g * (x - mean) * rstd, and without the mean
_XHAT = 0, 1, 2, 3, ("sub", 1, 3), ("mul", 4, 2), ("mul", 0, 5)
_XHAT_RMS = 0, 1, 2, ("mul", 1, 2), ("mul", 0, 3)


def _rows_backward(
    g: Tensor,
    x: Tensor,
    mean: Any,
    rstd: Tensor,
    weight: Tensor | None,
    bias_dtype: Any,
    rows: int,
    n: int,
    shape: tuple[int, ...],
    mask: tuple[bool, bool, bool],
) -> Any:
    """Gradients of x, weight and bias; None for those that `mask` leaves out."""
    dtype = x.dtype
    work: Any = dtype if g.dtype is dtype and (weight is None or weight.dtype is dtype) else f32
    g, x, rstd = contiguous(_cast(g, work)), contiguous(_cast(x, work)), contiguous(_cast(rstd, f32))
    mean = None if mean is None else contiguous(_cast(mean, f32))
    dx = dw = db = None
    if mask[0]:
        handles, words = [], []
        w = None if weight is None else contiguous(_cast(weight, work))  # kept until the launch
        for t in (g, x, w, mean, rstd):
            if t is not None:
                buffer, _, _, at, _, _, _ = geometry(t)
                handles.append(ready(buffer))
                words.append(at)
        dx, to = fresh(tuple(x.shape), work)
        plan = _norm_plan(work, mean is None, w is not None, None, True)
        launch(plan, (*handles, to), (rows, n, words[1], 0, words[0], *words[2:]))
        dx = _cast(dx, dtype)
    down, across = ((1,), (n,)), ((0,), (1,))
    if mask[1] and weight is not None:
        inputs = [(g, *down), (x, *down), (rstd, *across)]
        if mean is None:
            (dw,) = reduce(_XHAT_RMS, inputs, (("sum", 4, weight.dtype),), (n,), (rows,), inner=False, shape=shape)
        else:
            outputs = (("sum", 6, weight.dtype),) + ((("sum", 0, bias_dtype),) if mask[2] else ())
            dw, *rest = reduce(_XHAT, [*inputs, (mean, *across)], outputs, (n,), (rows,), inner=False, shape=shape)
            db = rest[0] if rest else None
    elif mask[2]:
        (db,) = reduce((0,), [(g, *down)], (("sum", 0, bias_dtype),), (n,), (rows,), inner=False, shape=shape)
    return dx, dw, db


@planner("native_layer_norm_backward")
def _layer_norm_backward(ov: Overload, args: tuple[Any, ...]) -> Any:
    g, x, shape, mean, rstd, weight, bias, mask = args
    check_devices((g, x, mean, rstd, weight), False)
    shape = tuple(shape)
    size = _tail(x, shape, (weight, bias))
    if (
        size is None
        or x.dtype not in FLOATS
        or g.shape != x.shape
        or mean.numel() != size[0]
        or rstd.numel() != size[0]
    ):
        return cpu_error(ov, args)
    if not x.numel():
        return without_elements(ov, args)
    return _rows_backward(g, x, mean, rstd, weight, x.dtype if bias is None else bias.dtype, *size, shape, mask)


@planner("_fused_rms_norm", "rms_norm")
def _rms_norm(ov: Overload, args: tuple[Any, ...]) -> Any:
    x, shape, weight, eps = args
    check_devices((x, weight), False)
    shape = tuple(shape)
    size = _tail(x, shape, (weight,))
    if size is None or x.dtype not in FLOATS:
        return cpu_error(ov, args)
    if weight is not None and weight.dtype is not x.dtype:
        return NotImplemented
    if not x.numel():
        return without_elements(ov, args)
    y, _, rstd = _rows_forward(
        x, weight, None, *size, x.dim() - len(shape), torch.finfo(f32).eps if eps is None else eps, True
    )
    return y if ov.kernel == "rms_norm" else (y, rstd)


@planner("_fused_rms_norm_backward")
def _rms_norm_backward(ov: Overload, args: tuple[Any, ...]) -> Any:
    g, x, shape, rstd, weight, mask = args
    check_devices((g, x, rstd, weight), False)
    shape = tuple(shape)
    size = _tail(x, shape, (weight,))
    if size is None or x.dtype not in FLOATS or g.shape != x.shape or rstd.numel() != size[0]:
        return cpu_error(ov, args)
    if not x.numel():
        return without_elements(ov, args)
    return _rows_backward(g, x, None, rstd, weight, None, *size, shape, (*mask, False))[:2]
