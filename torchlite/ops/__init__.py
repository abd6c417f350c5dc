"""Every op, declared once; also `torch.ops`: aten and the names that only gradients use."""

from . import (activation, binary, bitwise, comparison, convolution, copying, creation, distance, einsum, embedding, indexing,  # noqa: F401
               joining, linalg, linalg_derived, loss, matmul, normalization, padding, pooling, random_ops, reduction, scan, sorting, special, statistics,
               ternary, trig, unary, view_scatter, views, vision)
from ._declare import methods, namespace, specs  # noqa: F401


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
        raise AttributeError("'%s' object has no attribute '%s'" % (self.__name__, name))


aten = _Namespace("torch.ops.aten", "aten", "", "_nn", "nn", "linalg", "special", "fft")
nn_namespace = _Namespace("torch._C._nn", "_nn", "nn")
