"""Names of functions and types in generated code: PyTorch's names, wherever torchlite keeps the function."""

from __future__ import annotations

import builtins
import inspect
import types
from typing import Any

import torchlite as torch

from .. import _C
from .._core.homes import path, torch_name


def is_ours(func: Any) -> bool:
    module = getattr(func, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] in ("torchlite", "torch")


def short_name(func: Any) -> str:
    """The name that a node gets from its function."""
    found = path(func) if isinstance(func, (_C.Op, _C.Function)) else None
    return found.rpartition(".")[2] if found else func.__name__


def find_module_of_method(orig_method: Any) -> str:
    """The module where a function is found; a RuntimeError where there is none."""
    module = orig_method.__module__
    if isinstance(module, str):
        return torch_name(module)
    for guess in (torch, torch.nn.functional):
        if getattr(guess, orig_method.__name__, None) is orig_method:
            return torch_name(guess.__name__)
    raise RuntimeError("cannot find module for %s" % (orig_method,))


def get_qualified_name(func: Any) -> str:
    """The path under which generated code finds a function."""
    name = func.__name__
    if getattr(builtins, name, None) is func:
        return name
    if getattr(torch.Tensor, name, None) is func and not isinstance(func, types.FunctionType):
        return "torch.Tensor." + name
    known = path(func)
    if known is not None:
        return known
    if name == "<lambda>":  # the name that the module gave it
        try:
            name = inspect.getsource(func).split("=")[0].strip()
        except Exception as e:
            raise RuntimeError("Unable to represent lambda") from e
    module = find_module_of_method(func).replace("torch._ops", "torch.ops")
    if module == "torch" and name == "segment_reduce":
        name = "_" + name
    return "%s.%s" % (module, name)


def type_repr(obj: Any) -> str:
    """A type as annotations write it."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return "%s.%s" % (torch_name(obj.__module__), obj.__qualname__)
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj).replace("torchlite.", "torch.")
