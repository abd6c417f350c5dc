"""Attention in one kernel, without the matrix of scores in memory."""

from __future__ import annotations


import torchlite as torch

from ... import _C
from ..registry import planner
from ..tensors import FLOATS, laid_back, laid_out
from ..lazy.stream import core, float_word, fresh, geometry, launch, ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from ..._types import Buffer


_plan = core.attention_plan  # gpu_attention.c plans the usual arguments


def _four(t: Any) -> tuple[Buffer, int, tuple[int, int, int]]:
    """(buffer, offset, strides over batch, head and row) of a tensor of at most four dims whose rows are dense."""
    buffer, shape, strides, offset, _, _, _ = geometry(t)
    if strides[-1] != 1 and shape[-1] != 1:
        r = torch.empty(shape, dtype=t.dtype, device=t.device)
        _C.copy(r, t.detach(), False)
        buffer, shape, strides, offset, _, _, _ = geometry(r)
    outer = strides[:-1]
    return buffer, offset, (0,) * (3 - len(outer)) + tuple(outer)


@planner("_attention")
def _attention(ov: Any, a: Any) -> Any:
    q, k, v, mask, causal, scale = a
    dtype = q.dtype
    if dtype not in FLOATS:
        return NotImplemented
    shape = tuple(q.shape)
    length, width, keys, depth = shape[-2], shape[-1], k.shape[-2], v.shape[-1]
    batch, heads = (1,) * (4 - len(shape)) + shape[:-2] if len(shape) < 4 else shape[:2]
    kind = None if mask is None else mask.dtype
    number = _plan(dtype, width, depth, causal, kind)
    words, handles, kept = [batch, heads, length, keys, 1, float_word(scale)], [], []
    for t in (q, k, v):
        buffer, offset, strides = _four(t)
        kept.append(buffer)  # a copy must not go before the kernel runs
        handles.append(ready(buffer))
        words += (offset, *strides)
    if mask is not None:
        buffer, own, strides, offset, _, _, _ = geometry(mask)
        handles.append(ready(buffer))
        words += (offset, *(0,) * (4 - len(own)), *[0 if n == 1 else s for n, s in zip(own, strides)])
    order = back = [*range(len(shape))]
    if len(shape) == 4 and all([t.stride(3) == 1 for t in (q, k, v)]):
        # as the queries: rows of all heads lie together where they do there, which the projection that follows wants
        order, back = laid_out(_C.empty_like(q, torch.uint8).stride())
    out = (*shape[:-1], depth)
    y, handle = fresh(tuple([out[d] for d in order]), dtype)
    y = laid_back(y, back)
    strides = (0,) * (4 - len(shape)) + y.stride()[:-1]
    handles.append(handle)
    lse, handle = fresh(shape[:-1], torch.float32)
    handles.append(handle)
    launch(number, handles, (*words, 0, *strides, 0))
    return y, lse
