"""Signals of worker processes: there are none."""

from typing import Any


def _set_worker_pids(loader_id: int, child_pids: Any) -> None: ...


def _remove_worker_pids(loader_id: int) -> None: ...


def _error_if_any_worker_fails() -> None: ...


def _set_SIGCHLD_handler() -> None: ...


_set_worker_signal_handlers = _set_SIGCHLD_handler
