"""Optimizers and learning rate schedules; each file is loaded when first used, except the most common."""

import sys
from types import ModuleType

from .adam import Adam
from .adamw import AdamW
from .optimizer import Optimizer
from .sgd import SGD

_LAZY = {
    "Adafactor": "_adafactor",
    "Adadelta": "adadelta",
    "Adagrad": "adagrad",
    "Adamax": "adamax",
    "ASGD": "asgd",
    "LBFGS": "lbfgs",
    "Muon": "_muon",
    "NAdam": "nadam",
    "RAdam": "radam",
    "RMSprop": "rmsprop",
    "Rprop": "rprop",
    "SparseAdam": "sparse_adam",
}
_FILES = {*_LAZY.values(), "lr_scheduler", "swa_utils"}

__all__ = [
    "Adafactor",
    "Adadelta",
    "Adagrad",
    "Adam",
    "Adamax",
    "AdamW",
    "ASGD",
    "LBFGS",
    "lr_scheduler",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
    "swa_utils",
]


def __getattr__(name):
    from importlib import import_module

    if name in _FILES:
        return import_module("." + name, __name__)
    if name in _LAZY:
        value = globals()[name] = getattr(import_module("." + _LAZY[name], __name__), name)
        return value
    return import_module(".._core.absent", __name__).of(__name__)(name)


def __dir__():
    return sorted(__all__)


class _Module(ModuleType):
    """torch.optim as a module whose __dict__ has all optimizers: pyro looks for them there."""

    @property
    def __dict__(self):  # type: ignore[override]
        for name in _LAZY:
            getattr(self, name)
        return ModuleType.__dict__["__dict__"].__get__(self)  # type: ignore[index]


sys.modules[__name__].__class__ = _Module
