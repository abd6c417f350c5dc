"""Element-wise ops that have no row of their own in pointwise.py: those of several results."""

from __future__ import annotations


import torchlite as torch

from ..lazy.expression import expression, operand, result
from ..fallback import cpu_result
from ..registry import planner
from ..layout import as_on_cpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from ..._types import Overload, Tensor


@planner("frexp")
@as_on_cpu()
def _frexp(ov: Overload, a: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
    (x,) = a
    if not x.dtype.is_floating_point:
        return cpu_result(ov, a)
    shape, name = tuple(x.shape), x.dtype.name
    mantissa = expression("frexp_mantissa", [operand(x, shape)], name, name, shape)
    exponent = expression("frexp_exponent", [operand(x, shape)], "int32", "float32", shape)
    return result(mantissa, x.dtype), result(exponent, torch.int32)
