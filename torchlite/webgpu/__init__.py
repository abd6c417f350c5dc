"""torch.webgpu: the GPU of the page, in the words of torch.cuda.

Browsers give a device asynchronously. Where Python can wait in the middle of synchronous code (it was entered by
runPythonAsync, in a browser with stack switching) the device is opened when it is first asked for; elsewhere
`await torch.webgpu.ready()` comes first.
"""

from __future__ import annotations


from .transport import bridge as _bridge
from .transport.bridge import DeviceLostError, ready
from .memory import (
    get_memory_budget,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
    set_memory_budget,
    set_per_process_memory_fraction,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any
    from .._types import Device
    from .watch.debug import debug as _debug_block


def _check(device: Any) -> None:
    """A device argument: None, an index, a string or a device; there is one GPU."""
    from .._core.device import device as make

    if device is None:
        return
    if isinstance(device, int):
        device = make("webgpu", device)
    device = make(device)
    if device.type != "webgpu":
        raise ValueError("Expected a webgpu device, but got: %s" % device)
    if device.index:
        raise RuntimeError("webgpu device %d is not there: a page has one GPU, webgpu:0" % device.index)


def _bridge_of(device: Any = None) -> Any:
    _check(device)
    return _bridge.require()


def is_available() -> bool:
    """Whether tensors can be made on webgpu now. False also where there is a GPU that first has to be waited for:
    `await ready()`."""
    return _bridge.available()


def is_initialized() -> bool:
    """Whether the device is open."""
    return _bridge.current is not None


def init() -> None:
    """Opens the device; RuntimeError where there is none or this code cannot wait for it."""
    _bridge.require()


def why_not() -> str:
    """Why is_available() is False, as text; empty when it is True."""
    return _bridge.why_not()


def use_as_cuda(on: bool = True) -> None:
    """Lets "cuda" mean this device, for scripts that know no other name:
    `torch.device("cuda")`, `x.cuda()`, `torch.cuda.is_available()`.
    Tensors and devices still call themselves webgpu.
    TORCHLITE_CUDA=webgpu in the environment does the same from the start."""
    from .._core import device as _device

    _device.use_webgpu_as_cuda(on)


def device_count() -> int:
    return int(is_available())


def current_device() -> int:
    _bridge.require()
    return 0


def set_device(device: Any) -> None:
    """Accepts the one device there is."""
    _check(device)


class device:
    """Context manager with torch.cuda.device's form; there is one device, so it changes nothing."""

    def __init__(self, device: int) -> None:
        _check(device)
        self.idx = 0

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: Any) -> Any:
        return False


class _DeviceProperties:
    """What the browser tells of the GPU."""

    def __init__(self, info: dict[str, Any]) -> None:
        self.name = (
            info.get("description")
            or info.get("device")
            or " ".join(x for x in (info["vendor"], info["architecture"]) if x)
            or "unknown GPU"
        )
        self.vendor = info["vendor"]
        self.architecture = info["architecture"]
        self.is_software = info["fallback"]
        self.features = tuple(info["features"])
        self.limits = dict(info["limits"])
        self.max_buffer_size = info["limits"]["maxBufferSize"]
        # "f16": kernels read float16 as such; "bits": no shader-f16, or it does not keep every half
        self.halves = info["halves"]
        self.subgroup_sizes = (info["subgroupMinSize"], info["subgroupMaxSize"])
        self.major, self.minor, self.multi_processor_count = 0, 0, 0  # browsers do not report them
        self.total_memory = get_memory_budget()

    def __repr__(self) -> Any:
        return "_WebGPUDeviceProperties(name='%s', is_software=%s, max_buffer_size=%dMB, halves='%s', features=%s)" % (
            self.name,
            self.is_software,
            self.max_buffer_size >> 20,
            self.halves,
            list(self.features),
        )


def get_device_properties(device: Any = None) -> _DeviceProperties:
    return _DeviceProperties(_bridge_of(device).info())


def get_device_name(device: Any = None) -> str:
    return get_device_properties(device).name


def get_device_capability(device: Device | str | int | None = None) -> Any:
    """WebGPU has no compute capabilities; (0, 0)."""
    _bridge_of(device)
    return (0, 0)


def is_bf16_supported(including_emulation: bool = True) -> Any:
    """bfloat16 is stored as such and computed in float32."""
    return including_emulation


def debug(*kinds: str) -> _debug_block:
    """Says on stderr what the device does, from now on or for a `with` block; debug() switches it off.
    TORCHLITE_DEBUG=kernels,timing in the environment does the same from the first use.

    kinds: "kernels": a line for each kernel that is sent, with the ops in it, sizes and workgroups;
    "wgsl": the text of each kernel that is compiled; "timing": GPU time by kernel at each read and synchronize()
    (needs an adapter with timestamps); "fallbacks": a line for each op that the CPU runs in the device's place.
    ValueError for others.
    """
    from .watch import debug as _debug

    return _debug.debug(*kinds)


def _commands() -> ModuleType | None:
    import sys

    return sys.modules.get(__name__ + ".lazy.stream")


def _flush(everything: bool = False) -> None:
    """Flushes all commands; `everything`: pending expressions as well, which wait for a larger kernel."""
    stream = _commands()
    if stream is not None:
        if everything:
            stream.run_pending()
        stream.flush()


def _failed(error: Any) -> None:
    stream = _commands()
    if stream is not None:
        stream.failed(error)


def synchronize(device: Any = None) -> None:
    """Waits until the GPU has done all that was asked of it."""
    bridge = _bridge_of(device)
    _flush(True)
    try:
        bridge.synchronize()
    except RuntimeError as e:
        _failed(e)
        raise
    if _commands() is not None:
        from .lazy import checks

        checks.verify()  # raises for indices out of range


async def synchronize_async(device: Any = None) -> None:
    """As synchronize(), where Python cannot wait in the middle of synchronous code."""
    _check(device)
    if not await ready():
        raise RuntimeError(why_not())
    _flush(True)
    try:
        await _bridge.current.synchronize_async()
    except RuntimeError as e:
        _failed(e)
        raise
    if _commands() is not None:
        from .lazy import checks

        await checks.verify_async()


def empty_cache() -> None:
    """Gives memory that is kept for reuse back to the browser."""
    if _bridge.current is not None:
        _flush()
        _bridge.current.empty_cache()


async def reset() -> bool:
    """Starts a new device, after the old one was lost; tensors of the old one are void.
    False where there is none to be had."""
    if _bridge.current is None:
        return await ready()
    done = await _bridge.current.reset()
    stream = _commands()
    if stream is not None:
        stream.device_epoch()
    return done


def manual_seed(seed: Any) -> None:
    """Seeds the generator: random numbers are drawn by the CPU's, and are the same on every device."""
    from ..random import manual_seed

    manual_seed(seed)


manual_seed_all = manual_seed
