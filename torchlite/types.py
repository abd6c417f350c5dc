"""torch.types: names for annotations."""

from typing import Any, Sequence, Union

from ._core import device as _device, dtypes as _dtypes
from ._core.tensor import Tensor

Number = Union[int, float, bool]
Device = Union[_device.device, str, int, None]
_dtype, _device_type, _layout, _size = _dtypes.dtype, _device.device, _device.layout, Sequence[int]
_int, _float, _bool, _complex = int, float, bool, complex
FileLike = Any
Storage = Any
_TensorOrTensors = Union[Tensor, Sequence[Tensor]]
