"""`import torch` means torchlite.

After `install()`, `torch` and every `torch.x.y` are the very same module objects as `torchlite` and `torchlite.x.y`: no
copies, so `isinstance`, pickles and monkey patches agree whichever name they came by. Nothing calls this by itself on a
desktop; the wheel for Pyodide brings a package `torch` that does.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType

from torchlite._core.lazy import loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

REAL = "torchlite"
ALIAS = "torch"


class _Loader:
    """Hands out a module that is already imported."""

    def __init__(self, module):
        self.module = module
        self.spec = module.__spec__

    def create_module(self, spec):
        return self.module

    def exec_module(self, module):
        module.__spec__ = self.spec  # the import system has just put the alias's spec there

    def get_source(self, fullname):
        get = getattr(self.spec.loader, "get_source", None)
        return get(self.spec.name) if get else None

    def get_code(self, fullname):  # for `python -m torch.x`
        get = getattr(self.spec.loader, "get_code", None)
        return get(self.spec.name) if get else None

    def is_package(self, fullname):
        return hasattr(self.module, "__path__")


class _Finder:
    """Answers for torch and torch.*, before any other finder."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname != ALIAS and not fullname.startswith(ALIAS + "."):
            return None
        real = REAL + fullname[len(ALIAS) :]
        try:
            module = importlib.import_module(real)
        except ModuleNotFoundError as e:
            if e.name is not None and (real == e.name or real.startswith(e.name + ".")):
                return None  # the usual "No module named 'torch.x'" follows
            raise
        # _NamingLoader has put it there; the import system would take the module's own spec, and run the module again
        sys.modules.pop(fullname, None)
        loader: Any = _Loader(module)  # as much of a loader as the import system asks for
        spec = ModuleSpec(
            fullname, loader, origin=getattr(module, "__file__", None), is_package=hasattr(module, "__path__")
        )
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations = list(module.__path__)
        return spec


_renamed: dict[Any, str] = {}  # the modules that classes and functions named before
_OPS = (REAL + ".ops.", REAL + ".functional", REAL + ".nn.functional")  # _core/homes.py names their functions


def _name_members(module):
    """Lets the classes and functions in a module say that they are in torch: packages look at `type(x).__module__`, and
    pickles hold it."""
    for value in list(loaded(module).values()):
        if isinstance(value, (type, FunctionType)):
            home = value.__module__
            if home.__class__ is str and (home == REAL or home.startswith(REAL + ".")):
                if isinstance(value, type) or not home.startswith(_OPS):
                    value.__module__ = ALIAS + home[len(REAL) :]
                    _renamed[value] = home


_own_names: dict[Any, str] = {}  # modules that say torch.x, and what they said before
_own: dict[str, Any] = {}  # the __getattr__ that modules had before, by their names
_INNER = "_core", "_files", "_functorch", "_library", "compat", "ops", "webgpu"  # PyTorch has no such modules


def _find_imported_names(module):
    """Lets a module find what PyTorch's module of its name imports from elsewhere; see imported_names.py."""
    path, spec = module.__name__.split("."), module.__spec__
    if path[0] != REAL or len(path) < 2 or path[1] in _INNER or module.__name__ in _own:
        return
    if spec is None or spec.submodule_search_locations:  # a package
        return
    own = _own[module.__name__] = vars(module).get("__getattr__")

    def __getattr__(name):
        try:
            if own:
                return own(name)
            raise AttributeError("module '%s' has no attribute '%s'" % (module.__name__, name))
        except AttributeError:
            if name.startswith("__"):
                raise
            from .imported_names import find

            try:
                return find(".".join(path[1:]), name)
            except KeyError:
                pass
            raise

    vars(module)["__getattr__"] = __getattr__


def _take(module):
    """Gives a module that has run, and what is in it, the names of torch."""
    name = module.__name__
    if not name.startswith(REAL + "."):
        return
    _name_members(module)
    _find_imported_names(module)
    _own_names[module] = name
    module.__name__ = ALIAS + name[len(REAL) :]


class _NamingLoader:
    """A loader of a module of torchlite that comes after install()."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        name = module.__name__
        self._loader.exec_module(module)
        there = sys.modules.get(name, module)  # a module may put another one in its place
        sys.modules.setdefault(ALIAS + name[len(REAL) :], there)
        _take(module)


class _NamingFinder:
    """Finds modules of torchlite as the other finders do, and names their classes."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if not fullname.startswith(REAL + "."):
            return None
        others = (f for f in sys.meta_path if f is not _NamingFinder)
        spec = next((s for f in others if (s := f.find_spec(fullname, path, target)) is not None), None)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            loader: Any = _NamingLoader(spec.loader)
            spec.loader = loader
        return spec


# functorch is a package of PyTorch's wheel. These modules are there as soon as torchlite has the name torch, so that no
# other functorch is taken, and load what they have when they are asked for it.
_FUNCTORCH = {
    "functorch": "torchlite._functorch.deprecated",
    "functorch.experimental": "torchlite._functorch.experimental",
    "functorch.compile": "torchlite._functorch.compilers",
}


class _Functorch(ModuleType):
    """A module of functorch: the names of a module of torchlite._functorch."""

    def __getattr__(self, name):
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        source = importlib.import_module(_FUNCTORCH[self.__name__])
        try:
            return getattr(source, name)
        except AttributeError:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'") from None

    def __dir__(self):
        return importlib.import_module(_FUNCTORCH[self.__name__]).__all__


def _make_functorch():
    for name in _FUNCTORCH:
        module = sys.modules[name] = _Functorch(name)
        module.__spec__ = ModuleSpec(name, None, is_package=True)
        module.__path__ = []
        if "." in name:
            setattr(sys.modules["functorch"], name.partition(".")[2], module)


def installed():
    """Whether `import torch` gives torchlite."""
    return sys.modules.get(ALIAS) is sys.modules.get(REAL) and _Finder in sys.meta_path


def install():
    """Makes `import torch` give torchlite in this process.
    Raises RuntimeError when another torch is already imported."""
    real = importlib.import_module(REAL)
    have = sys.modules.get(ALIAS)
    if have is not None and have is not real and not getattr(have, "__torchlite_alias__", False):
        where = getattr(have, "__file__", None) or "an unknown place"
        raise RuntimeError(
            f"torchlite cannot take the name torch: another torch is already imported (from {where}). "
            "Call torchlite.install_as_torch() before the first `import torch`."
        )
    if _Finder not in sys.meta_path:
        sys.meta_path[:0] = [_Finder, _NamingFinder]
    real.__name__ = ALIAS  # packages compare it with the beginning of a dotted name
    for name, module in list(sys.modules.items()):
        if name == REAL or name.startswith(REAL + "."):
            sys.modules[ALIAS + name[len(REAL) :]] = module
            _take(module)
    _name_functions(ALIAS)
    if not isinstance(sys.modules.get("functorch"), _Functorch):
        _make_functorch()
    return real


def _name_functions(root):
    """Lets the functions of torch say that they are in modules of torch, which pickle and others look up."""
    from torchlite import functional, nn, ops
    from torchlite._core import homes

    homes.rename_root(root, [*ops.all_tables(), vars(functional), vars(nn.functional), vars(nn.init)])


def uninstall():
    """Takes the names back (for tests)."""
    sys.modules[REAL].__name__ = REAL
    _name_functions(REAL)
    for finder in (_Finder, _NamingFinder):
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
    for kind, home in _renamed.items():
        kind.__module__ = home
    _renamed.clear()
    for module, name in _own_names.items():
        module.__name__ = name
    _own_names.clear()
    for name, own in _own.items():
        names = vars(sys.modules[name])
        names.update(__getattr__=own) if own else names.pop("__getattr__")
    _own.clear()
    for name in _FUNCTORCH:
        sys.modules.pop(name, None)
    for name in list(sys.modules):
        if name == ALIAS or name.startswith(ALIAS + "."):
            module = sys.modules[name]
            if module is sys.modules.get(REAL + name[len(ALIAS) :]):
                del sys.modules[name]
