"""Packages whose files are read when one of their names is first asked for: torch.nn, torch.nn.modules, torch.optim.

A package says in one table which file has which names, and calls `install`. Nothing can be seen of it from outside: a
name, a file, `dir`, `import *` and the package's `__dict__` give all that the table names.
"""

from __future__ import annotations

import sys
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any


class _Package(ModuleType):
    """A module whose `__dict__` has all names: `import *` and pyro look for them there."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        own = loaded(self)
        for name in own["_LAZY"]:
            if name not in own:
                getattr(self, name)
        return own


def loaded(module: ModuleType) -> dict[str, Any]:
    """The names of a module that are there already; nothing is read for them."""
    if isinstance(module, _Package):
        return ModuleType.__dict__["__dict__"].__get__(module)  # type: ignore[index]
    return vars(module)


def by_name(files: dict[str, str]) -> dict[str, str]:
    """name -> file, from file -> names."""
    return {name: file for file, names in files.items() for name in names.split()}


def install(package: str, files: Iterable[str] = (), other: Callable[[str], Any] | None = None) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose `_LAZY` is {name: file}. files: more modules of the package that are read
    when their name is asked for. other: asked for names that are neither; without it torchlite's table of absent names.
    """
    module = sys.modules[package]
    module.__class__ = _Package
    names: dict[str, str] = loaded(module)["_LAZY"]
    known = {*names.values(), *files}

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in names:
            value = getattr(import_module(package + "." + names[name]), name)
        elif name in known:
            return import_module(package + "." + name)  # which puts it into the package
        elif other is not None:
            return other(name)
        else:
            from .absent import of

            return of(package)(name)
        setattr(module, name, value)
        return value

    return __getattr__
