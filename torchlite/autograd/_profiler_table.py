"""The table of a profile, as PyTorch prints it."""

from __future__ import annotations


from .profiler_util import DeviceType, _format_memory, _format_time_share, _in_unit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from ..autograd.profiler_util import EventList


NAMES = {"webgpu": "WebGPU"}


def table(
    events: EventList,
    sort_by: str | None,
    row_limit: int,
    max_src: int,
    max_name: int,
    max_shapes: int,
    header: str | None,
    top_level_only: bool,
    unit: str | None,
) -> str:
    if not events:
        return ""
    memory = events._profile_memory
    has_device = any(e.device_type is not DeviceType.CPU for e in events)
    device = events[0].use_device
    device = "None" if device is None else NAMES.get(device, device.upper())
    if sort_by is not None:
        rows = sorted(events, key=lambda e: getattr(e, sort_by), reverse=True)
    else:
        rows = list(events)
    names = max(len(e.key) for e in rows) + 4
    shapes = max(len(str(e.input_shapes)) for e in rows) + 4
    source = max([len(s) for e in rows for s in e.stack] or [0]) + 4
    names, shapes, source = [
        w if most is None else min(w, most) for w, most in ((names, max_name), (shapes, max_shapes), (source, max_src))
    ]
    has_shapes, has_stack, has_overload = (
        any(e.input_shapes for e in rows),
        any(e.stack for e in rows),
        any(e.overload_name for e in rows),
    )

    cpu_total = sum(e.self_cpu_time_total for e in rows)
    device_total = sum(
        e.self_device_time_total for e in rows if e.device_type is not DeviceType.CPU and not e.is_user_annotation
    )

    def short(text: str, most: int) -> str:
        return text[: most - 3] + "..." if most is not None and len(text) >= most - 3 else text

    def tail(path: str) -> str:
        return path if len(path) <= source else "..." + path[len(path) - source + 3 :]

    columns = [("Name", names, ">", lambda e: short(e.key, max_name))]

    def column(title: str, fn: Callable[..., Any], width: int = 12, align: str = ">") -> None:
        columns.append((title, width, align, fn))

    if has_overload:
        column("Overload Name", lambda e: short(e.overload_name, max_name), names)
    column("Self CPU %", lambda e: _format_time_share(e.self_cpu_time_total, cpu_total))
    column("Self CPU", lambda e: _in_unit(e.self_cpu_time_total, unit))
    column("CPU total %", lambda e: _format_time_share(e.cpu_time_total, cpu_total))
    column("CPU total", lambda e: _in_unit(e.cpu_time_total, unit))
    column("CPU time avg", lambda e: _in_unit(e.cpu_time, unit))
    if has_device:
        column("Self " + device, lambda e: _in_unit(e.self_device_time_total, unit))
        column("Self %s %%" % device, lambda e: _format_time_share(e.self_device_time_total, device_total))
        column(device + " total", lambda e: _in_unit(e.device_time_total, unit))
        column(device + " time avg", lambda e: _in_unit(e.device_time, unit), max(12, len(device) + 9))
    if memory:
        column("CPU Mem", lambda e: _format_memory(e.cpu_memory_usage))
        column("Self CPU Mem", lambda e: _format_memory(e.self_cpu_memory_usage))
    column("# of Calls", lambda e: str(e.count))
    if has_shapes:
        column("Input Shapes", lambda e: str(e.input_shapes)[:shapes], shapes)
    if has_stack:
        column("Source Location", lambda e: tail(e.stack[0]) if e.stack else "", source, "<")

    def line(cells: list[str]) -> str:
        return "".join("{:{}{}}  ".format(text, align, width) for text, (_, width, align, _) in zip(cells, columns))

    rule = "".join("-" * width + "  " for _, width, _, _ in columns)
    bar = "=" * (len(rule) - 2)
    out = [bar, header] if header is not None else []
    out += [bar, "This report only display top-level ops statistics"] if top_level_only else []
    out += [rule, line([c[0] for c in columns]), rule]
    shown = 0
    for e in rows:
        if shown == row_limit:
            break
        if top_level_only and e.cpu_parent is not None:
            continue
        shown += 1
        out.append(line([c[3](e) for c in columns]))
        if has_stack:
            blank = [""] * (len(columns) - 1)
            out += [line([*blank, tail(s)]) for s in e.stack[1:]] + [line([*blank, ""])]
    out += [rule, "Self CPU time total: " + _in_unit(cpu_total, unit)]
    if has_device:
        out.append("Self %s time total: %s" % (device, _in_unit(device_total, unit)))
    return "\n".join(out) + "\n"
