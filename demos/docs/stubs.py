"""Writes torchlite/__init__.pyi, _C.pyi, linalg.pyi and others: types of the functions and methods that are derived
from the declarations, which a type checker cannot see in the source.

    python demos/docs/stubs.py [--check]

--check writes nothing and fails when a file is not current.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pathlib
import sys
import types
from typing import Any, Callable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import op_list
from stub_tables import (
    ATTRIBUTES,
    BINARY,
    CONSTANTS,
    CONTEXT,
    CORE_TYPES,
    KEYWORDS,
    MODULE,
    PLAIN,
    PUT_IN_PLACE,
    READ_ONLY,
    RESULTS,
    TYPED,
    TYPES,
)
import torchlite
from torchlite.ops import _schema, methods

HEAD = '''# mypy: ignore-errors
"""Made by `make docs` from the op declarations; do not edit."""
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from typing import Any, NamedTuple, Sequence, overload
{imports}
_Number = _int | _float | _complex
'''


# modules that are filled with declared ops
named: dict[str, list[str]] = {}  # results with names, by the name of their class here
NAMESPACES = ("fft", "linalg", "nn.functional", "special")


def result(text: str) -> str:
    """The Python type of a schema's result."""
    text = text.replace("(a!)", "").replace("(a)", "").replace("(b!)", "").replace("(a -> *)", "").strip()
    if text in RESULTS:
        return RESULTS[text]
    fields = [p.split() for p in text[1:-1].split(",")] if text.startswith("(") else []
    if fields and all(len(f) == 2 and f[0] == "Tensor" and not f[1].startswith("_") for f in fields):
        name = "_" + "_".join(name for _, name in fields)
        named[name] = [name for _, name in fields]
        return name
    if fields:
        return "tuple[" + ", ".join(result(p.strip().split(" ")[0]) for p in text[1:-1].split(",")) + "]"
    return "Any"


def signature(schema: str, method: bool, out: bool) -> list[str]:
    """The signatures of an overload: as written, and with loose integers where it takes a list of them."""
    params = _schema.parse(schema)
    pieces, star, loose = [], False, ""
    for i, p in enumerate(params):
        if method and i == 0:
            pieces.append("self")
            continue
        kind = TYPES[p.type] + (" | _Number" if p.type == "Tensor" and p.size else "")
        name = "input" if p.name == "self" else KEYWORDS.get(p.name, p.name)
        only = sum(not q.kwonly for q in params) == 1 + int(method)  # f(2, 3) for f((2, 3))
        if only and p.type == "int[]" and not p.size and not p.kwonly and i == int(method):
            loose = f"*{name}: _int"
        if p.kwonly and not star:
            pieces.append("*")
            star = True
        default = "" if p.default is NotImplemented else " = ..."
        pieces.append(f"{name}: {kind}{' | None' if p.nullable or p.default is None else ''}{default}")
    back = result(_schema.split(schema)[3])
    if out and back != "None":
        pieces += ([] if star else ["*"]) + [f"out: {'Any' if back != 'Tensor' else 'Tensor'} | None = ..."]
    lines = [f"({', '.join(pieces)}) -> {back}"]
    if loose:
        at = int(method)
        rest = [x for x in pieces[at + 1 :] if x != "*"]
        lines.append(f"({', '.join([*pieces[:at], loose, *rest])}) -> {back}")
    return lines


def definition(name: str, op: object, method: bool, indent: str = "") -> list[str]:
    overloads, takes_out = op.overloads, op.takes_out  # type: ignore[attr-defined]
    found = list(dict.fromkeys(s for ov in overloads for s in signature(ov.schema, method, takes_out)))
    if len(found) == 1:
        return [f"{indent}def {name}{found[0]}: ..."]
    return [f"{indent}{line}" for s in found for line in ("@overload", f"def {name}{s}: ...")]


def is_op(value: object) -> bool:
    return type(value).__name__ in ("Op", "OpMethod")


def finished(lines: list[str], up: str = ".") -> str:
    """The text of a stub, which has the named tuples that its functions return from `_C.pyi`."""
    text = "\n".join(lines) + "\n"
    used = ", ".join(name for name in sorted(named) if f"-> {name}: " in text)
    given = f"from {up}_C import {used}\n" if used else ""
    return text.replace("Any, NamedTuple, Sequence, overload\n", "Any, Sequence, overload\n" + given, 1)


def tuples() -> str:
    """The named tuples that functions return; called when all other stubs are made."""
    return "".join(
        f"\nclass {name}(NamedTuple):\n" + "".join(f"    {field}: Tensor\n" for field in fields)
        for name, fields in sorted(named.items())
    )


def core_names() -> list[str]:
    """The functions and values of `_C` that nothing else here types. No `__getattr__`, so a name misspelt is found."""
    lines = []
    for name, value in sorted(vars(torchlite._C).items()):
        if name.startswith("__") or isinstance(value, int) or name in ("kernels", "commands", "dtype_table"):
            continue
        if isinstance(value, types.BuiltinFunctionType):
            lines.append(f"def {name}(*args: Any, **kwargs: Any) -> Any: ...")
        elif not isinstance(value, type):
            lines.append(f"{name}: Any")
        elif name == "ModuleBase":
            lines += MODULE
        elif name in PUT_IN_PLACE:
            lines.append(f"{name}: type")
        elif name not in TYPED:
            lines += [f"class {name}:", "    def __init__(self, *args: Any) -> None: ..."]
            lines += CONTEXT if name == "GradMode" else []
    return lines


def other_members() -> list[str]:
    """The attributes and methods of the tensor type that neither a table here nor a declaration types."""
    lines = []
    for name, value in sorted(vars(torchlite._C.TensorBase).items()):
        if name in PLAIN or name in ATTRIBUTES or name.startswith("__") or is_op(value):
            continue
        if isinstance(value, types.GetSetDescriptorType):
            lines.append(f"    {name}: {'_bool' if name.startswith('is_') else 'Any'}")
        elif isinstance(value, types.MethodDescriptorType):
            returns = "_bool" if name.startswith("is_") else "Any"
            lines.append(f"    def {name}(self, *args: Any, **kwargs: Any) -> {returns}: ...")
    typed = tuple("_core/%s.py" % name for name in ("tensor", "array_methods", "resizing"))  # read by type checkers
    for name, value in sorted(vars(torchlite.Tensor).items()):  # methods that other modules put there
        value = plain(value)
        if isinstance(value, types.FunctionType) and not value.__code__.co_filename.endswith(typed):
            lines.append("    " + untyped(name, value))
    return lines


def core() -> str:
    """torchlite/_C.pyi: the tensor type."""
    head = HEAD.format(
        imports="from ._core.device import device as _device, layout as _layout, memory_format as _memory_format\n"
        "from ._core.dtypes import dtype as _dtype\nfrom ._core.tensor import Tensor\n"
    )
    head = head.replace("Any, NamedTuple", "Any, Callable, NamedTuple, Self")
    lines = [
        head,
        "kernels: dict[_str, Any]",
        "commands: dict[_str, _int]",
        "dtype_table: tuple[tuple[_str, _str, _str, _int], ...]",
        *(f"{name}: _int" for name, value in vars(torchlite._C).items() if type(value) is int),
        *core_names(),
        "",
        *CORE_TYPES.splitlines(),
        "",
        "class Size(tuple[_int, ...]):",
        "    def numel(self) -> _int: ...",
        "",
        "class TensorBase:",
        "    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...",
    ]
    for name, kind in ATTRIBUTES.items():
        lines += (
            ["    @property", f"    def {name}(self) -> {kind}: ..."] if name in READ_ONLY else [f"    {name}: {kind}"]
        )
    lines += [f"    def __{n}__(self, other: Any) -> Tensor: ..." for n in BINARY.split()]
    lines += [f"    def __{n}__(self) -> Tensor: ..." for n in ("neg", "pos", "abs", "invert")]
    lines += [f"    def {k}{v}: ..." for k, v in PLAIN.items()]
    lines += other_members()
    for name, op in sorted(methods().items()):
        if (
            is_op(op)
            and name.isidentifier()
            and not name.startswith("__")
            and name not in PLAIN
            and name not in ATTRIBUTES
        ):
            lines += definition(name, op, True, "    ")
    return "\n".join(lines) + "\n" + tuples()


def source_of(name: str, value: object) -> str:
    """The module of the package that defines a public object, or ""."""
    home = getattr(value, "__globals__", {}).get("__name__")  # __module__ is where pickle finds it
    home = home or (getattr(value, "__module__", None) or "").replace("torch.", "torchlite.", 1)
    others = sorted(path for path in sys.modules if path.startswith("torchlite."))
    for path in [home, *others] if home.startswith("torchlite.") else others:
        module = sys.modules.get(path, types)
        if plain(vars(module).get(name)) is value:
            file = pathlib.Path(getattr(module, "__file__", None) or "")
            text = file.read_text() if file.suffix == ".py" else ""
            written = f"\nclass {name}" in text or f"\ndef {name}(" in text
            at_home = path == home and path not in ("torchlite.nn.functional", "torchlite._C")
            if written or at_home or path.startswith("torchlite.nn._"):
                return path
    return ""


def package() -> str:
    """torchlite/__init__.pyi: everything torch.x may name."""
    modules, imports, values, functions = [], [], [], []
    for name in sorted(torchlite._SUBMODULES | {"nn", "optim", "utils", "ops", "autograd"}):
        importlib.import_module("torchlite." + name)
        modules.append(name)
    for name in (*torchlite._LAZY_NAMES, *sorted(torchlite._STORAGES)):  # names read at their first use
        getattr(torchlite, name)
    for name, value in sorted(vars(torchlite).items()):
        private = name.startswith("_") and name != "__version__" and not is_op(value) and name != "_publish"
        if isinstance(value, types.ModuleType) or private:
            continue
        value = plain(value)
        if is_op(value):
            functions += definition(name, value, False)
        elif callable(value) and not isinstance(value, torchlite.dtype):
            where = source_of(name, value)
            if where and where != "torchlite._C":
                imports.append(f"from {where.replace('torchlite', '', 1)} import {name} as {name}")
            else:
                values.append(
                    f"class {name}(RuntimeError): ..."
                    if isinstance(value, type) and issubclass(value, RuntimeError)
                    else f"{name}: Any"
                )
        else:
            values.append(f"{name}: {CONSTANTS.get(type(value).__name__, 'Any')}")
    head = HEAD.format(
        imports="from ._C import Size as Size\nfrom ._core.device import device as _device, layout as _layout, "
        "memory_format as _memory_format\nfrom ._core.dtypes import dtype as _dtype\n"
        + "\n".join(f"from . import {m} as {m}" for m in modules)
        + "\n"
        + "\n".join(i for i in imports if " Size " not in i)
        + "\n"
    )
    values = [
        "def install_as_torch() -> Any: ..." if v.startswith("install_as_torch:") else v
        for v in values
        if not v.startswith("Size:")
    ]
    return finished([head, *values, "", *functions])


def plain(value: Any) -> Any:
    """The Python function behind one that asks for __torch_function__ first."""
    return value._tl_fn if type(value) is torchlite._C.Function else value


def untyped(name: str, value: Callable[..., Any]) -> str:
    """A function that the module itself defines: the names of its parameters."""
    pieces, starred = [], False
    for p in inspect.signature(value).parameters.values():
        if p.kind is p.KEYWORD_ONLY and not starred:
            pieces.append("*")
        starred = starred or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        pieces.append(f"{stars}{p.name}: Any{'' if p.default is p.empty else ' = ...'}")
    return f"def {name}({', '.join(pieces)}) -> Any: ..."


def namespace(path: str) -> str:
    """The stub of a module that is filled with declared ops: torch.linalg, torch.nn.functional."""
    module = importlib.import_module("torchlite." + path)
    up = "." * (1 + path.count("."))
    imports, values, functions = [], [], []
    for name, value in sorted(vars(module).items()):
        if name.startswith("__") or isinstance(value, types.ModuleType) or name in ("annotations", "Tensor"):
            continue
        value = plain(value)
        if is_op(value):
            functions += definition(name, value, False)
        elif isinstance(value, types.FunctionType) and value.__code__.co_filename == module.__file__:
            functions.append(untyped(name, value))
        elif isinstance(value, (type, types.FunctionType)) and source_of(name, value):
            imports.append(f"from {source_of(name, value).replace('torchlite.', up, 1)} import {name} as {name}")
        else:
            values.append(f"{name}: {CONSTANTS.get(type(value).__name__, 'Any')}")
    head = HEAD.format(
        imports=f"from {up} import Tensor\nfrom {up}_core.device import device as _device, layout as _layout, "
        f"memory_format as _memory_format\nfrom {up}_core.dtypes import dtype as _dtype\n" + "\n".join(imports) + "\n"
    )
    return finished([head, *values, "", *functions], up)


def main() -> int:
    folder = op_list.ROOT / "torchlite"
    stale = []
    for name, make in (
        ("__init__.pyi", package),
        *((path.replace(".", "/") + ".pyi", functools.partial(namespace, path)) for path in NAMESPACES),
        ("_C.pyi", core),
    ):
        text, path = make(), folder / name
        if path.exists() and path.read_text() == text:
            continue
        stale.append(f"torchlite/{name}")
        if "--check" not in sys.argv:
            path.write_text(text)
    if "--check" in sys.argv:
        if stale:
            print(f"stubs: {', '.join(stale)} not current: run make docs", file=sys.stderr)
        return int(bool(stale))
    (folder / "py.typed").touch()
    print(f"type stubs: {'written: ' + ', '.join(stale) if stale else 'current'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
