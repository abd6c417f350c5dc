"""Functions of torch that make nested tensors of padded ones and of masks."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from . import _tensor as _t


def _nested_tensor_from_tensor_list(
    list: Any, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None
) -> Any:
    """torch.nested.as_nested_tensor."""
    from . import as_nested_tensor

    return as_nested_tensor(list, dtype, device, layout)


def _lengths(mask: Any) -> list[int]:
    return [int(n) for n in mask.sum(1).tolist()]


def _nested_tensor_from_mask_left_aligned(t: Any, mask: Any) -> bool:
    """Whether the true elements of each row of a mask come first."""
    return all(bool(row[:n].all()) for row, n in zip(mask, _lengths(mask)))


def _nested_tensor_from_mask(t: Any, mask: Any, mask_check: bool = True) -> Any:
    """Of (batch, most, ...) the elements of each row where the mask (batch, most) is true; they come first."""
    if mask.dtype is not torch.bool:
        raise RuntimeError("Expected mask to be of ScalarType Bool, but got %s instead." % mask.dtype._scalar_type)
    if mask.dim() != 2:
        raise RuntimeError("Padding mask should be 2D")
    if t.dim() != 3:
        raise RuntimeError("Input should be a 3D tensor, N * L * D")
    if t.shape[:2] != mask.shape:
        raise RuntimeError("Padding mask size should match the input size")
    if mask_check and not _nested_tensor_from_mask_left_aligned(t, mask):
        raise RuntimeError("Mask must be left-aligned without gaps")
    return _t.from_parts([row[:n] for row, n in zip(t, _lengths(mask))])


def _nested_from_padded(padded: Any, cpu_nested_shape_example: Any, fuse_transform_0213: bool = False) -> Any:
    """The parts of the given sizes of a padded tensor. fuse_transform_0213: of padded.permute(0, 2, 1, 3), with the
    last two dims of each part joined."""
    if fuse_transform_0213:
        padded = padded.permute(0, 2, 1, 3).flatten(2)
    parts = []
    for row, size in zip(padded, cpu_nested_shape_example.tolist()):
        parts.append(row[tuple(slice(n) for n in size)])
    return _t.from_parts(parts)


def _nested_from_padded_and_nested_example(padded: Any, nt_example: Any) -> Any:
    """The parts of a padded tensor, of the sizes that those of a nested one have."""
    if isinstance(nt_example, _t.NestedTensor):
        from ._internal.nested_tensor import nested_from_padded

        return nested_from_padded(padded, nt_example._offsets)
    sizes = nt_example._nested_tensor_size()
    joined = padded.dim() == 4 and nt_example.dim() == 3
    return _nested_from_padded(padded, sizes, joined)


def _nested_view_from_buffer(self: Any, nested_size: Any, nested_strides: Any, offsets: Any) -> Any:
    """A nested tensor that shares the memory of a row of numbers."""
    made = _t.from_tables(self, nested_size, nested_strides, offsets)
    made._source = self
    return made
