"""Indexing with tensors: advanced indexing, gather and scatter, the index_* family, masks, take and put."""

import math
from collections.abc import Sequence

import torchlite as torch

from .. import _C
from ..autograd._node import Transposing
from ._declare import bodies, op, reference
from ._out import EXACT, Out, SELF_AND_RESULT


# ---- advanced indexing: x[tensor], x[mask] --------------------------------------------------------------------------
@op(
    "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    kernel="index",
    module="aten",
    variants="function",
    grad={"self": lambda c, g: index_put(g.new_zeros(c.self_shape), c.indices, g, True)},
    node="IndexBackward0",
    samples=lambda t: [(t(3, 4), [torch.tensor([0, 2, 0])]), (t(3, 4, 2), [None, torch.tensor([[1, 0]])])],
)
def index(self, indices):
    """Elements of `self` at the positions that the broadcast index tensors name; None keeps a whole dim. Masks stand
    for the positions where they are true."""


@op(
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    kernel="index_put",
    inplace=True,
    tags="expanded_warns",
    variants="function, method",
    grad={
        "self": lambda c, g: g if c.accumulate else index_put(g, _bools(c.indices), g.new_zeros(())),
        "values": lambda c, g: (
            index(g, c.indices)
            if c.accumulate
            else _staying(
                index(g, c.indices),
                c.self_shape,
                lambda t: index(t, c.indices),
                lambda t, v: index_put(t, c.indices, v),
            )
        ),
    },
    samples=lambda t: [(t(3, 4), [torch.tensor([0, 2])], t(2, 4)), (t(4), [torch.tensor([1, 1])], t(2), True)],
)
def index_put(self, indices, values, accumulate=False):
    """`self` with `values` (broadcast) at the indexed positions; `accumulate` adds, also for repeated positions."""


def _bools(indices):
    """The indices with masks of bytes as bools: one value is not put where bytes say."""
    return [i.bool() if i is not None and i.dtype is torch.uint8 else i for i in indices]


def _staying(g, shape, read, write):
    """The gradient of written values: of each or, within Transposing, of those that no later one overwrites."""
    if not Transposing.on:
        return g
    numbers = torch.arange(g.numel(), device=g.device).reshape(g.shape)
    last = read(write(torch.zeros(shape, dtype=numbers.dtype, device=g.device), numbers))
    return g.masked_fill(last != numbers, 0)


def _value(x, value):
    """A number, or a tensor's, in x's dtype."""
    return value.to(x.dtype) if isinstance(value, torch.Tensor) else x.new_full((), value)


def _slices(x, dim, index):
    """What indexes the slices of x along `dim`."""
    return [None] * (dim % x.dim()) + [index.reshape(-1).long()]


# ---- gather and scatter ----------------------------------------------------------------------------------------------
@op(
    "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    kernel="gather",
    out=Out(EXACT, "apart"),
    grad={"self": lambda c, g: bodies.into_zeros(g, c.self_shape, "scatter_add", c.dim, c.index)},
    samples=lambda t: [(t(3, 4), 1, torch.tensor([[0, 0], [3, 1]])), (t(3), 0, torch.tensor([2, 0]))],
    tags="reference",
)
def gather(self, dim, index, sparse_grad=False):
    """Takes one element along `dim` for every entry of `index`: out[i][j] = self[index[i][j]][j] for dim 0."""
    return reference.gather(self, dim, index)


@op(
    "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    kernel="scatter",
    inplace=True,
    out=Out(EXACT, "apart whole"),
    node="ScatterBackward0",
    grad={
        "self": lambda c, g: g.scatter(c.dim, c.index, 0),
        "src": lambda c, g: _fit(
            _staying(
                g.gather(c.dim, c.index),
                c.self_shape,
                lambda t: t.gather(c.dim, c.index),
                lambda t, v: t.scatter(c.dim, c.index, v),
            ),
            c.src_shape,
        ),
    },
    samples=lambda t: [(t(3, 4), 0, torch.tensor([[0, 1, 2, 0]]), t(1, 4))],
)
def scatter(self, dim, index, src):
    """`self` with self[index[i][j]][j] = src[i][j] (for dim 0)."""
    return bodies.put_along(self, dim, index, src)


@op(
    "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    kernel="scatter",
    inplace=True,
    out=Out(EXACT, "apart whole"),
    node="ScatterBackward1",
    grad={"self": lambda c, g: g.scatter(c.dim, c.index, 0)},
    samples=lambda t: [(t(3, 4), 1, torch.tensor([[0], [2]]), 1.5)],
)
def scatter_value(self, dim, index, value):
    """`self` with `value` at the positions of `index` along `dim`."""
    return bodies.put_along(self, dim, index, self.new_full((), value))


@op(
    "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
    "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
    kernel="scatter",
    inplace=True,
    out=Out(EXACT, "apart whole"),
    grad={},
)
def scatter_with_reduce(self, dim, index, src, reduce):
    """`self` with `src` combined into the positions of `index`: reduce is "add" or "multiply"."""
    if not isinstance(src, torch.Tensor):
        src = self.new_full(index.shape, src)
    return self.scatter_reduce(dim, index, src, {"add": "sum", "multiply": "prod"}[reduce])


@op(
    "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    kernel="scatter_add",
    inplace=True,
    out=Out(EXACT, "apart whole"),
    grad={"self": lambda c, g: g, "src": lambda c, g: _fit(g.gather(c.dim, c.index), c.src_shape)},
    samples=lambda t: [(t(3, 4), 0, torch.tensor([[0, 1, 2, 0], [0, 1, 1, 0]]), t(2, 4))],
)
def scatter_add(self, dim, index, src):
    """`self` plus `src` at the positions of `index` along `dim`; repeated positions add up."""
    return self.scatter_reduce(dim, index, src, "sum")


def _fit(g, shape):
    """The gradient of the part of src that the index covers, in src's shape."""
    if tuple(g.shape) == tuple(shape):
        return g
    pad = []
    for have, want in zip(reversed(g.shape), reversed(shape)):
        pad += [0, want - have]
    return torch.constant_pad_nd(g, pad, 0)


def _scatter_reduce_grad(c, g):
    dim, ix, reduce, include = c.dim, c.index, c.reduce, c.include_self
    x, src, result = c.self, c.src, c.result
    if reduce == "sum":
        gx, gs = g, g.gather(dim, ix)
    elif reduce == "mean":
        n = torch.ones_like(g) if include else torch.zeros_like(g)
        n = n.scatter_add(dim, ix, torch.ones_like(src))
        g = g / n.masked_fill(n == 0, 1)
        gx, gs = g, g.gather(dim, ix)
    elif reduce in ("amax", "amin"):
        hit_x, hit_s = x == result, src == result.gather(dim, ix)
        g = g / hit_x.to(g.dtype).scatter_add(dim, ix, hit_s.to(g.dtype))
        gx, gs = hit_x * g, hit_s * g.gather(dim, ix)
    else:
        nonzero = x.masked_fill(x == 0, 1)
        gx = g * (nonzero.scatter_reduce(dim, ix, src, "prod", include_self=include) / nonzero).conj()
        zero = src == 0
        zeros = torch.zeros_like(x).scatter_add(dim, ix, zero.to(x.dtype)).gather(dim, ix)
        single = zero & (zeros == 1)
        without = x.scatter_reduce(dim, ix, src.masked_fill(single, 1), "prod", include_self=include)
        g = g.gather(dim, ix)
        gs = g * torch.where(single, without.gather(dim, ix), result.gather(dim, ix) / src.masked_fill(zero, 1)).conj()
    return {"self": gx if include else gx.scatter(dim, ix, 0), "src": gs}


@op(
    "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
    "bool include_self=True) -> Tensor",
    kernel="scatter_reduce",
    inplace=True,
    out=Out(EXACT, "apart"),
    grad=_scatter_reduce_grad,
    save=("self", "src", "index", "result"),
    samples=lambda t: [
        (t(3, 4, lo=1), 0, torch.tensor([[0, 1, 2, 0], [0, 1, 1, 0]]), t(2, 4, lo=1), r)
        for r in ("sum", "prod", "mean", "amax", "amin")
    ],
    tags="reference",
)
def scatter_reduce(self, dim, index, src, reduce, include_self=True):
    """`self` with `src` reduced into the positions of `index` along `dim`: "sum", "prod", "mean", "amax" or "amin";
    `include_self=False` leaves the old values of these positions out."""
    return reference.scatter_reduce(self, dim, index, src, reduce, include_self)


# ---- one index vector along a dim ------------------------------------------------------------------------------------
@op(
    "index_select(Tensor self, int dim, Tensor index) -> Tensor",
    kernel="index_select",
    out=Out(SELF_AND_RESULT, "apart whole"),
    grad={"self": lambda c, g: bodies.into_zeros(g, c.self_shape, "index_add", c.dim, c.index)},
    samples=lambda t: [(t(3, 4), 0, torch.tensor([2, 0, 2])), (t(3, 4), -1, torch.tensor([1]))],
)
def index_select(self, dim, index):
    """The slices of `self` along `dim` that the vector `index` names, in its order."""
    return torch.ops.functions.index(self, _slices(self, dim, index)) if self.dim() else self.clone()


def number_of(dtype, x):
    """A factor as PyTorch hands it to kernels of 16-bit floats: rounded to them."""
    narrow = dtype in (torch.float16, torch.bfloat16) and isinstance(x, float)
    return torch.tensor(x, dtype=dtype, device="cpu").item() if narrow else x


@op(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    kernel="index_add",
    inplace=True,
    out=Out(EXACT),
    grad={"self": lambda c, g: g, "source": lambda c, g: _source_grad(g, c.dim, c.index, c.source_shape) * c.alpha},
    samples=lambda t: [
        (t(3, 4), 0, torch.tensor([2, 0, 2]), t(3, 4), {"alpha": 2}),
        (t(3, 4), 1, torch.tensor([1]), t(3, 1)),
    ],
)
def index_add(self, dim, index, source, alpha=1):
    """`self` with alpha * source added, slice by slice, at the positions `index` along `dim`."""
    if source.dtype != self.dtype:
        return torch.index_add(self, dim, index, source)  # refuses it
    _C.check_room(alpha, self.dtype)
    if self.dtype == torch.bool:
        return torch.index_add(self, dim, index, source & bool(alpha))
    return torch.index_add(self, dim, index, (source * number_of(self.dtype, alpha)).to(self.dtype))


def _source_grad(g, dim, index, shape):
    r = g.index_select(dim, index)
    return r if tuple(r.shape) == tuple(shape) else r.reshape(shape)


@op(
    "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    kernel="index_copy",
    inplace=True,
    out=Out(EXACT, "apart"),
    grad={
        "self": lambda c, g: g.index_fill(c.dim, c.index, 0),
        "source": lambda c, g: _staying(
            _source_grad(g, c.dim, c.index, c.source_shape),
            c.self_shape,
            lambda t: _source_grad(t, c.dim, c.index, c.source_shape),
            lambda t, v: t.index_copy(c.dim, c.index, v),
        ),
    },
    samples=lambda t: [(t(3, 4), 0, torch.tensor([2, 0]), t(2, 4))],
)
def index_copy(self, dim, index, source):
    """`self` with the slices of `source` at the positions `index` along `dim`."""
    if not self.dim():
        return source.reshape(()).clone()
    return index_put(self.contiguous(), _slices(self, dim, index), source)


@op(
    "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    "index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
    kernel="index_fill",
    inplace=True,
    tags="expanded_warns",
    grad={
        "self": lambda c, g: g.index_fill(c.dim, c.index, 0),
        "value": lambda c, g: (g - g.index_fill(c.dim, c.index, 0)).sum(),
    },
    samples=lambda t: [(t(3, 4), 0, torch.tensor([2, 0]), 1.5), (t(3, 4), 1, torch.tensor([-1]), t())],
)
def index_fill(self, dim, index, value):
    """`self` with `value` in the slices `index` along `dim`."""
    if not self.dim():
        return (_value(self, value) if index.numel() else self).clone()
    return index_put(self, _slices(self, dim, index), _value(self, value))


def _index_reduce_grad(c, g):
    dim, ix, reduce, include = c.dim, c.index, c.reduce, c.include_self
    x, src, result = c.self, c.source, c.result
    if reduce == "mean":
        n = (torch.ones_like(g) if include else torch.zeros_like(g)).index_add(dim, ix, torch.ones_like(src))
        g = g / n.masked_fill(n == 0, 1)
        gx, gs = g, g.index_select(dim, ix)
    elif reduce in ("amax", "amin"):
        hit_x, hit_s = x == result, src == result.index_select(dim, ix)
        g = g / hit_x.to(g.dtype).index_add(dim, ix, hit_s.to(g.dtype))
        gx, gs = hit_x * g, hit_s * g.index_select(dim, ix)
    else:
        nonzero = x.masked_fill(x == 0, 1)
        gx = g * (nonzero.index_reduce(dim, ix, src, "prod", include_self=include) / nonzero).conj()
        zero = src == 0
        zeros = torch.zeros_like(x).index_add(dim, ix, zero.to(x.dtype)).index_select(dim, ix)
        single = zero & (zeros == 1)
        without = x.index_reduce(dim, ix, src.masked_fill(single, 1), "prod", include_self=include)
        g = g.index_select(dim, ix)
        gs = (
            g
            * torch.where(
                single, without.index_select(dim, ix), result.index_select(dim, ix) / src.masked_fill(zero, 1)
            ).conj()
        )
    return {"self": gx if include else gx.index_fill(dim, ix, 0), "source": gs}


@op(
    "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor",
    kernel="index_reduce",
    inplace=True,
    out=Out(EXACT),
    grad=_index_reduce_grad,
    save=("self", "source", "index", "result"),
    samples=lambda t: [
        (t(3, 4, lo=1), 0, torch.tensor([2, 0, 2]), t(3, 4, lo=1), r) for r in ("prod", "mean", "amax", "amin")
    ],
)
def index_reduce(self, dim, index, source, reduce, include_self=True):
    """`self` with the slices of `source` reduced into the positions `index` along `dim`: "prod", "mean", "amax",
    "amin"."""
    index = index.reshape((-1,) + (1,) * (source.dim() - 1 - dim % max(source.dim(), 1)))
    return self.scatter_reduce(dim, index.long().expand_as(source), source, reduce, include_self=include_self)


def _mask(*shape):
    return torch.arange(math.prod(shape)).reshape(shape) % 3 != 1


# ---- masks -----------------------------------------------------------------------------------------------------------
@op(
    "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
    kernel="masked_fill",
    inplace=True,
    tags="pointwise expanded_warns",
    grad={"self": lambda c, g: g.masked_fill(c.mask, 0), "value": lambda c, g: g.masked_fill(~c.mask, 0).sum()},
    samples=lambda t: [(t(3, 4), _mask(4), -1.5), (t(3, 1), _mask(3, 4), t())],
)
def masked_fill(self, mask, value):
    """`self` (broadcast with `mask`) with `value` where the bool `mask` is true."""
    return torch.where(mask.contiguous(), _value(self, value), self.contiguous())


@op(
    "masked_select(Tensor self, Tensor mask) -> Tensor",
    kernel="masked_select",
    out=Out(SELF_AND_RESULT, "apart whole"),
    grad={
        "self": lambda c, g: torch.zeros_like(
            c.self.detach().expand(torch.broadcast_shapes(c.self_shape, c.mask_shape))
        ).masked_scatter_(c.mask, g)
    },
    samples=lambda t: [(t(3, 4), t(3, 4) > 0), (t(4), t(3, 4) > 0)],
)
def masked_select(self, mask):
    """The elements of `self` where `mask` is true (both broadcast), as a vector."""
    self, mask = torch.broadcast_tensors(self, mask)
    return torch.ops.functions.index(self.reshape(-1), [mask.reshape(-1)])


def _masked_source_grad(g, mask, shape):
    n = 1
    for s in shape:
        n *= s
    if not n:
        return g.new_zeros(shape)
    mask = mask.expand_as(g).reshape(-1)
    taken = (mask.cumsum(0) - 1).clamp(0, n - 1)  # which element of source went there
    return g.new_zeros(n).scatter_add(0, taken, g.reshape(-1).masked_fill(~mask, 0)).reshape(shape)


@op(
    "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    kernel="masked_scatter",
    inplace=True,
    grad={
        "self": lambda c, g: g.masked_fill(c.mask, 0),
        "source": lambda c, g: _masked_source_grad(g, c.mask, c.source_shape),
    },
    samples=lambda t: [(t(3, 4), t(3, 4) > 0, t(12))],
)
def masked_scatter(self, mask, source):
    """`self` with the elements of `source`, in order, where `mask` is true."""
    self, mask = torch.broadcast_tensors(self, mask)
    return index_put(self.contiguous(), [mask], source.reshape(-1)[: int(mask.sum())])


# ---- positions -------------------------------------------------------------------------------------------------------
@op(
    "nonzero(Tensor self) -> Tensor",
    kernel="nonzero",
    module="aten",
    variants="function",
    out=Out("nonzero: Expected out tensor to have scalar type Long but got scalar type{o}", "apart whole"),
    grad=None,
    differentiable=False,
    tags="reference",
)
def _nonzero(self):
    """Positions of the elements that are not zero, one row each: int64 of shape (n, self.dim())."""
    return reference.nonzero(self)


@op(
    "nonzero_numpy(Tensor self) -> Tensor[]",
    kernel="nonzero_numpy",
    module="aten",
    variants="function",
    grad=None,
    differentiable=False,
)
def _nonzero_numpy(self):
    """The columns of nonzero, a vector for each dim."""
    return list(_nonzero(self if self.dim() else self.reshape(1)).unbind(1))


@op(
    "nonzero(Tensor self, *, bool as_tuple=False) -> Tensor",
    out=Out("nonzero: Expected out tensor to have scalar type Long but got scalar type{o}", "apart whole"),
    grad=None,
    differentiable=False,
)
def nonzero(self, as_tuple=False):
    """Positions of the elements that are not zero: int64 of shape (n, self.dim()), or a vector for each dim."""
    return tuple(_nonzero_numpy(self)) if as_tuple else _nonzero(self)


@op(
    "nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor",
    out=True,
    grad=None,
    differentiable=False,
)
def nonzero_static(self, size, fill_value=-1):
    """The first `size` rows of nonzero, filled up with `fill_value`."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    rows = _nonzero(self)[:size]
    return torch.cat(
        [rows, torch.full((size - rows.shape[0], self.dim()), fill_value, dtype=torch.int64, device=self.device)]
    )


@op("argwhere(Tensor self) -> Tensor", grad=None, differentiable=False)
def argwhere(self):
    """Positions of the elements that are not zero, one row each: int64 of shape (n, self.dim())."""
    return _nonzero(self)


@op(
    "where(Tensor condition) -> Tensor[]",
    variants="function",
    grad=None,
    differentiable=False,
)
def where(condition):
    """The positions where `condition` is true, a vector for each dim: nonzero(condition, as_tuple=True)."""
    return tuple(_nonzero_numpy(condition))


@op(
    "where.method(Tensor self, Tensor condition, Tensor other) -> Tensor",
    "where.method_scalar(Tensor self, Tensor condition, Scalar other) -> Tensor",
    variants="method",
    tags="python",
)
def where_method(self, condition, other):
    """`self` where the condition holds, else `other`."""
    return torch.where(condition, self, other)


@op(
    "take(Tensor self, Tensor index) -> Tensor",
    kernel="take",
    out=Out(
        "take(): self and out expected to have the same dtype, but got self.dtype = {r} and out.dtype = {o}",
        "apart whole",
    ),
    grad={"self": lambda c, g: torch.zeros_like(c.self.detach()).put(c.index, g, True)},
    samples=lambda t: [(t(3, 4), torch.tensor([[0, 11], [-1, 3]]))],
)
def take(self, index):
    """Elements of the flattened `self`, in the shape of `index`."""
    return torch.ops.functions.index(self.reshape(-1), [index.contiguous()])


@op(
    "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
    kernel="put",
    inplace=True,
    grad={
        "self": lambda c, g: g if c.accumulate else g.put(c.index, g.new_zeros(c.source_shape)),
        "source": lambda c, g: (
            g.take(c.index).reshape(c.source_shape)
            if c.accumulate
            else _staying(
                g.take(c.index), c.self_shape, lambda t: t.take(c.index), lambda t, v: t.put(c.index, v)
            ).reshape(c.source_shape)
        ),
    },
    samples=lambda t: [(t(3, 4), torch.tensor([0, 11, -2]), t(3)), (t(3, 4), torch.tensor([1, 1]), t(2), True)],
)
def put(self, index, source, accumulate=False):
    """`self` with source[i] at the flat position index[i]; `accumulate` adds instead."""
    x = index_put(self.reshape(-1), [index.reshape(-1)], source.reshape(-1), accumulate)
    return torch.empty_like(self).copy_(x.reshape(self.shape))


@op(
    "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
    out=Out(EXACT, "apart", by="gather"),
    samples=lambda t: [(t(3, 4), torch.tensor([[0], [1], [3]]), 1), (t(3, 4), torch.tensor([5, 0]))],
)
def take_along_dim(self, indices, dim=None):
    """Elements of `self` at `indices` along `dim`, the other dims broadcast; of the flattened `self` without `dim`."""
    if indices.dtype != torch.int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype._scalar_type}"
        )
    if dim is None:
        return self.reshape(-1).gather(0, _from_end(indices.reshape(-1), self.numel()))
    if self.dim() != indices.dim():
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{self.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    dim = _C.wrap_dim(dim, self.dim())
    a, b = list(self.shape), list(indices.shape)
    if a:
        a[dim] = b[dim] = 1
    common = list(torch.broadcast_shapes(tuple(a), tuple(b)))
    if common:
        a, b = list(common), list(common)
        a[dim], b[dim] = self.shape[dim], indices.shape[dim]
    return self.expand(a).gather(dim, _from_end(indices, self.shape[dim] if common else 1).expand(b))


def _from_end(indices, size):
    """Negative indices counted from the end."""
    return torch.where(indices < 0, indices + size, indices)


@op(
    "isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, "
    "bool invert=False) -> Tensor",
    "isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, "
    "bool invert=False) -> Tensor",
    "isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, "
    "bool invert=False) -> Tensor",
    variants="function",
    out=Out(EXACT),
    grad=None,
    differentiable=False,
)
def isin(elements, test_elements, assume_unique=False, invert=False):
    """Whether each element is among `test_elements`; `invert` negates."""
    if not isinstance(elements, torch.Tensor):
        elements = torch.tensor(elements, device=test_elements.device)
    if not isinstance(test_elements, torch.Tensor):
        test_elements = torch.tensor(test_elements, device=elements.device)
    for t in (elements, test_elements):
        if t.is_complex() or t.dtype == torch.bool:
            raise RuntimeError(f"Unsupported input type encountered for isin(): {t.dtype._scalar_type}")
    test = test_elements.reshape(-1)
    if elements.numel() * test.numel() <= 65536 or elements.dtype != test.dtype:
        found = (elements.unsqueeze(-1) == test).any(-1)
    else:
        ordered = test.sort()[0]
        at = torch.searchsorted(ordered, elements.contiguous()).clamp(max=ordered.numel() - 1)
        found = ordered[at] == elements
    return ~found if invert else found


@op(
    "unravel_index(Tensor indices, Any shape) -> Tensor[]",
    variants="function",
    grad=None,
    differentiable=False,
    tags="python",
)
def unravel_index(indices, shape):
    """The coordinates, a tensor for each dim, of flat positions in a tensor of the given shape."""
    if indices.is_complex() or indices.is_floating_point() or indices.dtype == torch.bool:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if isinstance(shape, torch.Tensor) or not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    for s in shape:
        if not isinstance(s, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(s)}")
    if any(s < 0 for s in shape):
        raise ValueError(f"'shape' cannot have negative values, but got {shape}")
    out, indices = [], indices.long()
    for s in reversed(shape):
        out.append(indices.remainder(s))
        indices = indices.div(s, rounding_mode="floor")
    return torch.stack(out[::-1], -1).unbind(-1) if out else ()
