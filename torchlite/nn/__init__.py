"""Neural network building blocks: modules, parameters, functional forms, initialisers and utilities."""

from . import functional, init, modules
from .modules import Module, _LAZY
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

globals().update((_n, getattr(modules, _n)) for _n in modules._EAGER)
_SUBMODULES = {"utils", "modules", "parameter", "attention", "parallel", "grad"}


def factory_kwargs(kwargs):
    """The device, dtype and memory_format entries of `kwargs`, whose own `factory_kwargs` entry is merged in."""
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    expected = simple | {"factory_kwargs"}
    if not kwargs.keys() <= expected:
        raise TypeError(f"unexpected kwargs {kwargs.keys() - expected}")
    out = dict(kwargs.get("factory_kwargs", {}))
    for k in simple:
        if k in kwargs:
            if k in out:
                raise TypeError(f"{k} specified twice, in **kwargs and in factory_kwargs")
            out[k] = kwargs[k]
    return out


def __getattr__(name):
    from importlib import import_module

    if name in _LAZY:
        value = globals()[name] = getattr(modules, name)
        return value
    if name == "DataParallel":
        return import_module(".parallel", __name__).DataParallel
    if name in _SUBMODULES:
        return import_module("." + name, __name__)
    return import_module(".._core.absent", __name__).of(__name__)(name)


def __dir__():
    return sorted({*globals(), *_LAZY, *_SUBMODULES} - {"_LAZY", "_SUBMODULES"})
