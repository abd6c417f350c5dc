"""torch.amp.autocast_mode: PyTorch's home of what torch.amp has."""

from .._core import absent as _absent
from . import _cast, autocast, custom_bwd, custom_fwd, is_autocast_available  # noqa: F401

__getattr__ = _absent.of(__name__)
