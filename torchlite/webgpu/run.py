"""How an op runs on webgpu: a planner for its kernel row, the op's body, or the CPU, which is never silent.

`PLANNERS` has a function for each kernel row that the device has:
planner(ov, args) with the op's arguments in schema order; it returns the result, or NotImplemented for what it does not
do. The file is loaded when the first tensor asks for the device.
"""

from __future__ import annotations


import os
from typing import Any

import torchlite as torch

from .. import _C
from .lazy import stream
from .lazy.checks import note_bounds
from .lazy.expression import Number, before_write, expression, operand, result
from .plan.pointwise import ROWS, assign, pointwise
from .lazy.stream import Buffer, ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from .._types import DType, Overload, Tensor


Tensor = _C.TensorBase
WEBGPU = 1
PLANNERS = {}
# rows whose op body computes in float64, and those whose planner leaves dtypes to the CPU that it may have to refuse
CPU_FIRST = frozenset(
    (
        "_fft_c2c _fft_r2c _fft_c2r mm mv dot vdot matmul addmm addmv baddbmm linear scatter index_reduce bincount "
        "bucketize max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices avg_pool1d avg_pool2d "
        "avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d adaptive_avg_pool1d "
        "adaptive_avg_pool2d adaptive_avg_pool3d"
    ).split()
)
fallbacks = {}  # op -> how often the CPU ran it
on_fallback = []  # functions that are told of each, by the op's name
strict = os.environ.get("TORCHLITE_WEBGPU_STRICT", "") not in ("", "0")


def planner(*rows: str) -> Callable[..., Any]:
    """Registers a function for kernel rows."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        for row in rows:
            PLANNERS[row] = fn
        return fn

    return register


def device_run(ov: Any, args: Any) -> Any:
    """Runs an overload that has a CPU kernel, with tensors on webgpu."""
    name = ov.kernel
    row = ROWS.get(name)
    if row is not None:
        r = pointwise(ov, row, args)
        if r is not NotImplemented:
            return r
    else:
        fn = PLANNERS.get(name)
        if fn is not None:
            r = fn(ov, args)
            if r is not NotImplemented:
                return r
    if ov.body is not None and name not in CPU_FIRST:
        return NotImplemented
    return on_cpu(ov, args)


# ---- tensors ---------------------------------------------------------------------------------------------------------
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


def _laid_out(strides: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """The dims from the widest stride to the narrowest, and the way back."""
    order = sorted(range(len(strides)), key=lambda d: -strides[d])
    return order, sorted(range(len(order)), key=order.__getitem__)


def _upload_as(t: Tensor) -> Tensor:
    """As upload, with t's strides where its elements lie densely in another order."""
    if t.is_contiguous():
        return upload(t)
    flat = t.detach().permute(_laid_out(t.stride())[0])
    if not flat.is_contiguous():
        return upload(t)
    r = empty(t.shape, t.dtype, t.stride())
    stream.write(
        _C.geometry(r)[0], 0, memoryview(flat._storage)[flat.storage_offset() * flat.itemsize :][: flat.nbytes]
    )
    return r


def _host_copy_as(t: Tensor) -> Tensor:
    """As host_copy, with the strides of empty_like(t): a kernel's result may be laid out by them."""
    if t.is_contiguous():
        return host_copy(t)
    order, back = _laid_out(_C.empty_like(t, torch.uint8).stride())
    return host_copy(t.detach().permute(order)).permute(back)


def contiguous(t: Tensor) -> Tensor:
    """t with its elements in order from offset on; a copy where they are not."""
    return t if t.is_contiguous() else _copy_of(t)


def _copy_of(t: Tensor) -> Tensor:
    shape = tuple(t.shape)
    if not t.numel() or t.dtype.is_complex:
        r = empty(shape, t.dtype)
        _C.copy(r, t, False)
        return r
    return result(expression("cast", [operand(t, shape)], t.dtype.name, None, shape), t.dtype)


def host_copy(t: Tensor) -> Tensor:
    """A contiguous copy in the CPU's memory; waits for the GPU."""
    if t.device.type == "meta":
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
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
    order, back = _laid_out(_C.empty_like(t, torch.uint8).stride())
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
    if code != WEBGPU:
        raise NotImplementedError("device meta is not supported by torchlite; available devices: cpu, webgpu")
    from .transport.bridge import require

    require()
    return Buffer(nbytes)


def device_resize(buffer: Buffer, old: Any, new: Any) -> Buffer:
    """A buffer of another size with the old one's contents."""
    fresh = Buffer(new)
    if old and new:
        from_, to = ready(buffer), ready(fresh)
        stream.words.extend(
            stream.command(stream.COPY, from_, 0, to, 0, -(-min(old, new) // 4) * 4)
        )  # buffers are of whole words
    return fresh


def device_fill(t: Tensor, value: Any) -> None:
    """t[...] = value below autograd."""
    probe = _C.empty((1,), t.dtype)
    _C.fill(probe, value)  # the core's conversion and its errors
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
    """As before_write where all of the buffer is about to change: what was to come, and nobody reads, is dropped."""
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
        _copy_in(dst, src)
        return
    buffer, shape, strides, offset, dtype, dense, numel = _C.geometry(dst)
    from_, own, own_strides, own_offset, own_dtype, own_dense, _ = _C.geometry(src)
    if from_ is buffer:
        if own_offset == offset and own == shape and own_strides == strides and own_dtype is dtype:
            return
        # Values that are still to come cannot go by the command below, which copies no buffer into itself:
        # the kernel that is run for them computes them,
        # or reads a copy of the buffer that the bridge makes as it is written too.
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
    r = _copy_of(t)
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


def _copy_in(dst: Tensor, src: Tensor) -> None:
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


# ---- the CPU in its place --------------------------------------------------------------------------------------------
# rows that make numbers on the CPU by definition, so that a seed gives PyTorch's numbers: nothing is read back
MADE_ON_CPU = frozenset(
    """rand randn randint randint_low randperm arange arange_start arange_step linspace logspace eye eye_m tril_indices
triu_indices""".split()
)
_RANDOM_IN_PLACE = frozenset(
    "normal_ uniform_ exponential_ cauchy_ geometric_ log_normal_ random_ random_from random_to bernoulli_".split()
)
_LIKE_ONLY = frozenset(("dropout_noise",))  # random tensors like their first argument, whose elements do not count
# arguments that the CPU kernel changes beside its result
_CHANGED = {"batch_norm": (3, 4), "native_batch_norm": (3, 4)}


def _without_device(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        [None if isinstance(a, torch.device) or type(a) is str and a.startswith("webgpu") else a for a in args]
    )


def made_on_cpu(ov: Overload, args: tuple[Any, ...]) -> Any:
    return _up(_C.call_below(ov, _without_device(args)))


def random_in_place(ov: Overload, args: tuple[Any, ...]) -> Any:
    self = args[0]
    if any([isinstance(a, Tensor) for a in args[1:]]):
        return NotImplemented
    _copy_in(self, _C.call_inplace_below(ov, (_stand_in(self), *args[1:])))
    return self


def like_only(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    return _upload_as(_C.call_below(ov, (_stand_in(args[0]), *args[1:])))


def _stand_in(t: Tensor) -> Tensor:
    """On the CPU, with t's strides: numbers are drawn in the order of memory."""
    return (
        _C.empty(tuple(t.shape), t.dtype)
        if t.is_contiguous()
        else _C.empty_strided(tuple(t.shape), t.stride(), t.dtype)
    )


for _row in MADE_ON_CPU:
    PLANNERS[_row] = made_on_cpu
for _row in _RANDOM_IN_PLACE:
    PLANNERS[_row] = random_in_place
for _row in _LIKE_ONLY:
    PLANNERS[_row] = like_only


def check_devices(args: tuple[Any, ...]) -> None:
    """PyTorch's error for tensors of several devices; 0-dim CPU tensors go with any."""
    for a in args:
        for t in a if isinstance(a, (list, tuple)) else (a,):
            if isinstance(t, Tensor) and t.is_cpu and t.dim():
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found at least two devices, webgpu:0 and cpu!"
                )


def on_cpu(ov: Any, args: Any) -> Any:
    """Runs the CPU's kernel on copies and brings the results back: said once for each op, an error in strict mode."""
    name = ov.spec.name
    check_devices(args)
    note(name)
    moved = tuple([_down(a) for a in args])
    if ov.inplace:
        _C.call_inplace_below(ov, moved)
        device_copy(args[0], moved[0])
        return args[0]
    r = _C.call_below(ov, moved)
    for i in _CHANGED.get(ov.kernel, ()):
        if isinstance(args[i], Tensor) and not args[i].is_cpu:
            device_copy(args[i], moved[i])
    return _up(r)


def through_cpu(name: str, fn: Callable[..., Any], *tensors: Any) -> Any:
    """fn(*tensors) on the CPU, recorded: for bodies that compute in float64."""
    note(name)
    with torch.device("cpu"):  # for what fn makes itself
        return fn(*[t.cpu() for t in tensors]).to(tensors[0].device)


def note(name: str) -> None:
    """Says that the CPU runs an op in the device's place: a warning the first time, an error in strict mode."""
    for fn in on_fallback:
        fn(name)
    if strict:
        raise NotImplementedError(
            "The operator 'aten::%s' is not currently implemented for the webgpu device, "
            "and TORCHLITE_WEBGPU_STRICT is set. Move its arguments to the CPU with .cpu()" % name
        )
    if name not in fallbacks:
        _warn(
            "The operator 'aten::%s' is not currently supported on the webgpu device and runs on the CPU: "
            "its arguments are read back and "
            'its results uploaded. torch.explain(%r, device="webgpu") tells more.' % (name, name)
        )
    fallbacks[name] = fallbacks.get(name, 0) + 1


def _warn(text: str) -> None:
    """A warning that points at the user's line."""
    import sys
    import warnings

    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(package + os.sep):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)


def _down(a: Any) -> Any:
    if isinstance(a, Tensor):
        return _host_copy_as(a) if not a.is_cpu else a
    if isinstance(a, (list, tuple)) and any(isinstance(x, Tensor) for x in a):
        return type(a)([_down(x) for x in a])
    return a


def _up(r: Any) -> Tensor | tuple[Tensor | None, ...] | None:
    if isinstance(r, Tensor):
        return _upload_as(r) if r.is_cpu else r
    if type(r) in (list, tuple):
        return type(r)([_up(x) for x in r])
    return r


# ---- factories -------------------------------------------------------------------------------------------------------
def _dtype_of(dtype: DType | None, value: Any = None) -> DType:
    if dtype is not None:
        return dtype
    if value is not None:
        if value is True or value is False:
            return torch.bool
        if isinstance(value, int):
            return torch.int64
        if isinstance(value, complex):
            return torch.complex64
        return torch.get_default_dtype()
    return torch.get_default_dtype()


def _filled(shape: Any, dtype: DType, value: Any) -> Tensor:
    r = empty(shape, dtype)
    if r.numel():
        device_fill(r, value)
    return r


@planner("empty")
def _empty(ov: Overload, a: tuple[Any, ...]) -> Any:
    if a[5] is not None and a[5] is not torch.contiguous_format and a[5] is not torch.preserve_format:
        return NotImplemented
    return empty(a[0], _dtype_of(a[1]))


@planner("zeros", "ones")
def _zeros(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    return _filled(a[0], _dtype_of(a[1]), 0 if ov.kernel == "zeros" else 1)


@planner("full")
def _full(ov: Overload, a: tuple[Any, ...]) -> Tensor:
    return _filled(a[0], _dtype_of(a[2], a[1]), a[1])


_LIKE = {
    "zeros_like": 0,
    "ones_like": 1,
    "empty_like": None,
    "full_like": None,
    "new_zeros": 0,
    "new_ones": 1,
    "new_empty": None,
    "new_full": None,
}


@planner(*_LIKE)
def _like(ov: Any, a: tuple[Any, ...]) -> Tensor:
    """*_like and new_*: on self's device unless another is named."""
    kind = ov.kernel
    self, rest = a[0], list(a[1:])
    size = tuple(self.shape) if kind.endswith("_like") else tuple(rest.pop(0))
    value = rest.pop(0) if "full" in kind else _LIKE[kind]
    dtype, _, device = rest[:3]
    dtype = self.dtype if dtype is None else dtype
    on: Any = self.device if device is None else torch.device(device)
    if on.type == "cpu":
        return torch.full(size, value, dtype=dtype) if value is not None else _C.empty(size, dtype)
    format_ = rest[4] if len(rest) > 4 else None
    if kind.endswith("_like") and format_ in (None, torch.preserve_format) and not self.is_contiguous():
        like = _C.empty_like(
            _C.empty_strided(tuple(self.shape), self.stride(), torch.uint8) if self.is_cpu else self, dtype
        )
        r = empty(size, dtype, like.stride())
    elif format_ in (torch.channels_last, torch.channels_last_3d):
        from ..ops.copying import _channels_last_strides

        r = empty(size, dtype, _channels_last_strides(size, format_))
    else:
        r = empty(size, dtype)
    if value is not None and r.numel():
        device_fill(r, value)
    return r


from .plan import families  # noqa: E402, F401

if os.environ.get("TORCHLITE_DEBUG"):
    from .watch import debug

    debug.from_environment()
