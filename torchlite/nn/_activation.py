"""Activations of torch.nn.functional: each op with its `inplace` argument."""
import torchlite as torch

_nn = torch._C._nn


def relu(input, inplace=False):
    """max(x, 0)."""
    return torch.relu_(input) if inplace else torch.relu(input)


def relu6(input, inplace=False):
    """min(max(x, 0), 6)."""
    return hardtanh(input, 0.0, 6.0, inplace)


def threshold(input, threshold, value, inplace=False):
    """x where x > threshold, else value."""
    return torch.threshold_(input, threshold, value) if inplace else torch.threshold(input, threshold, value)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x limited to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _nn.hardtanh_(input, min_val, max_val) if inplace else _nn.hardtanh(input, min_val, max_val)


def hardsigmoid(input, inplace=False):
    """min(max(x + 3, 0), 6) / 6."""
    return _nn.hardsigmoid_(input) if inplace else _nn.hardsigmoid(input)


def hardswish(input, inplace=False):
    """x * hardsigmoid(x)."""
    return _nn.hardswish_(input) if inplace else _nn.hardswish(input)


def silu(input, inplace=False):
    """x * sigmoid(x)."""
    return _nn.silu_(input) if inplace else _nn.silu(input)


def mish(input, inplace=False):
    """x * tanh(softplus(x))."""
    return _nn.mish_(input) if inplace else _nn.mish(input)


def elu(input, alpha=1.0, inplace=False):
    """x where x > 0, else alpha * (exp(x) - 1)."""
    return _nn.elu_(input, alpha) if inplace else _nn.elu(input, alpha)


def selu(input, inplace=False):
    """elu with the fixed scale and alpha that keep mean 0 and variance 1."""
    return torch.selu_(input) if inplace else torch.selu(input)


def celu(input, alpha=1.0, inplace=False):
    """x where x > 0, else alpha * (exp(x / alpha) - 1)."""
    return torch.celu_(input, alpha) if inplace else torch.celu(input, alpha)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x where x > 0, else negative_slope * x."""
    return _nn.leaky_relu_(input, negative_slope) if inplace else _nn.leaky_relu(input, negative_slope)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """Leaky ReLU with slopes drawn from uniform(lower, upper) in training."""
    return torch.rrelu_(input, lower, upper, training) if inplace else torch.rrelu(input, lower, upper, training)


def glu(input, dim=-1):
    """a * sigmoid(b), where a and b are the halves of the input along dim."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _nn.glu(input, dim)


def logsigmoid(input):
    """log(sigmoid(x)), without overflow."""
    return _nn.log_sigmoid(input)


def softsign(input):
    """x / (1 + |x|)."""
    return input / (input.abs() + 1)


def tanhshrink(input):
    """x - tanh(x)."""
    return input - input.tanh()


def tanh(input):
    """Hyperbolic tangent."""
    return input.tanh()


def sigmoid(input):
    """1 / (1 + exp(-x))."""
    return input.sigmoid()


gelu = _nn.gelu
softplus = _nn.softplus
softshrink = _nn.softshrink
hardshrink = torch.hardshrink
prelu = torch.prelu
relu_, threshold_, selu_, celu_, rrelu_ = torch.relu_, torch.threshold_, torch.selu_, torch.celu_, torch.rrelu_
elu_, hardtanh_, leaky_relu_ = _nn.elu_, _nn.hardtanh_, _nn.leaky_relu_

__all__ = [n for n in globals() if not n.startswith("_") and n != "torch"]
