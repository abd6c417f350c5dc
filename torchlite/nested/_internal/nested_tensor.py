"""The jagged layout, where PyTorch has it."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from ..._utils import _rebuild_njt as _rebuild_njt
from .. import _tensor as _t
from .._tensor import NestedTensor as NestedTensor

_tensor_id_counter = 0  # torchlite counts in _tensor.py
_tensor_symint_registry: dict[Any, Any] = {}


def get_tensor_symint(tensor: Any, *, coeff: int = 1) -> Any:
    """The size j1 that belongs to a tensor of offsets."""
    return _t.nested_int(tensor, coeff)


class ViewNestedFromBuffer:
    """Values and offsets as a jagged tensor."""

    @staticmethod
    def apply(values: Any, offsets: Any, metadata_cache: Any = None) -> Any:
        return _t.jagged(values, offsets, None, 1, dict(metadata_cache or {}))


def buffer_from_jagged(jagged: Any) -> Any:
    """The values of a jagged tensor, all parts one after the other."""
    return jagged.values()


def jagged_from_list(tensors: list[Any], offsets: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """(jagged tensor, offsets) of a list of tensors."""
    from .. import as_nested_tensor

    made = as_nested_tensor(tensors, dtype, device, torch.jagged)
    if offsets is not None:
        made = _t.jagged(made._values, offsets, None, made._ragged_idx, made._metadata_cache)
    return made, made._offsets


def jagged_from_tensor_and_lengths(tensor: Any, starts: Any, lengths: Any) -> Any:
    """(jagged tensor, offsets, lengths or None) of the pieces of a tensor's rows."""
    from .. import narrow

    made = narrow(tensor, 1, starts, lengths, torch.jagged)
    return made, made._offsets, made._lengths


def nested_view_from_values_offsets(
    values: Any, offsets: Any, ragged_idx: int = 1, min_seqlen: Any = None, max_seqlen: Any = None
) -> Any:
    """A jagged tensor that shares the memory of `values`."""
    return nested_view_from_values_offsets_lengths(values, offsets, None, ragged_idx, min_seqlen, max_seqlen)


def nested_view_from_values_offsets_lengths(
    values: Any, offsets: Any, lengths: Any, ragged_idx: int = 1, min_seqlen: Any = None, max_seqlen: Any = None
) -> Any:
    """The same, with gaps after the parts: `lengths` says how much of each is used."""
    from .. import nested_tensor_from_jagged

    return nested_tensor_from_jagged(values, offsets, lengths, ragged_idx, min_seqlen, max_seqlen)


def nested_from_padded(
    padded: Any, offsets: Any, ragged_idx: int = 1, min_seqlen: Any = None, max_seqlen: Any = None, sum_S: Any = None
) -> Any:
    """A jagged tensor of the parts of a padded one, (batch, longest part, ...)."""
    if ragged_idx != 1:
        raise RuntimeError("nested_from_padded(): only ragged_idx=1 supported for jagged layout")
    lengths = offsets.diff().tolist()
    values = torch.cat([padded[i, :n] for i, n in enumerate(lengths)])
    cache = {"max_seqlen": max_seqlen or max(lengths), "min_seqlen": min_seqlen or min(lengths)}
    return _t.jagged(values, offsets, None, 1, cache)
