"""How an op runs on webgpu: a planner for its kernel row, the op's body, or the CPU, which is never silent.

The file is loaded when the first tensor asks for the device.
"""

from __future__ import annotations

import os
from typing import Any, Callable

from .. import _C
from . import tensors
from .fallback import on_cpu
from .plan import families  # noqa: F401
from .plan.pointwise import pointwise
from .registry import PLANNERS, ROWS

# rows whose op body computes in float64, and those whose planner leaves dtypes to the CPU that it may have to refuse
CPU_FIRST = frozenset(
    (
        "_fft_c2c _fft_r2c _fft_c2r mm mv dot vdot matmul addmm addmv baddbmm linear scatter index_reduce bincount "
        "bucketize max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices avg_pool1d avg_pool2d "
        "avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d adaptive_avg_pool1d "
        "adaptive_avg_pool2d adaptive_avg_pool3d"
    ).split()
)


def device_run(ov: Any, args: Any) -> Any:
    """Runs an overload that has a CPU kernel, with tensors on webgpu."""
    name = ov.kernel
    row = ROWS.get(name)
    if row is not None:
        r = pointwise(ov, row, args)
        if r is not NotImplemented:
            return r
    else:
        fn = PLANNERS.get(name)
        if fn is not None:
            r = fn(ov, args)
            if r is not NotImplemented:
                return r
    if ov.body is not None and name not in CPU_FIRST:
        return NotImplemented
    return on_cpu(ov, args)


HOOKS: dict[str, Callable[..., Any]] = {
    "device_alloc": tensors.device_alloc,
    "device_resize": tensors.device_resize,
    "device_copy": tensors.device_copy,
    "device_fill": tensors.device_fill,
    "device_run": device_run,
    "host_copy": tensors.host_copy,
}


def register() -> None:
    """Lets the core call the device directly from here on."""
    for name, fn in HOOKS.items():
        _C.register(name, fn)
    if os.environ.get("TORCHLITE_DEBUG"):
        from .watch import debug

        debug.from_environment()
