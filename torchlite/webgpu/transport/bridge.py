"""The WebGPU runtime (js_bridge), as Python calls it. `current` is the open bridge; `require()` returns it, or raises
with the reason why there is none.

Two classes have this interface: PageBridge (page.py) in Pyodide, and one over a node process for tests on the desktop.

    plan(key) -> int                        number of a plan; raises Unsupported if it has no kernel
    run_at(address, count)                  runs a command stream in memory, words of 32 bits. It reads them before
                                            other Python code runs, and sets the first word to 0. If that word is not 0
                                            after an interrupt, the core sends the commands again
    run(words)                              runs a list of integers below 2**32
    backlogged(), drain()                   whether the GPU is far behind; waits until it is not, if Python can wait
    alloc(handle, nbytes)                   allocates now; if it fails, the handle stays free
    upload(handle, offset, memory)          writes bytes, before all streams that run later
    read(handle, offset, nbytes)            bytes-like; read_async returns an awaitable of it
    synchronize(), synchronize_async()      waits for everything that was run; raises the first failure not yet raised
    stats(), info(), reset_peaks()          statistics; the adapter, its features and limits
    state(), reason(), epoch()              CLOSED, READY or LOST, and why; the number of the current device
    empty_cache(), set_budget(nbytes), reset()          reset() is awaitable

While read(), synchronize() or drain() waits, other Python code may run. So callers must not hold half-changed state
across these calls. The core calls drain() before an op begins (gpu_ready), never in the middle of one.
"""

from __future__ import annotations


import sys

from ... import _C
from .protocol import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


ALLOC, FREE, WRITE, COPY, FILL, PLAN = [_C.commands[n] for n in ("ALLOC", "FREE", "WRITE", "COPY", "FILL", "PLAN")]
CLOSED, READY, LOST = State.CLOSED, State.READY, State.LOST
DESKTOP = "it belongs to web pages (Pyodide), and this is torchlite on desktop Python"

current: Any = None  # a Bridge of _types.pyi while a device is open


def command(op: Any, *operands: Any) -> Any:
    """The words of a command: the head, which holds their number, then the operands."""
    return (op | (1 + len(operands)) << 8, *operands)


class Unsupported(RuntimeError):
    """There is no kernel for these parameters."""


class CannotWait(RuntimeError):
    """Python was entered synchronously, so it cannot wait for a read; nothing has failed."""

    __module__ = "torch.webgpu"


class DeviceLostError(RuntimeError):
    """The GPU device is gone, with all tensors on it; torch.webgpu.reset() starts a new one."""

    __module__ = "torch.webgpu"


def error(name: str, message: str) -> Any:
    """The Python exception for an error of the bridge."""
    if name == "OutOfMemoryError":
        from torchlite import OutOfMemoryError

        return OutOfMemoryError(message)
    if name == "DeviceLostError":
        message += "; `await torch.webgpu.reset()` starts a new device"
    return {"DeviceLostError": DeviceLostError, "UnsupportedKernelError": Unsupported}.get(name, RuntimeError)(message)


def figures(stats: dict[str, int]) -> dict[str, int]:
    """The bridge's statistics as integers, with names in Python's style."""
    return {"".join("_" + c.lower() if c.isupper() else c for c in name): int(n) for name, n in stats.items()}


def require() -> Any:
    """The bridge. Opens the device if this code can wait for that; raises RuntimeError if there is none, or none
    yet."""
    if current is not None:
        return current
    if sys.platform != "emscripten":
        raise RuntimeError("device webgpu is not available: %s; use device='cpu'" % DESKTOP)
    from . import page

    return page.require()


def available() -> bool:
    """Whether a tensor can be made on webgpu now. Opens the device if this code can wait for that."""
    if current is not None:
        return current.state() == READY
    if sys.platform != "emscripten":
        return False
    from . import page

    return page.available()


async def ready() -> bool:
    """Opens the device and waits for it; False if there is none."""
    if current is not None or sys.platform != "emscripten":
        return available()
    from . import page

    return await page.ready()


def why_not() -> str:
    """Why there is no device; empty when there is one."""
    if available():
        return ""
    if current is not None:
        return current.reason()
    if sys.platform != "emscripten":
        return DESKTOP
    from . import page

    return page.problem() or page.NOT_YET
