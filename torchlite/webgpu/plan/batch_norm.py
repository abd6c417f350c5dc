"""Batch norm and group norm on webgpu: reductions to one number a channel, then lazy
element-wise expressions. Running statistics are updated on the device; nothing is read back."""

from __future__ import annotations


from typing import Any

import torchlite as torch

from ..lazy.expression import Number, assign, before_write, expression, operand, result
from ..lazy.graph import along, coalesce_except, fresh, geometry, lazy_result, leaf, reduce, tree
from .norm import _XHAT, _cast
from ..devices import check_devices
from ..fallback import cpu_error, without_elements
from ..layout import channels_last, order_of, relaid
from ..registry import planner
from ..tensors import FLOATS, contiguous, empty
from ..lazy.stream import core, float_word, launch, ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..._types import Leaf, Node, Overload, Tensor


f32 = torch.float32
_updates: dict[Any, int] = {}  # plans of _update


# ---- batch norm ------------------------------------------------------------------------------------------------------


def _fits(x: Tensor, *params: Tensor) -> bool:
    return (
        x.dim() > 1
        and x.dtype in FLOATS
        and all(p is None or p.numel() == x.shape[1] and p.dtype in FLOATS for p in params)
    )


def _over_channels(parts: tuple[Any, ...], images: list[Tensor], vectors: list[Tensor], outputs: Any) -> list[Tensor]:
    """A reduction to one number a channel of images [N, C, ...] and vectors [C]."""
    shape = tuple(images[0].shape)
    strides = [t.stride() for t in images]
    sizes, steps = coalesce_except(shape, strides, 1)
    inputs = [(t, (s[1],), r) for t, s, r in zip(images, strides, steps)]
    inputs += [(v, (v.stride(0) if v.dim() else 0,), [0] * len(sizes)) for v in vectors]
    return reduce(
        parts,
        inputs,
        outputs,
        (shape[1],),
        sizes,
        inner=steps[0][-1] == 1,
        correction=0.0 if any(o[0] == "var" for o in outputs) else None,
    )


def _update(
    mean: Tensor, var: Any, running_mean: Tensor, running_var: Tensor, momentum: float, n: int, eps: float
) -> Tensor:
    """The reciprocal deviations, and the running statistics moved towards the batch's, in one kernel."""
    channels = mean.numel()
    parts: list[Any] = [0, None, ("add", 0, 1), ("rsqrt", 2)]
    inputs: list[Any] = [f32]
    outputs: list[Any] = [(3, f32)]
    running = [
        (r, v, f)
        for r, v, f in (
            (running_mean, mean, momentum),
            (running_var, var, momentum * n / (n - 1) if n > 1 else float("inf")),
        )
        if r is not None
    ]
    if not all(r.is_contiguous() for r, _, _ in running):
        for r, v, f in running:
            shape = tuple(r.shape)
            scaled = expression("mul", [operand(v.view(shape), shape), Number(f, "float32")], "float32", None, shape)
            kept = expression("mul", [operand(r, shape), Number(1 - momentum, "float32")], "float32", None, shape)
            assign(r, expression("add", [kept, scaled], r.dtype.name, None, shape))
        running = []
    invstd, to = fresh((channels,), f32)
    handles, places, offsets = [ready(geometry(var)[0])], [to], []
    scalars = [float_word(eps), float_word(1 - momentum)]
    at, spots = 4, [geometry(var)[3]]
    if running:
        parts.append(None)
        at += 1
    for k, (r, v, f) in enumerate(running):
        buffer, _, _, offset, dtype, _, _ = geometry(r)
        before_write(buffer)
        places.append(ready(buffer))
        own = len(inputs)
        inputs.append((dtype, k + 1))
        spots.append(offset)
        source = 0
        if v is not var:
            source = at
            parts.append(len(inputs))
            inputs.append(f32)
            handles.append(ready(geometry(v)[0]))
            spots.append(geometry(v)[3])
            at += 1
        parts += [own, None, ("mul", at, 4), ("mul", source, at + 1), ("add", at + 2, at + 3)]
        outputs.append((at + 4, dtype))
        offsets.append(offset)
        scalars.append(float_word(f))
        at += 5
    key = ("bn_update", *[(r.dtype, v is var) for r, v, _ in running])
    plan = _updates.get(key)
    if plan is None:
        plan = _updates[key] = core.describe((), tuple(parts), tuple(inputs), tuple(outputs))
    launch(plan, (*handles, *places), (channels, *spots, 0, *offsets, *(scalars if running else scalars[:1])))
    return invstd


def _affine(x: Tensor, mean: Tensor, scale: Leaf, weight: Tensor, bias: Tensor) -> Tensor:
    """(x - mean) * scale * weight + bias, one number a channel; like x in layout. `scale` is a leaf or node."""
    shape = tuple(x.shape)
    ndim = len(shape)
    node = tree("sub", operand(x, shape), along(mean, ndim, 1), shape=shape)
    node = tree("mul", node, scale, shape=shape)
    if weight is not None:
        node = tree("mul", node, along(weight, ndim, 1), shape=shape)
    if bias is not None:
        node = tree("add", node, along(bias, ndim, 1), shape=shape)
    return _like(x, node)


def _like(x: Tensor, node: Node) -> Tensor:
    """The node's values in x's dtype and layout."""
    dtype = x.dtype
    if dtype is not f32:
        node = tree("cast", node, dtype=dtype.name, shape=node.shape)
    if (
        not x.is_contiguous()
        and x.dim() in (4, 5)
        and x.is_contiguous(memory_format=torch.channels_last if x.dim() == 4 else torch.channels_last_3d)
    ):
        y = empty(x.shape, dtype, x.stride())
        assign(y, node)
        return y
    return result(node, dtype)


def _settled(t: Tensor) -> Tensor:
    """t with its values on their way: so that an expression of it has one leaf."""
    ready(geometry(t)[0])
    return t


@planner("native_batch_norm", "batch_norm")
def _batch_norm(ov: Overload, args: tuple[Any, ...]) -> Any:
    x, weight, bias, running_mean, running_var, training, momentum, eps = args[:8]
    check_devices(args[:5], False)
    if (
        not _fits(x, weight, bias, running_mean, running_var)
        or not training
        and (running_mean is None or running_var is None)
    ):
        return cpu_error(ov, args)
    both = ov.kernel == "native_batch_norm"
    if not x.numel():
        return without_elements(ov, args)
    x = _settled(x)
    stats = x.dtype
    for p in (weight, bias, running_mean, running_var):
        if p is not None:
            stats = p.dtype
    ndim = x.dim()
    if not training:
        shape = tuple(x.shape)
        moved = tree("add", along(running_var, ndim, 1), Number(eps, "float32"), shape=shape)
        y = _affine(x, running_mean, tree("rsqrt", moved, shape=shape), weight, bias)
        return (y, empty((0,), stats), empty((0,), stats)) if both else y
    mean, var = _over_channels((0,), [x], [], (("mean", 0, f32), ("var", 0, f32)))
    invstd = _update(mean, var, running_mean, running_var, momentum or 0.0, x.numel() // max(x.shape[1], 1), eps)
    y = _affine(x, mean, along(invstd, ndim, 1), weight, bias)
    return (y, _cast(mean, stats), _cast(invstd, stats)) if both else y


@planner("native_batch_norm_backward")
def _batch_norm_backward(ov: Overload, args: tuple[Any, ...]) -> Any:
    g, x, weight, running_mean, running_var, mean, invstd, train, eps, mask = args
    check_devices(args[:7], False)
    mean, spread = (mean, invstd) if train else (running_mean, running_var)
    if (
        mean is None
        or spread is None
        or not _fits(x, weight, mean, spread)
        or g.shape != x.shape
        or g.dtype not in FLOATS
    ):
        return cpu_error(ov, args)
    if not x.numel():
        return without_elements(ov, args)
    shape, ndim, channels = tuple(x.shape), x.dim(), x.shape[1]
    spread = _settled(_cast(spread, f32) if train else _invstd(spread, eps))
    mean = _settled(_cast(mean, f32))
    sums: Any = None
    if train and mask[0] or mask[1]:
        sums = _over_channels(_XHAT, [g, x], [spread, mean], (("sum", 6, f32), ("sum", 0, f32)))
    elif mask[2]:
        sums = None, *_over_channels((0,), [g], [], (("sum", 0, f32),))
    dx = None
    if mask[0]:
        scale = along(spread, ndim, 1)
        node = operand(_settled(g), shape)
        if train:
            share = Number(channels / x.numel(), "float32")
            xhat = tree(
                "mul", tree("sub", operand(_settled(x), shape), along(mean, ndim, 1), shape=shape), scale, shape=shape
            )
            gw, gb = (tree("mul", along(s, ndim, 1), share, shape=shape) for s in sums)
            node = tree("sub", tree("sub", node, gb, shape=shape), tree("mul", xhat, gw, shape=shape), shape=shape)
        node = tree("mul", node, scale, shape=shape)
        if weight is not None:
            node = tree("mul", node, along(weight, ndim, 1), shape=shape)
        dx = _like(x, node)
    dtype = x.dtype if weight is None else weight.dtype
    return dx, _cast(sums[0], dtype) if mask[1] else None, _cast(sums[1], dtype) if mask[2] else None


def _invstd(var: Tensor, eps: float) -> Tensor:
    """1 / sqrt(var + eps), lazy_result."""
    shape = tuple(var.shape)
    total = expression("add", [operand(var, shape), Number(eps, "float32")], "float32", None, shape)
    return result(expression("rsqrt", [total], "float32", None, shape), f32)


# ---- group norm ------------------------------------------------------------------------------------------------------
def _groups(
    x: Tensor, params: tuple[Tensor, ...], N: int, C: int, HxW: int, group: int
) -> tuple[int, int, int, int] | None:
    if x.dtype not in FLOATS or group < 1 or C % group or N < 0 or x.numel() != N * C * HxW:
        return None
    if any(p is not None and (p.numel() != C or p.dtype not in FLOATS) for p in params):
        return None
    return N, group, C // group, HxW


def _per_channel(p: Tensor, D: int) -> Leaf:
    return leaf(contiguous(p), (0, D, 1, 0))


def _in_format(r: Tensor, x: Tensor) -> Tensor:
    """r in channels_last where x is."""
    order = order_of(x.shape, x.stride()) if x.dim() > 3 else None
    return relaid(r, order) if order is not None and order == channels_last(x.dim()) else r


@planner("native_group_norm")
def _group_norm(ov: Overload, args: tuple[Any, ...]) -> Any:
    x, weight, bias, N, C, HxW, group, eps = args
    check_devices((x, weight, bias), False)
    shape = _groups(x, (weight, bias), N, C, HxW, group)
    if shape is None:
        return cpu_error(ov, args)
    if not x.numel():
        return without_elements(ov, args)
    format_, x = x, contiguous(x)
    D = C // group
    n = D * HxW
    mean, var = reduce((0,), [(x, (n,), (1,))], (("mean", 0, f32), ("var", 0, f32)), (N * group,), (n,), correction=0.0)
    rstd = _settled(_invstd(var, eps))
    row = (group, 1, 0, 0)
    node = tree("sub", leaf(x), leaf(mean, row), shape=shape)
    node = tree("mul", node, leaf(rstd, row), shape=shape)
    if weight is not None:
        node = tree("mul", node, _per_channel(weight, D), shape=shape)
    if bias is not None:
        node = tree("add", node, _per_channel(bias, D), shape=shape)
    dtype = x.dtype
    if dtype is not f32:
        node = tree("cast", node, dtype=dtype.name, shape=shape)
    stats = f32 if weight is not None and weight.dtype is not dtype else dtype
    out = _in_format(lazy_result(node, dtype, tuple(x.shape)), format_)
    return out, *[_cast(s, stats).view((N, group)) for s in (mean, rstd)]


@planner("native_group_norm_backward")
def _group_norm_backward(ov: Overload, args: tuple[Any, ...]) -> Any:
    g, x, mean, rstd, weight, N, C, HxW, group, mask = args
    check_devices(args[:5], False)
    shape = _groups(x, (weight,), N, C, HxW, group)
    if (
        shape is None
        or g.numel() != x.numel()
        or g.dtype not in FLOATS
        or mean.numel() != N * group
        or rstd.numel() != N * group
    ):
        return cpu_error(ov, args)
    if not x.numel():
        return without_elements(ov, args)
    D = C // group
    own, format_, x, g = tuple(x.shape), x, contiguous(x), contiguous(g)
    mean, rstd = contiguous(_cast(mean, f32)), contiguous(_cast(rstd, f32))
    image, row = ((group * D * HxW, D * HxW, HxW), (1,)), ((group, 1, 0), (0,))
    # sums over the pixels of each channel of each sample; everything else is made of them
    sgx, sg = reduce(
        _XHAT,
        [(g, *image), (x, *image), (rstd, *row), (mean, *row)],
        (("sum", 6, f32), ("sum", 0, f32)),
        (N, group, D),
        (HxW,),
    )
    dx = dw = db = None
    if mask[0]:
        each = ((D,), (1,))
        # the weights run along the channels: (sample, group) rows, so group is a kept dim of its own
        kept, line = (N, group), ((group * D, D), (1,))
        if weight is None:
            rows = reduce(
                (0, 1),
                [(sgx, *each), (sg, *each)],
                (("sum", 0, f32), ("sum", 1, f32)),
                (N * group,),
                (D,),
            )
        else:
            w = contiguous(weight)
            rows = reduce(
                (0, 1, 2, ("mul", 0, 2), ("mul", 1, 2)),
                [(sgx, *line), (sg, *line), (w, (0, D), (1,))],
                (("sum", 3, f32), ("sum", 4, f32)),
                kept,
                (D,),
            )
        per = (group, 1, 0, 0)
        share = Number(1 / (D * HxW), "float32")
        h = leaf(g)
        if weight is not None:
            h = tree("mul", h, _per_channel(weight, D), shape=shape)
        scale = leaf(rstd, per)
        xhat = tree("mul", tree("sub", leaf(x), leaf(mean, per), shape=shape), scale, shape=shape)
        dot, total = (tree("mul", leaf(r, per), share, shape=shape) for r in rows)
        node = tree("sub", tree("sub", h, total, shape=shape), tree("mul", xhat, dot, shape=shape), shape=shape)
        node = tree("mul", node, scale, shape=shape)
        if x.dtype is not f32:
            node = tree("cast", node, dtype=x.dtype.name, shape=shape)
        dx = _in_format(lazy_result(node, x.dtype, own), format_)
    dtype = x.dtype if weight is None else weight.dtype
    wanted = [s for s, m in ((sgx, mask[1]), (sg, mask[2])) if m]
    if wanted:
        sums = reduce(
            tuple(range(len(wanted))),
            [(s, (1,), (C,)) for s in wanted],
            tuple([("sum", k, dtype) for k in range(len(wanted))]),
            (C,),
            (N,),
            inner=False,
        )
        dw = sums[0] if mask[1] else None
        db = sums[-1] if mask[2] else None
    return dx, dw, db
