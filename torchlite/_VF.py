"""torch._VF: the functions of torch under the names of PyTorch's core, where torch has others of the same name."""

from typing import Any


def __getattr__(name: str) -> Any:
    from ._C import _VariableFunctions  # type: ignore[attr-defined]
    from ._core import absent

    found = getattr(_VariableFunctions, name)
    if absent.is_absent(found):
        raise AttributeError("module 'torch._VF' has no attribute '%s'" % name)
    return found
