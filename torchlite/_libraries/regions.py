"""Pooling over regions of interest: rows (index of the image, x1, y1, x2, y2) in the image's own units."""

from __future__ import annotations

from typing import Any

import torchlite as torch
from torchlite._core.checks import _check

from .boxes import check_dtype

CHUNK = 1 << 22  # elements that are read at once


def check(kernel: str, input: Any, rois: Any) -> None:
    _check(rois.dim() == 2 and rois.size(1) == 5, lambda: "rois must have shape as Tensor[K, 5]")
    _check(
        input.dtype == rois.dtype,
        lambda: (
            "Expected tensor for argument #1 'input' to have the same type as tensor for argument #2 'rois'; but "
            "type %s does not equal %s (while checking arguments for %s)" % (input.type(), rois.type(), kernel)
        ),
    )
    check_dtype(kernel, input)


def gradient(pooled: Any, image: tuple[int, ...], grad: Any) -> Any:
    """The gradient of a pooling that is linear in its image."""
    zeros = torch.zeros(image, dtype=grad.dtype, device=grad.device, requires_grad=True)
    with torch.enable_grad():
        out = pooled(zeros)
    return torch.autograd.grad(out, zeros, grad)[0] if out.numel() else zeros.detach()


# ---- bilinear samples ------------------------------------------------------------------------------------------------
def samples(start: Any, bin: Any, bins: int, grid: int, size: int) -> tuple[Any, Any]:
    """Where a region samples one axis: positions and weights (K, bins, 2 * grid), two neighbours for each sample."""
    steps = (torch.arange(grid, dtype=start.dtype, device=start.device) + 0.5) / grid
    places = torch.arange(bins, dtype=start.dtype, device=start.device)[:, None] + steps
    at = start[:, None, None] + places * bin[:, None, None]
    outside = (at < -1) | (at > size)
    at = at.clamp(min=0, max=size - 1)
    low = at.floor()
    high = (low + 1).clamp(max=size - 1)
    part = torch.where(outside, 0.0, at - low)
    index = torch.stack([low, high], -1).to(torch.int64)
    weight = torch.stack([torch.where(outside, 0.0, 1 - part), part], -1)
    return index.flatten(-2), weight.flatten(-2)


def align(
    table: Any, row: Any, rois: Any, spatial_scale: float, offset: float, least: float | None, ratio: int, none: float
) -> Any:
    """The mean of bilinear samples in each bin: (K, bins, bins, C).

    table: (rows, H, W, C); row: (K, PH, PW), which row of it a bin reads; none: the mean of no samples."""
    height, width, channels = table.shape[1:]
    corners = rois[:, 1:] * spatial_scale - offset
    start = corners[:, :2]
    size = corners[:, 2:] - start
    if least is not None:
        size = size.clamp(min=least)
    pooled = row.shape[1:]
    bin = size / size.new_tensor([pooled[1], pooled[0]])
    grids = [(ratio, ratio)] * len(rois) if ratio > 0 else [(int(w), int(h)) for w, h in bin.ceil().tolist()]
    flat = table.reshape(-1, channels)
    out = flat.new_full((len(rois), *pooled, channels), none)
    for grid in sorted(set(grids)):
        if min(grid) <= 0:
            continue  # such a region has no samples
        members = torch.tensor([i for i, g in enumerate(grids) if g == grid], device=rois.device)
        per_region = pooled[0] * pooled[1] * grid[0] * grid[1] * 4 * channels
        for part in members.split(max(1, CHUNK // per_region)):
            x, wx = samples(start[part, 0], bin[part, 0], pooled[1], grid[0], width)
            y, wy = samples(start[part, 1], bin[part, 1], pooled[0], grid[1], height)
            at = (row[part][:, :, None, :, None] * height + y[:, :, :, None, None]) * width + x[:, None, None]
            weight = wy[:, :, :, None, None] * wx[:, None, None] / (grid[0] * grid[1])
            values = flat[at] * weight[..., None]
            out = out.index_copy(0, part, values.sum((2, 4)))
    return out


def aligned_regions(
    input: Any, rois: Any, scale: float, pooled_height: int, pooled_width: int, ratio: int, aligned: bool
) -> Any:
    row = rois[:, :1, None].to(torch.int64).expand(-1, pooled_height, pooled_width)
    least = None if aligned else 1.0
    return align(input.permute(0, 2, 3, 1), row, rois, scale, 0.5 if aligned else 0.0, least, ratio, 0.0).permute(
        0, 3, 1, 2
    )


def roi_align(
    input: Any,
    rois: Any,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Any:
    check("roi_align_forward_kernel", input, rois)
    return aligned_regions(
        input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned
    ).contiguous()


def roi_align_backward(
    grad: Any,
    rois: Any,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Any:
    def pooled(input: Any) -> Any:
        return aligned_regions(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned)

    return gradient(pooled, (batch_size, channels, height, width), grad)


# ---- position-sensitive: each bin reads channels of its own ----------------------------------------------------------
def channel_mapping(input: Any, rois: Any, pooled_height: int, pooled_width: int) -> Any:
    """The channel that each bin reads (K, C / (PH * PW), PH, PW)."""
    channels = input.size(1)
    _check(
        channels % (pooled_height * pooled_width) == 0,
        lambda: "input channels must be a multiple of pooling height * pooling width",
    )
    one = torch.arange(channels, dtype=torch.int32, device=input.device).view(-1, pooled_height, pooled_width)
    return one.repeat(len(rois), 1, 1, 1)


def ps_aligned_regions(input: Any, rois: Any, scale: float, pooled_height: int, pooled_width: int, ratio: int) -> Any:
    batch, channels, height, width = input.shape
    bins = pooled_height * pooled_width
    table = input.reshape(batch, channels // bins, bins, height, width).permute(0, 2, 3, 4, 1).flatten(0, 1)
    bin = torch.arange(bins, device=input.device).view(pooled_height, pooled_width)
    row = rois[:, :1, None].to(torch.int64) * bins + bin
    return align(table, row, rois, scale, 0.5, None, ratio, torch.nan).permute(0, 3, 1, 2)


def ps_roi_align(
    input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int
) -> Any:
    check("ps_roi_align_forward_kernel", input, rois)
    mapping = channel_mapping(input, rois, pooled_height, pooled_width)
    out = ps_aligned_regions(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio)
    return out.contiguous(), mapping


def ps_roi_align_backward(
    grad: Any,
    rois: Any,
    channel_mapping: Any,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
) -> Any:
    def pooled(input: Any) -> Any:
        return ps_aligned_regions(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio)

    return gradient(pooled, (batch_size, channels, height, width), grad)


# ---- whole pixels ----------------------------------------------------------------------------------------------------
def away(x: Any) -> Any:
    """Rounded to integers, halves away from 0, as C rounds."""
    return x.sign() * (x.abs() + 0.5).floor()


def edges(start: Any, size: Any, bins: int, last: int) -> Any:
    """Where the bins of regions begin and end on one axis (K, bins, 2), in whole pixels within the image."""
    width = (size / bins)[:, None]
    step = torch.arange(bins, dtype=size.dtype, device=size.device)
    both = torch.stack([(step * width).floor(), ((step + 1) * width).ceil()], -1)
    return (both + start[:, None, None]).clamp(0, last).to(torch.int64)


def whole(rois: Any, spatial_scale: float) -> tuple[Any, Any]:
    corners = away(rois[:, 1:] * spatial_scale)
    return corners[:, :2], corners[:, 2:] - corners[:, :2]


def roi_pool(input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int) -> Any:
    """The largest value of each bin, and where in the image it is (-1 for an empty bin, which is 0)."""
    check("roi_pool_forward_kernel", input, rois)
    height, width = input.shape[2:]
    start, size = whole(rois, spatial_scale)
    size = (size + 1).clamp(min=1)
    columns = edges(start[:, 0], size[:, 0], pooled_width, width).tolist()
    rows = edges(start[:, 1], size[:, 1], pooled_height, height).tolist()
    shape = (len(rois), input.size(1), pooled_height, pooled_width)
    out, argmax = input.new_zeros(shape), torch.full(shape, -1, dtype=torch.int32, device=input.device)
    images = rois[:, 0].to(torch.int64).tolist()
    for k, image in enumerate(images):
        for j, (left, right) in enumerate(columns[k]):
            if right <= left:
                continue
            best, at = input[image, :, :, left:right].max(-1)
            for i, (top, bottom) in enumerate(rows[k]):
                if bottom <= top:
                    continue
                value, line = best[:, top:bottom].max(-1)
                line = line + top
                out[k, :, i, j] = value
                argmax[k, :, i, j] = line * width + left + at.gather(1, line[:, None])[:, 0]
    return out, argmax


def roi_pool_backward(
    grad: Any,
    rois: Any,
    argmax: Any,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
) -> Any:
    plane = rois[:, :1].to(torch.int64) * channels + torch.arange(channels, device=rois.device)
    at = plane[:, :, None, None] * (height * width) + argmax.clamp(min=0)
    flat = grad.new_zeros(batch_size * channels * height * width)
    flat.index_add_(0, at.flatten(), torch.where(argmax >= 0, grad, 0.0).flatten())
    return flat.view(batch_size, channels, height, width)


def ps_pooled_regions(input: Any, rois: Any, scale: float, pooled_height: int, pooled_width: int, short: int) -> Any:
    """The mean of each bin's own channels. short: by how much no bin reaches the end of an axis; it is 1 in
    torchvision's forward and 0 in its backward."""
    height, width = input.shape[2:]
    start, size = whole(rois, scale)
    size = size.clamp(min=1)
    masks = []
    for axis, (bins, pixels) in enumerate(((pooled_width, width), (pooled_height, height))):
        ends = edges(start[:, axis], size[:, axis], bins, pixels - short)
        pixel = torch.arange(pixels, device=rois.device)
        hit = ((pixel >= ends[..., :1]) & (pixel < ends[..., 1:])).to(input.dtype)
        masks.append(hit / hit.sum(-1, keepdim=True).clamp(min=1))
    image = input.unflatten(1, (-1, pooled_height, pooled_width))[rois[:, 0].to(torch.int64)]
    return torch.einsum("kcijyx,kiy,kjx->kcij", image, masks[1], masks[0])


def ps_roi_pool(input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int) -> Any:
    """The mean of each bin."""
    check("ps_roi_pool_forward_kernel", input, rois)
    mapping = channel_mapping(input, rois, pooled_height, pooled_width)
    parts = [
        ps_pooled_regions(input, part, spatial_scale, pooled_height, pooled_width, 1)
        for part in rois.split(max(1, CHUNK // max(1, input[0].numel())))
    ]
    return torch.cat(parts).contiguous(), mapping


def ps_roi_pool_backward(
    grad: Any,
    rois: Any,
    channel_mapping: Any,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
) -> Any:
    def pooled(input: Any) -> Any:
        return ps_pooled_regions(input, rois, spatial_scale, pooled_height, pooled_width, 0)

    return gradient(pooled, (batch_size, channels, height, width), grad)
