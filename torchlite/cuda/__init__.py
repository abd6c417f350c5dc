"""torch.cuda: there is no CUDA device; queries say so and everything else refuses."""

from ..version import cuda as _version  # noqa: F401


def is_available():
    return False


def device_count():
    return 0


def is_initialized():
    return False


def is_bf16_supported(including_emulation=True):
    return False


def _refuse(*args, **kwargs):
    raise AssertionError("Torch not compiled with CUDA enabled")


init = current_device = set_device = get_device_name = get_device_properties = get_device_capability = synchronize = _refuse
current_stream = default_stream = stream = Stream = Event = memory_summary = mem_get_info = _refuse


def manual_seed(seed):
    """Ignored without CUDA."""


def manual_seed_all(seed):
    """Ignored without CUDA."""


def seed_all():
    """Ignored without CUDA."""


def empty_cache():
    """Nothing is cached."""


def reset_peak_memory_stats(device=None):
    """Nothing to reset."""


def ipc_collect():
    """Nothing to collect."""


def _zero(device=None):
    return 0


memory_allocated = max_memory_allocated = memory_reserved = max_memory_reserved = _zero


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


def __getattr__(name):
    if name == "amp":
        from importlib import import_module
        return import_module(".amp", __name__)
    raise AttributeError("module 'torch.cuda' has no attribute '%s'" % name)
