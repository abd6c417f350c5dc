"""torch.utils.dlpack: tensors as DLPack capsules and back."""

import enum

from .. import _C
from .._core import absent as _absent
from ..functional import from_dlpack

__all__ = ["DLDeviceType", "from_dlpack"]


class DLDeviceType(enum.IntEnum):
    """Kinds of devices, by their numbers in DLPack's header."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


KINDS = {"cpu": DLDeviceType.kDLCPU, "cuda": DLDeviceType.kDLCUDA, "webgpu": DLDeviceType.kDLWebGPU}


def device_of(device):
    """A device as DLPack names it."""
    kind = KINDS.get(device.type)
    if kind is None:
        raise ValueError("Unknown device type %s for Dlpack" % device.type)
    return kind, device.index or 0


def capsule(tensor, versioned, dl_device, copy):
    """A capsule with the memory of a tensor, or of a copy."""
    if dl_device is not None and tuple(dl_device) != device_of(tensor.device):
        if copy is False:
            raise ValueError("cannot move tensor from %s to %s without copying. Set copy=True is needed." % (
                tensor.device, tuple(dl_device)
            ))  # fmt: skip
        if tuple(dl_device) != (DLDeviceType.kDLCPU, 0):
            raise BufferError("Unsupported device_type: %d" % dl_device[0])
        tensor, copy = tensor.cpu(), False
    if tensor._dispatches:
        from .._core.errors import no_numpy_of_subclass

        raise no_numpy_of_subclass()
    return _C.to_dlpack(tensor.clone() if copy else tensor, versioned, bool(copy))


def to_dlpack(tensor, *, dl_device=None, copy=None):
    """A capsule with the memory of the tensor, of DLPack before version 1."""
    return capsule(tensor, False, dl_device, copy)


__getattr__ = _absent.of(__name__)
