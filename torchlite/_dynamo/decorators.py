"""The marks of sizes that PyTorch's files hold. Here they mean nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _DimRange:
    """A dim whose size may vary, within limits."""

    dim: int
    min: int
    max: int
