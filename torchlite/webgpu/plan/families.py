"""The planners by family; importing them registers them."""

from . import factories  # noqa: F401
from . import reduce  # noqa: F401
from . import matmul  # noqa: F401
from . import norm, batch_norm  # noqa: F401
from . import scan, several  # noqa: F401
from . import conv  # noqa: F401
from . import index_ops, advanced, mask, shape, fill  # noqa: F401
from . import loss  # noqa: F401
from . import sort  # noqa: F401
from . import pool  # noqa: F401
from . import attention  # noqa: F401
from . import linalg, sampling  # noqa: F401
