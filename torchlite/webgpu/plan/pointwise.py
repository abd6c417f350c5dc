"""Element-wise ops: which expression each kernel row of the CPU core stands for.

Result types, and the errors for types that an op does not take,
are the core's own: the op is run once on tensors without elements for each combination of types,
and the answer is kept.
"""

from __future__ import annotations


import json

import torchlite as torch

from ..registry import ROWS
from ... import _C
from ..lazy import stream
from ..transport.bridge import Unsupported
from ..lazy.expression import Number, assign, expression, operand, result
from ..lazy.stream import core
from .operations import OPERATIONS, TESTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from ..._types import DType, Overload, Tensor


Tensor = _C.TensorBase
_call_below = _C.call_below
_result_type = _C.result_type


def _plain(name: str) -> Callable[..., Any]:
    return lambda a: (name, a)


def _alpha(name: str) -> Callable[..., Any]:
    def args(a: tuple[Any, ...]) -> tuple[str, tuple[Tensor | complex | float, ...]]:
        x, y, alpha = a
        return (name, (x, y)) if type(alpha) is int and alpha == 1 else (name + "_scaled", (x, y, alpha))

    return args


def _rsub(a: tuple[Any, ...]) -> Any:
    x, y, alpha = a
    return ("rsub", (x, y)) if type(alpha) is int and alpha == 1 else ("sub_scaled", (y, x, alpha))


def _clamp(a: tuple[Any, ...]) -> Any:
    x, lo, hi = a
    if lo is None:
        return "clamp_max", (x, hi)
    return ("clamp_min", (x, lo)) if hi is None else ("clamp", a)


def _nan_to_num(a: tuple[Any, ...]) -> tuple[str, tuple[Tensor, float, float, float]]:
    x, nan, high, low = a
    if not x.dtype.is_floating_point and not x.dtype.is_complex:
        return "nan_to_num", (x, 0, 0, 0)
    limits = torch.finfo(x.dtype)
    return "nan_to_num", (
        x,
        0.0 if nan is None else nan,
        limits.max if high is None else high,
        limits.min if low is None else low,
    )


def _gelu(a: tuple[Any, ...]) -> tuple[str, tuple[Tensor, ...]]:
    return ("gelu" if a[-1] == "none" else "gelu_tanh") + ("_backward" if len(a) == 3 else ""), a[:-1]


def _optional_eps(name: str) -> Callable[..., Any]:
    return lambda a: (name, a[:-1]) if a[-1] is None else (name + "_eps", a)


def _round(a: tuple[Any, ...]) -> tuple[str, tuple[Tensor | float, ...]]:
    if len(a) == 1 or a[1] == 0:
        return "round", a[:1]
    decimals = a[1]
    return ("round_decimals" if decimals > 0 else "round_tens"), (a[0], 10.0 ** min(abs(decimals), 308))


_ROUNDED = {None: "div", "trunc": "div_trunc", "floor": "floor_divide"}


def _div(a: tuple[Any, ...]) -> tuple[str, tuple[Tensor, Tensor | complex | float]]:
    return _ROUNDED.get(a[2] if len(a) > 2 else None, "div"), a[:2]


def _elu(a: tuple[Any, ...]) -> tuple[str, tuple[Tensor, float, float, float]]:
    x, alpha, scale, input_scale = a
    return "elu", (x, alpha * scale, scale, input_scale)


def _elu_backward(a: tuple[Any, ...]) -> tuple[str, tuple[Tensor, Tensor, float, float, float]]:
    g, alpha, scale, input_scale, is_result, x = a
    if is_result:
        return "elu_result_backward", (g, x, alpha * scale, scale, input_scale)
    return "elu_backward", (g, x, alpha * scale, scale, input_scale)


# The operands of a row are its tensor and number arguments in order, unless it is named in the update.
# What a row makes of its arguments may depend on nothing that their signature (native/src/core/device.c) leaves out
ROWS.update({name: _plain(name) for name in OPERATIONS if name in _C.kernels})
ROWS.update(
    complex=_plain("complex"),
    polar=_plain("polar"),
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
    round=_round,
    polygamma=lambda a: ("polygamma", (a[1], a[0])),
    leaky_relu_backward=lambda a: ("leaky_relu_backward", a[:3]),
    log_sigmoid_backward=lambda a: ("log_sigmoid_backward", a[:2]),
)

_types = {}
_supported = {}


def _stand_in(a: Any) -> Any:
    if isinstance(a, Tensor):
        return (
            _C.empty((0,), a.dtype) if a.dim() else _C.fill(_C.empty((), a.dtype), 1)
        )  # torch.empty follows the default device
    return a


def _result_dtype(ov: Overload, args: tuple[Any, ...]) -> DType:
    """The op's result type, by the core's rules; its errors come from here."""
    key = [id(ov), _C.get_default_dtype()]
    plain = True
    for a in args:
        if isinstance(a, Tensor):
            key.append((a.dtype, a.dim() > 0))
        elif isinstance(a, bool) or not isinstance(a, (int, float, complex)):
            key.append(a)
        else:
            key.append(type(a))
            plain = plain and (type(a) is not int or 0 <= a < 100)
    key = tuple(key)
    if plain:
        dtype = _types.get(key)
        if dtype is not None:
            return dtype
    with _C.GradMode(False):
        dtype = _call_below(ov, tuple([_stand_in(a) for a in args])).dtype
    _types[key] = dtype
    return dtype


def supported(op: str, compute: str, dtype: str, arity: int) -> bool:
    """Whether the kernels know an operation for a type."""
    key = op, compute, dtype, arity
    known = _supported.get(key)
    if known is None:
        if compute in ("float32", "float16", "bfloat16"):
            number = "float32"
        elif compute == "int64":
            number = "int64"
        else:
            number = "int32"
        nodes = [{"scalar": i, "dtype": number} for i in range(arity)] + [
            {"op": op, "args": list(range(arity)), "dtype": dtype, "compute": compute}
        ]
        try:
            stream.plan(
                "fused:"
                + json.dumps(
                    {
                        "ndim": 0,
                        "inputs": [],
                        "nodes": nodes,
                        "outputs": [{"node": arity, "dtype": dtype, "layout": "c"}],
                    },
                    separators=(",", ":"),
                )
            )
            known = True
        except Unsupported:
            known = False
        _supported[key] = known
    return known


def _shape(ov: Overload, args: tuple[Any, ...], tensors: list[Tensor]) -> tuple[int, ...]:
    shape = tuple(tensors[0].shape)
    for t in tensors[1:]:
        other = tuple(t.shape)
        if other != shape:
            break
    else:
        return shape
    n = max(t.dim() for t in tensors)
    out = [1] * n
    for t in tensors:
        for d, m in enumerate(t.shape, n - t.dim()):
            if out[d] == 1:
                out[d] = m
            elif m != 1 and m != out[d]:
                # the core words the error
                _call_below(
                    ov,
                    tuple(
                        [
                            _C.empty((1,), a.dtype).expand(a.shape)
                            if isinstance(a, Tensor) and a.dim()
                            else _stand_in(a)
                            for a in args
                        ]
                    ),
                )
                raise RuntimeError("shapes cannot be broadcast: %s" % [list(t.shape) for t in tensors])
    return tuple(out)


_signature = _C.signature
# rows whose operands are not their arguments in order:
# nothing is remembered of calls in which the same object is there twice
_MIXED = frozenset(("rsub",))
# rows that compute an operand, or look at a number's value; of round that is the form with decimals
_COMPUTED = frozenset(("elu", "elu_backward", "nan_to_num"))


def _by_value(ov: Overload, args: tuple[Any, ...]) -> bool:
    return ov.kernel in _COMPUTED or ov.kernel == "round" and len(args) > 1


def _places(args: tuple[Any, ...], operands: tuple[Tensor | float, ...], mixed: bool) -> tuple[int, ...] | None:
    """Where the operands are among the arguments; None where that cannot be told."""
    places = []
    for x in operands:
        found = [i for i, a in enumerate(args) if a is x]
        if len(found) > 1 and not mixed:
            found = [i for i in found if i not in places][:1]
        if len(found) != 1:
            return None
        places.append(found[0])
    return tuple(places)


def build(ov: Overload, row: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """(node, result type, order of dims in memory or None) of an op; None where the kernels do not have it.
    What it finds out is left to the core, which then runs calls with arguments of the same types by itself."""
    named = row(args)
    if named is None:
        return None
    op, operands = named
    entry = _entry(ov, args, op, operands)
    if entry is None:
        return None
    dtype, name, compute, number = entry
    tensors = [a for a in operands if isinstance(a, Tensor)]
    shape = _shape(ov, args, tensors)
    lead = deciding(ov, args, operands)
    order = layout(lead, operands, shape)
    if order is not None:
        shape = tuple([shape[d] for d in order])
    if not _by_value(ov, args) and not any([t.is_cpu for t in tensors]):
        key = _signature(args)
        if key is not None and (ov, key) not in _remembered:
            places = _places(args, operands, ov.kernel in _MIXED)
            if places is not None:
                _remembered.add((ov, key))
                core.remember(ov, key, op, places, name, compute, number, lead)
    nodes = []
    for a in operands:
        if isinstance(a, Tensor):
            a = operand(a if order is None else _in_order(a, order), shape)
            if type(a) is Number:
                a.dtype = number
                if number == "float32":
                    a.value = float(a.value)
            nodes.append(a)
        else:
            nodes.append(Number(a, number))
    return expression(op, nodes, name, compute, shape), dtype, order


_remembered = set()


def _entry(
    ov: Overload, args: tuple[Any, ...], op: str, operands: tuple[Tensor | float, ...]
) -> tuple[DType, str, str, str] | None:
    """(result type, its name, compute type, type of numbers) of an op; None where the kernels do not have it."""
    tensors = [a for a in operands if isinstance(a, Tensor)]
    dtype = _result_dtype(ov, args)
    wide = dtype
    if op in TESTS:
        wide = _result_type(*operands) if len(operands) > 1 else tensors[0].dtype
    if dtype.is_complex or dtype is torch.float64 or wide.is_complex or wide is torch.float64:
        return None
    for t in tensors:
        if t.dtype.is_complex or t.dtype is torch.float64 and t.dim():
            return None
    compute = wide.name
    if not supported(op, compute, dtype.name, len(operands)):
        return None
    if wide.is_floating_point:
        number = "float32"
    else:
        number = "int64" if compute == "int64" else "int32"
    return dtype, dtype.name, compute, number


_deciding = {}


def deciding(ov: Overload, args: tuple[Any, ...], operands: Any) -> Any:
    """The number of the operand whose layout the result has where they differ; -1: results lie in the usual order
    always. The CPU's kernel is asked once for each combination of types."""
    if ov.inplace:
        return 0
    key = (id(ov), *[a.dtype if isinstance(a, Tensor) and a.dim() else None for a in args])
    known = _deciding.get(key)
    if known is None:
        known = _deciding[key] = _ask_deciding(ov, args, operands)
    return known


def _ask_deciding(ov: Overload, args: tuple[Any, ...], operands: Any) -> Any:
    def laid(a: Any, x: Tensor) -> Any:
        if not isinstance(a, Tensor) or not a.dim():
            return _stand_in(a)
        t = _C.fill(_C.empty((2, 2), a.dtype), 1)
        return t.t() if a is x else t

    asked = False
    for i, x in enumerate(operands):
        if isinstance(x, Tensor) and x.dim():
            try:
                with _C.GradMode(False):
                    if not _call_below(ov, tuple([laid(a, x) for a in args])).is_contiguous():
                        return i
            except Exception:  # what the op refuses is said elsewhere
                return 0
            asked = True
    return -1 if asked else 0


def layout(lead: Any, operands: Any, shape: Any) -> Any:
    """The order of the result's dims in memory, None for the usual one."""
    if lead < 0:
        return None
    tensors = [a for a in operands if isinstance(a, Tensor)]
    if lead and isinstance(operands[lead], Tensor):
        tensors.insert(0, operands[lead])
    return core.layout(tensors, shape)


def _in_order(t: Tensor, order: tuple[int, ...]) -> Tensor:
    lead = len(order) - t.dim()
    if lead:
        t = t.detach().expand((1,) * lead + tuple(t.shape))
    return t.detach().permute(order)


def pointwise(ov: Overload, row: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Runs an element-wise op: puts it off, or writes it into self for an in-place overload."""
    if ov.inplace:
        _C.check_overlap(*args)
    built = build(ov, row, args)
    if built is None:
        named = row(args)
        if named is None or (
            named[0] not in ("complex", "polar")
            and not any([isinstance(a, complex) or isinstance(a, Tensor) and a.dtype.is_complex for a in args])
        ):
            return NotImplemented
        from .complex import complex_pointwise

        op, operands = named
        return complex_pointwise(ov, op, operands, args)
    node, dtype, order = built
    if not ov.inplace:
        r = result(node, dtype)
        # detached: a result is no view, whose base would have no part in its history
        return r if order is None else r.permute([order.index(d) for d in range(len(order))]).detach()
    self = args[0]
    shape = node.shape if order is None else tuple([node.shape[order.index(d)] for d in range(len(order))])
    if tuple(self.shape) != shape:
        raise RuntimeError(
            "output with shape %s doesn't match the broadcast shape %s" % (list(self.shape), list(shape))
        )
    if not _C.can_cast(dtype, self.dtype):
        raise RuntimeError(
            "result type %s can't be cast to the desired output type %s" % (dtype._scalar_type, self.dtype._scalar_type)
        )
    assign(self if order is None else self.detach().permute(order), node)
    return self
