"""Layer, group, RMS and local response normalization."""

import torchlite as torch
from torchlite.nn import functional as F, init
from torchlite.nn.parameter import Parameter
from .module import Module

__all__ = ["LocalResponseNorm", "CrossMapLRN2d", "LayerNorm", "GroupNorm", "RMSNorm"]


class LocalResponseNorm(Module):
    """Divides by (k + alpha/size * sum of squares over neighbouring channels) ** beta."""

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


_response: list[object] = []


def _local_response():
    """CrossMapLRN2d's function with PyTorch's gradient.
    Made at the first use, for torch.autograd is not ready before."""
    if _response:
        return _response[0]

    class CrossMapLRN2d(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, size, alpha, beta, k):
            # channel windows of `size` elements, with size // 2 before and the rest after
            pad, channels, square = (size - 1) // 2 + 1, x.size(1), x.pow(2)
            padded = F.pad(square, (0, 0, 0, 0, pad - 1, pad - 1))
            total = padded[:, 0:channels]
            for i in range(1, 2 * pad - 1):
                total = total + padded[:, i : i + channels]
            # PyTorch's running sum never drops channel 0 when it leaves the window; kept, so that results agree
            if channels > pad:
                total = torch.cat([total[:, :pad], total[:, pad:] + square[:, :1]], 1)
            scale = total * (alpha / size) + k
            out = x * scale.pow(-beta)
            ctx.save_for_backward(x, scale, out)
            ctx.options = size, alpha, beta
            return out

        @staticmethod
        def backward(ctx, g):
            x, scale, out = ctx.saved_tensors
            size, alpha, beta = ctx.options
            before = min((size + 1) // 2, size - 1)
            ratio = F.pad(g * out / scale, (0, 0, 0, 0, before, size - 1 - before))
            total = ratio[:, 0 : x.size(1)]
            for i in range(1, size):
                total = total + ratio[:, i : i + x.size(1)]
            return g * scale.pow(-beta) - x * total * (2 * alpha * beta / size), None, None, None, None

    _response.append(CrossMapLRN2d.apply)
    return _response[0]


class CrossMapLRN2d(Module):
    """Local response normalization of (N, C, H, W) across channels."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input):
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        return _local_response()(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


def _shape(normalized_shape):
    if isinstance(normalized_shape, int):
        return (normalized_shape,)
    return tuple(normalized_shape)


class LayerNorm(Module):
    """Normalizes over the last dimensions, of shape `normalized_shape`; weight and bias per element."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        kw = {"device": device, "dtype": dtype}
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.weight = Parameter(torch.empty(self.normalized_shape, **kw))
            if bias:
                self.bias = Parameter(torch.empty(self.normalized_shape, **kw))
            else:
                self.register_parameter("bias", None)
        else:
            self.register_parameter("weight", None)
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        if self.elementwise_affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(Module):
    """Normalizes over groups of channels of (N, C, *). Args: num_groups, num_channels, eps, affine."""

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True):
        kw = {"device": device, "dtype": dtype}
        super().__init__()
        if num_groups <= 0:
            raise ValueError(f"num_groups must be a positive integer, but got num_groups={num_groups}")
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        if affine:
            self.weight = Parameter(torch.empty(num_channels, **kw))
        else:
            self.register_parameter("weight", None)
        if affine and bias:
            self.bias = Parameter(torch.empty(num_channels, **kw))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divides by the root mean square over the last dimensions; weight per element."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.weight = Parameter(torch.empty(self.normalized_shape, device=device, dtype=dtype))
        else:
            self.register_parameter("weight", None)
        self.reset_parameters()

    def reset_parameters(self):
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
