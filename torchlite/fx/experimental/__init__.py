"""Programs that transform graphs, each imported when it is first used. What is not here refuses where it is used."""

from importlib import import_module

from ..._core import absent as _absent

_MODULES = frozenset("const_fold merge_matmul meta_tracer normalize optimization rewriter".split())
_other = _absent.of(__name__)


def __getattr__(name):
    return import_module("." + name, __name__) if name in _MODULES else _other(name)
