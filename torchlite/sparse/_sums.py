"""Sums, softmax and sampled products of sparse tensors, with their gradients."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from . import _autograd, _products, _tensor as _t
from ._tensor import coo, is_coo, parts


class Sum(torch.autograd.Function):
    """torch.sparse.sum over dims."""

    @staticmethod
    def forward(ctx: Any, x: Any, dims: tuple[int, ...]) -> Any:
        ctx.mask, ctx.dims = x.detach(), sorted(d % x.dim() for d in dims)
        return _products.sum_dims(x.detach(), dims)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x = ctx.mask
        g = g.to_dense() if is_coo(g) else g
        for d in ctx.dims:
            g = g.unsqueeze(d)
        return _autograd.Masked.apply(g.expand(x.shape), _t.coalesced(x)), None


class Softmax(torch.autograd.Function):
    """torch.sparse.softmax and log_softmax."""

    @staticmethod
    def forward(ctx: Any, x: Any, dim: int, log: bool) -> Any:
        out = _products.softmax(x.detach(), dim, log=log)
        ctx.out, ctx.dim, ctx.log = out, dim, log
        return out.detach()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        out, dim = ctx.out, ctx.dim
        indices, y = parts(out)
        n = indices.shape[0]
        dim %= out.dim()
        g = parts(_autograd.masked(g, out))[1]
        weight = y.exp() if ctx.log else y
        product = g if ctx.log else g * y
        if dim >= n:
            total = product.sum(dim - n + 1, True)
        else:
            total = parts(_sum_along(coo(indices, product, out.shape, True), dim))[1]
        grad = g - weight * total if ctx.log else product - y * total
        return coo(indices, grad, out.shape, True), None, None


def _sum_along(x: Any, dim: int) -> Any:
    """The sum along a sparse dim, at each of the indices."""
    indices, values = parts(x)
    others = [d for d in range(indices.shape[0]) if d != dim]
    key = _t.flatten(indices[others], [x.shape[d] for d in others]) if others else torch.zeros_like(indices[0])
    _, group = torch.unique(key, return_inverse=True)
    total = torch.zeros_like(values).index_add(0, group, values)
    return coo(indices, total[group], x.shape, x._sorted)


def sampled(x: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
    """beta * x + alpha * (a @ b) at the indices of the CSR matrix x; gradients to a and b."""
    from ._build import sparse_csr_tensor
    from ._compressed import places_of

    if a.dim() != 2 or b.dim() != 2 or a.shape[1] != b.shape[0] or tuple(x.shape) != (a.shape[0], b.shape[1]):
        raise RuntimeError(
            "mat1 and mat2 shapes cannot be multiplied (%dx%d and %dx%d)" % (*a.shape[-2:], *b.shape[-2:])
        )
    rows, columns = places_of(x.detach())
    values = (a[rows] * b.t()[columns]).sum(1) * alpha + x.values() * beta
    return sparse_csr_tensor(x.crow_indices(), x.col_indices(), values, tuple(x.shape))
