"""torch.cpu: the CPU as a device module."""


def is_available():
    return True


def device_count():
    return 1


def current_device():
    return "cpu"


def set_device(device):
    """There is one CPU."""


def synchronize(device=None):
    """CPU operations are done when they return."""


from . import amp  # noqa: E402,F401


from .._core import absent as _absent  # noqa: E402

__getattr__ = _absent.of(__name__)
