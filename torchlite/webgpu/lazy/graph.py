"""Helpers for planners that write the graphs of their kernels by hand."""

from __future__ import annotations


from typing import Any

from ... import _C
from . import expression, stream
from .expression import coalesce
from .stream import float_word, fresh, launch, ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..._types import DType, Leaf, Node, Tensor
else:
    Leaf, Node = expression.Leaf, expression.Node


geometry = _C.geometry
_device_tensor = _C.device_tensor


_plans: dict[Any, int] = {}


def lazy_result(node: Node, dtype: DType, shape: Any) -> Tensor:
    """A lazy tensor of this shape. The node may group the dims in another way, but not reorder the elements."""
    from .expression import result

    r = result(node, dtype)
    if node.shape == shape:
        return r
    return _device_tensor(1, geometry(r)[0], r.nbytes, dtype, shape)


def tree(op: str, *args: Any, dtype: str = "float32", compute: str | None = None, shape: tuple[int, ...]) -> Node:
    """A node like expression.expression makes, but with as many leaves as a kernel with one output can bind."""
    return Node(op, list(args), dtype, compute, shape)


def leaf(t: Tensor, strides: Any = None) -> Leaf:
    """A tensor as a leaf; `strides` are over the expression's dims, None for a contiguous tensor."""
    buffer, _, _, offset, dtype, _, _ = geometry(t)
    if buffer.pending is not None:
        ready(buffer)
    return Leaf(buffer, dtype.name, strides, offset)


def along(t: Tensor, ndim: int, dim: int) -> Leaf:
    """A vector as a leaf, broadcast over all dims but `dim`."""
    strides = [0] * ndim
    if t.numel() != 1:
        strides[dim] = t.stride(0) if t.dim() == 1 else 1
    return leaf(t if t.dim() == 1 else t.reshape(-1), tuple(strides))


def reduce(
    parts: tuple[Any, ...],
    inputs: list[tuple[Tensor, tuple[Any, ...], Any]],
    outputs: tuple[tuple[str, int, DType], ...],
    kept: tuple[int, ...],
    reduced: list[int] | tuple[int],
    inner: bool = True,
    correction: float | None = None,
    shape: tuple[int, ...] | None = None,
) -> list[Tensor]:
    """Launches one reduction. Inputs are (tensor, strides over kept dims, strides over reduced dims); outputs are
    (reduction, part, dtype). The results are contiguous, of shape `kept` unless `shape` is given. `parts` is what
    core.describe takes: all compute in float32."""
    rows = n = 1
    for m in kept:
        rows *= m
    for m in reduced:
        n *= m
    handles, words, dtypes = [], [rows, n, *kept, *reduced], []
    for t, k, r in inputs:
        buffer, _, _, offset, dtype, _, _ = geometry(t)
        handles.append(ready(buffer))
        words.append(offset)
        words.extend(k)
        words.extend(r)
        dtypes.append(dtype)
    results = []
    for _, _, dtype in outputs:
        t, h = fresh(tuple(kept) if shape is None else shape, dtype)
        results.append(t)
        handles.append(h)
        words.append(0)
    if correction is not None:
        words.append(float_word(correction))
    key = (parts, len(kept), len(reduced), inner, tuple(dtypes), outputs)
    plan = _plans.get(key)
    if plan is None:
        plan = _plans[key] = stream.core.describe((len(kept), len(reduced), int(inner)), parts, key[4], outputs)
    launch(plan, handles, words)
    return results


def coalesce_except(shape: Any, strides: list[tuple[int, int, int, int]], dim: int) -> tuple[list[int], list[Any]]:
    """Coalesces the dims other than `dim` where every operand allows it: their sizes, and each operand's strides."""
    sizes, keep = coalesce(shape[:dim] + shape[dim + 1 :], [s[:dim] + s[dim + 1 :] for s in strides])
    if not keep:
        return [1], [[0]] * len(strides)
    keep = [d if d < dim else d + 1 for d in keep]
    return sizes, [[s[d] for d in keep] for s in strides]
