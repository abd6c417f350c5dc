"""Functions that packages call in torch._C."""

from __future__ import annotations


def _log_api_usage_once(event: str) -> None:
    """Nothing is logged."""


def _get_tracing_state() -> None:
    """No tracer runs."""


def _are_functorch_transforms_active() -> bool:
    """False: torch.func calls the functions themselves."""
    return False


def _jit_set_profiling_executor(value: bool) -> bool:
    """The old value; there is no executor."""
    return False


_jit_set_profiling_mode = _jit_set_profiling_executor
