"""Switching recording on and off: no_grad, enable_grad, set_grad_enabled, inference_mode, detect_anomaly."""

from __future__ import annotations


from .. import _C
from . import _node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any
    from .._types import Tensor


class _Switch:
    """Context manager and decorator (functions, generators, coroutines)."""

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(fn, type):
            raise TypeError("%s decorates functions, not classes" % type(self).__name__)
        import functools
        import inspect

        if inspect.isgeneratorfunction(fn):

            @functools.wraps(fn)
            def generator(*args: Any, **kwargs: Any) -> Iterator[Any]:
                gen = fn(*args, **kwargs)
                value, error = None, None
                while True:
                    try:
                        with self.clone():
                            out = gen.send(value) if error is None else gen.throw(error)
                    except StopIteration as stop:
                        return stop.value
                    try:
                        value, error = (yield out), None
                    except GeneratorExit:
                        gen.close()
                        raise
                    except BaseException as e:
                        error = e

            return generator

        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Tensor:
            with self.clone():
                return fn(*args, **kwargs)

        return wrapped

    def clone(self) -> Any:
        return type(self)()

    def __reduce__(self) -> Any:
        return _made, (type(self), self.__dict__)


def _made(kind: Any, fields: Any) -> Any:
    """A copy of a switch, which switches nothing yet."""
    self = kind.__new__(kind, fields["mode"]) if "mode" in fields else kind.__new__(kind)
    self.__dict__.update(fields)
    return self


class no_grad(_C.GradMode, _Switch):
    """Nothing is recorded inside; results do not require grad."""

    def __new__(cls, orig_func: Any = None) -> Any:
        self = _C.GradMode.__new__(cls, False)
        return self if orig_func is None else self(orig_func)

    def __init__(self, orig_func: Any = None) -> None:
        pass


class enable_grad(_C.GradMode, _Switch):
    """Recording is on inside, also within no_grad."""

    def __new__(cls, orig_func: Any = None) -> Any:
        self = _C.GradMode.__new__(cls, True)
        return self if orig_func is None else self(orig_func)

    def __init__(self, orig_func: Any = None) -> None:
        pass


class set_grad_enabled(_C.GradMode, _Switch):
    """Switches recording at once; as a context manager it restores the former state at the end."""

    def __new__(cls, mode: Any) -> Any:
        if mode is not True and mode is not False:
            from .._core.from_data import type_name

            raise TypeError(
                "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not %s" % type_name(mode)
            )
        return _C.GradMode.__new__(cls, mode)

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.begin()

    def __call__(self, fn: Callable[..., Any]) -> Any:
        _C.set_grad_enabled(self.prev)
        return _Switch.__call__(self, fn)

    def clone(self) -> Any:
        return set_grad_enabled(self.mode)

    def __repr__(self) -> str:
        return "torch.autograd.grad_mode.set_grad_enabled(mode=%s)" % self.mode


class inference_mode(_C.GradMode, _Switch):
    """Like no_grad; tensors made inside never take part in recording."""

    def __new__(cls, mode: Any = True) -> Any:
        on = callable(mode) or bool(mode)
        self = _C.GradMode.__new__(cls, not on, on)
        if callable(mode):
            self.mode = True
            return self(mode)
        return self

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def clone(self) -> Any:
        return inference_mode(self.mode)


_threads = [True]


class set_multithreading_enabled(_Switch):
    """Accepted for compatibility: the backward pass has one thread."""

    def __init__(self, mode: Any) -> None:
        self.prev, _threads[0] = _threads[0], mode
        self.mode = mode

    def __call__(self, fn: Callable[..., Any]) -> Any:
        _threads[0] = self.prev
        return _Switch.__call__(self, fn)

    def __enter__(self) -> Any:
        pass

    def __exit__(self, *exc: Any) -> Any:
        _threads[0] = self.prev

    def clone(self) -> Any:
        return set_multithreading_enabled(self.mode)


class detect_anomaly:
    """Backward errors and NaNs name the forward call they come from."""

    def __init__(self, check_nan: bool = True) -> None:
        import warnings

        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only "
            "be enabled for debugging.",
            stacklevel=2,
        )
        self.state = [True, check_nan]
        self.prev: list[bool] = []

    def __enter__(self) -> Any:
        self.prev = list(_node.anomaly)
        _node.set_anomaly(self.state)

    def __exit__(self, *exc: Any) -> Any:
        _node.set_anomaly(self.prev)


class set_detect_anomaly(detect_anomaly):
    """The same as a function: set_detect_anomaly(True)."""

    def __init__(self, mode: Any, check_nan: Any = True) -> None:
        self.prev = list(_node.anomaly)
        self.state = [mode, check_nan]
        _node.set_anomaly(self.state)

    def __enter__(self) -> Any:
        pass


def is_multithreading_enabled() -> Any:
    return _threads[0]


def is_anomaly_enabled() -> Any:
    return _node.anomaly[0]


def is_anomaly_check_nan_enabled() -> Any:
    return _node.anomaly[1]


class _force_original_view_tracking(_Switch):
    """Switches at once, as a context manager for its block, what is_view_replay_enabled() says.
    Nothing else depends on it: a view is replayed by its geometry."""

    def __init__(self, mode: bool) -> None:
        self.mode, self.prev = mode, _replays[0]
        _replays[0] = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        _replays[0] = self.prev

    def clone(self) -> Any:
        return type(self)(self.mode)


_replays = [False]


def is_view_replay_enabled() -> bool:
    """Whether _force_original_view_tracking is on."""
    return _replays[0]


def __getattr__(name: str) -> Any:
    if name == "_unsafe_preserve_version_counter":
        from .._core import c_autograd

        return c_autograd._unsafe_preserve_version_counter
    from .._core import absent

    return absent.of(__name__)(name)
