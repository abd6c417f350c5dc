"""The WebGPU runtime (js_bridge) as Python reaches it. `current` is the bridge in use;
`require()` gives it or says why there is none.

Two classes have its interface: PageBridge (page.py) in Pyodide, and one over a node process for tests on the desktop.

    plan(key) -> int                        number of a plan; Unsupported where it has no kernel
    run_at(address, count)                  a command stream in memory, words of 32 bits;
    it is read before other Python code runs,
                                            and then its first word is 0: without that an interrupted call is repeated
    backlogged(), drain()                     whether very much is under way; waits for it where that is possible
    run(words)                              the same from a list of integers below 2**32
    alloc(handle, nbytes)                   at once; a failure leaves the handle free
    upload(handle, offset, memory)          bytes, before all streams that are run later
    read(handle, offset, nbytes)            bytes-like; read_async gives an awaitable of it
    synchronize(), synchronize_async()      waits for all that was run; raises the first failure not told yet
    stats(), info(), reset_peaks()          figures; the adapter, its features and limits
    state(), reason(), epoch()              CLOSED, READY or LOST, and why; a number that counts devices
    empty_cache(), set_budget(nbytes), reset()          reset() is awaitable

While a read, synchronize or drain waits, other Python code may run: callers keep nothing half done across them.
The core calls drain() before an op begins (gpu_ready), never in the middle of one.
"""

from __future__ import annotations


import sys

from ... import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


ALLOC, FREE, WRITE, COPY, FILL, PLAN = [_C.commands[n] for n in ("ALLOC", "FREE", "WRITE", "COPY", "FILL", "PLAN")]
CLOSED, READY, LOST = 0, 1, 2
DESKTOP = "it belongs to web pages (Pyodide), and this is torchlite on desktop Python"

current: Any = None  # a Bridge of _types.pyi while a device is open


def command(op: Any, *operands: Any) -> Any:
    """The words of a command: its head, which holds their number, and its operands."""
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
        message = message.partition(" - reset()")[0] + "; `await torch.webgpu.reset()` starts a new device"
    return {"DeviceLostError": DeviceLostError, "UnsupportedKernelError": Unsupported}.get(name, RuntimeError)(message)


def figures(stats: dict[str, int]) -> dict[str, int]:
    """The bridge's figures by Python's kind of names, as integers."""
    return {"".join("_" + c.lower() if c.isupper() else c for c in name): int(n) for name, n in stats.items()}


def require() -> Any:
    """The bridge, opened now where this code can wait for that; RuntimeError where there is none or not yet."""
    if current is not None:
        return current
    if sys.platform != "emscripten":
        raise RuntimeError("device webgpu is not available: %s; use device='cpu'" % DESKTOP)
    from . import page

    return page.require()


def available() -> bool:
    """Whether a tensor can be made on webgpu now; opens the device where this code can wait for that."""
    if current is not None:
        return current.state() == READY
    if sys.platform != "emscripten":
        return False
    from . import page

    return page.available()


async def ready() -> bool:
    """Opens the device and waits for that; False where there is none."""
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
