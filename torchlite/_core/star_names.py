"""`from module import *` of modules that have no list: it takes what is made when it is asked for, too."""

from __future__ import annotations

from types import ModuleType

from . import absent


def of(module: ModuleType) -> list[str]:
    """What `from module import *` takes where the module has no list: also what is made when it is asked for."""
    own, inner = vars(module), module.__name__ + "."
    inner = inner if "." in module.__name__ else "-"  # torch has a list, without its modules

    def foreign(name: str) -> bool:
        value = own.get(name)
        return isinstance(value, ModuleType) and not value.__name__.startswith(inner)

    leaked = {"annotations", "TYPE_CHECKING"}
    lacks = set(absent.names(module.__name__))
    return [n for n in {*dir(module), *lacks} - leaked if not n.startswith("_") and not foreign(n)]
