"""torch.distributed.elastic.multiprocessing.errors: what scripts for torchrun decorate their main function with."""

import functools

from ...._core import absent as _absent


def record(fn, error_handler=None):
    """A decorator. Under torchrun PyTorch writes the error of a failed process into a file, for the process that
    started it; here there is one process, so errors just go on."""

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs)

    return wrapper


__getattr__ = _absent.of(__name__)
