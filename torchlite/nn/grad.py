"""torch.nn.grad: the gradients of convolutions with respect to their input and their weight."""

from __future__ import annotations


import torchlite as torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _gradient(dims: int, input: Any, weight: Any, grad_output: Any, options: tuple[Any, ...], which: int) -> Any:
    stride, padding, dilation, groups = options
    several = [[x] * dims if isinstance(x, int) else list(x) for x in (stride, padding, dilation)]
    mask = [i == which for i in range(3)]
    backward = torch.ops.aten.convolution_backward
    return backward(grad_output, input, weight, None, *several, False, [0] * dims, groups, mask)[which]


def conv1d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv1d with respect to its input, of the size `input_size`."""
    input = grad_output.new_empty(1).expand(input_size)
    return _gradient(1, input, weight, grad_output, (stride, padding, dilation, groups), 0)


def conv1d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv1d with respect to its weight, of the size `weight_size`."""
    weight = grad_output.new_empty(1).expand(weight_size)
    return _gradient(1, input, weight, grad_output, (stride, padding, dilation, groups), 1)


def conv2d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv2d with respect to its input, of the size `input_size`."""
    input = grad_output.new_empty(1).expand(input_size)
    return _gradient(2, input, weight, grad_output, (stride, padding, dilation, groups), 0)


def conv2d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv2d with respect to its weight, of the size `weight_size`."""
    weight = grad_output.new_empty(1).expand(weight_size)
    return _gradient(2, input, weight, grad_output, (stride, padding, dilation, groups), 1)


def conv3d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv3d with respect to its input, of the size `input_size`."""
    input = grad_output.new_empty(1).expand(input_size)
    return _gradient(3, input, weight, grad_output, (stride, padding, dilation, groups), 0)


def conv3d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv3d with respect to its weight, of the size `weight_size`."""
    weight = grad_output.new_empty(1).expand(weight_size)
    return _gradient(3, input, weight, grad_output, (stride, padding, dilation, groups), 1)
