"""torch._prims_common: questions about dtypes, dims and strides that packages ask there."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from enum import Enum
from functools import reduce
from typing import Any

import torchlite as torch

from .. import _C
from .._core import absent as _absent
from .._core.errors import invalid_shape, several_inferred

Tensor = torch.Tensor
TensorLike = Tensor
TensorLikeType = Tensor
TensorSequenceType = list[Tensor] | tuple[Tensor, ...]
TensorOrNumberLikeType = Tensor | int | float | complex | bool
Number = int | float | complex | bool
NumberType = int | float | complex | bool
IntLike, FloatLike, BoolLike = int, float, bool
ShapeType = torch.Size | list[int] | tuple[int, ...]
StrideType = list[int] | tuple[int, ...]
DimsType = int | list[int] | tuple[int, ...]
DimsSequenceType = list[int] | tuple[int, ...]
DeviceLikeType = str | torch.device | int

_INTEGERS = (
    torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16, torch.int32, torch.int64,
)  # fmt: skip
_REAL = {torch.complex32: torch.float16, torch.complex64: torch.float32, torch.complex128: torch.float64}
_COMPLEX = {
    torch.float16: torch.complex32,
    torch.bfloat16: torch.complex64,
    torch.float32: torch.complex64,
    torch.float64: torch.complex128,
}
_ORDER = (bool, int, float, complex)


class ELEMENTWISE_TYPE_PROMOTION_KIND(Enum):
    """How the dtype of an element-wise result follows from its operands."""

    DEFAULT = (0,)
    NO_OPMATH = (1,)
    INT_TO_FLOAT = (2,)
    ALWAYS_BOOL = (3,)
    COMPLEX_TO_FLOAT = (4,)
    BOOL_TO_LONG = (5,)


class REDUCTION_OUTPUT_TYPE_KIND(Enum):
    """How the dtype of a reduction follows from its operand."""

    SAME = (0,)
    COMPLEX_TO_FLOAT = (1,)
    KEEP_PROMOTED_TYPE = (2,)
    ALWAYS_BOOL = (3,)


class RETURN_TYPE(Enum):
    """What a primitive returns: new memory, a view, or what it wrote to."""

    NEW = (0,)
    VIEW = (1,)
    INPLACE = (2,)
    NONE = (3,)


# ---- dtypes ----------------------------------------------------------------------------------------------------------
def is_boolean_dtype(dtype: Any) -> bool:
    return dtype is torch.bool


def is_integer_dtype(dtype: Any) -> bool:
    """Whether it is an integer dtype; bool does not count."""
    return dtype in _INTEGERS


def is_float_dtype(dtype: Any) -> bool:
    return dtype.is_floating_point


def is_complex_dtype(dtype: Any) -> bool:
    return dtype.is_complex


def is_low_precision_dtype(dtype: Any) -> bool:
    return dtype in (torch.float16, torch.bfloat16, torch.complex32)


def is_grad_dtype(dtype: Any) -> bool:
    """Whether tensors of it can require a gradient."""
    return dtype.is_floating_point or dtype.is_complex


def corresponding_real_dtype(dtype: Any) -> Any:
    return _REAL[dtype]


def corresponding_complex_dtype(dtype: Any) -> Any:
    return _COMPLEX[dtype]


def dtype_to_type(dtype: Any) -> type:
    """The Python type of a dtype's numbers."""
    if dtype is torch.bool:
        return bool
    if dtype in _INTEGERS:
        return int
    if dtype.is_floating_point:
        return float
    if dtype.is_complex:
        return complex
    raise ValueError("Invalid dtype!")


def dtype_to_type_ctor(dtype: Any) -> Any:
    return dtype_to_type(dtype)


def type_to_dtype(typ: type) -> Any:
    """The dtype of a Python type's numbers."""
    if typ is bool:
        return torch.bool
    if typ is int:
        return torch.long
    if typ is float:
        return torch.get_default_dtype()
    if typ is complex:
        return corresponding_complex_dtype(torch.get_default_dtype())
    raise ValueError("Invalid type %s!" % typ)


def get_dtype(x: Any) -> Any:
    return x.dtype if isinstance(x, Tensor) else type_to_dtype(type(x))


def is_weakly_lesser_type(a: type, b: type) -> bool:
    """Whether a comes no later than b in bool, int, float, complex."""
    for kind in (a, b):
        if kind not in _ORDER:
            raise RuntimeError("Unexpected type found %s" % kind)
    return _ORDER.index(a) <= _ORDER.index(b)


def get_higher_type(a: type, b: type) -> type:
    return b if is_weakly_lesser_type(a, b) else a


def get_higher_dtype(a: Any, b: Any) -> Any:
    """What both promote to; a dtype, tensor, number or None each."""
    kinds = [x if x is None or isinstance(x, torch.dtype) else get_dtype(x) for x in (a, b)]
    if None in kinds:
        return kinds[0] or kinds[1]
    return torch.promote_types(*kinds)


def get_computation_dtype(dtype: Any) -> Any:
    """The dtype that numbers of 16 bits are computed in."""
    return {torch.bfloat16: torch.float32, torch.float16: torch.float32, torch.complex32: torch.complex64}.get(
        dtype, dtype
    )


def elementwise_dtypes(*args: Any, type_promotion_kind: ELEMENTWISE_TYPE_PROMOTION_KIND) -> tuple[Any, Any]:
    """(dtype to compute in, dtype of the result) of an element-wise op."""
    kind, given = ELEMENTWISE_TYPE_PROMOTION_KIND, [a for a in args if a is not None]
    tensors = [a for a in given if isinstance(a, Tensor)]
    if tensors:  # numbers after tensors: what promotes does not depend on their order
        dtype, dims = tensors[0].dtype, tensors[0].dim()
        for a in (*tensors[1:], *(a for a in given if not isinstance(a, Tensor))):
            dtype = torch.result_type(torch.empty((1,) * min(dims, 1), dtype=dtype), a)
            dims = max(dims, getattr(a, "ndim", 0))
    else:
        dtype = type_to_dtype(reduce(get_higher_type, map(type, given))) if given else torch.get_default_dtype()
    work = dtype if type_promotion_kind is kind.NO_OPMATH else get_computation_dtype(dtype)
    whole = is_integer_dtype(dtype) or dtype is torch.bool
    if type_promotion_kind is kind.INT_TO_FLOAT and whole:
        return (torch.get_default_dtype(),) * 2
    if type_promotion_kind is kind.COMPLEX_TO_FLOAT and dtype.is_complex:
        return work, corresponding_real_dtype(dtype)
    if type_promotion_kind is kind.BOOL_TO_LONG and dtype is torch.bool:
        return torch.long, torch.long
    if type_promotion_kind is kind.ALWAYS_BOOL:
        return work, torch.bool
    return work, dtype


# ---- sizes and strides -----------------------------------------------------------------------------------------------
def check(b: Any, s: Any, exc_type: type[Exception] = RuntimeError) -> None:
    """Raises what s() says, unless b."""
    if not b:
        raise exc_type(s())


def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """idx as a number from 0 on."""
    if rank < 0:
        raise IndexError("Rank cannot be negative but got %d" % rank)
    if rank == 0 and not wrap_scalar:
        raise IndexError("Dimension specified as %d but tensor has no dimensions" % idx)
    return _C.wrap_dim(idx, rank)


def canonicalize_dims(rank: int, indices: Any, wrap_scalar: bool = True) -> Any:
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple(canonicalize_dim(rank, i, wrap_scalar) for i in indices)


def is_same_shape(a: Sequence[int], b: Sequence[int]) -> bool:
    return tuple(a) == tuple(b)


def is_cpu_scalar_tensor(a: Any) -> bool:
    return isinstance(a, Tensor) and a.ndim == 0 and a.device.type == "cpu"


def make_contiguous_strides_for(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    """Strides without gaps; of matrices by columns where row_major is False."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    result = tuple(reversed(strides))
    if row_major or len(shape) < 2:
        return result
    return (*result[:-2], 1, max(shape[-2], 1))


def make_channels_last_strides_for(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a channels_last tensor of 3, 4 or 5 dims."""
    order = {3: (0, 2, 1), 4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}[len(shape)]
    inner = make_contiguous_strides_for([shape[d] for d in order])
    strides = [0] * len(shape)
    for d, step in zip(order, inner):
        strides[d] = step
    return tuple(strides)


def is_contiguous(a: Any) -> bool:
    return a.is_contiguous()


def is_channels_last_contiguous_2d(a: Any) -> bool:
    return a.ndim == 4 and a.is_contiguous(memory_format=torch.channels_last)


def is_channels_last_contiguous_3d(a: Any) -> bool:
    return a.ndim == 5 and a.is_contiguous(memory_format=torch.channels_last_3d)


def is_channels_last_contiguous(a: Any) -> bool:
    return is_channels_last_contiguous_2d(a) or is_channels_last_contiguous_3d(a)


def suggest_memory_format(x: Any) -> Any:
    """The format that x's strides ask for."""
    if x.layout is not torch.strided:
        return torch.contiguous_format
    if is_channels_last_contiguous(x) and not x.is_contiguous():
        return torch.channels_last if x.ndim == 4 else torch.channels_last_3d
    return torch.contiguous_format


def compute_required_storage_length(shape: Sequence[int], strides: Sequence[int], storage_offset: int) -> int:
    """The number of elements that a storage needs for a tensor of this geometry."""
    if reduce(operator.mul, shape, 1) == 0:
        return 0
    return 1 + storage_offset + sum((n - 1) * step for n, step in zip(shape, strides))


def check_all_strides(a: Any, b: Any, *, only_cuda: bool = True) -> tuple[bool, int | None]:
    """(whether all strides are the same, the first dim where they are not)."""
    for d, (x, y) in enumerate(zip(a.stride(), b.stride())):
        if x != y and (not only_cuda or "cuda" in (a.device.type, b.device.type)) and a.numel():
            return False, d
    return True, None


def check_significant_strides(a: Any, b: Any, *, only_cuda: bool = True) -> tuple[bool, int | None]:
    """check_all_strides of dims that have several elements."""
    for d, (x, y) in enumerate(zip(a.stride(), b.stride())):
        if x != y and a.shape[d] > 1 and (not only_cuda or "cuda" in (a.device.type, b.device.type)) and a.numel():
            return False, d
    return True, None


def compare_tensor_meta(a: Any, b: Any, check_sizes: bool = True, check_strides: bool = False, **_: Any) -> None:
    """AssertionError where size, dtype or device of two tensors differ."""
    for x in (a, b):
        if not isinstance(x, Tensor):
            raise AssertionError("expected TensorLike, got %s" % type(x))
    if check_sizes and a.shape != b.shape:
        raise AssertionError("Shapes %s and %s are not equal!" % (a.shape, b.shape))
    if a.dtype != b.dtype:
        raise AssertionError("Dtypes %s and %s are not equal!" % (a.dtype, b.dtype))
    if a.device != b.device:
        raise AssertionError("Devices %s and %s are not equal!" % (a.device, b.device))
    if check_strides and not check_significant_strides(a, b, only_cuda=False)[0]:
        raise RuntimeError("Stride mismatch! Strides are %s and %s" % (a.stride(), b.stride()))


def reduction_dims(shape: Sequence[int], dims: Any) -> tuple[int, ...]:
    """The dims that a reduction reduces: all of them for None."""
    if dims is None:
        return tuple(range(len(shape)))
    found = tuple(canonicalize_dim(len(shape), d) for d in dims)
    if len(found) != len(set(found)):
        raise RuntimeError("duplicate value in the list of dims")
    return found


def infer_size(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """A shape of numel elements, its -1 filled in."""
    at = [d for d, n in enumerate(shape) if n == -1]
    known = math.prod(n for n in shape if n != -1)
    if len(at) > 1:
        raise several_inferred()
    if known != numel if not at else not known or numel % known:
        raise invalid_shape(shape, numel)
    return tuple(numel // known if n == -1 else n for n in shape)


def mask_tensor(mask: Any, t: Any) -> Any:
    """t where mask is true, else 0."""
    return torch.where(mask, t, torch.zeros((), dtype=t.dtype, device=t.device))


__getattr__ = _absent.of(__name__)
