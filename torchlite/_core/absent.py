"""PyTorch's public names that torchlite does not have. Each is there, and says so when it is used.

A program that only imports a name, annotates with it, subclasses it or asks `isinstance` runs on. To call it is an
AbsentError; while the caller's module is being imported, the call gives something whose use is that error. absent.txt
lists the names; demos/docs/public_names.py writes it from PyTorch's. A line without a space in front names a module,
and those after it what the module lacks:

     class A B          classes that cannot be made
     def f g            functions that cannot be called
     object o           anything else
     enum E X Y         an enumeration with its members
     error E Base       an exception, with the builtin one that it derives from
     value NAME 1       a constant, as Python writes it
     from M A B         what another absent module has
     ops mm/out,dtype   in the section `aten::`: operators and their overloads; absent_ops.py makes them

The file is read when a name is asked for that is nowhere else.
"""

from __future__ import annotations

import sys
from types import MethodType, ModuleType

from .lazy import loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from typing import Any, TextIO

# those of the table that belong to torch.Tensor, known before the table is read
METHODS = """
    _autocast_to_full_precision _autocast_to_reduced_precision
    _nested_tensor_size _nested_tensor_storage_offsets _nested_tensor_strides _philox_normal_ _philox_uniform_
    _to_sparse_bsc _to_sparse_bsr _to_sparse_csc _to_sparse_csr _use_count const_data_ptr dequantize
    int_repr ipu map2_ mtia q_per_channel_axis q_per_channel_scales q_per_channel_zero_points
    q_scale q_zero_point qscheme record_stream reinforce slice_inverse to_padded_tensor
    xpu
""".split()


class AbsentError(NotImplementedError, AttributeError):
    """A name of PyTorch was used that torchlite does not have."""

    __module__ = "torch"


def error(path: str) -> AbsentError:
    """The error for a name with its module, "torch.jit.script"; it has the reason, and what to do instead."""
    from .absent_reasons import reason

    return AbsentError("%s: %s" % (path, reason(path)))


def _importing() -> bool:
    """Whether the module whose code asks is still being imported: what it makes then, it may never use.

    So is one whose function another module of the same package calls while that is being imported.
    """
    frame: Any = sys._getframe(2)
    if frame.f_globals.get("__name__", "").endswith(".compat.alias"):  # which asks for a module's names
        frame = frame.f_back
    package = (frame.f_globals.get("__package__") or frame.f_globals.get("__name__", "")).partition(".")[0]
    while frame is not None:
        spec = frame.f_globals.get("__spec__")
        if getattr(spec, "_initializing", False) and spec.name.partition(".")[0] == package:
            return True
        frame = frame.f_back
    return False


class _Object:
    """What is neither a class nor a function; to read anything of it is an error.

    A module that is being imported may read, call and index it: the result is another one, an error when it is used.
    """

    _path = ""  # of a copy that is being made

    def __init__(self, path: str) -> None:
        self.__dict__["_path"] = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not _importing():
            raise error(self._path)
        return _Object("%s.%s" % (self._path, name))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not _importing():
            raise error(self._path)
        return _Object(self._path + "()")

    def __getitem__(self, key: Any) -> Any:
        if not _importing():
            raise error(self._path)
        return _Object(self._path + "[]")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        module, _, name = self._path.rpartition(".")
        return (_class(name, module),)

    def __instancecheck__(self, x: Any) -> bool:
        return False

    def __or__(self, other: Any) -> Any:
        return self

    __ror__ = __or__

    def __repr__(self) -> str:
        return "<%s, which torchlite does not have>" % self._path


def _class(name: str, module: str) -> type:
    path = "%s.%s" % (module, name)

    def new(cls: type, *args: Any, **kwargs: Any) -> Any:
        if _importing():
            return _Object(path + "()")
        raise error(path)

    def item(cls: type, parameters: Any) -> type:
        return cls

    return type(name, (), {"__new__": new, "__class_getitem__": classmethod(item), "__module__": module})


# what programs ask before they use something: the true answer is no
_ANSWERS = {
    "is_available": False,
    "is_initialized": False,
    "is_built": False,
    "is_in_onnx_export": False,
    "_is_current_rpc_agent_set": False,
    "device_count": 0,
    "has_triton": False,
    "has_triton_package": False,
    "set_logs": None,
}


def _function(name: str, module: str) -> Callable[..., Any]:
    path = "%s.%s" % (module, name)

    def absent(*args: Any, **kwargs: Any) -> Any:
        if name in _ANSWERS:
            return _ANSWERS[name]
        if sys.modules["torchlite._C"].overrides(*args, *kwargs.values()):  # a class may have what torchlite lacks
            from .override import absent_function

            return absent_function(path, absent, args, kwargs)
        if _importing():
            return _Object(path + "()")
        raise error(path)

    absent.__name__ = absent.__qualname__ = name
    absent.__module__ = module
    return absent


class _Method:
    """Stands for a method or property of Tensor."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.made: Any = None

    def __get__(self, tensor: Any, kind: type) -> Any:
        line = table()["torch.Tensor"][self.name]
        if tensor is not None and line.startswith("object"):
            raise error("torch.Tensor." + self.name)
        if self.made is None:
            self.made = _function(self.name, "torch.Tensor")
        return self.made if tensor is None else MethodType(self.made, tensor)


def _enum(name: str, module: str, members: Sequence[str]) -> type:
    import enum

    make: Any = enum.Enum  # its functional form, with a name that is no literal
    made = make(name, {m: m for m in members})
    made.__module__ = module
    return made


def _make(line: str, name: str, module: str) -> Any:
    """The object of one name; `line` is that of the table."""
    kind, _, rest = line.partition(" ")
    if kind == "from":
        from importlib import import_module

        source = rest.split()[0]
        return getattr(import_module("torchlite" + source[5:] if source.startswith("torch") else source), name)
    if kind == "class":
        return _class(name, module)
    if kind == "def":
        return _function(name, module)
    rest = rest[len(name) + 1 :]
    if kind == "enum":
        return _enum(name, module, rest.split())
    if kind == "error":
        import builtins

        return type(name, (getattr(builtins, rest),), {"__module__": module})
    if kind == "value":
        import ast

        return ast.literal_eval(rest)
    return _Object("%s.%s" % (module, name))


_table: dict[str, dict[str, str]] = {}  # module -> name -> its line
_on = True


def _compressed(path: str) -> TextIO:
    """The list as a wheel for the page holds it, where it is a tenth shorter."""
    import bz2

    return bz2.open(path + ".bz2", "rt", encoding="utf-8")


def table() -> dict[str, dict[str, str]]:
    """What absent.txt says, read when it is first asked for."""
    if not _table:
        import os

        names: dict[str, str] = {}
        path = os.path.join(os.path.dirname(__file__), "absent.txt")
        with open(path, encoding="utf-8") if os.path.exists(path) else _compressed(path) as file:
            for line in file:
                line = line.rstrip("\n")
                if not line.startswith(" "):
                    names = _table.setdefault(line, {})
                    continue
                kind, *found = line.split()
                if kind == "from":
                    del found[0]
                elif kind in ("enum", "error", "value"):
                    del found[1:]
                elif kind == "ops":
                    names.update((name, forms or "default") for name, _, forms in (f.partition("/") for f in found))
                    continue
                for name in found:
                    names[name] = line[1:]
    return _table


def is_on() -> bool:
    """Whether absent names are there at all; not after `uninstall`."""
    return _on


def uninstall(tensor: type) -> None:
    """Back to AttributeErrors and ModuleNotFoundErrors: for those who ask what is really there."""
    global _on
    _on = False
    sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, _Finder)]
    for name in METHODS:
        delattr(tensor, name)


def of(module: str, whole: bool = False) -> Callable[[str], Any]:
    """The `__getattr__` of a module by its __name__: a name or a module that it has not may be in the table.

    whole: nothing of the module is here. What is private in it is not in the table; a module that is being imported
    may ask for it.
    """
    path = module.replace("torchlite", "torch", 1)
    module = "torchlite" + path[len("torch") :]  # under that name it is there at any time
    loaded(sys.modules[module]).setdefault("__path__", [])  # the import system asks a package only for its modules

    def __getattr__(name: str) -> Any:
        if name == "__all__" and _on:
            from .star_names import of as star_names

            return star_names(sys.modules[module])
        found = table() if _on and not name.startswith("__") else {}
        line = found.get(path, {}).get(name)
        if line is None and path == "torch" and name.startswith("_"):  # the core's functions are there too
            line = found.get("torch._C._VariableFunctions", {}).get(name)
        if line is not None:
            value = _make(line, name, path)
        elif "%s.%s" % (path, name) in found:
            from importlib import import_module

            value = import_module("%s.%s" % (module, name))
        elif _on and whole and name.startswith("_") and not name.startswith("__") and _importing():
            return _Object("%s.%s" % (path, name))
        else:
            text = "module '%s' has no attribute '%s'" % (path, name)
            raise AttributeError(text, name=name, obj=sys.modules[module])  # for hints of names written alike
        setattr(sys.modules[module], name, value)
        return value

    return __getattr__


def of_space(path: str, name: str) -> Any:
    """A function of a namespace that is no module; AttributeError where the table has it not."""
    if _on and not name.startswith("__") and name in table().get(path, {}):
        return _function(name, path)
    raise AttributeError("module '%s' has no attribute '%s'" % (path, name))


def is_absent(value: Any) -> bool:
    """Whether it stands for a function that is not here."""
    return getattr(value, "__code__", None) is _code


_code = _function("", "").__code__
make_function = _function  # for names that are no public ones


def names(module: str) -> list[str]:
    """What a module lacks, for its dir()."""
    return list(table().get(module.replace("torchlite", "torch", 1), ()))


class _Callable(ModuleType):
    """A module whose parent has a function of the same name, torch.autograd.gradcheck for one. The import system puts
    the module in the function's place; to call it still is to call the function."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["_function"](*args, **kwargs)

    @property
    def __signature__(self) -> Any:
        import inspect

        return inspect.signature(self.__dict__["_function"])


class _Finder:
    """Finds the modules that no file has; it comes last, so that nothing else waits for it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("torchlite."):
            return None
        from importlib.machinery import ModuleSpec

        name = "torch" + fullname[len("torchlite") :]
        if name.startswith("torch._C.") and name.count(".") == 2:  # the core's namespaces are no files
            from .c_spaces import MADE, SPACES

            core, own = sys.modules["torchlite._C"], name[9:]
            space = SPACES.get(own) or vars(core).get(own)
            if space is None and (own in MADE or name not in table()):
                space = getattr(core, own, None)
            if isinstance(space, ModuleType) or space is core._nn:
                made: Any = _Made(space)
                return ModuleSpec(fullname, made)
        parent, _, own = fullname.rpartition(".")
        if name not in table() or isinstance(loaded(sys.modules[parent]).get(own), type):  # a class with absent methods
            return None
        inner = any(other.startswith(name + ".") for other in table())
        loader: Any = self
        return ModuleSpec(fullname, loader, is_package=inner)

    def create_module(self, spec: ModuleSpec) -> None:
        """An ordinary module will do."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        parent, _, own = name.rpartition(".")
        function = getattr(sys.modules[parent], own, None)
        if callable(function):
            module.__dict__["_function"] = function
            module.__class__ = _Callable
        module.__dict__["__getattr__"] = of(name, whole=True)
        module.__dict__["__dir__"] = lambda: [*module.__dict__, *names(name)]
        module.__doc__ = "Names of PyTorch that torchlite does not have: to use one is an error."


class _Made:
    """Loader of a namespace that is there already."""

    def __init__(self, space: Any) -> None:
        self.space = space

    def create_module(self, spec: ModuleSpec) -> Any:
        return self.space

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to run."""


def install(tensor: type) -> None:
    """Lets absent modules be imported, and puts the absent methods into Tensor's class."""
    finder: Any = _Finder()  # as much of a finder as the import system asks for
    sys.meta_path.append(finder)
    for name in METHODS:
        setattr(tensor, name, _Method(name))
