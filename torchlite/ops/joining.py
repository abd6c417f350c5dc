"""Joining and rearranging with a copy: cat, stack and relatives, flips, rolls, repeats, diagonals, triangles."""

import torchlite as torch

from .._core.errors import not_implemented
from .. import _C

from ._declare import bodies, op, public, reference
from ._out import EXACT, Out, uncastable

_CAT = uncastable("torch.cat(): input types can't be cast to the desired output type {o}")


def _own_dtypes(parts, dtypes):
    """Joining promotes: each tensor's gradient in its own dtype, of a real one its real part."""
    out = []
    for p, d in zip(parts, dtypes):
        if p.is_complex() and not d.is_complex:
            p = torch.real(p)
        out.append(p if p.dtype is d else p.to(d))
    return out


def _cat_grad(c, g):
    shapes, out, at = c.tensors_shape, [], 0
    for s in shapes:
        if len(s) == 1 and s[0] == 0:
            out.append(g.new_zeros((0,)))
            continue
        out.append(g.narrow(c.dim, at, s[c.dim]))
        at += s[c.dim]
    return _own_dtypes(out, c.tensors_dtype)


@op(
    "cat(Tensor[] tensors, int dim=0) -> Tensor",
    kernel="cat",
    variants="function",
    out=Out(_CAT, "apart", error=TypeError),
    alias=("concat", "concatenate"),
    grad={"tensors": _cat_grad},
    samples=lambda t: [([t(2, 3), t(1, 3)],), ([t(2, 3), t(2, 1), t(2, 2)], -1)],
    tags="reference",
)
def cat(tensors, dim=0):
    """Joins tensors along an existing dim; the other sizes must agree. dtypes are promoted."""
    return reference.cat(tensors, dim)


@op(
    "stack(Tensor[] tensors, int dim=0) -> Tensor",
    kernel="stack",
    variants="function",
    out=Out(_CAT, "apart plain", error=TypeError),
    grad={"tensors": lambda c, g: _own_dtypes(g.unbind(c.dim), c.tensors_dtype)},
    samples=lambda t: [([t(2, 3), t(2, 3)],), ([t(2), t(2), t(2)], -1)],
)
def stack(tensors, dim=0):
    """Joins tensors of one shape along a new dim."""
    return cat([t.unsqueeze(dim) for t in tensors], dim)


def _some(tensors, name):
    if not len(tensors):
        raise RuntimeError(f"{name} expects a non-empty TensorList")


@op(
    "hstack(Tensor[] tensors) -> Tensor",
    variants="function",
    out=Out(_CAT, "apart", by="cat", error=TypeError),
    samples=lambda t: [([t(2, 3), t(2, 1)],), ([t(2), t(1)],)],
)
def hstack(tensors):
    """Joins along dim 1, vectors along dim 0."""
    _some(tensors, "hstack")
    tensors = [torch.atleast_1d(t) for t in tensors]
    return cat(tensors, 0 if tensors[0].dim() == 1 else 1)


@op(
    "vstack(Tensor[] tensors) -> Tensor",
    variants="function",
    out=Out(_CAT, "apart", by="cat", error=TypeError),
    alias=("row_stack",),
    samples=lambda t: [([t(3), t(2, 3)],)],
)
def vstack(tensors):
    """Joins along dim 0; vectors count as rows."""
    _some(tensors, "vstack")
    return cat([t if t.dim() > 1 else torch.atleast_2d(t) for t in tensors], 0)


@op(
    "dstack(Tensor[] tensors) -> Tensor",
    variants="function",
    out=Out(_CAT, "apart", by="cat", error=TypeError),
    samples=lambda t: [([t(2, 3), t(2, 3)],)],
)
def dstack(tensors):
    """Joins along dim 2, after making every tensor at least three-dimensional."""
    _some(tensors, "dstack")
    return cat([torch.atleast_3d(t) for t in tensors], 2)


@op(
    "column_stack(Tensor[] tensors) -> Tensor",
    variants="function",
    out=Out(_CAT, "apart", by="cat", error=TypeError),
    samples=lambda t: [([t(2), t(2, 3)],)],
)
def column_stack(tensors):
    """Joins along dim 1; vectors and numbers count as columns."""
    _some(tensors, "column_stack")
    return hstack([t.reshape(t.numel(), 1) if t.dim() <= 1 else t for t in tensors])


def _block_diag_grad(c, g):
    out, row, col = [], 0, 0
    for s, dtype in zip(c.tensors_shape, c.tensors_dtype):
        h, w = (1,) * (2 - len(s)) + tuple(s)
        part = g.narrow(0, row, h).narrow(1, col, w)
        part = part.real if part.is_complex() and not dtype.is_complex else part
        if len(s) == 1:  # PyTorch removes a dim of one column, and sums over one of one row
            part = part.squeeze(-1) if w == 1 else part.sum(0)
        elif not len(s):
            part = part.reshape(())
        out.append(part.to(dtype))
        row, col = row + h, col + w
    return out


@op(
    "block_diag(Tensor[] tensors) -> Tensor",
    module="aten",
    variants="function",
    grad={"tensors": _block_diag_grad},
    samples=lambda t: [([t(2, 3), t(2), t()],)],
)
def _block_diag(tensors):
    """A matrix with the given matrices along its diagonal, zeros elsewhere."""
    dtype = torch._C.result_type(*tensors) if tensors else None
    blocks = []
    for i, t in enumerate(tensors):
        if t.dim() > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {t.dim()} dimensions"
            )
        blocks.append(torch.atleast_2d(t).to(dtype))
    if not blocks:
        return torch.empty((1, 0), device="cpu")
    width, at, rows = sum(b.shape[1] for b in blocks), 0, []
    for b in blocks:
        rows.append(torch.constant_pad_nd(b, (at, width - at - b.shape[1]), 0))
        at += b.shape[1]
    return cat(rows, 0)


# ---- order -----------------------------------------------------------------------------------------------------------
@op(
    "flip(Tensor self, int[] dims) -> Tensor",
    kernel="flip",
    grad={"self": lambda c, g: g.flip(c.dims)},
    samples=lambda t: [(t(2, 3), (0, 1)), (t(2, 3, 2), (-1,))],
)
def flip(self, dims):
    """`self` with the order of its elements reversed along `dims`."""
    x = self
    for d in dims if self.dim() else ():
        x = x.index_select(d, torch.arange(x.size(d) - 1, -1, -1, device=x.device))
    return torch.empty_like(self).copy_(x)


@op("fliplr(Tensor self) -> Tensor", samples=lambda t: [(t(2, 3),)])
def fliplr(self):
    """Flips columns: dim 1."""
    if self.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return self.flip((1,))


@op("flipud(Tensor self) -> Tensor", samples=lambda t: [(t(2, 3),)])
def flipud(self):
    """Flips rows: dim 0."""
    if self.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return self.flip((0,))


@op(
    "roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
    kernel="roll",
    tags="own",
    grad={"self": lambda c, g: g.roll([-s for s in ((c.shifts,) if isinstance(c.shifts, int) else c.shifts)], c.dims)},
    samples=lambda t: [(t(2, 3), 1), (t(2, 3), (1, -1), (0, 1))],
)
def roll(self, shifts, dims=()):
    """Moves elements by `shifts` along `dims`, those pushed out come back in at the other end."""
    return bodies.roll(self, shifts, dims)


@op(
    "rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor",
    tags="own",
    grad={"self": lambda c, g: g.rot90(-c.k, c.dims)},
    samples=lambda t: [(t(2, 3),), (t(2, 3), -1, (1, 0))],
)
def rot90(self, k=1, dims=(0, 1)):
    """Turns the plane of `dims` by 90 degrees k times, from the first dim towards the second."""
    n = self.dim()
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if n < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {n}")
    a, b = dims
    if _C.wrap_dim(a, n) == _C.wrap_dim(b, n):
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {a} and dim1 = {b}")
    k %= 4
    if k == 1:
        return self.flip((b,)).transpose(a, b)
    if k == 2:
        return self.flip(tuple(dims))
    if k == 3:
        return self.flip((a,)).transpose(a, b)
    return self.clone(memory_format=torch.contiguous_format)


# ---- repetition ------------------------------------------------------------------------------------------------------
def _repeat_grad(c, g):
    shape, repeats = c.self_shape, c.repeats
    extra = len(repeats) - len(shape)
    split: list[int] = []
    dims: list[int] = []
    for i, r in enumerate(repeats):
        size = shape[i - extra] if i >= extra else 1
        if r == 0:
            return g.new_zeros(shape)
        if r != 1 or i < extra:
            dims.append(len(split))
            split.append(r)
        if i >= extra:
            split.append(size)
    return g.reshape(split).sum(dims) if dims else g


@op(
    "repeat(Tensor self, SymInt[] repeats) -> Tensor",
    kernel="repeat",
    tags="own",
    variants="method",
    grad={"self": _repeat_grad},
    samples=lambda t: [(t(2, 3), (2, 1)), (t(3), (2, 2))],
)
def repeat(self, repeats):
    """Copies of `self`, repeats[i] of them along dim i."""
    return bodies.repeat(self, repeats)


@op("tile(Tensor self, SymInt[] dims) -> Tensor", samples=lambda t: [(t(2, 3), (2,)), (t(3), (2, 2))])
def tile(self, dims):
    """Copies of `self` along its last dims; missing entries of `dims` count as 1."""
    return self.repeat((1,) * (self.dim() - len(dims)) + tuple(dims))


@op(
    "repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
    kernel="repeat_interleave",
    variants="function",
    grad=None,
    differentiable=False,
)
def repeat_interleave(repeats, output_size=None):
    """0 repeated repeats[0] times, 1 repeated repeats[1] times, and so on."""
    total = int(repeats.sum()) if output_size is None else output_size
    at = torch.arange(total, device=repeats.device)
    return torch.searchsorted(repeats.cumsum(0), at, right=True).to(repeats.dtype)


@op(
    "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
    "repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
    samples=lambda t: [(t(2, 3), 2), (t(2, 3), torch.tensor([1, 2]), 0)],
)
def repeat_interleave_self(self, repeats, dim=None, output_size=None):
    """Every slice of `self` along `dim` (of the flattened `self` without one) repeated `repeats` times."""
    x = self
    if dim is None:
        x, dim = x.reshape(-1), 0
    if not x.dim() and isinstance(repeats, torch.Tensor):
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    _C.wrap_dim(dim, x.dim())
    if not x.dim():
        _C.wrap_dim(1, 0)  # PyTorch refuses a tensor without dims in these words
    size = x.shape[dim]
    if not isinstance(repeats, torch.Tensor):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        if output_size is not None and output_size != size * repeats:
            raise RuntimeError("repeat_interleave: Invalid output_size")
        dim %= x.dim()
        return (
            x.unsqueeze(dim + 1)
            .expand(x.shape[: dim + 1] + (repeats,) + x.shape[dim + 1 :])
            .clone(memory_format=torch.contiguous_format)
            .flatten(dim, dim + 1)
        )
    if repeats.dim() > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats.dim() == 0 or (repeats.dim() == 1 and repeats.shape[0] == 1):
        repeats = repeats.reshape(1).expand((size,))
    elif repeats.shape[0] != size:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got "
            f"repeats.size(0) = {repeats.shape[0]} and input.size({dim}) = {size}"
        )
    if repeats.is_meta and output_size is None:
        raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
    index = torch.repeat_interleave(repeats, output_size=output_size)
    return x.index_select(dim, index.to(x.device) if x.is_meta else index)


# ---- triangles and diagonals -----------------------------------------------------------------------------------------
def _below(x, diagonal):
    """Whether an element of a matrix lies on the diagonal or below."""
    rows, columns = (torch.arange(n, device=x.device) for n in x.shape[-2:])
    return rows.unsqueeze(1) + diagonal >= columns


def _where(mask, x):
    if not x.numel():
        return x.clone(memory_format=torch.contiguous_format)
    return torch.where(mask, x.contiguous(), x.new_zeros(()))


@op(
    "tril(Tensor self, SymInt diagonal=0) -> Tensor",
    kernel="tril",
    inplace=True,
    tags="expanded_rows",
    out=Out(EXACT, "loose"),
    grad={"self": lambda c, g: g.tril(c.diagonal)},
    samples=lambda t: [(t(3, 4),), (t(2, 3, 3), -1)],
)
def tril(self, diagonal=0):
    """The lower triangle of each matrix: zeros above the given diagonal."""
    return _where(_below(self, diagonal), self)


@op(
    "triu(Tensor self, SymInt diagonal=0) -> Tensor",
    kernel="triu",
    inplace=True,
    tags="expanded_rows",
    out=Out(EXACT, "loose"),
    grad={"self": lambda c, g: g.triu(c.diagonal)},
    samples=lambda t: [(t(3, 4),), (t(2, 3, 3), 1)],
)
def triu(self, diagonal=0):
    """The upper triangle of each matrix: zeros below the given diagonal."""
    return _where(~_below(self, diagonal - 1), self)


@op(
    "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
    kernel="diag_embed",
    grad={"self": lambda c, g: g.diagonal(c.offset, c.dim1, c.dim2)},
    samples=lambda t: [(t(2, 3),), (t(3), -1)],
)
def diag_embed(self, offset=0, dim1=-2, dim2=-1):
    """Matrices in the dims `dim1`, `dim2` with the last dim of `self` on the given diagonal, zeros elsewhere."""
    return bodies.diag_embed(self, offset, dim1, dim2)


def _diag_dtype(args, result, out, i):
    if args[0].dim() == 2 or _C.can_cast(result.dtype, out.dtype):
        return EXACT
    return "diag: result type {r} can't be cast to the desired out= type {o}"


def _diag_by(self, *_):
    return "aten::diag_embed" if self.dim() == 1 else "aten::diagonal_copy"


@op(
    "diag(Tensor self, int diagonal=0) -> Tensor",
    out=Out(_diag_dtype, "copied", by=_diag_by),
    samples=lambda t: [(t(3), 1), (t(3, 4),)],
)
def diag(self, diagonal=0):
    """A square matrix with the vector `self` on a diagonal, or the diagonal of the matrix `self`."""
    if self.dim() == 1:
        return self.diag_embed(diagonal)
    if self.dim() == 2:
        return self.diagonal(diagonal).clone(memory_format=torch.contiguous_format)
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {self.dim()}D")


@op("diagflat(Tensor self, int offset=0) -> Tensor", samples=lambda t: [(t(2, 2),)])
def diagflat(self, offset=0):
    """A square matrix with the flattened `self` on a diagonal."""
    return self.reshape(-1).diag_embed(offset)


@op("trace(Tensor self) -> Tensor", samples=lambda t: [(t(3, 4),)])
def trace(self):
    """The sum of the diagonal of a matrix."""
    if self.dim() != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.dim()}")
    if self.dtype == torch.bool:
        raise not_implemented("trace", torch.bool)
    return self.diagonal().sum()


@op(
    "combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
    samples=lambda t: [(t(4),), (t(3), 2, True)],
)
def combinations(self, r=2, with_replacement=False):
    """All combinations of r elements of a vector, one row each."""
    if self.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(self.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return self[:0]
    import itertools
    import math

    n = self.numel() + (r - 1 if with_replacement and self.numel() else 0)
    if r > n:
        return self[:0].unsqueeze(1).expand(0, r).clone(memory_format=torch.contiguous_format)
    # the size comes first: there may be no memory for it, and of more than 64 steps the number alone takes long
    least = min(r, n - r)
    if least > 64 or math.comb(n, least) * r > 1 << 58:
        raise torch.OutOfMemoryError(
            "combinations: there is no memory for all rows of %d of %d elements" % (r, self.numel())
        )
    if r == 2:
        pairs = torch.triu_indices(*(self.numel(),) * 2, 0 if with_replacement else 1, device=self.device)
        return self[torch.stack(pairs.unbind(0), 1)]
    index = torch.empty((math.comb(n, least), r), dtype=torch.int64, device="cpu")
    pick = (itertools.combinations_with_replacement if with_replacement else itertools.combinations)(
        range(self.numel()), r
    )
    some = max(1, (1 << 16) // r)
    for at in range(0, index.shape[0], some):
        index[at : at + some] = torch.tensor(list(itertools.islice(pick, some)), dtype=torch.int64, device="cpu")
    return self[index.to(self.device)]


@op(
    "vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",
    variants="function",
    samples=lambda t: [(t(4),), (t(3), 4, True)],
)
def vander(x, N=None, increasing=False):
    """Rows of powers of the entries of a vector, falling from x**(N - 1) unless `increasing`."""
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x.numel() if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    dtype = x.dtype if x.is_floating_point() or x.is_complex() else torch.int64
    powers = torch.ones((x.numel(), min(n, 1)), dtype=dtype, device=x.device)
    if n > 1:
        powers = cat([powers, x.to(dtype).unsqueeze(1).expand((x.numel(), n - 1)).cumprod(1)], 1)
    return powers if increasing else powers.flip((1,))


# ---- any number of tensors -------------------------------------------------------------------------------------------
def _unpacked(tensors):
    return tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors


@public
def block_diag(*tensors):
    """block_diag(*tensors): a matrix with the given matrices along its diagonal, zeros elsewhere."""
    return _block_diag(list(tensors))


@public
def meshgrid(*tensors, indexing=None):
    """meshgrid(*tensors, indexing): for vectors of lengths n, m, ...
    grids of shape (n, m, ...), "ij", or (m, n, ...), "xy"."""
    tensors = _unpacked(tensors)
    if not tensors:
        raise ValueError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        import warnings

        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2
        )
        indexing = "ij"
    for i, t in enumerate(tensors):
        if t.dim() > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: "
                + "".join(f" {n} " for n in t.shape).rstrip()
            )
        if t.dtype != tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if t.device != tensors[0].device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    swap = indexing == "xy" and len(tensors) >= 2
    if swap:
        tensors = (tensors[1], tensors[0]) + tuple(tensors[2:])
    shape = [t.numel() for t in tensors]
    grids = [t.reshape([-1 if i == d else 1 for i in range(len(shape))]).expand(shape) for d, t in enumerate(tensors)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


@public
def cartesian_prod(*tensors):
    """cartesian_prod(*tensors): every combination of one element from each vector, one row each."""
    tensors = _unpacked(tensors)
    for t in tensors:
        if t.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return torch.stack([g.flatten() for g in meshgrid(*tensors, indexing="ij")], 1)
