"""Utilities: hooks, data loading, checkpointing."""

_SUBMODULES = {
    "hooks",
    "data",
    "checkpoint",
    "model_zoo",
    "tensorboard",
    "benchmark",
    "dlpack",
    "deterministic",
    "_pytree",
    "_python_dispatch",
    "_mode_utils",
    "safetensors",
    "flop_counter",
}


def __getattr__(name):
    if name in _SUBMODULES:
        from importlib import import_module

        try:
            return import_module("." + name, __name__)
        except ModuleNotFoundError as e:
            if not (e.name or "").startswith(__name__):
                raise
    from .._core import absent

    return absent.of(__name__)(name)


def set_module(obj, mod):
    """Names `mod` as the module of a function or class."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
