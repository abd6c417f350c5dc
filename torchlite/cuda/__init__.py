"""torch.cuda: there is no CUDA device; queries say so and everything else refuses.

A page can let the name mean its GPU, for scripts that know no other: the environment variable TORCHLITE_CUDA=webgpu, or
`torch.webgpu.use_as_cuda()`. Then `torch.device("cuda")` is the webgpu device, and this module speaks of that.
"""

from .._core import device as _device
from ..version import cuda as _version
from .random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)


def _answer(name, given, default, refuse):
    """torch.webgpu's function under that name where "cuda" means it; else the answer of a PyTorch without CUDA."""
    if _device.cuda_is_webgpu():
        from .. import webgpu

        return getattr(webgpu, name)(*given)
    if refuse:
        raise AssertionError("Torch not compiled with CUDA enabled")
    return default


def _function(name, default=None, refuse=False):
    def fn():
        return _answer(name, (), default, refuse)

    fn.__name__ = fn.__qualname__ = name
    return fn


def _of_device(name, default=None, refuse=False):
    def fn(device=None):
        return _answer(name, () if device is None else (device,), default, refuse)

    fn.__name__ = fn.__qualname__ = name
    return fn


def is_bf16_supported(including_emulation=True):
    return _answer("is_bf16_supported", (), False, False)


def set_device(device):
    return _answer("set_device", (device,), None, True)


def memory_summary(device=None, abbreviated=False):
    return _answer("memory_summary", () if device is None else (device,), None, True)


is_available, is_initialized, is_tf32_supported = (
    _function(name, False) for name in ("is_available", "is_initialized", "is_tf32_supported")
)
device_count = _function("device_count", 0)
memory_allocated, max_memory_allocated, memory_reserved, max_memory_reserved = (
    _of_device(name, 0)
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")
)
empty_cache, reset_peak_memory_stats = _function("empty_cache"), _of_device("reset_peak_memory_stats")
init, current_device = _function("init", refuse=True), _function("current_device", refuse=True)
get_device_name, get_device_properties, get_device_capability, synchronize, mem_get_info = (
    _of_device(name, refuse=True)
    for name in ("get_device_name", "get_device_properties", "get_device_capability", "synchronize", "mem_get_info")
)


def _refuse():
    if _device.cuda_is_webgpu():
        raise NotImplementedError("WebGPU has one queue: streams and events of torch.cuda do not exist on it")
    raise AssertionError("Torch not compiled with CUDA enabled")


def current_stream(device=None):
    return _refuse()


def default_stream(device=None):
    return _refuse()


class StreamContext:
    """Work inside goes to a stream; None, the only one there is, changes nothing."""

    def __init__(self, stream):
        set_stream(stream)
        self.stream = stream

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        return None


def stream(stream):
    return StreamContext(stream)


def set_stream(stream):
    if stream is not None:
        _refuse()


def get_arch_list():
    return []


class Stream:
    """A class, for annotations, patches and isinstance; there is none to make."""

    def __new__(cls, device=None, priority=0, **kwargs):
        return _refuse()

    def query(self):
        return _refuse()

    def record_event(self, event=None):
        return _refuse()

    def synchronize(self):
        return _refuse()

    def wait_event(self, event):
        return _refuse()

    def wait_stream(self, stream):
        return _refuse()


class Event:
    """As Stream."""

    def __new__(cls, enable_timing=False, blocking=False, interprocess=False, external=False):
        return _refuse()

    @classmethod
    def from_ipc_handle(cls, device, handle):
        return _refuse()

    def elapsed_time(self, end_event):
        return _refuse()

    def ipc_handle(self):
        return _refuse()

    def query(self):
        return _refuse()

    def record(self, stream=None):
        return _refuse()

    def synchronize(self):
        return _refuse()

    def wait(self, stream=None):
        return _refuse()


class ExternalStream(Stream):
    """As Stream."""

    def __new__(cls, stream_ptr, device=None, **kwargs):
        return _refuse()


default_generators = ()  # one for each device
_initialized = False


def _is_in_bad_fork():
    """Whether a process was forked after CUDA began."""
    return False


def memory_stats(device=None):
    """What the allocator counts: nothing."""
    from collections import OrderedDict

    return OrderedDict()


def ipc_collect():
    """Nothing to collect."""


class device:
    """Context manager; does nothing without CUDA."""

    def __init__(self, device):
        self.device = device

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


class OutOfMemoryError(RuntimeError):
    """Never raised here."""


has_half = has_magma = False


def __getattr__(name):
    if name == "amp":
        from importlib import import_module

        return import_module(".amp", __name__)
    from .._core import absent

    return absent.of(__name__)(name)
