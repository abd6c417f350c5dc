"""Commands for the bridge, and the buffers they name.

A buffer is the owner of a storage: it goes when Python's reference count says so, and its number is used again. Commands
are words of 32 bits gathered in a list and run in batches; they take effect in order, so a number can be reused at once.
"""

import struct
from array import array

from .. import _C
from . import _bridge

ALLOC, FREE, WRITE, COPY, FILL, PLAN = 1, 2, 3, 5, 6, 11
INDEX_BITS = 20
INDEX_MASK = (1 << INDEX_BITS) - 1
GENERATIONS = (1 << (32 - INDEX_BITS)) - 1
FLUSH_WORDS = 8192                # about two hundred kernels: the GPU is fed while Python goes on
LARGE = 1 << 20                   # allocations from here on are made at once, so that lack of memory is told where it belongs
SMALL_WRITE = 1024

words = []
_free = []                        # handles of freed slots
_next = [1]
live = {}                         # id(expression) -> weakref of the buffer that waits for it
_epoch = [None]                   # the device that handles belong to: after a reset old buffers are void
checks = {}                       # number of a launch whose indices the GPU checks -> what to say; see _checks.py
tick = [0]                        # the last of these numbers
void = []                         # (first, last, error type, text): what was written between these numbers is wrong


class Buffer:
    """GPU memory of a storage. `pending` is the expression that will fill it, while that has not run. `serial` is the
    number of the last checked launch before it was written; `bounds` the least and greatest of its integers, where known."""

    __slots__ = ("nbytes", "handle", "epoch", "pending", "serial", "bounds", "__weakref__")

    def __init__(self, nbytes):
        self.nbytes = nbytes
        self.handle = 0
        self.epoch = None
        self.pending = None
        self.bounds = None

    def __del__(self):
        if self.pending is not None:
            live.pop(id(self.pending), None)
        if self.handle and self.epoch == _epoch[0]:
            words.extend((FREE | 2 << 8, self.handle))
            _free.append(self.handle)

    @property
    def address(self):
        """A number that differs between buffers and leaves room for offsets."""
        return (ready(self) & INDEX_MASK) << 34


def device_epoch():
    """The current device's number, after noticing that it changed."""
    epoch = _bridge.current.epoch()
    if epoch != _epoch[0]:
        words.clear()
        _free.clear()
        _next[0] = 1
        _epoch[0] = epoch
        checks.clear()
        void.clear()
    return epoch


def _take():
    if _free:
        old = _free.pop()
        generation = (old >> INDEX_BITS) + 1
        return (old & INDEX_MASK) | (generation if generation <= GENERATIONS else 1) << INDEX_BITS
    index = _next[0]
    if index > INDEX_MASK:
        raise RuntimeError("more than %d tensors on webgpu at a time" % INDEX_MASK)
    _next[0] = index + 1
    return index | 1 << INDEX_BITS


def allocate(buffer):
    """Gives the buffer its memory."""
    if _epoch[0] is None:
        device_epoch()
    handle = _take()
    size = buffer.nbytes + 15 & ~15 or 16
    if size >= LARGE:
        flush()
        try:
            _bridge.current.alloc(handle, size)
        except BaseException:
            _free.append(handle)
            raise
    else:
        words.extend((ALLOC | 3 << 8, handle, size))
    buffer.handle, buffer.epoch, buffer.serial = handle, _epoch[0], tick[0]
    return handle


def ready(buffer):
    """The buffer's handle, with its contents on their way."""
    if buffer.pending is not None:
        from ._fusion import materialize
        materialize(buffer)
    if not buffer.handle:
        return allocate(buffer)
    if buffer.epoch != _epoch[0]:
        raise _bridge.DeviceLostError("this tensor lived on a webgpu device that is gone (lost or reset); make it anew from a copy on the CPU")
    if void:
        from ._checks import usable
        usable(buffer)
    return buffer.handle


def launch(plan, handles, values):
    """Runs a plan on buffers (handles) with its words."""
    n, m = len(handles), len(values)
    words.extend((PLAN | (3 + n + m) << 8, plan, n | m << 8))
    words.extend(handles)
    words.extend(values)
    if len(words) > FLUSH_WORDS:
        flush()


def flush():
    """Hands the commands over."""
    if words:
        batch = [w & 0xffffffff for w in words]
        words.clear()
        _bridge.current.run(batch)


_plans = {}


def plan(key):
    """The number of a plan by its key."""
    number = _plans.get(key)
    if number is None:
        number = _plans[key] = _bridge.current.plan(key)
    return number


def write(buffer, offset, memory):
    """Bytes into a buffer, at a byte offset that is a multiple of 4."""
    handle = ready(buffer)
    memory = memoryview(memory).cast("B")
    n = memory.nbytes
    if offset == 0 and n >= buffer.nbytes:
        buffer.serial = 0               # nothing that was wrong before comes into it
    if n & 3:                           # only at a buffer's end, where there is room
        memory, n = bytes(memory) + bytes(-n % 4), n + 3 & ~3
    if n <= SMALL_WRITE:
        words.extend((WRITE | (4 + n // 4) << 8, handle, offset, n))
        words.extend(array("I", memory.tobytes() if type(memory) is memoryview else memory))
    else:
        flush()
        _bridge.current.upload(handle, offset, memory)


def read(buffer, offset, nbytes):
    """Bytes out of a buffer; waits for the GPU."""
    handle = ready(buffer)
    if checks:
        from ._checks import read
        return read(buffer, offset, nbytes)
    flush()
    start, lead = offset & ~3, offset & 3
    data = _bridge.current.read(handle, start, lead + nbytes + 3 & ~3)
    return memoryview(data)[lead:lead + nbytes]


async def read_async(buffer, offset, nbytes):
    handle = ready(buffer)
    if checks:
        from ._checks import read_async
        return await read_async(buffer, offset, nbytes)
    flush()
    start, lead = offset & ~3, offset & 3
    data = await _bridge.current.read_async(handle, start, lead + nbytes + 3 & ~3)
    return memoryview(data)[lead:lead + nbytes]


_f32 = struct.Struct("<f")
_u32 = struct.Struct("<I")


def float_word(x):
    """The bits of a float32; beyond its range an infinity, as a cast gives."""
    try:
        return _u32.unpack(_f32.pack(x))[0]
    except OverflowError:
        return 0x7f800000 if x > 0 else 0xff800000


CODES = {"float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1}


def scalar_words(value, dtype):
    """A Python number as uniform words of a compute type: one, or two (low, high) for int64."""
    if dtype == "int64":
        v = int(value)
        return (v & 0xffffffff, v >> 32 & 0xffffffff)
    if CODES[dtype] and dtype in ("float32", "float16", "bfloat16"):
        return (float_word(float(value)),)
    return (int(value) & 0xffffffff,)


geometry = _C.geometry
