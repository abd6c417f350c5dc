"""What packages ask of tensors that wrap others. There are none here: __torch_dispatch__ is refused."""

from .._core import absent as _absent


def is_traceable_wrapper_subclass(t):
    """False: no tensor holds tensors."""
    return False


def is_traceable_wrapper_subclass_type(t):
    return False


def is_in_torch_dispatch_mode(include_infra_modes=True):
    return False


def _get_current_dispatch_mode():
    return None


def _get_current_dispatch_mode_stack():
    return []


TorchDispatchMode = _absent.make_class("TorchDispatchMode", "torch.utils._python_dispatch")
