"""torch.webgpu.debug and TORCHLITE_DEBUG."""

from __future__ import annotations


import os
import sys

from ..._core.archive import FOLDER
from ..transport import bridge
from .. import fallback
from . import listeners
from .names import describe, name_of, sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


KINDS = ("kernels", "wgsl", "timing", "fallbacks")
_active: frozenset[str] = frozenset()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class debug:
    """See torch.webgpu.debug."""

    def __init__(self, *kinds: str) -> None:
        unknown = [k for k in kinds if k not in KINDS]
        if unknown:
            raise ValueError("torch.webgpu.debug knows %s, not %r" % (", ".join(map(repr, KINDS)), unknown[0]))
        self._before = _active
        _set(frozenset(kinds))

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: Any) -> Any:
        _set(self._before)
        return False


def from_environment() -> None:
    kinds = [k.strip() for k in os.environ.get("TORCHLITE_DEBUG", "").split(",") if k.strip()]
    unknown = [k for k in kinds if k not in KINDS]
    if unknown:
        _say("[webgpu] TORCHLITE_DEBUG knows %s, not %r" % (", ".join(KINDS), unknown[0]))
    _set(frozenset(kinds) - frozenset(unknown))


def _set(kinds: frozenset[Any] | frozenset[str]) -> None:
    global _active
    if kinds & {"kernels", "wgsl", "timing"} or _active & {"kernels", "wgsl", "timing"}:
        bridge.require()
        _switch(kinds)
    if "fallbacks" in kinds and _fallback not in fallback.on_fallback:
        fallback.on_fallback.append(_fallback)
    elif "fallbacks" not in kinds and _fallback in fallback.on_fallback:
        fallback.on_fallback.remove(_fallback)
    _active = kinds


def _switch(kinds: frozenset[Any] | frozenset[str]) -> None:
    from ..lazy.stream import flush

    flush()  # earlier commands are not to be watched
    if _active & {"kernels", "wgsl"}:
        _listener.notes()
    if "timing" in _active and "timing" not in kinds:
        _listener.times()
    bits = ("kernels" in kinds) * listeners.KERNELS | ("wgsl" in kinds) * listeners.WGSL
    if bits or _active & {"kernels", "wgsl"}:
        listeners.watch("debug", bits)
    if "timing" in kinds and "timing" not in _active:
        if listeners.timing("debug", True):
            _listener.forget()
        else:
            _say("[webgpu] this device has no timestamps (the feature timestamp-query): no times")
            kinds -= {"timing"}
    elif "timing" not in kinds and "timing" in _active:
        listeners.timing("debug", False)
    _listener.wants_notes, _listener.wants_times = bool(bits), "timing" in kinds
    listeners.leave(_listener)
    if bits or "timing" in kinds:
        listeners.listen(_listener)


def _fallback(name: str) -> None:
    frame = sys._getframe(1)
    package = FOLDER + os.sep
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
    _say("[webgpu] fallback: aten::%s runs on the CPU (%s:%d)" % (name, frame.f_code.co_filename, frame.f_lineno))


class _Listener:
    """Prints what the bridge recorded, after each call that may have sent commands."""

    wants_notes = wants_times = False
    _printed: dict[str, tuple[int, int]] = {}  # key -> (calls, ns) of the times that were printed

    def before(self, method: str) -> None:
        return None

    def after(self, method: str, mark: Any) -> None:
        if method in ("plan", "upload") or bridge.current.state() != bridge.READY:
            return
        if self.wants_notes:
            self.notes()
        if self.wants_times and method != "run_at":
            self.times()

    def notes(self) -> None:
        for note in bridge.current.notes():
            if "wgsl" in note:
                _say("[webgpu] wgsl of %s\n%s" % (name_of(note["kernel"]), note["wgsl"].strip()))
            else:
                _say(
                    "[webgpu] %s  %s  workgroups %s"
                    % (
                        describe(note["kernel"], note["words"]),
                        sizes(note["words"]),
                        "x".join(map(str, note["groups"])),
                    )
                )

    def forget(self) -> None:
        self._printed = {t["key"]: (t["calls"], t["ns"]) for t in bridge.current.times_now()}

    def times(self) -> None:
        """Prints a table of the times since the last table."""
        rows: dict[str, Any] = {}
        now: dict[str, tuple[int, int]] = {}
        for t in bridge.current.times_now():
            calls, ns = self._printed.get(t["key"], (0, 0))
            if t["calls"] < calls:
                calls = ns = 0  # the figures were reset
            now[t["key"]] = t["calls"], t["ns"]
            if t["calls"] > calls:
                row = rows.setdefault(name_of(t["key"]), [0, 0])
                row[0] += t["calls"] - calls
                row[1] += t["ns"] - ns
        self._printed = now
        if rows:
            total = sum(ns for _, ns in rows.values())
            _say("[webgpu] GPU time %.3f ms, kernels %d" % (total / 1e6, sum(n for n, _ in rows.values())))
            for name, (calls, ns) in sorted(rows.items(), key=lambda r: -r[1][1]):
                _say("[webgpu] %10.3f ms %5.1f%% %6d  %s" % (ns / 1e6, 100 * ns / total if total else 0, calls, name))


_listener = _Listener()
