"""Copies of a tensor in which one view is replaced: slice_scatter and relatives."""

import torchlite as torch

from ..autograd._inplace import scatter_strided, span
from ._declare import op
from ._out import EXACT, Out


def _slice(t, dim, start, end, step):
    return torch.ops.functions.slice(t, dim, start, end, step)


def _same_strides(t, whole=False):
    """A copy with gaps where t has them, so that its strides are t's; whole: with the memory around t."""
    if _shared(t.shape, t.stride()) or not whole and torch._C.is_dense(t):  # src needs places of its own
        return t.clone()
    full = t.as_strided((t.untyped_storage().nbytes() // t.element_size(),), (1,), 0).clone()
    return full.as_strided(t.shape, t.stride(), t.storage_offset()).data  # no view of a base that has no history


def _replaced(out, src, view):
    part = view(out)
    if part.shape != src.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, "
            f"slice size = {list(part.shape)}"
        )
    part.copy_(src)
    return out


@op(
    "slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor",
    out=Out(EXACT, "copied plain", by="aten::slice_scatter"),
    grad={
        "self": lambda c, g: g.slice_scatter(g.new_zeros(c.src_shape), c.dim, c.start, c.end, c.step),
        "src": lambda c, g: _slice(g, c.dim, c.start, c.end, c.step),
    },
    samples=lambda t: [(t(4, 3), t(2, 3), 0, 1, 3), (t(4, 3), t(4, 2), 1, None, None, 2)],
)
def slice_scatter(self, src, dim, start, end, step):
    """`self` with `src` in place of the slice start:end:step of `dim`."""
    return _replaced(_same_strides(self), src, lambda t: _slice(t, dim, start, end, step))


@op(
    "select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
    grad={
        "self": lambda c, g: g.select_scatter(g.new_zeros(c.src_shape), c.dim, c.index),
        "src": lambda c, g: g.select(c.dim, c.index),
    },
    samples=lambda t: [(t(4, 3), t(3), 0, 1), (t(4, 3), t(4), -1, -1)],
)
def select_scatter(self, src, dim, index):
    """`self` with `src` in place of the slice `index` of `dim`."""
    return _replaced(_same_strides(self), src, lambda t: t.select(dim, index))


@op(
    "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    grad={
        "self": lambda c, g: g.diagonal_scatter(g.new_zeros(c.src_shape), c.offset, c.dim1, c.dim2),
        "src": lambda c, g: g.diagonal(c.offset, c.dim1, c.dim2),
    },
    samples=lambda t: [(t(4, 3), t(3)), (t(4, 3), t(2), 1)],
)
def diagonal_scatter(self, src, offset, dim1, dim2):
    """`self` with `src` in place of a diagonal."""
    return _replaced(_same_strides(self), src, lambda t: t.diagonal(offset, dim1, dim2))


def _shared(shape, strides):
    return any(s == 0 and n > 1 for n, s in zip(shape, strides))


def _places(c):
    """Layouts of the result and of what src replaces in it, from the first place of either on,
    and how many places that are."""
    shape, strides, start = c.self_layout
    if _shared(shape, strides):
        strides, start = torch.empty_like(torch.empty_strided(shape, strides)).stride(), 0
    offset = start if c.storage_offset is None else c.storage_offset
    first = min(start, offset)
    out, part = (shape, strides, start - first), (c.size, c.stride, offset - first)
    return out, part, max(span(*out), span(*part))


def _as_strided_scatter_self(c, g):
    out, part, n = _places(c)
    replaced = torch.zeros(n, dtype=torch.bool, device=g.device)
    replaced.as_strided(*part).fill_(True)
    return g.masked_fill(replaced.as_strided(*out), 0)


def _as_strided_scatter_src(c, g):
    out, part, n = _places(c)
    if n == g.numel() and g.is_contiguous() and out == (g.shape, g.stride(), 0):  # a view, as PyTorch's
        return g.as_strided(*part[:2], part[2] + g.storage_offset())
    return scatter_strided(g, ((n,), (1,), 0), out).as_strided(*part)


# The gradient is exact for every layout of self. PyTorch 2.13's is not: self gets the gradient of the elements that src
# replaced, in place of all others; storage_offset counts from the first element of a view; a self that needs a gradient
# and is not contiguous is an error.
@op(
    "as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, "
    "SymInt? storage_offset=None) -> Tensor",
    grad={"self": _as_strided_scatter_self, "src": _as_strided_scatter_src},
    samples=lambda t: [(t(4, 3), t(2, 2), (2, 2), (3, 1), 1)],
)
def as_strided_scatter(self, src, size, stride, storage_offset):
    """`self` with `src` in place of the elements that as_strided(size, stride, storage_offset) names."""
    return _replaced(_same_strides(self, True), src, lambda t: t.as_strided(size, stride, storage_offset))


@op(
    "narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor",
    out=Out(
        "Expected self.dtype() == output.dtype() to be true, but got false.  (Could this error message be improved?  "
        "If so, please report an enhancement request to PyTorch.)"
    ),
    samples=lambda t: [(t(4, 3), 0, 1, 2)],
)
def narrow_copy(self, dim, start, length):
    """A copy of narrow(dim, start, length)."""
    return self.narrow(dim, start, length).clone(memory_format=torch.contiguous_format)
