"""torch.futures: values that come later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._core import future as _future

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Future", "collect_all", "wait_all"]
T = TypeVar("T")
S = TypeVar("S")


class Future(_future.Future, Generic[T]):
    """A value that is set once, by set_result or set_exception. Its callbacks run where it is set."""

    def __init__(self, *, devices: list[Any] | None = None) -> None:
        super().__init__(devices if devices is not None else [])

    def done(self) -> bool:
        """Whether the value, or an exception, has come."""
        return super().done()

    def wait(self) -> T:
        """The value, when it comes; an exception that was set is raised."""
        return super().wait()

    def value(self) -> T:
        """The value of a Future that is done."""
        return super().value()

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A Future of callback(this one), which is called when this one is done."""
        return super().then(callback)  # type: ignore[return-value]

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Calls callback(this one) when this one is done."""
        super().add_done_callback(callback)

    def set_result(self, result: T) -> None:
        """Sets the value. It can be set once."""
        super().set_result(result)

    def set_exception(self, result: T) -> None:
        """Sets an exception, which wait() and value() raise."""
        if not isinstance(result, Exception):
            raise AssertionError("%s is of type %s, not an Exception." % (result, type(result)))
        self._complete(None, result)


Future.__module__ = "torch.jit"


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A Future of the list of Futures, done when all of them are."""
    return _future.collect_all(list(futures))  # type: ignore[return-value]


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The values of all, when all are done."""
    return [future.wait() for future in collect_all(futures).wait()]
