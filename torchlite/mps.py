"""torch.mps: there is no MPS device."""


def is_available():
    return False


def device_count():
    return 0


def empty_cache():
    """Nothing is cached."""


def manual_seed(seed):
    """Ignored without MPS."""


def synchronize():
    raise AssertionError("Torch not compiled with MPS enabled")


from ._core import absent as _absent

__getattr__ = _absent.of(__name__)
