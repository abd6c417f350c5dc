"""torch.cpu: the CPU as a device module."""

from __future__ import annotations

import contextlib
import functools
import platform
from types import MappingProxyType
from typing import Any

from . import amp

__all__ = [
    "is_available",
    "is_initialized",
    "synchronize",
    "current_device",
    "current_stream",
    "stream",
    "set_device",
    "device_count",
    "Stream",
    "StreamContext",
    "Event",
    "get_capabilities",
]


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return True


def device_count() -> int:
    return 1


def current_device() -> str:
    return "cpu"


def set_device(device: Any) -> None:
    """There is one CPU."""


def synchronize(device: Any = None) -> None:
    """CPU operations are done when they return."""


class Stream:
    """Nothing runs beside the program: a stream that code for several kinds of devices can name."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Everything in a stream is done already."""

    def record_event(self) -> None:
        """Everything before is done already."""

    def wait_event(self, event: Any) -> None:
        """Everything before is done already."""


class Event:
    """A point in a stream; what came before it is done."""

    def query(self) -> bool:
        return True

    def record(self, stream: Any = None) -> None:
        """Nothing to wait for."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def wait(self, stream: Any = None) -> None:
        """Nothing to wait for."""


_default = Stream()
_current = _default


def current_stream(device: Any = None) -> Stream:
    """The stream of the innermost `with torch.cpu.stream(...)`, or the default one."""
    return _current


class StreamContext(contextlib.AbstractContextManager[None]):
    """Makes a stream the current one; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream, self.before = stream, _default

    def __enter__(self) -> None:
        global _current
        if self.stream is not None:
            self.before, _current = _current, self.stream

    def __exit__(self, *error: object) -> None:
        global _current
        if self.stream is not None:
            _current = self.before


def stream(stream: Stream | None) -> StreamContext:
    """A context in which `stream` is the current one."""
    return StreamContext(stream)


@functools.cache
def get_capabilities() -> MappingProxyType[str, Any]:
    """What is known of the CPU: its architecture. Instruction sets that kernels do not choose by are not listed."""
    return MappingProxyType({"architecture": platform.machine()})


from .._core import absent as _absent

__getattr__ = _absent.of(__name__)
