"""torch.utils.dlpack: tensors as DLPack capsules and back."""

from torchlite.functional import from_dlpack  # noqa: F401


def to_dlpack(tensor):
    """A capsule with the memory of the tensor."""
    return tensor.__dlpack__()


from .._core import absent as _absent

__getattr__ = _absent.of(__name__)
