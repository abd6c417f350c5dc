"""Utilities: hooks, data loading, checkpointing."""

_SUBMODULES = {
    "benchmark",
    "hooks",
    "weak",
    "data",
    "checkpoint",
    "model_zoo",
    "dlpack",
    "deterministic",
    "_pytree",
    "_python_dispatch",
    "_mode_utils",
    "safetensors",
    "tensorboard",
}


def __getattr__(name):
    from importlib import import_module

    if name == "swap_tensors":
        from ._swap import swap_tensors

        return swap_tensors
    if name in _SUBMODULES:
        return import_module("." + name, __name__)
    return import_module(".._core.absent", __name__).of(__name__)(name)


def set_module(obj, mod):
    """Names `mod` as the module of a function or class."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
