"""What a profiler found: FunctionEvent, one call; FunctionEventAvg, all calls of a name;
EventList with PyTorch's table.

Times are microseconds. `device_time` and its relatives are the GPU's. A kernel on webgpu has a row of its own:
element-wise ops are lazy and fused, so no call of an op owns a kernel, and the device times of the ops' rows are 0.
"""

from __future__ import annotations


import enum
from typing import Any
from collections import namedtuple


class DeviceType(enum.IntEnum):
    """Kinds of devices of PyTorch; webgpu has the place of devices that are not PyTorch's own."""

    (
        CPU,
        CUDA,
        MKLDNN,
        OPENGL,
        OPENCL,
        IDEEP,
        HIP,
        FPGA,
        MAIA,
        XLA,
        Vulkan,
        Metal,
        XPU,
        MPS,
        Meta,
        HPU,
        VE,
        Lazy,
        IPU,
        MTIA,
    ) = range(20)
    WebGPU = 20
    PrivateUse1 = 20

    def __repr__(self) -> Any:
        return "<DeviceType.%s: %d>" % (self.name, self.value)

    def __str__(self) -> str:
        return "DeviceType." + self.name


class Interval:
    """From start to end, in microseconds."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        return self.end - self.start


Kernel = namedtuple("Kernel", ["name", "device", "duration"])


def _format_time(time_us: float) -> str:
    if time_us >= 1e6:
        return "%.3fs" % (time_us / 1e6)
    if time_us >= 1e3:
        return "%.3fms" % (time_us / 1e3)
    return "%.3fus" % time_us


def _in_unit(time_us: float, unit: Any) -> str:
    scale = {"s": 1e6, "ms": 1e3, "us": 1.0}.get(unit)
    return _format_time(time_us) if scale is None else "%.3f%s" % (time_us / scale, unit)


def _format_time_share(time_us: float, total_time_us: float) -> str:
    return "NaN" if total_time_us == 0 else "%.2f%%" % (time_us * 100.0 / total_time_us)


def _format_memory(nbytes: int) -> str:
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(nbytes) >= size:
            return "%.2f %s" % (nbytes / size, unit)
    return "%d B" % nbytes


def _text(name: str) -> Any:
    return property(lambda self: _format_time(getattr(self, name)))


def _share(name: str) -> Any:
    return property(lambda self: 0.0 if self.count == 0 else 1.0 * getattr(self, name) / self.count)


class _Times:
    cpu_time_str, device_time_str = _text("cpu_time"), _text("device_time")
    cpu_time_total_str, device_time_total_str = _text("cpu_time_total"), _text("device_time_total")
    self_cpu_time_total_str, self_device_time_total_str = _text("self_cpu_time_total"), _text("self_device_time_total")
    cpu_time, device_time = _share("cpu_time_total"), _share("device_time_total")


def _device_field(name: str) -> str:
    """webgpu_time_total, cuda_time_total and the like as device_time_total."""
    for kind in ("webgpu", "cuda", "xpu", "privateuse1"):
        name = name.replace(kind, "device")
    return name


class FunctionEvent(_Times):
    """One call: an op, a backward function, a block of record_function, or a kernel (device_type tells).

    name, id, time_range (Interval), thread, cpu_parent, cpu_children,
    input_shapes (sizes of each argument that is a tensor, [] for others; with record_shapes=True),
    structured_input_shapes (lists of tensors too), stack (with_stack=True), scope (0 forward, 1 backward, 7 user),
    cpu_memory_usage (bytes, with profile_memory=True), device_type, sequence_nr (of backward functions).
    """

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        overload_name: str = "",
        input_shapes: list[list[int]] | None = None,
        stack: Any = None,
        scope: int = 0,
        use_device: str | None = None,
        cpu_memory_usage: int = 0,
        device_memory_usage: int = 0,
        is_async: bool = False,
        is_remote: bool = False,
        sequence_nr: int = -1,
        node_id: int = -1,
        device_type: DeviceType = DeviceType.CPU,
        device_index: int = 0,
        is_legacy: bool = False,
        flops: int = 0,
        trace_name: Any = None,
        is_user_annotation: bool = False,
        activity_type: str | None = None,
        structured_input_shapes: list[list[int]] | None = None,
        input_dtypes: list[str] | None = None,
        metadata: dict[str, str] | None = None,
    ) -> None:
        self.id, self.name, self.thread, self.overload_name = id, name, thread, overload_name
        self.time_range = Interval(start_us, end_us)
        self.trace_name = name if trace_name is None else trace_name
        self.input_shapes, self.structured_input_shapes = input_shapes or [], structured_input_shapes or []
        self.input_dtypes = input_dtypes or []
        self.concrete_inputs: list[Any] = []
        self.kwinputs: dict[str, Any] = {}
        self.stack, self.scope, self.use_device = stack or [], scope, use_device
        self.cpu_memory_usage, self.device_memory_usage = cpu_memory_usage, device_memory_usage
        self.is_async, self.is_remote, self.is_legacy = is_async, is_remote, is_legacy
        self.sequence_nr, self.node_id, self.fwd_thread = sequence_nr, node_id, None
        self.device_type, self.device_index, self.device_resource_id = device_type, device_index, thread
        self.flops, self.is_user_annotation, self.is_python_function = flops, is_user_annotation, False
        self.activity_type, self.metadata = activity_type, metadata
        self.count = 1
        self.kernels: list[Kernel] = []
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    @property
    def key(self) -> str:
        return self.name

    @property
    def _on_cpu(self) -> bool:
        return self.device_type is DeviceType.CPU

    @property
    def cpu_time_total(self) -> float:
        return self.time_range.elapsed_us() if self._on_cpu else 0

    @property
    def self_cpu_time_total(self) -> float:
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children) if self._on_cpu else 0

    @property
    def device_time_total(self) -> float:
        return 0 if self._on_cpu else self.time_range.elapsed_us()

    self_device_time_total = device_time_total

    @property
    def self_cpu_memory_usage(self) -> int:
        return self.cpu_memory_usage - sum(c.cpu_memory_usage for c in self.cpu_children) if self._on_cpu else 0

    @property
    def self_device_memory_usage(self) -> int:
        return self.device_memory_usage if self._on_cpu else 0

    def __repr__(self) -> Any:
        return (
            "<FunctionEvent id=%s name=%s overload_name=%s device_type=%s node_id=%s cpu_time=%s start_us=%s "
            "end_us=%s cpu_children=%s %s_time=%s name=%s thread=%s input_shapes=%s cpu_memory_usage=%s "
            "%s_memory_usage=%s is_async=%s is_remote=%s seq_nr=%s is_legacy=%s>"
            % (
                self.id,
                self.name,
                self.overload_name,
                self.device_type,
                self.node_id,
                self.cpu_time_str,
                self.time_range.start,
                self.time_range.end,
                [c.id for c in self.cpu_children],
                self.use_device,
                self.device_time_str,
                self.name,
                self.thread,
                self.input_shapes,
                self.cpu_memory_usage,
                self.use_device,
                self.device_memory_usage,
                self.is_async,
                self.is_remote,
                self.sequence_nr,
                self.is_legacy,
            )
        )


_SUMS = (
    "cpu_time_total",
    "device_time_total",
    "self_cpu_time_total",
    "self_device_time_total",
    "cpu_memory_usage",
    "device_memory_usage",
    "self_cpu_memory_usage",
    "self_device_memory_usage",
    "count",
    "flops",
)
_FIRST = (
    "key",
    "node_id",
    "is_async",
    "is_remote",
    "cpu_parent",
    "cpu_children",
    "overload_name",
    "input_shapes",
    "stack",
    "scope",
    "device_type",
    "is_legacy",
    "use_device",
    "is_user_annotation",
)


class FunctionEventAvg(_Times):
    """Calls of one key added up; cpu_time and device_time are means of a call."""

    key: Any
    use_device: str | None
    input_shapes: Any
    cpu_memory_usage: int
    device_memory_usage: int

    def __init__(self) -> None:
        for name in _FIRST:
            setattr(self, name, None)
        for name in _SUMS:
            setattr(self, name, 0)
        self.device_type = DeviceType.CPU

    def add(self, other: FunctionEvent) -> FunctionEventAvg:
        if self.key is None:
            for name in _FIRST:
                setattr(self, name, getattr(other, name))
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise AssertionError("Expected other to be a FunctionEvent or FunctionEventAvg")
        if other.key != self.key:
            raise AssertionError("Expected keys to match, but got %s vs %s" % (other.key, self.key))
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    __iadd__ = add

    def __repr__(self) -> Any:
        device = self.use_device or "cuda"
        return (
            "<FunctionEventAvg key=%s self_cpu_time=%s cpu_time=%s  self_%s_time=%s %s_time=%s input_shapes=%s "
            "cpu_memory_usage=%s %s_memory_usage=%s>"
            % (
                self.key,
                self.self_cpu_time_total_str,
                self.cpu_time_str,
                device,
                self.self_device_time_total_str,
                device,
                self.device_time_str,
                self.input_shapes,
                self.cpu_memory_usage,
                device,
                self.device_memory_usage,
            )
        )


class EventList(list):
    """Events with PyTorch's `table()`; `print(events)` shows it."""

    def __init__(
        self, *args: Any, use_device: str | None = None, profile_memory: bool = False, with_flops: bool = False
    ) -> None:
        super().__init__(*args)
        self._use_device, self._profile_memory, self._with_flops = use_device, profile_memory, with_flops

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        return sum(e.self_cpu_time_total for e in self)

    def _remove_dup_nodes(self) -> None:
        """A call whose only child has the same name is one with it, as in PyTorch."""
        gone = set()
        for e in self:  # parents come before their children
            parent = e.cpu_parent
            if parent is not None and parent.name == e.name and len(parent.cpu_children) == 1:
                parent.cpu_children, parent.kernels = e.cpu_children, e.kernels
                for child in e.cpu_children:
                    child.cpu_parent = parent
                gone.add(id(e))
        self[:] = [e for e in self if id(e) not in gone]

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The events added up by name (and by input shapes, or by the first entries of their stacks),
        as an EventList."""
        found = {}
        for e in self:
            key = (
                e.key,
                e.node_id,
                e.device_type,
                e.is_legacy,
                e.is_user_annotation,
                e.overload_name if group_by_overload_name else "",
                str(e.input_shapes) if group_by_input_shapes else "",
                tuple(e.stack[:group_by_stack_n]),
            )
            if key not in found:
                found[key] = FunctionEventAvg()
            found[key].add(e)
        out = EventList(
            found.values(),
            use_device=self._use_device,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
        )
        for e in out:
            e.stack = e.stack[:group_by_stack_n]
            if not group_by_input_shapes:
                e.input_shapes = ""
            if not group_by_overload_name:
                e.overload_name = ""
        return out

    def total_average(self) -> FunctionEventAvg:
        """All events as one FunctionEventAvg, named Total."""
        total = FunctionEventAvg()
        for e in self:
            total += e
            total.key = None
        total.key = "Total"
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """PyTorch's table of the events, as text.

        sort_by: name of a field, for example "cpu_time_total", "self_cpu_time_total",
        "self_webgpu_time_total" (or "self_device_time_total"), "count", largest first.
        row_limit: most rows, -1 for all. time_unit: "s", "ms" or "us" for every time.
        """
        from ._profiler_table import table

        return table(
            self,
            sort_by and _device_field(sort_by),
            row_limit,
            max_src_column_width,
            max_name_column_width,
            max_shapes_column_width,
            header,
            top_level_events_only,
            time_unit,
        )

    def export_chrome_trace(self, path: str) -> None:
        """Writes the events for chrome://tracing or https://ui.perfetto.dev."""
        from ..profiler._trace import write

        write(path, self, {})

    def supported_export_stacks_metrics(self) -> list[str]:
        return ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]

    def export_stacks(self, path: Any, metric: str) -> None:
        """Lines "outer;inner microseconds" for flame graphs (with_stack=True)."""
        if metric not in self.supported_export_stacks_metrics():
            raise ValueError("metric should be one of: " + str(self.supported_export_stacks_metrics()))
        change = str.maketrans(" ;\t\n", "____")
        with open(path, "w", encoding="utf-8") as f:
            for e in self:
                value = int(getattr(e, _device_field(metric)))
                if e.stack and value > 0:
                    f.write(";".join(x.translate(change) for x in reversed(e.stack)) + " %d\n" % value)


from .._core import absent as _absent

__getattr__ = _absent.of(__name__)
