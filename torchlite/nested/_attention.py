"""Attention over nested tensors: each part of the batch attends to its own."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from . import _tensor as _t
from ._ops import BOTH, op, repacked


def _ragged_of(x: Any) -> int | None:
    return x._ragged_idx if isinstance(x, _t.NestedTensor) else None


@op(BOTH, "scaled_dot_product_attention")
def _attention(
    func: Any,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
) -> Any:
    inputs = (query, key, value)
    if not all(isinstance(t, _t.Nested) for t in inputs):
        raise ValueError("Expected query, key, and value to all be nested tensors, or none of them")
    if len({t.layout for t in inputs}) > 1:
        raise ValueError("Expected query, key, and value to have one layout")
    if attn_mask is not None:
        raise RuntimeError(
            "scaled_dot_product_attention: nested tensors are not supported when an explicit attn_mask is set"
        )
    if is_causal and query.layout is torch.strided:
        raise RuntimeError("scaled_dot_product_attention: nested tensors are not supported when is_causal=True")
    if query.layout is torch.jagged and not query.dim() == key.dim() == value.dim() == 4:
        dims = tuple(t.dim() for t in inputs)
        raise ValueError(
            "Expected query, key, and value to all be 4 dimensional, but got query dim: %d, key dim: %d and value dim: "
            "%d instead." % dims
        )
    parts = [
        func(q, k, v, None, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
        for q, k, v in zip(*(t._parts() for t in inputs))
    ]
    return repacked(query, parts, _ragged_of(query))


@op(BOTH, "_native_multi_head_attention")
def _native(func: Any, query: Any, key: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
    parts, weights = [], []
    for q, k, v in zip(*(t._parts() for t in (query, key, value))):
        made, weight = func(q[None], k[None], v[None], *args, **kwargs)
        parts.append(made[0])
        weights.append(weight)
    if weights and weights[0] is not None:
        most = max(w.shape[-2] for w in weights), max(w.shape[-1] for w in weights)
        pad = torch.nn.functional.pad
        weights = [pad(w, (0, most[1] - w.shape[-1], 0, most[0] - w.shape[-2])) for w in weights]
        return repacked(query, parts, _ragged_of(query)), torch.cat(weights)
    return repacked(query, parts, _ragged_of(query)), None
