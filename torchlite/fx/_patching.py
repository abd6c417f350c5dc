"""What a trace puts in the place of functions and methods, and takes away again."""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
from typing import Any

import torchlite as torch

from .proxy import Proxy
from .node import map_aggregate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# functions to record: (id of a module's dict, name) -> the dict; and methods: (class, name)
_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}
_wrapped_methods_to_patch: list[tuple[type, str]] = []
_ABSENT: Any = object()


def _find_proxy(*objects_to_search: Any) -> Proxy | None:
    """The first Proxy in nested containers."""
    found: list[Proxy] = []
    map_aggregate(objects_to_search, lambda x: found.append(x) if isinstance(x, Proxy) else None)
    return found[0] if found else None


def _create_wrapped_func(orig_fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which records a node when an argument is a Proxy."""

    @functools.wraps(orig_fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return orig_fn(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", orig_fn, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return wrapped


def _create_wrapped_method(cls: type, name: str) -> Callable[..., Any]:
    """The method, which records a node when an argument is a Proxy."""
    orig_fn = getattr(cls, name)

    @functools.wraps(orig_fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return orig_fn(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


class _Patch:
    """One name of a dict or class that has another value for a while."""

    def __init__(self, place: Any, name: str, new: Any) -> None:
        self.place, self.name, self.new = place, name, new
        own = place if isinstance(place, dict) else vars(place)
        self.old = own.get(name, _ABSENT)

    def _set(self, value: Any) -> None:
        if isinstance(self.place, dict):
            if value is _ABSENT:
                del self.place[self.name]
            else:
                self.place[self.name] = value
        elif value is _ABSENT:
            delattr(self.place, self.name)
        else:
            setattr(self.place, self.name, value)

    def patch(self) -> None:
        self._set(self.new)

    def revert(self) -> None:
        self._set(self.old)


class _Patcher:
    """All attributes that one trace has replaced."""

    def __init__(self) -> None:
        self.patches_made: list[_Patch] = []
        self.visited: set[int] = set()

    def _add(self, place: Any, name: str, new_fn: Any, old: Any, deduplicate: bool) -> None:
        if getattr(old, "_fx_already_patched", False):
            return
        new_fn._fx_already_patched = deduplicate
        patch = _Patch(place, name, new_fn)
        self.patches_made.append(patch)
        patch.patch()

    def patch(self, frame_dict: dict[str, Any], name: str, new_fn: Any, deduplicate: bool = True) -> None:
        """Puts a function into a module's dict."""
        old = frame_dict[name] if name in frame_dict or not hasattr(builtins, name) else None
        self._add(frame_dict, name, new_fn, old, deduplicate)

    def patch_method(self, cls: type, name: str, new_fn: Any, deduplicate: bool = True) -> None:
        """Puts a method into a class."""
        if cls is torch.nn.Module and name == "__getattr__":  # its C base finds parameters before that is asked
            if name not in vars(cls):  # classes that are made during the trace may call super().__getattr__ later
                setattr(cls, name, cls._own_getattr)  # type: ignore[attr-defined]
            patch = _Patch(cls, "__getattribute__", object.__getattribute__)
            self.patches_made.append(patch)
            patch.patch()
        self._add(cls, name, new_fn, getattr(cls, name, None), deduplicate)

    def visit_once(self, thing: Any) -> bool:
        """False the second time that an object comes."""
        known = id(thing) in self.visited
        self.visited.add(id(thing))
        return not known

    def revert_all_patches(self) -> list[_Patch]:
        """Puts all back; reapply_all_patches goes on."""
        for patch in reversed(self.patches_made):
            patch.revert()
        return self.patches_made

    def reapply_all_patches(self) -> list[_Patch]:
        for patch in self.patches_made:
            patch.patch()
        return self.patches_made

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.revert_all_patches()
        self.patches_made.clear()
        self.visited.clear()


_current: list[_Patcher] = []


@contextlib.contextmanager
def _new_patcher() -> Iterator[_Patcher]:
    with _Patcher() as patcher:
        _current.append(patcher)
        try:
            yield patcher
        finally:
            _current.pop()


@contextlib.contextmanager
def _maybe_revert_all_patches() -> Iterator[None]:
    """Inside, what the running trace has patched is as it was."""
    patcher = _current[-1] if _current else None
    if patcher is not None:
        patcher.revert_all_patches()
    try:
        yield
    finally:
        if patcher is not None:
            patcher.reapply_all_patches()


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Patches what `wrap` was asked to."""
    for (_, name), frame_dict in [*_wrapped_fns_to_patch.items()]:
        own = name in frame_dict or not hasattr(builtins, name)
        orig_fn = frame_dict[name] if own else getattr(builtins, name)
        patcher.patch(frame_dict, name, _create_wrapped_func(orig_fn))
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, _create_wrapped_method(cls, name))


def _autowrap_check(patcher: _Patcher, frame_dict: dict[str, Any], function_ids: set[int]) -> None:
    """Patches those functions of a module's dict that a tracer wraps by itself."""
    if not patcher.visit_once(frame_dict):
        return
    for name, value in [*frame_dict.items()]:
        if not name.startswith("_") and callable(value) and id(value) in function_ids:
            patcher.patch(frame_dict, name, _create_wrapped_func(value))


def wrap(fn_or_name: Any) -> Any:
    """Records calls of a function as nodes instead of tracing into it. Call it at the top level of the module that
    uses the function, with the function's name, or decorate the function with it."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    here: Any = inspect.currentframe()
    frame = here.f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[(id(frame.f_globals), name)] = frame.f_globals
    return fn_or_name


def forget(frame_dict_id: int) -> None:
    """Lets go of the dict of generated code."""
    for key in [key for key in _wrapped_fns_to_patch if key[0] == frame_dict_id]:
        del _wrapped_fns_to_patch[key]


wrap.__module__ = __name__.rpartition(".")[0] + "._symbolic_trace"
