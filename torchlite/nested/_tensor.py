"""Nested tensors: a batch of tensors of different sizes, as one tensor.

One holds its numbers in a dense tensor, `_values`, and says where each part of the batch lies in it. Two classes do:
of layout strided (parts of any sizes, one after the other in a row of numbers) and of layout jagged (parts that differ
in one dim, joined along that dim; offsets say where each begins). Ops come by `__torch_function__` and run on the
values or on the parts (_ops.py). So autograd, devices and dtypes are those of dense tensors: the gradient of a nested
tensor is that of its values.
"""

from __future__ import annotations

import itertools
import math
import weakref
from typing import Any

import torchlite as torch

from .. import _C
from .._core import device as _device, override as _override, wrappers as _wrappers
from .._core.errors import no_implicit_grad, no_numpy_of_subclass, not_a_leaf_to_copy
from .._core.sym_functions import SymInt

_override.install()  # Tensor's methods that are written in Python ask as well
wrap_dim = _C.wrap_dim
_ids = itertools.count()


class NestedInt(int, SymInt):
    """The size of the dim in which the parts of a jagged tensor differ, j1. Two are equal if they come from the same
    offsets (or lengths) and have the same factor. All that is known of it is that it is at least 2, and it can be
    multiplied by a number."""

    _id: int
    _factor: int

    def __new__(cls, id: int, factor: int = 1) -> NestedInt:
        made = int.__new__(cls, 2**62 + id)  # no size of a dense tensor
        made._id, made._factor = id, factor
        return made

    def __repr__(self) -> str:
        return "j%d" % self._id if self._factor == 1 else "%d*j%d" % (self._factor, self._id)

    __str__ = __repr__

    def __hash__(self) -> int:
        return hash((self._id, self._factor))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NestedInt):
            return (self._id, self._factor) == (other._id, other._factor)
        return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, NestedInt):
            raise ValueError("Cannot multiply nested int by nested int")
        return NestedInt(self._id, self._factor * int(other))

    __rmul__ = __mul__

    def _order(self, other: Any, name: str) -> bool:
        """self >= other, where that is known: each is at least 2."""
        if isinstance(other, NestedInt):
            if self._id == other._id:
                return self._factor >= other._factor
        elif other <= 2:
            return True
        raise ValueError("%s: relation is indeterminate" % name)

    def __ge__(self, other: Any) -> bool:
        return self._order(other, "ge")

    def __gt__(self, other: Any) -> bool:
        if isinstance(other, NestedInt):
            return not (self == other) and self._order(other, "gt")
        return self._order(other + 1, "gt" if other < 2 else "ge")

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __lt__(self, other: Any) -> bool:
        return not self >= other

    def _refuse(self, *args: Any) -> Any:
        raise AttributeError("'NestedInt' has no arithmetic but a product with a number")

    __add__ = __radd__ = __sub__ = __rsub__ = __floordiv__ = __mod__ = __int__ = __index__ = _refuse
    __truediv__ = __neg__ = __pow__ = _refuse


class Shape(tuple[Any, ...]):
    """torch.Size, with a NestedInt among the numbers."""

    __slots__ = ()

    def numel(self) -> int:
        raise RuntimeError("a size with a nested int has no number of elements; ask the tensor")

    def __repr__(self) -> str:
        return "torch.Size(%s)" % list(self)

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return Shape(found) if isinstance(key, slice) else found


_known = weakref.WeakKeyDictionary[Any, int]()


def nested_int(source: Any, factor: int = 1) -> NestedInt:
    """The size that belongs to a tensor of offsets or lengths."""
    id = getattr(source, "_nested_id", None)
    if id is None:
        id = source._nested_id = next(_ids)
    return NestedInt(id, factor)


class Nested(torch.Tensor):
    """What both layouts have in common."""

    _values: Any
    _source: Any  # the tensor that it is a view of

    is_nested = property(lambda self: True)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from ._run import run

        return run(func, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(
            "%s: torchlite does not have this operator for nested tensors; call it on those of x.unbind()" % func
        )

    # ---- of the layout -----------------------------------------------------------------------------------------------
    def _parts(self) -> list[Any]:
        """The tensors of the batch, views of the values."""
        raise NotImplementedError

    def _with(self, values: Any) -> Any:
        """A nested tensor of the same sizes with other values."""
        raise NotImplementedError

    # ---- autograd is that of the values ------------------------------------------------------------------------------
    @property
    def requires_grad(self) -> bool:
        return self._values.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._values.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        self._values.requires_grad_(requires_grad)
        return self

    grad_fn = property(lambda self: self._values.grad_fn)
    is_leaf = property(lambda self: self._values.is_leaf)

    @property
    def grad(self) -> Any:
        g = self._values.grad
        return None if g is None else self._with(g)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._values.grad = None if value is None else self._aligned(value)

    def _aligned(self, g: Any) -> Any:
        """The values of a nested tensor of the same sizes, laid out as these values are."""
        if not isinstance(g, Nested):
            raise RuntimeError("the gradient of a nested tensor is a nested tensor, but got a dense one")
        if g._same_places(self):
            return g._values
        made = torch.zeros_like(self._values)
        for place, part in zip(self._with(made)._parts(), g._parts()):
            place.copy_(part)
        return made

    def _same_places(self, other: Any) -> bool:
        raise NotImplementedError

    def backward(self, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
        if gradient is None:
            raise no_implicit_grad()
        inputs = kwargs.get("inputs")
        if inputs is not None:
            several = isinstance(inputs, (list, tuple))
            kwargs["inputs"] = [t._values if isinstance(t, Nested) else t for t in (inputs if several else [inputs])]
        self._values.backward(self._aligned(gradient), *args, **kwargs)

    def register_hook(self, hook: Any) -> Any:
        def on_values(g: Any) -> Any:
            made = hook(self._with(g))
            return None if made is None else self._aligned(made)

        return self._values.register_hook(on_values)

    def retain_grad(self) -> None:
        self._values.retain_grad()

    def _is_view(self) -> bool:
        return self._source is not None

    _base = property(lambda self: self._source)

    def _view_func(self, new_base: Any) -> Any:
        """The same view of another tensor."""
        old = self._values
        if new_base.shape == old.shape and (old._base is None or old is self._source):
            return self._with(new_base)
        made = old._view_func(new_base) if old._base is not None else new_base.reshape(old.shape)
        return self._with(made)

    def apply_(self, function: Any) -> Any:
        self._values.detach().apply_(function)
        return self

    # ---- as of any tensor --------------------------------------------------------------------------------------------
    def numel(self) -> int:
        return sum(p.numel() for p in self._parts())

    nelement = numel

    def data_ptr(self) -> int:
        return self._values.data_ptr()

    def element_size(self) -> int:
        return self._values.element_size()

    def values(self) -> Any:
        return self._values

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Any:
        from ._ops import padded

        return padded(self, padding, output_size)

    def _part_at(self, index: int) -> Any:
        """One tensor of the batch."""
        parts = self._parts()
        if not -len(parts) <= index < len(parts):
            raise IndexError("index %d is out of bounds for dimension 0 with size %d" % (index, len(parts)))
        return parts[index]

    def unbind(self, dim: int = 0) -> tuple[Any, ...]:
        if dim % self.dim() != 0:
            raise self._not_unbound(dim)
        return tuple(self._parts())

    def _not_unbound(self, dim: int) -> RuntimeError:
        raise NotImplementedError

    def item(self) -> Any:
        if self.numel() != 1:
            raise RuntimeError("a Tensor with %d elements cannot be converted to Scalar" % self.numel())
        return next(p.item() for p in self._parts() if p.numel())

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if not self.is_leaf:
            raise not_a_leaf_to_copy()
        if id(self) not in memo:
            memo[id(self)] = self._with(self._values.detach().clone().requires_grad_(self.requires_grad))
        return memo[id(self)]

    def _history(self) -> str:
        """The end of the repr: where the tensor stands in autograd."""
        if self.grad_fn is not None:
            return ", grad_fn=<%s>" % type(self.grad_fn).__name__
        return ", requires_grad=True" if self.requires_grad else ""

    def __format__(self, spec: Any) -> str:
        return object.__format__(self, spec)

    def __hash__(self) -> int:
        return id(self)


def _wrapper(cls: Any, size: Any, values: Any, layout: Any) -> Any:
    t: Any = _wrappers.make(cls, size, dtype=values.dtype, device=values.device)
    t._values, t._source = values, None
    return t


# ---- layout strided --------------------------------------------------------------------------------------------------
class StridedNested(Nested):
    """Parts of any sizes in a row of numbers."""

    _sizes: list[tuple[int, ...]]
    _steps: list[tuple[int, ...]]  # strides
    _starts: list[int]
    _packed: bool  # each part is contiguous, and follows the one before

    layout = property(lambda self: _device.strided)
    _function_of_layout = True

    def _parts(self) -> list[Any]:
        if self._packed:
            flat = self._values.split([math.prod(s) for s in self._sizes]) if self._sizes else ()
            return [p.view(s) for p, s in zip(flat, self._sizes)]
        return [self._values.as_strided(*place) for place in zip(self._sizes, self._steps, self._starts)]

    def _with(self, values: Any) -> Any:
        return _strided(values, self._sizes, self._steps, self._starts, self._packed)

    def _same_places(self, other: Any) -> bool:
        if not isinstance(other, StridedNested) or self._values.numel() != other._values.numel():
            return False
        return (self._sizes, self._steps, self._starts) == (other._sizes, other._steps, other._starts)

    @property
    def shape(self) -> Any:
        raise RuntimeError("Internal error: NestedTensorImpl doesn't support sizes. Please file an issue.")

    def size(self, dim: Any = None) -> Any:
        if dim is None:
            return self.shape
        n = wrap_dim(dim, self.dim())
        if n == 0:
            return len(self._sizes)
        found = {s[n - 1] for s in self._sizes}
        if len(found) != 1:
            raise RuntimeError("Given dimension %d is irregular and does not have a size." % n)
        return found.pop()

    def stride(self, dim: Any = None) -> Any:
        raise RuntimeError("Internal error: NestedTensorImpl doesn't support strides. Please file an issue.")

    def dim(self) -> int:
        return len(self._sizes[0]) + 1 if self._sizes else 1

    ndim = property(dim)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return self._packed

    def _not_unbound(self, dim: int) -> RuntimeError:
        return RuntimeError("NestedTensor can only be unbound along dimension 0 got dimension %d instead." % dim)

    def _nested_tensor_size(self) -> Any:
        return torch.tensor(self._sizes, dtype=torch.int64).reshape(len(self._sizes), -1)

    def _nested_tensor_strides(self) -> Any:
        return torch.tensor(self._steps, dtype=torch.int64).reshape(len(self._sizes), -1)

    def _nested_tensor_storage_offsets(self) -> Any:
        return torch.tensor(self._starts, dtype=torch.int64)

    def __len__(self) -> int:
        return len(self.shape)

    def tolist(self) -> Any:
        return self.stride()

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        return self.shape

    def __reduce_ex__(self, protocol: Any) -> Any:
        tables = self._nested_tensor_size(), self._nested_tensor_strides(), self._nested_tensor_storage_offsets()
        return torch._utils._rebuild_nested_tensor, (self._values, *tables)

    def __repr__(self, *, tensor_contents: Any = None) -> Any:  # type: ignore[override]
        def indented(part: Any) -> str:
            return "\n".join("  " + line for line in str(part).split("\n"))

        parts = self._with(self._values.detach())._parts()
        return "nested_tensor([\n%s\n]%s)" % (",\n".join(map(indented, parts)), self._history())


StridedNested.__name__ = StridedNested.__qualname__ = "Tensor"  # as of any tensor in PyTorch
StridedNested.__module__ = "torch"


def _strided(values: Any, sizes: Any, steps: Any, starts: Any, packed: bool) -> Any:
    dims = len(sizes[0]) if sizes else 0
    most = (max(s[d] for s in sizes) for d in range(dims))
    t = _wrapper(StridedNested, (len(sizes), *most), values, torch.strided)
    t._sizes, t._steps, t._starts, t._packed = sizes, steps, starts, packed
    return t


def _dense_steps(size: Any) -> tuple[int, ...]:
    steps = [1] * len(size)
    for d in reversed(range(len(size) - 1)):
        steps[d] = steps[d + 1] * max(size[d + 1], 1)
    return tuple(steps)


def packed(values: Any, sizes: Any) -> Any:
    """A nested tensor of layout strided whose parts lie one after the other in the row `values`."""
    sizes = [tuple(s) for s in sizes]
    starts = [0, *itertools.accumulate(math.prod(s) for s in sizes)]
    return _strided(values, sizes, [_dense_steps(s) for s in sizes], starts[: len(sizes)], True)


def from_parts(parts: Any, like: Any = None) -> Any:
    """A nested tensor of layout strided with copies of the parts; gradients flow to them."""
    if not parts:
        return packed(torch.empty(0) if like is None else like._values.new_empty(0), [])
    return packed(torch.cat([p.reshape(-1) for p in parts]), [p.shape for p in parts])


def from_views(x: Any, views: Any) -> Any:
    """A nested tensor of layout strided that shares the values of `x`; `views` are views of its parts."""
    base = x._values.storage_offset()
    sizes = [tuple(v.shape) for v in views]
    steps = [tuple(v.stride()) for v in views]
    starts = [v.storage_offset() - base for v in views]
    plain = packed(x._values, sizes)
    ends = sum(math.prod(s) for s in sizes)
    regular = all(v.is_contiguous() for v in views) and starts == plain._starts and ends == x._values.numel()
    made = plain if regular else _strided(x._values, sizes, steps, starts, False)
    made._source = x if x._source is None else x._source
    return made


def from_tables(values: Any, sizes: Any, steps: Any, starts: Any) -> Any:
    """A nested tensor of layout strided whose parts lie where tables say; each must lie within the values."""
    if sizes.dim() != 2 or steps.dim() != 2 or starts.dim() != 1:
        raise RuntimeError("the sizes, strides and offsets of a nested tensor have 2, 2 and 1 dims")
    sizes, steps = ([tuple(row) for row in table.tolist()] for table in (sizes, steps))
    starts = starts.tolist()
    if not len(sizes) == len(steps) == len(starts) or len({len(s) for s in (*sizes, *steps)}) > 1:
        raise RuntimeError("the tables of a nested tensor have different lengths")
    for size, step, start in zip(sizes, steps, starts):
        last = start + sum((n - 1) * s for n, s in zip(size, step))
        if min((start, *size, *step)) < 0 or 0 not in size and last >= values.numel() or max(size, default=0) >= 2**40:
            raise RuntimeError("a part of a nested tensor lies outside of its values")
    if sum(math.prod(s) for s in sizes) > values.numel():
        raise RuntimeError("the parts of a nested tensor have more elements than its values")
    plain = packed(values, sizes)
    if (steps, starts) == (plain._steps, plain._starts):
        return plain
    return _strided(values, sizes, steps, starts, False)


_PARTS = {"_values", "_offsets", "_lengths", "_size", "_strides", "_ragged_idx", "_metadata_cache"}


# ---- layout jagged ---------------------------------------------------------------------------------------------------
class NestedTensor(Nested):
    """Parts that differ in one dim, joined along it. With lengths, a part ends before the next begins."""

    _offsets: Any
    _lengths: Any
    _ragged_idx: int
    _metadata_cache: dict[str, Any]

    layout = property(lambda self: _device.jagged)

    def __new__(cls, values: Any, offsets: Any, *, lengths: Any = None, **kwargs: Any) -> Any:
        if kwargs.get("requires_grad") and not values.requires_grad:
            values = values.detach().requires_grad_()
        return jagged(values, offsets, lengths, kwargs.get("_ragged_idx", 1), dict(kwargs.get("_metadata_cache") or {}))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def _bounds(self) -> list[tuple[int, int]]:
        """Begin and length of each part."""
        cut = self._offsets.tolist()
        lengths = [b - a for a, b in itertools.pairwise(cut)] if self._lengths is None else self._lengths.tolist()
        return list(zip(cut, lengths))

    def _parts(self) -> list[Any]:
        bounds, dim = self._bounds(), self._ragged_idx - 1
        if not 0 <= dim < self._values.dim():  # of a program's own ragged_idx
            raise RuntimeError("unbind(): nested tensor ragged_idx out of bounds (should be >= 1)")
        total = self._values.shape[dim]
        for i, (begin, length) in enumerate(bounds):
            if begin + length > total:
                raise RuntimeError(
                    "unbind(): nested tensor offsets and lengths do not match ragged_idx dimension: part %d ends at %d "
                    "of %d" % (i, begin + length, total)
                )
        ends = [begin + length for begin, length in bounds]
        if bounds and bounds[0][0] == 0 and ends[-1] == total and ends[:-1] == [b for b, _ in bounds[1:]]:
            return list(self._values.split([length for _, length in bounds], dim))
        return [self._values.narrow(dim, begin, length) for begin, length in bounds]

    def _with(self, values: Any) -> Any:
        return jagged(values, self._offsets, self._lengths, self._ragged_idx, self._metadata_cache)

    def _same_places(self, other: Any) -> bool:
        if not isinstance(other, NestedTensor) or self._ragged_idx != other._ragged_idx:
            return False
        if self._values.shape != other._values.shape:
            return False
        return self._key() is other._key() or self._bounds() == other._bounds()

    def _key(self) -> Any:
        return self._offsets if self._lengths is None else self._lengths

    @property
    def shape(self) -> Any:
        inner = list(self._values.shape)
        inner[self._ragged_idx - 1] = nested_int(self._key())
        return Shape((len(self), *inner))

    _size = shape

    def size(self, dim: Any = None) -> Any:
        return self.shape if dim is None else self.shape[wrap_dim(dim, self.dim())]

    def stride(self, dim: Any = None) -> Any:
        inner = self._values.stride()
        found = (nested_int(self._key(), inner[self._ragged_idx - 1]), *inner)
        return found if dim is None else found[wrap_dim(dim, self.dim())]

    def dim(self) -> int:
        return self._values.dim() + 1

    ndim = property(dim)

    def __len__(self) -> int:
        return self._offsets.shape[0] - 1

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return self._lengths is None and self._values.is_contiguous()

    def _is_contiguous_or_false(self) -> bool:
        return self.is_contiguous()

    def numel(self) -> int:
        if self._lengths is None:
            return self._values.numel()
        return Nested.numel(self)

    def offsets(self) -> Any:
        return self._offsets

    def lengths(self) -> Any:
        return self._lengths

    def _extreme(self, name: str, find: Any) -> int:
        cached = self._cached(name)
        if cached is None:
            cached = self._metadata_cache[name] = find((n for _, n in self._bounds()), default=0)
        return cached

    def _cached(self, name: str) -> int | None:
        """A length that is known. PyTorch, and files, keep it as the size of a tensor without elements."""
        known = self._metadata_cache.get(name)
        return int(known.shape[0]) if isinstance(known, torch.Tensor) else known

    def _get_max_seqlen(self) -> int:
        return self._extreme("max_seqlen", max)

    def _get_min_seqlen(self) -> int:
        return self._extreme("min_seqlen", min)

    _max_seqlen = property(_get_max_seqlen)
    _min_seqlen = property(_get_min_seqlen)
    _maybe_max_seqlen = property(lambda self: self._cached("max_seqlen"))
    _maybe_min_seqlen = property(lambda self: self._cached("min_seqlen"))

    def _not_unbound(self, dim: int) -> RuntimeError:
        return RuntimeError("unbind(): only supported for NestedTensor on dim=0")

    def tolist(self) -> Any:
        raise RuntimeError(".tolist() is not supported for tensor subclasses, got NestedTensor")

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        raise no_numpy_of_subclass()

    def __reduce_ex__(self, protocol: Any) -> Any:
        lengths = {name: self._cached(name) for name in self._metadata_cache}
        made = {
            "values": self._values.detach() if self.is_leaf else self._values,
            "offsets": self._offsets,
            "lengths": self._lengths,
            "_ragged_idx": self._ragged_idx,
            "_metadata_cache": {name: torch.zeros(n, 0) for name, n in lengths.items() if n is not None},
            "requires_grad": self.requires_grad,
        }
        return torch._utils._rebuild_njt, (made,)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The attributes that a program gave it. PyTorch's files have the parts once more there."""
        for name, value in state.items():
            if name not in _PARTS:
                setattr(self, name, value)

    def __repr__(self, *, tensor_contents: Any = None) -> Any:  # type: ignore[override]
        facts = tuple(self.shape), self._offsets, self._history(), self.is_contiguous()
        return "NestedTensor(size=%s, offsets=%s%s, contiguous=%s)" % facts


NestedTensor.__module__ = "torch.nested._internal.nested_tensor"


def jagged(values: Any, offsets: Any, lengths: Any = None, ragged: int = 1, cache: Any = None) -> Any:
    """A jagged tensor of its parts; `ragged` is the dim in which they differ, counted with the batch."""
    inner = list(values.shape)
    if 0 < ragged <= len(inner):
        inner[ragged - 1] = 0
    t = _wrapper(NestedTensor, (offsets.shape[0] - 1, *inner), values, torch.jagged)
    t._offsets, t._lengths, t._ragged_idx = offsets, lengths, ragged
    t._metadata_cache = {} if cache is None else cache
    return t


def offsets_of(lengths: Any, device: Any = None) -> Any:
    """Where parts of these lengths begin, and the end."""
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int64, device=device)


def joined(parts: Any, like: Any = None, ragged: int | None = None) -> Any:
    """A jagged tensor with copies of the parts. The offsets are those of `like`, where the lengths are the same."""
    if ragged is None:
        varies = [d for d in range(parts[0].dim()) if len({p.shape[d] for p in parts}) > 1]
        if len(varies) > 1:
            raise RuntimeError("parts that differ in more than one dim cannot have layout torch.jagged")
        ragged = 1 if like is None else like._ragged_idx
        if varies:
            ragged = varies[0] + 1
    lengths = [p.shape[ragged - 1] for p in parts]
    values = torch.cat(list(parts), ragged - 1)
    if like is not None and like._lengths is None and lengths == [n for _, n in like._bounds()]:
        return jagged(values, like._offsets, None, ragged, like._metadata_cache)
    cache = {"max_seqlen": max(lengths, default=0), "min_seqlen": min(lengths, default=0)}
    return jagged(values, offsets_of(lengths, values.device), None, ragged, cache)
