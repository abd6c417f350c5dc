"""Tensor's methods that change its memory, size or strides in place, and their old relatives; and `dim_order`."""

from __future__ import annotations

from .. import _C
from . import device as _device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import MemoryFormat, Shape
    from .tensor import Tensor


def set_(
    self: Tensor,
    source: Any = None,
    storage_offset: int = 0,
    size: Shape | None = None,
    stride: Shape | None = None,
) -> Tensor:
    """Takes over the storage (and geometry) of another tensor or storage."""
    if not isinstance(storage_offset, int):
        raise TypeError(
            "set_() received an invalid combination of arguments - got (%s), but expected a storage or a tensor, "
            "an offset, a size and strides" % ", ".join(type(a).__name__ for a in (source, storage_offset))
        )
    if _C.is_grad_enabled() and (self.requires_grad or isinstance(source, _C.TensorBase) and source.requires_grad):
        from ..autograd._inplace import check_inplace, refuse

        check_inplace(self)
        refuse(self, "set_", source)
    from . import dispatch_modes

    if (dispatch_modes.stack or self._dispatches) and dispatch_modes.set_asked(
        self, source, storage_offset, size, stride
    ):
        return self
    if source is None:
        source = _C.empty((0,), self.dtype)
    if isinstance(source, _C.TensorBase) and source.dtype is not self.dtype:
        raise RuntimeError(
            "Could not set tensor of type %s to a tensor of type %s" % (source.dtype._cpp_type, self.dtype._cpp_type)
        )
    if getattr(source, "_untyped_storage", None) is not None and source.dtype is not self.dtype:
        raise RuntimeError(
            "Expected a Storage of type %s or an UntypedStorage, but got type %s for argument 1 'storage'"
            % (self.dtype._cpp_type, source.dtype._scalar_type)
        )
    if isinstance(source, _C.TensorBase) and size is None:
        size, stride, storage_offset = source.shape, source.stride(), source.storage_offset()
    storage = source._storage if isinstance(source, _C.TensorBase) else getattr(source, "_untyped_storage", source)
    if size is None:
        size = (storage.nbytes() // self.itemsize,)
    if stride is None or len(stride) == 0 and len(size):
        stride = _C.empty((0,), self.dtype).new_empty(size).stride() if 0 in size else _C.dense_strides(size)
    taken = _C.tensor_from_storage(storage, self.dtype, storage_offset, tuple(size), tuple(stride))
    taken._conj_bit, taken._neg_bit = self.is_conj(), self.is_neg()
    self.data = taken
    self._bump_version()  # what was saved of it is gone
    return self


def resize_(self: Tensor, *sizes: int, memory_format: Any = None) -> Tensor:
    """Changes the shape in place; new elements are uninitialised."""
    if not sizes:
        raise TypeError('resize_() missing 1 required positional arguments: "size"')
    if len(sizes) == 1 and not isinstance(sizes[0], int):
        sizes = tuple(sizes[0])
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if memory_format is _device.preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve")
    from . import dispatch_modes

    if dispatch_modes.resized(self, sizes, memory_format):
        return self
    if tuple(self.shape) != tuple(sizes):
        before = self.untyped_storage().nbytes()
        _C.resize(self, tuple(sizes))
        self._bump_version()
        if _C.fill_empty() and self.untyped_storage().nbytes() > before:
            size = self.itemsize
            _C.fill_fresh(
                _C.tensor_from_storage(
                    self._storage,
                    self.dtype,
                    before // size,
                    (self._storage.nbytes() // size - before // size,),
                    (1,),
                )
            )
    if memory_format is not None:
        from ..ops.copying import _channels_last_strides

        last = memory_format is not _device.contiguous_format
        self.as_strided_(sizes, _channels_last_strides(sizes, memory_format) if last else _C.dense_strides(sizes))
    return self


def resize_as_(self: Tensor, other: Any, *, memory_format: Any = None) -> Any:
    """Changes the shape in place to that of `other`; preserve_format takes its memory format as well."""
    from . import dispatch_modes

    if dispatch_modes.stack:
        from .. import _ops

        if dispatch_modes.taken(self, _ops.ops.aten.resize_as_.default, other):
            return self
    if memory_format is _device.preserve_format:
        memory_format = _device.suggested_format(other)
    return self.resize_(other.shape, memory_format=memory_format)


def resize(self: Tensor, *sizes: Any) -> Any:
    """Deprecated in PyTorch: reshape to the same number of elements."""
    import warnings

    warnings.warn("non-inplace resize is deprecated", stacklevel=2)
    return self.reshape(*sizes)


def resize_as(self: Tensor, tensor: Any) -> Any:
    return self.resize(tensor.shape)


def dim_order(self: Tensor, *, ambiguity_check: bool = False) -> Any:
    """Dims from outermost to innermost in memory.
    With `ambiguity_check`, an order that is not the only one is an error, unless exactly one of the memory formats
    that the argument lists fits."""
    formats: list[MemoryFormat] = ambiguity_check if type(ambiguity_check) is list else []
    if type(ambiguity_check) not in (bool, list) or not all(isinstance(f, _device.memory_format) for f in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if ambiguity_check is not False and (1 in self.shape or len(set(self.stride())) < self.dim()):
        if sum(self.is_contiguous(memory_format=f) for f in formats) != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
            )
    return tuple(sorted(range(self.dim()), key=lambda d: -self.stride(d)))


for _method in (set_, resize_, resize_as_, resize, resize_as, dim_order):
    _method.__qualname__ = "Tensor." + _method.__name__  # as errors name it
