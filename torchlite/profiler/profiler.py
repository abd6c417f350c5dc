"""`profile`, schedules and trace handlers."""

import enum
import json
import os
import warnings

from ._collect import ProfilerActivity, Recording, supported_activities
from ..autograd.profiler import record_function


class ProfilerAction(enum.Enum):
    """What a schedule says of a step."""

    NONE, WARMUP, RECORD, RECORD_AND_SAVE, DEVICE_STOPPED = range(5)


class ExecutionTraceObserver:
    """PyTorch's execution traces are not there."""

    def __init__(self):
        raise NotImplementedError(
            "ExecutionTraceObserver is not supported by torchlite; use profile(...) and export_chrome_trace()"
        )


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """A function step -> ProfilerAction: after `skip_first` steps cycles of `wait` idle,
    `warmup` warming and `active` recorded steps, `repeat` times (0: on and on).
    skip_first_wait other than 0: the first cycle has no idle steps."""

    def action(step):
        if step < 0:
            raise AssertionError("Step must be non-negative. Got %d." % step)
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait != 0:
            step += wait
        length = wait + warmup + active
        if repeat > 0 and step / length >= repeat:
            return ProfilerAction.NONE
        step %= length
        if step < wait:
            return ProfilerAction.NONE
        if step < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if step < length - 1 else ProfilerAction.RECORD_AND_SAVE

    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            "Invalid profiler schedule arguments. Got wait=%s (need >= 0), warmup=%s (need >= 0), "
            "active=%s (need > 0), repeat=%s (need >= 0), skip_first=%s (need >= 0)."
            % (wait, warmup, active, repeat, skip_first)
        )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    return action


def _default_schedule_fn(step):
    return ProfilerAction.RECORD


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False, use_python_export=False):
    """For on_trace_ready: writes each trace into a folder, as TensorBoard's plugin names them."""

    def handler(prof):
        import time

        os.makedirs(dir_name, exist_ok=True)
        name = worker_name or "%s_%d" % (os.uname().nodename if hasattr(os, "uname") else "host", os.getpid())
        prof.export_chrome_trace(
            os.path.join(dir_name, "%s.%d.pt.trace.json%s" % (name, time.time_ns(), ".gz" if use_gzip else ""))
        )

    return handler


def _parse(activities):
    found = set()
    for item in activities:
        if isinstance(item, dict):
            if any(item.values()):
                raise NotImplementedError(
                    "lists of activity types (%r) are not supported by torchlite; name the activity itself" % (item,)
                )
            continue
        if not isinstance(item, ProfilerActivity):
            raise TypeError("Expected ProfilerActivity or dict, got %s" % type(item).__name__)
        found.add(item)
    return found


class profile:
    """Records the ops of this thread between start() and stop(), as a context manager or by calls.

    activities: ProfilerActivity.CPU for the program's calls,
    ProfilerActivity.WebGPU for the kernels' times (CUDA means it where torch.webgpu.use_as_cuda is on);
    those that are there if left out. schedule, on_trace_ready: see `schedule`; step() ends a step.
    record_shapes: sizes of tensor arguments.
    profile_memory: bytes in CPU tensors that a call added (GPU memory is allocated in batches and has no columns).
    with_stack: the lines of Python that made the call. acc_events: keeps the events of earlier cycles.
    with_flops and with_modules are not there and warn.

    stop() waits for the GPU when its times are recorded.
    Where Python was entered synchronously and cannot wait, some times may be missing, which a warning says;
    `async with profile(...)` waits in any case.
    """

    def __init__(
        self,
        *,
        activities=None,
        schedule=None,
        on_trace_ready=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=None,
        execution_trace_observer=None,
        acc_events=False,
        use_cuda=None,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
    ):
        self.activities = supported_activities() if activities is None else _parse(activities)
        if use_cuda is not None:
            warnings.warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=2)
            (self.activities.add if use_cuda else self.activities.discard)(ProfilerActivity.CUDA)
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        if execution_trace_observer is not None:
            raise NotImplementedError(
                "execution_trace_observer is not supported by torchlite; use export_chrome_trace()"
            )
        for name, value in (
            ("with_flops", with_flops),
            ("with_modules", with_modules),
            ("experimental_config", experimental_config),
            ("post_processing_timeout_s", post_processing_timeout_s),
        ):
            if value:
                warnings.warn("torchlite's profiler has no %s; it is ignored" % name, stacklevel=2)
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules = False, False
        self.acc_events, self.custom_trace_id_callback = acc_events, custom_trace_id_callback
        self.schedule, self.record_steps = schedule or _default_schedule_fn, schedule is not None
        self.on_trace_ready, self.step_num, self.current_action = (
            on_trace_ready,
            0,
            (schedule or _default_schedule_fn)(0),
        )
        self._metadata, self._recording, self._events, self._step = {}, None, None, None
        self.use_device = "webgpu" if self._wants_gpu() else None

    def _wants_gpu(self):
        from .._core import device as _device

        wanted = set(self.activities)
        if ProfilerActivity.CUDA in wanted and _device.device("cuda").type == "webgpu":
            wanted.add(ProfilerActivity.WebGPU)
            wanted.discard(ProfilerActivity.CUDA)
        for a in (ProfilerActivity.CUDA, ProfilerActivity.XPU, ProfilerActivity.MTIA, ProfilerActivity.HPU):
            if a in wanted:
                warnings.warn("%s is not available, disabling %s profiling" % (a.name, a.name), stacklevel=3)
        return ProfilerActivity.WebGPU in wanted

    # ---- running
    def start(self):
        """Begins, as the schedule says of step 0."""
        self._change(ProfilerAction.NONE, self.current_action)
        self._mark()

    def stop(self):
        """Ends; calls on_trace_ready where something was recorded."""
        self._unmark()
        self._change(self.current_action, None)

    async def stop_async(self):
        """As stop(), and waits for the GPU also where synchronous code cannot."""
        self._unmark()
        if self._recording is not None:
            recording = self._end_recording()
            self._keep(await recording.stop_async(), recording.error)
            if self.current_action is not ProfilerAction.WARMUP:
                self._ready()

    def step(self):
        """The next step begins."""
        self._unmark()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._change(before, self.current_action)
        self._mark()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.stop()

    async def __aenter__(self):
        self.start()
        return self

    async def __aexit__(self, *exc):
        await self.stop_async()

    def _mark(self):
        if self.record_steps:
            self._step = record_function("ProfilerStep#%d" % self.step_num)
            self._step.__enter__()

    def _unmark(self):
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def _change(self, before, now):
        recorded = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        done = before is ProfilerAction.RECORD_AND_SAVE or before is ProfilerAction.RECORD and now not in recorded
        if done and self._recording is not None:
            if before is ProfilerAction.RECORD and now is not None:
                warnings.warn("Incorrect schedule: RECORD followed by %s" % now.name, stacklevel=3)
            recording = self._end_recording()
            self._keep(recording.stop(), recording.error)
            if before is ProfilerAction.RECORD_AND_SAVE or now is None:
                self._ready()
        elif before is ProfilerAction.WARMUP and now is ProfilerAction.NONE:
            warnings.warn("Incorrect schedule: WARMUP followed by NONE", stacklevel=3)
        if now in recorded and self._recording is None:
            recording = Recording(
                ProfilerActivity.CPU in self.activities,
                self.use_device is not None,
                self.record_shapes,
                self.with_stack,
                self.profile_memory,
            )
            recording.start()
            self._recording = recording

    def _end_recording(self):
        recording, self._recording = self._recording, None
        assert recording is not None
        self._notes = recording.notes
        return recording

    def _keep(self, events, error):
        if self.acc_events and self._events is not None:
            for e in events:
                e.id += len(self._events)
            self._events.extend(events)
        else:
            self._events = events
        if error is not None:
            raise error

    def _ready(self):
        if self.on_trace_ready:
            self.on_trace_ready(self)

    # ---- results
    def events(self):
        """The recorded FunctionEvents, calls in the order of their begin, then kernels; an EventList."""
        if self._events is None:
            raise AssertionError("Profiler must be initialized before accessing events")
        return self._events

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """The events added up by name (and input shapes, or the first lines of their stacks),
        an EventList with `table()`."""
        if self._events is None:
            raise AssertionError("Profiler must be initialized before getting key averages")
        if group_by_stack_n and not self.with_stack:
            warnings.warn("group_by_stack_n needs with_stack=True: no stacks were recorded", stacklevel=2)
        return self._events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def table(self, *args, **kwargs):
        """key_averages().table(...)."""
        return self.key_averages().table(*args, **kwargs)

    def export_chrome_trace(self, path, use_python_export=False):
        """Writes the events for chrome://tracing or https://ui.perfetto.dev; compressed where the path ends in .gz."""
        if self._events is None:
            raise AssertionError("Profiler must be initialized before exporting chrome trace")
        from ._trace import write

        write(path, self._events, {"record_shapes": int(self.record_shapes), **self._notes, **self._metadata})

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Lines for flame graphs; needs with_stack=True."""
        if self._events is None:
            raise AssertionError("Profiler must be initialized before exporting stacks")
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self._events.export_stacks(path, metric)

    def export_memory_timeline(self, path, device=None):
        raise NotImplementedError(
            "export_memory_timeline is not supported by torchlite; torch.webgpu.memory_stats() and "
            "profile_memory=True are"
        )

    def toggle_collection_dynamic(self, enable, activities):
        raise NotImplementedError("toggle_collection_dynamic is not supported by torchlite; use stop() and start()")

    def add_metadata(self, key, value):
        """Adds a text to the trace file."""
        self._metadata[key] = value

    def add_metadata_json(self, key, value):
        """Adds a JSON value, given as text, to the trace file."""
        self._metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json


_KinetoProfile = profile
