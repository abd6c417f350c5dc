"""Softmax, log_softmax, and their gradients as operations of their own."""

import torchlite as torch

from ._declare import op
from ._out import EXACT, Out


def _softmax_body(x, dim, dtype, log):
    if dtype is not None:
        x = x.to(dtype)
    top = x.detach().amax(dim, True) if x.numel() else x
    x = x - top
    return x - x.exp().sum(dim, True).log() if log else x.exp() / x.exp().sum(dim, True)


@op(
    "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    alias=("special.softmax",),
    kernel="softmax",
    out=Out(EXACT, "copied", by="aten::softmax"),
    node="SoftmaxBackward0",
    grad={"self": lambda c, g: torch._softmax_backward_data(g, c.result, c.dim, c.self_dtype)},
    samples=lambda t: [(t(3, 4), 1), (t(3, 4), 0)],
)
def softmax(self, dim, dtype=None):
    """exp(x) / sum(exp(x)) along `dim`; `dtype` converts the input first."""
    return _softmax_body(self, dim, dtype, False)


@op(
    "log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    alias=("special.log_softmax",),
    kernel="log_softmax",
    out=Out(EXACT, "copied", by="aten::log_softmax"),
    node="LogSoftmaxBackward0",
    grad={"self": lambda c, g: torch._log_softmax_backward_data(g, c.result, c.dim, c.self_dtype)},
    samples=lambda t: [(t(3, 4), 1), (t(3, 4), 0)],
)
def log_softmax(self, dim, dtype=None):
    """x - log(sum(exp(x))) along `dim`; `dtype` converts the input first."""
    return _softmax_body(self, dim, dtype, True)


@op(
    "_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    kernel="_softmax",
    variants="function",
    out=True,
    node="SoftmaxBackward0",
    grad={"self": lambda c, g: torch._softmax_backward_data(g, c.result, c.dim, c.self_dtype)},
)
def _softmax(self, dim, half_to_float):
    """The same as `softmax`."""
    return _softmax_body(self, dim, None, False)


@op(
    "_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    kernel="_log_softmax",
    variants="function",
    out=True,
    node="LogSoftmaxBackward0",
    grad={"self": lambda c, g: torch._log_softmax_backward_data(g, c.result, c.dim, c.self_dtype)},
)
def _log_softmax(self, dim, half_to_float):
    """The same as `log_softmax`."""
    return _softmax_body(self, dim, None, True)


@op(
    "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
    variants="function",
    kernel="_softmax_backward_data",
    out=True,
    samples=lambda t: [(t(3, 4), t(3, 4), 1, torch.float64)],
)
def _softmax_backward_data(grad_output, output, dim, input_dtype):
    """Gradient of softmax: y * (g - sum(g * y))."""
    return (output * (grad_output - (grad_output * output).sum(dim, True))).to(input_dtype)


@op(
    "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
    variants="function",
    kernel="_log_softmax_backward_data",
    out=True,
    samples=lambda t: [(t(3, 4), t(3, 4), 1, torch.float64)],
)
def _log_softmax_backward_data(grad_output, output, dim, input_dtype):
    """Gradient of log_softmax: g - exp(y) * sum(g)."""
    return (grad_output.contiguous() - output.exp() * grad_output.sum(dim, True)).to(input_dtype)


@op(
    "_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    variants="function",
    grad={"self": lambda c, g: torch._softmax_backward_data(g, c.result, c.dim, c.self_dtype)},
    samples=lambda t: [(t(3, 4), 1)],
)
def _safe_softmax(self, dim, dtype=None):
    """Softmax that gives zeros where a whole row is -inf."""
    out = torch.softmax(self, dim, dtype=dtype)
    dead = (self == float("-inf")).all(dim, True)
    return out.masked_fill(dead, 0)
