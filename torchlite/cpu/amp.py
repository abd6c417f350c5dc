"""Old home of autocast and GradScaler for the CPU."""

from ..amp import old_names

autocast, GradScaler = old_names("cpu")


from .._core import absent as _absent

__getattr__ = _absent.of(__name__)
