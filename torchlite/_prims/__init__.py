"""torch._prims: of its primitives torchlite has none; `utils` is torch._prims_common."""

from torchlite import _prims_common as utils
from torchlite._core import absent as _absent

__all__ = ["utils"]
__getattr__ = _absent.of(__name__)
