"""What torch.distributed keeps of modules that it wraps or shards: nothing in a world of one process."""

from __future__ import annotations

from typing import Any


class _State:
    """What is kept of one module."""


def _insert_module_state(module: Any, state: Any) -> None:
    """Makes `state` what is kept of a module."""
    module._composable_state = state


def _get_module_state(module: Any) -> Any:
    """The state of a module, or None."""
    return module if isinstance(module, _State) else vars(module).get("_composable_state")
