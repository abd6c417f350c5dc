"""What the losses share: reduction, and PyTorch's errors for dtypes."""

import torchlite as torch
from .._core.errors import not_implemented


def reduced(loss, reduction):
    if reduction == 1:
        return loss.mean()
    if reduction == 2:
        return loss.sum()
    return loss


def check_floating(x, kernel):
    if not x.is_floating_point():
        raise not_implemented(kernel, x.dtype)


def check_floating_pair(x, y, kernel):
    common = torch.promote_types(x.dtype, y.dtype)
    if not common.is_floating_point:
        raise not_implemented(kernel, common)


def check_full_precision(x, kernel):
    if x.dtype not in (torch.float32, torch.float64):
        raise not_implemented(kernel, x.dtype)


def class_shape(x):
    """(number of classes, shape of the class numbers) that go with scores (N, C, ...) or (C,)."""
    shape = tuple(x.shape)
    if len(shape) > 1:
        return shape[1], shape[:1] + shape[2:]
    return shape[0] if shape else 0, ()


def is_kernel_weight(weight, classes, x):
    """Whether webgpu's kernels take this weight of each class: None, or a tensor there of the scores' dtype."""
    return (
        weight is None
        or weight.dim() == 1
        and weight.numel() == classes
        and weight.dtype is x.dtype
        and not weight.is_cpu
    )
