"""torch._C.Future: a value that comes later, and what is called when it has come."""

from __future__ import annotations

import logging
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Future:
    """A value that is set once. With threads, wait() blocks until then."""

    def __init__(self, devices: list[Any]) -> None:
        import torchlite as torch

        for device in map(torch.device, devices):
            if device.index is None:
                raise ValueError("Expected devices to have indices, got %s" % device)
            raise RuntimeError("Cannot access accelerator device when none is available.")
        self._set = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self._value: Any = None
        self._error: BaseException | None = None

    def done(self) -> bool:
        """Whether the value has come."""
        return self._set.is_set()

    def value(self) -> Any:
        """The value that has come; an error that was set is raised."""
        if not self.done():
            raise RuntimeError("completed() INTERNAL ASSERT FAILED: the value of this Future has not come yet")
        if self._error is not None:
            raise self._error
        return self._value

    def wait(self) -> Any:
        """The value, when it comes."""
        if not self.done() and sys.platform == "emscripten":
            raise RuntimeError("wait() of a Future that is not completed: no other thread can complete it here")
        self._set.wait()
        return self.value()

    def _complete(self, value: Any, error: BaseException | None = None) -> None:
        with self._lock:
            if self.done():
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                    "completed once."
                )
            self._value, self._error = value, error
            self._set.set()
        for callback in self._callbacks:
            callback()
        self._callbacks.clear()

    def set_result(self, result: Any) -> None:
        """Sets the value, and calls what waits for it."""
        self._complete(result)

    def _when_done(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback()

    def then(self, callback: Callable[[Any], Any]) -> Future:
        """A Future of what `callback` makes of this one when it is done."""
        result = Future([])  # of the base class, as PyTorch's core makes it

        def run() -> None:
            try:
                made = callback(self)
            except Exception as e:
                result._complete(None, RuntimeError(_report(e)))
            else:
                result._complete(made)

        self._when_done(run)
        return result

    def add_done_callback(self, callback: Callable[[Any], Any]) -> None:
        """Calls `callback` with this Future when it is done. Its errors are logged only."""

        def run() -> None:
            try:
                callback(self)
            except Exception as e:
                logging.getLogger("torch").error(_report(e))

        self._when_done(run)

    def __reduce__(self) -> Any:
        raise RuntimeError("Can not pickle torch.futures.Future")


Future.__module__ = "torch"


def _report(error: Exception) -> str:
    frames = []
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    frame: Any = at.tb_frame if at is not None else None
    line = at.tb_lineno if at is not None else 0
    while frame is not None:
        code = frame.f_code
        if code.co_filename != __file__:
            frames.append("  %s(%d): %s\n" % (code.co_filename, line, code.co_name))
        frame = frame.f_back
        line = frame.f_lineno if frame is not None else 0
    head = "Got the following error when running the callback: %s: %s\n\nAt:\n" % (type(error).__name__, error)
    return head + "".join(frames)


def collect_all(futures: list[Future]) -> Future:
    """A Future of the list, done when all are; an error of one is its error."""
    if any(future is None for future in futures):
        raise RuntimeError("Future can't be None")
    result = Future([])
    left = len(futures)
    lock = threading.Lock()

    def one() -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            result._complete(futures, next((f._error for f in futures if f._error is not None), None))

    for future in futures:
        future._when_done(one)
    if not futures:
        result._complete([])
    return result
