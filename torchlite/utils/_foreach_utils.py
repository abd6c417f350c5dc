"""Lists of tensors sorted by device and dtype."""

import torchlite as torch

_foreach_supported_types = [torch.Tensor, torch.nn.parameter.Parameter]


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """{(device, dtype): (the lists, each with its tensors of that kind, their positions)}; the first list decides."""
    if any(len(tensors) != len(tensorlistlist[0]) for tensors in tensorlistlist[1:] if tensors):
        raise RuntimeError("Tensors must be in lists of the same length")
    groups: dict[tuple, tuple[list, list]] = {}
    for i, first in enumerate(tensorlistlist[0]):
        lists, positions = groups.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
        for kept, tensors in zip(lists, tensorlistlist):
            if tensors:
                kept.append(tensors[i])
        if with_indices:
            positions.append(i)
    return groups


def _get_foreach_kernels_supported_devices():
    """None: the functions on lists run one op after another."""
    return []


def _get_fused_kernels_supported_devices():
    return ["cpu", "webgpu"]


def _device_has_foreach_support(device):
    return False


def _has_foreach_support(tensors, device):
    return False
