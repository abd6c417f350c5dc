"""Contexts and decorators that set the default device."""

from __future__ import annotations

import functools
from typing import Any

import torchlite as torch


class DeviceContext:
    """`with torch.device(device):` as a class."""

    def __init__(self, device: Any) -> None:
        self.device = torch.device(device)

    def __enter__(self) -> DeviceContext:
        self.device.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.device.__exit__(*exc)


def set_device(device: Any) -> Any:
    """Decorator: the function runs with this default device."""

    def decorate(fn: Any) -> Any:
        @functools.wraps(fn)
        def run(*args: Any, **kwargs: Any) -> Any:
            with torch.device(device):
                return fn(*args, **kwargs)

        return run

    return decorate
