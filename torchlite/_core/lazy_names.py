"""torch.compile and other rarely used functions of the torch namespace."""

from __future__ import annotations


TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from .._types import Device

_MODES = (None, "default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")

_BACKENDS = frozenset(
    """inductor eager eager_noexcept eager_debug aot_eager aot_eager_decomp_partition aot_ts cudagraphs openxla
    openxla_eval pre_dispatch_eager ts tvm""".split()
)


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: Any = None,
    backend: Any = None,
    mode: str | None = None,
    options: Any = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: Any = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """A module as OptimizedModule, a function itself: every backend runs eagerly here, with the same results."""
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if model is None:
        return lambda m: compile(m, disable=disable)
    if not callable(model):
        raise AssertionError("A callable function is expected, but %s is provided." % type(model))
    import torchlite as torch

    if isinstance(backend, str) and backend not in _BACKENDS:
        from .._dynamo.exc import InvalidBackend

        raise InvalidBackend(backend)
    if backend in (None, "inductor") and mode not in _MODES:
        raise RuntimeError("Unrecognized mode=%s, should be one of: %s" % (mode, ", ".join(_MODES[1:])))
    if disable or not isinstance(model, torch.nn.Module):
        return model
    from .._dynamo.eval_frame import OptimizedModule

    return OptimizedModule(model)


def from_file(
    filename: str,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Device | str | int | None = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Any:
    """A vector of `size` elements in a mapped file. Where `shared`, changes of it are changes of the file."""
    import torchlite as torch
    from ..storage import map_file

    if not isinstance(filename, str):
        raise TypeError("from_file(): argument 'filename' (position 1) must be str, not %s" % type(filename).__name__)
    kind = torch.device(torch.get_default_device() if device is None else device).type
    if kind != "cpu":
        raise NotImplementedError(
            "Could not run 'aten::from_file' with arguments from the '%s' backend: only CPU tensors can be mapped to "
            "files" % kind
        )
    dtype = torch.get_default_dtype() if dtype is None else dtype
    made = torch.empty(0, dtype=dtype, layout=layout or torch.strided, pin_memory=bool(pin_memory))
    made.set_(map_file(filename, shared, size * dtype.itemsize), 0, (size,))
    return made.requires_grad_(requires_grad)


def get_device_module(device: Device | str | int | None = None) -> Any:
    """The module of a device type, for example torch.cuda."""
    import torchlite as torch

    kind = torch.device("cpu" if device is None else device).type
    try:
        return getattr(torch, kind)
    except AttributeError:
        raise RuntimeError(
            "Device '%s' does not have a corresponding module registered as 'torch.%s'." % (kind, kind)
        ) from None


def _disable_dynamo(fn: Any = None, recursive: bool = True) -> Any:
    """Decorator: the function as it is, because nothing compiles it."""
    return fn if fn is not None else lambda f: f


def vitals_enabled() -> bool:
    """Whether vitals are kept: never."""
    return False


def set_vital(vital_name: str, attr_name: str, value: str) -> bool:
    return False


def read_vitals() -> str:
    return ""
