"""Tensors on webgpu: made, filled, copied, moved to the CPU and back, below autograd."""

from __future__ import annotations

import torchlite as torch

from .. import _C
from .lazy import stream
from .lazy.checks import note_bounds
from .lazy.expression import Number, assign, before_write, expression, operand, result
from .lazy.stream import Buffer, ready
from .plan import operations
from .transport.bridge import require

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from .._types import DType, Tensor


WEBGPU = 1
DTYPES = frozenset([getattr(torch, name) for name in operations.DTYPES])  # that kernels compute
FLOATS = frozenset([dtype for dtype in DTYPES if dtype.is_floating_point])


def empty(shape: Any, dtype: DType, strides: tuple[int, int] | None = None) -> Tensor:
    """An uninitialised tensor on webgpu."""
    return _C.empty_on(WEBGPU, tuple(shape), strides, dtype)


def upload(t: Any) -> Tensor:
    """A copy of a CPU tensor on webgpu, of the same shape, contiguous."""
    r = empty(t.shape, t.dtype)
    if t.numel():
        t = t.detach().contiguous()
        buffer = _C.geometry(r)[0]
        stream.write(buffer, 0, memoryview(t._storage)[t.storage_offset() * t.itemsize :][: t.nbytes])
        if t.dtype is torch.int64 or t.dtype is torch.int32:
            note_bounds(buffer, t)
    return r


def laid_out(strides: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """The dims from the widest stride to the narrowest, and the way back."""
    order = sorted(range(len(strides)), key=lambda d: -strides[d])
    return order, sorted(range(len(order)), key=order.__getitem__)


def upload_as(t: Tensor) -> Tensor:
    """As upload, with t's strides where its elements lie densely in another order."""
    if t.is_contiguous():
        return upload(t)
    flat = t.detach().permute(laid_out(t.stride())[0])
    if not flat.is_contiguous():
        return upload(t)
    r = empty(t.shape, t.dtype, t.stride())
    stream.write(
        _C.geometry(r)[0], 0, memoryview(flat._storage)[flat.storage_offset() * flat.itemsize :][: flat.nbytes]
    )
    return r


def host_copy_as(t: Tensor) -> Tensor:
    """As host_copy, with the strides of empty_like(t): a kernel's result may be laid out by them."""
    if t.is_contiguous():
        return host_copy(t)
    order, back = laid_out(_C.empty_like(t, torch.uint8).stride())
    return host_copy(t.detach().permute(order)).permute(back)


def contiguous(t: Tensor) -> Tensor:
    """t with its elements in order from offset on; a copy where they are not."""
    return t if t.is_contiguous() else copy_of(t)


# the limited dtypes are only stored: integers of their size move in their place
_BYTES = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


# the dtypes behind complex128
LIMITED = frozenset(
    [d for d in vars(torch).values() if isinstance(d, torch.dtype) and d._code > torch.complex128._code]
)


def _as_bytes(t: Tensor) -> Tensor:
    t = t.detach()
    if t.is_conj() or t.is_neg():
        raise NotImplementedError("webgpu has no conjugates of %s; use x.cpu().resolve_conj()" % t.dtype)
    return t.view(_BYTES[t.itemsize])


def _no_conversion(dtype: DType, to: DType) -> NotImplementedError:
    only, other = (dtype, to) if dtype in LIMITED else (to, dtype)
    return NotImplementedError(
        "webgpu stores %s but does not convert it to or from %s; convert on the CPU: x.cpu().to(%s).to('webgpu')"
        % (only, other, to)
    )


def copy_of(t: Tensor) -> Tensor:
    if t.dtype in LIMITED:
        return copy_of(_as_bytes(t)).view(t.dtype)
    shape = tuple(t.shape)
    if not t.numel() or t.dtype.is_complex:
        r = empty(shape, t.dtype)
        _C.copy(r, t, False)
        return r
    return result(expression("cast", [operand(t, shape)], t.dtype.name, None, shape), t.dtype)


def host_copy(t: Tensor) -> Tensor:
    """A contiguous copy in the CPU's memory; waits for the GPU."""
    return _from_bytes(*_span(t))


def _span(t: Tensor) -> tuple[Buffer, int, Tensor]:
    """(contiguous tensor's buffer, byte offset, tensor)"""
    t = contiguous(t.detach())
    return _C.geometry(t)[0], t.storage_offset() * t.itemsize, t


def _from_bytes(buffer: Buffer, offset: int, t: Tensor, data: Any = None) -> Tensor:
    r = _C.empty(tuple(t.shape), t.dtype)
    if t.numel():
        if data is None:
            data = stream.read(buffer, offset, t.nbytes)
        memoryview(r._storage).cast("B")[: t.nbytes] = memoryview(data).cast("B")[: t.nbytes]
    return r


def laid_like(t: Tensor) -> tuple[Tensor, list[int], list[int]]:
    """t with its dims from the outermost in memory to the innermost, that order, and the one back; see laid_back."""
    t = t.detach()
    if t.is_contiguous():
        order = back = [*range(t.dim())]
        return t, order, back
    order, back = laid_out(_C.empty_like(t, torch.uint8).stride())
    return t.permute(order), order, back


def laid_back(r: Tensor, back: list[int]) -> Tensor:
    """The new tensor that was computed of laid_like(t), with the dims of t and the strides of empty_like(t).
    It is no view."""
    if back == [*range(r.dim())] and not r._is_view():
        return r
    buffer, v = _C.geometry(r)[0], r.permute(back)
    return _C.device_tensor(1, buffer, buffer.nbytes, r.dtype, tuple(v.shape), v.stride())


async def host_copy_async(t: Tensor) -> Tensor:
    """As host_copy, without blocking."""
    buffer, offset, t = _span(t)
    data = await stream.read_async(buffer, offset, t.nbytes) if t.numel() else b""
    return _from_bytes(buffer, offset, t, data)


def device_alloc(code: int, nbytes: int) -> Buffer:
    require()
    return Buffer(nbytes)


def device_resize(buffer: Buffer, old: Any, new: Any) -> Buffer:
    """A buffer of another size with the old one's contents."""
    fresh = Buffer(new)
    if old and new:
        from_, to = ready(buffer), ready(fresh)
        # buffers are of whole words
        stream.words.extend(stream.command(stream.COPY, from_, 0, to, 0, -(-min(old, new) // 4) * 4))
    return fresh


def device_fill(t: Tensor, value: Any) -> None:
    """t[...] = value below autograd."""
    probe = _C.empty((1,), t.dtype)
    _C.fill(probe, value)  # the core's conversion and its errors
    if t.dtype in LIMITED:
        device_fill(_as_bytes(t), probe.view(_BYTES[t.itemsize]).item())
        return
    if t.dtype.is_complex:
        device_copy(t, _C.fill(_C.empty(tuple(t.shape), t.dtype), value))
        return
    raw = bytes(memoryview(probe._storage).cast("B")[: t.itemsize])
    buffer, shape, strides, offset, dtype, dense, numel = _C.geometry(t)
    nbytes = numel * t.itemsize
    if (
        dense
        and offset * t.itemsize % 4 == 0
        and (nbytes % 4 == 0 or offset == 0 and nbytes == buffer.nbytes)
        and (t.itemsize <= 4 or raw[:4] == raw[4:])
    ):
        if offset == 0 and nbytes == buffer.nbytes:
            buffer_overwritten(buffer)
        else:
            before_write(buffer)
        pattern = int.from_bytes((raw * 4)[:4], "little")
        stream.words.extend(
            stream.command(stream.FILL, ready(buffer), offset * t.itemsize, -(-nbytes // 4) * 4, pattern)
        )
        if t.itemsize >= 4 and nbytes == buffer.nbytes and not dtype.is_floating_point:
            v = int(probe.item())
            buffer.bounds = v, v, t.itemsize
        return
    name = dtype.name
    if dtype.is_floating_point:
        number = "float32"
    elif name == "int64":
        number = "int64"
    else:
        number = "int32"
    assign(t, expression("cast", [Number(probe.item(), number)], name, None, shape))


def buffer_overwritten(buffer: Buffer) -> None:
    """before_write() for a full overwrite: a pending value that nothing reads is discarded, never computed."""
    if buffer.pending is not None and buffer.handle == 0 and buffer.readers == 0:
        buffer.pending = None
    buffer.serial = 0
    before_write(buffer)


def device_copy(dst: Tensor, src: Any) -> None:
    """dst[...] = src below autograd, src broadcast and cast; either may be on the CPU."""
    if not dst.numel():
        return
    if dst.is_cpu:
        _C.copy(dst, host_copy(src), False)
        return
    if src.is_cpu:
        copy_in(dst, src)
        return
    if dst.dtype in LIMITED or src.dtype in LIMITED:
        if dst.dtype is not src.dtype:
            raise _no_conversion(src.dtype, dst.dtype)
        device_copy(_as_bytes(dst), _as_bytes(src))
        return
    buffer, shape, strides, offset, dtype, dense, numel = _C.geometry(dst)
    from_, own, own_strides, own_offset, own_dtype, own_dense, _ = _C.geometry(src)
    if from_ is buffer:
        if own_offset == offset and own == shape and own_strides == strides and own_dtype is dtype:
            return
        # Pending values cannot go by the command below, which copies no buffer into itself: their kernel writes
        # them, or it reads a copy of the buffer, which the bridge makes because the kernel also writes it.
        if from_.pending is None:
            src = _detached_copy(src)
            from_, own, own_strides, own_offset, own_dtype, own_dense, _ = _C.geometry(src)
    size = dst.itemsize
    if (
        dtype is own_dtype
        and dense
        and own_dense
        and own == shape
        and from_.pending is None
        and offset * size % 4 == 0
        and own_offset * size % 4 == 0
        and (numel * size % 4 == 0 or offset == 0 and numel * size == buffer.nbytes)
    ):
        source = ready(from_)
        if offset == 0 and numel * size == buffer.nbytes:
            buffer_overwritten(buffer)
        else:
            before_write(buffer)
        nbytes = -(-numel * size // 4) * 4
        stream.words.extend(
            stream.command(stream.COPY, source, own_offset * size, ready(buffer), offset * size, nbytes)
        )
        return
    if dtype.is_complex or own_dtype.is_complex:
        _copy_complex(dst, src)
        return
    while src.dim() > dst.dim():
        src = src.squeeze(0)
    assign(dst, expression("cast", [operand(src, shape)], dtype.name, None, shape))


def _detached_copy(t: Tensor) -> Any:
    """A copy that is made now."""
    if t.dtype.is_complex:
        return upload(host_copy(t))
    r = copy_of(t)
    ready(_C.geometry(r)[0])
    return r


def _copy_complex(dst: Tensor, src: Tensor) -> None:
    """Complex elements move as pairs of float32."""
    if dst.dtype is torch.complex64 and not src.dtype.is_complex:
        pair = torch.view_as_real(dst.detach())
        _C.copy(pair.select(-1, 0), src.detach(), False)
        device_fill(pair.select(-1, 1), 0)  # counts no change of its own
    elif dst.dtype.is_complex:
        _C.copy(torch.view_as_real(dst.detach()), torch.view_as_real(src.detach().expand(dst.shape)), False)
    else:
        pair = torch.view_as_real(src.detach())
        if dst.dtype is torch.bool:
            _C.copy(dst, (pair != 0).any(-1), False)
        else:
            _C.copy(dst, pair.select(-1, 0), False)


def copy_in(dst: Tensor, src: Tensor) -> None:
    """From the CPU."""
    if src.numel() != dst.numel() or src.dtype is not dst.dtype or tuple(src.shape) != tuple(dst.shape):
        src = _C.copy(_C.empty(tuple(dst.shape), dst.dtype), src.detach(), False)
    size, offset = dst.itemsize, dst.storage_offset()
    buffer = _C.geometry(dst)[0]
    if (
        dst.is_contiguous()
        and offset * size % 4 == 0
        and (dst.nbytes % 4 == 0 or offset == 0 and dst.nbytes == buffer.nbytes)
    ):
        src = src.detach().contiguous()
        if dst.nbytes == buffer.nbytes:
            buffer_overwritten(buffer)
        else:
            before_write(buffer)
        stream.write(buffer, offset * size, memoryview(src._storage)[src.storage_offset() * size :][: src.nbytes])
        if dst.nbytes == buffer.nbytes and (src.dtype is torch.int64 or src.dtype is torch.int32):
            note_bounds(buffer, src)
        return
    device_copy(dst, upload(src))


def filled(shape: Any, dtype: DType, value: Any) -> Tensor:
    r = empty(shape, dtype)
    if r.numel():
        device_fill(r, value)
    return r
