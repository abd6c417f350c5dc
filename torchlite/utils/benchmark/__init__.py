"""torch.utils.benchmark: how long statements take, and tables of that."""

from ..._core import absent as _absent
from .utils.common import (
    Measurement,
    TaskSpec,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
    unit_to_english,
)
from .utils.compare import Colorize, Compare
from .utils.timer import Language, Timer, timer

__getattr__ = _absent.of(__name__)
