"""Ops that change geometry only: their results share memory with the input."""

import math
import torchlite as torch

from .. import _C
from .._core.errors import several_inferred
from ._declare import op, reference


def _geometry(t):
    """(size, stride) of each dim."""
    return list(zip(t.shape, t.stride()))


def _strided(t, geometry, shift=0):
    """The view of t's memory with these sizes and strides, `shift` elements further on."""
    return t.as_strided([n for n, _ in geometry], [s for _, s in geometry], t.storage_offset() + shift)


def _view_as_shape(c, g):
    return g.reshape(c.self_shape)


@op(
    "view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    kernel="view",
    variants="method",
    view=True,
    grad={"self": _view_as_shape},
    samples=lambda t: [(t(2, 6), (3, 4)), (t(4), (-1, 2))],
)
def view(self, size):
    """The same elements in another shape; one size may be -1. Raises RuntimeError when strides do not allow it."""


@op(
    "view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
    kernel="view_dtype",
    variants="method",
    differentiable=False,
)
def view_dtype(self, dtype):
    """The same bytes read as another dtype; as detach, it has no history and no base."""


@op(
    "reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
    tags="own",
    samples=lambda t: [(t(2, 6), (3, 4)), (t(4, 2).t(), (-1,))],
)
def reshape(self, shape):
    """`self` in another shape: a view where strides allow it, else a copy."""
    if self.is_contiguous() or not _needs_copy(self, shape):
        return self.view(shape)
    return self.clone(memory_format=torch.contiguous_format).view(shape)


def _needs_copy(t, shape):
    return _C.kernels["try_view"](t, shape) is None


@op(
    "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
    kernel="transpose",
    view=True,
    alias=("swapaxes", "swapdims"),
    grad={"self": lambda c, g: g.transpose(c.dim0, c.dim1)},
    node="TransposeBackward0",
    samples=lambda t: [(t(2, 3, 4), 0, 2)],
)
def transpose(self, dim0, dim1):
    """`self` with two dims exchanged."""
    order, n = [*range(self.dim())], max(self.dim(), 1)
    if order:
        order[dim0 % n], order[dim1 % n] = order[dim1 % n], order[dim0 % n]
    return self.permute(order)


@op(
    "transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)",
    variants="method",
    alias=("Tensor.swapaxes_", "Tensor.swapdims_"),
)
def transpose_(self, dim0, dim1):
    """Exchanges two dims in place."""
    return _regeometry(self, "transpose", dim0, dim1)


def _regeometry(t, op, *args):
    """Gives t the geometry of a view of it."""
    v, made = getattr(t.detach(), op)(*args), None
    if torch.is_grad_enabled() and t.requires_grad:
        from ..autograd._inplace import check_inplace

        check_inplace(t)
        old = _C.alias(t)
        old._raw_grad_fn, old._output_nr = t.grad_fn, t.output_nr
        view = getattr(old, op)(*args)
        # asked before the version changes, or it would be that of a view of changed memory
        made = (
            view.grad_fn,
            view.output_nr,
        )
    t.data = v
    t._bump_version()
    if made is not None:
        from ..autograd._inplace import set_geometry_history

        set_geometry_history(t, *made)
    return t


@op("t(Tensor(a) self) -> Tensor(a)", samples=lambda t: [(t(3, 2),), (t(3),)])
def t(self):
    """The transpose of a matrix; vectors and 0-dim tensors are returned as they are."""
    if self.dim() > 2:
        raise RuntimeError("t() expects a tensor with <= 2 dimensions, but self is %dD" % self.dim())
    return self._t2() if self.dim() == 2 else self.view_as(self)


@op(
    "_t2(Tensor(a) self) -> Tensor(a)",
    kernel="t2",
    variants="method",
    view=True,
    grad={"self": lambda c, g: g.t()},
    node="TBackward0",
)
def _t2(self):
    """t() of a matrix."""
    return self.transpose(0, 1)


@op("t_(Tensor(a!) self) -> Tensor(a!)", variants="method")
def t_(self):
    """Transposes a matrix in place."""
    return _regeometry(self, "t")


@op(
    "permute(Tensor(a) self, int[] dims) -> Tensor(a)",
    kernel="permute",
    view=True,
    grad={"self": lambda c, g: g.permute(_inverse(c.dims))},
    samples=lambda t: [(t(2, 3, 4), (2, 0, 1)), (t(2, 3), (-1, 0))],
)
def permute(self, dims):
    """`self` with its dims in another order."""
    at = _geometry(self)
    return _strided(self, [at[d] for d in dims])


def _inverse(dims):
    n = len(dims)
    out = [0] * n
    for i, d in enumerate(dims):
        out[d % n] = i
    return tuple(out)


@op(
    "expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
    kernel="expand",
    variants="method",
    view=True,
    grad={"self": lambda c, g: g.sum_to_size(c.self_shape)},
    samples=lambda t: [(t(3, 1), (2, 3, 4)), (t(3), (-1,))],
)
def expand(self, size, implicit):
    """`self` with dims of size 1 repeated to `size` without a copy; -1 keeps a size."""
    own = _geometry(self)
    at: list[tuple[int, int]] = []
    for n in reversed(size):
        if not own:  # a new dim in front
            own = [(1, at[0][0] * at[0][1] if at else 1)]
        have, stride = own.pop()
        at.insert(0, (have, stride) if n in (-1, have) else (n, 0))
    return _strided(self, at)


@op("broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", samples=lambda t: [(t(3, 1), (2, 3, 4))])
def broadcast_to(self, size):
    """The same as expand(size)."""
    return self.expand(size)


@op("expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", variants="method", samples=lambda t: [(t(3, 1), t(3, 2))])
def expand_as(self, other):
    """`self` expanded to the shape of `other`."""
    return self.expand(other.shape)


@op(
    "view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    variants="method",
    tags="own",
    samples=lambda t: [(t(2, 3), t(6))],
)
def view_as(self, other):
    """`self` viewed in the shape of `other`."""
    return self.view(other.shape)


@op(
    "reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    variants="method",
    tags="own",
    samples=lambda t: [(t(2, 3), t(6))],
)
def reshape_as(self, other):
    """`self` reshaped to the shape of `other`."""
    return self.reshape(other.shape)


@op(
    "sum_to_size(Tensor self, SymInt[] size) -> Tensor",
    variants="method",
    samples=lambda t: [(t(2, 3, 4), (3, 1)), (t(), ())],
)
def sum_to_size(self, size):
    """Sums over the dims along which a tensor of `size` was broadcast to this shape."""
    if size and tuple(self.shape) == tuple(size):
        return self
    if not len(size):
        return self.sum()  # of a number too, as in PyTorch: a gradient that shares no memory
    lead = self.dim() - len(size)
    if lead < 0 or any(s != 1 and s != self.size(i + lead) for i, s in enumerate(size)):
        raise RuntimeError("size {%s} is not expandable to size {%s}." % (list(size), list(self.shape)))
    dims = [*range(lead), *(i + lead for i, s in enumerate(size) if s == 1 and self.size(i + lead) != 1)]
    out = self.sum(dims, keepdim=True) if dims else self
    return out.view(size) if lead else out


def _unsqueezed(c, g):
    return g if g.shape == c.self_shape else g.reshape(c.self_shape)


@op(
    "squeeze(Tensor(a) self) -> Tensor(a)",
    kernel="squeeze",
    view=True,
    grad={"self": _unsqueezed},
    samples=lambda t: [(t(1, 3, 1),)],
)
def squeeze(self):
    """`self` without its dims of size 1."""
    return _strided(self, [g for g in _geometry(self) if g[0] != 1])


@op(
    "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
    "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
    kernel="squeeze",
    view=True,
    grad={"self": _unsqueezed},
    node=("SqueezeBackward1", "SqueezeBackward2"),
    samples=lambda t: [(t(1, 3, 1), 0), (t(1, 3, 1), (0, 2)), (t(2, 3), 1)],
)
def squeeze_dim(self, dim):
    """`self` without the given dims where their size is 1."""
    dims = {d % max(self.dim(), 1) for d in ((dim,) if isinstance(dim, int) else dim)}
    return _strided(self, [g for d, g in enumerate(_geometry(self)) if g[0] != 1 or d not in dims])


@op("squeeze_(Tensor(a!) self) -> Tensor(a!)", variants="method")
def squeeze_(self):
    """squeeze() in place."""
    return _regeometry(self, "squeeze")


@op(
    "squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)",
    "squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)",
    variants="method",
)
def squeeze_dim_(self, dim):
    """squeeze(dim) in place."""
    return _regeometry(self, "squeeze", dim)


@op(
    "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
    kernel="unsqueeze",
    view=True,
    grad={"self": lambda c, g: g.squeeze(c.dim)},
    samples=lambda t: [(t(2, 3), 1), (t(2, 3), -1)],
)
def unsqueeze(self, dim):
    """`self` with a new dim of size 1 at `dim`."""
    at = _geometry(self)
    dim %= len(at) + 1
    at.insert(dim, (1, at[dim][0] * at[dim][1] if dim < len(at) else 1))
    return _strided(self, at)


@op("unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)", variants="method")
def unsqueeze_(self, dim):
    """unsqueeze() in place."""
    return _regeometry(self, "unsqueeze", dim)


@op(
    "select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor",
    variants="function",
    module="aten",
    grad={"grad_output": lambda c, g: g.select(c.dim, c.index)},
)
def select_backward(grad_output, input_sizes, dim, index):
    """Zeros of `input_sizes` with `grad_output` at `index` of `dim`."""
    out = torch.zeros(input_sizes, dtype=grad_output.dtype, device=grad_output.device)
    out.select(dim, index).copy_(grad_output)
    return out


@op(
    "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
    kernel="select",
    view=True,
    node="SelectBackward0",
    grad={"self": lambda c, g: torch.ops.functions.select_backward(g, c.self_shape, c.dim, c.index)},
    samples=lambda t: [(t(2, 3), 1, -1)],
)
def select(self, dim, index):
    """The slice `index` of `self` along `dim`, without that dim."""
    at = _geometry(self)
    size, stride = at.pop(dim)
    return _strided(self, at, index % size * stride)


@op(
    "slice_backward(Tensor grad_output, int[] input_sizes, int dim, int? start, int? end, int step) -> Tensor",
    variants="function",
    module="aten",
    grad={"grad_output": lambda c, g: torch.ops.functions.slice(g, c.dim, c.start, c.end, c.step)},
)
def slice_backward(grad_output, input_sizes, dim, start, end, step):
    """Zeros of `input_sizes` with `grad_output` in the slice."""
    out = torch.zeros(input_sizes, dtype=grad_output.dtype, device=grad_output.device)
    torch.ops.functions.slice(out, dim, start, end, step).copy_(grad_output)
    return out


@op(
    "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
    kernel="slice",
    view=True,
    variants="function",
    module="aten",
    node="SliceBackward0",
    grad={"self": lambda c, g: torch.ops.functions.slice_backward(g, c.self_shape, c.dim, c.start, c.end, c.step)},
    samples=lambda t: [(t(5, 3), 0, 1, 4, 2)],
)
def slice(self, dim, start, end, step):
    """self[..., start:end:step, ...] along `dim`."""
    at = _geometry(self)
    size, stride = at[dim]
    taken = range(size)[start:end:step]
    at[dim] = len(taken), stride * step
    return _strided(self, at, taken.start * stride)


@op(
    "narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)",
    "narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
    samples=lambda t: [(t(5, 3), 0, 1, 3)],
)
def narrow(self, dim, start, length):
    """`length` slices of `self` along `dim`, from `start` on."""
    if self.dim() == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, torch.Tensor):
        if start.dim() or start.dtype == torch.bool or start.is_floating_point() or start.is_complex():
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = int(start)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    size = self.size(dim)
    if not -size <= start <= size:
        raise IndexError("start out of range (expected to be in range of [%d, %d], but got %d)" % (-size, size, start))
    if start < 0:
        start += size
    if start + length > size:
        raise RuntimeError("start (%d) + length (%d) exceeds dimension size (%d)." % (start, length, size))
    return torch.ops.functions.slice(self, dim, start, start + length, 1)


def _as_strided_grad(c, g):
    from ..autograd._inplace import scatter_strided

    layout = c.self_layout
    return scatter_strided(g, layout, (c.size, c.stride, layout[2] if c.storage_offset is None else c.storage_offset))


@op(
    "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
    kernel="as_strided",
    view=True,
    grad={"self": _as_strided_grad},
    samples=lambda t: [(t(6), (2, 2), (2, 1), 1), (t(6), (2, 3), (1, 1))],
)
def as_strided(self, size, stride, storage_offset):
    """A view of the storage with any size and strides (in elements)."""


@op("as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a!)")
def as_strided_(self, size, stride, storage_offset):
    """as_strided() in place."""
    return _regeometry(self, "as_strided", size, stride, storage_offset)


@op(
    "unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
    kernel="unfold",
    variants="method",
    view=True,
    grad={"self": lambda c, g: torch.ops.functions.unfold_backward(g, c.self_shape, c.dimension, c.size, c.step)},
    samples=lambda t: [(t(7, 2), 0, 3, 2)],
)
def unfold(self, dimension, size, step):
    """Windows of `size` along a dim, `step` apart, as a new last dim."""
    at = _geometry(self)
    n, stride = at[dimension] if at else (1, 1)
    if at:
        at[dimension] = (n - size) // step + 1, stride * step
    return _strided(self, [*at, (size, stride)])


@op(
    "unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor",
    variants="function",
    module="aten",
    grad={"grad_in": lambda c, g: g.unfold(c.dim, c.size, c.step)},
)
def unfold_backward(grad_in, input_sizes, dim, size, step):
    """Adds the windows back to where they came from."""
    if not input_sizes:
        return grad_in.reshape(()).clone()
    dim %= len(input_sizes)
    index = torch.arange(input_sizes[dim], device=grad_in.device).unfold(0, size, step).reshape(-1)
    moved = grad_in.movedim(dim, -2).flatten(-2).movedim(-1, dim)
    return torch.zeros(input_sizes, dtype=grad_in.dtype, device=grad_in.device).index_add(dim, index, moved)


@op(
    "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
    kernel="diagonal",
    view=True,
    node="DiagonalBackward0",
    grad={"self": lambda c, g: torch.ops.functions.diagonal_backward(g, c.self_shape, c.offset, c.dim1, c.dim2)},
    samples=lambda t: [(t(3, 4), 1), (t(2, 3, 3), 0, 1, 2)],
)
def diagonal(self, offset, dim1, dim2):
    """The diagonal of dims dim1 and dim2, as the last dim."""
    at, n = _geometry(self), self.dim()
    (rows, down), (columns, across) = at[dim1], at[dim2]
    size = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    start = max(offset, 0) * across + max(-offset, 0) * down if size else 0
    at = [g for d, g in enumerate(at) if d not in (dim1 % n, dim2 % n)]
    return _strided(self, [*at, (size, down + across)], start)


@op(
    "diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor",
    variants="function",
    module="aten",
    grad={"grad_output": lambda c, g: g.diagonal(c.offset, c.dim1, c.dim2)},
)
def diagonal_backward(grad_output, input_sizes, offset, dim1, dim2):
    """Zeros with `grad_output` on the diagonal."""
    out = torch.zeros(input_sizes, dtype=grad_output.dtype, device=grad_output.device)
    out.diagonal(offset, dim1, dim2).copy_(grad_output)
    return out


@op("detach(Tensor(a) self) -> Tensor(a)", kernel="detach", differentiable=False)
def detach(self):
    """The same elements without history; shares memory with `self`."""


@op(
    "alias(Tensor(a) self) -> Tensor(a)",
    kernel="alias",
    variants="function",
    module="aten",
    view=True,
    grad={"self": lambda c, g: g},
)
def alias(self):
    """A view of everything."""
    return _strided(self, _geometry(self))


def _as_complex(g):
    """Pairs in the last dim as complex numbers, which begin at an even place of the memory."""
    g = g.contiguous()
    return torch.view_as_complex(g.clone() if g.storage_offset() % 2 else g)


@op(
    "view_as_real(Tensor(a) self) -> Tensor(a)",
    kernel="view_as_real",
    variants="function",
    view=True,
    grad={"self": lambda c, g: _as_complex(g)},
    tags="reference",
)
def view_as_real(self):
    """A complex tensor as a real one with a last dim of 2 (real, imaginary)."""
    return reference.view_as_real(self)


@op(
    "view_as_complex(Tensor(a) self) -> Tensor(a)",
    kernel="view_as_complex",
    variants="function",
    view=True,
    grad={"self": lambda c, g: torch.view_as_real(g.contiguous().resolve_conj())},
    samples=lambda t: [(t(3, 2),)],
    tags="reference",
)
def view_as_complex(self):
    """A real tensor whose last dim is (real, imaginary) as a complex one."""
    return reference.view_as_complex(self)


@op("real(Tensor(a) self) -> Tensor(a)", variants="function")
def real(self):
    """The real part: a view of a complex tensor, a real tensor itself."""
    if not self.is_complex():
        return self
    return torch.view_as_real(self._conj() if self.is_conj() else self).select(-1, 0)


@op("imag(Tensor(a) self) -> Tensor(a)", variants="function")
def imag(self):
    """The imaginary part of a complex tensor, as a view."""
    if not self.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    if self.is_conj():
        return torch.view_as_real(self._conj()).select(-1, 1)._neg_view()
    return torch.view_as_real(self).select(-1, 1)


@op(
    "movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
    "movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
    alias=("moveaxis",),
    samples=lambda t: [(t(2, 3, 4), 0, 2), (t(2, 3, 4), (0, 1), (2, 0))],
)
def movedim(self, source, destination):
    """`self` with dims moved from `source` to `destination`."""
    src = (source,) if isinstance(source, int) else tuple(source)
    dst = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(src) != len(dst):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source (%s dims) should contain the same number of dims as "
            "destination (%s dims)" % (list(src), list(dst))
        )
    n = self.dim()
    src, dst = tuple([_C.wrap_dim(d, n) for d in src]), tuple([_C.wrap_dim(d, n) for d in dst])
    if n == 0:
        return self.view_as(self)
    if len(set(src)) != len(src):
        raise RuntimeError("movedim: repeated dim in `source` (%s)" % list(source))
    if len(set(dst)) != len(dst):
        raise RuntimeError("movedim: repeated dim in `destination` (%s)" % list(destination))
    order = [-1] * n
    for s, d in zip(src, dst):
        order[d] = s
    rest = iter(d for d in range(n) if d not in src)
    return self.permute([d if d >= 0 else next(rest) for d in order])


@op(
    "flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
    tags="own",
    samples=lambda t: [(t(2, 3, 4),), (t(2, 3, 4), 1)],
)
def flatten(self, start_dim, end_dim):
    """`self` with the dims from start_dim to end_dim joined into one."""
    n = self.dim()
    s, e = _C.wrap_dim(start_dim, n), _C.wrap_dim(end_dim, n)
    if n == 0:
        return self.reshape((1,))
    if s > e:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if s == e:
        return self
    shape = tuple(self.shape)
    return self.reshape((*shape[:s], math.prod(shape[s : e + 1]), *shape[e + 1 :]))


@op("ravel(Tensor(a) self) -> Tensor(a)", samples=lambda t: [(t(2, 3),)])
def ravel(self):
    """`self` as a contiguous vector, a view where it is contiguous already."""
    return self.contiguous().view((-1,))


@op("unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)", samples=lambda t: [(t(2, 6), 1, (2, -1))])
def unflatten(self, dim, sizes):
    """`self` with one dim split into `sizes` (one may be -1)."""
    n = self.dim()
    d = _C.wrap_dim(dim, n)
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    known = 1
    for s in sizes:
        known *= s if s != -1 else 1
    size = self.size(d)
    if list(sizes).count(-1) > 1:
        raise several_inferred()
    if -1 not in sizes and known != size or -1 in sizes and (known == 0 or size % known):
        raise RuntimeError(
            "unflatten: Provided sizes %s don't multiply up to the size of dim %d (%d) in the input tensor"
            % (list(sizes), d, size)
        )
    sizes = [size // known if s == -1 else s for s in sizes]
    return self.reshape((*self.shape[:d], *sizes, *self.shape[d + 1 :]))
