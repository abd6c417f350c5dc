"""The operators of torchvision's library: torch.ops.torchvision."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from . import boxes, deformed, regions

SIZES = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
IMAGE = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
CONV = (
    "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, "
    "SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, "
    "SymInt offset_groups, bool use_mask"
)
SCALES = "float input_scale, int input_zero_point, float rois_scale, int rois_zero_point"


def quantized(*args: Any) -> Any:
    raise NotImplementedError("torchlite has no quantized tensors; dequantize the boxes and call the op of floats")


OPERATORS: dict[str, Any] = {
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": boxes.nms,
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": quantized,
    "box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor": boxes.box_iou_rotated,
    "roi_align(Tensor input, Tensor rois, %s, int sampling_ratio, bool aligned) -> Tensor" % SIZES: regions.roi_align,
    "qroi_align(Tensor input, Tensor rois, %s, %s, int sampling_ratio, bool aligned) -> Tensor"
    % (SCALES, SIZES): quantized,
    "_roi_align_backward(Tensor grad, Tensor rois, %s, %s, int sampling_ratio, bool aligned) -> Tensor"
    % (SIZES, IMAGE): regions.roi_align_backward,
    "roi_pool(Tensor input, Tensor rois, %s) -> (Tensor, Tensor)" % SIZES: regions.roi_pool,
    "_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, %s, %s) -> Tensor"
    % (SIZES, IMAGE): regions.roi_pool_backward,
    "ps_roi_align(Tensor input, Tensor rois, %s, int sampling_ratio) -> (Tensor, Tensor)" % SIZES: regions.ps_roi_align,
    "_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, %s, int sampling_ratio, %s) -> Tensor"
    % (SIZES, IMAGE): regions.ps_roi_align_backward,
    "ps_roi_pool(Tensor input, Tensor rois, %s) -> (Tensor, Tensor)" % SIZES: regions.ps_roi_pool,
    "_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, %s, %s) -> Tensor"
    % (SIZES, IMAGE): regions.ps_roi_pool_backward,
    "deform_conv2d(%s) -> Tensor" % CONV: deformed.deform_conv2d,
    "_deform_conv2d_backward(Tensor grad, %s) -> (Tensor, Tensor, Tensor, Tensor, Tensor)"
    % CONV: deformed.deform_conv2d_backward,
    "_cuda_version() -> int": lambda: -1,
}

library = torch.library.Library("torchvision", "FRAGMENT")
for schema, kernel in OPERATORS.items():
    name = library.define(schema)
    library.impl(name, kernel, "CompositeExplicitAutograd")
