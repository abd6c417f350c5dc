"""torch._C._VariableFunctions, _linalg, _special and _fft: the public functions under the names of PyTorch's core."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from . import absent


MADE = frozenset(["_autograd", "_profiler", "_functions"])  # namespaces that are made when they are asked for
HIDDEN = frozenset(["unique_dim"])  # of the core's functions those that torch itself does not have


class Space(ModuleType):
    """One of these namespaces. Its functions are those of a public module, with a prefix in front of their names."""

    def __init__(self, name: str, module: str, prefix: str) -> None:
        super().__init__("torch._C." + name)
        self.__dict__.update(_module=module, _prefix=prefix)

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__
        if name in ("__and__", "__or__", "__xor__", "__lshift__", "__rshift__") and not fields["_prefix"]:
            return getattr(import_module(fields["_module"]).Tensor, name)
        short = name.removeprefix(fields["_prefix"])
        if not name.startswith("__") and name.startswith(fields["_prefix"]):
            public = import_module(fields["_module"])
            found = public.__dict__.get(short)
            if found is None:
                found = getattr(public.ops.functions if short in HIDDEN else public, short, None)
            if callable(found) and not isinstance(found, type) and not absent.is_absent(found):
                setattr(self, name, found)
                return found
        return absent.of_space(self.__name__, name)


_ROOT = __name__.partition(".")[0]
SPACES = {
    "_VariableFunctions": Space("_VariableFunctions", _ROOT, ""),
    "_linalg": Space("_linalg", _ROOT + ".linalg", "linalg_"),
    "_special": Space("_special", _ROOT + ".special", "special_"),
    "_fft": Space("_fft", _ROOT + ".fft", "fft_"),
}
