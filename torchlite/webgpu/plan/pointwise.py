"""Element-wise ops: which operation of the kernels each kernel row of the CPU core stands for, over which arguments.

The core finds the result's dtype and layout, and raises the op's errors (native/src/gpu/gpu_resolve.c). It caches what
it found, so later calls with arguments of the same types run without Python.
"""

from __future__ import annotations


import torchlite as torch

from ..registry import ROWS
from ... import _C
from ..lazy.stream import core
from .operations import OPERATIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from ..._types import Overload

    # an operation and the places of its operands among the arguments; and numbers that follow these, where they are
    # made of the arguments' values: such a call is not remembered, nor is one with () here
    Named = tuple[str, tuple[int, ...]] | tuple[str, tuple[int, ...], tuple[float, ...]]


Tensor = _C.TensorBase
elementwise = core.elementwise


def _alpha(name: str) -> Callable[..., Named]:
    def named(a: tuple[Any, ...]) -> Named:
        return (name, (0, 1)) if type(a[2]) is int and a[2] == 1 else (name + "_scaled", (0, 1, 2))

    return named


def _rsub(a: tuple[Any, ...]) -> Named:
    return ("rsub", (0, 1)) if type(a[2]) is int and a[2] == 1 else ("sub_scaled", (1, 0, 2))


def _clamp(a: tuple[Any, ...]) -> Named:
    if a[1] is None:
        return "clamp_max", (0, 2)
    return ("clamp_min", (0, 1)) if a[2] is None else ("clamp", (0, 1, 2))


def _nan_to_num(a: tuple[Any, ...]) -> Named:
    x, nan, high, low = a
    if not x.dtype.is_floating_point and not x.dtype.is_complex:
        return "nan_to_num", (0,), (0, 0, 0)
    limits = torch.finfo(x.dtype)
    return (
        "nan_to_num",
        (0,),
        (
            0.0 if nan is None else nan,
            limits.max if high is None else high,
            limits.min if low is None else low,
        ),
    )


def _gelu(a: tuple[Any, ...]) -> Named:
    name = "gelu" if a[-1] == "none" else "gelu_tanh"
    return (name + "_backward", (0, 1)) if len(a) == 3 else (name, (0,))


def _optional_eps(name: str) -> Callable[..., Named]:
    def named(a: tuple[Any, ...]) -> Named:
        places = tuple(range(len(a)))
        return (name, places[:-1]) if a[-1] is None else (name + "_eps", places)

    return named


def _round(a: tuple[Any, ...]) -> Named:
    if len(a) == 1:
        return "round", (0,)
    if a[1] == 0:
        return "round", (0,), ()
    return "round_decimals" if a[1] > 0 else "round_tens", (0,), (10.0 ** min(abs(a[1]), 308),)


_ROUNDED = {None: "div", "trunc": "div_trunc", "floor": "floor_divide"}


def _div(a: tuple[Any, ...]) -> Named:
    name = _ROUNDED.get(a[2] if len(a) > 2 else None, "div")
    return (name, (0, 1)) if name == "div" else _rounding(name, a)


def _rounding(name: str, a: tuple[Any, ...]) -> Named:
    """Division by a tensor of 16 bits rounds after each step; one of one element is a number, as on the CPU."""
    dtype = _C.result_type(a[0], a[1])
    if dtype.itemsize != 2 or not dtype.is_floating_point:
        return name, (0, 1)
    steps = isinstance(a[1], Tensor) and a[1].numel() != 1
    return f"{name}_{dtype.name}" if steps else name, (0, 1), ()  # () as the number of elements is in no signature


def _elu(a: tuple[Any, ...]) -> Named:
    x, alpha, scale, input_scale = a
    return "elu", (0,), (alpha * scale, scale, input_scale)


def _elu_backward(a: tuple[Any, ...]) -> Named:
    g, alpha, scale, input_scale, is_result, x = a
    return "elu_result_backward" if is_result else "elu_backward", (0, 5), (alpha * scale, scale, input_scale)


# A name alone: the operation over all arguments. What a function makes of the arguments may depend on nothing that
# their signature (native/src/core/device.c) leaves out, unless it gives numbers
ROWS.update({name: name for name in OPERATIONS if name in _C.kernels})
ROWS.update(
    complex="complex",
    polar="polar",
    add=_alpha("add"),
    sub=_alpha("sub"),
    rsub=_rsub,
    clamp=_clamp,
    nan_to_num=_nan_to_num,
    gelu=_gelu,
    gelu_backward=_gelu,
    elu=_elu,
    elu_backward=_elu_backward,
    logit=_optional_eps("logit"),
    logit_backward=_optional_eps("logit_backward"),
    div=_div,
    floor_divide=lambda a: _rounding("floor_divide", a),
    round=_round,
    polygamma=lambda a: ("polygamma", (1, 0)),
    leaky_relu_backward=lambda a: ("leaky_relu_backward", (0, 1, 2)),
    log_sigmoid_backward=lambda a: ("log_sigmoid_backward", (0, 1)),
)


def pointwise(ov: Overload, row: str | Callable[..., Named], args: tuple[Any, ...]) -> Any:
    """Runs an element-wise op: makes a lazy result, or writes into self for an in-place overload."""
    places = numbers = None
    if isinstance(row, str):
        op = row
    else:
        op, places, *rest = row(args)
        if rest:
            numbers = rest[0]
    r = elementwise(ov, args, op, places, numbers)
    if r is not NotImplemented:
        return r
    if op not in ("complex", "polar") and not any(
        [isinstance(a, complex) or isinstance(a, Tensor) and a.dtype.is_complex for a in args]
    ):
        return NotImplemented
    from .complex import complex_pointwise

    operands = list(args) if places is None else [*[args[i] for i in places], *(numbers or ())]
    return complex_pointwise(ov, op, operands, args)
