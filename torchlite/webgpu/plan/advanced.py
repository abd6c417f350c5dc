"""x[i, j], x[mask] and their writes, embedding: more grids for the two kernels of index.py."""

from __future__ import annotations


from typing import Any
from functools import partial

import torchlite as torch

from .index import INTEGERS, MOST_INDICES, Pick, geometry, outside, put_at, strides_over, take_at, writable
from .index_ops import rows_of, source_of
from .mask import fill_where, positions
from ..devices import check_devices
from ..fallback import cpu_result
from ..registry import planner
from ..tensors import filled, upload
from ..layout import as_on_cpu
from ..lazy.stream import on_device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..._types import Overload, Tensor


# ---- x[i, j] ---------------------------------------------------------------------------------------------------------
def _expanded(self: Tensor, indices: tuple[Tensor | None, ...]) -> Any:
    """One index tensor or None for each dim, masks replaced by the positions where they are true;
    None where that fails."""
    out: list[Tensor | None] = []
    for t in indices:
        if t is None:
            out.append(None)
        elif t.dtype is torch.bool or t.dtype is torch.uint8:
            nd = t.dim()
            if tuple(t.shape) != tuple(self.shape[len(out) : len(out) + nd]):
                return None
            if t.is_cpu:
                columns = (
                    torch.ops.functions.nonzero_numpy(t) if nd else torch.ops.functions.nonzero_numpy(t.reshape(1))
                )
            else:
                rows = positions(t)
                columns = [rows[:, d] for d in range(nd)]
            out.extend(columns[:nd])
        elif t.dtype.name in INTEGERS:
            out.append(t)
        else:
            return None
    return out if len(out) <= self.dim() else None


def _plan_index(self: Any, indices: Any) -> tuple[tuple[int, ...], list[int | None], list[Pick]] | None:
    """(grid, along, picks, dims) for x[indices]; dims: where the broadcast indices' dims lie in the grid.
    None: an error."""
    expanded = _expanded(self, indices)
    if expanded is None:
        return None
    dims = [d for d, t in enumerate(expanded) if t is not None]
    if len(dims) == 1:
        broadcast = tuple(expanded[dims[0]].shape)
    else:
        try:
            broadcast = tuple(torch.broadcast_shapes(*[tuple(expanded[d].shape) for d in dims])) if dims else ()
        except RuntimeError:
            return None
    count = 1
    for m in broadcast:
        count *= m
    if count and any(not self.shape[d] for d in dims):
        return None
    first = dims[0] if dims and dims[-1] - dims[0] == len(dims) - 1 else 0
    rest = [d for d in range(self.dim()) if d not in dims]
    before, after = [d for d in rest if d < first], [d for d in rest if d >= first]
    if dims and dims[-1] - dims[0] != len(dims) - 1:
        before, after = [], rest
    grid = (*[self.shape[d] for d in before], *broadcast, *[self.shape[d] for d in after])
    at = len(before)
    along = [*before, *[None] * len(broadcast), *after]
    picks = []
    for d in dims:
        t = expanded[d]
        if t.is_cpu:
            t = upload(t)
        lead = at + len(broadcast) - t.dim()
        picks.append(Pick(t, strides_over(t, grid, range(lead, lead + t.dim())), d))
    return grid, along, picks


@planner("index")
@as_on_cpu()
def _index(ov: Overload, a: tuple[Any, ...]) -> Any:
    self, indices = a
    if not on_device(self):
        # x on the CPU, indices on webgpu: PyTorch's error
        raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
    parts = _plan_index(self, indices)
    if parts is None:
        return cpu_result(ov, (self, _zeros_for_masks(indices)), True)
    grid, along, picks = parts
    if len(picks) > MOST_INDICES:
        return NotImplemented
    buffer, shape, strides, offset, dtype, _, _ = geometry(self)
    return take_at(buffer, shape, strides, offset, dtype, grid, along, picks, True, partial(outside, "index", None))


def _zeros_for_masks(indices: Any) -> Any:
    """Indices for stand-ins: positions of masks do count where shapes are compared."""
    return [t.cpu() if t is not None and not t.is_cpu and t.dtype in (torch.bool, torch.uint8) else t for t in indices]


def _only_mask(self: Any, indices: Any) -> tuple[Any, int] | None:
    """(the one mask, its first dim) of x[mask] = number; None for other indices."""
    mask, at, found = None, 0, 0
    for t in indices:
        if t is None:
            at += mask is None
        elif mask is not None or t.dtype is not torch.bool or not t.dim():
            return None
        else:
            mask, found = t, at
    if mask is None or tuple(mask.shape) != tuple(self.shape[found : found + mask.dim()]):
        return None
    return mask, found


def _fill_masked(target: Tensor, mask: Tensor, at: int, value: Tensor) -> Tensor:
    """target[mask] = one value, without looking at the mask."""
    if mask.is_cpu:
        mask = upload(mask)
    for _ in range(target.dim() - at - mask.dim()):
        mask = mask.unsqueeze(-1)
    fill_where(target, mask, value)
    return target


@planner("index_put")
def _index_put(ov: Any, a: tuple[Any, ...]) -> Any:
    self, indices, values, accumulate = a
    if not on_device(self):
        raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
    if values.is_cpu and values.dim():
        check_devices((self, values))
    if values.dtype is not self.dtype:
        return cpu_result(ov, (self, _zeros_for_masks(indices), values, accumulate), True)
    if not accumulate and not values.dim():
        only = _only_mask(self, indices)
        if only is not None:
            return _fill_masked(writable(ov, self, True), *only, values)
    parts = _plan_index(self, indices)
    if parts is not None:
        grid, along, picks = parts
        shape = tuple(values.shape)
        while len(shape) > len(grid) and shape[0] == 1:
            shape = shape[1:]
        lead = len(grid) - len(shape)
        if lead < 0 or any(n != 1 and n != m for n, m in zip(shape, grid[lead:])):
            parts = None
    if parts is None:
        return cpu_result(ov, (self, _zeros_for_masks(indices), values, accumulate), True)
    if len(picks) > MOST_INDICES - (not values.is_cpu):
        return NotImplemented
    target, error = writable(ov, self, True), partial(outside, "index", None)
    mode = "add" if accumulate else "set"
    if values.is_cpu:
        return put_at(target, grid, along, picks, True, error, mode, scalar=values.item())
    values = values.reshape(shape)
    source = (geometry(values)[0], strides_over(values, grid), values.storage_offset())
    return put_at(target, grid, along, picks, True, error, mode, source)


# ---- embedding -------------------------------------------------------------------------------------------------------
@planner("embedding")
def _embedding(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    weight, index = a[0], a[1]
    buffer, shape, strides, offset, dtype, _, _ = geometry(weight)
    if len(shape) != 2 or index.dtype.name not in INTEGERS or not on_device(weight, index):
        return cpu_result(ov, a)
    _, own, ist, _, _, _, _ = geometry(index)
    return take_at(
        buffer,
        shape,
        strides,
        offset,
        dtype,
        (*own, shape[1]),
        [None] * len(own) + [1],
        [Pick(index, (*ist, 0), 0)],
        False,
        partial(outside, "rows", None),
    )


@planner("embedding_dense_backward")
def _embedding_backward(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    grad, index, rows, padding, by_frequency = a
    if (
        index.dtype.name not in INTEGERS
        or not on_device(grad, index)
        or not grad.dim()
        or tuple(grad.shape[:-1]) != tuple(index.shape)
    ):
        return cpu_result(ov, a)
    width, own, ist = grad.shape[-1], tuple(index.shape), index.stride()
    error = partial(outside, "rows", None)
    if by_frequency:
        counts = filled((rows,), torch.int32, 0)
        put_at(counts, own, [None] * len(own), [Pick(index, ist, 0)], False, error, "add", scalar=1)
    r = filled((rows, width), grad.dtype, 0)
    grid = (*own, width)
    put_at(
        r,
        grid,
        [None] * len(own) + [1],
        [Pick(index, (*ist, 0), 0)],
        False,
        error,
        "add",
        (geometry(grad)[0], grad.stride(), grad.storage_offset()),
        skip=padding if padding >= 0 else None,
    )
    return r / counts.clamp(min=1).unsqueeze(-1) if by_frequency else r


@planner("embedding_renorm")
def _embedding_renorm(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    self, index, most, p = a
    if (
        self.dim() != 2
        or index.dtype.name not in INTEGERS
        or not on_device(self, index)
        or self.dtype is not torch.float32
    ):
        return cpu_result(ov, a) if self.dtype is torch.float32 else NotImplemented
    index = index.reshape(-1)
    target = writable(ov, self)
    rows = torch.index_select(target, 0, index)
    norm = torch.linalg.vector_norm(rows, p, 1, True)
    rows = torch.where(norm > most, rows * (most / (norm + 1e-7)), rows)
    # equal indices write equal rows
    grid, along, picks = rows_of(target, 0, index)
    return put_at(target, grid, along, picks, False, partial(outside, "rows", None), "set", source_of(rows, grid))
