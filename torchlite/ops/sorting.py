"""Sorting, selection, unique values, searches and histograms."""

import math

import torchlite as torch
from .._core.errors import not_implemented
from ._declare import bodies, op, python, reference
from ._out import EXACT, Out, SEARCH


def _scatter_grad(g, shape, dim, index):
    if not shape:
        return g.reshape(()).clone()
    return g.new_zeros(shape).scatter(dim, index, g)


@op(
    "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    kernel="sort",
    out=Out(EXACT, "ordered"),
    nondiff=(1,),
    node="SortBackward0",
    grad={"self": lambda c, g: _scatter_grad(g[0], c.self_shape, c.dim, c.result1)},
    samples=lambda t: [(t(3, 4),), (t(3, 4), 0, True)],
    tags="reference",
)
def sort(self, dim=-1, descending=False):
    """Values in order along `dim` and where they came from. NaN is the largest. Up to 16 equal values keep their
    order; of more, PyTorch's order on the CPU, which is not theirs."""
    return reference.sort(self, dim, descending)


@op(
    "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    kernel="sort_stable",
    out=Out(EXACT, "ordered"),
    nondiff=(1,),
    node="SortBackward1",
    grad={"self": lambda c, g: _scatter_grad(g[0], c.self_shape, c.dim, c.result1)},
    samples=lambda t: [(t(3, 4), {"stable": True})],
)
def sort_stable(self, stable, dim=-1, descending=False):
    """`sort` that keeps the order of equal values where `stable`."""
    return torch.sort(self, dim, descending)


@op(
    "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
    kernel="argsort",
    differentiable=False,
    samples=lambda t: [(t(3, 4),), (t(3, 4), 0, True)],
)
def argsort(self, dim=-1, descending=False):
    """The positions that sort the elements along `dim`."""
    return torch.sort(self, dim, descending)[1]


@op(
    "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
    kernel="argsort_stable",
    differentiable=False,
    samples=lambda t: [(t(3, 4), {"stable": True})],
)
def argsort_stable(self, stable, dim=-1, descending=False):
    """`argsort` that keeps the order of equal values where `stable`."""
    return torch.sort(self, dim, descending)[1]


@op("msort(Tensor self) -> Tensor", out=Out(EXACT, by="sort"), samples=lambda t: [(t(3, 4),)])
def msort(self):
    """Values in order along the first dim."""
    return torch.sort(self, 0)[0]


@op(
    "topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
    kernel="topk",
    out=Out(EXACT, "ordered"),
    nondiff=(1,),
    grad={"self": lambda c, g: _scatter_grad(g[0], c.self_shape, c.dim, c.result1)},
    samples=lambda t: [(t(3, 4), 2), (t(3, 4), 1, 0, False)],
    tags="reference",
)
def topk(self, k, dim=-1, largest=True, sorted=True):
    """The k largest (or smallest) values along `dim` in order, and their positions."""
    return reference.topk(self, k, dim, largest, sorted)


# ---- unique ----------------------------------------------------------------------------------------------------------
@op(
    "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, "
    "bool return_counts=False) -> (Tensor, Tensor, Tensor)",
    kernel="_unique2",
    variants="function",
    grad={},
)
def _unique2(self, sorted=True, return_inverse=False, return_counts=False):
    """Distinct values in order, where each element's value is among them, and how often each appears."""
    return bodies.unique(self, sorted, return_inverse, return_counts)


@op(
    "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, "
    "bool return_counts=False) -> (Tensor, Tensor, Tensor)",
    module="aten",
    kernel="unique_dim",
    variants="function",
    grad={},
    tags="reference",
)
def unique_dim(self, dim, sorted=True, return_inverse=False, return_counts=False):
    """Distinct slices along `dim` in lexicographic order, with inverse and counts."""
    return reference.unique_dim(self, dim, sorted, return_inverse, return_counts)


@op(
    "_unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, "
    "int? dim=None) -> (Tensor, Tensor, Tensor)",
    kernel="unique_consecutive",
    variants="function",
    grad={},
)
def _unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
    """Values (or slices along `dim`) without repetitions of the one before, with inverse and counts."""
    if dim is None:
        return bodies.runs(self.reshape(-1), 0, self.shape, return_inverse, return_counts)
    return bodies.runs(self, dim, (self.size(dim),), return_inverse, return_counts)


def _chosen(result, return_inverse, return_counts):
    if return_inverse and return_counts:
        return tuple(result)
    if return_inverse:
        return result[0], result[1]
    if return_counts:
        return result[0], result[2]
    return result[0]


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements of `input`, or its distinct slices along `dim`, in order.

    With `return_inverse` also the position of every element among them, with `return_counts` how often each appears.
    """
    if dim is None:
        result = torch._unique2(input, sorted, return_inverse, return_counts)
    else:
        result = torch.ops.functions.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return _chosen(result, return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements (or slices along `dim`) that differ from the one before, with inverse and counts on request."""
    return _chosen(torch._unique_consecutive(input, return_inverse, return_counts, dim), return_inverse, return_counts)


python(unique, unique_consecutive)


# ---- searches and histograms -----------------------------------------------------------------------------------------
@op(
    "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, "
    "str? side=None, Tensor? sorter=None) -> Tensor",
    "searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, "
    "str? side=None, Tensor? sorter=None) -> Tensor",
    kernel="searchsorted",
    variants="function",
    out=Out(SEARCH),
    differentiable=False,
    samples=lambda t: [(t(5).sort()[0], t(3)), (t(5).sort()[0], 0.5)],
    tags="reference",
)
def searchsorted(sorted_sequence, self, out_int32=False, right=False, side=None, sorter=None):
    """Where each value of `self` would be inserted into the sorted innermost dim of `sorted_sequence`."""
    return reference.searchsorted(sorted_sequence, self, out_int32, right, side, sorter)


@op(
    "bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    "bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    kernel="bucketize",
    variants="function",
    out=Out(SEARCH),
    differentiable=False,
    samples=lambda t: [(t(3), t(5).sort()[0])],
)
def bucketize(self, boundaries, out_int32=False, right=False):
    """The index of the bucket between 1-d `boundaries` that each value falls into."""
    return torch.searchsorted(boundaries, self, out_int32=out_int32, right=right)


@op(
    "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
    kernel="histc",
    out=Out(
        "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {cr} and hist {co}"
    ),
    differentiable=False,
    samples=lambda t: [(t(3, 4), 5), (t(3, 4), 5, -1, 1)],
)
def histc(self, bins=100, min=0, max=0):
    """Counts of elements in `bins` equal intervals of [min, max], or of the range of the data when both are 0."""
    return bodies.histc(self, bins, min, max)


@op("bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor", kernel="bincount", grad={})
def bincount(self, weights=None, minlength=0):
    """Counts of the values 0, 1, 2 and so on in a 1-d tensor of non-negative integers, or sums of their weights."""
    return bodies.bincount(self, weights, minlength)


def _edges_of(x, bins, range, dim):
    """The edges of equal intervals of coordinate `dim`; range: of the whole histogram, or None."""
    if range is None:
        low, high = (0.0, 1.0) if x.numel() == 0 else (float(x.min()), float(x.max()))
    else:
        low, high = range[2 * dim : 2 * dim + 2]
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {dim}"
        )
    if low == high:
        low, high = low - 0.5, high + 0.5
    return torch.linspace(low, high, bins + 1, dtype=x.dtype, device=x.device)


def _check_edges(e, dim, dtype):
    if e.dtype != dtype:
        raise RuntimeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
            f"{dtype._cpp_type} and bins for dimension {dim} with dtype {e.dtype._cpp_type}"
        )
    if e.dim() != 1:
        raise RuntimeError(
            f"torch.histogramdd: bins tensor should have one dimension, but got {e.dim()} dimensions in the bins "
            f"tensor for dimension {dim}"
        )
    if e.numel() == 0:
        raise RuntimeError(
            "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for "
            f"dimension {dim}"
        )


def _check_histogram(x, bins, range, weight):
    """The checks of a histogram of points x (..., N); bins: a count or edges for each coordinate."""
    n = x.size(-1)
    if range is not None and len(range) != 2 * n:
        raise RuntimeError(
            f"torch.histogramdd: for a {n}-dimensional histogram range should have {2 * n} elements, "
            f"but got {len(range)}"
        )
    for dim, b in enumerate(bins):
        if isinstance(b, torch.Tensor):
            _check_edges(b, dim, x.dtype)
    if weight is not None and weight.dtype != x.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
            f"dtype, but got input({x.dtype._cpp_type}), and weight({weight.dtype._cpp_type})"
        )
    if weight is not None and (weight.shape or (1,)) != x.shape[:-1]:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {list(x.shape)} and weight with shape "
            f"{list(weight.shape)}"
        )
    for dim, b in enumerate(bins):
        count = b.numel() - 1 if isinstance(b, torch.Tensor) else b
        if count <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {count} for dimension {dim}")
    if x.dtype not in (torch.float32, torch.float64):
        raise not_implemented("histogramdd", x.dtype)


def _histogram(x, bins, range, weight, density):
    """One coordinate: sums of weights, and the edges."""
    points = x.reshape(-1, 1)
    weight = None if weight is None else weight.reshape(-1)
    _check_histogram(points, [bins], range, weight)
    flat = points.view(-1)
    edges = bins.clone() if isinstance(bins, torch.Tensor) else _edges_of(flat, bins, range, 0)
    n = edges.numel() - 1
    at = torch.searchsorted(edges, flat, right=True) - 1
    at = torch.where(flat == edges[-1], n - 1, at)
    inside = (at >= 0) & (at < n)
    w = torch.ones_like(flat) if weight is None else weight
    hist = torch.zeros(n, dtype=x.dtype, device=x.device).index_add(0, at[inside], w[inside])
    return hist / hist.sum() / (edges[1:] - edges[:-1]) if density else hist, edges


@op(
    "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, "
    "Tensor bin_edges)",
    out=True,
    grad={},
)
def histogram_bins(self, bins, weight=None, density=False):
    """Sums of weights (1 by default) between the given increasing bin edges."""
    return _histogram(self, bins, None, weight, density)


@op(
    "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, "
    "bool density=False) -> (Tensor hist, Tensor bin_edges)",
    out=True,
    grad={},
)
def histogram_count(self, bins=100, range=None, weight=None, density=False):
    """Sums of weights (1 by default) in `bins` equal intervals, and the edges of these."""
    return _histogram(self, bins, range, weight, density)


def histogramdd(input, bins, *, range=None, weight=None, density=False):
    """A histogram of points: the last dim of `input` holds their N coordinates, `bins` is a count (or N counts)
    or N tensors of edges."""
    if input.dim() < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    n = input.size(-1)
    points = input.detach().reshape(-1, n)
    many = [bins] * n if isinstance(bins, int) else list(bins)
    if len(many) != n:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    _check_histogram(input, many, range, weight)
    edges = [
        b.clone() if isinstance(b, torch.Tensor) else _edges_of(points[:, i], b, range, i) for i, b in enumerate(many)
    ]
    shape = [e.numel() - 1 for e in edges]
    at = torch.zeros(points.size(0), dtype=torch.int64, device=input.device)
    inside = torch.ones(points.size(0), dtype=torch.bool, device=input.device)
    for i, e in enumerate(edges):
        column = points[:, i].contiguous()
        k = torch.searchsorted(e, column, right=True) - 1
        k = torch.where(column == e[-1], shape[i] - 1, k)
        inside = inside & (k >= 0) & (k < shape[i])
        at = at * shape[i] + k
    w = torch.ones_like(points[:, 0]) if weight is None else weight.reshape(-1)
    total = 1
    for s in shape:
        total *= s
    hist = torch.zeros(total, dtype=input.dtype, device=input.device).index_add(0, at[inside], w[inside]).view(shape)
    if density:
        hist = hist / hist.sum()
        for i, e in enumerate(edges):
            hist = hist / (e[1:] - e[:-1]).view([-1 if j == i else 1 for j, _ in enumerate(shape)])
    return torch.return_types.histogramdd((hist, tuple(edges)))


python(histogramdd, method=False)
