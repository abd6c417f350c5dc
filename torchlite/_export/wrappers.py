"""Marks for torch.export, which is not here."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def mark_subclass_constructor_exportable_experimental(constructor_subclass: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of a subclass's __init__: the function as it is, because no program is exported."""
    return constructor_subclass
