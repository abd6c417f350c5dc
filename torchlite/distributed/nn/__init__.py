"""torch.distributed.nn: collectives that gradients pass through."""

from ..._core import absent as _absent
from .functional import (
    all_gather,
    all_reduce,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)

__getattr__ = _absent.of(__name__)
