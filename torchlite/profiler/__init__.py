"""torch.profiler: where the time of a program goes, op by op, in PyTorch's words.

    with torch.profiler.profile(record_shapes=True) as prof:
        step()
    print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=10))

Every op called through torch is recorded, with the ops that it calls, backward functions, optimizer steps and blocks of
`record_function`. On webgpu, and where the adapter has the feature timestamp-query,
each kernel is a row of its own with its time on the GPU (activities=[ProfilerActivity.CPU, ProfilerActivity.WebGPU]).
Element-wise ops are lazy and fused there, so no call of an op owns a kernel:
the name of a kernel says which ops are in it, and the device times of the ops' own rows are 0.

Browsers round their clocks: Chromium to 0.1 ms and Firefox to 1 ms, or finer in pages that are cross-origin isolated;
GPU times to 0.1 ms. Sums over many calls are right on the average.
Indexing by numbers and slices makes views in the core and has no row.
"""

from ..autograd.profiler import record_function
from ..autograd.profiler_util import DeviceType
from ._collect import ProfilerActivity, kineto_available, supported_activities
from .profiler import ExecutionTraceObserver, ProfilerAction, profile, schedule, tensorboard_trace_handler

__all__ = [
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "DeviceType",
    "record_function",
    "ExecutionTraceObserver",
]


def __getattr__(name):
    if name == "_ExperimentalConfig":
        from .._core.c_profiler import _ExperimentalConfig

        return _ExperimentalConfig
    from .._core import absent

    return absent.of(__name__)(name)
