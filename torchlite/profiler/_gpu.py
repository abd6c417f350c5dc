"""The GPU's part of a recording: kernels with their times, and what the program spent on the bridge."""

from .. import _C

_WAIT = "cannot wait"


class Kernels:
    """Watches the bridge from here to stop(), which gives (name, begin, end, further facts)
    of each kernel in the core's clock."""

    def __init__(self, recording):
        from ..webgpu.transport import bridge
        from ..webgpu.watch import listeners

        self._notes, self._watch, self.timed = recording.notes, listeners, False
        self.bridge = bridge.require()
        from ..webgpu.fallback import warn
        from ..webgpu.lazy.stream import flush, run_pending

        self._warn = warn  # at the user's line
        run_pending()  # what was asked for before is not of this recording
        flush()
        self.timed = listeners.timing("profiler", True)
        if self.timed:
            before = _C.profile_clock()
            self._js_zero = listeners.watch("profiler", listeners.SPANS)
            self._zero = (before + _C.profile_clock()) // 2
        else:
            warn(
                "this webgpu device has no timestamps (the adapter does not offer the feature timestamp-query, "
                "which browsers may hide): GPU times are not recorded, and the table has no WebGPU columns"
            )
        listeners.listen(self)

    # ---- the program's time on the bridge, as rows webgpu::read and so on
    def before(self, method):
        return _C.profile_enter("webgpu::" + {"run_at": "submit"}.get(method, method), 5)

    def after(self, method, mark):
        _C.profile_exit(mark)

    # ---- the end
    def _off(self):
        self._watch.leave(self)
        if self.timed:
            self._watch.watch("profiler", 0)
            self._watch.timing("profiler", False)

    def stop(self):
        from ..webgpu import synchronize

        spans = None
        try:
            try:
                synchronize()  # it runs pending expressions, which belong to the recording
            except RuntimeError as e:
                if _WAIT not in str(e):
                    raise
            spans = self.bridge.spans() if self.timed else None
        finally:
            self._off()
        if spans and spans["pending"]:
            self._warn(
                "Python was entered synchronously and cannot wait for the GPU's times: "
                "those of the last %d batches are missing. `async with profile(...)` or `await "
                "prof.stop_async()` wait for them" % spans["pending"]
            )
        return self._rows(spans)

    async def stop_async(self):
        from ..webgpu import synchronize_async

        spans = None
        try:
            await synchronize_async()
            spans = await self.bridge.spans_async() if self.timed else None
        finally:
            self._off()
        return self._rows(spans)

    def _rows(self, spans):
        if spans is None:
            return []
        from ..webgpu.watch.names import name_of

        if spans["lost"]:
            self._warn("times of %d kernels were not kept, as there were too many" % spans["lost"])
        rows = spans["rows"]
        if not rows:
            return []

        def cpu(ms):
            return int((ms - self._js_zero) * 1e6) + self._zero

        # the GPU's clock has a zero of its own: the earliest place where no kernel begins before it was submitted
        shift = max(cpu(submitted) - begin for _, begin, _, submitted in rows)
        self._notes["gpu_clock"] = "placed as early as submission allows; relative times are exact"
        return [
            (name_of(spans["kernels"][k]), begin + shift, end + shift, {"kernel": spans["kernels"][k][:2000]})
            for k, begin, end, _ in rows
        ]
