"""Reductions: sums, products, extremes, variances, norms, medians."""

import torchlite as torch
from .._core.errors import not_implemented
from .._core.dispatch_modes import all_examples
from ._declare import bodies, op, reference
from ._out import EXACT, Out, SAME_AS_INPUT, uncastable


def _boolean(args, result, out, i):
    return None if out.dtype == torch.uint8 else "{name} only supports bool tensor for result, got: {o}"


# ---- helpers of the gradients ----------------------------------------------------------------------------------------
def _dims(dim, ndim):
    """The reduced dims, wrapped; None and () mean all of them."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    if isinstance(dim, int):
        dim = (dim,)
    return tuple(d % ndim if ndim else 0 for d in dim)


def _restore(x, shape, dim, keepdim):
    """A reduced tensor with its reduced dims put back as size 1."""
    if keepdim or dim is None or not shape:
        return x
    for d in sorted(_dims(dim, len(shape))):
        x = x.unsqueeze(d)
    return x


def _spread(g, shape, dim, keepdim):
    return _restore(g, shape, dim, keepdim).expand(shape)


def _count(shape, dim):
    n = 1
    if not shape:
        return n
    for d in _dims(dim, len(shape)):
        n *= shape[d]
    return n


def _select_grad(g, shape, dim, keepdim, index):
    """Gradient of values picked by `index` along `dim`."""
    if not shape:
        return g.clone()  # a tensor of its own, as for other shapes
    if not keepdim:
        g, index = g.unsqueeze(dim), index.unsqueeze(dim)
    return bodies.into_zeros(g, shape, "scatter", dim, index)


def _share(g, x, result, dim, keepdim):
    """Gradient of an extreme value, shared evenly by the elements that equal it."""
    result, g = _restore(result, x.shape, dim, keepdim), _restore(g, x.shape, dim, keepdim)
    mask = x.detach() == result.detach()  # none where the result is NaN, and the gradient is NaN as well
    return g / (mask.sum() if dim is None or dim == () else mask.sum(dim, True)) * mask


def _share_all(g, x, result):
    x, nan = x.detach(), result.detach().isnan()
    mask = x == result.detach()
    if not x.is_meta and bool(all_examples(nan).any()):
        mask = torch.where(nan, x.isnan(), mask)
    return g.new_zeros(x.shape).masked_fill(mask, g / mask.sum())


# ---- sums ------------------------------------------------------------------------------------------------------------
@op(
    "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    kernel="sum",
    tags="reduction reference",
    node="SumBackward0",
    grad={"self": lambda c, g: g.expand(c.self_shape)},
    samples=lambda t: [(t(3, 4),), (t(0, 3),), (t(),)],
)
def sum_all(self, dtype=None):
    """The sum of all elements. Integers and bool are summed as int64 unless `dtype` says otherwise."""
    return reference.sum(self, None, False, dtype)


@op(
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    kernel="sum",
    out=Out(tags="dtype"),
    tags="reduction reference",
    node="SumBackward1",
    grad={"self": lambda c, g: _spread(g, c.self_shape, c.dim, c.keepdim)},
    samples=lambda t: [(t(3, 4), 0), (t(3, 4, 2), (0, -1), True), (t(3, 4), None)],
)
def sum_dim(self, dim, keepdim=False, dtype=None):
    """The sums along the dims in `dim` (all when None or empty); reduced dims stay with size 1 if `keepdim`."""
    return reference.sum(self, dim, keepdim, dtype)


def _nansum_dtype(args, result, out, i):
    if out.is_floating_point() or not result.is_floating_point():
        return None
    return not_implemented("nansum_cpu", out.dtype)


@op(
    "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    kernel="nansum",
    out=Out(_nansum_dtype, "dtype floating any"),
    tags="reduction",
    grad={"self": lambda c, g: _spread(g, c.self_shape, c.dim, c.keepdim) * ~torch.isnan(c.self)},
    samples=lambda t: [(t(3, 4),), (t(3, 4), 1, True)],
)
def nansum(self, dim=None, keepdim=False, dtype=None):
    """Sums that take NaN as zero."""
    return torch.where(self.isnan(), 0, self).sum(dim, keepdim, dtype=dtype)


@op(
    "mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    kernel="mean",
    out=Out(uncastable("mean.dtype_out(): input types can't be cast to the desired output type {o}"), "average dtype"),
    tags="reduction",
    node="MeanBackward0",
    grad={"self": lambda c, g: g.expand(c.self_shape) / _count(c.self_shape, None)},
    samples=lambda t: [(t(3, 4),), (t(),)],
)
def mean_all(self, dtype=None):
    """The mean of all elements of a floating or complex tensor."""
    return self.sum(dtype=dtype) / self.numel()


@op(
    "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    kernel="mean",
    out=Out(tags="average dtype"),
    tags="reduction",
    node="MeanBackward1",
    grad={"self": lambda c, g: _spread(g, c.self_shape, c.dim, c.keepdim) / _count(c.self_shape, c.dim)},
    samples=lambda t: [(t(3, 4), 0), (t(3, 4, 2), (0, 2), True)],
)
def mean_dim(self, dim, keepdim=False, dtype=None):
    """The means along the dims in `dim`."""
    return self.sum(dim, keepdim, dtype=dtype) / _count(self.shape, dim)


@op(
    "nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    out=Out(_nansum_dtype, "twice", by="nansum"),
    tags="reduction",
    samples=lambda t: [(t(3, 4),), (t(3, 4), 1)],
)
def nanmean(self, dim=None, keepdim=False, dtype=None):
    """Means of the elements that are not NaN."""
    if not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {self.dtype._scalar_type}"
        )
    return torch.nansum(self, dim, keepdim, dtype=dtype) / torch.sum(~self.detach().isnan(), dim, keepdim)


def _exclusive(x, dim):
    """Products of all other elements along `dim`."""
    ones = torch.ones_like(x.narrow(dim, 0, 1))
    n = x.size(dim)
    left = torch.cat([ones, x.narrow(dim, 0, n - 1)], dim).cumprod(dim)
    right = torch.cat([ones, x.narrow(dim, 1, n - 1).flip(dim)], dim).cumprod(dim).flip(dim)
    return left * right


def _prod_grad(g, x, result, dim):
    if not x.shape:
        return g
    zeros = None if x.is_meta else all_examples((x == 0).sum())
    if zeros is None or not bool(zeros.any()):
        return g * (result / x).conj()
    if (x.numel() if dim is None else x.size(dim)) == 1:
        return g.reshape(x.shape)
    if dim is None and bool((zeros > 1).all()) and not torch.is_grad_enabled():
        # as PyTorch: also where others are inf or NaN
        return x.new_zeros(x.shape)
    return g * (_exclusive(x.flatten(), 0).reshape(x.shape) if dim is None else _exclusive(x, dim)).conj()


@op(
    "prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    kernel="prod",
    tags="reduction reference",
    node="ProdBackward0",
    grad={"self": lambda c, g: _prod_grad(g, c.self, c.result, None)},
    samples=lambda t: [(t(3, 2),), (t(),)],
)
def prod_all(self, dtype=None):
    """The product of all elements."""
    return reference.prod(self, None, False, dtype)


@op(
    "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    kernel="prod",
    out=Out(tags="dtype"),
    tags="reduction reference",
    node="ProdBackward1",
    grad={
        "self": lambda c, g: (
            g
            if not c.self_shape
            else _prod_grad(
                _restore(g, c.self_shape, c.dim, c.keepdim),
                c.self,
                _restore(c.result, c.self_shape, c.dim, c.keepdim),
                c.dim,
            )
        )
    },
    samples=lambda t: [(t(3, 2), 0), (t(3, 2), -1, True)],
)
def prod_dim(self, dim, keepdim=False, dtype=None):
    """The products along `dim`."""
    return reference.prod(self, dim, keepdim, dtype)


def _some(hits, dim=None, keepdim=False):
    return hits if dim == () else hits.sum(dim, keepdim) != 0


def _as_truth(x, found):
    return found.to(torch.uint8) if x.dtype is torch.uint8 else found


# ---- logical ---------------------------------------------------------------------------------------------------------
@op(
    "any(Tensor self) -> Tensor",
    kernel="any",
    out=Out(_boolean),
    differentiable=False,
    tags="reduction",
    samples=lambda t: [(t(3, 4),)],
)
def any_all(self):
    """Whether any element is non-zero (uint8 for uint8 input, else bool)."""
    return _as_truth(self, _some(self != 0))


@op(
    "any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
    "any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    kernel="any",
    out=Out(_boolean),
    differentiable=False,
    tags="reduction",
    samples=lambda t: [(t(3, 4), 0), (t(3, 4), 1, True)],
)
def any_dim(self, dim=None, keepdim=False):
    """Whether any element along `dim` is non-zero."""
    return _as_truth(self, _some(self != 0, dim, keepdim))


@op(
    "all(Tensor self) -> Tensor",
    kernel="all",
    out=Out(_boolean),
    differentiable=False,
    tags="reduction",
    samples=lambda t: [(t(3, 4),)],
)
def all_all(self):
    """Whether all elements are non-zero (uint8 for uint8 input, else bool)."""
    return _as_truth(self, ~_some(self == 0))


@op(
    "all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
    "all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    kernel="all",
    out=Out(_boolean),
    differentiable=False,
    tags="reduction",
    samples=lambda t: [(t(3, 4), 0), (t(3, 4), 1, True)],
)
def all_dim(self, dim=None, keepdim=False):
    """Whether all elements along `dim` are non-zero."""
    return _as_truth(self, ~_some(self == 0, dim, keepdim))


@op(
    "count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
    "count_nonzero(Tensor self, int? dim=None) -> Tensor",
    kernel="count_nonzero",
    differentiable=False,
    tags="reduction",
    samples=lambda t: [(t(3, 4),), (t(3, 4), 0)],
)
def count_nonzero(self, dim=None):
    """How many elements are non-zero, along `dim` or in all."""
    return (self != 0).sum(dim)


_CAN_CAST = uncastable(
    "Expected canCast( typeMetaToScalarType(self.dtype()), typeMetaToScalarType(out.dtype())) to be true, but got "
    "false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
)


# ---- extremes --------------------------------------------------------------------------------------------------------
@op(
    "max(Tensor self) -> Tensor",
    kernel="max",
    out=Out(_CAN_CAST, "ordered"),
    tags="reduction",
    node="MaxBackward1",
    grad={"self": lambda c, g: _share_all(g, c.self, c.result)},
    samples=lambda t: [(t(3, 4),), (t(),)],
)
def max_all(self):
    """The largest element; NaN when there is one. Equal maxima share the gradient."""
    return self.amax()


@op(
    "min(Tensor self) -> Tensor",
    kernel="min",
    out=Out(_CAN_CAST, "ordered"),
    tags="reduction",
    node="MinBackward1",
    grad={"self": lambda c, g: _share_all(g, c.self, c.result)},
    samples=lambda t: [(t(3, 4),), (t(),)],
)
def min_all(self):
    """The smallest element; NaN when there is one. Equal minima share the gradient."""
    return self.amin()


@op(
    "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    kernel="max_dim",
    out=Out(EXACT, "ordered"),
    nondiff=(1,),
    tags="reduction",
    node="MaxBackward0",
    grad={"self": lambda c, g: _select_grad(g[0], c.self_shape, c.dim, c.keepdim, c.result1)},
    samples=lambda t: [(t(3, 4), 0), (t(3, 4), -1, True)],
)
def max_dim(self, dim, keepdim=False):
    """The largest values along `dim` and the positions of the first of them."""
    return bodies.extreme(self, torch.amax, dim, keepdim)


@op(
    "min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    kernel="min_dim",
    out=Out(EXACT, "ordered"),
    nondiff=(1,),
    tags="reduction",
    node="MinBackward0",
    grad={"self": lambda c, g: _select_grad(g[0], c.self_shape, c.dim, c.keepdim, c.result1)},
    samples=lambda t: [(t(3, 4), 0), (t(3, 4), -1, True)],
)
def min_dim(self, dim, keepdim=False):
    """The smallest values along `dim` and the positions of the first of them."""
    return bodies.extreme(self, torch.amin, dim, keepdim)


@op(
    "max.other(Tensor self, Tensor other) -> Tensor",
    out=Out(tags="ordered", by="maximum"),
    samples=lambda t: [(t(3, 4), t(4))],
)
def max_other(self, other):
    """The larger of two elements: `maximum`."""
    return torch.maximum(self, other)


@op(
    "min.other(Tensor self, Tensor other) -> Tensor",
    out=Out(tags="ordered", by="minimum"),
    samples=lambda t: [(t(3, 4), t(4))],
)
def min_other(self, other):
    """The smaller of two elements: `minimum`."""
    return torch.minimum(self, other)


@op(
    "amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    kernel="amax",
    out=Out(SAME_AS_INPUT),
    tags="reduction reference",
    grad={"self": lambda c, g: _share(g, c.self, c.result, c.dim, c.keepdim)},
    samples=lambda t: [(t(3, 4),), (t(3, 4, 2), (0, 2), True)],
)
def amax(self, dim=(), keepdim=False):
    """The largest values along the dims in `dim`. Equal maxima share the gradient."""
    return reference.amax(self, dim, keepdim)


@op(
    "amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    kernel="amin",
    out=Out(SAME_AS_INPUT),
    tags="reduction",
    grad={"self": lambda c, g: _share(g, c.self, c.result, c.dim, c.keepdim)},
    samples=lambda t: [(t(3, 4),), (t(3, 4, 2), (0, 2), True)],
)
def amin(self, dim=(), keepdim=False):
    """The smallest values along the dims in `dim`. Equal minima share the gradient."""
    turn = torch.neg if self.is_floating_point() else torch.bitwise_not
    return turn(turn(self).amax(dim, keepdim))


@op(
    "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    kernel="aminmax",
    out=Out(EXACT),
    tags="reduction",
    grad={"self": lambda c, g: _aminmax_grad(c, g)},
    save=("self", "result0", "result1", "dim", "keepdim"),
    samples=lambda t: [(t(3, 4),), (t(3, 4), {"dim": 0})],
)
def aminmax(self, dim=None, keepdim=False):
    """The smallest and the largest values, along `dim` or of all elements."""
    dim = () if dim is None else dim
    return self.amin(dim, keepdim), self.amax(dim, keepdim)


def _aminmax_grad(c, g):
    parts = [_share(gi, c.self, r, c.dim, c.keepdim) for gi, r in zip(g, (c.result0, c.result1)) if gi is not None]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


@op(
    "argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    kernel="argmax",
    out=Out(EXACT),
    differentiable=False,
    tags="reduction",
    samples=lambda t: [(t(3, 4),), (t(3, 4), 1, True)],
)
def argmax(self, dim=None, keepdim=False):
    """The position of the first maximum along `dim`, or in the flattened tensor. NaN counts as the largest."""
    return bodies.position(self, torch.amax, dim, keepdim)


@op(
    "argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    kernel="argmin",
    out=Out(EXACT),
    differentiable=False,
    tags="reduction",
    samples=lambda t: [(t(3, 4),), (t(3, 4), 1, True)],
)
def argmin(self, dim=None, keepdim=False):
    """The position of the first minimum along `dim`, or in the flattened tensor. NaN counts as the smallest."""
    return bodies.position(self, torch.amin, dim, keepdim)
