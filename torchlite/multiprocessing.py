"""torch.multiprocessing: a page has no processes."""


def _refuse(*args, **kwargs):
    raise RuntimeError("torch.multiprocessing is not available: torchlite runs in one process")


spawn = start_processes = Pool = Queue = _refuse


class Process:
    """A process: programs may derive classes of it, but not make one."""

    def __init__(self, *args, **kwargs):
        _refuse()


def set_start_method(method, force=False):
    """There is nothing to start."""


def get_start_method(allow_none=False):
    return None


def set_sharing_strategy(new_strategy):
    """There is nothing to share with."""


def get_sharing_strategy():
    return "file_system"


def get_all_sharing_strategies():
    return {"file_system"}


def __getattr__(name):
    """What else PyTorch takes over from the standard library."""
    import multiprocessing

    if name.startswith("__") or not hasattr(multiprocessing, name):
        return _absent(name)
    return getattr(multiprocessing, name)


from ._core import absent

_absent = absent.of(__name__)
