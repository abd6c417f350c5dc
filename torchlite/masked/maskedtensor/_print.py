"""How a MaskedTensor prints."""

from __future__ import annotations

from typing import Any

import torchlite as torch


def _masked_tensor_str(data: Any, mask: Any, formatter: str) -> str:
    """The elements in brackets, line by line, with -- where they are masked out."""
    if data.layout is not torch.strided:
        data, mask = data.to_dense(), mask.to_dense()
    if data.dim() == 1:
        kept = mask.tolist()
        texts = [_number(x, formatter) for x in data.tolist()]
        width = max(len(text) if keep else 8 for text, keep in zip(texts, kept))
        return "[" + ", ".join(text if keep else "--".rjust(width) for text, keep in zip(texts, kept)) + "]"
    parts = [_masked_tensor_str(d, m, formatter) for d, m in zip(data, mask)]
    return "[\n" + ",\n".join("\n".join("  " + line for line in s.split("\n")) for s in parts) + "\n]"


def _number(x: Any, formatter: str) -> str:
    return formatter.format(x) if isinstance(x, float) else str(x)
