"""Element-wise ops that have no row of their own in _pointwise.py: those of several results."""

import torchlite as torch

from ._fusion import expression, operand, result
from ._run import planner
from ._shape import cpu_error


@planner("frexp")
def _frexp(ov, a):
    (x,) = a
    if not x.dtype.is_floating_point:
        return cpu_error(ov, a)
    shape, name = tuple(x.shape), x.dtype.name
    mantissa = expression("frexp_mantissa", [operand(x, shape)], name, name, shape)
    exponent = expression("frexp_exponent", [operand(x, shape)], "int32", "float32", shape)
    return result(mantissa, x.dtype), result(exponent, torch.int32)
