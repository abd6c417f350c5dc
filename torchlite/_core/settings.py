"""The settings of a process: default dtype and device, determinism, precision, threads, warnings."""

from __future__ import annotations

import sys

from .. import _C
from . import device as _device, dtypes as _dtypes
from .from_data import type_name

if sys.platform == "emscripten":
    from . import page_threads as _threads

    _threads.set_threads(_threads.default())
else:
    _threads = _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from .._types import Device, DType

__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_default_device",
    "get_default_dtype",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "get_num_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_default_device",
    "set_default_dtype",
    "set_default_tensor_type",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_num_threads",
    "set_warn_always",
    "use_deterministic_algorithms",
]


def get_default_dtype() -> DType:
    """The dtype of tensors made from Python floats."""
    return _C.get_default_dtype()


def set_default_dtype(d: DType) -> None:
    """Sets the dtype of tensors made from Python floats (a floating-point one)."""
    if not isinstance(d, _dtypes.dtype) or not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    if d._code > _dtypes.complex128._code:
        raise TypeError("couldn't find storage object %sStorage" % d._scalar_type)
    _C.register("default_dtype", d)


def set_default_tensor_type(t: Any) -> None:
    """Old form of set_default_dtype."""
    _C.warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives."
    )
    from .legacy_types import type_to_dtype

    if isinstance(t, _dtypes.dtype):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    set_default_dtype(type_to_dtype(t))


def get_default_device() -> Device:
    """The device of new tensors."""
    if _device._context:
        return _device._context[-1]
    return _device._default or _device.device("cpu")


def set_default_device(device: Any) -> None:
    """Sets the device of new tensors; one that is not available is an error at once."""
    if device is not None:
        device = _device.device(device)
        _device.require_available(device)
    _device._default = device
    _device.default_changed()


deterministic: dict[str, Any] = {"mode": False, "warn_only": False, "fill": True, "precision": "highest"}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Every op on the CPU is deterministic anyway, and on webgpu all but writes of several values to one place
    (`index_put_`, `scatter_`, `put_`):
    in this mode the last one stays there too. `empty` and its like are filled, as torch.utils.deterministic says.
    `put_` and max_unpool are refused (with `warn_only` they warn), as PyTorch does on the CPU."""
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(
                "_set_deterministic_algorithms(): argument '%s'%s must be bool, not %s"
                % (name, " (position 1)" if name == "mode" else "", type(value).__name__)
            )
    deterministic.update(mode=mode, warn_only=warn_only)
    _C.set_fill_empty(mode and deterministic["fill"])
    level = 1 if warn_only else 2
    _C.set_deterministic(level if mode else 0)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether use_deterministic_algorithms(True) was called."""
    return deterministic["mode"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether its warn_only was True."""
    return deterministic["warn_only"]


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """use_deterministic_algorithms by number or name: 0 or "default", 1 or "warn", 2 or "error"."""
    if not isinstance(debug_mode, (str, int)):
        raise TypeError("debug_mode must be str or int, but got %s" % type(debug_mode))
    names = ("default", "warn", "error")
    if isinstance(debug_mode, str):
        if debug_mode not in names:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got %s" % debug_mode
            )
        debug_mode = names.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError("invalid value of debug_mode, expected 0, 1, or 2, but got %s" % debug_mode)
    use_deterministic_algorithms(debug_mode != 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2: see set_deterministic_debug_mode."""
    if not deterministic["mode"]:
        return 0
    return 1 if deterministic["warn_only"] else 2


def set_float32_matmul_precision(precision: str) -> None:
    """Remembered only: products are always computed in float32."""
    if precision not in ("highest", "high", "medium"):
        import warnings

        warnings.warn(
            "%s is not one of 'highest', 'high', or 'medium'; the currentsetFloat32MatmulPrecision call has no effect."
            % precision,
            stacklevel=2,
        )
        return
    deterministic["precision"] = precision


def get_float32_matmul_precision() -> str:
    """What set_float32_matmul_precision was given last."""
    return deterministic["precision"]


def set_flush_denormal(mode: bool) -> bool:
    """Denormal numbers are always kept."""
    return False


def get_num_threads() -> int:
    """On how many threads an operation runs at most: matrix products and what consists of them, as linear layers,
    attention and convolutions, if they are large. Results do not depend on it.

    At first the processors that this process may use, or the environment variable OMP_NUM_THREADS."""
    return _C.get_threads()


def set_num_threads(n: int) -> None:
    """Sets get_num_threads(); 1 turns threads off."""
    if not isinstance(n, int) or isinstance(n, bool):
        raise RuntimeError("set_num_threads expects an int, but got %s" % type_name(n))
    if n <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    if n >= 1 << 31:
        raise ValueError("Overflow when unpacking long" + " long" * (n >= 1 << 63))
    _threads.set_threads(n)


def get_num_interop_threads() -> int:
    return 1


def set_num_interop_threads(n: int) -> None:
    """One thread here."""


def set_warn_always(b: bool) -> None:
    """Whether warnings that are given once in a process are given each time."""
    if not isinstance(b, bool):
        raise RuntimeError("setWarnOnlyOnce expects a bool, but got %s" % type(b).__name__)
    _C.set_warn_always(b)


def is_warn_always_enabled() -> bool:
    return _C.is_warn_always()
