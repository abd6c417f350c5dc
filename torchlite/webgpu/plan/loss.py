"""Losses on webgpu: those of pairs are reductions of one expression, cross entropy is a kernel of its own."""

from __future__ import annotations


import torchlite as torch

from ...ops._loss import class_shape, is_kernel_weight
from ..lazy.checks import guard, status
from ..lazy.expression import Number, operand, result
from ..lazy.graph import fresh, geometry, reduce, tree
from .norm import _axis, _cast
from ..devices import check_devices
from ..fallback import cpu_error
from ..registry import planner
from ..tensors import FLOATS, contiguous, host_copy, laid_back
from ..lazy.stream import core, family, float_word, launch, ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from ..._types import DType, Node, Overload, Tensor


f32 = torch.float32
_plan = family("crossEntropy", "dtype", "weight", "smooth", "nll", "backward")


def _classes(x: Tensor) -> tuple[int, int, int]:
    """(rows, classes, inner) of a contiguous tensor of scores."""
    axis = _axis(tuple(x.shape), 1 if x.dim() > 1 else 0)
    assert axis is not None
    return axis


# ---- pairs -----------------------------------------------------------------------------------------------------------
def _element(row: Any, d: Node, p: Any, shape: Any) -> Node:
    """One element's loss of the difference d."""

    def op(name: str, *args: Any) -> Any:
        return tree(name, *args, shape=shape)

    def num(x: Any) -> Any:
        return Number(x, "float32")

    if row == "mse_loss":
        return op("mul", d, d)
    m = op("abs", d)
    if row == "l1_loss":
        return m
    half = op("mul", op("mul", num(0.5), d), d)
    if row == "smooth_l1_loss":
        inner, outer = op("div", half, num(p)), op("sub", m, num(0.5 * p))
    else:
        inner, outer = half, op("mul", num(p), op("sub", m, num(0.5 * p)))
    return tree("where", tree("lt", m, num(p), dtype="bool", compute="float32", shape=shape), inner, outer, shape=shape)


@planner("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
def _pair(ov: Overload, args: tuple[Any, ...]) -> Any:
    x, y, reduction = args[:3]
    p = args[3] if len(args) > 3 else 1.0
    dtype, shape = x.dtype, tuple(x.shape)
    if (
        dtype not in FLOATS
        or y.dtype is not dtype
        or tuple(y.shape) != shape
        or x.is_cpu
        or y.is_cpu
        or not x.numel()
        or p <= 0
    ):
        return NotImplemented
    order = core.layout([x, y], shape) if reduction == 0 else None
    if order is not None:
        x, y, shape = x.detach().permute(order), y.detach().permute(order), tuple([shape[d] for d in order])
    a, b = operand(x, shape), operand(y, shape)
    if (
        len(getattr(a, "leaves", ())) + len(getattr(b, "leaves", ())) > 4
        or getattr(a, "count", 1) + getattr(b, "count", 1) > 16
    ):
        for t in (x, y):
            ready(geometry(t)[0])
        a, b = operand(x, shape), operand(y, shape)
    node = _element(ov.kernel, tree("sub", a, b, shape=shape), p, shape)
    if reduction == 0:
        r = result(node if dtype is f32 else tree("cast", node, dtype=dtype.name, shape=shape), dtype)
        return r if order is None else laid_back(r, [order.index(d) for d in range(len(order))])
    return core.reduce(
        result(node, f32), tuple(range(len(shape))), False, (("mean" if reduction == 1 else "sum", None, dtype), None)
    )[0]


# ---- cross entropy ---------------------------------------------------------------------------------------------------
def _class_error(value: Any, extent: Any, which: Any) -> Any:
    return IndexError("Target %d is out of bounds." % value)


def _check(labels: Tensor, n: int, ignore: int) -> int:
    """The check word for class numbers; their error at once where they are known."""
    bounds = geometry(labels)[0].bounds
    if bounds is None or ignore in bounds:
        return guard(_class_error)
    if bounds[0] < 0 or bounds[1] >= n:
        values = host_copy(labels)  # part of that memory may still be in range
        bad = values[((values < 0) | (values >= n)) & (values != ignore)]
        if bad.numel():
            raise _class_error(int(bad[0].item()), n, 0)
    return 0


@planner("_cross_entropy")
def _cross_entropy(ov: Overload, args: tuple[Any, ...]) -> Any:
    x, labels, weight, reduction, ignore, smoothing = args
    check_devices((x, labels, weight), False)
    dtype = x.dtype
    if dtype not in FLOATS:
        return NotImplemented
    x, labels = contiguous(x), contiguous(labels)
    rows, n, inner = _classes(x)
    handles, words = [], [rows, n, inner, ignore]
    if smoothing > 0:
        words.append(float_word(smoothing))
    keep = [x, labels] if weight is None else [x, labels, contiguous(weight)]
    for t in keep:
        buffer, _, _, offset, _, _, _ = geometry(t)
        handles.append(ready(buffer))
        words.append(offset)
    check = _check(labels, n, ignore)  # after the inputs, before the results: these are void if it fails
    shape = tuple(labels.shape)
    made = []
    for _ in range(3):
        t, handle = fresh(shape, f32)
        made.append(t)
        handles.append(handle)
        words.append(0)
    handles.append(status())
    words.append(check)
    _launch("forward", dtype, weight, smoothing, handles, words)
    loss, lse, counts = made
    if reduction == 0:
        return _cast(loss, dtype), lse, counts
    total, weights = _reduced(loss, counts, reduction)
    return _cast(total, dtype), lse, weights


def _reduced(loss: Tensor, counts: Tensor, reduction: int) -> tuple[Tensor, Tensor]:
    """(sum or weighted mean of the rows' losses, sum of their weights)"""
    rows = loss.numel()
    total, weights = reduce(
        (0, 1),
        [(loss.view(-1), (), (1,)), (counts.view(-1), (), (1,))],
        (("sum", 0, f32), ("sum", 1, f32)),
        (),
        (rows,),
    )
    if reduction == 1:
        total = result(tree("div", operand(total, ()), operand(weights, ()), shape=()), f32)
    return total, weights


def _launch(
    which: str, dtype: DType, weight: Any, smoothing: float, handles: list[int], words: list[int], nll: bool = False
) -> None:
    launch(_plan(dtype, weight is not None, smoothing > 0, nll, which == "backward"), handles, words)


@planner("_cross_entropy_backward")
def _cross_entropy_backward(ov: Overload, args: tuple[Any, ...]) -> Any:
    g, x, labels, weight, lse, total, reduction, ignore, smoothing = args
    check_devices(args[:6], False)
    dtype = x.dtype
    if dtype not in FLOATS:
        return NotImplemented
    g = _cast(g, f32)
    if reduction == 1:
        g = result(tree("div", operand(g, ()), operand(total, ()), shape=()), f32)
    g, x, labels, lse = contiguous(g), contiguous(x), contiguous(labels), contiguous(lse)
    rows, n, inner = _classes(x)
    handles, words = [], [rows, n, inner, ignore, 0 if reduction else 1]
    if smoothing > 0:
        words.append(float_word(smoothing))
    keep = [x, labels, *([] if weight is None else [contiguous(weight)]), lse, g]
    for t in keep:
        buffer, _, _, offset, _, _, _ = geometry(t)
        handles.append(ready(buffer))
        words.append(offset)
    dx, handle = fresh(tuple(x.shape), dtype)
    _launch("backward", dtype, weight, smoothing, [*handles, handle], [*words, 0])
    return dx


# ---- negative log likelihood -----------------------------------------------------------------------------------------
def _nll_args(x: Tensor, labels: Any, weight: Any) -> Any:
    """Whether the kernel takes these arguments: shapes that fit, and nothing rare."""
    classes, shape = class_shape(x)
    return (
        x.dtype in FLOATS
        and x.numel() > 0
        and labels.dtype is torch.int64
        and not labels.is_cpu
        and not x.is_cpu
        and (tuple(labels.shape) == shape or x.dim() == 1 and labels.numel() == 1)
        and is_kernel_weight(weight, classes, x)
    )


@planner("nll_loss_forward", "nll_loss")
def _nll_loss(ov: Overload, args: tuple[Any, ...]) -> Any:
    x, labels, weight, reduction, ignore = args
    check_devices((x, labels, weight), False)
    if not _nll_args(x, labels, weight) or not -1 << 31 <= ignore < 1 << 31:
        return cpu_error(ov, args) if x.numel() else NotImplemented
    dtype = x.dtype
    x, labels = contiguous(x), contiguous(labels)
    rows, n, inner = _classes(x)
    handles, words = [], [rows, n, inner, ignore]
    keep = [x, labels] if weight is None else [x, labels, contiguous(weight)]
    for t in keep:
        buffer, _, _, offset, _, _, _ = geometry(t)
        handles.append(ready(buffer))
        words.append(offset)
    check = _check(labels, n, ignore)
    shape = tuple(labels.shape) if x.dim() > 1 else ()
    loss, one = fresh(shape, f32)
    counts, two = fresh(shape, f32)
    _launch("forward", dtype, weight, 0, [*handles, one, two, status()], [*words, 0, 0, check], True)
    if reduction == 0:
        loss, total = _cast(loss, dtype), torch.zeros((), dtype=dtype, device="webgpu")
    else:
        loss, total = [_cast(t, dtype) for t in _reduced(loss, counts, reduction)]
    return loss if ov.kernel == "nll_loss" else (loss, total)


@planner("nll_loss_backward")
def _nll_loss_backward(ov: Overload, args: tuple[Any, ...]) -> Any:
    g, x, labels, weight, reduction, ignore, total = args
    check_devices((g, x, labels, weight, total), False)
    if (
        not _nll_args(x, labels, weight)
        or not -1 << 31 <= ignore < 1 << 31
        or g.numel() != (1 if reduction else labels.numel())
        or total.numel() != 1
    ):
        return NotImplemented
    g = _cast(g, f32)
    if reduction == 1:
        g = result(tree("div", operand(g.reshape(()), ()), operand(_cast(total, f32).reshape(()), ()), shape=()), f32)
    g, labels = contiguous(g), contiguous(labels)
    rows, n, inner = _classes(x)
    handles, words = [], [rows, n, inner, ignore, 0 if reduction else 1]
    keep = [labels, *([] if weight is None else [contiguous(weight)]), g]
    for t in keep:
        buffer, _, _, offset, _, _, _ = geometry(t)
        handles.append(ready(buffer))
        words.append(offset)
    dx, handle = fresh(tuple(x.shape), x.dtype)
    _launch("backward", x.dtype, weight, 0, [*handles, handle], [*words, 0], True)
    return dx
