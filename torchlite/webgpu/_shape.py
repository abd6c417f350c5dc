"""Ops that move elements to other places: cat, stack, repeat, roll, flip, triangles, padding; and sequences made on the device.

Where the result is the input read with other strides it is an expression like any other and can be taken in by what
follows; cat, stack and roll have a kernel that chooses its input by the coordinate.
"""

import json

import torchlite as torch

from .. import _C

from ._fusion import Coord, Leaf, Number, collapse, dense_strides, expression, operand, result
from ._index import MOVE, Pick, cpu_error, geometry, put_at, sayer
from ._run import PLANNERS, contiguous, empty, planner
from ._stream import Buffer, launch, plan, ready

AT_ONCE = 7                     # inputs of one kernel
_plans = {}


def _moved(t):
    """A complex tensor as one of int64, whose elements the kernels can move."""
    return t.view(torch.int64) if t.dtype.is_complex else t


def _restored(r, dtype):
    return r.view(dtype) if dtype.is_complex else r


def _on_device(*tensors):
    return all(type(geometry(t)[0]) is Buffer for t in tensors)


# ---- cat, stack, roll ----------------------------------------------------------------------------------------------------
def join(parts, dim, shape, dtype):
    """parts: (buffer, strides over the result, offset, length along dim); side by side along dim of a new tensor."""
    r = empty(shape, dtype)
    if not r.numel():
        return r
    out = dense_strides(shape)
    target, start = geometry(r)[0], 0
    move = MOVE.get(dtype.name, dtype.name)
    for first in range(0, len(parts), AT_ONCE):
        group = parts[first:first + AT_ONCE]
        _join(group, dim, (*shape[:dim], sum(p[3] for p in group), *shape[dim + 1:]), move, target, start * out[dim], out)
        start += sum(p[3] for p in group)
    return r


def _join(parts, dim, shape, move, target, offset, out):
    # dims before dim must not be merged with it
    border = (*dense_strides(shape[:dim]), *(0,) * (len(shape) - dim))
    sizes, keep = collapse(shape, [*[p[1] for p in parts], out, border])
    at = next((k for k, d in enumerate(keep) if d >= dim), None) if shape[dim] > 1 else None
    n = 1
    for m in sizes:
        n *= m
    if at is None:                      # one slice: it is all of the result
        at, scale = 0, sizes[0]
    else:
        scale = 1
        for d in range(dim + 1, keep[at] + 1):
            scale *= shape[d]
    values, begin = [n, *sizes], 0
    for buffer, strides, place, length in parts:
        step = strides[keep[at]] if keep else 0
        values.append(place - begin * scale * step if begin else place)
        values.extend([strides[d] for d in keep] if keep else [0])
        begin += length
        values.append(begin * scale)
    values.append(offset)
    values.extend([out[d] for d in keep] if keep else [0])
    key = (len(sizes), at, move, len(parts))
    number = _plans.get(key)
    if number is None:
        number = _plans[key] = plan('join:{"ndim":%d,"dim":%d,"dtype":"%s","parts":%d}' % key)
    handles = [ready(p[0]) for p in parts]
    handles.append(ready(target))
    launch(number, handles, values)


@planner("cat", "stack")
def _cat(ov, a):
    tensors, dim = a
    stack = ov.kernel == "stack"
    if not tensors or not _on_device(*tensors):
        return cpu_error(ov, a)
    parts, dtype, shape, total = [], None, None, 0
    dtypes = {t.dtype for t in tensors}
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    if dtype is None:
        dtype = tensors[0].dtype
        for t in tensors[1:]:
            dtype = torch.promote_types(dtype, t.dtype)
        tensors = [t if t.dtype is dtype else t.to(dtype) for t in tensors]
    for t in tensors:
        buffer, own, strides, offset, _, _, _ = geometry(t)
        if own == (0,) and not stack:
            continue
        if shape is None:
            shape, nd = own, len(own) + stack
            if type(dim) is not int or not -nd <= dim < nd or not own and not stack:
                return cpu_error(ov, a)
            dim %= nd
        if stack:
            if own != shape:
                return cpu_error(ov, a)
            parts.append((buffer, (*strides[:dim], 0, *strides[dim:]), offset, 1))
        else:
            if own != shape and (len(own) != len(shape) or any(x != y for d, (x, y) in enumerate(zip(own, shape)) if d != dim)):
                return cpu_error(ov, a)
            if own[dim]:
                parts.append((buffer, strides, offset, own[dim]))
                total += own[dim]
    if shape is None:
        return cpu_error(ov, a) if type(dim) is not int or not -1 <= dim < 1 else empty((0,), dtype)
    shape = (*shape[:dim], len(parts), *shape[dim:]) if stack else (*shape[:dim], total, *shape[dim + 1:])
    return join(parts, dim, shape, dtype)


def _rolled(x, shift, dim):
    buffer, shape, strides, offset, dtype, _, _ = geometry(x)
    size = shape[dim]
    shift = shift % size if size else 0
    if not shift:
        return x
    return join([(buffer, strides, offset + (size - shift) * strides[dim], shift), (buffer, strides, offset, size - shift)], dim, shape, dtype)


@planner("roll")
def _roll(ov, a):
    self, shifts, dims = a
    shifts = (shifts,) if type(shifts) is int else tuple(shifts)
    dims = (dims,) if type(dims) is int else tuple(dims or ())
    nd = self.dim()
    flat = not dims and len(shifts) == 1
    if not shifts or not flat and (len(shifts) != len(dims) or not nd or any(not -nd <= d < nd for d in dims)):
        return cpu_error(ov, a)
    if flat:
        r = _rolled(contiguous(self).reshape(-1), shifts[0], 0)
    else:
        r = self
        for s, d in zip(shifts, dims):
            r = _rolled(r, s, d % nd)
    if geometry(r)[0] is geometry(self)[0] or not r.is_contiguous():
        fresh = empty(self.shape, self.dtype)
        if r.numel():
            _C.copy(fresh, r.reshape(self.shape), False)
        return fresh
    return r.reshape(self.shape)


# ---- other strides -------------------------------------------------------------------------------------------------------
def _read_as(t, shape, strides, offset):
    """A new tensor whose elements are t's storage read with strides; put off."""
    name = t.dtype.name
    buffer = geometry(t)[0]
    if buffer.pending is not None:
        ready(buffer)
    return result(expression("cast", [Leaf(buffer, name, tuple(strides), offset)], name, None, tuple(shape)), t.dtype)


@planner("flip")
def _flip(ov, a):
    self, dims = a
    nd = self.dim()
    if any(type(d) is not int or not -max(nd, 1) <= d < max(nd, 1) for d in dims) or len({d % max(nd, 1) for d in dims}) != len(dims):
        return cpu_error(ov, a)
    if not self.numel():
        return empty(self.shape, self.dtype)
    x = _moved(self)
    _, shape, strides, offset, _, _, _ = geometry(x)
    strides = list(strides)
    for d in {d % nd for d in dims} if nd else ():
        offset += strides[d] * (shape[d] - 1)
        strides[d] = -strides[d]
    return _restored(_read_as(x, shape, strides, offset), self.dtype)


@planner("repeat")
def _repeat(ov, a):
    self, repeats = a
    repeats = (repeats,) if type(repeats) is int else tuple(repeats)
    lead = len(repeats) - self.dim()
    if lead < 0 or any(r < 0 for r in repeats):
        return cpu_error(ov, a)
    x = _moved(self)
    _, own, strides, offset, _, _, _ = geometry(x)
    sizes, steps, shape = [], [], []
    for i, r in enumerate(repeats):
        n, s = (own[i - lead], strides[i - lead]) if i >= lead else (1, 0)
        sizes.extend((r, n))
        steps.extend((0, s))
        shape.append(r * n)
    if 0 in shape:
        return empty(shape, self.dtype)
    return _restored(_read_as(x, sizes, steps, offset).reshape(shape), self.dtype)


# ---- by coordinate -------------------------------------------------------------------------------------------------------
@planner("tril", "triu")
def _triangle(ov, a):
    self, diagonal = a
    nd = self.dim()
    if nd < 2:
        return cpu_error(ov, a)
    if not self.numel():
        return self if ov.flags & 4 else empty(self.shape, self.dtype)
    x = _moved(self)
    shape, name = tuple(x.shape), x.dtype.name
    rows, columns = shape[-2:]
    diagonal = max(-rows, min(columns, diagonal))
    offset = expression("sub", [Coord(nd - 1), Coord(nd - 2)], "int32", "int32", shape)
    inside = expression("le" if ov.kernel == "tril" else "ge", [offset, Number(diagonal, "int32")], "bool", "int32", shape)
    zero = Number(0.0, "float32") if x.dtype.is_floating_point else Number(0, "int64" if name == "int64" else "int32")
    node = expression("where", [inside, operand(x, shape), zero], name, name, shape)
    if ov.flags & 4:
        from ._pointwise import assign
        assign(x, node)
        return self
    return _restored(result(node, x.dtype), self.dtype)


@planner("diag_embed")
def _diag_embed(ov, a):
    self, offset, dim1, dim2 = a
    nd = self.dim() + 1
    if nd < 2 or not -nd <= dim1 < nd or not -nd <= dim2 < nd or dim1 % nd == dim2 % nd or abs(offset) > 1 << 30:
        return cpu_error(ov, a)
    dim1, dim2 = dim1 % nd, dim2 % nd
    size = self.shape[-1] + abs(offset)
    rest = list(self.shape[:-1])
    shape = [size if d in (dim1, dim2) else rest.pop(0) for d in range(nd)]
    r = torch.zeros(shape, dtype=self.dtype, device="webgpu")
    if self.numel():
        _C.copy(r.diagonal(offset, dim1, dim2), self, False)
    return r


# ---- padding -------------------------------------------------------------------------------------------------------------
@planner("constant_pad_nd")
def _constant_pad(ov, a):
    self, pad, value = a
    nd, shape = self.dim(), list(self.shape)
    if len(pad) % 2 or len(pad) > 2 * nd:
        return cpu_error(ov, a)
    inner = self
    for j in range(len(pad) // 2):
        d = nd - 1 - j
        low, high = pad[2 * j], pad[2 * j + 1]
        start, end = max(-low, 0), shape[d] + min(high, 0)
        if shape[d] + low + high < 0 or end < start:
            return cpu_error(ov, a)
        if low < 0 or high < 0:
            inner = inner.narrow(d, start, end - start)
        shape[d] += low + high
    r = torch.full(shape, value, dtype=self.dtype, device="webgpu")
    if inner.numel():
        place = r
        for j in range(len(pad) // 2):
            d = nd - 1 - j
            place = place.narrow(d, max(pad[2 * j], 0), inner.shape[d])
        _C.copy(place, inner, False)
    return r


def _pad_plan(mode, size, pad, dtype, backward):
    """(plan, words of the sizes, sizes of the padded image, of the image); None where the kernel has no such case."""
    n = len(pad) // 2
    if len(pad) % 2 or n > 3 or n > len(size) or not n:
        return None
    image = list(size[len(size) - n:])
    low = [pad[2 * (n - 1 - i)] for i in range(n)]
    high = [pad[2 * (n - 1 - i) + 1] for i in range(n)]
    padded = [s + x + y for s, x, y in zip(image, low, high)]
    for s, x, y, p in zip(image, low, high, padded):
        most = {"reflect": s - 1, "circular": s}.get(mode)
        if p < 0 or s < 1 or most is not None and (x > most or y > most) or mode == "circular" and min(x, y) < 0:
            return None
    outer = 1
    for s in size[:len(size) - n]:
        outer *= s
    key = (mode, n, dtype, backward)
    number = _plans.get(key)
    if number is None:
        params = {"ndim": n + 1, "dtype": dtype, "mode": mode}
        if backward:
            params["backward"] = True
        number = _plans[key] = plan("pad:" + json.dumps(params, separators=(",", ":")))
    total = outer
    for p in padded:
        total *= p
    return number, [total, outer, *padded, outer, *image, 0, *low], (*size[:len(size) - n], *padded)


@planner("pad_reflect", "pad_replicate", "pad_circular")
def _pad(ov, a):
    self, pad = a
    name = self.dtype.name
    found = _pad_plan(ov.kernel[4:], tuple(self.shape), tuple(pad), MOVE.get(name, name), False)
    if found is None:
        return cpu_error(ov, a)
    number, values, shape = found
    if 0 in shape:
        return empty(shape, self.dtype)
    x, r = contiguous(self), empty(shape, self.dtype)
    launch(number, [ready(geometry(x)[0]), ready(geometry(r)[0])], [*values, x.storage_offset(), 0])
    return r


@planner("pad_reflect_backward", "pad_replicate_backward", "pad_circular_backward")
def _pad_backward(ov, a):
    grad, pad, size = a
    if not grad.dtype.is_floating_point:
        return NotImplemented
    found = _pad_plan(ov.kernel[4:-9], tuple(size), tuple(pad), grad.dtype.name, True)
    if found is None or found[2] != tuple(grad.shape):
        return cpu_error(ov, a)
    number, values, shape = found
    r = torch.zeros(size, dtype=grad.dtype, device="webgpu")
    if 0 not in shape:
        g = contiguous(grad)
        launch(number, [ready(geometry(g)[0]), ready(geometry(r)[0])], [*values, g.storage_offset(), 0])
    return r


# ---- repetition by a tensor ----------------------------------------------------------------------------------------------
@planner("repeat_interleave")
def _repeat_interleave(ov, a):
    repeats, size = a[0], a[1]
    if repeats.dim() != 1 or repeats.dtype not in (torch.int64, torch.int32):
        return cpu_error(ov, a)
    n, bounds = repeats.numel(), geometry(repeats)[0].bounds
    if not n:
        return empty((0,), repeats.dtype) if size in (None, 0) else cpu_error(ov, a)
    ends = repeats.cumsum(0)
    low = 0 if bounds is not None and bounds[0] >= 0 else int(repeats.min().item())
    total = int(ends[-1].item())
    if low < 0:
        raise RuntimeError("repeats can not be negative")
    if size is not None and size != total:
        raise RuntimeError("allocated size does not match required size")
    if not total:
        return empty((0,), repeats.dtype)
    # how many entries end at or before each place
    marks = torch.zeros((total + 1,), dtype=torch.int32, device="webgpu")
    at = Pick(ends, ends.stride(), 0)
    at.bounds = (0, total)
    put_at(marks, (n,), [None], [at], False, sayer("rows"), "add", scalar=1)
    r = marks[:total].cumsum(0, dtype=repeats.dtype)
    geometry(r)[0].bounds = (0, n - 1)
    return r


# ---- sequences -----------------------------------------------------------------------------------------------------------
EXACT = 1 << 24                 # whole numbers up to here are float32's own


def _whole(x):
    return type(x) is int or type(x) is float and x.is_integer()


@planner("arange", "arange_start", "arange_step")
def _arange(ov, a):
    """On the device where every value is a whole number that it computes exactly; else the CPU's values are uploaded."""
    k = {"arange": 0, "arange_start": 1, "arange_step": 2}[ov.kernel]
    start, end, step = (0, a[0], 1) if k == 0 else (a[0], a[1], a[2] if k == 2 else 1)
    dtype = a[k + 1]
    numbers = (start, end, step)
    whole = all(type(x) is int for x in numbers)
    if dtype is None:
        dtype = torch.int64 if whole else torch.get_default_dtype()
    made = PLANNERS["rand"]             # the CPU's
    if not step or not all(_whole(x) and abs(x) < 1 << 53 for x in numbers) or (end - start) * step < 0 or dtype is torch.bool or dtype.is_complex or \
            dtype is torch.float64:
        return made(ov, a)
    start, end, step = int(start), int(end), int(step)
    n = len(range(start, end, step))
    last = start + (n - 1) * step
    if not 0 < n < 1 << 31 or dtype.is_floating_point and max(abs(start), abs(last)) > EXACT or not whole and not dtype.is_floating_point:
        return made(ov, a)
    shape = (n,)
    narrow = max(abs(start), abs(last), abs(step)) < 1 << 31
    kind = "int32" if narrow else "int64"
    node = Coord(-1)
    if step != 1:
        node = expression("mul", [node, Number(step, kind)], kind, kind, shape)
    if start:
        node = expression("add", [node, Number(start, kind)], kind, kind, shape)
    r = result(expression("cast", [node], dtype.name, None, shape), dtype)
    if dtype is torch.int64 or dtype is torch.int32 and narrow:
        geometry(r)[0].bounds = (min(start, last), max(start, last))
    return r


@planner("eye", "eye_m")
def _eye(ov, a):
    m = ov.kernel == "eye_m"
    rows, columns, dtype = a[0], a[1] if m else a[0], a[1 + m]
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if type(rows) is not int or type(columns) is not int or rows < 0 or columns < 0 or dtype.is_complex or dtype is torch.float64:
        return PLANNERS["rand"](ov, a)
    shape = (rows, columns)
    if not rows or not columns:
        return empty(shape, dtype)
    node = expression("eq", [Coord(0), Coord(1)], "bool", "int32", shape)
    return result(node if dtype is torch.bool else expression("cast", [node], dtype.name, None, shape), dtype)
