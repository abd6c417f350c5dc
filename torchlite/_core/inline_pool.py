"""The pool of torch.multiprocessing: calls run when they are asked for, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class InlineResult:
    """What an asynchronous call gave: a value or an exception."""

    def __init__(self, call: Callable[[], Any], done: Callable[[Any], Any] | None, failed: Callable[[Any], Any] | None):
        self._error: BaseException | None = None
        self._value: Any = None
        try:
            self._value = call()
        except Exception as e:
            self._error = e
            if failed is not None:
                failed(e)
        else:
            if done is not None:
                done(self._value)

    def ready(self) -> bool:
        return True

    def successful(self) -> bool:
        return self._error is None

    def wait(self, timeout: float | None = None) -> None:
        """It is there."""

    def get(self, timeout: float | None = None) -> Any:
        if self._error is not None:
            raise self._error
        return self._value


class InlinePool:
    """multiprocessing.Pool without processes."""

    def __init__(self, processes: int | None, initializer: Callable[..., Any] | None, initargs: Iterable[Any]) -> None:
        if processes is not None and processes < 1:
            raise ValueError("Number of processes must be at least 1")
        if initializer is not None:
            initializer(*initargs)
        self._open = True
        self._processes = processes or 1  # which tensordict asks for

    def _check(self) -> None:
        if not self._open:
            raise ValueError("Pool not running")

    def apply(self, func: Any, args: Any = (), kwds: Any = None) -> Any:
        self._check()
        return func(*args, **(kwds or {}))

    def apply_async(
        self, func: Any, args: Any = (), kwds: Any = None, callback: Any = None, error_callback: Any = None
    ) -> InlineResult:
        self._check()
        return InlineResult(lambda: func(*args, **(kwds or {})), callback, error_callback)

    def map(self, func: Any, iterable: Any, chunksize: int | None = None) -> list[Any]:
        self._check()
        return [func(x) for x in iterable]

    def map_async(
        self, func: Any, iterable: Any, chunksize: int | None = None, callback: Any = None, error_callback: Any = None
    ) -> InlineResult:
        self._check()
        return InlineResult(lambda: [func(x) for x in iterable], callback, error_callback)

    def starmap(self, func: Any, iterable: Any, chunksize: int | None = None) -> list[Any]:
        self._check()
        return [func(*x) for x in iterable]

    def starmap_async(
        self, func: Any, iterable: Any, chunksize: int | None = None, callback: Any = None, error_callback: Any = None
    ) -> InlineResult:
        self._check()
        return InlineResult(lambda: [func(*x) for x in iterable], callback, error_callback)

    def imap(self, func: Any, iterable: Any, chunksize: int = 1) -> Iterator[Any]:
        self._check()
        return map(func, iterable)

    imap_unordered = imap

    def close(self) -> None:
        self._open = False

    terminate = close

    def join(self) -> None:
        if self._open:
            raise ValueError("Pool is still running")

    def __enter__(self) -> InlinePool:
        self._check()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()
