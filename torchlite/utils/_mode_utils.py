"""What code around __torch_dispatch__ calls."""

from __future__ import annotations

import contextlib
from typing import Any

from .._core import dispatch_modes as _modes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def no_dispatch() -> Iterator[None]:
    """Inside, neither modes nor classes are asked what an op does."""
    with _modes.DisableTorchDispatch():
        yield


def all_same_mode(modes: Any) -> bool:
    """Whether all are one mode."""
    return all(mode == modes[0] for mode in modes)
