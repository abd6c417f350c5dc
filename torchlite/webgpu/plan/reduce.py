"""Reductions: sums, extremes, tests, variances, norms."""

from __future__ import annotations


import torchlite as torch

from ... import _C
from ..fallback import ask_core
from ..lazy.stream import core
from ..registry import planner
from ..tensors import DTYPES, FLOATS, copy_of, empty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from ..._types import DType, Overload, Tensor


# reduce(tensor, dims, keepdim, results, correction=None), in the core (native/src/gpu/gpu_reduce.c)
reduce = core.reduce
int64, float32, boolean = torch.int64, torch.float32, torch.bool


# ---- arguments -------------------------------------------------------------------------------------------------------
def dims_of(dim: Any, ndim: int, none_if_empty: bool = False) -> tuple[int, ...] | None:
    """The reduced dims, wrapped and in order; None where the core has to say what is wrong."""
    if dim is None or (dim == () and not none_if_empty):
        return tuple(range(ndim))
    if type(dim) is int:
        dim = (dim,)
    if not ndim:
        return () if len(dim) <= 1 and all(d in (0, -1) for d in dim) else None
    out = []
    for d in dim:
        if d < 0:
            d += ndim
        if not 0 <= d < ndim or d in out:
            return None
        out.append(d)
    out.sort()
    return tuple(out)


def own(t: Tensor) -> Tensor:
    """A dense tensor that is no view of another: a result of an op."""
    buffer, shape, _, offset, dtype, dense, numel = _C.geometry(t)
    if dense and not offset and numel * dtype.itemsize == buffer.nbytes:
        return _C.device_tensor(1, buffer, buffer.nbytes, dtype, shape)
    return copy_of(t)


# ---- sums ------------------------------------------------------------------------------------------------------------
_sums: dict[Any, Any] = {}


def _sum_spec(row: Any, given: Any, dtype: DType | None) -> Any:
    """How a sum, mean or product of a type is made: (spec, whether it is of pairs of floats);
    None where the core decides."""
    if dtype is not None:
        want = dtype
    elif row == "mean" or given.is_floating_point or given.is_complex:
        want = given
    else:
        want = int64
    if given is torch.complex64 and want is given and row in ("sum", "mean"):
        return _sum_spec(row, float32, None)
    if given not in DTYPES or want not in DTYPES:
        return None
    op = "sum" if row == "nansum" else row
    pre = None
    if want in FLOATS:
        cast = None if given in FLOATS else "float32"
        if row == "nansum" and given in FLOATS:
            pre = "nan_to_zero"
    elif row == "mean":
        return None
    elif want is boolean:
        op, cast = "all" if row == "prod" else "any", None
    elif given is boolean and op == "sum":
        op, cast = "count_nonzero", None
    else:
        # integers wrap, so that 32 bits do for all but int64
        if want is int64:
            cast = "int64"
        elif given in FLOATS or given is int64:
            cast = "int32"
        else:
            cast = None
    return (op, cast, want), pre


@planner("sum", "nansum", "mean", "prod")
def _sum(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    t = args[0]
    row, dtype = ov.kernel, args[-1]
    key = row, t.dtype, dtype
    spec = _sums.get(key)
    if spec is None:
        if row == "prod" and t.dtype is torch.complex64 and dtype in (None, torch.complex64):
            from .complex import product

            return product(ov, args)
        spec = _sum_spec(*key)
        if spec is None:
            if dtype is torch.float64:
                return empty((), dtype)  # says that webgpu does not have it
            return ask_core(ov, args) if not t.dtype.is_complex else NotImplemented
        _sums[key] = spec
    many = len(args) == 4
    dims = dims_of(args[1] if many else None, t.dim())
    if dims is None or not t.numel():
        return ask_core(ov, args)
    keepdim = many and args[2]
    if t.dtype.is_complex:
        t = torch.view_as_real(t.detach())
        return own(torch.view_as_complex(reduce(t, dims, keepdim, spec)[0]))
    return reduce(t, dims, keepdim, spec)[0]


@planner("any", "all", "count_nonzero")
def _any(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    t, row = args[0], ov.kernel
    dtype = t.dtype
    dims = dims_of(args[1] if len(args) > 1 else None, t.dim(), row != "count_nonzero")
    if dims is None or not t.numel():
        return ask_core(ov, args)
    if dtype is torch.complex64:
        t = reduce(torch.view_as_real(t.detach()), (t.dim(),), False, (("any", None, boolean), None))[0]
    if row == "count_nonzero":
        want = int64
    elif dtype is torch.uint8:
        want = dtype
    else:
        want = boolean
    return reduce(t, dims, len(args) > 2 and args[2], ((row, None, want), None))[0]


# ---- extremes --------------------------------------------------------------------------------------------------------
@planner("max", "min", "amax", "amin")
def _amax(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    t, row = args[0], ov.kernel
    dims = dims_of(args[1] if len(args) > 1 else None, t.dim())
    if dims is None or not t.numel() or t.dtype not in DTYPES:
        return ask_core(ov, args)
    return reduce(
        t, dims, len(args) > 2 and args[2], (("amax" if row in ("max", "amax") else "amin", None, t.dtype), None)
    )[0]


@planner("max_dim", "min_dim")
def _max_dim(ov: Any, args: tuple[Any, ...]) -> Any:
    t, dim, keepdim = args
    dims = dims_of(dim, t.dim())
    if dims is None or not t.numel() or t.dtype not in DTYPES:
        return ask_core(ov, args)
    which = ov.kernel[:3]
    return reduce(t, dims, keepdim, (("a" + which, None, t.dtype), ("arg" + which, None, int64), None))


@planner("aminmax")
def _aminmax(ov: Overload, args: tuple[Any, ...]) -> Any:
    t, dim, keepdim = args
    dims = dims_of(dim, t.dim())
    if dims is None or not t.numel() or t.dtype not in DTYPES:
        return ask_core(ov, args)
    return reduce(t, dims, keepdim, (("amin", None, t.dtype), ("amax", None, t.dtype), None))


@planner("argmax", "argmin")
def _argmax(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    t, dim, keepdim = args
    dims = dims_of(dim, t.dim())
    if dims is None or not t.numel() or t.dtype not in DTYPES or t.dtype is boolean:
        return ask_core(ov, args)
    return reduce(t, dims, keepdim, ((ov.kernel, None, int64), None))[0]


# ---- statistics ------------------------------------------------------------------------------------------------------
_NO_FREEDOM = (
    "%s(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
    "divided by output numel)."
)


@planner(
    "var",
    "std",
    "var_mean",
    "std_mean",
    "var_correction",
    "std_correction",
    "var_mean_correction",
    "std_mean_correction",
)
def _var(ov: Any, args: tuple[Any, ...]) -> Any:
    t = args[0]
    dtype = t.dtype
    if dtype.is_complex:
        return NotImplemented
    n = len(args)
    dims = dims_of(args[1] if n > 2 else None, t.dim())
    if dims is None or dtype not in FLOATS or not t.numel():
        return ask_core(ov, args)
    given = args[2] if n > 2 else args[1]
    correction = 1.0 if given is None else float(given)
    name = ov.kernel[: -len("_correction")] if ov.kernel.endswith("_correction") else ov.kernel
    shape, count = t.shape, 1
    for d in dims:
        count *= shape[d]
    if count <= correction:
        import warnings

        warnings.warn(_NO_FREEDOM % name, UserWarning, stacklevel=3)
    op = name[:3]
    if name == op:
        return reduce(t, dims, n > 2 and args[3], ((op, None, dtype), None), correction)[0]
    return reduce(t, dims, n > 2 and args[3], ((op, None, dtype), ("mean", None, dtype), None), correction)


@planner("linalg_vector_norm")
def _vector_norm(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    t, p, dim, keepdim, want = args
    dtype = t.dtype
    dims = dims_of(dim, t.dim())
    if dims is None or isinstance(p, complex) or not t.numel():
        return ask_core(ov, args)
    if dtype is torch.complex64 and want in (None, dtype):
        size = torch.view_as_real(t.detach())
        return _norm(torch.hypot(size.select(-1, 0), size.select(-1, 1)), p, dims, keepdim, float32)
    if dtype not in FLOATS or want is not None and want not in FLOATS:
        return ask_core(ov, args)
    return _norm(t, p, dims, keepdim, dtype if want is None else want)


def _norm(t: Tensor, p: float, dims: Any, keepdim: bool, want: DType) -> Any:
    p = float(p)
    if p == 0:
        return reduce(t, dims, keepdim, (("count_nonzero", None, want), None))[0]
    if p == 1:
        return reduce(t, dims, keepdim, (("sum", None, want), "abs"))[0]
    if p == 2:
        return reduce(t, dims, keepdim, (("norm2", None, want), None))[0]
    if p in (float("inf"), float("-inf")):
        return reduce(t, dims, keepdim, (("amax" if p > 0 else "amin", None, want), "abs"))[0]
    return reduce(t, dims, keepdim, (("sum", None, float32), p))[0].pow(1 / p).to(want)


@planner("logsumexp")
def _logsumexp(ov: Overload, args: tuple[Any, ...]) -> Any:
    t, dim, keepdim = args
    dtype = t.dtype
    if dtype.is_complex:
        return NotImplemented
    dims = dims_of(dim, t.dim())
    if dims is None or not t.numel():
        return ask_core(ov, args)
    if dtype in FLOATS:
        return reduce(t, dims, keepdim, (("logsumexp", None, dtype), None))[0]
    want = torch.get_default_dtype()
    if want not in FLOATS:
        return NotImplemented
    return reduce(t, dims, keepdim, (("logsumexp", "float32", want), None))[0]
