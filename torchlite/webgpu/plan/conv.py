"""Convolutions and their gradients, by implicit products on the GPU: no unfolded image is made.

The shape of a valid convolution's result is known here. What else there is, the CPU's kernel is asked once, on tensors
without images, for the shape of the result and for errors; the answer is kept.
Integer and complex convolutions run as windows and products (the op's body).
"""

from __future__ import annotations


import torchlite as torch

from ... import _C
from ..lazy import stream
from ..devices import check_devices
from ..fallback import stand_in
from ..lazy.graph import Plans
from ..registry import planner
from ..tensors import FLOATS, contiguous
from ..lazy.stream import fresh, geometry, launch, product, ready
from ..layout import channels_last, relaid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from ..._types import DType, Overload, Size, Tensor


_shapes = {}  # arguments without the batch's size -> shape of an image of the result
_sums = {}
MOST = 4096


def _result(ov: Any, args: Any, x: Any, w: Any, bias: Any, single: Any) -> tuple[int, ...]:
    """Shape of the result; PyTorch's errors."""
    key = (
        ov.kernel,
        tuple(x.shape) if single else tuple(x.shape[1:]),
        tuple(w.shape),
        None if bias is None else tuple(bias.shape),
        x.dtype,
        w.dtype,
        None if bias is None else bias.dtype,
        *args[3:],
    )
    shape = _shapes.get(key)
    if shape is None:
        shape = _valid_shape(x, w, bias, single, ov.kernel, args[3:])
        if shape is not None:
            if len(_shapes) > MOST:
                _shapes.clear()
            _shapes[key] = shape
    if shape is None:
        try:
            few = stand_in(x)
            few = few.unsqueeze(0)[:0] if single else few[:0]
            shape = tuple(
                _C.call_below_autograd(
                    ov, (few, stand_in(w), bias if bias is None else stand_in(bias), *args[3:])
                ).shape
            )[1:]
        except Exception:
            _C.call_below_autograd(ov, tuple([stand_in(a) for a in args]))  # the same with the true sizes in its text
            raise
        if not all(shape[1:]):
            return tuple(_C.call_below_autograd(ov, tuple([stand_in(a) for a in args])).shape)
        if len(_shapes) > MOST:
            _shapes.clear()
        _shapes[key] = shape
    return shape if single else (x.shape[0], *shape)


def _of_dims(v: Any, dims: int) -> Any:
    """A number for each dim; None if v has numbers for others."""
    if isinstance(v, int):
        return (v,) * dims
    if len(v) == 1:
        return tuple(v) * dims
    return v if len(v) == dims else None


def _valid_shape(x: Any, w: Any, bias: Any, single: Any, kernel: str, rest: Any) -> tuple[int, ...] | None:
    """An image's shape in the result of a plain convolution; None where the CPU's kernel has to look at the
    arguments."""
    own, filters = tuple(x.shape), tuple(w.shape)
    if kernel not in ("conv1d", "conv2d", "conv3d") or len(own) + bool(single) != len(filters):
        return None
    stride, padding, dilation, groups = rest
    channels, sizes = (own[0], own[1:]) if single else (own[1], own[2:])
    if (
        groups < 1
        or not filters[1]
        or channels != filters[1] * groups
        or not filters[0]
        or filters[0] % groups
        or w.dtype is not x.dtype
        or bias is not None
        and (bias.dtype is not x.dtype or tuple(bias.shape) != filters[:1])
    ):
        return None
    steps, pads, gaps = _of_dims(stride, len(sizes)), _of_dims(padding, len(sizes)), _of_dims(dilation, len(sizes))
    if steps is None or pads is None or gaps is None:
        return None
    shape = [filters[0]]
    for n, window, step, pad, gap in zip(sizes, filters[2:], steps, pads, gaps):
        n += 2 * pad - gap * (window - 1) - 1
        if window < 1 or step < 1 or pad < 0 or gap < 1 or n < 0:
            return None
        shape.append(n // step + 1)
    return tuple(shape)


@Plans
def _plans(kind: str, dtype: DType, bias: bool, kernel: tuple[int, ...], *rest: tuple[int, ...]) -> str:
    """rest: stride, padding and dilation; one number of a tuple stands for all dims."""
    lists = [list(v * len(kernel) if len(v) == 1 else v) for v in (kernel, *rest)]
    return 'conv:{"pass":"%s","dtype":"%s","kernel":%s,"stride":%s,"padding":%s,"dilation":%s%s}' % (
        kind,
        dtype.name,
        *lists,
        ',"bias":true' if bias else "",
    )


def _pass(
    kind: str,
    first: Tensor,
    second: Tensor,
    bias: Tensor | None,
    out: tuple[int, ...],
    wide: Size | tuple[int, ...],
    narrow: Size | tuple[int, ...],
    kernel: Any,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> Any:
    """One pass: `wide` and `narrow` are the shapes of the images at both ends, `out` that of the result."""
    a, b = geometry(contiguous(first)), geometry(contiguous(second))
    buffers, at = (a[0], b[0]), (a[3], b[3])
    if bias is not None:
        c = geometry(contiguous(bias))
        buffers, at = (*buffers, c[0]), (*at, c[3])
    plan, words = (
        _plans[kind, first.dtype, bias is not None, kernel, stride, padding, dilation],
        (wide[0], groups, wide[1], narrow[1], *wide[2:], *narrow[2:], *at, 0),
    )
    if kind != "weight":
        return product(plan, buffers, words, out, first.dtype, 2)
    r, handle = fresh(out, first.dtype)
    launch(plan, (*[ready(x) for x in buffers], handle), words)
    return r


def _numel(shape: tuple[int, ...]) -> int:
    n = 1
    for s in shape:
        n *= s
    return n


def _tuple(v: tuple[Any, ...]) -> tuple[int, ...]:
    return (v,) if isinstance(v, int) else tuple(v)


def _convolve(
    ov: Overload,
    args: tuple[Any, ...],
    x: Tensor,
    w: Tensor,
    bias: Tensor | None,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    transposed: bool,
    groups: int,
    dims: int,
    outpad: Any = (0,),
) -> Tensor:
    if x.is_cpu or w.is_cpu or bias is not None and bias.is_cpu:
        check_devices(args)
    single = x.dim() == dims + 1
    if x.dtype not in FLOATS:
        return _other(ov, args, x, w, bias)
    shape = _result(ov, args, x, w, bias, single and ov.kernel != "convolution")
    if not _numel(shape):
        return fresh(shape, x.dtype)[0]
    big, small = (shape, x.shape) if transposed else (x.shape, shape)
    batch = x
    if single:
        big, small, batch = (1, *big), (1, *small), x.unsqueeze(0)
    r = _pass(
        "input" if transposed else "forward",
        x,
        w,
        bias,
        shape,
        big,
        small,
        tuple(w.shape[2:]),
        _tuple(stride),
        _tuple(padding),
        _tuple(dilation),
        groups,
    )
    if not _lasts(batch, w, stride, padding, dilation, transposed, outpad, groups)[0]:
        return r
    order = channels_last(dims + 2)
    return relaid(r, [d - 1 for d in order[1:]] if single else order)


def _lasts(x: Tensor, w: Any, *rest: Any) -> Any:
    """Whether a convolution's results are channels last, and the gradient of its weight."""
    if x.is_contiguous() and w.is_contiguous() and 1 not in x.shape and 1 not in w.shape:
        return False, False
    return _C.conv_layout(x, w, *rest)


def _other(ov: Overload, args: tuple[Any, ...], x: Tensor, w: Tensor, bias: Tensor | None) -> Any:
    """Arguments that are wrong, or types that only the body takes."""
    if x.dtype is torch.bool or w.dtype is not x.dtype or bias is not None and bias.dtype is not x.dtype:
        _C.call_below_autograd(ov, tuple([stand_in(a) for a in args]))
    single = ov.kernel != "convolution" and x.dim() == w.dim() - 1
    if not x.dtype.is_complex:
        _result(ov, args, x, w, bias, single)
    return NotImplemented


@planner("conv1d", "conv2d", "conv3d")
def _conv(ov: Any, a: Any) -> Tensor:
    x, w, bias, stride, padding, dilation, groups = a
    return _convolve(ov, a, x, w, bias, stride, padding, dilation, False, groups, int(ov.kernel[4]))


@planner("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def _conv_transpose(ov: Any, a: Any) -> Tensor:
    x, w, bias, stride, padding, outpad, groups, dilation = a
    return _convolve(ov, a, x, w, bias, stride, padding, dilation, True, groups, int(ov.kernel[14]), outpad)


@planner("convolution")
def _convolution(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    x, w, bias, stride, padding, dilation, transposed, outpad, groups = a
    return _convolve(ov, a, x, w, bias, stride, padding, dilation, transposed, groups, w.dim() - 2, outpad)


# ---- gradients -------------------------------------------------------------------------------------------------------
def _checked(ov: Any, args: Any, g: Any, x: Any, w: Any) -> None:
    """The CPU's checks, without computing anything."""
    key = (ov.kernel, tuple(g.shape), tuple(x.shape), tuple(w.shape), g.dtype, x.dtype, w.dtype, *args[4:10])
    if key not in _shapes:

        def ask(g: Any, x: Any) -> Any:
            _C.call_below_autograd(ov, (g, x, stand_in(w), None, *args[4:10], [False, False, False]))

        try:
            ask(stand_in(g)[:0], stand_in(x)[:0])
        except Exception:
            ask(stand_in(g), stand_in(x))
            raise
        if g.shape[0] != x.shape[0]:
            ask(stand_in(g), stand_in(x))
        if len(_shapes) > MOST:
            _shapes.clear()
        _shapes[key] = True


@planner("convolution_backward")
def _backward(ov: Any, a: Any) -> Any:
    g, x, w, _, stride, padding, dilation, transposed, outpad, groups, mask = a
    if g.is_cpu or x.is_cpu or w.is_cpu:
        check_devices(a)
    if x.dtype.is_complex:
        return NotImplemented
    _checked(ov, a, g, x, w)
    if x.dtype not in FLOATS:
        return NotImplemented
    big, small = (g.shape, x.shape) if transposed else (x.shape, g.shape)
    window = tuple(w.shape[2:]), _tuple(stride), _tuple(padding), _tuple(dilation), groups
    g = contiguous(g)
    gi = gw = gb = None
    if mask[0]:
        if x.numel():
            gi = _pass("forward" if transposed else "input", g, w, None, tuple(x.shape), big, small, *window)
        else:
            gi = fresh(tuple(x.shape), x.dtype)[0]
    if mask[1]:
        if w.numel():
            first, second = (x, g) if transposed else (g, x)
            gw = _pass("weight", first, second, None, tuple(w.shape), big, small, *window)
        else:
            gw = fresh(tuple(w.shape), w.dtype)[0]
    if mask[2]:
        gb = _channel_sums(g)
    last, last_weight = _lasts(x, w, stride, padding, dilation, transposed, outpad, groups)
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
    pixels = _numel(shape[2:])
    launch(
        number,
        (ready(buffer), handle),
        (channels, images * pixels, channels, images, pixels, offset, pixels, channels * pixels, 1, 0),
    )
    return r
