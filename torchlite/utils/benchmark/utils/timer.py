"""Timer: timeit.Timer with a warm-up, a number of threads, the GPU's work and what the times were of."""

from __future__ import annotations

import enum
import sys
import timeit
from textwrap import dedent
from typing import TYPE_CHECKING

from .common import Measurement, TaskSpec, set_torch_threads

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Timer", "timer", "Language"]


def timer() -> float:
    """The clock, when the GPU has done what was asked of it."""
    import torchlite

    if "torchlite.webgpu" in sys.modules and torchlite.accelerator.is_available():
        torchlite.accelerator.synchronize()
    return timeit.default_timer()


class Language(enum.Enum):
    PYTHON = 0
    CPP = 1


def _lines(code: str) -> str:
    return dedent(code).removeprefix("\n").rstrip()


class Timer:
    """Measures how long a statement takes."""

    _timer_cls = timeit.Timer

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language in (Language.CPP, "cpp", "c++"):
            raise NotImplementedError("torchlite compiles no C++: a Timer runs Python")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        import torchlite

        stmt, setup = _lines(stmt), _lines(setup)
        names = {"torch": torchlite, **(globals or {})}
        self._timer = self._timer_cls(stmt=stmt, setup=setup, timer=timer, globals=names)
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One time of `number` runs, after a hundredth of them."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(int(number // 100), 2))
            return self._measured(number, [self._timeit(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> None:
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block(self, seconds: float) -> int:
        """How many runs make a block in which neither the loop nor the clock counts: a power of ten."""
        empty, number = sorted(self._timeit(0) for _ in range(5))[2], 1
        while True:
            taken = self._timeit(number)
            small = taken < seconds / 1000 or empty > 1e-4 * taken
            if not small or taken > seconds or number * 10 >= 1 << 31:
                return number
            number *= 10

    def _blocks(
        self,
        number_for: float,
        callback: Callable[[int, float], Any] | None,
        at_least: float,
        at_most: float = 0,
        done: Callable[[Measurement], bool] = lambda m: True,
    ) -> Measurement:
        with set_torch_threads(self._task_spec.num_threads):
            number, total = self._block(number_for), 0.0
            m = self._measured(number, [])
            while total < at_least or not done(m):
                m.raw_times.append(self._timeit(number))
                total += m.raw_times[-1]
                if callback:
                    callback(number, m.raw_times[-1])
                if at_most and total > at_most:
                    break
        return m

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Times of blocks, until they make min_run_time seconds."""
        return self._blocks(min_run_time, callback, min_run_time)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Times of blocks, until their interquartile range is less than `threshold` of the median."""

        def done(m: Measurement) -> bool:
            return len(m.raw_times) > 3 and m.meets_confidence(threshold)

        return self._blocks(0.05, callback, min_run_time, max_run_time, done)

    def collect_callgrind(self, number: int = 100, **options: Any) -> Any:
        raise NotImplementedError("torchlite runs no Valgrind: blocked_autorange() takes times")
