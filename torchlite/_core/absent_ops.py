"""Operators of torch.ops.aten that torchlite does not have: packets and overloads that can be named, not called.

Packages list operators in tables of their own, by overload, before they know which a program uses. absent.txt names
them in its section `aten::`; demos/docs/public_names.py writes it.
"""

from __future__ import annotations

import functools

from . import absent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def overloads(name: str) -> list[str]:
    """The overloads of an operator that is not here; empty where PyTorch has no such operator either."""
    line = absent.table().get("aten::", {}).get(name) if absent.is_on() else None
    return line.split(",") if line else []


class AbsentSchema:
    """In the place of an operator's schema, which torchlite does not know."""

    def __init__(self, name: str, overload: str) -> None:
        self.name, self.overload_name = name, "" if overload == "default" else overload

    def __getattr__(self, key: str) -> Any:
        if key.startswith("__"):
            raise AttributeError(key)
        raise absent.error("torch.ops.%s" % self.name.replace("::", "."))

    def __str__(self) -> str:
        return "%s(...)" % self.name


@functools.cache
def entries(name: str) -> dict[str, Callable[..., Any]]:
    """{overload: what raises AbsentError when it is called}."""
    found = {}
    for overload in overloads(name):
        refuse: Any = absent.make_function("%s.%s" % (name, overload), "torch.ops.aten")
        refuse.parsed, refuse.tags = AbsentSchema("aten::" + name, overload), []
        found[overload] = refuse
    return found
