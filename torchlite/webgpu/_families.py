"""The planners by family; importing them registers them."""

from . import _reduce  # noqa: F401
from . import _matmul  # noqa: F401
from . import _norm, _batch_norm  # noqa: F401
from . import _scan, _elementwise  # noqa: F401
from . import _conv  # noqa: F401
from . import _index_ops, _advanced, _mask, _shape, _fill  # noqa: F401
from . import _loss  # noqa: F401
from . import _sort  # noqa: F401
from . import _pool  # noqa: F401
from . import _attention  # noqa: F401
from . import _linalg, _sampling  # noqa: F401
