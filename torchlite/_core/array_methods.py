"""Tensor's methods that hand its memory to numpy, and to others by DLPack."""

from __future__ import annotations

from .. import _C
from . import device as _device, dtypes as _dtypes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .tensor import Tensor

NUMPY_TYPES = {
    _dtypes.bool: "b1",
    _dtypes.uint8: "u1",
    _dtypes.int8: "i1",
    _dtypes.int16: "i2",
    _dtypes.int32: "i4",
    _dtypes.int64: "i8",
    _dtypes.uint16: "u2",
    _dtypes.uint32: "u4",
    _dtypes.uint64: "u8",
    _dtypes.float16: "f2",
    _dtypes.float32: "f4",
    _dtypes.float64: "f8",
    _dtypes.complex64: "c8",
    _dtypes.complex128: "c16",
}


def numpy(self: Tensor, *, force: bool = False) -> Any:
    """A numpy array over the same memory (CPU); force=True copies from other devices and drops the history."""
    if self._dispatches:
        from .errors import no_numpy_of_subclass

        raise no_numpy_of_subclass()
    if force:
        return self.detach().cpu().resolve_conj().resolve_neg().numpy()
    if self.requires_grad and _C.is_grad_enabled():
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if not self.is_cpu:
        raise TypeError(
            "can't convert %s device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first." % self.device
        )
    if self.is_conj():
        raise RuntimeError(
            "Can't call numpy() on Tensor that has conjugate bit set. Use tensor.resolve_conj().numpy() instead."
        )
    if self.is_neg():
        raise RuntimeError(
            "Can't call numpy() on Tensor that has negative bit set. Use tensor.resolve_neg().numpy() instead."
        )
    code = NUMPY_TYPES.get(self.dtype)
    if code is None:
        raise TypeError("Got unsupported ScalarType %s" % self.dtype._scalar_type)
    import numpy as np

    size = self.itemsize
    if self.numel() == 0:
        return np.empty(tuple(self.shape), code)
    return np.ndarray(
        tuple(self.shape),
        code,
        buffer=self._storage._fixed(),  # numpy keeps the address and gives the buffer back
        offset=self.storage_offset() * size,
        strides=tuple(s * size for s in self.stride()),
    )


def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    a = self.numpy()
    if dtype is not None and a.dtype != dtype:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return a.astype(dtype)
    return a.copy(order="K") if copy else a


def __array_wrap__(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    import torchlite as torch

    # uint8, as PyTorch has it still
    return torch.from_numpy(array.astype("uint8") if array.dtype == bool else array)


def __dlpack__(
    self: Tensor, *, stream: Any = -1, max_version: Any = None, dl_device: Any = None, copy: Any = None
) -> Any:
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self.is_conj():
        raise BufferError("Can't export tensors with the conjugate bit set")
    if self.layout is not _device.strided:
        raise BufferError("Can't export tensors with layout other than torch.strided")
    if self.is_neg():  # PyTorch hands out the numbers without their signs
        raise BufferError("Can't export tensors with the negative bit set")
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if self.is_cpu and stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    from ..utils import dlpack

    return dlpack.capsule(self, max_version is not None and max_version[0] >= 1, dl_device, copy)


def __dlpack_device__(self: Tensor) -> Any:
    from ..utils.dlpack import device_of

    return device_of(self.device)


for _method in (numpy, __array__, __array_wrap__, __dlpack__, __dlpack_device__):
    _method.__qualname__ = "Tensor." + _method.__name__  # as errors name it
