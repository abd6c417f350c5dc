"""torch.masked._ops: reductions and normalisations of the elements whose `mask` is True.

All of them take a tensor or a MaskedTensor as input, and a mask that broadcasts to its shape; None counts everything.
A MaskedTensor has its own mask. dim: an int, a tuple of ints, or None for all dims. dtype: the result's, and what is
computed in. Results have PyTorch's shapes; where everything is masked out, the value is the identity of the reduction
(_mask._reduction_identity), which means nothing. Inputs are strided; sum, prod, amax and amin take COO and CSR too,
mean CSR. CSR needs keepdim=True.
"""

from __future__ import annotations

from typing import Any

import torchlite as torch

from .._prims_common import corresponding_real_dtype  # noqa: F401
from . import _sparse, _spread
from ._mask import (  # noqa: F401  (PyTorch has all of them here)
    _any,
    _canonical_dim,
    _combine_input_and_mask,
    _input_mask,
    _output_mask,
    _reduction_identity,
    _where,
    is_masked_tensor,
)
from ._sparse import (  # noqa: F401
    _sparse_coo_flatten_indices,
    _sparse_coo_scatter_reduction_helper,
    _sparse_coo_where,
    _sparse_csr_segment_reduction_helper,
    _sparse_csr_where,
)

__all__ = """sum prod cumsum cumprod amax amin argmax argmin mean median logsumexp norm var std softmax log_softmax
    softmin normalize""".split()


def _refuse(name: str, x: Any, expected: str = "strided") -> ValueError:
    return ValueError(f"masked {name} expects {expected} tensor (got {x.layout} tensor)")


def _strided(name: str, x: Any) -> Any:
    if x.layout is not torch.strided:
        raise _refuse(name, x)
    return x


def _need_mask(name: str, x: Any, mask: Any) -> None:
    if mask is None and x.layout is not torch.strided:
        kind = "sparse_csr" if x.layout is torch.sparse_csr else "sparse_coo"
        raise ValueError(f"masked {name} expects explicit mask for {kind} tensor input")


def _sum_dtype(input: Any, dtype: Any) -> Any:
    if dtype is None and not (input.dtype.is_floating_point or input.dtype.is_complex):
        return torch.int64
    return input.dtype if dtype is None else dtype


def _float_dtype(name: str, input: Any, dtype: Any) -> Any:
    source = "Input" if dtype is None else "Optional"
    dtype = input.dtype if dtype is None else dtype
    if dtype.is_floating_point or dtype.is_complex:
        return dtype
    raise ValueError(
        f"{name}(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype. "
        f"Got: {dtype}"
    )


def sum(input: Any, dim: Any = None, *, keepdim: Any = False, dtype: Any = None, mask: Any = None) -> Any:
    """Sums; 0 where there is none. Integers and bool are summed as int64, unless dtype says otherwise."""
    dtype = _sum_dtype(input, dtype)
    x = _combine_input_and_mask(sum, input, mask)
    dims = _canonical_dim(dim, x.ndim)
    if x.layout is torch.strided:
        return torch.sum(x, dims, bool(keepdim), dtype=dtype)
    if x.layout is torch.sparse_coo:
        return _sparse_coo_scatter_reduction_helper(torch.sum, x, dims, bool(keepdim), dtype)
    if x.layout is torch.sparse_csr:
        return _sparse._csr_reduced("sum", x, dims, bool(keepdim), dtype)
    raise _refuse("sum", x, "strided, sparse_coo or sparse_csr")


def prod(input: Any, dim: Any = None, *, keepdim: Any = False, dtype: Any = None, mask: Any = None) -> Any:
    """Products; 1 where there is none. dtypes as for sum."""
    dtype = _sum_dtype(input, dtype)
    x = _combine_input_and_mask(prod, input, mask)
    dims = _canonical_dim(dim, x.ndim)
    if x.layout is torch.strided:
        x = x.to(dtype=dtype)
        for d in reversed(dims):
            x = x.prod(dim=d, keepdim=bool(keepdim))
        return x
    if x.layout in (torch.sparse_coo, torch.sparse_csr):
        _need_mask("prod", x, mask)
    if x.layout is torch.sparse_coo:
        return _sparse_coo_scatter_reduction_helper(torch.prod, x, dims, bool(keepdim), dtype)
    if x.layout is torch.sparse_csr:
        return _sparse._csr_reduced("prod", x, dims, bool(keepdim), dtype)
    raise _refuse("prod", x)


def _cumulate(op: Any, input: Any, dim: int, dtype: Any, mask: Any) -> Any:
    dtype = input.dtype if dtype is None else dtype
    where = _canonical_dim(dim, input.ndim)[0]
    x = _strided(op.__name__, _combine_input_and_mask(op, input, mask))
    return getattr(torch, op.__name__)(x, where, dtype=dtype).to(dtype=dtype)


def cumsum(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Running sums along a dim that pass over masked-out elements; the input's shape."""
    return _cumulate(cumsum, input, dim, dtype, mask)


def cumprod(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Running products along a dim that pass over masked-out elements; the input's shape."""
    return _cumulate(cumprod, input, dim, dtype, mask)


def _extreme(op: Any, input: Any, dim: Any, keepdim: Any, dtype: Any, mask: Any) -> Any:
    name = op.__name__
    dtype = input.dtype if dtype is None else dtype
    x = _combine_input_and_mask(op, input, mask)
    dims = _canonical_dim(dim, x.ndim)
    plain = getattr(torch, name)
    if x.layout is torch.strided:
        return plain(x, dims, bool(keepdim)).to(dtype=dtype)
    if x.layout is torch.sparse_coo:
        _need_mask("amax", x, mask)  # PyTorch's text for amin too
        return _sparse_coo_scatter_reduction_helper(plain, x, dims, bool(keepdim), dtype)
    if x.layout is torch.sparse_csr:
        _need_mask(name, x, mask)
        return _sparse_csr_segment_reduction_helper(plain, x, dims, bool(keepdim), dtype)
    raise _refuse(name, x, "strided, sparse_coo or sparse_csr")


def amax(input: Any, dim: Any = None, *, keepdim: Any = False, dtype: Any = None, mask: Any = None) -> Any:
    """Largest elements. NotImplementedError for bool."""
    return _extreme(amax, input, dim, keepdim, dtype, mask)


def amin(input: Any, dim: Any = None, *, keepdim: Any = False, dtype: Any = None, mask: Any = None) -> Any:
    """Smallest elements. NotImplementedError for bool."""
    return _extreme(amin, input, dim, keepdim, dtype, mask)


def _place(op: Any, input: Any, dim: Any, keepdim: Any, dtype: Any, mask: Any) -> Any:
    dtype = input.dtype if dtype is None else dtype
    x = _strided(op.__name__, _combine_input_and_mask(op, input, mask))
    return getattr(torch, op.__name__)(x, dim, bool(keepdim)).to(dtype=dtype)


def argmax(input: Any, dim: Any = None, *, keepdim: Any = False, dtype: Any = None, mask: Any = None) -> Any:
    """Positions of the largest elements along one dim or in all of the tensor; as PyTorch, in the input's dtype."""
    return _place(argmax, input, dim, keepdim, dtype, mask)


def argmin(input: Any, dim: Any = None, *, keepdim: Any = False, dtype: Any = None, mask: Any = None) -> Any:
    """Positions of the smallest elements along one dim or in all of the tensor; as PyTorch, in the input's dtype."""
    return _place(argmin, input, dim, keepdim, dtype, mask)


def _count(input: Any, dim: Any, keepdim: Any, mask: Any) -> Any:
    """How many elements count, int64 with the shape of a reduction."""
    if mask is None:
        counted = torch.ones(input.shape, dtype=torch.int64, device=input.device)
    else:
        counted = _input_mask(input, mask=mask)
    return torch.sum(counted, int(dim) if isinstance(dim, bool) else dim, bool(keepdim), dtype=torch.int64)


def mean(input: Any, dim: Any = None, *, keepdim: Any = False, dtype: Any = None, mask: Any = None) -> Any:
    """Means; NaN where there is none. ValueError where neither the input nor dtype is floating-point or complex."""
    dtype = _float_dtype("mean", input, dtype)
    if input.layout is torch.strided:
        count = _count(input, dim, keepdim, mask)
        return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / count
    if input.layout is torch.sparse_csr:
        x = _combine_input_and_mask(sum, input, mask)
        _need_mask("mean", x, mask)
        dims = _canonical_dim(dim, x.ndim)
        return _sparse_csr_segment_reduction_helper(torch.mean, x, dims, bool(keepdim), dtype)
    raise _refuse("mean", input, "strided or sparse_csr")


def median(input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """Medians along one dim. Where there is none: NaN of floating-point inputs, ValueError of others."""
    dtype = input.dtype if dtype is None else dtype
    where = _canonical_dim(dim, input.ndim)[0]
    real = input.dtype.is_floating_point
    x = _strided("median", _combine_input_and_mask(median, input if real else input.to(dtype=torch.float32), mask))
    found = torch.nanmedian(x, where, bool(keepdim)).values
    if real:
        return found
    if not bool(torch.isnan(found).any()):
        return found.to(dtype=dtype)
    raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")


def logsumexp(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """log(sum(exp(x)))."""
    dtype = input.dtype if dtype is None else dtype
    dims = _canonical_dim(dim, input.ndim)
    x = _strided("logsumexp", _combine_input_and_mask(logsumexp, input, mask))
    return torch.logsumexp(x, dims, keepdim=keepdim).to(dtype=dtype)


def logaddexp(input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None) -> Any:
    """log(exp(x) + exp(y)) of two tensors that broadcast, each with a mask; what is masked out adds nothing."""
    dtype = input.dtype if dtype is None else dtype
    if input.layout is not torch.strided or other.layout is not torch.strided:
        raise ValueError(
            f"masked logaddexp expects strided tensors (got {input.layout} tensor for input, {other.layout} for other)"
        )
    a = _combine_input_and_mask(logaddexp, input, input_mask)
    b = _combine_input_and_mask(logaddexp, other, other_mask)
    return torch.logaddexp(a, b).to(dtype=dtype)


def norm(
    input: Any, ord: Any = 2.0, dim: Any = None, *, keepdim: Any = False, dtype: Any = None, mask: Any = None
) -> Any:
    """Vector norms of order `ord`, any number or infinity."""
    x = _strided("norm", _combine_input_and_mask(norm, input, mask, ord))
    dims = _canonical_dim(dim, input.ndim)
    return torch.linalg.vector_norm(x, ord, dims, bool(keepdim), dtype=dtype)


def var(  # fmt: skip
    input: Any,
    dim: Any = None,
    unbiased: Any = None,
    *,
    correction: Any = None,
    keepdim: Any = False,
    dtype: Any = None,
    mask: Any = None,
) -> Any:
    """Variances, divided by the number of elements less `correction`, 1 unless given.."""
    return _spread._std_var(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(  # fmt: skip
    input: Any,
    dim: Any = None,
    unbiased: Any = None,
    *,
    correction: Any = None,
    keepdim: Any = False,
    dtype: Any = None,
    mask: Any = None,
) -> Any:
    """Square roots of var."""
    return _spread._std_var(input, dim, unbiased, correction, keepdim, dtype, mask, take_sqrt=True)


def _soft(name: str, op: Any, plain: Any, input: Any, dim: int, dtype: Any, mask: Any) -> Any:
    dtype = input.dtype if dtype is None else dtype
    where = _canonical_dim(dim, input.ndim)[0]
    x = _strided(name, _combine_input_and_mask(op, input, mask))
    return plain(x, where, dtype=dtype)


def softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """exp(x) / sum(exp(x)) along a dim; 0 where it is masked out. The input's shape."""
    return _soft("softmax", amax, torch.nn.functional.softmax, input, dim, dtype, mask)


def log_softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The logarithm of softmax."""
    return _soft("log_softmax", amax, torch.nn.functional.log_softmax, input, dim, dtype, mask)


def softmin(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """softmax of -x."""
    return _soft("softmin", amin, torch.nn.functional.softmin, input, dim, dtype, mask)


def normalize(input: Any, ord: Any, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None) -> Any:
    """x divided by its norm along a dim, or by eps where that is larger; 0 where it is masked out."""
    x = _strided("normalize", _combine_input_and_mask(sum, input, mask))
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    floor = torch.full((), eps, dtype=length.dtype, device=length.device)
    return torch.divide(x, torch.maximum(length, floor))
