"""Rules of products, convolutions, pools, norms and matrix factorisations."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from .. import _C
from .rules import Call, NoRule, rule, tensors, through_body


# ---- products --------------------------------------------------------------------------------------------------------
@rule("mm bmm")
def _mm(call: Call) -> Any:
    a, b = call.args[:2]
    if a.dim() != b.dim() or a.shape[-1] != b.shape[-2] or a.shape[:-2] != b.shape[:-2]:
        raise NoRule(call.name)  # PyTorch's error for one example
    return torch.matmul(*(call.value(t) for t in (a, b)))


@rule("baddbmm")
def _baddbmm(call: Call) -> Any:
    t, a, b = call.args[:3]
    rows = (call.size, a.shape[0], a.shape[1], b.shape[-1])
    given = call.ranked(t, 3)
    given = given if call.is_batched(t) else given.unsqueeze(0)
    given = given.expand(rows).flatten(0, 1)
    result = call.run(given, call.full(a).flatten(0, 1), call.full(b).flatten(0, 1), *call.args[3:])
    return result.unflatten(0, (call.size, -1))


@rule("mv")
def _mv(call: Call) -> Any:
    a, v = call.args
    if a.dim() != 2 or v.dim() != 1 or a.shape[1] != v.shape[0]:
        raise NoRule(call.name)
    if not call.is_batched(v):
        return torch.matmul(a._value, call.value(v))
    if not call.is_batched(a):
        return torch.matmul(v._value, call.value(a).t())
    return torch.matmul(a._value, v._value.unsqueeze(-1)).squeeze(-1)


@rule("dot vdot")
def _dot(call: Call) -> Any:
    a, b = call.args
    if a.dim() != 1 or a.shape != b.shape or a.dtype is not b.dtype:
        raise NoRule(call.name)
    x, y = call.value(a), call.value(b)
    x = x.conj() if call.name == "vdot" else x
    if not call.is_batched(b):
        return torch.matmul(x, y)
    if not call.is_batched(a):
        return torch.matmul(y, x)
    return torch.matmul(x.unsqueeze(-2), y.unsqueeze(-1)).squeeze(-1).squeeze(-1)


@rule("matmul")
def _matmul(call: Call) -> Any:
    a, b = call.args
    if not a.dim() or not b.dim():
        raise NoRule(call.name)
    rank = max(a.dim(), b.dim(), 2)

    def matrices(t: Any, vector_at: int) -> Any:
        value = call.value(t)
        if t.dim() == 1:
            value = value.unsqueeze(vector_at)
        own = max(t.dim(), 2)
        if not call.is_batched(t) or own == rank:
            return value
        return value.reshape(call.size, *(1,) * (rank - own), *value.shape[1:])

    if a.dim() > 1 and not call.is_batched(b) and b.dim() <= 2:
        return torch.matmul(a._value, call.value(b))
    result = torch.matmul(matrices(a, -2), matrices(b, -1))
    if b.dim() == 1:
        result = result.squeeze(-1)
    if a.dim() != 1:
        return result
    return result.squeeze(-1 if b.dim() == 1 else -2)


@rule("linear")
def _linear(call: Call) -> Any:
    x, weight, bias = call.args
    if call.is_batched(weight) or bias is not None and call.is_batched(bias):
        result = torch.matmul(x, weight.t() if weight.dim() == 2 else weight)
        return call.full(result if bias is None else result + bias)
    return call.run(*call.each(call.value))


# ---- convolutions ----------------------------------------------------------------------------------------------------
def _folded(t: Any, dim: int) -> Any:
    """(size, a, b, ...): the examples in front of the dim `dim`, and both as one."""
    moved = t.movedim(0, dim)
    shape = moved.shape
    return moved.reshape(*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :])


def _unfolded(t: Any, dim: int, size: int) -> Any:
    return t.unflatten(dim, (size, t.shape[dim] // max(size, 1))).movedim(dim, 0)


@rule("convolution")
def _convolution(call: Call) -> Any:
    x, weight, bias, stride, padding, dilation, transposed, output_padding, groups = call.args
    options = (stride, padding, dilation, transposed, output_padding)
    plain = bias is None or not call.is_batched(bias)
    if not call.is_batched(weight) and plain:
        merged = call.run(_folded(x._value, 0), *call.each(call.value)[1:])
        return _unfolded(merged, 0, call.size)
    if groups == 1 and not call.is_batched(x) and call.is_batched(weight):
        result = torch.convolution(call.value(x), _folded(weight._value, 1 if transposed else 0), None, *options, 1)
    elif call.is_batched(weight):
        result = torch.convolution(
            _folded(call.full(x), 1), _folded(weight._value, 0), None, *options, groups * call.size
        )
    else:
        result = _unfolded(
            torch.convolution(_folded(call.full(x), 0), call.value(weight), None, *options, groups), 0, call.size
        )
        return _biased(call, result, bias)
    return _biased(call, _unfolded(result, 1, call.size), bias)


def _biased(call: Call, result: Any, bias: Any) -> Any:
    if bias is None:
        return result
    value = call.value(bias)
    lead = (call.size, 1) if call.is_batched(bias) else (1, 1)
    return result + value.reshape(*lead, -1, *(1,) * (result.dim() - 3))


@rule("conv1d conv2d.default conv2d conv3d")
def _conv(call: Call) -> Any:
    x, weight, bias, stride, padding, dilation, groups = call.args
    if isinstance(padding, str):
        return through_body(call)
    return _convolve(call, x, weight, bias, stride, padding, dilation, False, (0,), groups)


@rule("conv_transpose1d conv_transpose2d.input conv_transpose3d.input")
def _conv_transpose(call: Call) -> Any:
    x, weight, bias, stride, padding, output_padding, groups, dilation = call.args
    return _convolve(call, x, weight, bias, stride, padding, dilation, True, output_padding, groups)


def _convolve(call: Call, x: Any, weight: Any, bias: Any, *options: Any) -> Any:
    """The convolution of an input with or without the dim of a batch."""
    n = weight.dim() - 2
    single = x.dim() == n + 1
    if x.dim() not in (n + 1, n + 2):
        raise NoRule(call.name)
    stride, padding, dilation, transposed, output_padding, groups = options
    lists = [_of_length(v, n) for v in (stride, padding, dilation, output_padding)]
    result = torch.convolution(
        x.unsqueeze(0) if single else x, weight, bias, lists[0], lists[1], lists[2], transposed, lists[3], groups
    )
    result = result.squeeze(0) if single else result
    return call.full(result)


def _of_length(value: Any, n: int) -> Any:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return values * n if len(values) == 1 else values


@rule("convolution_backward")
def _convolution_backward(call: Call) -> Any:
    grad, x, weight, sizes, stride, padding, dilation, transposed, output_padding, groups, mask = call.args
    options = (stride, padding, dilation, transposed, output_padding)
    found: list[Any] = [None, None, None]
    if mask[0] and not call.is_batched(weight):
        got = torch.convolution_backward(
            _folded(call.full(grad), 0),
            _folded(call.full(x), 0),
            call.value(weight),
            sizes,
            *options,
            groups,
            (True, False, False),
        )
        found[0] = _unfolded(got[0], 0, call.size)
    if mask[2]:
        summed = call.full(grad)
        found[2] = summed.sum([1, *range(3, summed.dim())])
        if not found[2].shape[1]:  # of an input without channels the result has none either
            found[2] = found[2].new_zeros(call.size, weight.shape[1] * groups if transposed else weight.shape[0])
    if mask[1] or mask[0] and found[0] is None:
        got = torch.convolution_backward(
            _folded(call.full(grad), 1),
            _folded(call.full(x), 1),
            _folded(call.full(weight), 0),
            None,
            *options,
            groups * call.size,
            (mask[0] and found[0] is None, mask[1], False),
        )
        if got[0] is not None and found[0] is None and mask[0]:
            found[0] = _unfolded(got[0], 1, call.size)
        if mask[1]:
            found[1] = _unfolded(got[1], 0, call.size)
    return tuple(found)


# ---- images: the examples join the batch -----------------------------------------------------------------------------
_SPATIAL = {"1d": 1, "2d": 2, "3d": 3}


@rule(
    """max_pool1d_with_indices max_pool1d max_pool2d_with_indices max_pool2d max_pool3d_with_indices max_pool3d
    avg_pool1d avg_pool2d avg_pool3d _adaptive_avg_pool1d _adaptive_max_pool1d _adaptive_avg_pool2d _adaptive_max_pool2d
    _adaptive_avg_pool3d _adaptive_max_pool3d _upsample _upsample_backward _im2col _col2im _avg_pool_backward
    _pad_reflect _pad_replicate _pad_wrap _pad_reflect_backward _pad_replicate_backward _pad_wrap_backward"""
)
def _image(call: Call) -> Any:
    t = call.args[0]
    n = next((k for name, k in _SPATIAL.items() if name in call.name), 0)
    if not n:
        lengths = [len(call[p]) for p in ("output_size", "kernel_size") if call.has(p) and isinstance(call[p], tuple)]
        lengths += [len(call["padding"]) // 2] if call.name.startswith("_pad") else []
        lengths += [len(call["input_size"])] if call.name == "_upsample_backward" else []
        n = max(lengths, default=0)
    joined = t.dim() == 3 if call.name == "_col2im" else t.dim() >= n + 2
    args = list(call.each(lambda x: call.full(x).flatten(0, 1) if joined else call.full(x)))
    for name in ("input_size", "size"):
        if call.has(name) and call.name != "_upsample_backward":
            old = tuple(call[name])
            args[call.at(name)] = (call.size * old[0], *old[1:]) if joined else (call.size, *old)
    result = call.run(*args)
    results = result if isinstance(result, tuple) else (result,)
    split = tuple(_unfolded(r, 0, call.size) if joined else r for r in results)
    return split if isinstance(result, tuple) else split[0]


# ---- norms -----------------------------------------------------------------------------------------------------------
@rule("layer_norm native_layer_norm rms_norm _fused_rms_norm")
def _layer_norm(call: Call) -> Any:
    extra = [call[p] for p in ("weight", "bias") if call.has(p) and call[p] is not None]
    if any(call.is_batched(t) for t in extra) or not call.is_batched(call.args[0]):
        return through_body(call)
    return call.run(*call.each(call.value))


@rule("native_layer_norm_backward _fused_rms_norm_backward")
def _layer_norm_backward(call: Call) -> Any:
    mask = call["output_mask"]
    weight = call["weight"]
    if any(mask[1:]) or weight is not None and call.is_batched(weight):
        return through_body(call)
    kept = {call.at(p) for p in ("weight", "bias") if call.has(p)}
    return call.run(
        *(
            call.full(a) if isinstance(a, _C.TensorBase) and i not in kept else call.each(call.value)[i]
            for i, a in enumerate(call.args)
        )
    )


@rule("native_batch_norm batch_norm")
def _batch_norm(call: Call) -> Any:
    """The channels of all examples are channels of one call."""
    x, weight, bias, mean, var, training = call.args[:6]
    if training and any(t is not None and not call.is_batched(t) for t in (mean, var)):
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in "
            "place, were not batched.\nIf you are using a module and do not need eval mode, please set "
            "`track_running_stats` to be False.If you are using a prebuilt module and do not need eval mode, please "
            "see the functorch website for resources on how to patch your module to work with vmap"
        )
    joined = [None if t is None else call.full(t).reshape(-1) for t in (weight, bias, mean, var)]
    result = call.run(_folded(call.full(x), 1), *joined, *call.args[5:])
    if training:
        for old, new in zip((mean, var), joined[2:]):
            if new is not None and new.data_ptr() != old._value.data_ptr():
                old._value.copy_(new.reshape(old._value.shape))
    if not isinstance(result, tuple):
        return _unfolded(result, 1, call.size)
    return (
        _unfolded(result[0], 1, call.size),
        *(r.reshape(call.size, -1) if r.numel() else r.new_empty(call.size, 0) for r in result[1:]),
    )


@rule("native_batch_norm_backward")
def _batch_norm_backward(call: Call) -> Any:
    grad, x = call.args[:2]
    joined = [None if t is None else call.full(t).reshape(-1) for t in call.args[2:7]]
    result = call.run(_folded(call.full(grad), 1), _folded(call.full(x), 1), *joined, *call.args[7:])
    first = None if result[0] is None else _unfolded(result[0], 1, call.size)
    return (first, *(None if r is None else r.reshape(call.size, -1) for r in result[1:]))


# ---- matrices --------------------------------------------------------------------------------------------------------
@rule(
    """_linalg_trsm _linalg_cholesky_lower _linalg_ldl _linalg_geqrf _linalg_householder _linalg_solve
    _linalg_lu_square _linalg_lu_any _matrix_eigh _linalg_eig _matrix_svd _linalg_ldl_solve"""
)
def _matrices(call: Call) -> Any:
    """What has any number of dims in front."""
    rank = max(t.dim() for t in tensors(call.args))

    def in_front(t: Any) -> Any:
        value = call.full(t)
        short = rank - t.dim()
        return value if not short or call.name in _VECTORS else value.reshape(call.size, *(1,) * short, *t.shape)

    return call.run(*call.each(in_front))


_VECTORS = frozenset(("_linalg_householder", "_linalg_ldl_solve"))  # their second argument has one dim less
