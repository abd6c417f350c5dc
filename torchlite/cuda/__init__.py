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


def _function(name, default=None, refuse=False):
    """torch.webgpu's function under that name where "cuda" means it; else the answer of a PyTorch without CUDA."""

    def fn(*args, **kwargs):
        if _device.cuda_is_webgpu():
            from .. import webgpu

            return getattr(webgpu, name)(*args, **kwargs)
        if refuse:
            raise AssertionError("Torch not compiled with CUDA enabled")
        return default

    fn.__name__ = fn.__qualname__ = name
    return fn


is_available, is_initialized, is_bf16_supported, is_tf32_supported = (
    _function(name, False) for name in ("is_available", "is_initialized", "is_bf16_supported", "is_tf32_supported")
)
device_count, memory_allocated, max_memory_allocated, memory_reserved, max_memory_reserved = (
    _function(name, 0)
    for name in ("device_count", "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")
)
empty_cache, reset_peak_memory_stats = _function("empty_cache"), _function("reset_peak_memory_stats")
(
    init,
    current_device,
    set_device,
    get_device_name,
    get_device_properties,
    get_device_capability,
    synchronize,
    memory_summary,
    mem_get_info,
) = (
    _function(name, refuse=True)
    for name in (
        "init",
        "current_device",
        "set_device",
        "get_device_name",
        "get_device_properties",
        "get_device_capability",
        "synchronize",
        "memory_summary",
        "mem_get_info",
    )
)


def _refuse(*args, **kwargs):
    if _device.cuda_is_webgpu():
        raise NotImplementedError("WebGPU has one queue: streams and events of torch.cuda do not exist on it")
    raise AssertionError("Torch not compiled with CUDA enabled")


current_stream = default_stream = stream = _refuse


class Stream:
    """A class, for annotations and isinstance; there is none to make."""

    def __new__(cls, *args, **kwargs):
        return _refuse()


class Event:
    """As Stream."""

    def __new__(cls, *args, **kwargs):
        return _refuse()


class ExternalStream(Stream):
    """As Stream."""


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
