"""Activation functions, and their gradients as operations of their own."""

import math
import struct

import torchlite as torch
from .._core.errors import not_implemented
from ._declare import op
from ._out import FOUND, Out, SCALAR_TYPE
from .binary import _in_dtype

_SQRT_HALF, _SQRT_2_PI = 0.7071067811865476, 0.7978845608028654  # sqrt(1/2), sqrt(2/pi)


def _line(t):
    return [(t(3, 4, lo=-4, hi=4),), (t(5, lo=-4, hi=4),)]


def _grad_pair(t):
    return [(t(3, 4), t(3, 4, lo=-4, hi=4))]


# ---- piecewise linear --------------------------------------------------------------------------------------------
def _as_float(x):
    """A number as PyTorch's C++ has it where it says float: 24 bits of it, whatever the tensor's dtype."""
    return struct.unpack("f", struct.pack("f", x))[0]


@op(
    "relu(Tensor self) -> Tensor",
    kernel="relu",
    inplace=True,
    tags="pointwise",
    grad={"self": lambda c, g: torch.threshold_backward(g, c.result, 0)},
    samples=_line,
)
def relu(self):
    """max(x, 0)."""
    return torch.clamp_min(self, 0)


@op(
    "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
    kernel="threshold",
    inplace=True,
    out=True,
    tags="pointwise expanded",  # written twice, it stays the same
    variants="function",
    grad={"self": lambda c, g: torch.threshold_backward(g, c.self, c.threshold)},
    samples=lambda t: [(t(3, 4), 0.1, 5.0)],
)
def threshold(self, threshold, value):
    """x where x > threshold, else value."""
    return torch.where(self <= _in_dtype(self, threshold), _in_dtype(self, value), self)


@op(
    "threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
    kernel="threshold_backward",
    tags="pointwise",
    variants="function",
    grad={
        "grad_output": lambda c, g: torch.threshold_backward(g, c.self, c.threshold),
        "self": lambda c, g: torch.zeros_like(g),
    },
    samples=lambda t: [(t(3, 4), t(3, 4), 0.1)],
)
def threshold_backward(grad_output, self, threshold):
    """grad_output where self > threshold, else 0."""
    return torch.where(self <= _in_dtype(self, threshold), 0, grad_output)


@op(
    "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
    kernel="hardtanh",
    inplace=True,
    out=Out(FOUND),
    tags="pointwise",
    module="nn",
    grad={"self": lambda c, g: torch._C._nn.hardtanh_backward(g, c.self, c.min_val, c.max_val)},
    samples=lambda t: [(t(3, 4),), (t(5), -0.5, 0.7)],
)
def hardtanh(self, min_val=-1, max_val=1):
    """x limited to [min_val, max_val]."""
    return torch.clamp(self, _in_dtype(self, min_val), _in_dtype(self, max_val))


@op(
    "hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
    kernel="hardtanh_backward",
    tags="pointwise",
    module="nn",
    grad={
        "grad_output": lambda c, g: torch._C._nn.hardtanh_backward(g, c.self, c.min_val, c.max_val),
        "self": lambda c, g: torch.zeros_like(g),
    },
    samples=lambda t: [(t(3, 4), t(3, 4), -0.5, 0.7)],
)
def hardtanh_backward(grad_output, self, min_val, max_val):
    """grad_output where self lies between min_val and max_val, else 0."""
    return torch.where((self <= min_val) | (self >= max_val), 0, grad_output)


def _refuse_slope(name, more=""):
    raise RuntimeError(
        f"In-place {name} backward calculation is triggered with a negative slope which is not supported. "
        "This is caused by calling in-place forward function with a negative slope, "
        f"please call out-of-place version instead.{more}"
    )


def _leaky_in_place(c, g):
    if c.negative_slope < 0:  # the result does not tell the input's sign then
        _refuse_slope(
            "leakyReLu",
            " File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu "
            "backward calculation with negative slope",
        )
    return torch._C._nn.leaky_relu_backward(g, c.result, c.negative_slope, True)


@op(
    "leaky_relu_(Tensor(a!) self, Scalar negative_slope=0.01) -> Tensor(a!)",
    kernel="leaky_relu",
    tags="pointwise",
    module="nn",
    node="LeakyReluBackward0",
    grad={"self": _leaky_in_place},
)
def leaky_relu_(self, negative_slope=0.01):
    """In-place leaky_relu."""
    return torch._C._nn.leaky_relu(self, negative_slope)


@op(
    "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
    kernel="leaky_relu",
    out=Out(FOUND),
    tags="pointwise",
    module="nn",
    grad={"self": lambda c, g: torch._C._nn.leaky_relu_backward(g, c.self, c.negative_slope, False)},
    samples=lambda t: [(t(3, 4),), (t(5), 0.3)],
)
def leaky_relu(self, negative_slope=0.01):
    """x where x > 0, else negative_slope * x."""
    return torch.where(self > 0, self, self * negative_slope)


@op(
    "leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor",
    kernel="leaky_relu_backward",
    tags="pointwise",
    module="nn",
    grad={
        "grad_output": lambda c, g: torch._C._nn.leaky_relu_backward(g, c.self, c.negative_slope, False),
        "self": lambda c, g: torch.zeros_like(g),
    },
    samples=lambda t: [(t(3, 4), t(3, 4), 0.3, False)],
)
def leaky_relu_backward(grad_output, self, negative_slope, self_is_result):
    """grad_output where self > 0, else negative_slope * grad_output."""
    return torch.where(self > 0, grad_output, grad_output * negative_slope)


@op(
    "hardswish(Tensor self) -> Tensor",
    kernel="hardswish",
    inplace=True,
    out=Out(FOUND),
    tags="pointwise",
    module="nn",
    grad={"self": lambda c, g: torch._C._nn.hardswish_backward(g, c.self)},
    samples=_line,
)
def hardswish(self):
    """x * min(max(x + 3, 0), 6) / 6."""
    return self * torch.clamp(self + 3, 0, 6) / 6


@op(
    "hardswish_backward(Tensor grad_output, Tensor self) -> Tensor",
    kernel="hardswish_backward",
    tags="pointwise",
    module="nn",
    grad={
        "grad_output": lambda c, g: torch._C._nn.hardswish_backward(g, c.self),
        "self": lambda c, g: torch.where((c.self > -3) & (c.self < 3), g * c.grad_output / 3, 0),
    },
    samples=_grad_pair,
)
def hardswish_backward(grad_output, self):
    """grad_output times the slope of hardswish: 0 below -3, 1 above 3, x / 3 + 1/2 between."""
    return torch.where(self <= -3, 0, torch.where(self < 3, grad_output * (self / 3 + 0.5), grad_output))


@op(
    "hardsigmoid(Tensor self) -> Tensor",
    kernel="hardsigmoid",
    inplace=True,
    out=Out(FOUND),
    tags="pointwise",
    module="nn",
    grad={"self": lambda c, g: torch._C._nn.hardsigmoid_backward(g, c.self)},
    samples=_line,
)
def hardsigmoid(self):
    """min(max(x + 3, 0), 6) / 6."""
    return torch.clamp(self + 3, 0, 6) / 6


@op(
    "hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor",
    kernel="hardsigmoid_backward",
    tags="pointwise",
    module="nn",
    grad={
        "grad_output": lambda c, g: torch._C._nn.hardsigmoid_backward(g, c.self),
        "self": lambda c, g: torch.zeros_like(g),
    },
    samples=_grad_pair,
)
def hardsigmoid_backward(grad_output, self):
    """grad_output times the float32 next to 1/6 between -3 and 3, else 0."""
    return torch.where((self > -3) & (self < 3), grad_output * _as_float(1 / 6), 0)


@op(
    "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    out=Out(FOUND),
    tags="pointwise",
    module="nn",
    samples=lambda t: [(t(3, 4),), (t(5), 0.2)],
)
def softshrink(self, lambd=0.5):
    """x moved towards 0 by lambd; 0 where |x| <= lambd."""
    if self.is_floating_point() and not 0 <= lambd <= torch.finfo(self.dtype).max:
        raise RuntimeError(
            f"lambda must be in range [0, {torch.finfo(self.dtype).max:g}] for input dtype "
            f"{self.dtype._scalar_type}, but found {lambd:g}"
        )
    return torch._C._nn._softshrink(self, lambd)


@op(
    "_softshrink(Tensor self, Scalar lambd) -> Tensor",
    kernel="softshrink",
    tags="pointwise",
    module="nn",
    grad={"self": lambda c, g: torch._C._nn.shrink_backward(g, c.self, c.lambd)},
)
def _softshrink(self, lambd):
    """softshrink without the check of lambd."""
    return torch.where(self.abs() <= lambd, 0, self - self.sign() * lambd)


@op(
    "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    kernel="hardshrink",
    out=Out(FOUND),
    tags="pointwise",
    grad={"self": lambda c, g: torch._C._nn.shrink_backward(g, c.self, c.lambd)},
    samples=lambda t: [(t(3, 4),), (t(5), 0.2)],
)
def hardshrink(self, lambd=0.5):
    """x where |x| > lambd, else 0."""
    return torch.where(self.abs() <= lambd, 0, self)


@op(
    "shrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor",
    kernel="shrink_backward",
    tags="pointwise python",
    module="nn",
    grad={
        "grad_output": lambda c, g: torch._C._nn.shrink_backward(g, c.self, c.lambd),
        "self": lambda c, g: torch.zeros_like(g),
    },
    samples=lambda t: [(t(3, 4), t(3, 4), 0.2)],
)
def shrink_backward(grad_output, self, lambd):
    """grad_output where |self| > lambd, else 0."""
    return torch.where(self.abs() <= lambd, 0, grad_output)


@op("prelu(Tensor self, Tensor weight) -> Tensor", samples=lambda t: [(t(2, 3, 4), t(3)), (t(5), t(1))])
def prelu(self, weight):
    """x where x > 0, else weight * x, with one weight for all or one for each channel (dim 1)."""
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    if self.dtype != weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {self.dtype._scalar_type} and {weight.dtype._scalar_type}"
        )
    if weight.numel() != 1:
        if self.dim() == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = self.size(1) if self.dim() > 1 else 1
        if channels != weight.numel():
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.numel()} "
                f"and channel size = {channels}."
            )
        weight = weight.view([1] + [-1] + [1] * (self.dim() - 2)) if self.dim() > 1 else weight
    elif weight.dim() == 1:
        weight = weight.view([])
    return torch.ops.functions._prelu_kernel(self, weight)


def _prelu_curvature(c, g):
    """The two slopes of prelu meet at 0; PyTorch counts 0 to the right one here,
    and to the left one in the first gradient."""
    x, w, (gx, gw) = c.self, c.weight, g
    gx, gw = torch.zeros_like(x) if gx is None else gx, torch.zeros_like(x) if gw is None else gw
    return {
        "grad_output": torch.where(x >= 0, gx, gx * w + gw * x),
        "self": torch.where(x >= 0, 0, gw * c.grad_output),
        "weight": torch.where(x >= 0, 0, gx * c.grad_output),
    }


@op(
    "_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)",
    module="aten",
    variants="function",
    save=("grad_output", "self", "weight"),
    grad=_prelu_curvature,
    samples=lambda t: [(t(3, 4), t(3, 4), t(1, 4))],
)
def _prelu_kernel_backward(grad_output, self, weight):
    """The gradients of prelu for its input and, not yet summed, its weight."""
    right = self > 0
    return torch.where(right, grad_output, weight * grad_output), torch.where(right, 0, self * grad_output)


@op(
    "_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
    kernel="prelu",
    module="aten",
    tags="pointwise",
    save=("self", "weight"),
    grad=lambda c, g: dict(zip(("self", "weight"), torch.ops.functions._prelu_kernel_backward(g, c.self, c.weight))),
    samples=lambda t: [(t(3, 4), t(1, 4))],
)
def _prelu_kernel(self, weight):
    """x where x > 0, else weight * x, for a weight that broadcasts."""
    if self.dtype != weight.dtype:
        raise RuntimeError(f"Found dtype {weight.dtype._scalar_type} but expected {self.dtype._scalar_type}")
    if not self.is_floating_point():
        raise not_implemented("prelu_cpu", self.dtype)
    return torch.where(self > 0, self, weight * self)


# ---- gelu, silu, mish --------------------------------------------------------------------------------------------
@op(
    "gelu(Tensor self, *, str approximate='none') -> Tensor",
    kernel="gelu",
    inplace=True,
    out=Out(FOUND),
    tags="pointwise",
    module="nn",
    grad={"self": lambda c, g: torch._C._nn.gelu_backward(g, c.self, approximate=c.approximate)},
    samples=lambda t: _line(t) + [(t(5), {"approximate": "tanh"})],
)
def gelu(self, approximate="none"):
    """x * Phi(x), Phi the normal distribution function; "tanh": 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))."""
    if approximate == "none":
        return self * (0.5 * torch.erfc(-self * _SQRT_HALF))
    return self * torch.sigmoid(2 * _SQRT_2_PI * (self + 0.044715 * self * self * self))


def _gelu_curvature(c, g):
    x, k = c.self, 0.7978845608028654
    if c.approximate == "none":
        return g * c.grad_output * (torch.exp(-0.5 * x * x) * (0.3989422804014327 * (2 - x * x)))
    t = torch.tanh(k * (x + 0.044715 * x * x * x))
    d, s = k * (1 + 0.134145 * x * x), 1 - t * t
    return g * c.grad_output * (s * d + 0.5 * x * s * (k * 0.26829 * x - 2 * t * d * d))


@op(
    "gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor",
    kernel="gelu_backward",
    tags="pointwise",
    module="nn",
    grad={
        "grad_output": lambda c, g: torch._C._nn.gelu_backward(g, c.self, approximate=c.approximate),
        "self": _gelu_curvature,
    },
    samples=lambda t: _grad_pair(t) + [(t(5), t(5), {"approximate": "tanh"})],
)
def gelu_backward(grad_output, self, approximate="none"):
    """grad_output times the slope of gelu."""
    x = self
    if approximate == "none":
        density = torch.exp(-0.5 * x * x) * (0.5 * _SQRT_2_PI)
        return grad_output * (0.5 * torch.erfc(-x * _SQRT_HALF) + x * density)  # erf would lose what is far below 0
    s = torch.sigmoid(2 * _SQRT_2_PI * (x + 0.044715 * x * x * x))
    return grad_output * (s + 2 * x * s * (1 - s) * (_SQRT_2_PI * (1 + 0.134145 * x * x)))


@op(
    "silu(Tensor self) -> Tensor",
    kernel="silu",
    inplace=True,
    out=Out(FOUND),
    tags="pointwise",
    module="nn",
    grad={"self": lambda c, g: torch._C._nn.silu_backward(g, c.self.conj())},
    samples=_line,
)
def silu(self):
    """x * sigmoid(x)."""
    return self * torch.sigmoid(self)


def _silu_curvature(c, g):
    x = c.self
    s = torch.sigmoid(x)
    return g * (c.grad_output * (s * (1 - s) * (2 + x * (1 - 2 * s)))).conj()


@op(
    "silu_backward(Tensor grad_output, Tensor self) -> Tensor",
    tags="pointwise",
    module="nn",
    kernel="silu_backward",
    grad={"grad_output": lambda c, g: torch._C._nn.silu_backward(g, c.self.conj()), "self": _silu_curvature},
    samples=_grad_pair,
)
def silu_backward(grad_output, self):
    """grad_output * s * (1 + x * (1 - s)), s = sigmoid(x)."""
    s = torch.sigmoid(self)
    return grad_output * (s * (1 + self * (1 - s)))


@op(
    "mish(Tensor self) -> Tensor",
    kernel="mish",
    inplace=True,
    out=Out(FOUND),
    tags="pointwise",
    module="nn",
    grad={"self": lambda c, g: torch._C._nn.mish_backward(g, c.self)},
    samples=_line,
)
def mish(self):
    """x * tanh(log(1 + exp(x)))."""
    return self * torch.tanh(torch._C._nn.softplus(self))


def _mish_curvature(c, g):
    x = c.self
    s = torch.sigmoid(x)
    w = torch.tanh(torch._C._nn.softplus(x))
    d = (1 - w * w) * s
    return g * c.grad_output * (2 * d + x * d * (1 - s - 2 * w * s))


@op(
    "mish_backward(Tensor grad_output, Tensor self) -> Tensor",
    kernel="mish_backward",
    tags="pointwise",
    module="nn",
    grad={"grad_output": lambda c, g: torch._C._nn.mish_backward(g, c.self), "self": _mish_curvature},
    samples=_grad_pair,
)
def mish_backward(grad_output, self):
    """grad_output times the slope of mish."""
    w = torch.tanh(torch._C._nn.softplus(self))
    return grad_output * (w + self * torch.sigmoid(self) * (1 - w * w))


# ---- of exponentials ---------------------------------------------------------------------------------------------
def _elu_in_place(c, g):
    if c.alpha < 0:
        _refuse_slope("elu")
    return torch._C._nn.elu_backward(g, c.alpha, c.scale, c.input_scale, True, c.result)


@op(
    "elu_(Tensor(a!) self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor(a!)",
    kernel="elu",
    tags="pointwise",
    module="nn",
    node="EluBackward0",
    grad={"self": _elu_in_place},
)
def elu_(self, alpha=1, scale=1, input_scale=1):
    """In-place elu."""
    return torch._C._nn.elu(self, alpha, scale, input_scale)


@op(
    "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
    kernel="elu",
    out=Out(FOUND),
    tags="pointwise",
    module="nn",
    grad={"self": lambda c, g: torch._C._nn.elu_backward(g, c.alpha, c.scale, c.input_scale, False, c.self)},
    samples=lambda t: _line(t) + [(t(5), 1.3, 0.9, 0.8)],
)
def elu(self, alpha=1, scale=1, input_scale=1):
    """scale * x where x > 0, else scale * alpha * (exp(input_scale * x) - 1)."""
    return torch.where(self > 0, self, torch.expm1(self * input_scale) * alpha) * scale


def _elu_curvature(c, g):
    x, k = c.self_or_result, c.alpha * c.scale
    if c.is_result:
        d = torch.where(x < 0, c.input_scale, 0)
    else:
        d = torch.where(x < 0, c.input_scale * c.input_scale * k * torch.exp(x.clamp_max(0) * c.input_scale), 0)
    return g * c.grad_output * d


@op(
    "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, "
    "Tensor self_or_result) -> Tensor",
    kernel="elu_backward",
    tags="pointwise",
    module="nn",
    grad={
        "grad_output": lambda c, g: torch._C._nn.elu_backward(
            g, c.alpha, c.scale, c.input_scale, c.is_result, c.self_or_result
        ),
        "self_or_result": _elu_curvature,
    },
    samples=lambda t: [(t(3, 4), 1.3, 0.9, 0.8, False, t(3, 4))],
)
def elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result):
    """grad_output times the slope of elu, from its input or (is_result) its result."""
    x, k = self_or_result, alpha * scale
    slope = x + k if is_result else torch.exp(x * input_scale) * k
    return grad_output * torch.where(x <= 0, slope * input_scale, scale)  # NaN counts as positive


@op("selu(Tensor self) -> Tensor", tags="pointwise", variants="function", samples=_line)
def selu(self):
    """elu with the fixed alpha and scale that keep mean 0 and variance 1."""
    return torch._C._nn.elu(self, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


@op("selu_(Tensor(a!) self) -> Tensor(a!)", tags="pointwise", variants="function")
def selu_(self):
    """In-place selu."""
    return torch._C._nn.elu_(self, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


@op(
    "celu(Tensor self, Scalar alpha=1.0) -> Tensor",
    tags="pointwise",
    variants="function",
    grad={
        "self": lambda c, g: torch._C._nn.elu_backward(g, c.alpha, 1, 1.0 / _as_float(c.alpha), False, c.self),
    },
    samples=lambda t: _line(t) + [(t(5), 0.7)],
)
def celu(self, alpha=1.0):
    """x where x > 0, else alpha * (exp(x / alpha) - 1)."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return torch._C._nn.elu(self, alpha, 1, 1.0 / alpha)


@op("celu_(Tensor(a!) self, Scalar alpha=1.0) -> Tensor(a!)", tags="pointwise", variants="function")
def celu_(self, alpha=1.0):
    """In-place celu."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return torch._C._nn.elu_(self, alpha, 1, 1.0 / alpha)


@op(
    "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
    kernel="softplus",
    out=Out(FOUND),
    tags="pointwise",
    module="nn",
    grad={"self": lambda c, g: torch._C._nn.softplus_backward(g, c.self, c.beta, c.threshold)},
    samples=lambda t: _line(t) + [(t(5), 2, 1)],
)
def softplus(self, beta=1, threshold=20):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold."""
    return torch.where(self * beta > threshold, self, torch.log1p(torch.exp(self * beta)) / beta)


def _softplus_curvature(c, g):
    x = c.self * c.beta
    s = torch.sigmoid(x)
    return g * c.grad_output * (c.beta * s * (1 - s)) * (x < c.threshold)


@op(
    "softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor",
    kernel="softplus_backward",
    tags="pointwise",
    module="nn",
    grad={
        "grad_output": lambda c, g: torch._C._nn.softplus_backward(g, c.self, c.beta, c.threshold),
        "self": _softplus_curvature,
    },
    samples=lambda t: [(t(3, 4), t(3, 4), 2, 1)],
)
def softplus_backward(grad_output, self, beta, threshold):
    """grad_output * sigmoid(beta * x); grad_output where beta * x > threshold."""
    return torch.where(self * beta > threshold, grad_output, grad_output * torch.sigmoid(self * beta))


@op(
    "log_sigmoid(Tensor self) -> Tensor",
    kernel="log_sigmoid",
    out=Out(SCALAR_TYPE, by="log_sigmoid_forward"),
    tags="pointwise",
    module="nn",
    grad={"self": lambda c, g: torch._C._nn._log_sigmoid_backward(g, c.self)},
    samples=_line,
)
def log_sigmoid(self):
    """log(1 / (1 + exp(-x))), without overflow."""
    return torch.clamp_max(self, 0) - torch.log1p(torch.exp(-self.abs()))


def _log_sigmoid_curvature(c, g):
    s = torch.sigmoid(c.self)
    return -g * c.grad_output * (s * (1 - s))


@op(
    "_log_sigmoid_backward(Tensor grad_output, Tensor self) -> Tensor",
    kernel="log_sigmoid_backward",
    tags="pointwise",
    module="nn",
    grad={"grad_output": lambda c, g: torch._C._nn._log_sigmoid_backward(g, c.self), "self": _log_sigmoid_curvature},
    samples=_grad_pair,
)
def _log_sigmoid_backward(grad_output, self):
    """grad_output * sigmoid(-x)."""
    return grad_output * torch.sigmoid(-self)


@op(
    "sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor",
    kernel="sigmoid_backward",
    tags="pointwise",
    variants="function",
    grad={
        "grad_output": lambda c, g: torch.sigmoid_backward(g, c.output.conj()),
        "output": lambda c, g: g.conj() * c.grad_output * (1 - 2 * c.output).conj(),
    },
    samples=_grad_pair,
)
def sigmoid_backward(grad_output, output):
    """grad_output * conj(output * (1 - output))."""
    return grad_output * (1 - output).conj() * output.conj()


@op(
    "tanh_backward(Tensor grad_output, Tensor output) -> Tensor",
    kernel="tanh_backward",
    tags="pointwise",
    variants="function",
    grad={
        "grad_output": lambda c, g: torch.tanh_backward(g, c.output.conj()),
        "output": lambda c, g: g.conj() * c.grad_output * (-2 * c.output).conj(),
    },
    samples=_grad_pair,
)
def tanh_backward(grad_output, output):
    """grad_output * conj(1 - output**2)."""
    return grad_output * (1 - output * output).conj()


@op("glu(Tensor self, int dim=-1) -> Tensor", out=True, module="nn", samples=lambda t: [(t(3, 4),), (t(4, 3), 0)])
def glu(self, dim=-1):
    """a * sigmoid(b), where a and b are the halves of self along dim."""
    if not self.is_floating_point():
        raise not_implemented("glu_cpu", self.dtype)
    if self.dim() == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    n = self.size(dim)
    if n % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim % self.dim()} is size {n}")
    return self.narrow(dim, 0, n // 2) * torch.sigmoid(self.narrow(dim, n // 2, n // 2))


def _check_slopes(lower, upper):
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound:g}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")


@op(
    "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, "
    "Generator? generator=None) -> Tensor",
    variants="function",
    samples=lambda t: [(t(3, 4),)],
)
def rrelu(self, lower=0.125, upper=0.3333333333333333, training=False, generator=None):
    """Leaky ReLU with slopes drawn from uniform(lower, upper) in training, their mean otherwise."""
    _check_slopes(lower, upper)
    if not training:
        return torch._C._nn.leaky_relu(self, (lower + upper) / 2).contiguous()
    if self.dtype not in (torch.float32, torch.float64, torch.bfloat16):
        raise not_implemented("rrelu_with_noise_out_cpu", self.dtype)
    return (self * torch.ops.functions._rrelu_noise(self.detach(), lower, upper, generator)).contiguous()


@op(
    "rrelu_(Tensor(a!) self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, "
    "Generator? generator=None) -> Tensor(a!)",
    variants="function",
)
def rrelu_(self, lower=0.125, upper=0.3333333333333333, training=False, generator=None):
    """In-place rrelu."""
    from ..autograd._inplace import before_change

    if not training:
        _check_slopes(lower, upper)
        return torch._C._nn.leaky_relu_(self, (lower + upper) / 2)
    return self.copy_(torch.rrelu(before_change(self), lower, upper, training, generator))
