"""What torchlite says to a name of PyTorch that a package asks for."""

from __future__ import annotations

import importlib
import pathlib
import types
from typing import Any

LIST = pathlib.Path(__file__).resolve().parent / "asked.txt"
KINDS = HAS, REFUSES, LACKS = "has", "refuses", "lacks"


def asked() -> dict[str, dict[str, bool]]:
    """What asked.txt says: name -> package -> whether the package can do without."""
    rows = (line.split() for line in LIST.read_text(encoding="utf-8").splitlines())
    return {name: {p.rstrip("?"): p.endswith("?") for p in packages} for name, *packages in rows}


def find(name: str) -> Any:
    """The object of a name, by attributes, or by import where a module has not loaded its part."""
    value, path = importlib.import_module("torchlite"), "torchlite"
    for part in name.split(".")[1:]:
        path += "." + part
        try:
            value = getattr(value, part)
        except AttributeError:
            if not isinstance(value, types.ModuleType):
                raise
            value = importlib.import_module(path)
    return value


def answer(name: str) -> str:
    from torchlite._core import absent

    try:
        value = find(name)
    except absent.AbsentError:
        return REFUSES
    except (AttributeError, ImportError):
        return LACKS
    return REFUSES if _stands_for(value) else HAS


def _stands_for(value: Any) -> bool:
    """Whether it is there only to say that torchlite does not have it."""
    from torchlite._core import absent

    if isinstance(value, types.ModuleType):
        return isinstance(getattr(value.__spec__, "loader", None), absent._Finder)
    made = absent._class("", "").__new__
    return (
        isinstance(value, absent._Object)
        or absent.is_absent(value)
        or getattr(getattr(value, "__new__", None), "__code__", None) is made.__code__
    )
