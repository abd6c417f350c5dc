"""The differentiable steps between dense tensors, sparse ones and their parts, as autograd.Functions."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from . import _tensor as _t
from ._tensor import coo, is_coo, parts


def masked(g: Any, mask: Any) -> Any:
    """The elements of a gradient, dense or sparse, at the indices of a COO tensor; sparse, with those indices."""
    indices, _ = parts(mask)
    if not is_coo(g):
        return coo(indices, _t.sample(g.detach(), mask), mask.shape, mask._sorted)
    if g._sorted and mask._sorted and g._parts[0].equal(indices):
        return g
    n, g = indices.shape[0], _t.coalesced(g)
    own, values = parts(g)
    keys, wanted = _t.flatten(own, mask.shape[:n]), _t.flatten(indices, mask.shape[:n])
    if not keys.shape[0]:
        return coo(indices, values.new_zeros((indices.shape[1], *mask.shape[n:])), mask.shape, mask._sorted)
    at = torch.searchsorted(keys, wanted).clamp(max=keys.shape[0] - 1)
    found = (keys[at] == wanted).reshape(-1, *(1,) * (values.dim() - 1))
    return coo(indices, torch.where(found, values[at], 0), mask.shape, mask._sorted)


class FromParts(torch.autograd.Function):
    """(indices, values) -> COO tensor."""

    @staticmethod
    def forward(ctx: Any, indices: Any, values: Any, size: Any, coalesced: bool) -> Any:
        made = coo(indices, values.detach(), size, coalesced)
        ctx.mask = made.detach()
        return made

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return None, Values.apply(Masked.apply(g, ctx.mask)), None, None


class Masked(torch.autograd.Function):
    """t.sparse_mask(mask): of a dense tensor or of a sparse one."""

    @staticmethod
    def forward(ctx: Any, x: Any, mask: Any) -> Any:
        ctx.mask, ctx.dense = mask, not is_coo(x)
        return masked(x, mask)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        g = Masked.apply(g, ctx.mask)
        return (ToDense.apply(g, None, True) if ctx.dense else g), None


class Values(torch.autograd.Function):
    """The values of a COO tensor as they lie."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mask = x.detach()
        return parts(x)[1].detach()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x = ctx.mask
        return FromParts.apply(parts(x)[0], g, x.shape, x._sorted)


class Coalesce(torch.autograd.Function):
    """Sorted and unique indices."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return _t.coalesced(x.detach())

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class ToDense(torch.autograd.Function):
    """COO -> dense. masked_grad: the gradient has only the elements that the tensor has."""

    @staticmethod
    def forward(ctx: Any, x: Any, dtype: Any, masked_grad: Any) -> Any:
        ctx.mask = x.detach()
        ctx.masked_grad = masked_grad
        made = _t.dense(x.detach())
        return made if dtype is None else made.to(dtype)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        g = g.to(ctx.mask.dtype)
        if ctx.masked_grad is False:
            return ToSparse.apply(g, parts(ctx.mask)[0].shape[0]), None, None
        return Masked.apply(g, _t.coalesced(ctx.mask)), None, None


class ToSparse(torch.autograd.Function):
    """Dense -> COO of what is not zero."""

    @staticmethod
    def forward(ctx: Any, x: Any, sparse_dim: Any) -> Any:
        made = _t.from_dense(x.detach(), sparse_dim)
        ctx.mask = made.detach()
        return made

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return (ToDense.apply(g, None, True) if is_coo(g) else g), None


class Product(torch.autograd.Function):
    """a @ b of two matrices, one of them sparse or both. The gradient of a sparse one has its indices only."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return torch.mm(a.detach(), b.detach())

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        ga = gb = None
        if ctx.needs_input_grad[0]:
            ga = _toward(g, b.t().conj(), a, True)
        if ctx.needs_input_grad[1]:
            gb = _toward(g, a.t().conj(), b, False)
        return ga, gb


def _toward(g: Any, other: Any, x: Any, left: bool) -> Any:
    """The gradient of one factor `x`: g @ other, or other @ g; of a sparse factor only at its indices, once at each."""
    x = _t.coalesced(x.detach()) if is_coo(x) else x
    if is_coo(x) and not is_coo(g) and not is_coo(other) and not torch.is_grad_enabled():
        (rows, columns), _ = parts(x)
        first, second = (g, other) if left else (other, g)
        return coo(parts(x)[0], (first[rows] * second.t()[columns]).sum(1), x.shape, x._sorted)
    made = Product.apply(g, other) if left else Product.apply(other, g)
    if is_coo(x):
        return Masked.apply(made, x)
    return ToDense.apply(made, None, True) if is_coo(made) else made


class FromCompressed(torch.autograd.Function):
    """(compressed indices, plain indices, values) -> compressed tensor."""

    @staticmethod
    def forward(ctx: Any, layout: Any, heads: Any, others: Any, values: Any, size: Any) -> Any:
        made = _t.compressed(layout, heads, others, values.detach(), size)
        ctx.mask = made.detach()
        return made

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        from . import _compressed

        return None, None, None, _compressed.values_at(g, ctx.mask), None


class ConvertLayout(torch.autograd.Function):
    """Any layout to any other by `fn`; the gradient goes back to the layout it came from, or to a dense one."""

    @staticmethod
    def forward(ctx: Any, x: Any, fn: Any) -> Any:
        ctx.dense = x.layout is torch.strided
        ctx.mask = _t.coalesced(x.detach()) if is_coo(x) else x.detach()
        return fn(x.detach())

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        from . import _compressed

        g = g if g.layout is torch.strided else _compressed.to_dense(g)
        return (g if ctx.dense else _compressed.mask_like(g, ctx.mask)), None
