"""Running generated code, so that tracebacks show its lines; and the imports that it needs in a file or a pickle."""

from __future__ import annotations

import builtins
import itertools
import linecache
import pickle
import re
import sys
import weakref
from typing import Any

from ..compat import alias
from ._codegen import _from_torch
from ._namespace import _custom_builtins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_KEY = "<eval_with_key>"


class _EvalCacheLoader:
    """Gives the source of generated code to linecache, while its function lives."""

    def __init__(self) -> None:
        self.eval_cache: dict[str, str] = {}
        self._numbers = itertools.count()

    def cache(self, src: str, globals: dict[str, Any], co_fields: dict[str, Any] | None = None) -> str:
        """Keeps a source; gives the file name for its code."""
        key = "%s.%d" % (_KEY, next(self._numbers))
        if co_fields:
            key += " from %(co_filename)s:%(co_firstlineno)s in %(co_name)s" % co_fields
        self.eval_cache[key] = src
        lines = [line + "\n" for line in src.split("\n")]
        linecache.cache[key] = (len(src), None, lines, key)
        return key

    def forget(self, key: str) -> None:
        self.eval_cache.pop(key, None)
        linecache.cache.pop(key, None)

    def get_source(self, module_name: str) -> str | None:
        return self.eval_cache.get(module_name)


_loader = _EvalCacheLoader()


def _exec_with_source(src: str, globals: dict[str, Any], co_fields: dict[str, Any] | None = None) -> str:
    key = _loader.cache(src, globals, co_fields)
    exec(compile(src, key, "exec"), globals)
    return key


def _method_from_src(
    method_name: str, src: str, globals: dict[str, Any], co_fields: dict[str, Any] | None = None
) -> Callable[..., Any]:
    names = dict(globals)
    key = _exec_with_source(src, names, co_fields)
    fn = names.pop(method_name)  # the dict lives as long as the function
    weakref.finalize(fn, _forget, key, id(names)).atexit = False
    return fn


def _forget(key: str, names: int) -> None:
    from . import _patching

    _loader.forget(key)
    _patching.forget(names)


def _forward_from_src(src: str, globals: dict[str, Any], co_fields: dict[str, Any] | None = None) -> Callable[..., Any]:
    return _method_from_src("forward", src, globals, co_fields)


# ---- imports ---------------------------------------------------------------------------------------------------------
def here(statements: str) -> str:
    """Statements that import torch, as they work in this process, where torchlite may not be called torch."""
    if alias.installed():
        return statements
    statements = re.sub(r"^((?:import|from) )torch\b", r"\1torchlite", statements, flags=re.M)
    return re.sub(r"^import torchlite$", "import torchlite as torch", statements, flags=re.M)


def _find(obj: Any) -> tuple[str, str]:
    """(module, name) under which an object can be imported."""
    name = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None) or getattr(obj, "_name", None)
    if name is None:
        raise pickle.PicklingError("Can't find a name for %r" % (obj,))
    module = pickle.whichmodule(obj, name)  # type: ignore[attr-defined]
    if "<locals>" in name or "<lambda>" in name:
        raise pickle.PicklingError("Can't pickle local object %r" % name)
    found: Any = sys.modules.get(module, builtins)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not obj and not hasattr(obj, "_name"):
        raise pickle.PicklingError("Can't pickle %r: it's not found as %s.%s" % (obj, module, name))
    return module, name


def _format_import_statement(name: str, obj: Any, importer: Any = None) -> str:
    if name in _custom_builtins:
        return here(_custom_builtins[name].import_str)
    if _from_torch(obj) and name == "torch":
        return here("import torch")
    module, attribute = _find(obj)
    outer, _, inner = attribute.partition(".")
    if inner:
        return "from %s import %s as _outer_of_%s; %s = _outer_of_%s.%s" % (module, outer, name, name, name, inner)
    return "from %s import %s as %s" % (module, attribute, name)


def _format_import_block(globals: dict[str, Any], importer: Any = None) -> str:
    return "\n".join(sorted({_format_import_statement(name, obj, importer) for name, obj in globals.items()}))
