"""What programs ask before they compile: nothing is compiled here."""

from __future__ import annotations

import contextlib
from typing import Any


def is_compile_supported(device_type: str) -> bool:
    """Whether torch.compile makes code for a kind of device."""
    return False


def disable_cache_limit() -> Any:
    """A context: nothing is cached."""
    return contextlib.nullcontext()


def clone_input(x: Any, *, dtype: Any = None) -> Any:
    """A leaf with the values and strides of a tensor."""
    import torchlite as torch

    with torch.no_grad():
        made = torch.empty_strided(x.shape, x.stride(), dtype=dtype or x.dtype, device=x.device)
        if not x.is_meta:
            made.copy_(x)
    return made.requires_grad_(x.requires_grad)
