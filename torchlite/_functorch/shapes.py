"""Rules of ops with dims: views, reductions, scans and sorts. The dims of an example are one further in the value."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from .. import _C
from .._core.errors import invalid_shape
from .rules import Call, NoRule, pointwise, rule, tensors

_DIMS = frozenset("dim dim0 dim1 dim2 dims dimension".split())

# ---- dims by name ----------------------------------------------------------------------------------------------------
_SHIFTED = """gather scatter scatter_add scatter_reduce cat flip softmax log_softmax _softmax _log_softmax
    _softmax_backward_data _log_softmax_backward_data sum.dim_IntList nansum mean.dim prod.dim_int any.dim
    any.dims all.dim all.dims count_nonzero max.dim min.dim amax amin aminmax argmax argmin cumsum cumprod
    cummax cummin logcumsumexp sort argsort topk unbind split_with_sizes split.Tensor unsafe_split.Tensor
    unsafe_split_with_sizes slice_scatter select_scatter diagonal_scatter select_backward select.int
    slice_backward slice.Tensor unfold unfold_backward diagonal diagonal_backward var.correction var.dim
    std.correction std.dim var_mean.correction var_mean.dim std_mean.correction std_mean.dim linalg_vector_norm
    logsumexp median.dim nanmedian.dim mode kthvalue _fft_c2c _fft_r2c _fft_c2r linalg_cross rot90 glu"""
_WHOLE = "sum mean prod any all max min median nanmedian var std var_mean std_mean"  # no dim: of all elements
_ALL_IF_EMPTY = frozenset(  # where dim=[] means all dims
    """sum nansum mean amax amin aminmax any all count_nonzero var std var_mean std_mean linalg_vector_norm
    logsumexp""".split()
)
_FLAT_IF_NONE = frozenset("argmax argmin aminmax count_nonzero".split())


def wrap(dim: int, rank: int) -> int:
    """A dim of one example as one from 0; PyTorch's error."""
    n = max(rank, 1)
    if not -n <= dim < n:
        raise IndexError("Dimension out of range (expected to be in range of [%d, %d], but got %d)" % (-n, n - 1, dim))
    return int(dim) % n


def _moved(dims: Any, rank: int) -> Any:
    if isinstance(dims, (tuple, list)):
        return tuple(wrap(d, rank) + 1 for d in dims)
    return wrap(dims, rank) + 1


@rule(_SHIFTED)
def shifted(call: Call) -> Any:
    """The op along dims that are one further."""
    first = tensors(call.args)[0]
    rank = max(t.dim() for t in tensors(call.args)) if call.name == "cat" else first.dim()
    if call.has("input_sizes"):  # the gradient of a select has one dim less than what its dims mean
        rank = len(call["input_sizes"])
    numbers = all(t.dim() == 0 for t in tensors(call.args)) and rank == 0
    changed: dict[str, Any] = {}
    for p, value in zip(call.ov.params, call.args):
        if p[0] in _DIMS:
            if value is None or isinstance(value, (tuple, list)) and not value and call.ov.spec.name in _ALL_IF_EMPTY:
                if call.ov.spec.name in _FLAT_IF_NONE and not isinstance(value, (tuple, list)):
                    return _flat(call)
                value = tuple(range(max(rank, 1)))
            changed[p[0]] = _moved(value, rank)
        elif p[0] in ("input_sizes", "size") and isinstance(value, (tuple, list)):
            changed[p[0]] = (call.size, *value)

    def placed(t: Any) -> Any:
        value = call.full(t)
        return value.unsqueeze(1) if t.dim() == 0 else value

    if call.name == "cat":  # an empty vector joins anything
        given = [t for t in call.args[0] if t.dim() != 1 or t.shape[0] or rank == 1]
        return call.run(tuple(map(call.full, given)), changed["dim"])
    if "input_sizes" in changed or call.ov.spec.name in ("select_scatter", "diagonal_scatter", "slice_scatter"):
        placed = call.full
    args = list(call.each(placed))
    for name, value in changed.items():
        args[call.at(name)] = value
    return _narrowed(call.run(*args), numbers)


def _narrowed(result: Any, numbers: bool) -> Any:
    """Without the dim that numbers were given."""
    if not numbers:
        return result
    if isinstance(result, (tuple, list)):
        return tuple(_narrowed(r, True) for r in result)
    return result.squeeze(1) if result.dim() > 1 else result


def _flat(call: Call) -> Any:
    """A reduction over all elements of each example by the overload with a dim."""
    first = call.args[0]
    value = call.full(first).reshape(call.size, -1)
    args = list(call.args)
    args[0], args[call.at("dim")] = value, 1
    result = call.run(*args)
    if call.has("keepdim") and call["keepdim"]:
        ones = (call.size, *(1,) * first.dim())
        return tuple(r.reshape(ones) for r in result) if isinstance(result, tuple) else result.reshape(ones)
    return result


@rule(_WHOLE)
def whole(call: Call) -> Any:
    """A reduction over all elements."""
    value = call.full(call.args[0]).reshape(call.size, -1)
    name = call.ov.spec.name
    if name in ("var", "std", "var_mean", "std_mean"):
        return getattr(torch, name)(value, 1, correction=int(call.args[1]))
    more = {} if not call.has("dtype") or call["dtype"] is None else {"dtype": call["dtype"]}
    result = getattr(torch, name)(value, 1, **more)
    return result[0] if name in ("max", "min", "median", "nanmedian") else result


@rule("max.other min.other")
def _two(call: Call) -> Any:
    return pointwise(call)


# ---- views -----------------------------------------------------------------------------------------------------------
@rule(
    """_conj _neg_view view_as_real view_as_complex real imag view.dtype alias resolve_conj resolve_neg _to_dtype
    clone _conj_physical zeros_like ones_like empty_like full_like zero_ constant_pad_nd pixel_shuffle
    pixel_unshuffle linalg_matrix_exp"""
)
def same(call: Call) -> Any:
    """The op on the value, since it treats dims in front alike."""
    args = list(call.each(call.value))
    if call.has("memory_format") and call["memory_format"] in (torch.channels_last, torch.channels_last_3d):
        args[call.at("memory_format")] = None  # the examples have that layout, not their stack
    return call.run(*args)


@rule("tril triu")
def _triangle(call: Call) -> Any:
    if call.args[0].dim() < 2:
        raise RuntimeError("%s: input tensor must have at least 2 dimensions" % call.name)
    return same(call)


@rule("detach")
def _detach(call: Call) -> Any:
    from .rules import Unmapped

    value = _C.alias(call.value(call.args[0]))
    return value if call.is_batched(call.args[0]) else Unmapped(value)


@rule("view")
def _view(call: Call) -> Any:
    t, size = call.args
    size = tuple(size)
    if -1 in size:
        known = 1
        for n in size:
            known *= n if n != -1 else 1
        if known and t.numel() % known == 0:
            size = tuple(t.numel() // known if n == -1 else n for n in size)
    count = 1
    for n in size:
        count *= n
    if count != t.numel() or -1 in size:
        raise invalid_shape(call.args[1], t.numel())
    return call.run(t._value, (call.size, *size))


@rule("expand")
def _expand(call: Call) -> Any:
    t, size = call.args[:2]
    if len(size) < t.dim():
        raise RuntimeError(
            "expand: the number of sizes provided (%d) must be greater or equal to the number of dimensions in the "
            "tensor (%d)" % (len(size), t.dim())
        )
    return call.run(call.ranked(t, len(size)), (call.size, *size), *call.args[2:])


@rule("permute")
def _permute(call: Call) -> Any:
    t, dims = call.args
    if len(dims) != t.dim():
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            "ordering of dimensions i.e. input.dim() = %d is not equal to len(dims) = %d" % (t.dim(), len(dims))
        )
    return call.run(t._value, (0, *(_moved(dims, t.dim()) if dims else ())))


@rule("unsqueeze")
def _unsqueeze(call: Call) -> Any:
    t, dim = call.args
    return call.run(t._value, wrap(dim, t.dim() + 1) + 1)


@rule("squeeze")
def _squeeze(call: Call) -> Any:
    t = call.args[0]
    return t._value.squeeze(tuple(d + 1 for d, n in enumerate(t.shape) if n == 1))


@rule("squeeze.dim squeeze.dims")
def _squeeze_dims(call: Call) -> Any:
    t, dims = call.args
    if t.dim() == 0:
        for d in dims if isinstance(dims, (tuple, list)) else (dims,):
            wrap(d, 0)
        return t._value.view(call.size)
    return call.run(t._value, _moved(dims, t.dim()))


@rule("transpose.int")
def _transpose(call: Call) -> Any:
    t, a, b = call.args
    if t.dim() == 0:
        wrap(a, 0), wrap(b, 0)
        return t._value.view(call.size)
    return call.run(t._value, _moved(a, t.dim()), _moved(b, t.dim()))


@rule("_t2")
def _t(call: Call) -> Any:
    t = call.args[0]
    return t._value.transpose(1, 2) if t.dim() == 2 else t._value.view(t._value.shape)


@rule("stack")
def _stack(call: Call) -> Any:
    given = call.args[0]
    return call.run(tuple(map(call.full, given)), wrap(call.args[1], given[0].dim() + 1) + 1)


@rule("diag_embed")
def _diag_embed(call: Call) -> Any:
    t, offset, a, b = call.args
    rank = t.dim() + 1
    return call.run(t._value, offset, wrap(a, rank) + 1, wrap(b, rank) + 1)


@rule("repeat")
def _repeat(call: Call) -> Any:
    t, repeats = call.args
    if len(repeats) < t.dim():
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return call.run(call.ranked(t, len(repeats)), (1, *repeats))


@rule("roll")
def _roll(call: Call) -> Any:
    t, shifts, dims = call.args
    if not dims:
        return t._value.reshape(call.size, -1).roll(shifts, 1).reshape(t._value.shape)
    if t.dim() == 0:
        return t._value.clone()
    return call.run(t._value, shifts, _moved(dims, t.dim()))


@rule("as_strided")
def _as_strided(call: Call) -> Any:
    t, size, stride, offset = call.args
    return call.run(t._value, (call.size, *size), (t._value.stride(0), *stride), offset)


@rule("as_strided_scatter")
def _as_strided_scatter(call: Call) -> Any:
    t, source, size, stride, offset = call.args
    if not t.is_contiguous():
        raise NoRule(call.name)
    made = call.full(t).clone(memory_format=torch.contiguous_format)
    given = call.ranked(source, len(size)).expand(call.size, *size)
    return call.run(made, given, (call.size, *size), (made.stride(0), *stride), offset or 0)


@rule("new_empty new_zeros new_ones new_full")
def _new(call: Call) -> Any:
    return call.run(call.value(call.args[0]), (call.size, *call["size"]), *call.args[2:])


@rule("new_empty_strided")
def _new_strided(call: Call) -> Any:
    size, stride = call["size"], call["stride"]
    extent = 1 + sum((n - 1) * s for n, s in zip(size, stride)) if 0 not in size else 0
    return call.run(call.value(call.args[0]), (call.size, *size), (extent, *stride), *call.args[3:])


@rule(
    """copy_ fill_.Scalar fill.Scalar _scaled special_chebyshev_polynomial_t special_chebyshev_polynomial_u
    special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_shifted_chebyshev_polynomial_t
    special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w
    special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l
    special_legendre_polynomial_p"""
)
def _copied(call: Call) -> Any:
    return pointwise(call)


@rule("copy")
def _copy(call: Call) -> Any:
    t, source = call.args[:2]
    return call.run(call.full(t), call.ranked(source, t.dim()), *call.args[2:])


@rule("fill_.Tensor fill.Tensor")
def _fill(call: Call) -> Any:
    t, value = call.args
    if value.dim():
        raise RuntimeError(
            "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions." % value.dim()
        )
    number = call.ranked(value, t.dim())
    if call.name == "fill_.Tensor":
        return call.full(t).copy_(number)
    return torch.ops.functions.copy(call.full(t), number)


@rule("masked_fill.Tensor")
def _masked_fill(call: Call) -> Any:
    t, mask, value = call.args
    if value.dim():
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with %d dimension(s)."
            % value.dim()
        )
    rank = max(t.dim(), mask.dim())
    if not call.is_batched(value):
        return call.run(call.ranked(t, rank), call.ranked(mask, rank), call.value(value))
    number = value._value.to(t.dtype).reshape(call.size, *(1,) * rank)
    return torch.where(call.ranked(mask, rank), number, call.ranked(t, rank))


@rule("channel_shuffle")
def _channel_shuffle(call: Call) -> Any:
    return call.run(call.args[0]._value.flatten(0, 1), *call.args[1:]).unflatten(0, (call.size, -1))


@rule("searchsorted.Tensor searchsorted.Scalar")
def _searchsorted(call: Call) -> Any:
    sequence, values = call.args[:2]
    sorter = call["sorter"]
    if sequence.dim() == 1 and not call.is_batched(sequence) and not call.is_batched(sorter):
        return call.run(sequence, call.value(values), *call.args[2:])
    args = [call.full(a) if isinstance(a, _C.TensorBase) else a for a in call.args]
    if not isinstance(values, _C.TensorBase):
        args[1] = torch.full((call.size, *sequence.shape[:-1], 1), values, dtype=sequence.dtype, device=sequence.device)
        return torch.searchsorted(
            args[0], args[1], out_int32=call["out_int32"], right=call["right"], side=call["side"], sorter=args[-1]
        ).squeeze(-1)
    if sequence.dim() == 1:
        args[1] = args[1].reshape(call.size, -1)
    return call.run(*args).reshape(call.size, *values.shape)


@rule("bucketize")
def _bucketize(call: Call) -> Any:
    values, bounds = call.args[:2]
    if not call.is_batched(bounds):
        return call.run(call.value(values), call.value(bounds), *call.args[2:])
    rows = call.full(values).reshape(call.size, -1)
    found = torch.searchsorted(call.full(bounds), rows, right=call["right"], out_int32=call["out_int32"])
    return found.reshape(call.size, *values.shape)


for _name in ("equal", "_local_scalar_dense"):

    @rule(_name)
    def _number(call: Call) -> Any:
        from .batched import NO_ITEM, Refused

        raise Refused(NO_ITEM)
