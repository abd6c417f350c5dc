"""Ops with several views of their input as results: split, chunk, unbind and relatives."""

import torchlite as torch

from .. import _C
from ._declare import op


@op(
    "unbind.int(Tensor(a) self, int dim=0) -> Tensor(a)[]",
    view=True,
    node="UnbindBackward0",
    grad={"self": lambda c, g: torch.stack([x for x in g], c.dim)},
    samples=lambda t: [(t(3, 2),), (t(2, 3), 1)],
)
def unbind(self, dim):
    """The slices of `self` along `dim`, as a tuple of views."""
    return tuple(self.select(dim, i) for i in range(self.size(dim)))


@op(
    "split_with_sizes(Tensor(a) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
    view=True,
    grad={"self": lambda c, g: torch.cat(list(g), c.dim)},
    node="SplitWithSizesBackward0",
    samples=lambda t: [(t(5, 2), (2, 3))],
)
def split_with_sizes(self, split_sizes, dim):
    """Views of `self` of the given sizes along `dim`."""
    if self.dim() == 0:
        raise RuntimeError("split_with_sizes() cannot be applied to a 0-dim tensor.")
    if any(s < 0 for s in split_sizes):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=%s"
            % list(split_sizes)
        )
    if sum(split_sizes) != self.size(dim):
        raise RuntimeError(
            "split_with_sizes expects split_sizes to sum exactly to %d (input tensor's size at dimension %d), "
            "but got split_sizes=%s" % (self.size(dim), dim, list(split_sizes))
        )
    out, at = [], 0
    for s in split_sizes:
        out.append(torch.ops.functions.slice(self, dim, at, at + s, 1))
        at += s
    return tuple(out)


@op(
    "split.Tensor(Tensor(a) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
    view=True,
    grad={"self": lambda c, g: torch.cat(list(g), c.dim)},
    node="SplitBackward0",
    samples=lambda t: [(t(5, 2), 2)],
)
def split(self, split_size, dim):
    """Views of `self` of split_size slices each along `dim` (the last may be smaller)."""
    if self.dim() == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise RuntimeError("split expects split_size be non-negative, but got split_size=%d" % split_size)
    n = self.size(dim)
    if split_size == 0:
        if n:
            raise RuntimeError("split_size can only be 0 if dimension size is 0, but got dimension size of %d" % n)
        return (torch.ops.functions.slice(self, dim, 0, 0, 1),)
    return tuple(
        torch.ops.functions.slice(self, dim, i, min(i + split_size, n), 1) for i in range(0, max(n, 1), split_size)
    )


@op("split.sizes(Tensor(a) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]", samples=lambda t: [(t(5, 2), (2, 3))])
def split_sizes(self, split_size, dim):
    """Views of `self` of the given sizes along `dim`."""
    return self.split_with_sizes(split_size, dim)


@op("chunk(Tensor(a) self, int chunks, int dim=0) -> Tensor(a)[]", samples=lambda t: [(t(5, 2), 2)])
def chunk(self, chunks, dim):
    """Views of `self`: at most `chunks` parts of equal size along `dim`."""
    if self.dim() == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError("chunk expects `chunks` to be greater than 0, got: %d" % chunks)
    n = self.size(dim)
    size = (n + chunks - 1) // chunks
    if size == 0:
        return self.split_with_sizes((0,) * chunks, dim)
    return self.split(size, dim)


def _apart(parts):
    """Tensors over the same memory that are no views:
    each counts its own changes, and none of the others' histories follows."""
    return tuple(p.data for p in parts)


@op(
    "unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
    grad={"self": lambda c, g: torch.cat(list(g), c.dim)},
    node="UnsafeSplitBackward0",
    samples=lambda t: [(t(5, 2), 2)],
)
def unsafe_split(self, split_size, dim):
    """As split, but the parts may be changed in place;
    gradients are right where only one of the part and `self` is used afterwards."""
    return _apart(self.resolve_conj().resolve_neg().split(split_size, dim))


@op(
    "unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
    grad={"self": lambda c, g: torch.cat(list(g), c.dim)},
    node="UnsafeSplitWithSizesBackward0",
    samples=lambda t: [(t(5, 2), (2, 3))],
)
def unsafe_split_with_sizes(self, split_sizes, dim):
    """As split_with_sizes, but the parts may be changed in place."""
    return _apart(self.resolve_conj().resolve_neg().split_with_sizes(split_sizes, dim))


@op("unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", samples=lambda t: [(t(5, 2), 2)])
def unsafe_chunk(self, chunks, dim):
    """As chunk, but the parts may be changed in place."""
    if self.dim() == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError("chunk expects `chunks` to be greater than 0, got: %d" % chunks)
    size = (self.size(dim) + chunks - 1) // chunks
    return self.unsafe_split(size, dim) if size else self.unsafe_split_with_sizes((0,) * chunks, dim)


def _splits(n, sections):
    base, extra = divmod(n, sections)
    return [base + (i < extra) for i in range(sections)]


@op(
    "tensor_split.sections(Tensor(a) self, SymInt sections, int dim=0) -> Tensor(a)[]", samples=lambda t: [(t(5, 2), 2)]
)
def tensor_split(self, sections, dim):
    """`sections` views of `self` along `dim`, the first ones larger by one where it does not divide."""
    if self.dim() == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    if sections <= 0:
        raise RuntimeError("number of sections must be larger than 0, got %d" % sections)
    if sections >= 1 << 30:
        raise torch.OutOfMemoryError("tensor_split: there is no memory for %d views" % sections)
    out, start = [], 0
    for size in _splits(self.size(dim), sections):  # slices, which may be changed in place, where split's views may not
        out.append(torch.ops.functions.slice(self, dim, start, start + size, 1))
        start += size
    return tuple(out)


@op(
    "tensor_split.indices(Tensor(a) self, SymInt[] indices, int dim=0) -> Tensor(a)[]",
    "tensor_split.tensor_indices_or_sections(Tensor(a) self, Tensor tensor_indices_or_sections, "
    "int dim=0) -> Tensor(a)[]",
)
def tensor_split_indices(self, indices, dim):
    """Views of `self` along `dim`, cut before each of the indices."""
    if isinstance(indices, torch.Tensor):
        if self.dim() and indices.dtype is not torch.int64:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, "
                f"but got {indices.dtype._scalar_type}"
            )
        if self.dim() and indices.dim() > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional "
                f"tensor, but got a tensor with {indices.dim()} dims"
            )
        if indices.dim() == 0:
            return self.tensor_split(int(indices), dim)
        indices = indices.tolist()
    if self.dim() == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    out, start = [], 0
    for i in [*indices, None]:
        out.append(torch.ops.functions.slice(self, dim, start, i, 1))
        start = i
    return tuple(out)


def _xsplit(name, dim_of, least):
    def body(self, n):
        if self.dim() < least:
            raise RuntimeError(
                "torch.%s requires a tensor with at least %d dimension%s, but got a tensor with %d dimensions!"
                % (name, least, "s" if least > 1 else "", self.dim())
            )
        dim = dim_of(self)
        if isinstance(n, int) and (n == 0 or self.size(dim) % n):
            raise RuntimeError(
                "torch.%s attempted to split along dimension %d, but the size of the dimension %d is not divisible "
                "by the split_size %d!" % (name, dim, self.size(dim), n)
            )
        return self.tensor_split(n, dim)

    body.__doc__ = "tensor_split along one dim, as numpy's %s." % name
    op(
        "%s.int(Tensor(a) self, int sections) -> Tensor(a)[]" % name,
        "%s.array(Tensor(a) self, int[] indices) -> Tensor(a)[]" % name,
    )(body)


_xsplit("hsplit", lambda t: 0 if t.dim() == 1 else 1, 1)
_xsplit("vsplit", lambda t: 0, 2)
_xsplit("dsplit", lambda t: 2, 3)


@op("atleast_1d(Tensor self) -> Tensor", variants="function")
def atleast_1d(self):
    """`self` with at least one dim."""
    return self.reshape((1,)) if self.dim() == 0 else self


@op("atleast_2d(Tensor self) -> Tensor", variants="function")
def atleast_2d(self):
    """`self` with at least two dims."""
    if self.dim() == 0:
        return self.reshape((1, 1))
    if self.dim() == 1:
        return self.unsqueeze(0)
    return self


@op("atleast_3d(Tensor self) -> Tensor", variants="function")
def atleast_3d(self):
    """`self` with at least three dims."""
    if self.dim() == 0:
        return self.reshape((1, 1, 1))
    if self.dim() == 1:
        return self.unsqueeze(0).unsqueeze(-1)
    if self.dim() == 2:
        return self.unsqueeze(-1)
    return self


for _name in ("atleast_1d", "atleast_2d", "atleast_3d"):

    def _many(tensors, _name=_name):
        return tuple(getattr(torch, _name)(t) for t in tensors)

    _many.__doc__ = "%s of each tensor." % _name

    def _body(tensors, _f=_many):
        return _f(tensors)

    _body.__doc__ = _many.__doc__
    op("%s.Sequence(Tensor[] tensors) -> Tensor[]" % _name, variants="function")(_body)


@op("resolve_conj(Tensor(a) self) -> Tensor(a)")
def resolve_conj(self):
    """`self`, as a copy where it is a view of conjugates."""
    return self.clone() if self.is_conj() else self


@op("resolve_neg(Tensor(a) self) -> Tensor(a)")
def resolve_neg(self):
    """`self`, as a copy where it is a view of negatives."""
    return self.clone() if self.is_neg() else self


@op("_conj(Tensor(a) self) -> Tensor(a)", kernel="conj", view=True, grad={"self": lambda c, g: g.conj()})
def _conj(self):
    """A view of the complex conjugates."""


@op(
    "_neg_view(Tensor(a) self) -> Tensor(a)",
    kernel="neg_view",
    view=True,
    grad={"self": lambda c, g: -g},
    samples=lambda t: [(t(2, 3),)],
)
def _neg_view(self):
    """A view of the negatives."""


@op("conj(Tensor(a) self) -> Tensor(a)")
def conj(self):
    """A view of the complex conjugates; real tensors are returned as they are."""
    return self._conj() if self.is_complex() else self


@op("adjoint(Tensor(a) self) -> Tensor(a)")
def adjoint(self):
    """The conjugate with the last two dims exchanged."""
    if self.dim() == 0:
        _C.warn_once("adjoint() is deprecated on 0-D tensors. Consider using x.conj().", 3)
        return self.conj()
    if self.dim() == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return self.transpose(-2, -1).conj()
