"""What of PyTorch's compiler programs use around vmap."""

from __future__ import annotations

import contextlib


class TransformGetItemToIndex(contextlib.ContextDecorator):
    """Lets `x[i]` take a tensor of vmap as its index. Here it always does."""

    def __enter__(self) -> TransformGetItemToIndex:
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing to undo."""
