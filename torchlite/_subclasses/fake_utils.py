"""Which tensors share memory, asked of the results of fake calls."""

from __future__ import annotations

from typing import Any

import torchlite as torch
from torchlite.utils import _pytree as pytree


def _storages(tree: Any) -> list[int]:
    return [id(t.untyped_storage()) for t in pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)]


def outputs_alias_inputs(outputs: Any, inputs: Any) -> bool:
    """Whether a tensor of one shares memory with one of the other."""
    return not set(_storages(outputs)).isdisjoint(_storages(inputs))


def outputs_are_inputs(outputs: Any, inputs: Any) -> bool:
    """Whether a tensor of one is a tensor of the other."""
    ids = [{id(t) for t in pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)} for tree in (outputs, inputs)]
    return bool(ids[0] & ids[1])


def output_alias_each_other(outputs: Any) -> bool:
    """Whether two tensors share memory."""
    found = _storages(outputs)
    return len(found) != len(set(found))
