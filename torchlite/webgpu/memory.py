"""GPU memory in the words of torch.cuda. Browsers do not say how much a GPU has; a budget can be set."""

from __future__ import annotations


from .transport import bridge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_budget: list[int | None] = [None]  # bytes; None: as much as the GPU gives


def _stats(device: Any = None) -> dict[str, int]:
    from . import _check, _flush

    _check(device)
    if bridge.current is None:
        return {}
    if bridge.current.state() == bridge.READY:
        _flush()  # what was dropped meanwhile is given back by the commands that wait
    return bridge.current.stats()


def memory_allocated(device: Any = None) -> int:
    """Bytes in tensors."""
    return _stats(device).get("allocated", 0)


def max_memory_allocated(device: Any = None) -> int:
    return _stats(device).get("allocated_peak", 0)


def memory_reserved(device: Any = None) -> int:
    """Bytes in tensors and in memory that is kept for reuse."""
    return _stats(device).get("reserved", 0)


def max_memory_reserved(device: Any = None) -> int:
    return _stats(device).get("reserved_peak", 0)


def memory_stats(device: Any = None) -> dict[str, int]:
    """Figures by torch.cuda.memory_stats' names, and the device's own under "webgpu."."""
    stats = _stats(device)
    if not stats:
        return {}
    both = {
        "allocated_bytes.all": ("allocated", "allocated_peak"),
        "reserved_bytes.all": ("reserved", "reserved_peak"),
        "active_bytes.all": ("allocated", "allocated_peak"),
    }
    named = {}
    for name, (now, peak) in both.items():
        named[name + ".current"], named[name + ".peak"] = stats[now], stats[peak]
    named["num_device_alloc"] = stats["created"]
    return {**named, **{"webgpu." + name: n for name, n in stats.items()}}


def reset_peak_memory_stats(device: Any = None) -> None:
    from . import _check, _flush

    _check(device)
    if bridge.current is not None:
        _flush()
        bridge.current.reset_peaks()


reset_accumulated_memory_stats = reset_peak_memory_stats


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """A table of the figures, to read."""

    def mega(n: int) -> str:
        return "%12.1f MB" % (n / 1e6)

    s = _stats(device)
    if not s:
        return "webgpu: no device is open"
    lines = [
        "webgpu memory            now            peak",
        "in tensors  " + mega(s["allocated"]) + " " + mega(s["allocated_peak"]),
        "with cache  " + mega(s["reserved"]) + " " + mega(s["reserved_peak"]),
    ]
    if not abbreviated:
        lines += [
            "%d tensors; %d buffers made, %d reused; %d kernels run in %d submits; %d reads"
            % (s["slots"], s["created"], s["reused"], s["dispatches"], s["submits"], s["reads"] + s["sync_reads"])
        ]
    return "\n".join(lines)


def get_memory_budget() -> int:
    """Bytes that set_memory_budget allowed; 0 without one."""
    return _budget[0] or 0


def set_memory_budget(nbytes: int | None) -> None:
    """The most bytes on the GPU, beyond which allocations raise OutOfMemoryError; None lifts it."""
    if nbytes is not None and nbytes <= 0:
        raise ValueError("the budget has to be positive, got %s" % nbytes)
    bridge.require().set_budget(nbytes or 0)
    _budget[0] = nbytes


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> Any:
    """PyTorch's limit; it needs to know how much memory there is, which browsers do not say."""
    raise NotImplementedError(
        "browsers do not say how much memory the GPU has: use torch.webgpu.set_memory_budget(nbytes)"
    )


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """(free, total) within the budget; an error without one."""
    if not _budget[0]:
        raise NotImplementedError(
            "browsers do not say how much memory the GPU has; "
            "with torch.webgpu.set_memory_budget(nbytes) there is an answer"
        )
    return max(0, _budget[0] - memory_reserved(device)), _budget[0]
