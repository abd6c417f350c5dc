"""The planners by family; importing them registers them."""

from . import advanced, attention, batch_norm, conv, factories, fill, index_ops, linalg, loss, mask  # noqa: F401
from . import matmul, norm, pool, reduce, sampling, scan, several, shape, sort  # noqa: F401
