"""Neural network building blocks: modules, parameters, functional forms, initialisers and utilities."""

from .._core import lazy as _lazy
from . import functional, init, modules
from .modules import Module
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

_LAZY = {name: "modules." + file for name, file in modules._LAZY.items()} | {"DataParallel": "parallel"}


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


_SUBMODULES = {"utils", "attention", "grad"}
__getattr__ = _lazy.install(__name__, _SUBMODULES)


def __dir__():
    return sorted({*globals(), *_LAZY, *_SUBMODULES} - {"_LAZY", "_SUBMODULES", "_lazy"})
