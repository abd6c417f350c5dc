"""Names of nodes and globals that do not collide, and the words and signs of generated code."""

from __future__ import annotations

import builtins
import keyword
import math
import re
from collections import defaultdict
from typing import Any, NamedTuple

import torchlite as torch

from ..utils import _pytree as pytree
from . import _pytree as fx_pytree


class _CustomBuiltin(NamedTuple):
    """A name that all generated code has, and the statement that imports it."""

    import_str: str
    obj: Any


_custom_builtins: dict[str, _CustomBuiltin] = {}


def _register_custom_builtin(name: str, import_str: str, obj: Any) -> None:
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)


_register_custom_builtin("inf", "from math import inf", math.inf)
_register_custom_builtin("nan", "from math import nan", math.nan)
_register_custom_builtin("NoneType", "NoneType = type(None)", type(None))
_register_custom_builtin("torch", "import torch", torch)
_register_custom_builtin("device", "from torch import device", torch.device)
_register_custom_builtin("fx_pytree", "import torch.fx._pytree as fx_pytree", fx_pytree)
_register_custom_builtin("pytree", "import torch.utils._pytree as pytree", pytree)


# operators that code writes as such
def _signs(text: str, form: str = "{} %s {}") -> dict[str, str]:
    pairs = (pair.split(":") for pair in text.split())
    return {name: form % sign for name, sign in pairs}


reflectable_magic_methods = {
    **_signs("add:+ sub:- mul:* floordiv:// truediv:/ div:/ mod:% pow:** lshift:<< rshift:>> and_:& or_:| xor:^"),
    "getitem": "{}[{}]",
    "matmul": "{} @ {}",
}
magic_methods = {
    **_signs("eq:== ne:!= lt:< gt:> le:<= ge:>="),
    **_signs("pos:+ neg:- invert:~", "%s{}"),
    **reflectable_magic_methods,
}
inplace_methods = {
    **_signs("iadd:+= iand:&= ifloordiv://= ilshift:<<= imod:%= imul:*= imatmul:@= ior:|= ipow:**= irshift:>>="),
    **_signs("isub:-= itruediv:/= ixor:^="),
    "setitem": "{}[{}] = {}",
}

_numbered = re.compile(r"([a-zA-Z_][0-9a-zA-Z_]*?)(?:_(\d+))?")
_not_in_names = re.compile("[^0-9a-zA-Z_]+")
_taken: dict[str, Any] = {
    **{word: object() for word in keyword.kwlist},
    **vars(builtins),
    **{name: custom.obj for name, custom in _custom_builtins.items()},
}


def _snake_case(s: str) -> str:
    """MyModule -> my_module"""
    return re.sub("(?<=[a-z])([A-Z])", r"_\1", s).lower()


def _is_magic(x: str) -> bool:
    return x.startswith("__") and x.endswith("__")


class _Namespace:
    """Gives names that are Python's, not yet used, and no builtin of another object."""

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = defaultdict(int)

    def create_name(self, candidate: str, obj: Any = None) -> str:
        """A name like `candidate`; the one that the object already has."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        found = _numbered.fullmatch(candidate)
        if found is None:
            candidate = _not_in_names.sub("_", candidate) or "_unnamed"
            if candidate[0].isdigit():
                candidate = "_" + candidate
            found = _numbered.fullmatch(candidate)
        base, digits = found.groups() if found else (candidate, None)
        if digits is None or candidate in self._used_names:
            number = self._base_count.get(base if digits else candidate, 0)
            if _taken.get(candidate, obj) is not obj:
                number += 1
                candidate = "%s_%d" % (base, number)
        else:
            number = int(digits)
        while candidate in self._used_names:
            number += 1
            candidate = "%s_%d" % (base, number)
        self._used_names.add(candidate)
        self._base_count[base] = number
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Gives an object a name that create_name made."""
        if self._obj_to_name.setdefault(obj, name) != name:
            raise AssertionError("obj is already associated")

    def _rename_object(self, obj: Any, name: str) -> None:
        if obj not in self._obj_to_name:
            raise AssertionError("Object %s is not in the namespace" % (obj,))
        self._obj_to_name[obj] = name
        self._used_names.add(name)
