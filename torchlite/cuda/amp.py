"""Old home of autocast and GradScaler."""

from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast
from ..amp import custom_bwd, custom_fwd  # noqa: F401


class autocast(_autocast):
    """autocast("cuda")"""

    def __init__(self, enabled=True, dtype=None, cache_enabled=True):
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """GradScaler("cuda")"""

    def __init__(self, *args, **kwargs):
        super().__init__("cuda", *args, **kwargs)
