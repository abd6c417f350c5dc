"""What ops do with COO tensors, below autograd: a table by the operator's name. Compressed ones go on to _compressed.

Results are sparse where PyTorch's are. `_refuse` is its error for an op that no table has.
"""

from __future__ import annotations

from typing import Any

import torchlite as torch

from .. import _C
from . import _products, _shapes, _tensor as _t  # noqa: F401  (they fill the table)
from ._table import TABLE, op, replace
from ._tensor import coo, is_compressed, is_coo, parts

# element-wise functions with f(0) = 0: of the coalesced values
_UNARY = frozenset(
    """abs asin asinh atan atanh ceil conj_physical deg2rad erf erfinv expm1 floor frac isinf isnan isneginf isposinf
    log1p nan_to_num neg rad2deg relu round sgn sign signbit sin sinh sqrt tan tanh threshold_backward trunc angle
    real imag _conj_physical positive square hardtanh leaky_relu""".split()
)


def run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The result of an operator of which an argument is sparse."""
    name = func.__name__.removesuffix(".default")
    packet = name.partition(".")[0]
    if _any(is_compressed, args):
        from ._compressed_ops import COMPRESSED_TABLE as table
    else:
        table = TABLE
    if "out" in kwargs and func._overloadname.endswith("out"):
        return _out(func, args, kwargs)
    handler = table.get(name) or table.get(packet)
    if handler is None and packet.removesuffix("_") in _UNARY and isinstance(args[0], _t.SparseTensor):
        return _unary(func, packet, args, kwargs)
    if handler is None:
        raise refused(func, args)
    return handler(*args, **kwargs)


@op("_conj")
def _conj(x: Any) -> Any:
    """Conjugates of the values: no view of a sparse tensor is flagged."""
    return torch.conj_physical(x)


def _any(test: Any, args: Any) -> bool:
    return any(_any(test, a) if isinstance(a, (list, tuple)) else test(a) for a in args)


def refused(func: Any, args: Any) -> NotImplementedError:
    """PyTorch's error for an operator without a kernel for the layout."""
    compressed = _any(is_compressed, args)
    name = func._schema.name + ("." + func._overloadname if func._overloadname != "default" else "")
    return NotImplementedError(
        "Could not run '%s' with arguments from the 'Sparse%sCPU' backend. This could be because the operator doesn't "
        "exist for this backend. torchlite has it for dense tensors: use Tensor.to_dense() first."
        % (name, "Csr" if compressed else "")
    )


def _unary(func: Any, packet: str, args: Any, kwargs: dict[str, Any]) -> Any:
    x = args[0]
    inplace = packet.endswith("_")
    plain = getattr(getattr(torch.ops.aten, packet.removesuffix("_")), func._overloadname)
    if is_compressed(x):
        heads, others, values = x._parts
        made = _t.compressed(x.layout, heads, others, plain(values, *args[1:], **kwargs), x.shape)
    else:
        x = _t.coalesced(x)
        indices, values = parts(x)
        made = coo(indices, plain(values, *args[1:], **kwargs), x.shape, True)
    if not inplace:
        return made
    _C.check_cast(made.dtype, x.dtype)
    return replace(args[0], made)


def _out(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The functional form, then its parts put into the tensor given as out=."""
    out = kwargs.pop("out")
    packet = func.overloadpacket
    made = packet(*args, **kwargs)
    if made.layout is not out.layout or made.shape != out.shape:
        raise RuntimeError(
            "%s(out=): expected a tensor of layout %s and size %s, but got layout %s and size %s"
            % (packet.__name__, made.layout, list(made.shape), out.layout, list(out.shape))
        )
    _C.check_cast(made.dtype, out.dtype)
    return replace(out, made) if isinstance(out, _t.SparseTensor) else out.copy_(made)


def on_values(x: Any, fn: Any) -> Any:
    """fn of the values, the indices shared."""
    indices, values = parts(x)
    return coo(indices, fn(values), x.shape, x._sorted)


@op("detach", "alias", "view_as_real_copy")
def detach(x: Any) -> Any:
    return coo(*parts(x), x.shape, x._sorted)


@op("view")
def view(x: Any, size: Any) -> Any:
    if tuple(size) != tuple(x.shape):
        raise refused(torch.ops.aten.view.default, (x,))
    return detach(x)


@op("any")
def any_of(x: Any, *dims: Any, **kwargs: Any) -> Any:
    if dims or kwargs:
        raise refused(torch.ops.aten.any.dim, (x,))
    return parts(x)[1].any()


@op("_local_scalar_dense")
def number(x: Any) -> Any:
    return _t.dense(x).item()


@op("clone")
def clone(x: Any, memory_format: Any = None) -> Any:
    indices, values = parts(x)
    return coo(indices.clone(), values.clone(), x.shape, x._sorted)


@op("_to_copy", "to")
def to_copy(x: Any, dtype: Any = None, device: Any = None, layout: Any = None, **kwargs: Any) -> Any:
    if layout is torch.strided:
        return _t.dense(x).to(dtype=dtype or x.dtype, device=device)
    indices, values = parts(x)
    dtype = values.dtype if dtype is None else dtype
    device = values.device if device is None else device
    return coo(indices.to(device, copy=True), values.to(device=device, dtype=dtype, copy=True), x.shape, x._sorted)


@op("copy_")
def copy_(x: Any, source: Any, non_blocking: bool = False) -> Any:
    if not is_coo(x) or not is_coo(source):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = %s and src type = %s"
            % (x.type(), source.type())
        )
    return replace(x, on_values(source, lambda v: v.to(device=x.device, dtype=x.dtype, copy=True)))


def _empty(x: Any, size: Any = None, dtype: Any = None, device: Any = None) -> Any:
    indices, values = parts(x)
    size = tuple(x.shape if size is None else size)
    n = indices.shape[0] if len(size) == x.dim() else len(size)
    dtype = x.dtype if dtype is None else dtype
    made = values.new_zeros((0, *size[n:]), dtype=dtype, device=x.device if device is None else device)
    return coo(indices.new_zeros((n, 0), device=made.device), made, size, True)


@op("zeros_like", "empty_like", "new_zeros", "new_empty")
def zeros_like(x: Any, size: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, **kw: Any) -> Any:
    if layout is torch.strided:
        return torch.zeros(x.shape if size is None else size, dtype=dtype or x.dtype, device=device or x.device)
    return _empty(x, size, dtype, device)


@op("zero_")
def zero_(x: Any) -> Any:
    return replace(x, _empty(x))


@op("is_same_size")
def is_same_size(x: Any, other: Any) -> bool:
    return x.shape == other.shape


@op("equal")
def equal(x: Any, other: Any) -> bool:
    if not is_coo(x) or not is_coo(other) or x.shape != other.shape:
        return False
    a, b = _t.coalesced(x), _t.coalesced(other)
    return a._parts[0].equal(b._parts[0]) and a._parts[1].equal(b._parts[1])


# ---- sums ------------------------------------------------------------------------------------------------------------
def _check_sizes(name: str, a: Any, b: Any) -> None:
    if a.shape != b.shape:
        raise RuntimeError(
            "%s: expected sizes of 'self' and 'other' to match, but %s != %s" % (name, list(a.shape), list(b.shape))
        )


@op("add")
def add(x: Any, y: Any, *, alpha: Any = 1, sign: int = 1) -> Any:
    if is_coo(x) and not isinstance(y, torch.Tensor) or is_coo(x) and not is_coo(y):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    scale = alpha * sign
    if not is_coo(x):  # dense + sparse
        indices, values = parts(y)
        dtype = torch.result_type(x, torch.empty((0,) * x.dim(), dtype=y.dtype))
        if torch.broadcast_shapes(x.shape, y.shape) != x.shape:
            raise RuntimeError(
                "add: expected 'self' and 'other' to have same size, but self has size %s while other has size %s "
                "(FYI: dense-sparse addition does not currently support broadcasting)"
                % (str(list(x.shape)), str(list(y.shape)))
            )
        _check_sizes("add", x, y)
        return _scatter_add(x.to(dtype, copy=True, memory_format=torch.contiguous_format), indices, values, scale)
    _check_sizes("add", x, y)
    (ai, av), (bi, bv) = parts(x), parts(y)
    dtype = torch.result_type(av, bv)
    if ai.shape[0] != bi.shape[0]:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same number of sparse dimensions, but %d != %d"
            % (ai.shape[0], bi.shape[0])
        )
    bv = bv.to(dtype)
    if ai.shape == bi.shape and av.is_contiguous() and bv.is_contiguous() and ai.equal(bi):
        return coo(ai, torch.add(av.to(dtype), bv, alpha=scale), x.shape, x._sorted and y._sorted)
    made = coo(torch.cat((ai, bi), 1), torch.cat((av.to(dtype), bv if scale == 1 else bv * scale)), x.shape, False)
    return _t.coalesced(made) if x._sorted and y._sorted else made


def _scatter_add(into: Any, indices: Any, values: Any, scale: Any) -> Any:
    """into[indices] += scale * values, in place, of a contiguous tensor."""
    n = indices.shape[0]
    rows = values.to(into.dtype)
    flat = into.view(-1, *into.shape[n:]) if n else into.view(1, *into.shape)
    _t.add_rows(flat, _t.flatten(indices, into.shape[:n]), rows if scale == 1 else rows * scale)
    return into


@op("sub")
def sub(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    _no_bools(x, y)
    return add(x, y, alpha=alpha, sign=-1)


def _no_bools(x: Any, y: Any) -> None:
    if isinstance(y, torch.Tensor) and torch.bool in (x.dtype, y.dtype):
        torch.sub(torch.empty(0, dtype=x.dtype), torch.empty(0, dtype=y.dtype))  # its error


def _check_result(name: str, x: Any, y: Any) -> None:
    """PyTorch's error where x op y does not fit x's dtype, in place."""
    made = torch.result_type(*(parts(t)[1] if is_coo(t) else t for t in (x, y)))
    if not torch.can_cast(made, x.dtype):
        raise RuntimeError(
            "Can't convert result type %s to output %s in %s operation"
            % (made._scalar_type, x.dtype._scalar_type, name)
        )


@op("add_")
def add_(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    if is_coo(x):
        made = add(x, y, alpha=alpha)
        _check_result("add", x, y)
        return replace(x, made)
    _check_sizes("add", x, y)
    indices, values = parts(y)
    if not torch.can_cast(y.dtype, x.dtype):
        raise RuntimeError(
            "result type %s can't be cast to the desired output type %s in-place add"
            % (y.dtype._scalar_type, x.dtype._scalar_type)
        )
    if x.is_contiguous():
        return _scatter_add(x, indices, values, alpha)
    return x.copy_(add(x, y, alpha=alpha))


@op("sub_")
def sub_(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    _no_bools(x, y)
    return add_(x, y, alpha=-alpha)


# ---- products with numbers and elements ------------------------------------------------------------------------------
def _number(y: Any) -> bool:
    return not isinstance(y, torch.Tensor) or y.dim() == 0 and not is_coo(y)


@op("mul")
def mul(x: Any, y: Any) -> Any:
    if not is_coo(x):
        x, y = y, x
    if _number(y):
        return on_values(x, lambda v: v * y)
    if not is_coo(y):  # values of the dense one at the indices
        shape = torch.broadcast_shapes(x.shape, y.shape)
        if shape != x.shape:
            raise NotImplementedError(
                "mul(sparse, dense): torchlite does not broadcast the sparse tensor to %s; use x.to_dense()" % (shape,)
            )
        return on_values(x, lambda v: v * _t.sample(y.expand(x.shape), x))
    if x.dim() == 0 or y.dim() == 0:
        number, other = (x, y) if x.dim() == 0 else (y, x)
        return on_values(other, lambda v: v * _t.dense(number))
    _check_sizes("mul", x, y)
    a, b = _t.coalesced(x), _t.coalesced(y)
    (ai, av), (bi, bv) = parts(a), parts(b)
    if ai.shape[0] != bi.shape[0]:
        raise RuntimeError("mul: expected 'self' and 'other' to have the same number of sparse dimensions")
    keys, others = _t.flatten(ai, x.shape), _t.flatten(bi, x.shape)
    at = torch.searchsorted(others, keys).clamp(max=max(others.shape[0] - 1, 0))
    both = others[at] == keys if others.shape[0] else torch.zeros_like(keys, dtype=torch.bool)
    return coo(ai[:, both], av[both] * bv[at[both]], x.shape, True)


@op("div", "true_divide", "floor_divide", "remainder", "fmod")
def div(x: Any, y: Any, *, rounding_mode: Any = None) -> Any:
    if not is_coo(x) or not _number(y):
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape %s for divisor)"
            % (list(getattr(y, "shape", ())),)
        )
    return on_values(_t.coalesced(x) if rounding_mode else x, lambda v: torch.div(v, y, rounding_mode=rounding_mode))


TABLE["floor_divide"] = lambda x, y: div(x, y, rounding_mode="floor")
del TABLE["remainder"], TABLE["fmod"]


@op("pow.Tensor_Scalar")
def pow(x: Any, exponent: Any) -> Any:
    if isinstance(exponent, (int, float)) and exponent == 0:
        raise RuntimeError("cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    return on_values(_t.coalesced(x), lambda v: v**exponent)


@op("mul_")
def mul_(x: Any, y: Any) -> Any:
    made = mul(x, y)
    if not is_coo(x):
        return x.copy_(_t.dense(made))
    _check_result("mul", x, y)
    return replace(x, made)


TABLE["div_"] = lambda x, y, rounding_mode=None: replace(x, div(x, y, rounding_mode=rounding_mode))
TABLE["floor_divide_"] = lambda x, y: replace(x, div(x, y, rounding_mode="floor"))
TABLE["pow_.Scalar"] = lambda x, y: replace(x, pow(x, y))
