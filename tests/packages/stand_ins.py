"""Modules without content, for packages that Pyodide's distribution has and this machine has not.

Many packages import Pillow or SciPy at their top and use it in a few functions. With these modules their imports work,
and who calls one of their names gets ModuleNotFoundError.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import json
import pathlib
import types

# Packages do without the first ones where they are missing, and not where they are empty. numpy is there.
LEFT_OUT = {"ssl", "flint", "gmpy2", "numpy", "torch"}


class _Missing(type):
    """The class of the names in these modules: they can be bases, annotations and parts of unions."""

    def __call__(cls, *args: object, **kwargs: object) -> None:
        raise ModuleNotFoundError("No module named '%s'" % cls.__module__.partition(".")[0])

    def __getattr__(cls, name: str) -> _Missing:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Missing(name, (), {"__module__": cls.__module__})

    def __index__(cls) -> int:
        return 0  # an enumeration takes it for a value

    def __or__(cls, other: object) -> object:
        return other

    __ror__ = __or__


class _Module(types.ModuleType):
    def __getattr__(self, name: str) -> _Missing:
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, _Missing(name, (), {"__module__": self.__name__}))
        return vars(self)[name]


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Comes after all other finders: what is there stays."""

    def __init__(self, versions: dict[str, str]) -> None:
        self.versions = versions

    def find_spec(self, name, path=None, target=None):
        known = name.partition(".")[0] in self.versions
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if known else None

    def create_module(self, spec):
        return _Module(spec.name)

    def exec_module(self, module):
        module.__path__ = []
        module.__version__ = self.versions[module.__name__.partition(".")[0]]


def of_distribution(lock: pathlib.Path) -> dict[str, str]:
    """Top-level module -> version, of all packages in a lock file of Pyodide."""
    packages = json.loads(lock.read_text())["packages"].values()
    names = {name.partition(".")[0]: p["version"] for p in packages for name in p["imports"]}
    return {name: version for name, version in names.items() if name not in LEFT_OUT}
