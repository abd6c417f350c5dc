"""Every op, declared once; also `torch.ops`: aten and the names that only gradients use."""

from . import (activation, binary, bitwise, comparison, convolution, copying, creation, distance, einsum, embedding, indexing,  # noqa: F401
               joining, loss, matmul, normalization, padding, pooling, random_ops, reduction, scan, sorting, ternary, trig, unary,
               view_scatter, views, vision)
from ._declare import methods, namespace, specs  # noqa: F401

# families that few programs use are read when a name is asked for that the others do not have
_later = ["special", "statistics", "linalg", "linalg_derived"]


def load_all():
    """Declares the families that wait for their first use; True when there were any."""
    if not _later:
        return False
    from importlib import import_module
    names, _later[:] = list(_later), []
    for name in names:
        import_module("." + name, __name__)
    from .. import _publish
    _publish()
    return True


class _Namespace:
    """Declared functions of one or more namespaces as attributes."""

    def __init__(self, name, *tables):
        self.__name__, self._tables = name, tables

    def __getattr__(self, name):
        for table in self._tables:
            fn = namespace(table).get(name)
            if fn is not None:
                setattr(self, name, fn)
                return fn
        if not name.startswith("__") and load_all():
            return getattr(self, name)
        raise AttributeError("'%s' object has no attribute '%s'" % (self.__name__, name))


aten = _Namespace("torch.ops.aten", "aten", "", "_nn", "nn", "linalg", "special", "fft")
nn_namespace = _Namespace("torch._C._nn", "_nn", "nn")
