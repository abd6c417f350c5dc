"""torch.classes: classes that compiled libraries register. torchlite loads no such library, so none is there."""

from __future__ import annotations

from types import ModuleType
from typing import Any


class _ClassNamespace(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # tools look for __path__ and __file__ of every module
            raise AttributeError("module '%s' has no attribute '%s'" % (self.__name__, name))
        raise RuntimeError(
            "Tried to instantiate class '%s.%s', but it does not exist! Ensure that it is registered via "
            "torch::class_ (torchlite does not load libraries of compiled classes; write the class in Python)"
            % (self.__name__.removeprefix("torch.classes."), name)
        )


class _Classes(ModuleType):
    __file__ = "_classes.py"

    def __getattr__(self, name: str) -> _ClassNamespace:
        if name.startswith("__"):
            raise AttributeError("module 'torch.classes' has no attribute '%s'" % name)
        found = _ClassNamespace("torch.classes." + name)
        setattr(self, name, found)
        return found

    @property
    def loaded_libraries(self) -> set[str]:
        from .ops import loaded_libraries

        return loaded_libraries

    def load_library(self, path: str) -> None:
        """As torch.ops.load_library: raises OSError but for the libraries that torchlite has stand-ins for."""
        from .ops import load_library

        load_library(path)


classes = _Classes("torch.classes")
