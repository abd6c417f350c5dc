"""Checks of indices that only the GPU sees.

If Python knows the range of an index tensor (its numbers came from the CPU, or are an arange), it checks at once.
Otherwise the launch gets a number (`guard`) and the shared status words, and its kernel checks. The first launch that
meets an index out of range leaves its number in these words, and writes nothing for that index.

Every read and synchronize looks at the status first. So the error that the CPU would raise at once is raised before the
program sees any value. Buffers written since the failed launch are void: using one raises the same error.
"""

from __future__ import annotations


from ..transport import bridge
from . import stream
from .stream import COPY, FILL, Buffer, command, flush, last_check, open_checks, void_ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from ..._types import Tensor


epoch = stream.core.epoch
MASK = (1 << 28) - 1  # of a check's number on the GPU; three more bits say which of several indices it was
TOGETHER = 1 << 16  # bytes: smaller reads fetch the status in the same read
MOST = 1 << 17  # open checks, after which the status is read even if nobody reads a value
_CLEAR = command(FILL, 0, 0, 16, 0)[0]  # the head of the command that clears the status
KNOWN = 1 << 20  # elements: the range of a larger index tensor is not computed


def status() -> int:
    """The handle of the status words."""
    buffer = stream.status_buffer[0]
    if buffer is None or buffer.epoch != epoch():
        buffer = Buffer(16)
        stream.allocate(buffer)
        stream.words.extend((_CLEAR, buffer.handle, 0, 16, 0))
        stream.status_buffer[0] = buffer
    return buffer.handle


def guard(range_error: Callable[..., Any]) -> int:
    """The number of a new launch that checks indices. range_error(value, extent, which) makes the error.

    Allocate the launch's results after this call: a buffer is void if it was written since the failed launch."""
    if len(open_checks) >= MOST and not len(open_checks) % MOST:
        try:
            verify()
        except bridge.CannotWait:
            pass  # the next read raises the error
    last_check[0] = number = last_check[0] + 1
    if not number & MASK:
        last_check[0] = number = number + 1
    open_checks[number] = range_error
    return (number & MASK) << 3


def note_bounds(buffer: Buffer, t: Tensor) -> None:
    """Stores the range of an integer CPU tensor whose values were copied into a buffer."""
    n = t.numel()
    if 0 < n <= KNOWN:
        buffer.bounds = (*bounds_of(t), t.itemsize)


def bounds_of(t: Tensor) -> tuple[int, int]:
    """(smallest, largest) of a CPU tensor of integers that has elements."""
    if t.numel() == 1:
        v = int(t.item())
        return v, v
    low, high = t.detach().aminmax()
    return int(low.item()), int(high.item())


def known(buffer: Buffer, itemsize: int) -> tuple[int, int] | None:
    """(smallest, largest) of a buffer's elements, or None if not known. It is known for one itemsize: read with another
    one, the same bytes are other numbers."""
    b = buffer.bounds
    return b[:2] if b is not None and (b[2] if len(b) > 2 else 8) == itemsize else None


# ---- reading the status ----------------------------------------------------------------------------------------------
def _settle(words: list[int], upto: int) -> Any:
    """Closes the checks up to launch number `upto`, whose status this is; raises the error that it holds, if any."""
    code, low, high, extent = words
    if not code:
        for number in [k for k in open_checks if k <= upto]:
            del open_checks[number]
        return
    first = next((k for k in open_checks if k & MASK == code >> 3), 0)
    range_error, which = open_checks.get(first), code & 7
    value = low | high << 32
    value -= (value >> 63) << 64
    error = (
        range_error(value, extent, which)
        if range_error
        else IndexError("index %d is out of bounds for a dimension with size %d" % (value, extent))
    )
    if len(void_ranges) > 64:
        void_ranges[:2] = [(void_ranges[0][0], void_ranges[1][1], *void_ranges[1][2:])]
    void_ranges.append((first or min(open_checks, default=0), last_check[0], type(error), str(error)))
    last_check[0] += 1
    open_checks.clear()
    if stream.status_buffer[0] is not None:
        stream.words.extend((_CLEAR, stream.status_buffer[0].handle, 0, 16, 0))
    raise error


def raise_if_void(buffer: Buffer) -> None:
    """Raises the index error that made a buffer's contents void, if one did."""
    for first, last, kind, text in void_ranges:
        if first <= buffer.serial <= last:
            raise kind(text)


def _header(data: Any) -> list[int]:
    return memoryview(data).cast("B")[:16].cast("I").tolist()


def _renew(error: Any) -> None:
    """Call it if the status could not be read because a command before it failed. All that was written since the oldest
    open check is void then."""
    if isinstance(error, bridge.CannotWait):
        return
    stream.status_buffer[0] = None
    if open_checks:
        void_ranges.append(
            (
                min(open_checks),
                last_check[0],
                RuntimeError,
                "indices could not be checked, as commands on webgpu failed before",
            )
        )
        last_check[0] += 1
        open_checks.clear()


def verify() -> None:
    """Reads the status; raises the index error that it holds, if any."""
    if open_checks:
        upto, handle = last_check[0], status()
        flush()
        try:
            data = bridge.current.read(handle, 0, 16)
        except RuntimeError as e:
            _renew(e)
            raise
        _settle(_header(data), upto)


async def verify_async() -> None:
    if open_checks:
        upto, handle = last_check[0], status()
        flush()
        try:
            data = await bridge.current.read_async(handle, 0, 16)
        except RuntimeError as e:
            _renew(e)
            raise
        _settle(_header(data), upto)


def _both(buffer: Buffer, offset: int, nbytes: int) -> tuple[Buffer, int, int]:
    """Copies the status and bytes of a buffer into one new buffer: (new buffer, where the bytes begin, its size)."""
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
    """Reads the status and bytes of a buffer, in one read if they are few."""
    if nbytes > TOGETHER:
        verify()
        return stream.read(buffer, offset, nbytes)
    upto = last_check[0]
    both, lead, size = _both(buffer, offset, nbytes)
    try:
        data = bridge.current.read(both.handle, 0, size)
    except bridge.CannotWait:
        raise
    except RuntimeError:
        verify()  # raises if it was the status that could not be read
        raise
    _settle(_header(data), upto)
    return memoryview(data)[lead : lead + nbytes]


async def read_async(buffer: Buffer, offset: int, nbytes: int) -> memoryview:
    if nbytes > TOGETHER:
        await verify_async()
        return await stream.read_async(buffer, offset, nbytes)
    upto = last_check[0]
    both, lead, size = _both(buffer, offset, nbytes)
    try:
        data = await bridge.current.read_async(both.handle, 0, size)
    except RuntimeError:
        await verify_async()
        raise
    _settle(_header(data), upto)
    return memoryview(data)[lead : lead + nbytes]
