"""Listeners to the bridge's calls: torch.profiler and torch.webgpu.debug. While there is none, this module is not
loaded and no call is wrapped."""

from __future__ import annotations


from ..transport import bridge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from ...profiler._gpu import Kernels
    from ...webgpu.watch.debug import _Listener


KERNELS, WGSL, SPANS = 1, 2, 4  # bits of Watch in js_bridge/src/runtime/profile.ts
METHODS = ("plan", "run_at", "upload", "read", "synchronize")

_listeners: list[Any] = []
_bits: dict[str, int] = {}
_timing: set[str] = set()


def listen(listener: Kernels | _Listener) -> None:
    """Calls listener.before(method), then listener.after(method, result of before()), at each call of the bridge."""
    _listeners.append(listener)
    if len(_listeners) == 1:
        for name in METHODS:
            setattr(bridge.current, name, _wrapped(name, getattr(bridge.current, name)))


def leave(listener: Kernels | _Listener) -> None:
    if listener in _listeners:
        _listeners.remove(listener)
        if not _listeners:
            for name in METHODS:
                bridge.current.__dict__.pop(name, None)


def _wrapped(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        marks = [(x, x.before(name)) for x in list(_listeners)]
        try:
            return fn(*args)
        finally:
            for x, mark in reversed(marks):
                x.after(name, mark)

    return call


def watch(who: str, bits: int) -> float:
    """Sets what the bridge records for `who`, 0 for nothing. Returns the clock of its spans, in milliseconds."""
    _bits[who] = bits
    every = 0
    for b in _bits.values():
        every |= b
    return bridge.current.watch(every)


def timing(who: str, on: bool) -> bool:
    """Switches the timing of kernels on or off for `who`. Timing gives each kernel a pass of its own. Returns False if
    the device has no timestamps."""
    (_timing.add if on else _timing.discard)(who)
    done = bridge.current.set_timing(bool(_timing))
    if on and not done:
        _timing.discard(who)
    return done
