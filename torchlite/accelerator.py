"""torch.accelerator: the GPU of the page (webgpu), when there is one."""


def _webgpu(need=True):
    from . import webgpu

    if need and not webgpu.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available. (%s)" % webgpu.why_not())
    return webgpu


def is_available():
    """Whether there is a GPU that tensors can be made on now; see torch.webgpu.is_available."""
    return _webgpu(False).is_available()


def device_count():
    return _webgpu(False).device_count()


def current_accelerator(check_available=False):
    """The accelerator's device, without an index; None where there is none. Without check_available PyTorch names the
    accelerator that it was built for; here that would be a device which most Pythons cannot have."""
    if not is_available():
        return None
    from ._core.device import device

    return device("webgpu")


def current_device_index():
    return _webgpu().current_device()


current_device_idx = current_device_index


def set_device_index(device):
    _webgpu().set_device(device)


set_device_idx = set_device_index


class device_index:
    """Context manager that makes a device the current one; there is one."""

    def __init__(self, device):
        self.idx = device
        if device is not None:
            set_device_index(device)

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        return False


def get_device_capability(device=None):
    """What the accelerator computes: its dtypes."""
    _webgpu()._check(device)
    from ._core.dtypes import bfloat16, bool, float16, float32, int8, int16, int32, int64, uint8

    return {"supported_dtypes": {bool, uint8, int8, int16, int32, int64, float16, bfloat16, float32}}


def synchronize(device=None):
    """Waits until the GPU has done all that was asked of it."""
    _webgpu().synchronize(device)


def empty_cache():
    """torch.webgpu.empty_cache."""
    return _webgpu().empty_cache()


def _of_device(name):
    def function(device_index=None, /):
        return getattr(_webgpu(), name)(*() if device_index is None else (device_index,))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "torch.webgpu.%s." % name
    return function


memory_stats, memory_allocated, max_memory_allocated, memory_reserved, max_memory_reserved = map(
    _of_device,
    ("memory_stats", "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"),
)
reset_peak_memory_stats, reset_accumulated_memory_stats = map(
    _of_device, ("reset_peak_memory_stats", "reset_accumulated_memory_stats")
)
get_memory_info = _of_device("mem_get_info")


def empty_host_cache():
    """No memory of the host is cached."""


def current_stream(device=None):
    raise NotImplementedError("WebGPU has one queue: there are no streams to choose from")


def set_stream(stream):
    raise NotImplementedError("WebGPU has one queue: there are no streams to choose from")


from ._core import absent as _absent

__getattr__ = _absent.of(__name__)
