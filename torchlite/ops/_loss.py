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
