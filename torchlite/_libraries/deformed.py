"""Deformable convolution: a convolution whose window reads where an offset says, between pixels."""

from __future__ import annotations

from typing import Any, NamedTuple

import torchlite as torch
from torchlite._core.checks import _check

from .boxes import check_dtype


def places(offset: Any, window: Window, tap: Any, axis: int) -> Any:
    """Where the taps of a window read one axis: (B, offset groups, taps, OH, OW)."""
    out = offset.size(-2 + axis)
    start = torch.arange(out, dtype=offset.dtype, device=offset.device) * window.stride[axis] - window.pad[axis]
    start = start[:, None] if axis == 0 else start
    return offset + (start + (tap.to(offset.dtype) * window.dilation[axis])[:, None, None])


def sampled(input: Any, y: Any, x: Any, inside: Any) -> Any:
    """Bilinear samples of images (B, G, C, H * W) at places (B, G, n); pixels outside are 0."""
    height, width = inside
    top, left = y.floor(), x.floor()
    down, right = y - top, x - left
    total = None
    for dy, wy in ((0, 1 - down), (1, down)):
        for dx, wx in ((0, 1 - right), (1, right)):
            row, column = top + dy, left + dx
            there = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            at = (row.clamp(0, height - 1) * width + column.clamp(0, width - 1)).to(torch.int64)
            values = input.gather(3, at[:, :, None].expand(-1, -1, input.size(2), -1))
            values = values * torch.where(there, wy * wx, 0.0)[:, :, None]
            total = values if total is None else total + values
    return total


class Window(NamedTuple):
    """The numbers of a call, after its tensors."""

    stride: tuple[int, int]
    pad: tuple[int, int]
    dilation: tuple[int, int]
    groups: int
    offset_groups: int
    use_mask: bool

    @classmethod
    def of(cls, numbers: tuple[Any, ...]) -> Window:
        return cls(numbers[0:2], numbers[2:4], numbers[4:6], *numbers[6:])


def convolved(input: Any, weight: Any, offset: Any, mask: Any, bias: Any, window: Window) -> Any:
    batch, channels, height, width = input.shape
    out_channels, _, kernel_h, kernel_w = weight.shape
    taps = kernel_h * kernel_w
    out = offset.shape[-2:]
    moved = offset.unflatten(1, (window.offset_groups, taps, 2))
    tap = torch.arange(taps, device=input.device)
    y = places(moved[:, :, :, 0], window, tap // kernel_w, 0)
    x = places(moved[:, :, :, 1], window, tap % kernel_w, 1)
    image = input.reshape(batch, window.offset_groups, channels // window.offset_groups, height * width)
    columns = sampled(image, y.flatten(2), x.flatten(2), (height, width))
    if window.use_mask:
        columns = columns * mask.reshape(batch, window.offset_groups, 1, -1)
    columns = columns.reshape(batch, window.groups, channels // window.groups * taps, out[0] * out[1])
    result = weight.reshape(window.groups, out_channels // window.groups, -1) @ columns
    return result.reshape(batch, out_channels, *out) + bias.view(-1, 1, 1)


def without_text(condition: str) -> str:
    """What PyTorch says where a check has no text of its own."""
    return (
        "Expected %s to be true, but got false.  (Could this error message be improved?  If so, please report an "
        "enhancement request to PyTorch.)" % condition
    )


def check(input: Any, weight: Any, offset: Any, mask: Any, window: Window) -> None:
    stride, pad, dilation, groups, offset_groups, use_mask = window
    for name, tensor in (("input", input), ("offset", offset), ("weight", weight)):
        _check(tensor.dim() == 4, lambda name=name: without_text("%s_c.ndimension() == 4" % name))
    kernel = weight.shape[2:]
    out = [(input.size(2 + i) + 2 * pad[i] - (dilation[i] * (kernel[i] - 1) + 1)) // stride[i] + 1 for i in range(2)]
    words = "weight_h: %d weight_w: %d" % tuple(kernel)
    rules = [
        (min(kernel) > 0, words),
        (min(stride) > 0, "stride_h: %d stride_w: %d" % stride),
        (min(pad) >= 0, "pad_h: %d pad_w: %d" % pad),
        (min(dilation) > 0, "dil_h: %d dil_w: %d" % dilation),
        (weight.size(1) * groups == input.size(1), without_text("weight_c.size(1) * n_weight_grps == input_c.size(1)")),
        (weight.size(0) % groups == 0, without_text("weight_c.size(0) % n_weight_grps == 0")),
        (
            offset.size(1) == offset_groups * 2 * kernel[0] * kernel[1],
            "offset.shape[1] is not valid: got: %d expected: %d"
            % (offset.size(1), offset_groups * 2 * kernel[0] * kernel[1]),
        ),
        (
            not use_mask or mask.size(1) == offset_groups * kernel[0] * kernel[1],
            "mask.shape[1] is not valid: got: %d expected: %d"
            % (mask.size(-1 if mask.dim() < 2 else 1), offset_groups * kernel[0] * kernel[1]),
        ),
        (input.size(1) % offset_groups == 0, without_text("input_c.size(1) % n_offset_grps == 0")),
        (offset.size(0) == input.size(0), "invalid batch size of offset"),
        (
            list(offset.shape[2:]) == out,
            "offset output dims: (%d, %d) - computed output dims: (%d, %d)" % (*offset.shape[2:], *out),
        ),
        (not use_mask or mask.size(0) == input.size(0), "invalid batch size of mask"),
        (
            not use_mask or list(mask.shape[2:]) == out,
            "mask output dims: (%s) - computed output dims: (%d, %d)" % (", ".join(map(str, mask.shape[2:])), *out),
        ),
        (min(out) > 0, "Calculated output size too small - out_h: %d out_w: %d" % tuple(out)),
    ]
    for holds, text in rules:
        _check(holds, lambda text=text: text)


def deform_conv2d(input: Any, weight: Any, offset: Any, mask: Any, bias: Any, *numbers: Any) -> Any:
    window = Window.of(numbers)
    check(input, weight, offset, mask, window)
    check_dtype("deformable_im2col", input)
    return convolved(input, weight, offset, mask, bias, window)


def deform_conv2d_backward(grad: Any, *args: Any) -> Any:
    """The gradients of all five tensors."""
    leaves = [t.detach().requires_grad_() for t in args[:5]]
    with torch.enable_grad():
        input, weight, offset, mask, bias = leaves
        out = convolved(input, weight, offset, mask, bias, Window.of(args[5:]))
    return tuple(torch.autograd.grad(out, leaves, grad, allow_unused=True, materialize_grads=True))
