"""Results laid out in memory as the CPU lays them out.

Kernels write their results row-major. The CPU's result may have another order of dims, if an argument has one
(channels last, transposed matrices). The rules differ from op to op and are in the CPU's kernels. So the CPU's kernel
runs on small stand-ins with the same order of dims, once for each combination of shapes and strides, and only if an
argument is not row-major. An expression then moves the elements to their places; it is fused into an element-wise
consumer with the same order of dims.
"""

from __future__ import annotations


import functools

import torchlite as torch

from .. import _C
from .lazy.expression import expression, operand, result
from .tensors import empty, laid_back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any
    from .._types import Overload

    Order = tuple[int, ...]  # dims, from the outermost in memory to the innermost


Tensor, natural = _C.TensorBase, _C.natural
_orders: dict[Any, tuple[Order | None, ...]] = {}  # of the results, by kernel, shapes and strides
MOST = 4096  # entries of that, after which it is emptied
ALL = 1 << 40  # images: more than there are


def relaid(r: Any, order: Order) -> Any:
    """r, a new tensor in the usual order, with its dims in `order` in memory, from the outermost to the innermost."""
    if not r.numel() or all(d == i for i, d in enumerate(order)):
        return r
    t = r.detach().permute(order)
    shape = tuple(t.shape)
    if r.dtype.is_complex:
        c = empty(shape, r.dtype)
        _C.copy(c, t, False)
    else:
        c = result(expression("cast", [operand(t, shape)], r.dtype.name, None, shape), r.dtype)
    return laid_back(c, sorted(range(len(order)), key=order.__getitem__))


def channels_last(ndim: int) -> Order:
    """The order of dims of that format; of 3 dims as of an image of height 1."""
    return (0, *range(2, ndim), 1)


def order_of(shape: Sequence[int], strides: Sequence[int]) -> Order | None:
    """The dims from the outermost in memory to the innermost; None for the usual order."""
    order = sorted(range(len(shape)), key=lambda d: (-strides[d], d))
    held = [d for d in order if shape[d] != 1]
    return None if held == sorted(held) else tuple(order)


def _few(a: Any, images: int | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(shape, strides) of what stands for a tensor: `images` of its images at the most; else two elements along each
    dim, whose strides are in the same order."""
    shape, strides = tuple(a.shape), a.stride()
    if images:
        return ((images, *shape[1:]) if len(shape) > 3 and shape[0] > images else shape), strides
    shape = tuple([min(n, 2) for n in shape])
    small, step = [0] * len(shape), 1
    for d in sorted(range(len(shape)), key=lambda d: (strides[d], shape[d] != 1, -d)):
        if strides[d]:
            small[d], step = step, step * shape[d]
    return shape, tuple(small)


def _key(a: Any, images: int | None) -> Any:
    if isinstance(a, Tensor):
        return (*_few(a, images), a.dtype)
    return tuple([_key(x, images) for x in a]) if type(a) in (list, tuple) else a


def _stand_in(a: Any, key: Any) -> Any:
    if isinstance(a, Tensor):
        t = _C.empty_strided(*key)
        return _C.fill(t, int(t.dtype is torch.bool or t.dtype is torch.uint8))
    return type(a)(map(_stand_in, a, key)) if type(a) in (list, tuple) else a


def as_on_cpu(
    images: int | None = None, shape: int | None = None, last: int | None = None, always: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """For planners of rows with a CPU kernel: lays out what they return as the CPU does. `images`: their tensors are
    images, of which the kernel has to see so many whole ones; `shape`: the position of an argument that is a shape of
    such; `last`: of one that asks for channels last; `always`: the usual arguments have an unusual result, too."""

    def wrap(fn: Callable[..., Any]) -> Any:
        @functools.wraps(fn)
        def run(ov: Overload, args: tuple[Any, ...]) -> Any:
            r = fn(ov, args)
            if (
                r is NotImplemented
                or not always
                and natural(args)
                and (last is None or len(args) <= last or args[last] is not True)
            ):
                return r
            few = args
            if shape is not None and len(args[shape]) > 3:
                few = (*args[:shape], (min(images, args[shape][0]), *args[shape][1:]), *args[shape + 1 :])
            keys = tuple([_key(a, images) for a in few])
            orders = _orders.get((ov.kernel, keys))
            if orders is None:
                if len(_orders) > MOST:
                    _orders.clear()
                like = _C.call_below_autograd(ov, tuple(map(_stand_in, few, keys)))
                orders = _orders[ov.kernel, keys] = tuple(
                    [order_of(tuple(t.shape), t.stride()) for t in (like if type(like) is tuple else (like,))]
                )
            if type(r) is not tuple:
                return r if orders[0] is None else relaid(r, orders[0])
            return tuple([t if order is None else relaid(t, order) for t, order in zip(r, orders)])

        return run

    return wrap
