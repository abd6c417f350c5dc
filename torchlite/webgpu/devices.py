"""PyTorch's error for tensors of several devices."""

from __future__ import annotations

from typing import Any

from .. import _C

Tensor = _C.TensorBase


def two_devices() -> RuntimeError:
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, webgpu:0 and cpu!"
    )


def check_devices(args: Any, numbers: bool = True) -> None:
    """Raises it for CPU tensors among args, or in lists there; `numbers`: those without dims go with any device."""
    for a in args:
        for t in a if isinstance(a, (list, tuple)) else (a,):
            if isinstance(t, Tensor) and t.is_cpu and (t.dim() or not numbers):
                raise two_devices()
