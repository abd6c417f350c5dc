"""The tensors of the sparse layouts: a class without memory of its own, which holds its indices and values.

`__torch_dispatch__` looks an op up in the tables of `_ops`; one that is in none is PyTorch's error, so nothing ever
reads a sparse tensor as if it were dense. Autograd is above that, and records the ops as it does for dense tensors;
what has a gradient of its own (to_dense, values, torch.sparse.mm) is an autograd.Function of `_autograd`.
"""

from __future__ import annotations

from typing import Any

import torchlite as torch

from .._core import wrappers as _wrappers
from .._core.errors import no_data_pointer, not_a_leaf_to_copy


class SparseTensor(torch.Tensor):
    """A tensor of layout sparse_coo (indices (sparse_dim, nnz), values (nnz, *dense)) or of a compressed layout (crow
    or ccol indices, col or row indices, values)."""

    _layout: Any
    _parts: tuple[Any, ...]  # (indices, values), or (compressed, plain, values)
    _sorted: bool  # of COO: whether the indices are unique and sorted

    layout = property(lambda self: self._layout)
    is_sparse = property(lambda self: self._layout is torch.sparse_coo)
    is_sparse_csr = property(lambda self: self._layout is torch.sparse_csr)

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from ._ops import run

        return run(func, args, kwargs or {})

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._layout is torch.sparse_coo:
            parts: tuple[Any, ...] = (self._indices(), self._values(), self.size(), self.is_coalesced())
        else:
            parts = (*self._parts[:2], self.values(), self.size())
        return torch._utils._rebuild_sparse_tensor, (self._layout, parts)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if not self.is_leaf:
            raise not_a_leaf_to_copy()
        if id(self) not in memo:
            made = self.detach().clone().requires_grad_(self.requires_grad)
            memo[id(self)] = made
            if self.grad is not None:
                made.grad = self.grad.__deepcopy__(memo)
        return memo[id(self)]

    # ---- what has no meaning without memory --------------------------------------------------------------------------
    def _name(self, compressed: str) -> str:
        return "Sparse" + compressed if self._layout is not torch.sparse_coo else "Sparse"

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            "can't convert %s layout tensor to numpy. Use Tensor.to_dense() first." % layout_name(self._layout)
        )

    __array__ = numpy

    def stride(self, dim: Any = None) -> Any:
        if self._layout is not torch.sparse_coo:
            raise RuntimeError("Sparse CSR tensors do not have strides")
        return (0,) * self.dim() if dim is None else 0

    def is_contiguous(self, *args: Any, **kwargs: Any) -> bool:
        if self._layout is not torch.sparse_coo:
            raise RuntimeError("Tensors of type SparseCsrTensorImpl do not have is_contiguous")
        return False

    def contiguous(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def storage(self) -> Any:
        raise NotImplementedError("Cannot access storage of %sTensorImpl" % self._name("Csr"))

    untyped_storage = storage

    def data_ptr(self) -> Any:
        raise no_data_pointer()

    tolist = data_ptr

    def item(self) -> Any:
        return self.detach().to_dense().item()

    def __bool__(self) -> bool:
        return bool(self.detach().to_dense())

    def is_nonzero(self) -> bool:
        return bool(self)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def is_pinned(self, *args: Any) -> bool:
        return False

    def element_size(self) -> int:
        return self.dtype.itemsize

    def reshape(self, *shape: Any) -> Any:
        raise RuntimeError("reshape is not implemented for sparse tensors")

    def expand(self, *size: Any, implicit: bool = False) -> Any:
        raise RuntimeError("expand is unsupported for Sparse tensors")

    def type(self, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if dtype is not None:
            return self.to(dtype)
        return "torch.sparse.%sTensor" % self.dtype._scalar_type

    def __repr__(self, *, tensor_contents: Any = None) -> Any:  # type: ignore[override]
        from ._print import text

        return text(self)

    def __format__(self, spec: Any) -> str:
        return object.__format__(self, spec)


SparseTensor.__name__ = SparseTensor.__qualname__ = "Tensor"  # PyTorch has one class for all layouts
SparseTensor.__module__ = "torch"


def _make(layout: Any, size: Any, parts: tuple[Any, ...], requires_grad: bool) -> Any:
    values = parts[-1]
    t = _wrappers.make(SparseTensor, size, strides=(0,) * len(size), dtype=values.dtype, device=values.device)
    t._layout, t._parts, t._sorted = layout, parts, False
    if requires_grad:
        t.requires_grad = True
    return t


def coo(indices: Any, values: Any, size: Any, coalesced: bool = False, requires_grad: bool = False) -> Any:
    """A COO tensor of parts that were checked."""
    t = _make(torch.sparse_coo, tuple(size), (indices, values), requires_grad)
    t._sorted = coalesced
    return t


def compressed(layout: Any, heads: Any, others: Any, values: Any, size: Any, requires_grad: bool = False) -> Any:
    """A compressed tensor of parts that were checked."""
    torch._C.warn_once(
        "Sparse %s tensor support is in beta state. If you miss a functionality in the sparse tensor support, please "
        "submit a feature request to https://github.com/pytorch/pytorch/issues." % layout_name(layout)[6:].upper()
    )
    return _make(layout, tuple(size), (heads, others, values), requires_grad)


def is_number(x: Any) -> bool:
    return not isinstance(x, torch.Tensor)


def is_coo(x: Any) -> bool:
    return isinstance(x, SparseTensor) and x._layout is torch.sparse_coo


def is_compressed(x: Any) -> bool:
    return isinstance(x, SparseTensor) and x._layout is not torch.sparse_coo


def parts(x: Any) -> tuple[Any, Any]:
    """(indices, values) of a COO tensor as they lie."""
    indices, values = x._parts
    return indices, values


def layout_name(layout: Any) -> str:
    """What PyTorch's messages call a layout: Sparse, SparseCsr, Strided."""
    if layout is torch.strided:
        return "Strided"
    short = str(layout).rpartition("_")[2]
    return "Sparse" if short == "coo" else "Sparse" + short.capitalize()


# ---- positions -------------------------------------------------------------------------------------------------------
def flatten(indices: Any, shape: Any) -> Any:
    """The positions of (sparse_dim, nnz) indices in a dense tensor of `shape`, row by row."""
    flat = indices.new_zeros(indices.shape[1])
    for row, n in zip(indices, shape):
        flat = flat * n + row
    return flat


def unflatten(flat: Any, shape: Any) -> Any:
    """The other way round: (len(shape), nnz)."""
    rows = []
    for n in reversed(shape):
        rows.append(flat % n if n else flat)
        flat = torch.div(flat, n, rounding_mode="floor") if n else flat
    return torch.stack(rows[::-1]) if rows else flat.new_zeros((0, flat.shape[0]))


def coalesced(x: Any) -> Any:
    """The COO tensor with sorted indices, each of them once; values of the same index are added."""
    if x._sorted:
        return x
    indices, values = parts(x)
    size, n = tuple(x.shape), indices.shape[0]
    if values.shape[0] < 2:
        return coo(indices, values, size, True)
    order = flatten(indices, size[:n])
    order, by = torch.sort(order, stable=True)
    unique, group = torch.unique_consecutive(order, return_inverse=True)
    sums = add_rows(values.new_zeros((unique.shape[0], *values.shape[1:])), group, values[by])
    return coo(unflatten(unique, size[:n]), sums, size, True)


def add_rows(into: Any, at: Any, rows: Any) -> Any:
    """into[at[i]] += rows[i], also for bool, where the sum is "or"."""
    if into.dtype is torch.bool:
        return into.copy_(into.to(torch.uint8).index_add_(0, at, rows.to(torch.uint8)))
    return into.index_add_(0, at, rows)


def dense(x: Any) -> Any:
    """The numbers of a COO tensor, with zeros elsewhere."""
    indices, values = parts(x)
    n = indices.shape[0]
    size = tuple(x.shape)
    count = 1
    for extent in size[:n]:
        count *= extent
    flat = values.new_zeros((count, *size[n:]))
    return add_rows(flat, flatten(indices, size[:n]), values).reshape(size)


def from_dense(x: Any, sparse_dim: int | None = None) -> Any:
    """The COO tensor of what is not zero in a dense one; coalesced."""
    n = x.dim() if sparse_dim is None else sparse_dim
    used = x != 0
    if x.dim() > n:
        used = used.flatten(n).any(-1)
    if n == 0:
        shape = (1, *x.shape) if bool(used.any()) else (0, *x.shape)
        return coo(
            torch.zeros((0, shape[0]), dtype=torch.int64, device=x.device), x.expand(shape).clone(), x.shape, True
        )
    indices = used.nonzero().t().contiguous()
    return coo(indices, x[tuple(indices)], x.shape, True)


def sample(x: Any, mask: Any) -> Any:
    """The values of a dense tensor at the indices of a COO one."""
    indices, _ = parts(mask)
    if not indices.shape[0]:
        return x.expand((indices.shape[1], *x.shape)).clone()
    return x[tuple(indices)]
