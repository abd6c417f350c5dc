"""Matrix products, sums and softmax of COO tensors."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from ..ops import load
from . import _tensor as _t
from ._table import op
from ._tensor import coo, is_coo, parts


@op("mm")
def mm(a: Any, b: Any) -> Any:
    """(n, m) @ (m, p): dense if either is, sparse if both are sparse."""
    if a.dim() != 2 or b.dim() != 2:
        raise RuntimeError("mm: expected both arguments to be matrices, but got %dD and %dD" % (a.dim(), b.dim()))
    both = is_coo(a) and is_coo(b)
    if a.shape[1] != b.shape[0]:
        if both:
            raise not_multiplied(a, b)
        sizes = (a.shape[1], b.shape[0]) if is_coo(a) else (b.shape[0], a.shape[1])
        raise RuntimeError("addmm: Argument #3 (dense): Expected dim 0 size %d, got %d" % sizes)
    if a.dtype is not b.dtype:
        types = [t.dtype._scalar_type for t in ((a, b) if is_coo(a) else (b, a))]
        text = "mat1 dtype %s does not match mat2 dtype %s" if both else "expected scalar type %s but found %s"
        raise RuntimeError(text % (*types,))
    if both:
        return _sparse_sparse(_t.coalesced(a), _t.coalesced(b))
    if not is_coo(a):  # dense @ sparse is (sparse^T @ dense^T)^T
        return mm(transpose(b), a.t()).t()
    (rows, columns), values = parts(a)[0], parts(a)[1]
    return sum_rows(b, columns, rows, values, a.shape[0])


def sum_rows(*args: Any) -> Any:
    load("row_sums")
    return torch.ops.functions._sum_rows(*args)


def not_multiplied(a: Any, b: Any) -> RuntimeError:
    return RuntimeError("mat1 and mat2 shapes cannot be multiplied (%dx%d and %dx%d)" % (*a.shape, *b.shape))


def transpose(x: Any) -> Any:
    indices, values = parts(x)
    return coo(indices.flip(0), values, (x.shape[1], x.shape[0]))


def _sparse_sparse(a: Any, b: Any) -> Any:
    """Each element of `a` meets the row of `b` that its column names."""
    (ai, av), (bi, bv) = parts(a), parts(b)
    counts = torch.bincount(bi[0], minlength=b.shape[0])
    first = counts.cumsum(0) - counts
    meets = counts[ai[1]]
    left = torch.repeat_interleave(torch.arange(av.shape[0], device=av.device), meets)
    place = torch.arange(left.shape[0], device=av.device) - (meets.cumsum(0) - meets)[left]
    right = first[ai[1]][left] + place
    indices = torch.stack((ai[0][left], bi[1][right]))
    return _t.coalesced(coo(indices, av[left] * bv[right], (a.shape[0], b.shape[1])))


def whole_factors(product: Any, *factors: Any) -> Any:
    """The factors of addmm in the dtype of a product: PyTorch cuts them for integers."""
    return factors if product.is_floating_point() or product.is_complex() else tuple(map(int, factors))


@op("addmm")
def addmm(c: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    product = mm(a, b)
    beta, alpha = whole_factors(product, beta, alpha)
    scaled = product if alpha == 1 else product * alpha
    if not beta:
        return scaled
    base = c if beta == 1 else c * beta
    if is_coo(scaled) or is_coo(base):
        return base + scaled
    return base.expand(scaled.shape) + scaled


@op("mv")
def mv(a: Any, b: Any) -> Any:
    if b.dim() != 1 or a.dim() != 2:
        raise RuntimeError(
            "mv: two tensor dim should be 2 and 1, but got SparseTensor Dim: %d Tensor Dim: %d" % (a.dim(), b.dim())
        )
    return mm(a, b.unsqueeze(1)).squeeze(1)


@op("bmm")
def bmm(a: Any, b: Any) -> Any:
    """(k, n, m) sparse @ (k, m, p) dense: dense."""
    if not is_coo(a):
        raise NotImplementedError("bmm_sparse: Tensor 'self' must be sparse")
    indices, values = parts(a)
    k, n = a.shape[0], a.shape[1]
    out = b.new_zeros((k * n, b.shape[2]))
    rows = b[indices[0], indices[2]] * values.unsqueeze(1)
    return out.index_add_(0, indices[0] * n + indices[1], rows).reshape(k, n, b.shape[2])


@op("sum")
def sum_all(x: Any, *, dtype: Any = None) -> Any:
    return parts(x)[1].sum(dtype=dtype)


@op("sum.dim_IntList")
def sum_dims(x: Any, dim: Any, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Sums over dims: sparse while a sparse dim is left, dense after that."""
    dims = {d % x.dim() for d in ((dim,) if isinstance(dim, int) else dim or range(x.dim()))}
    indices, values = parts(x)
    n = indices.shape[0]
    inner = [d - n + 1 for d in sorted(dims) if d >= n]
    values = values.sum(inner, keepdim, dtype=dtype) if inner else values.to(dtype or _sum_dtype(values))
    left = [d for d in range(n) if d not in dims]
    if not left:
        made = values.sum(0)
        return made.reshape((1,) * n + tuple(made.shape)) if keepdim else made
    size = [x.shape[d] for d in left]
    if len(left) == n:
        return coo(indices, values, (*size, *values.shape[1:]), x._sorted)
    if keepdim:
        zeros = torch.zeros_like(indices[0])
        indices = torch.stack([indices[d] if d in left else zeros for d in range(n)])
        size = [x.shape[d] if d in left else 1 for d in range(n)]
        return _t.coalesced(coo(indices, values, (*size, *values.shape[1:])))
    return _t.coalesced(coo(indices[left], values, (*size, *values.shape[1:])))


def _sum_dtype(values: Any) -> Any:
    return values.dtype if values.is_floating_point() or values.is_complex() else torch.int64


def softmax(x: Any, dim: int, *, log: bool = False) -> Any:
    """softmax along a dim of the values that are there; what is not there counts as -inf."""
    x = _t.coalesced(x)
    indices, values = parts(x)
    n, dim = indices.shape[0], dim % x.dim()
    if dim >= n:
        fn = torch.log_softmax if log else torch.softmax
        return coo(indices, fn(values, dim - n + 1), x.shape, True)
    others = [d for d in range(n) if d != dim]
    key = _t.flatten(indices[others], [x.shape[d] for d in others]) if others else torch.zeros_like(indices[0])
    _, pool = torch.unique(key, return_inverse=True)
    count = int(pool.max()) + 1 if pool.numel() else 0
    at = pool.reshape(-1, *(1,) * (values.dim() - 1)).expand(values.shape)
    top = values.new_full((count, *values.shape[1:]), float("-inf")).scatter_reduce(0, at, values, "amax")
    shifted = values - top[pool]
    total = values.new_zeros(top.shape).index_add(0, pool, shifted.exp())
    made = shifted - total.log()[pool] if log else shifted.exp() / total[pool]
    return coo(indices, made, x.shape, True)


@op("linalg_vector_norm")
def norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dim not in (None, [], ()) and set(d % x.dim() for d in dim) != set(range(x.dim())):
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain "
            "all dimensions of the input"
        )
    return torch.linalg.vector_norm(parts(_t.coalesced(x))[1], ord, dtype=dtype)
