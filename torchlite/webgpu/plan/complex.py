"""Element-wise ops on complex64 tensors, which are pairs of float32 in memory.

A complex result is an expression of its shape and a last dim of two. Additions and the like treat both parts alike,
so later ops are fused with them. Multiplications and functions read the parts separately (complex_<name> in js_bridge:
real part, imaginary part, which part is wanted).
Real operands have the imaginary part 0, as in the core.
"""

from __future__ import annotations


import torchlite as torch

from ... import _C
from ..._core.errors import output_shape
from ..lazy.expression import Coord, Number, assign, expression, operand, result
from ..lazy.stream import core
from .reduce import dims_of, own
from ..fallback import ask_core
from ..tensors import device_copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from ..._types import DType, Leaf, Node, Overload, Tensor
else:
    Tensor = _C.TensorBase


complex64, float32, boolean = torch.complex64, torch.float32, torch.bool
FUNCTIONS = frozenset(
    """square reciprocal sgn exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sinh cosh tanh sin cos tan asin acos
    acosh asinh atanh atan sigmoid silu sinc mul div pow logaddexp""".split()
)
_REAL = frozenset("abs angle eq ne isnan isinf isfinite logical_not logical_and logical_or logical_xor".split())


def _number(x: float) -> Any:
    return Number(float(x), "float32")


class Parts:
    """Nodes of expressions over shape, or over (*shape, 2) for complex results."""

    def __init__(self, shape: Any, real: bool) -> None:
        self.over = shape if real else (*shape, 2)
        self.real = real
        self.which = None if real else Coord(len(shape))

    def node(self, op: str, *args: Any, dtype: str = "float32", compute: str = "float32") -> Node:
        return expression(op, list(args), dtype, compute, self.over)

    def apart(self, x: Any) -> tuple[Any, Any]:
        """(real part, imaginary part) of an operand."""
        if not isinstance(x, Tensor):
            x = complex(x)
            return _number(x.real), _number(x.imag)
        if x.is_cpu:
            return self.apart(x.item())
        if not x.dtype.is_complex:
            return operand(x if self.real else x.detach().unsqueeze(-1), self.over), _number(0)
        pair = torch.view_as_real(x.detach())
        pick = (lambda k: pair.select(-1, k)) if self.real else lambda k: pair.narrow(-1, k, 1)
        return operand(pick(0), self.over), operand(pick(1), self.over)

    def both(self, x: Tensor | float) -> Leaf | Node:
        """An operand whose last dim are its parts."""
        if isinstance(x, Tensor) and not x.is_cpu and x.dtype.is_complex:
            return operand(torch.view_as_real(x.detach()), self.over)
        re, im = self.apart(x)
        return self.node("where", self.which, im, re, compute="float32")

    def of(self, op: str, *pairs: tuple[Any, Any]) -> Any:
        """A function's result of which each element is the part that its place asks for."""
        return self.node("complex_" + op, *[n for pair in pairs for n in pair], self.which)

    def pair(self, op: str, *pairs: Any) -> tuple[Node, Node]:
        """Both parts of a function's result at every place."""
        parts = [n for pair in pairs for n in pair]
        return self.node("complex_" + op, *parts, _number(0)), self.node("complex_" + op, *parts, _number(1))

    def test(self, op: str, *args: Any) -> Node:
        return self.node(op, *args, dtype="bool")

    def truth(self, x: Tensor) -> Node:
        return self.test("logical_or", *self.apart(x))

    def join(self, op: str, a: Any, b: Any) -> Node:
        return self.node(op, a, b, dtype="bool", compute="bool")


def _scaled(sign: str) -> Callable[..., Any]:
    def build(p: Parts, x: Tensor, y: Tensor, alpha: complex | int) -> Node:
        if isinstance(alpha, (int, float)) and not isinstance(y, complex):
            return p.node(sign + "_scaled", p.both(x), p.both(y), _number(alpha))
        return p.node(sign, p.both(x), p.of("mul", p.apart(alpha), p.apart(y)))

    return build


def _lerp(p: Any, x: Any, y: Any, weight: Any) -> Node:
    step = p.node("sub", p.both(y), p.both(x))
    if not isinstance(weight, (int, float)):
        a, b, w = p.apart(x), p.apart(y), p.apart(weight)
        slope = tuple([p.node("sub", m, n) for m, n in zip(b, a)])
        near = p.node("lt", p.node("hypot", *w), _number(0.5), dtype="bool")
        rest = (p.node("rsub", w[0], _number(1)), p.node("neg", w[1]))
        return p.node(
            "where",
            near,
            p.node("add", p.both(x), p.of("mul", w, slope)),
            p.node("sub", p.both(y), p.of("mul", slope, rest)),
        )
    if abs(weight) < 0.5:
        return p.node("add_scaled", p.both(x), step, _number(weight))
    return p.node("sub_scaled", p.both(y), step, _number(1 - weight))


def _addc(op: str) -> Callable[..., Any]:
    def build(p: Parts, x: Tensor, a: Tensor, b: Tensor, value: Any) -> Node:
        ratio = p.pair(op, p.apart(a), p.apart(b)) if not isinstance(value, (int, float)) else None
        if ratio is not None:
            return p.node("add", p.both(x), p.of("mul", p.apart(value), ratio))
        return p.node("add_scaled", p.both(x), p.of(op, p.apart(a), p.apart(b)), _number(value))

    return build


def _slope(square: Any) -> Callable[..., Any]:
    """grad * conj((1 - y) y), or grad * conj(1 - y y)"""

    def build(p: Any, g: Tensor, y: Any) -> Node:
        y = p.apart(y)
        one_less = (p.node("rsub", y[0], _number(1)), p.node("neg", y[1]))
        re, im = p.pair("mul", one_less, y) if not square else p.pair("square", y)
        if square:
            re, im = p.node("rsub", re, _number(1)), p.node("neg", im)
        return p.of("mul", p.apart(g), (re, p.node("neg", im)))

    return build


def _where(p: Parts, condition: Tensor, x: Tensor | float, y: Tensor | float) -> Node:
    if isinstance(condition, Tensor):
        condition = operand(condition.detach().unsqueeze(-1), p.over)
    else:
        condition = _number(condition)
    return p.node("where", condition, p.both(x), p.both(y))


def _nan_to_num(p: Parts, x: Tensor, nan: float, high: float, low: float) -> Node:
    return p.node("nan_to_num", p.both(x), _number(nan), _number(high), _number(low))


def _each(op: Any) -> Callable[..., Any]:
    return lambda p, *args: p.node(op, *[p.both(x) for x in args])


def _any(op: str, how: str = "logical_or") -> Callable[..., Any]:
    def build(p: Parts, *args: Any) -> Node:
        parts = list(zip(*[p.apart(x) for x in args]))
        return p.join(how, *[p.test(op, *part) for part in parts])

    return build


def _truths(op: str) -> Callable[..., Any]:
    return lambda p, x, y: p.join(op, p.truth(x), p.truth(y))


def _polar(p: Any, r: Any, angle: Any) -> Any:
    (r, _), (angle, _) = p.apart(r), p.apart(angle)
    return p.node("where", p.which, p.node("mul", r, p.node("sin", angle)), p.node("mul", r, p.node("cos", angle)))


def _conj(p: Parts, x: Tensor) -> Node:
    parts = p.both(x)
    return p.node("where", p.which, p.node("neg", parts), parts)


BUILD: dict[str, Any] = {
    "add": _each("add"),
    "sub": _each("sub"),
    "rsub": _each("rsub"),
    "neg": _each("neg"),
    "add_scaled": _scaled("add"),
    "sub_scaled": _scaled("sub"),
    "conj_physical": _conj,
    "complex": lambda p, re, im: p.node("where", p.which, p.apart(im)[0], p.apart(re)[0]),
    "polar": _polar,
    "lerp": _lerp,
    "addcmul": _addc("mul"),
    "addcdiv": _addc("div"),
    "where": _where,
    "nan_to_num": _nan_to_num,
    "sigmoid_backward": _slope(False),
    "tanh_backward": _slope(True),
    "abs": lambda p, x: p.node("hypot", *p.apart(x)),
    "angle": lambda p, x: p.node("atan2", *reversed(p.apart(x))),
    "eq": _any("eq", "logical_and"),
    "ne": _any("ne"),
    "isnan": _any("isnan"),
    "isinf": _any("isinf"),
    "isfinite": _any("isfinite", "logical_and"),
    "logical_not": lambda p, x: p.node("logical_not", p.truth(x), dtype="bool", compute="bool"),
    "logical_and": _truths("logical_and"),
    "logical_or": _truths("logical_or"),
    "logical_xor": _truths("logical_xor"),
}


def _order(lead: int, operands: list[Any], shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The order of the result's dims in memory, None for the usual one; `lead` as core.result_of gives it."""
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


def complex_pointwise(ov: Any, op: Any, operands: Any, args: Any) -> Any:
    """The result of an element-wise op with a complex operand or result; NotImplemented where there is no kernel."""
    build = BUILD.get(op)
    if build is None and op not in FUNCTIONS:
        return NotImplemented
    tensors = [a for a in operands if isinstance(a, Tensor)]
    dtype, shape, lead = core.result_of(ov, args, operands)
    real = op in _REAL
    if op in ("abs", "angle"):
        here = float32
    else:
        here = boolean if real else complex64
    if dtype is not here:
        return NotImplemented  # the device has no complex128
    for t in tensors:
        if (t.dtype is torch.complex128 or t.dtype is torch.float64) and t.dim():
            return NotImplemented
    order = _order(lead, operands, shape)
    if order is not None:
        shape = tuple([shape[d] for d in order])
        operands = [_in_order(a, order) if isinstance(a, Tensor) else a for a in operands]
    p = Parts(shape, real)
    node = build(p, *operands) if build else p.of(op, *[p.apart(x) for x in operands])
    back = None if order is None else [order.index(d) for d in range(len(order))]
    if ov.inplace:
        self = args[0]
        if tuple(self.shape) != (shape if back is None else tuple([shape[d] for d in back])):
            raise output_shape(self.shape, shape)
        _C.check_cast(dtype, self.dtype)
        target = self.detach() if order is None else self.detach().permute(order)
        if self.dtype.is_complex and not real:
            assign(torch.view_as_real(target), node)
            return self
        r = _over(result(node, float32 if not real else dtype), dtype, shape)
        device_copy(target, r)
        return self
    r = _over(result(node, float32 if not real else dtype), dtype, shape)
    return r if back is None else r.permute(back).detach()  # no view of r


def _over(r: Tensor, dtype: DType, shape: Any) -> Any:
    """A result's memory as a tensor of its own type that is no view."""
    if not dtype.is_complex:
        return r
    buffer = _C.geometry(r)[0]
    return _C.device_tensor(1, buffer, buffer.nbytes, dtype, shape)


# ---- products over a dim ---------------------------------------------------------------------------------------------
def product(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    """prod: halves of a dim are multiplied until one slice is left."""
    t = args[0].detach()
    dims = dims_of(args[1] if len(args) == 4 else None, t.dim())
    if dims is None or not t.numel():
        return ask_core(ov, args)
    keepdim = len(args) == 4 and args[2]
    if not dims:
        return t.clone()
    if len(dims) == t.dim():
        shape = (1,) * t.dim() if keepdim else ()
        return _fold(t.reshape(-1), 0).reshape(shape).clone()
    for d in reversed(dims):
        t = _fold(t, d)
        t = t if keepdim else t.squeeze(d)
    return own(t)


def _fold(t: Tensor, d: int) -> Tensor:
    while t.shape[d] > 1:
        n = t.shape[d]
        half = n // 2
        pairs = t.narrow(d, 0, half) * t.narrow(d, half, half)
        t = torch.cat([pairs, t.narrow(d, n - 1, 1)], d) if n % 2 else pairs
    return t


def running_product(t: Tensor, d: int) -> Tensor:
    """cumprod: each element times the one 1, 2, 4, ... places before it."""
    t = t.detach()
    if not t.dim():
        return t.clone()
    n, step = t.shape[d], 1
    while step < n:
        t = torch.cat([t.narrow(d, 0, step), t.narrow(d, step, n - step) * t.narrow(d, 0, n - step)], d)
        step *= 2
    return t if step > 1 else t.clone()
