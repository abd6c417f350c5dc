"""torch._C._profiler: what programs ask of PyTorch's profiler itself."""

from __future__ import annotations

import enum
import time
from functools import partial
from types import ModuleType
from typing import Any

from .. import _C
from .absent import of_space


class ActiveProfilerType(enum.Enum):
    """Which profiler records."""

    NONE, LEGACY, KINETO, NVTX, ITT, PRIVATEUSE1 = range(6)


class ProfilerState(enum.IntEnum):
    """What a profiler of PyTorch collects."""

    Disabled, CPU, CUDA, NVTX, ITT, PRIVATEUSE1, KINETO, KINETO_GPU_FALLBACK = range(8)
    KINETO_PRIVATEUSE1_FALLBACK, KINETO_PRIVATEUSE1 = 8, 9


class RecordScope(enum.IntEnum):
    """What a row of a profile is of."""

    FUNCTION, BACKWARD_FUNCTION, TORCHSCRIPT_FUNCTION, KERNEL_FUNCTION_DTYPE, CUSTOM_CLASS = range(5)
    BUILD_FEATURE, LITE_INTERPRETER, USER_SCOPE, STATIC_RUNTIME_OP, STATIC_RUNTIME_MODEL = range(5, 10)


class _ExperimentalConfig:
    """Options of torch.profiler.profile that belong to PyTorch's collector. They are kept, and change nothing."""

    def __init__(
        self,
        profiler_metrics: Any = (),
        profiler_measure_per_kernel: bool = False,
        verbose: bool = False,
        performance_events: Any = (),
        enable_cuda_sync_events: bool = False,
        adjust_profiler_step: bool = False,
        disable_external_correlation: bool = False,
        profile_all_threads: bool = False,
        capture_overload_names: bool = False,
        record_python_gc_info: bool = False,
        expose_kineto_event_metadata: bool = False,
        custom_profiler_config: str = "",
        adjust_timestamps: bool = False,
        trace_only: bool = False,
    ) -> None:
        self.custom_profiler_config, self.trace_only = custom_profiler_config, trace_only


class _RecordFunctionFast:
    """A block of code as a row of the profile; record_function with less around it."""

    def __init__(self, name: str, input_values: Any = None, keyword_values: Any = None) -> None:
        if not isinstance(name, str):
            raise TypeError("_RecordFunctionFast(): argument 'name' must be str, not %s" % type(name).__name__)
        if input_values is not None and not isinstance(input_values, (list, tuple)):
            raise TypeError("input_values must be a list or tuple")
        self._name = name

    def __enter__(self) -> None:
        self._row = _C.profile_enter(self._name, 2)

    def __exit__(self, *exc: Any) -> None:
        _C.profile_exit(self._row)


def _get_approximate_time() -> int:
    """Nanoseconds of a clock that only goes forward."""
    return time.perf_counter_ns()


def _ignored(value: bool) -> None:
    """Switches a part of PyTorch's collector that is not here."""


_rows: dict[int, Any] = {}  # handle -> an open row


def _record_function_enter(name: str, args: str | None = None) -> Any:
    """Begins a row of the profile; the handle is for _record_function_exit."""
    import torchlite as torch

    handle = len(_rows) and max(_rows) + 1
    _rows[handle] = _C.profile_enter(name, 2)
    return torch.tensor([handle])


class _RecordFunction:
    """The handle of _record_function_enter_new."""

    def __init__(self, row: Any) -> None:
        self.row = row


def _record_function_enter_new(name: str, args: str | None = None) -> _RecordFunction:
    return _RecordFunction(_C.profile_enter(name, 2))


class _Exit:
    """_record_function_exit, with its overloads."""

    __name__ = __qualname__ = "_record_function_exit"

    def __call__(self, handle: Any) -> None:
        _C.profile_exit(handle.row if isinstance(handle, _RecordFunction) else _rows.pop(int(handle), None))

    default = property(lambda self: self.__call__)
    _RecordFunction = default


# torch.ops.profiler
OPERATORS: dict[str, Any] = {
    "_record_function_enter": _record_function_enter,
    "_record_function_enter_new": _record_function_enter_new,
    "_record_function_exit": _Exit(),
}


def _record_function_with_args_enter(name: str, *args: Any) -> _RecordFunction:
    return _record_function_enter_new(name)


def _record_function_with_args_exit(handle: _RecordFunction) -> None:
    _C.profile_exit(handle.row)


def gather_traceback(python: bool = True, script: bool = False, cpp: bool = False) -> Any:
    """The Python frames that are running, for symbolize_tracebacks."""
    import traceback

    return traceback.extract_stack()[:-1]


def symbolize_tracebacks(tracebacks: Any) -> list[list[dict[str, Any]]]:
    """Of each traceback its frames, the innermost first."""
    return [
        [{"filename": f.filename, "line": f.lineno, "name": f.name} for f in reversed(frames)] for frames in tracebacks
    ]


def profiler_space() -> ModuleType:
    """torch._C._profiler."""
    from ..profiler import ProfilerActivity

    space: Any = ModuleType("torch._C._profiler")
    space.__getattr__ = partial(of_space, space.__name__)
    for thing in (
        ActiveProfilerType,
        ProfilerState,
        RecordScope,
        _ExperimentalConfig,
        _RecordFunctionFast,
        _get_approximate_time,
        gather_traceback,
        symbolize_tracebacks,
    ):
        thing.__module__ = space.__name__
        setattr(space, thing.__name__, thing)
    for switch in ("cuda_sync_enabled", "fwd_bwd_enabled", "record_concrete_inputs_enabled"):
        setattr(space, "_set_%s_val" % switch, _ignored)
    space.ProfilerActivity = ProfilerActivity
    return space
