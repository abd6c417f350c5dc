"""Old constructors and type names: torch.FloatTensor, torch.Tensor(2, 3), t.type()."""

from __future__ import annotations


from .. import _C
from . import device as _device, dtypes as _dtypes, from_data as _from_data
from .tensor import Tensor, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from .._types import DType


_TYPES = {
    "FloatTensor": _dtypes.float32,
    "DoubleTensor": _dtypes.float64,
    "HalfTensor": _dtypes.float16,
    "BFloat16Tensor": _dtypes.bfloat16,
    "ByteTensor": _dtypes.uint8,
    "CharTensor": _dtypes.int8,
    "ShortTensor": _dtypes.int16,
    "IntTensor": _dtypes.int32,
    "LongTensor": _dtypes.int64,
    "BoolTensor": _dtypes.bool,
    "ComplexFloatTensor": _dtypes.complex64,
    "ComplexDoubleTensor": _dtypes.complex128,
}
_NAMES = {d: n for n, d in _TYPES.items()}


def check_device(args: tuple[Any, ...], device: Any) -> None:
    """PyTorch's errors for Tensor(..., device=device)."""
    kind = _device.device(device).type
    if kind != "cpu":
        raise RuntimeError("legacy constructor expects device type: cpu but device type: %s was passed" % kind)
    if len(args) == 1 and isinstance(args[0], _C.TensorBase):
        raise RuntimeError(
            "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not supported.  "
            "Use torch.tensor(...) or torch.as_tensor(...) instead."
        )


def legacy_new(args: tuple[Any, ...], dtype: DType, any_type: bool = False) -> Tensor:
    """torch.Tensor(*sizes), torch.Tensor(data), torch.Tensor(); any_type: whether another tensor may be of any type"""
    if not args:
        return _C.empty((0,), dtype)
    if all(_is_size(a) for a in args):
        return _C.fill_fresh(_C.empty(args, dtype))
    if len(args) != 1:
        raise TypeError(
            "new() received an invalid combination of arguments - got (%s)" % ", ".join(map(_name_of, args))
        )
    a = args[0]
    if isinstance(a, _C.Size):
        return _C.fill_fresh(_C.empty(tuple(a), dtype))
    if isinstance(a, Tensor):
        if a.dtype is not dtype and not any_type:
            raise TypeError("expected %s (got %s)" % (_NAMES[dtype], type_name(a)))
        return plain(a)
    if isinstance(a, str):
        raise TypeError("new(): invalid data type 'str'")
    if _from_data.is_storage(a):
        own = getattr(a, "dtype", dtype)
        if own is not dtype:
            raise RuntimeError(
                "Expected a Storage of type %s or an UntypedStorage, but got type %s for argument 1 'storage'"
                % (dtype._scalar_type, own._scalar_type)
            )
        return _from_data._of_storage(a, dtype)
    array = hasattr(a, "__array_interface__")
    if a is None or isinstance(a, (int, float, complex)) or array and not hasattr(a, "__setitem__"):
        raise TypeError("new(): data must be a sequence (got %s)" % _name_of(a))
    if array:
        import torchlite as torch

        return torch.as_tensor(a, dtype=dtype).clone()
    return _C.tensor_from_data(a, dtype)


def _name_of(a: Any) -> str:
    return _from_data.type_name(a)


def _is_size(a: Any) -> bool:
    """Whether a is a whole number: of Python, or of numpy, where an array of no dimensions is one too."""
    if hasattr(a, "__array_interface__"):
        return bool(a.dtype.kind in "iu" and a.ndim == 0)
    return isinstance(a, int) and not isinstance(a, bool)


def type_name(t: Tensor) -> str:
    return ("torch.meta." if t.is_meta else "torch.") + (_NAMES.get(t.dtype) or t.dtype._scalar_type + "Tensor")


def type_to_dtype(kind: Any) -> DType:
    if isinstance(kind, _dtypes.dtype):
        return kind
    name = kind if isinstance(kind, str) else getattr(kind, "__name__", "")
    short = name.rpartition(".")[2]
    if ".cuda." in name or getattr(kind, "__module__", "") == "torch.cuda":
        raise TypeError("type %s not available. Torch not compiled with CUDA enabled." % name)
    if short == "Tensor":
        return _C.get_default_dtype()
    if short in _TYPES:
        return _TYPES[short]
    for d in _dtypes.DTYPES:
        if short == d._scalar_type + "Tensor":
            return d
    raise ValueError("invalid type: %r" % (kind,))


class _TypeMeta(type):
    dtype: DType

    def __instancecheck__(cls, other: Tensor) -> bool:
        return isinstance(other, Tensor) and other.dtype is cls.dtype and other.is_cpu

    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        return legacy_new(args, cls.dtype)

    def __repr__(cls) -> Any:
        return "<class 'torch.%s'>" % cls.__name__


def make(name: str) -> Any:
    """The legacy tensor class of that name."""
    return _TypeMeta(name, (), {"dtype": _TYPES[name], "__module__": "torch"})
