"""Every op, declared once; also `torch.ops`, whose namespaces are in torchlite/_ops.py."""

from . import (
    activation,
    attention,
    binary,
    bitwise,
    comparison,
    convolution,
    copying,
    creation,
    cross_entropy,
    distance,
    dropout,
    einsum,
    embedding,
    grid_sample,
    indexing,
    joining,
    loss,
    matmul,
    normalization,
    padding,
    pooling,
    random_ops,
    reduction,
    scan,
    softmax,
    sorting,
    ternary,
    trig,
    unary,
    view_lists,
    views,
    vision,
)
from .. import _C
from ._declare import methods, namespace, specs, tables as all_tables

# Families that not every program uses are read at their first use:
# when a name is asked for that the others do not have, or one of these methods.
# (A __getattr__ on Tensor would do without the list, and would slow down every attribute.)
_later = [
    ["recurrent", "ctc", "view_scatter"],
    [
        *("special", "statistics", "norms", "quantiles"),
        *("linalg", "linalg_lu", "linalg_norms", "linalg_derived", "linalg_parts"),
    ],
    ["fft", "spectral"],
    ["row_sums"],
    ["core_aten", "view_copies", "grouped", "integer_mm", "segments", "core_functions", "core_attention"],
]
LATER_METHODS = """_addmm_activation as_strided_scatter cholesky cholesky_inverse cholesky_solve corrcoef cov
    det diagonal_scatter digamma digamma_ erf erf_ erfc erfc_ erfinv erfinv_ geqrf hash_tensor i0 i0_ igamma
    igamma_ igammac igammac_ inverse istft kthvalue lgamma lgamma_ logdet logsumexp lu lu_solve matrix_exp
    matrix_power median mode mvlgamma mvlgamma_ nanmedian nanquantile narrow_copy norm orgqr ormqr pinverse
    polygamma polygamma_ qr quantile select_scatter slice_scatter slogdet std std_mean stft svd triangular_solve
    var var_mean""".split()


class Later:
    """Stands for a method of a family that is not read yet."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __get__(self, obj, kind):
        if not load_next():
            raise AttributeError(self.name)
        return getattr(kind if obj is None else obj, self.name)


def load(name):
    """Declares the families that are read together with `name`, unless that was done before."""
    from importlib import import_module

    for group in _later:
        if name in group:
            _later.remove(group)
            for family in group:
                import_module("." + family, __package__)
            from .. import _publish

            return _publish()


def load_next():
    """Declares the next families that wait for their first use; True when there were any."""
    if _later:
        load(_later[0][0])
        return True
    return False


def load_all():
    """Declares all families that still wait; True when there were any."""
    found = False
    while load_next():
        found = True
    return found


def _with_mean(fn, name):
    """`fn`, or for a loss a function whose `reduction` is the mean when left out:
    torch.f and torch._C._nn.f take none then."""
    schema = next((s.schemas[0] for s in specs if s.name == name and "reduction=Mean" in s.schemas[0]), None)
    if schema is None:
        return fn
    at = schema[: schema.index("reduction=Mean")].count(",")

    def with_mean(*args, **kwargs):
        if len(args) <= at:
            kwargs.setdefault("reduction", 1)
        return fn(*args, **kwargs)

    with_mean.__name__ = name
    return with_mean


class _Namespace:
    """Declared functions of one or more namespaces as attributes."""

    def __init__(self, name, *tables, mean=False):
        self.__name__, self._tables, self._mean = name, tables, mean

    def __getattr__(self, name):
        from .._core.homes import IN_NN

        public = self is nn_namespace and name in IN_NN  # torch.nn.functional has these from here
        for table in reversed(self._tables) if public else self._tables:
            fn = methods().get(name) if table == "Tensor" else namespace(table).get(name)
            if fn is not None and (table != "Tensor" or isinstance(fn, _C.OpMethod)):
                if self._mean:
                    fn = _with_mean(fn, name)
                setattr(self, name, fn)
                return fn
        if not name.startswith("__") and load_next():
            return getattr(self, name)
        table, _, short = name.partition("_")  # linalg_det, special_erf and fft_fft are PyTorch's names of these
        if table in self._tables and short in namespace(table):
            return namespace(table)[short]
        if self is nn_namespace:
            if name == "_parse_to":  # what Module.to makes of its arguments; trainers parse theirs with it
                from ..nn.modules._convert import _parse_to

                return _parse_to
            from .._core import absent

            return absent.of_space(self.__name__, name)
        raise AttributeError("'%s' object has no attribute '%s'" % (self.__name__, name))


# the functions themselves, for bodies and gradients: torch.ops.aten has them by overload
functions: _Namespace = _Namespace(
    "torchlite.ops.functions", "aten", "", "Tensor", "_nn", "nn", "linalg", "special", "fft", mean=True
)
nn_namespace = _Namespace("torch._C._nn", "_nn", "nn")


loaded_libraries: set[str] = set()


def load_library(path):
    """Defines the operators of a known package in place of its compiled ones; no other library can be loaded."""
    import os

    if not os.path.exists(path):
        raise OSError("%s: cannot open shared object file: No such file or directory" % (path,))
    from .. import _libraries

    try:
        known = _libraries.load(path)
    except ModuleNotFoundError:
        raise OSError(
            "%s: the operators for it come with the package's portable wheel (wheels/portable.py)" % (path,)
        ) from None
    if not known:
        raise OSError(
            "%s: torchlite does not load libraries of compiled operators; see torch.library.custom_op" % (path,)
        )
    loaded_libraries.add(str(path))


def __getattr__(name):
    """torch.ops.aten and the namespaces of torch.library."""
    from importlib.util import find_spec

    if name.startswith("__") or find_spec("%s.%s" % (__package__, name)):  # a file here that is not loaded yet
        raise AttributeError("'_Ops' object has no attribute '%s'" % name)
    from .._ops import namespace as space

    found = globals()[name] = space(name)
    return found
