"""Commands for the bridge, and the buffers they name.

A buffer is the owner of a storage: it goes when Python's reference count says so, and its number is used again.
Commands are words of 32 bits gathered in memory and run in batches;
they take effect in order, so a number can be reused at once.
Both are kept by the core (native/src/gpu/gpu.c), as is all that a cached element-wise op needs.
"""

from __future__ import annotations


import struct
from array import array

from ... import _C
from ..plan.operations import OPERATIONS
from ..transport import bridge as _bridge
from ..transport.bridge import COPY, FILL, FREE, PLAN, WRITE, command  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from ..._types import Buffer


FLUSH_WORDS = 8192  # about two hundred kernels: the GPU is fed while Python goes on
SMALL_WRITE = 1024

core = _C.webgpu()
core.operations(OPERATIONS)
Buffer, words = core.Buffer, core.words
ready, allocate, launch, flush, fresh, waiting = (
    core.ready,
    core.allocate,
    core.launch,
    core.flush,
    core.fresh,
    core.waiting,
)
product = core.product
checks = {}  # number of a launch whose indices the GPU checks -> what to say; see _checks.py
tick = [0]  # the last of these numbers
status = [None]  # the buffer where launches tell of such indices; see _checks.status
void = []  # (first, last, error type, text): what was written between these numbers is wrong


def device_epoch() -> int:
    """The current device's number, after noticing that it changed: buffers of the old one are void."""
    epoch = _bridge.current.epoch()
    if core.set_epoch(epoch):
        checks.clear()
        void.clear()
    return epoch


def failed(error: Any) -> None:
    """After commands that failed: launches write the status words, so these may be void,
    and with them all that later launches make."""
    if not checks and not isinstance(
        error, _bridge.CannotWait
    ):  # else who looks at the checks is told, and renews them
        status[0] = None


def _send(address: int, count: int) -> bool:
    """Whether so much is under way that the next op should wait before it begins (`_relax`)."""
    try:
        _bridge.current.run_at(address, count)
    except RuntimeError as e:
        failed(e)
        raise
    return bool(_bridge.current.pressing())


def _relax() -> None:
    _bridge.current.relax()


def _claim(handle: int, nbytes: int) -> None:
    try:
        _bridge.current.alloc(handle, nbytes)
    except Exception:
        raise
    except BaseException:  # an interrupt: the bridge may have done it, and the handle is free for use again
        try:
            _bridge.current.run(command(FREE, handle))
        except Exception:
            pass
        raise


def _lost(buffer: Any) -> Any:
    raise _bridge.DeviceLostError(
        "this tensor lived on a webgpu device that is gone (lost or reset); make it anew from a copy on the CPU"
    )


def _usable(buffer: Buffer) -> None:
    from .checks import usable

    usable(buffer)


for _name, _what in {
    "send": _send,
    "claim": _claim,
    "open": device_epoch,
    "relax": _relax,
    "lost": _lost,
    "usable": _usable,
    "tick": tick,
    "bad": void,
}.items():
    core.hook(_name, _what)


_plans = {}


def plan(key: str) -> int:
    """The number of a plan by its key."""
    number = _plans.get(key)
    if number is None:
        number = _plans[key] = _bridge.current.plan(key)
    return number


def run_waiting() -> None:
    """Runs all pending expressions whose results are still held. The last goes first: its kernel may write earlier ones
    too."""
    for buffer in reversed(waiting()):
        try:
            ready(buffer)
        except Exception:
            continue  # it goes on waiting, and who reads it is told


def write(buffer: Buffer, offset: int, memory: memoryview) -> None:
    """Bytes into a buffer, at a byte offset that is a multiple of 4."""
    handle = ready(buffer)
    memory = memoryview(memory).cast("B")
    n = memory.nbytes
    buffer.bounds = None
    if offset == 0 and n >= buffer.nbytes:
        buffer.serial = 0  # nothing that was wrong before comes into it
    if n & 3:  # only at a buffer's end, where there is room
        memory, n = bytes(memory) + bytes(-n % 4), n + 3 & ~3
    if n <= SMALL_WRITE:
        # in one call: a garbage collection may add commands of its own between two
        words.extend(
            command(WRITE, handle, offset, n, *array("I", memory.tobytes() if type(memory) is memoryview else memory))
        )
    else:
        flush()
        _bridge.current.upload(handle, offset, memory)


def read(buffer: Buffer, offset: int, nbytes: int) -> memoryview:
    """Bytes out of a buffer; waits for the GPU."""
    handle = ready(buffer)
    if checks:
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
    if checks:
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
    """The bits of a float32; beyond its range an infinity, as a cast gives."""
    try:
        return _u32.unpack(_f32.pack(x))[0]
    except OverflowError:
        return 0x7F800000 if x > 0 else 0xFF800000


CODES = {
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
}


def scalar_words(value: Any, dtype: str) -> Any:
    """A Python number as uniform words of a compute type: one, or two (low, high) for int64."""
    if dtype == "int64":
        v = int(value)
        return (v & 0xFFFFFFFF, v >> 32 & 0xFFFFFFFF)
    if CODES[dtype] and dtype in ("float32", "float16", "bfloat16"):
        return (float_word(float(value)),)
    return (int(value) & 0xFFFFFFFF,)


geometry = _C.geometry
