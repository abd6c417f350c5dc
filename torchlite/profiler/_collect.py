"""One recording: the core's records (native/src/core/profile.c), and the GPU's, as FunctionEvents."""

import enum
import sys
import threading
import warnings
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

from .. import _C
from .._core.dtypes import CONVERSIONS
from .._ops import PRIVATE as _ATEN
from ..autograd.profiler_util import DeviceType, EventList, FunctionEvent

OP, IN_PLACE, USER, BACKWARD, EVALUATE, RUNTIME = range(6)
_SCOPE = {USER: 7, BACKWARD: 1}
_KIND = {USER: "user_annotation", RUNTIME: "webgpu_runtime"}
_CPP_TYPES = {name: cpp for name, _, cpp, _ in _C.dtype_table}
_RENAMED = {
    "_to_dtype": "_to_copy",
    "_t2": "transpose",
    **dict.fromkeys(CONVERSIONS, "to"),
}


class ProfilerActivity(enum.Enum):
    """What a profiler records: the program's calls (CPU), the kernels of a device. Other members are PyTorch's;
    they are not there."""

    CPU, XPU, CUDA, MTIA, HPU = range(5)
    WebGPU = 5
    PrivateUse1 = 5


def kineto_available():
    """False: Kineto is PyTorch's collector, this is another."""
    return False


def supported_activities():
    """The activities that can be recorded here and now, as a set."""
    webgpu = sys.modules.get(__package__.partition(".")[0] + ".webgpu")
    return (
        {ProfilerActivity.CPU, ProfilerActivity.WebGPU}
        if webgpu is not None and webgpu.is_initialized()
        else {ProfilerActivity.CPU}
    )


def _stack():
    """Where an op was called, innermost first; torchlite's own frames are left out."""
    import os

    from .._core.archive import FOLDER

    package = FOLDER + os.sep
    out = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(package):
            out.append("%s(%d): %s" % (code.co_filename, frame.f_lineno, code.co_name))
        frame = frame.f_back
    return out


class Recording:
    """Records from start() to stop(); stop() gives an EventList."""

    def __init__(self, use_cpu=True, gpu=False, record_shapes=False, with_stack=False, profile_memory=False):
        self.use_cpu, self.gpu, self.shapes, self.stack, self.memory = (
            use_cpu,
            gpu,
            record_shapes,
            with_stack,
            profile_memory,
        )
        self._gpu = self.error = None
        self._open: list[Any] | None = None
        self.notes = {}  # what a reader of the trace should know

    def start(self):
        self.origin = _C.profile_start(int(self.shapes), _stack if self.stack else None)
        self._open = []
        try:
            self._hook()
            if self.gpu:
                from ..webgpu.transport import bridge

                try:
                    bridge.require()
                except RuntimeError as e:
                    warnings.warn("WebGPU is not available, disabling WebGPU profiling (%s)" % e, stacklevel=5)
                else:
                    from ._gpu import Kernels

                    self._gpu = Kernels(self)
        except BaseException:
            self._unhook()
            _C.profile_stop()
            raise

    def stop(self):
        """Ends it, waiting for the GPU where its times are recorded.
        What is raised by then, an interrupt too, is kept in `error` for the caller to raise."""
        kernels = []
        try:
            if self._gpu is not None:
                kernels = self._gpu.stop()
        except BaseException as e:
            self.error = e
        return self._end(kernels)

    async def stop_async(self):
        kernels = []
        try:
            if self._gpu is not None:
                kernels = await self._gpu.stop_async()
        except BaseException as e:  # a cancelled task's, too
            self.error = e
        return self._end(kernels)

    def _end(self, kernels):
        try:
            self._unhook()
        finally:
            records, end, lost = _C.profile_stop()
        if lost:
            warnings.warn("the profiler had no memory for %d records; they are missing" % lost, stacklevel=4)
        return self._events(records if self.use_cpu else [], kernels)

    # ---- what the core does not see
    def _enter(self, name, kind, tensors=None):
        if self._open is not None:
            self._open.append(_C.profile_enter(name, kind, tensors))

    def _exit(self):
        if self._open:
            _C.profile_exit(self._open.pop())

    def _hook(self):
        from ..autograd import _engine, _node
        from ..optim import optimizer

        def apply(node, grads):
            name = node.name()
            outer = _C.profile_enter("autograd::engine::evaluate_function: " + name, EVALUATE)
            inner = _C.profile_enter(name, BACKWARD, list(grads))
            try:
                return _engine._apply_traced(node, grads) if _node.anomaly[0] else node.apply(grads)
            finally:
                _C.profile_exit(inner)
                _C.profile_exit(outer)

        def begin(grad):
            self._enter("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", EVALUATE)
            self._enter("torch::autograd::AccumulateGrad", BACKWARD, [grad])

        def end():
            self._exit()
            self._exit()

        def step(optimizer, args, kwargs):
            name = type(optimizer).__name__
            steps.append(_C.profile_enter("Optimizer.step#%s.step" % name, USER))

        def stepped(optimizer, args, kwargs):
            if steps:
                _C.profile_exit(steps.pop())

        steps = []
        self._engine, _engine.profiled = _engine, (apply, begin, end)
        self._handles = [
            optimizer.register_optimizer_step_pre_hook(step),
            optimizer.register_optimizer_step_post_hook(stepped),
        ]

    def _unhook(self):
        if self._open is not None:
            self._open = None
            self._engine.profiled = None  # type: ignore[attr-defined]
            for handle in self._handles:
                handle.remove()

    # ---- events
    def _events(self, records, kernels):
        device = "webgpu" if self._gpu is not None else None
        thread, by_place = threading.get_native_id() if sys.platform != "emscripten" else 1, []
        events: list[FunctionEvent] = []
        for name, kind, begin, end, parent, shapes, nbytes, stack in records:
            overload, flat, full, dtypes = "", [], [], []
            if kind <= IN_PLACE:
                name, _, overload = name.partition("(")[0].partition(".")
                name = _RENAMED.get(name, name) + ("_" if kind == IN_PLACE and not name.endswith("_") else "")
                name = ("torchlite::" if name[0] == "_" and name not in _ATEN else "aten::") + name
            for shape in shapes or ():
                if type(shape) is tuple:
                    full.append(shape[1])
                    flat.append(shape[1])
                    dtypes.append(_CPP_TYPES[shape[0]])
                else:
                    full.append([s[1] for s in shape or ()])
                    flat.append([])
                    dtypes.append("TensorList" if shape else "")
            e = FunctionEvent(
                len(events) + 1,
                name,
                thread,
                (begin - self.origin) / 1e3,
                (end - self.origin) / 1e3,
                input_shapes=flat,
                structured_input_shapes=full,
                input_dtypes=dtypes,
                stack=stack,
                scope=_SCOPE.get(kind, 0),
                use_device=device,
                cpu_memory_usage=nbytes if self.memory else 0,
                is_user_annotation=kind == USER,
                activity_type=_KIND.get(kind, "cpu_op"),
            )
            if e.name.startswith("ProfilerStep#"):
                e.name = "ProfilerStep*"
            by_place.append((e, parent))
            # where other Python code ran in the middle of a wait, a call may end after the one it began in
            while parent >= 0 and by_place[parent][0].time_range.end < e.time_range.end:
                parent = by_place[parent][1]
            if parent >= 0:
                e.cpu_parent = whole = by_place[parent][0]
                whole.cpu_children.append(e)
            events.append(e)
        events = EventList(events, use_device=device, profile_memory=self.memory)
        events._remove_dup_nodes()
        for name, begin, end, extra in kernels:
            events.append(
                FunctionEvent(
                    len(events) + 1,
                    name,
                    0,
                    (begin - self.origin) / 1e3,
                    (end - self.origin) / 1e3,
                    use_device=device,
                    device_type=DeviceType.WebGPU,
                    activity_type="kernel",
                    metadata=extra,
                )
            )
        return events
