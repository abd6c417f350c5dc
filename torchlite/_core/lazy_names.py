"""torch.compile and other rarely used functions of the torch namespace."""

from __future__ import annotations


TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from .._types import Device


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
    """Returns the model or function itself: every backend runs eagerly here, with the same results."""
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if model is None:
        return lambda m: m
    return model


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
