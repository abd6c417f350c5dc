"""The ops of the indexing family, as grids for the two kernels of _index.py."""

import torchlite as torch

from .. import _C
from ._checks import bounds_of
from ._fusion import Number, expression, operand
from ._index import (INTEGERS, MOST_INDICES, Pick, cpu_error, geometry, index_pick, put_at, sayer, set_at, strides_over, take_at, writable)
from ._pointwise import assign
from ._run import check_devices, contiguous, empty, planner, upload
from ._stream import Buffer

_MODES = {"sum": "add", "mean": "add", "prod": "prod", "amax": "amax", "amin": "amin", "add": "add", "multiply": "prod"}
_NAMES = {"scatter": (None, "add", "multiply"), "scatter_add": ("add",), "scatter_reduce": ("sum", "prod", "mean", "amax", "amin")}


def _dim(dim, nd):
    """A dim from 0 on; None where it is not one."""
    if type(dim) is not int or not -max(nd, 1) <= dim < max(nd, 1):
        return None
    return dim % max(nd, 1)


def _here(*tensors):
    return all(type(geometry(t)[0]) is Buffer for t in tensors)


# ---- gather, scatter -----------------------------------------------------------------------------------------------------
def _along_dim(nd, dim):
    return [None if d == dim else d for d in range(nd)]


@planner("gather")
def _gather(ov, a):
    self, index = a[0], a[2]
    buffer, shape, strides, offset, dtype, _, _ = geometry(self)
    _, grid, ist, _, itype, _, n = geometry(index)
    dim = _dim(a[1], len(shape))
    if not n and dim is not None:
        return empty(grid, dtype)
    if dim is None or itype.name not in INTEGERS or (len(shape) or 1) != (len(grid) or 1) or not _here(self, index) or \
            shape and grid and any(d != dim and grid[d] > shape[d] for d in range(len(shape))):
        return cpu_error(ov, a)
    along = _along_dim(len(grid), dim) if shape else [None] * len(grid)
    return take_at(buffer, shape, strides, offset, dtype, grid, along, [Pick(index, ist, dim)], False, sayer("gather", dim))


def _scatter_parts(ov, a, self, index, src):
    """(dim, grid, along, picks) of a scatter; None where the CPU has an error to raise."""
    shape, (_, grid, ist, _, itype, _, _) = tuple(self.shape), geometry(index)
    dim, nd = _dim(a[1], len(shape)), len(shape) or 1
    if dim is None or itype.name not in INTEGERS or (len(grid) or 1) != nd or not _here(self, index):
        return None
    full = shape or (1,)
    whole = grid or (1,)
    if any(d != dim and whole[d] > full[d] for d in range(nd)):
        return None
    if src is not None:
        other = tuple(src.shape) or (1,)
        if src.dtype is not self.dtype or len(other) != nd or not _here(src) or any(i > s for i, s in zip(whole, other)):
            return None
    return dim, grid, _along_dim(len(grid), dim) if shape else [None] * len(grid), [Pick(index, ist, dim)]


def _source(t, grid):
    buffer, shape, strides, offset, _, _, _ = geometry(t)
    return buffer, list(strides) if len(shape) == len(grid) else [0] * len(grid), offset


@planner("scatter", "scatter_add", "scatter_reduce")
def _scatter(ov, a):
    self, index, src = a[0], a[2], a[3]
    is_tensor = isinstance(src, torch.Tensor)
    reduce, include = "add" if ov.kernel == "scatter_add" else None, True
    if ov.kernel == "scatter_reduce":
        reduce, include = a[4], a[5]
    elif ov.kernel == "scatter" and len(a) > 4:
        reduce = a[4]
    known = reduce in _NAMES[ov.kernel]
    if known and not index.numel():
        return writable(ov, self)
    parts = _scatter_parts(ov, a, self, index, src if is_tensor else None)
    if parts is None or not known:
        return cpu_error(ov, a)
    if reduce is not None and not _reduces(self.dtype, _MODES[reduce]):
        return NotImplemented
    dim, grid, along, picks = parts
    say = sayer("gather", dim)
    if not is_tensor:
        mode = "set" if reduce is None else _MODES[reduce]
        _C.fill(_C.empty((1,), self.dtype), src)            # the core's errors of conversion
        if mode != "set" and self.dtype.is_floating_point is False and self.dtype is not torch.bool:
            src = int(src)
        return put_at(writable(ov, self), grid, along, picks, False, say, mode, scalar=src)
    source = _source(src, grid)
    if reduce is None:
        return set_at(writable(ov, self), grid, along, picks, False, say, source)
    return reduce_at(writable(ov, self), grid, along, picks, say, reduce, include, source)


def _reduces(dtype, mode):
    """Whether the kernel can combine elements of a type."""
    return not dtype.is_complex and (dtype is not torch.int64 or mode == "add")


def _identity(dtype, mode):
    if mode == "add":
        return 0
    if mode == "prod":
        return 1
    if dtype.is_floating_point:
        return float("-inf") if mode == "amax" else float("inf")
    if dtype is torch.bool:
        return mode == "amin"
    limits = torch.iinfo(dtype)
    return limits.min if mode == "amax" else limits.max


def reduce_at(target, grid, along, picks, say, reduce, include, source):
    """target's elements at the grid's places combined with source's."""
    mode = _MODES[reduce]
    if not include:
        put_at(target, grid, along, picks, False, say, "set", scalar=_identity(target.dtype, mode))
    put_at(target, grid, along, picks, False, say, mode, source)
    if reduce == "mean":
        shape, dtype = tuple(target.shape), target.dtype
        counts = torch.full(shape, int(include), dtype=torch.int32, device="webgpu")
        put_at(counts, grid, along, picks, False, say, "add", scalar=1)
        by = expression("maximum", [operand(counts, shape), Number(1, "int32")], "int32", "int32", shape)
        if dtype.is_floating_point:
            node = expression("div", [operand(target, shape), by], dtype.name, dtype.name, shape)
        else:
            wide = "int64" if dtype is torch.int64 else "int32"
            node = expression("floor_divide", [operand(target, shape), by], wide, wide, shape)
        assign(target, node)
    return target


# ---- one index vector along a dim ----------------------------------------------------------------------------------------
def _vector(index):
    """An index of 0 or 1 dims as a vector's geometry."""
    return index if index.dim() else index.reshape(1)


@planner("index_select")
def _index_select(ov, a):
    self, index = a[0], a[2]
    buffer, shape, strides, offset, dtype, _, _ = geometry(self)
    dim = _dim(a[1], len(shape))
    if dim is None or index.dim() > 1 or index.dtype.name not in INTEGERS or not _here(self, index) or not shape and index.numel() != 1:
        return cpu_error(ov, a)
    index = _vector(index)
    n, nd = index.numel(), len(shape)
    grid = (*shape[:dim], n, *shape[dim + 1:]) if shape else ()
    over = [0] * nd
    if shape:
        over[dim] = index.stride(0)
    return take_at(buffer, shape, strides, offset, dtype, grid, _along_dim(nd, dim), [Pick(index, over, dim)], False, sayer("rows"))


def _rows(self, dim, index, source_shape):
    """(grid, along, picks) for slices of self along dim; source_shape has index.numel() of them."""
    nd, shape = self.dim(), tuple(self.shape)
    grid = (*shape[:dim], index.numel(), *shape[dim + 1:]) if nd else (index.numel(),)
    over = [0] * len(grid)
    over[dim] = index.stride(0) if index.numel() > 1 else 0
    return grid, _along_dim(nd, dim) if nd else [None], [Pick(index, over, dim)]


def _add_checks(ov, a, dtypes=INTEGERS):
    """dim of index_add, index_reduce, index_copy where their arguments fit, else None."""
    self, index, source = a[0], a[2], a[3]
    dim = _dim(a[1], self.dim())
    if dim is None or index.dim() > 1 or index.dtype.name not in dtypes or source.dtype is not self.dtype or not _here(self, index, source):
        return None
    shape, other = tuple(self.shape) or (1,), tuple(source.shape) or (1,)
    if other != (*shape[:dim], index.numel(), *shape[dim + 1:]):
        return None
    return dim


@planner("index_add", "index_reduce", "index_copy")
def _index_into(ov, a):
    self, index, source = a[0], a[2], a[3]
    kind = ov.kernel
    if kind == "index_add" and (isinstance(a[4], complex) or a[4] != 1):
        return NotImplemented
    reduce, include = (a[4], a[5]) if kind == "index_reduce" else ("sum", True)
    dim = _add_checks(ov, a, ("int64",) if kind == "index_copy" else INTEGERS)
    if dim is None or kind == "index_reduce" and reduce not in ("prod", "mean", "amax", "amin"):
        return cpu_error(ov, a)
    if kind != "index_copy" and not _reduces(self.dtype, _MODES[reduce]):
        return NotImplemented
    grid, along, picks = _rows(self, dim, _vector(index), source.shape)
    place = _source(source, grid)
    if kind == "index_copy":
        return set_at(writable(ov, self), grid, along, picks, False, sayer("copy", dim), place)
    say = sayer("gather", dim) if kind == "index_add" else sayer("rows")
    return reduce_at(writable(ov, self), grid, along, picks, say, reduce, include, place)


@planner("index_fill")
def _index_fill(ov, a):
    self, index, value = a[0], a[2], a[3]
    dim = _dim(a[1], self.dim())
    if dim is None or index.dim() > 1 or index.dtype is not torch.int64 or not _here(self, index):
        return cpu_error(ov, a)
    source = None
    if isinstance(value, torch.Tensor):
        if value.dim():
            return cpu_error(ov, a)
        if value.is_cpu:
            value = value.to(self.dtype).item()
        else:
            source = value if value.dtype is self.dtype else value.to(self.dtype)
    elif isinstance(value, complex) and not self.dtype.is_complex:
        return cpu_error(ov, a)
    elif self.numel() == 0 or not index.numel():
        _C.fill(_C.empty((1,), self.dtype), value)
    grid, along, picks = _rows(self, dim, _vector(index), None)
    say = sayer("fill", dim)
    if source is not None:
        return put_at(writable(ov, self), grid, along, picks, True, say, "set", (geometry(source)[0], [0] * len(grid), source.storage_offset()))
    return put_at(writable(ov, self), grid, along, picks, True, say, "set", scalar=value)


# ---- flat positions ------------------------------------------------------------------------------------------------------
@planner("take")
def _take(ov, a):
    self, index = a
    if index.dtype is not torch.int64 or not _here(self, index) or not self.numel() and index.numel():
        return cpu_error(ov, a)
    flat = contiguous(self)
    grid = tuple(index.shape)
    return take_at(geometry(flat)[0], (flat.numel(),), (1,), flat.storage_offset(), self.dtype, grid, [None] * len(grid),
                   [Pick(index, index.stride(), 0)], True, sayer("flat"))


@planner("put")
def _put(ov, a):
    self, index, source, accumulate = a
    if index.dtype is not torch.int64 or source.dtype is not self.dtype or index.numel() != source.numel() or not _here(self, index, source):
        return cpu_error(ov, a)
    if accumulate and self.dtype.is_complex:
        return NotImplemented
    target = writable(ov, self)
    flat = target if target.is_contiguous() else contiguous(target)
    vector = flat.reshape(-1)
    index, source = index.reshape(-1), source.reshape(-1)
    parts = (vector, (index.numel(),), [None], [Pick(index, index.stride(), 0)], True, sayer("flat"))
    if accumulate:
        put_at(*parts, "add", _source(source, (0,)))
    else:
        set_at(*parts, _source(source, (0,)))
    if flat is not target:
        _C.copy(target, flat, False)
    return target


# ---- x[i, j] -------------------------------------------------------------------------------------------------------------
def _expanded(self, indices):
    """One index tensor or None for each dim, masks replaced by the positions where they are true; None where that fails."""
    out = []
    for t in indices:
        if t is None:
            out.append(None)
        elif t.dtype is torch.bool or t.dtype is torch.uint8:
            nd = t.dim()
            if tuple(t.shape) != tuple(self.shape[len(out):len(out) + nd]):
                return None
            if t.is_cpu:
                columns = torch.ops.aten.nonzero_numpy(t) if nd else torch.ops.aten.nonzero_numpy(t.reshape(1))
            else:
                from ._mask import positions
                rows = positions(t)
                columns = [rows[:, d] for d in range(nd)]
            out.extend(columns[:nd])
        elif t.dtype.name in INTEGERS:
            out.append(t)
        else:
            return None
    return out if len(out) <= self.dim() else None


def _plan_index(self, indices):
    """(grid, along, picks, dims) for x[indices]; dims: where the broadcast indices' dims lie in the grid. None: an error."""
    expanded = _expanded(self, indices)
    if expanded is None:
        return None
    dims = [d for d, t in enumerate(expanded) if t is not None]
    try:
        broadcast = torch.broadcast_shapes(*[tuple(expanded[d].shape) for d in dims]) if dims else ()
    except RuntimeError:
        return None
    broadcast = tuple(broadcast)
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
        known = bounds_of(t) if t.is_cpu and t.numel() else None
        lead = at + len(broadcast) - t.dim()
        over = strides_over(t, grid, [lead + k for k in range(t.dim())]) if not t.is_cpu else None
        if over is None:
            t = upload(t)
            over = strides_over(t, grid, [lead + k for k in range(t.dim())])
        pick = index_pick(t, over, d)
        if known is not None:
            pick.bounds = known
        picks.append(pick)
    return grid, along, picks


@planner("index")
def _index(ov, a):
    self, indices = a
    if not _here(self):
        # x on the CPU, indices on webgpu: PyTorch's error
        raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
    parts = _plan_index(self, indices)
    if parts is None:
        return cpu_error(ov, (self, _zeros_for_masks(indices)), True)
    grid, along, picks = parts
    if len(picks) > MOST_INDICES:
        return NotImplemented
    buffer, shape, strides, offset, dtype, _, _ = geometry(self)
    return take_at(buffer, shape, strides, offset, dtype, grid, along, picks, True, sayer("index"))


def _zeros_for_masks(indices):
    """Indices for stand-ins: positions of masks do count where shapes are compared."""
    return [t.cpu() if t is not None and not t.is_cpu and t.dtype in (torch.bool, torch.uint8) else t for t in indices]


def _only_mask(self, indices):
    """(the one mask, its first dim) of x[mask] = number; None for other indices."""
    mask, at, found = None, 0, 0
    for t in indices:
        if t is None:
            at += mask is None
        elif mask is not None or t.dtype is not torch.bool or not t.dim():
            return None
        else:
            mask, found = t, at
    if mask is None or tuple(mask.shape) != tuple(self.shape[found:found + mask.dim()]):
        return None
    return mask, found


def _fill_masked(target, mask, at, value):
    """target[mask] = one value, without looking at the mask."""
    if mask.is_cpu:
        mask = upload(mask)
    for _ in range(target.dim() - at - mask.dim()):
        mask = mask.unsqueeze(-1)
    from ._mask import fill_where
    fill_where(target, mask, value)
    return target


@planner("index_put")
def _index_put(ov, a):
    self, indices, values, accumulate = a
    if not _here(self):
        raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
    if values.is_cpu and values.dim():
        check_devices((self, values))
    if values.dtype is not self.dtype:
        return cpu_error(ov, (self, _zeros_for_masks(indices), values, accumulate), True)
    if not accumulate and not values.dim() and not self.dtype.is_complex:
        only = _only_mask(self, indices)
        if only is not None:
            return _fill_masked(writable(ov, self), *only, values)
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
        return cpu_error(ov, (self, _zeros_for_masks(indices), values, accumulate), True)
    if len(picks) > MOST_INDICES - (not values.is_cpu) or accumulate and self.dtype.is_complex:
        return NotImplemented
    target, say = writable(ov, self), sayer("index")
    mode = "add" if accumulate else "set"
    if values.is_cpu:
        return put_at(target, grid, along, picks, True, say, mode, scalar=values.item())
    values = values.reshape(shape)
    source = (geometry(values)[0], strides_over(values, grid), values.storage_offset())
    return put_at(target, grid, along, picks, True, say, "add", source) if accumulate else set_at(target, grid, along, picks, True, say, source)


# ---- embedding -----------------------------------------------------------------------------------------------------------
@planner("embedding")
def _embedding(ov, a):
    weight, index = a[0], a[1]
    buffer, shape, strides, offset, dtype, _, _ = geometry(weight)
    if len(shape) != 2 or index.dtype.name not in INTEGERS or not _here(weight, index):
        return cpu_error(ov, a)
    _, own, ist, _, _, _, _ = geometry(index)
    return take_at(buffer, shape, strides, offset, dtype, (*own, shape[1]), [None] * len(own) + [1], [Pick(index, (*ist, 0), 0)], False, sayer("rows"))


@planner("embedding_dense_backward")
def _embedding_backward(ov, a):
    grad, index, rows, padding, by_frequency = a
    if index.dtype.name not in INTEGERS or not _here(grad, index) or not grad.dim() or not _reduces(grad.dtype, "add") or \
            tuple(grad.shape[:-1]) != tuple(index.shape):
        return cpu_error(ov, a)
    width, own, ist = grad.shape[-1], tuple(index.shape), index.stride()
    say = sayer("rows")
    if by_frequency:
        counts = torch.full((rows,), 0, dtype=torch.int32, device="webgpu")
        put_at(counts, own, [None] * len(own), [Pick(index, ist, 0)], False, say, "add", scalar=1)
    r = torch.zeros((rows, width), dtype=grad.dtype, device="webgpu")
    grid = (*own, width)
    put_at(r, grid, [None] * len(own) + [1], [Pick(index, (*ist, 0), 0)], False, say, "add", (geometry(grad)[0], grad.stride(), grad.storage_offset()),
           skip=padding if padding >= 0 else None)
    return r / counts.clamp(min=1).unsqueeze(-1) if by_frequency else r


@planner("embedding_renorm")
def _embedding_renorm(ov, a):
    self, index, most, p = a
    if self.dim() != 2 or index.dtype.name not in INTEGERS or not _here(self, index) or self.dtype is not torch.float32:
        return cpu_error(ov, a) if self.dtype is torch.float32 else NotImplemented
    index = index.reshape(-1)
    target = writable(ov, self)
    rows = torch.index_select(target, 0, index)
    norm = torch.linalg.vector_norm(rows, p, 1, True)
    rows = torch.where(norm > most, rows * (most / (norm + 1e-7)), rows)
    # equal indices write equal rows
    grid, along, picks = _rows(target, 0, index, None)
    return put_at(target, grid, along, picks, False, sayer("rows"), "set", _source(rows, grid))
