"""The command stream and its buffers, as Python uses them; writes and reads of buffers.

The core (native/src/gpu/gpu.c) keeps the commands and the buffers. This module sets the core's hooks (GpuHooks in
gpu.h). Commands are words of 32 bits. They take effect in order, so a handle can be reused as soon as its buffer is
gone.
"""

from __future__ import annotations


import struct
from array import array

from ... import _C
from ..plan.operations import DTYPES, OPERATIONS, REDUCTIONS
from ..transport import bridge as _bridge
from ..transport.bridge import COPY, FILL, FREE, PLAN, WRITE, command  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from ..._types import Buffer


FLUSH_WORDS = 8192  # about two hundred launches: the GPU works while Python goes on
SMALL_WRITE = 1024  # bytes: smaller uploads go inside the stream

core = _C.webgpu()
core.operations(OPERATIONS)
core.reductions(REDUCTIONS)
Buffer, words = core.Buffer, core.words
ready, allocate, launch, flush, fresh, pending_buffers = (
    core.ready,
    core.allocate,
    core.launch,
    core.flush,
    core.fresh,
    core.pending_buffers,
)
product, on_device, family = core.product, core.on_device, core.family
open_checks: dict[int, Any] = {}  # number of a launch that checks indices -> what makes its error; see checks.py
last_check = [0]  # the last of these numbers
status_buffer = [None]  # the buffer in which launches note bad indices; see checks.status
# (first, last, error type, text): buffers written between these numbers are void
void_ranges: list[tuple[int, int, type[Exception], str]] = []


def device_epoch() -> int:
    """The current device's number. If the device is a new one, this forgets what belongs to the old one."""
    epoch = _bridge.current.epoch()
    if core.set_epoch(epoch):
        open_checks.clear()
        void_ranges.clear()
    return epoch


def failed(error: Any) -> None:
    """Call it after commands failed. They may have poisoned the status buffer, which launches write; then every later
    launch that checks indices would be poisoned too. So the next one gets a new status buffer."""
    if isinstance(error, _bridge.CannotWait) or open_checks:
        return  # nothing failed, or checks.verify() will meet the failure and drop the status buffer itself
    status_buffer[0] = None


def _send(address: int, count: int) -> bool:
    """Runs a batch. True if the GPU is so far behind that the next op should wait before it begins (`_drain`)."""
    try:
        _bridge.current.run_at(address, count)
    except RuntimeError as e:
        failed(e)
        raise
    return bool(_bridge.current.backlogged())


def _drain() -> None:
    _bridge.current.drain()


def _claim(handle: int, nbytes: int) -> None:
    try:
        _bridge.current.alloc(handle, nbytes)
    except Exception:
        raise
    except BaseException:  # an interrupt: the bridge may have allocated, but the core will use the handle again
        try:
            _bridge.current.run(command(FREE, handle))
        except Exception:
            pass
        raise


def _raise_lost(buffer: Any) -> Any:
    raise _bridge.DeviceLostError(
        "this tensor lived on a webgpu device that is gone (lost or reset); make it anew from a copy on the CPU"
    )


def _raise_if_void(buffer: Buffer) -> None:
    from .checks import raise_if_void

    raise_if_void(buffer)


for _name, _what in {
    "send": _send,
    "claim": _claim,
    "open": device_epoch,
    "drain": _drain,
    "raise_lost": _raise_lost,
    "raise_if_void": _raise_if_void,
    "last_check": last_check,
    "void_ranges": void_ranges,
}.items():
    core.hook(_name, _what)


def run_pending() -> None:
    """Runs all pending expressions whose results are still held. The last goes first, since its kernel may write the
    results of earlier ones too."""
    for buffer in reversed(pending_buffers()):
        try:
            ready(buffer)
        except Exception:
            continue  # it stays pending, and a read raises the error


def write(buffer: Buffer, offset: int, memory: memoryview) -> None:
    """Writes bytes into a buffer, at a byte offset that is a multiple of 4."""
    handle = ready(buffer)
    memory = memoryview(memory).cast("B")
    n = memory.nbytes
    buffer.bounds = None
    if offset == 0 and n >= buffer.nbytes:
        buffer.serial = 0  # it is overwritten whole, so earlier bad indices no longer matter
    if n & 3:  # happens only at a buffer's end, which is padded
        memory, n = memoryview(bytes(memory) + bytes(-n % 4)), n + 3 & ~3
    if n <= SMALL_WRITE:
        # in one call: between two calls a garbage collection may add commands of its own
        words.extend(command(WRITE, handle, offset, n, *array("I", memory.tobytes())))
    else:
        flush()
        _bridge.current.upload(handle, offset, memory)


def read(buffer: Buffer, offset: int, nbytes: int) -> memoryview:
    """Reads bytes of a buffer; waits for the GPU."""
    handle = ready(buffer)
    if open_checks:
        from .checks import read

        return read(buffer, offset, nbytes)
    flush()
    start, lead = offset & ~3, offset & 3
    try:
        data = _bridge.current.read(handle, start, lead + nbytes + 3 & ~3)
    except RuntimeError as e:
        failed(e)
        raise
    return memoryview(data)[lead : lead + nbytes]


async def read_async(buffer: Buffer, offset: int, nbytes: int) -> memoryview:
    handle = ready(buffer)
    if open_checks:
        from .checks import read_async

        return await read_async(buffer, offset, nbytes)
    flush()
    start, lead = offset & ~3, offset & 3
    try:
        data = await _bridge.current.read_async(handle, start, lead + nbytes + 3 & ~3)
    except RuntimeError as e:
        failed(e)
        raise
    return memoryview(data)[lead : lead + nbytes]


_f32 = struct.Struct("<f")
_u32 = struct.Struct("<I")


def float_word(x: Any) -> int:
    """The bits of x as float32; an infinity beyond its range, as a cast gives."""
    try:
        return _u32.unpack(_f32.pack(x))[0]
    except OverflowError:
        return 0x7F800000 if x > 0 else 0xFF800000


def scalar_words(value: Any, dtype: str) -> Any:
    """A Python number as words of a compute type: one, or two (low, high) for int64."""
    if dtype == "int64":
        v = int(value)
        return (v & 0xFFFFFFFF, v >> 32 & 0xFFFFFFFF)
    if DTYPES[dtype] == "f32":
        return (float_word(float(value)),)
    return (int(value) & 0xFFFFFFFF,)


geometry = _C.geometry
