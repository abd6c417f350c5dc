"""Indices that only the GPU sees: it checks them, and what it found is looked at where a value is read.

A launch with indices whose range is not known takes a number (`guard`) and the shared status words.
The first launch that meets an index out of range leaves its number there, and stores nothing for that index.
Every read and synchronize looks at these words first, so the error that the CPU raises at once comes no later than the
first value, and before it. What was written from the failed launch on is void: using it raises the same error.

Where the range of an index tensor is known (its numbers came from the CPU, or are an arange) the check is made at once.
"""

from __future__ import annotations


from ..transport import bridge
from . import stream
from .stream import COPY, FILL, Buffer, checks, command, flush, tick, void

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from ..._types import Tensor


MASK = (1 << 28) - 1  # numbers on the GPU, with three bits for which of several indices it was
TOGETHER = 1 << 16  # reads up to this size bring the status along
MOST = 1 << 17  # launches remembered before somebody must look
KNOWN = 1 << 20  # elements up to which the range of a new index tensor is looked up


def status() -> int:
    """The handle of the status words."""
    buffer = stream.status[0]
    if buffer is None or buffer.epoch != stream.core.epoch():
        buffer = Buffer(16)
        stream.allocate(buffer)
        _clear(buffer)
        stream.status[0] = buffer
    return buffer.handle


def _clear(buffer: Buffer) -> None:
    stream.words.extend(command(FILL, buffer.handle, 0, 16, 0))


def guard(range_error: Callable[..., Any]) -> int:
    """A number for a launch that checks indices. range_error(value, extent, which) gives the error; results must be
    allocated after."""
    if len(checks) >= MOST and not len(checks) % MOST:
        try:
            verify()
        except bridge.CannotWait:
            pass  # then they are raised where a value is read
    tick[0] = number = tick[0] + 1
    if not number & MASK:
        tick[0] = number = number + 1
    checks[number] = range_error
    return (number & MASK) << 3


def note_bounds(buffer: Buffer, t: Tensor) -> None:
    """Remembers the range of an integer tensor of the CPU that became the contents of a buffer."""
    n = t.numel()
    if 0 < n <= KNOWN:
        buffer.bounds = (*bounds_of(t), t.itemsize)


def bounds_of(t: Tensor) -> tuple[int, int]:
    """(least, greatest) of a CPU tensor of integers with elements."""
    if t.numel() == 1:
        v = int(t.item())
        return v, v
    low, high = t.detach().aminmax()
    return int(low.item()), int(high.item())


def known(buffer: Buffer, itemsize: int) -> tuple[int, int] | None:
    """(least, greatest) of a buffer's elements of a size, None where that is not known:
    they could be pieces of others."""
    b = buffer.bounds
    return b[:2] if b is not None and (b[2] if len(b) > 2 else 8) == itemsize else None


# ---- looking ---------------------------------------------------------------------------------------------------------
def _settle(words: list[int], upto: int) -> Any:
    """Judges the status as it was after launch number `upto`."""
    code, low, high, extent = words
    if not code:
        for number in [k for k in checks if k <= upto]:
            del checks[number]
        return
    number, which = next((k for k in checks if k & MASK == code >> 3), None), code & 7
    range_error = checks.get(number)
    value = low | high << 32
    value -= (value >> 63) << 64
    error = (
        range_error(value, extent, which)
        if range_error
        else IndexError("index %d is out of bounds for a dimension with size %d" % (value, extent))
    )
    if len(void) > 64:
        void[:2] = [(void[0][0], void[1][1], *void[1][2:])]
    void.append((number or min(checks, default=0), tick[0], type(error), str(error)))
    tick[0] += 1
    checks.clear()
    if stream.status[0] is not None:
        _clear(stream.status[0])
    raise error


def usable(buffer: Buffer) -> None:
    """Raises the error that made a buffer's contents wrong."""
    for first, last, kind, text in void:
        if first <= buffer.serial <= last:
            raise kind(text)


def _header(data: Any) -> list[int]:
    return memoryview(data).cast("B")[:16].cast("I").tolist()


def _renew(error: Any) -> None:
    """After a status that could not be read, as a command before it failed: what depends on its checks is void."""
    if isinstance(error, bridge.CannotWait):
        return
    stream.status[0] = None
    if checks:
        void.append(
            (min(checks), tick[0], RuntimeError, "indices could not be checked, as commands on webgpu failed before")
        )
        tick[0] += 1
        checks.clear()


def verify() -> None:
    """Looks at the status; raises what it tells."""
    if checks:
        upto, handle = tick[0], status()
        flush()
        try:
            data = bridge.current.read(handle, 0, 16)
        except RuntimeError as e:
            _renew(e)
            raise
        _settle(_header(data), upto)


async def verify_async() -> None:
    if checks:
        upto, handle = tick[0], status()
        flush()
        try:
            data = await bridge.current.read_async(handle, 0, 16)
        except RuntimeError as e:
            _renew(e)
            raise
        _settle(_header(data), upto)


def _both(buffer: Buffer, offset: int, nbytes: int) -> tuple[Buffer, int, int]:
    """A buffer with the status and, after it, bytes of another buffer; (buffer, bytes before those asked for)."""
    start, lead = offset & ~3, offset & 3
    size = lead + nbytes + 3 & ~3
    both = Buffer(16 + size)
    handle = stream.allocate(both)
    stream.words.extend(
        command(COPY, status(), 0, handle, 0, 16) + command(COPY, buffer.handle, start, handle, 16, size)
    )
    flush()
    return both, 16 + lead, 16 + size


def read(buffer: Buffer, offset: int, nbytes: int) -> memoryview:
    """Bytes out of a buffer after a look at the status, in one read where they are few."""
    if nbytes > TOGETHER:
        verify()
        return stream.read(buffer, offset, nbytes)
    upto = tick[0]
    both, lead, size = _both(buffer, offset, nbytes)
    try:
        data = bridge.current.read(both.handle, 0, size)
    except bridge.CannotWait:
        raise
    except RuntimeError:
        verify()  # which of the two it was
        raise
    _settle(_header(data), upto)
    return memoryview(data)[lead : lead + nbytes]


async def read_async(buffer: Buffer, offset: int, nbytes: int) -> memoryview:
    if nbytes > TOGETHER:
        await verify_async()
        return await stream.read_async(buffer, offset, nbytes)
    upto = tick[0]
    both, lead, size = _both(buffer, offset, nbytes)
    try:
        data = await bridge.current.read_async(both.handle, 0, size)
    except RuntimeError:
        await verify_async()
        raise
    _settle(_header(data), upto)
    return memoryview(data)[lead : lead + nbytes]
