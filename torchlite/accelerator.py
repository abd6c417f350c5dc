"""torch.accelerator: the GPU of the page, when there is one."""


def is_available():
    """False: this build has no accelerator backend."""
    return False


def device_count():
    return 0


def current_accelerator(check_available=False):
    """The accelerator's device, or None without one."""
    return None


def _refuse(*args, **kwargs):
    raise RuntimeError("Cannot access accelerator device when none is available.")


current_device_index = current_device_idx = set_device_index = set_device_idx = synchronize = current_stream = set_stream = _refuse
