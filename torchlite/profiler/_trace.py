"""Chrome's trace format: chrome://tracing, https://ui.perfetto.dev, TensorBoard's profiler plugin."""

import json
import os

from ..autograd.profiler_util import DeviceType


def _lines(events, pid):
    yield {"ph": "M", "name": "process_name", "ts": 0, "pid": pid, "tid": 0, "args": {"name": "python"}}
    yield {"ph": "M", "name": "process_labels", "ts": 0, "pid": pid, "tid": 0, "args": {"labels": "CPU"}}
    if any(e.device_type is not DeviceType.CPU for e in events):
        yield {"ph": "M", "name": "process_name", "ts": 0, "pid": "WebGPU", "tid": 0, "args": {"name": "GPU"}}
        yield {"ph": "M", "name": "thread_name", "ts": 0, "pid": "WebGPU", "tid": 0, "args": {"name": "kernels"}}
    for e in events:
        args = {"External id": e.id}
        if e.input_shapes:
            args["Input Dims"], args["Input type"] = e.structured_input_shapes, e.input_dtypes
        if e.stack:
            args["Call stack"] = ";".join(e.stack)
        args.update(e.metadata or {})
        gpu = e.device_type is not DeviceType.CPU
        yield {
            "ph": "X",
            "cat": e.activity_type,
            "name": e.trace_name,
            "pid": "WebGPU" if gpu else pid,
            "tid": e.thread,
            "ts": round(e.time_range.start, 3),
            "dur": round(e.time_range.elapsed_us(), 3),
            "args": args,
        }


def write(path, events, metadata):
    """path ending in .gz: compressed."""
    import gzip

    pid = os.getpid() if hasattr(os, "getpid") else 1
    path = os.fspath(path)
    with gzip.open(path, "wt", encoding="utf-8") if path.endswith(".gz") else open(path, "w", encoding="utf-8") as f:
        head = {"schemaVersion": 1, "deviceProperties": [], **metadata, "displayTimeUnit": "ms", "traceName": path}
        f.write(json.dumps(head)[:-1] + ', "traceEvents": [\n')
        f.write(",\n".join(json.dumps(line) for line in _lines(events, pid)))
        f.write("\n]}\n")
