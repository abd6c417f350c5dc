"""torch.autograd.profiler: `record_function`, and `profile` in its older form."""

from __future__ import annotations


from .. import _C
from .profiler_util import EventList, FunctionEvent, FunctionEventAvg, Kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from .._types import Tensor


__all__ = ["profile", "record_function", "EventList", "FunctionEvent", "FunctionEventAvg", "Kernel", "kineto_available"]


class record_function:
    """Names a block of code, or a function as a decorator:
    a row in the tables of torch.profiler, with what runs inside below it.
    Costs next to nothing while nothing is recorded."""

    def __init__(self, name: str, args: tuple[Any, ...] | None = None) -> None:
        self.name, self.args = name, args
        self._open: list[Any] = []

    def __enter__(self) -> Any:
        self._open.append(_C.profile_enter(self.name, 2))
        return self

    def __exit__(self, *exc: Any) -> Any:
        _C.profile_exit(self._open.pop())

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        from functools import wraps

        @wraps(fn)
        def named(*args: Any, **kwargs: Any) -> Tensor:
            with type(self)(self.name, self.args):
                return fn(*args, **kwargs)

        return named


def _profiler_enabled() -> bool:
    """Whether the ops of this thread are recorded."""
    return _C.profiling()


class KinetoStepTracker:
    """Counts the steps of each part of a program that takes steps; the program's step is the largest count."""

    _counts: dict[str, int] = {}

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        cls._counts[requester] = cls.current_step()

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        return cls._counts.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        cls._counts[requester] = cls._counts.get(requester, cls.current_step()) + 1
        return cls.current_step()

    @classmethod
    def current_step(cls) -> int:
        return max(cls._counts.values(), default=0)


def _disable_profiler() -> None:
    """Ends a recording that another part of the program began."""
    if _C.profiling():
        _C.profile_stop()


class profile:
    """torch.profiler.profile with the older interface:
    `with profile() as p: ...`, then p.key_averages(), p.table(), print(p).

    use_device="webgpu" (or use_cuda=True where torch.webgpu.use_as_cuda is on) records the kernels' times.
    The other options are those of torch.profiler.profile; enabled=False records nothing.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: Any = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Any = None,
        post_processing_timeout_s: Any = None,
    ) -> None:
        self.enabled, self.entered = enabled, False
        if not enabled:
            return
        from ..profiler import ProfilerActivity
        from ..profiler.profiler import profile as new

        activities = [ProfilerActivity.CPU] if use_cpu else []
        if use_device not in (None, "cuda", "webgpu", "privateuseone"):
            raise AssertionError("Invalid device type for the profiler: %s" % use_device)
        if use_cuda or use_device == "cuda":
            activities.append(ProfilerActivity.CUDA)
        elif use_device is not None:
            activities.append(ProfilerActivity.WebGPU)
        if not activities:
            raise AssertionError("No activities specified for the profiler")
        self._profile = new(
            activities=activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=experimental_config,
            acc_events=acc_events,
            post_processing_timeout_s=post_processing_timeout_s,
        )

    def __enter__(self) -> Any:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self._profile.start()
        return self

    def __exit__(self, *exc: Any) -> Any:
        if self.enabled:
            self._profile.stop()
        return False

    def _finished(self) -> Any:
        if not self.enabled or self._profile._events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self._profile

    @property
    def function_events(self) -> EventList:
        return self._finished().events()

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def table(self, *args: Any, **kwargs: Any) -> str:
        return self.function_events.table(*args, **kwargs)

    def total_average(self) -> Any:
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        return self.function_events.self_cpu_time_total

    def export_chrome_trace(self, path: str) -> None:
        self._finished().export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        self._finished().export_stacks(path, metric)

    def __str__(self) -> str:
        return (
            str(self.function_events)
            if self.enabled and self._profile._events is not None
            else "<unfinished torch.autograd.profile>"
        )

    __repr__ = __str__


def kineto_available() -> bool:
    """False: Kineto is PyTorch's collector, this is another."""
    return False


def _not_there(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            "torch.autograd.profiler.%s belongs to other devices and is not supported by torchlite; use torch.profiler"
            % name
        )

    return refuse


emit_nvtx, emit_itt, load_nvprof = _not_there("emit_nvtx"), _not_there("emit_itt"), _not_there("load_nvprof")


def __getattr__(name: str) -> Any:
    if name == "_is_profiler_enabled":
        return _C.profiling()
    if name == "_ExperimentalConfig":
        from .._core.c_profiler import _ExperimentalConfig

        return _ExperimentalConfig
    from .._core import absent

    return absent.of(__name__)(name)
