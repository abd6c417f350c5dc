"""torch.nn.attention.bias: causal masks for scaled_dot_product_attention, which are made only where it needs them."""

from __future__ import annotations

import warnings
from enum import IntEnum
from typing import Any

import torchlite as torch
from torchlite.nn.functional import scaled_dot_product_attention

__all__ = ["causal_upper_left", "causal_lower_right", "CausalVariant", "CausalBias"]


class CausalVariant(IntEnum):
    """Which corner of the mask the diagonal ends in, where there are more keys than queries or fewer."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(torch.Tensor):
    """A causal mask of (seq_len_q, seq_len_kv), as attn_mask of scaled_dot_product_attention."""

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        if not isinstance(variant, CausalVariant):
            raise AssertionError("variant must be a CausalVariant, got %s" % type(variant).__name__)
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!", stacklevel=2
            )

    def _materialize(self, device: Any = None) -> torch.Tensor:
        """The mask, true where attention is allowed."""
        shift = self.seq_len_kv - self.seq_len_q if self.variant == CausalVariant.LOWER_RIGHT else 0
        return torch.ones(self.seq_len_q, self.seq_len_kv, device=device, dtype=torch.bool).tril(shift)

    @staticmethod
    def _dispatch(
        query: Any,
        key: Any,
        value: Any,
        attn_mask: Any,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Any:
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        plain = attn_mask.seq_len_q == attn_mask.seq_len_kv or attn_mask.variant == CausalVariant.UPPER_LEFT
        mask = None if plain else attn_mask._materialize(query.device)
        return scaled_dot_product_attention(
            query, key, value, mask, dropout_p, plain, scale=scale, enable_gqa=enable_gqa
        )

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is scaled_dot_product_attention:
            return cls._dispatch(*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs or {})

    def __repr__(self) -> str:  # type: ignore[override]  # as in PyTorch
        return repr(self._materialize())


def _bias(name: str, variant: CausalVariant, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError("%s only supports 2D tensors" % name)
    return CausalBias(variant, *size)


def causal_upper_left(*size: int) -> CausalBias:
    """The mask of (queries, keys) whose query i sees the keys up to i."""
    return _bias("causal_upper_left", CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """The mask of (queries, keys) whose last query sees all keys."""
    return _bias("causal_lower_right", CausalVariant.LOWER_RIGHT, size)
