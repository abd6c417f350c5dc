"""Old constructors and type names: torch.FloatTensor, torch.Tensor(2, 3), t.type()."""

from __future__ import annotations


from .. import _C
from . import dtypes as _dtypes
from .tensor import Tensor

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


def legacy_new(args: tuple[Any, ...], dtype: DType) -> Tensor:
    """torch.Tensor(*sizes), torch.Tensor(data), torch.Tensor()"""
    if not args:
        return _C.empty((0,), dtype)
    if all(isinstance(a, int) and not isinstance(a, bool) for a in args):
        return _C.fill_fresh(_C.empty(args, dtype))
    if len(args) != 1:
        raise TypeError(
            "new() received an invalid combination of arguments - got (%s)" % ", ".join(type(a).__name__ for a in args)
        )
    a = args[0]
    if isinstance(a, _C.Size):
        return _C.fill_fresh(_C.empty(tuple(a), dtype))
    if isinstance(a, Tensor):
        if a.dtype is not dtype:
            raise TypeError("expected %s (got %s)" % (_NAMES[dtype], type_name(a)))
        return a.detach()
    if isinstance(a, (int, float, complex, str)):
        raise TypeError("new(): data must be a sequence (got %s)" % type(a).__name__)
    if hasattr(a, "__array_interface__"):
        import torchlite as torch

        return torch.as_tensor(a, dtype=dtype).clone()
    return _C.tensor_from_data(a, dtype)


def type_name(t: Tensor) -> str:
    return "torch." + _NAMES[t.dtype]


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
