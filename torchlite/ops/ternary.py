"""Operations of three tensors, or of a tensor and two numbers."""

import torchlite as torch
from .. import _C
from .._core.dispatch_modes import is_mapped
from ._declare import Nodes, op
from ._out import FOUND, Out
from .binary import _as_tensor, _in_dtype


_conj = _C.conjugate


@op(
    "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
    kernel="where",
    out=Out("Expected out type to be {r} but got {o}", "ordered"),
    tags="pointwise",
    variants="function",
    node=Nodes("WhereBackward0", 1, 2),
    grad={"self": lambda c, g: torch.where(c.condition, g, 0), "other": lambda c, g: torch.where(c.condition, 0, g)},
    samples=lambda t: [(t(3, 4) > 0, t(3, 4), t(4))],
)
def where(condition, self, other):
    """self where the condition holds, else other."""


@op(
    "where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
    "where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
    "where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
    kernel="where",
    tags="pointwise",
    variants="function",
    node="WhereBackward0",
    grad={"self": lambda c, g: torch.where(c.condition, g, 0), "other": lambda c, g: torch.where(c.condition, 0, g)},
    samples=lambda t: [(t(3, 4) > 0, t(4), 1.5)],
)
def where_numbers(condition, self, other):
    """self where the condition holds, else other; one of them, or both, is a number."""


@op(
    "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    kernel="addcmul",
    inplace=True,
    out=True,
    tags="pointwise",
    grad={
        "self": lambda c, g: g,
        "tensor1": lambda c, g: g * (c.tensor2 * c.value).conj(),
        "tensor2": lambda c, g: g * (c.tensor1 * c.value).conj(),
    },
    samples=lambda t: [(t(3, 4), t(3, 4), t(4)), (t(3, 4), t(3, 1), t(4), {"value": 0.5})],
)
def addcmul(self, tensor1, tensor2, value=1):
    """self + value * tensor1 * tensor2."""
    tensor1 = tensor1.to((self + tensor1 + tensor2).dtype)
    return self + _in_dtype(tensor1, value) * tensor1 * tensor2


@op(
    "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    kernel="addcdiv",
    inplace=True,
    out=True,
    tags="pointwise",
    grad={
        "self": lambda c, g: g,
        "tensor1": lambda c, g: g * (c.value / c.tensor2).conj(),
        "tensor2": lambda c, g: -g * (c.value * c.tensor1 / (c.tensor2 * c.tensor2)).conj(),
    },
    samples=lambda t: [(t(3, 4), t(3, 4), t(4, lo=0.5, hi=2)), (t(3, 4), t(3, 1), t(4, lo=0.5, hi=2), {"value": 0.5})],
)
def addcdiv(self, tensor1, tensor2, value=1):
    """self + value * tensor1 / tensor2."""
    dtype = (self + tensor1 + tensor2).dtype
    quotient = value * tensor1.to(dtype) / tensor2
    if not dtype.is_complex:
        return self + quotient
    x, y = self.to(dtype), quotient.to(dtype)  # added by parts: + multiplies by alpha, and 0 times infinity is NaN
    return torch.complex(torch.real(x) + torch.real(y), torch.imag(x) + torch.imag(y))


def _lerp_dtype(args, result, out, i):
    """Only the loop over weights asks for the dtype; one weight is a number there."""
    return FOUND if isinstance(args[2], torch.Tensor) and args[2].dim() else None


@op(
    "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
    "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
    kernel="lerp",
    node=("LerpBackward1", "LerpBackward0"),
    inplace=True,
    out=Out(_lerp_dtype, "ordered"),
    tags="pointwise",
    grad={
        "self": lambda c, g: g * _conj(1 - c.weight),
        "end": lambda c, g: g * _conj(c.weight),
        "weight": lambda c, g: g * (c.end - c.self).conj(),
    },
    samples=lambda t: [(t(3, 4), t(4), 0.3), (t(3, 4), t(3, 4), t(4, lo=0, hi=1))],
)
def lerp(self, end, weight):
    """self + weight * (end - self)."""
    change, weight = end - self, _as_tensor(weight, self)
    return torch.where(weight.abs() < 0.5, self + weight * change, end - change * (1 - weight))


def _clamp_dtype(args, result, out, i):
    return None if any(isinstance(a, torch.Tensor) for a in args[1:]) else FOUND


def _clamp_self(g, x, lo, hi):
    if lo is None:
        return torch.where(x <= hi, g, 0)
    if hi is None:
        return torch.where(x >= lo, g, 0)
    inside, below = x >= lo, x <= hi
    # in place, for PyTorch's layout; x may be the same for all examples of a vmap where hi is not
    return torch.where(inside & below if is_mapped(g) else inside.logical_and_(below), g, 0)


def _clamp_min(g, x, lo, hi):
    below = x < lo
    return torch.where(below if hi is None else below & (lo < hi), g, 0)


def _clamp_max(g, x, lo, hi):
    above = x > hi
    return torch.where(above if lo is None else above | (hi < lo), g, 0)


@op(
    "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
    "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
    kernel="clamp",
    inplace=True,
    out=Out(_clamp_dtype, "ordered"),
    tags="pointwise",
    alias=("clip",),
    grad={
        "self": lambda c, g: _clamp_self(g, c.self, c.min, c.max),
        "min": lambda c, g: _clamp_min(g, c.self, c.min, c.max),
        "max": lambda c, g: _clamp_max(g, c.self, c.min, c.max),
    },
    samples=lambda t: [
        (t(3, 4), -0.5, 0.5),
        (t(3, 4), None, 0.5),
        (t(3, 4), t(4), None),
        (t(3, 4), t(4, lo=-1, hi=0), t(4, lo=0, hi=1)),
    ],
)
def clamp(self, min=None, max=None):
    """Limits each element to [min, max]; max where min > max."""
    low = self if min is None else torch.clamp_min(self, min)
    return low if max is None else torch.clamp_max(low, max)


@op(
    "clamp_min.Tensor(Tensor self, Tensor min) -> Tensor",
    "clamp_min(Tensor self, Scalar min) -> Tensor",
    kernel="clamp_min",
    node=("ClampMinBackward1", "ClampMinBackward0"),
    inplace=True,
    out=Out(_clamp_dtype),
    tags="pointwise",
    grad={
        "self": lambda c, g: _clamp_self(g, c.self, c.min, None),
        "min": lambda c, g: _clamp_min(g, c.self, c.min, None),
    },
    samples=lambda t: [(t(3, 4), 0.5), (t(3, 4), t(4))],
)
def clamp_min(self, min):
    """The larger of each element and min."""
    return torch.where((self < min) | (min != min), min, self)


@op(
    "clamp_max.Tensor(Tensor self, Tensor max) -> Tensor",
    "clamp_max(Tensor self, Scalar max) -> Tensor",
    kernel="clamp_max",
    node=("ClampMaxBackward1", "ClampMaxBackward0"),
    inplace=True,
    out=Out(_clamp_dtype),
    tags="pointwise",
    grad={
        "self": lambda c, g: _clamp_self(g, c.self, None, c.max),
        "max": lambda c, g: _clamp_max(g, c.self, None, c.max),
    },
    samples=lambda t: [(t(3, 4), 0.5), (t(3, 4), t(4))],
)
def clamp_max(self, max):
    """The smaller of each element and max."""
    return torch.where((self > max) | (max != max), max, self)
