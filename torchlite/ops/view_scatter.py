"""Copies of a tensor in which one view is replaced: slice_scatter and relatives."""
import torchlite as torch

from ._declare import op


def _slice(t, dim, start, end, step):
    return torch.ops.aten.slice(t, dim, start, end, step)


def _replaced(self, src, view, what):
    out = self.clone()
    part = view(out)
    if part.shape != src.shape:
        raise RuntimeError(f"expected src to have a size equal to the {what} of self. src size = {list(src.shape)}, "
                           f"{what} size = {list(part.shape)}")
    part.copy_(src)
    return out


@op("slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor",
    out=True,
    grad={"self": lambda c, g: g.slice_scatter(g.new_zeros(c.src_shape), c.dim, c.start, c.end, c.step),
          "src": lambda c, g: _slice(g, c.dim, c.start, c.end, c.step)},
    samples=lambda t: [(t(4, 3), t(2, 3), 0, 1, 3), (t(4, 3), t(4, 2), 1, None, None, 2)])
def slice_scatter(self, src, dim, start, end, step):
    """`self` with `src` in place of the slice start:end:step of `dim`."""
    return _replaced(self, src, lambda t: _slice(t, dim, start, end, step), "slice")


@op("select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
    grad={"self": lambda c, g: g.select_scatter(g.new_zeros(c.src_shape), c.dim, c.index),
          "src": lambda c, g: g.select(c.dim, c.index)}, samples=lambda t: [(t(4, 3), t(3), 0, 1), (t(4, 3), t(4), -1, -1)])
def select_scatter(self, src, dim, index):
    """`self` with `src` in place of the slice `index` of `dim`."""
    return _replaced(self, src, lambda t: t.select(dim, index), "slice")


@op("diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    grad={"self": lambda c, g: g.diagonal_scatter(g.new_zeros(c.src_shape), c.offset, c.dim1, c.dim2),
          "src": lambda c, g: g.diagonal(c.offset, c.dim1, c.dim2)}, samples=lambda t: [(t(4, 3), t(3)), (t(4, 3), t(2), 1)])
def diagonal_scatter(self, src, offset, dim1, dim2):
    """`self` with `src` in place of a diagonal."""
    return _replaced(self, src, lambda t: t.diagonal(offset, dim1, dim2), "slice")


@op("as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor",
    grad={"self": lambda c, g: g.contiguous().as_strided_scatter(g.new_zeros(c.src_shape), c.size, c.stride, c.storage_offset),
          "src": lambda c, g: g.contiguous().as_strided(c.size, c.stride, c.storage_offset)},
    samples=lambda t: [(t(4, 3), t(2, 2), (2, 2), (3, 1), 1)])
def as_strided_scatter(self, src, size, stride, storage_offset):
    """`self` with `src` in place of the elements that as_strided(size, stride, storage_offset) names."""
    full = self.as_strided((self.untyped_storage().nbytes() // self.element_size(),), (1,), 0).clone()   # strides mean self's memory
    out = full.as_strided(self.shape, self.stride(), self.storage_offset())
    out.as_strided(size, stride, storage_offset).copy_(src)
    return out


@op("narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor", out=True, samples=lambda t: [(t(4, 3), 0, 1, 2)])
def narrow_copy(self, dim, start, length):
    """A copy of narrow(dim, start, length)."""
    return self.narrow(dim, start, length).clone(memory_format=torch.contiguous_format)
