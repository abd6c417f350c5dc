"""Convolutions and their gradients, by implicit products on the GPU: no unfolded image is made.

The CPU's kernel checks the arguments and finds the result's shape and layout (conv_plan in native/src/conv/conv.c).
Integer and complex convolutions run as windows and products (the op's body).
"""

from __future__ import annotations


from ... import _C
from ..lazy import stream
from ..devices import check_devices
from ..registry import planner
from ..tensors import FLOATS, contiguous
from ..lazy.stream import family, fresh, geometry, launch, product, ready
from ..layout import channels_last, relaid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from ..._types import Tensor


_sums: dict[Any, int] = {}
_plan = family("conv", "pass", "dtype", "kernel", "stride", "padding", "dilation", "bias")


def _pass(
    kind: str, first: Tensor, second: Tensor, bias: Tensor | None, out: tuple[int, ...], sizes: Any, window: Any
) -> Any:
    """One pass of the kernel, which gives a tensor of the shape `out`. sizes, window: as conv_plan gives them."""
    a = geometry(first if first.is_contiguous() else contiguous(first))
    b = geometry(second if second.is_contiguous() else contiguous(second))
    buffers, at = [a[0], b[0]], [a[3], b[3]]
    if bias is not None:
        c = geometry(contiguous(bias))
        buffers.append(c[0])
        at.append(c[3])
    plan, words = _plan(kind, first.dtype, *window, bias is not None), (*sizes, *at, 0)
    if kind != "weight":
        return product(plan, tuple(buffers), words, out, first.dtype, 2)
    r, handle = fresh(out, first.dtype)
    launch(plan, (*[ready(x) for x in buffers], handle), words)
    return r


@planner(
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "convolution",
)
def _convolution(ov: Any, a: Any) -> Tensor:
    x, w, bias = a[:3]
    if x.is_cpu or w.is_cpu or bias is not None and bias.is_cpu:
        check_devices(a)
    if x.dtype.is_complex and w.dtype is x.dtype and (bias is None or bias.dtype is x.dtype):
        return NotImplemented
    shape, sizes, window, last, _ = _C.conv_plan(ov, a)
    if x.dtype not in FLOATS:
        return NotImplemented
    if 0 in shape:
        return fresh(shape, x.dtype)[0]
    transposed = a[6] if ov.kernel == "convolution" else ov.kernel[4] == "_"
    r = _pass("input" if transposed else "forward", x, w, bias, shape, sizes, window)
    if not last:
        return r
    order = channels_last(w.dim())
    return relaid(r, tuple([d - 1 for d in order[1:]]) if len(shape) < w.dim() else order)


# ---- gradients -------------------------------------------------------------------------------------------------------
@planner("convolution_backward")
def _backward(ov: Any, a: Any) -> Any:
    g, x, w = a[:3]
    transposed, mask = a[7], a[10]
    if g.is_cpu or x.is_cpu or w.is_cpu:
        check_devices(a)
    if x.dtype.is_complex:
        return NotImplemented
    _, sizes, window, last, last_weight = _C.conv_plan(ov, a)
    if x.dtype not in FLOATS:
        return NotImplemented
    g = contiguous(g)
    gi = gw = gb = None
    if mask[0]:
        if x.numel():
            gi = _pass("forward" if transposed else "input", g, w, None, tuple(x.shape), sizes, window)
        else:
            gi = fresh(tuple(x.shape), x.dtype)[0]
    if mask[1]:
        if w.numel():
            first, second = (x, g) if transposed else (g, x)
            gw = _pass("weight", first, second, None, tuple(w.shape), sizes, window)
        else:
            gw = fresh(tuple(w.shape), w.dtype)[0]
    if mask[2]:
        gb = _channel_sums(g)
    order = channels_last(x.dim())
    return (
        relaid(gi, order) if last and gi is not None else gi,
        relaid(gw, order) if last_weight and gw is not None else gw,
        gb,
    )


def _channel_sums(g: Tensor) -> Tensor:
    """Sums of a contiguous (N, C, d...) over all but the channels."""
    buffer, shape, strides, offset, dtype, _, numel = geometry(g)
    images, channels = shape[:2]
    r, handle = fresh((channels,), dtype)
    if not channels:
        return r
    number = _sums.get(dtype)
    if number is None:
        number = _sums[dtype] = stream.core.describe((1, 2, 1), (0,), (dtype,), (("sum", 0, dtype),))
    pixels = 1
    for n in shape[2:]:
        pixels *= n
    launch(
        number,
        (ready(buffer), handle),
        (channels, images * pixels, channels, images, pixels, offset, pixels, channels * pixels, 1, 0),
    )
    return r
