"""Operations on the bits of integers and bools, greatest common divisors."""

import torchlite as torch
from ._declare import formulas, op
from ._out import Out


def _ints(t):
    return [(t(3, 4, lo=0, hi=9, dtype="int64"), t(4, lo=0, hi=9, dtype="int64")), (t(5, lo=0, hi=9, dtype="int32"), 3)]


@op(
    "bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor",
    "bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor",
    "bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    kernel="bitwise_and",
    inplace=True,
    out=Out(tags="leaf"),
    tags="pointwise",
    grad=None,
    differentiable=False,
    samples=_ints,
)
def bitwise_and(self, other):
    """Bits set in both; logical and for bool."""


@op(
    "bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor",
    "bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor",
    "bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    kernel="bitwise_or",
    inplace=True,
    out=Out(tags="leaf"),
    tags="pointwise",
    grad=None,
    differentiable=False,
    samples=_ints,
)
def bitwise_or(self, other):
    """Bits set in either; logical or for bool."""
    return torch.bitwise_xor(torch.bitwise_and(self, other), torch.bitwise_xor(self, other))


@op(
    "bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor",
    "bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor",
    "bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    kernel="bitwise_xor",
    inplace=True,
    out=Out(tags="leaf"),
    tags="pointwise reference",
    grad=None,
    differentiable=False,
    samples=_ints,
)
def bitwise_xor(self, other):
    """Bits set in exactly one; logical xor for bool."""
    return formulas.bitwise_xor(self, other)


@op(
    "bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor",
    "bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
    "bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    kernel="bitwise_left_shift",
    inplace=True,
    out=Out(tags="leaf"),
    tags="pointwise reference",
    grad=None,
    differentiable=False,
    samples=_ints,
)
def bitwise_left_shift(self, other):
    """self * 2**other in integers; 0 for shifts that are negative or not below the width."""
    return formulas.bitwise_left_shift(self, other)


@op(
    "bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor",
    "bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
    "bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    kernel="bitwise_right_shift",
    inplace=True,
    out=Out(tags="leaf"),
    tags="pointwise reference",
    grad=None,
    differentiable=False,
    samples=_ints,
)
def bitwise_right_shift(self, other):
    """floor(self / 2**other) in integers (the sign is kept)."""
    return formulas.bitwise_right_shift(self, other)


@op(
    "gcd(Tensor self, Tensor other) -> Tensor",
    kernel="gcd",
    inplace=True,
    out=Out(tags="leaf"),
    tags="pointwise reference",
    grad=None,
    differentiable=False,
    samples=lambda t: [(t(3, 4, lo=-9, hi=30, dtype="int64"), t(4, lo=-9, hi=30, dtype="int64"))],
)
def gcd(self, other):
    """Greatest common divisor, not negative; gcd(0, 0) is 0."""
    return formulas.gcd(self, other)


@op(
    "lcm(Tensor self, Tensor other) -> Tensor",
    kernel="lcm",
    inplace=True,
    out=Out(tags="leaf"),
    tags="pointwise reference",
    grad=None,
    differentiable=False,
    samples=lambda t: [(t(3, 4, lo=-9, hi=30, dtype="int64"), t(4, lo=-9, hi=30, dtype="int64"))],
)
def lcm(self, other):
    """Least common multiple, not negative; 0 when either is 0."""
    return formulas.lcm(self, other)
