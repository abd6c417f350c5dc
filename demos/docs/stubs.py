"""Writes torchlite/__init__.pyi and torchlite/_C.pyi: types of the functions and methods that
are derived from the declarations, which a type checker cannot see in the source.

    python demos/docs/stubs.py [--check]

--check writes nothing and fails when a file is not current.
"""

from __future__ import annotations

import importlib
import pathlib
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import op_list  # noqa: E402
import torchlite  # noqa: E402
from torchlite.ops import _schema, methods  # noqa: E402

HEAD = '''# mypy: ignore-errors
"""Made by `make docs` from the op declarations; do not edit."""
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from typing import Any, Sequence, overload
{imports}
_Number = _int | _float | _complex
'''
TYPES = {
    "Tensor": "Tensor",
    "Tensor[]": "Sequence[Tensor]",
    "Tensor?[]": "Sequence[Tensor | None]",
    "Scalar": "_Number",
    "int": "_int",
    "float": "_float",
    "bool": "_bool",
    "str": "_str",
    "int[]": "_int | Sequence[_int]",
    "float[]": "Sequence[_float]",
    "bool[]": "Sequence[_bool]",
    "Scalar[]": "Sequence[_Number]",
    "ScalarType": "_dtype",
    "Device": "_device | _str | _int",
    "Generator": "Any",
    "Layout": "_layout",
    "MemoryFormat": "_memory_format",
    "Any": "Any",
}
RESULTS = {
    "Tensor": "Tensor",
    "Tensor[]": "tuple[Tensor, ...]",
    "Scalar": "_Number",
    "int": "_int",
    "bool": "_bool",
    "float": "_float",
    "ScalarType": "_dtype",
    "()": "None",
}
# attributes of tensors that are not declared ops
ATTRIBUTES = {
    "shape": "Size",
    "dtype": "_dtype",
    "device": "_device",
    "grad": "Tensor | None",
    "requires_grad": "_bool",
    "is_leaf": "_bool",
    "grad_fn": "Any",
    "data": "Tensor",
    "T": "Tensor",
    "mT": "Tensor",
    "H": "Tensor",
    "ndim": "_int",
    "is_cpu": "_bool",
    "itemsize": "_int",
    "nbytes": "_int",
    "_storage": "Any",
    "_version": "_int",
    "_base": "Any",
    "_meta": "Any",
}
READ_ONLY = {"shape", "dtype", "device", "is_leaf", "T", "mT", "H", "ndim", "is_cpu"}
PLAIN = {
    "size": "(self, dim: _int | None = None) -> Any",
    "stride": "(self, dim: _int | None = None) -> Any",
    "dim": "(self) -> _int",
    "numel": "(self) -> _int",
    "item": "(self) -> Any",
    "tolist": "(self) -> Any",
    "numpy": "(self, *, force: _bool = False) -> Any",
    "is_contiguous": "(self, memory_format: _memory_format = ...) -> _bool",
    "data_ptr": "(self) -> _int",
    "element_size": "(self) -> _int",
    "requires_grad_": "(self, requires_grad: _bool = True) -> Tensor",
    "backward": "(self, gradient: Tensor | None = None, "
    "retain_graph: _bool | None = None, create_graph: _bool = False, inputs: Any = None) -> None",
    "detach_": "(self) -> Tensor",
    "storage_offset": "(self) -> _int",
    "is_floating_point": "(self) -> _bool",
    "is_complex": "(self) -> _bool",
    "__len__": "(self) -> _int",
    "__bool__": "(self) -> _bool",
    "__int__": "(self) -> _int",
    "__float__": "(self) -> _float",
    "__getitem__": "(self, index: Any) -> Tensor",
    "__setitem__": "(self, index: Any, value: Any) -> None",
}
BINARY = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul and or xor lt "
    "le gt ge eq ne iadd isub imul itruediv"
)
CONSTANTS = {
    "dtype": "_dtype",
    "layout": "_layout",
    "memory_format": "_memory_format",
    "float": "_float",
    "str": "_str",
}
# types of the core that the package's own code names; what else it has is Any
CORE_TYPES = """class Overload:
    schema: _str
    kernel: _str | None
    body: Callable[..., Any] | None
    spec: Any
    flags: _int
    calls: _int
    params: Any
    def __init__(
        self, schema: _str, kernel: _str | None, body: Callable[..., Any] | None, spec: Any, flags: _int
    ) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class Op:
    overloads: list[Overload]
    is_method: _bool
    takes_out: _bool
    __name__: _str
    __qualname__: _str
    def __init__(self, name: _str, overloads: list[Overload], takes_out: _bool) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class OpMethod(Op): ...

class NodeBase:
    next: Any
    def __init__(self, *args: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
    def __setattr__(self, name: _str, value: Any) -> None: ...

class StorageBase:
    device: _device
    def __init__(self, *args: Any) -> None: ...
    def nbytes(self) -> _int: ...
    def size(self) -> _int: ...
    def data_ptr(self) -> _int: ...
    def resize_(self, nbytes: _int) -> Any: ...
    def __getattr__(self, name: _str) -> Any: ..."""
KEYWORDS = {"from": "from_", "lambda": "lambda_", "in": "in_"}


def result(text: str) -> str:
    """The Python type of a schema's result."""
    text = text.replace("(a!)", "").replace("(a)", "").replace("(b!)", "").replace("(a -> *)", "").strip()
    if text in RESULTS:
        return RESULTS[text]
    if text.startswith("("):
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
    found = list(dict.fromkeys(s for ov in op.overloads for s in signature(ov.schema, method, op.takes_out)))  # type: ignore[attr-defined]
    if len(found) == 1:
        return [f"{indent}def {name}{found[0]}: ..."]
    return [f"{indent}{line}" for s in found for line in ("@overload", f"def {name}{s}: ...")]


def is_op(value: object) -> bool:
    return type(value).__name__ in ("Op", "OpMethod")


def core() -> str:
    """torchlite/_C.pyi: the tensor type."""
    head = HEAD.format(
        imports="from ._core.device import device as _device, layout as _layout, memory_format as _memory_format\n"
        "from ._core.dtypes import dtype as _dtype\nfrom ._core.tensor import Tensor\n"
    )
    head = head.replace("Any, Sequence, overload", "Any, Callable, Self, Sequence, overload")
    lines = [
        head,
        "kernels: dict[_str, Any]",
        "commands: dict[_str, _int]",
        "dtype_table: tuple[tuple[_str, _str, _str, _int], ...]",
        *(f"{name}: _int" for name, value in vars(torchlite._C).items() if type(value) is int),
        "def __getattr__(name: _str) -> Any: ...",
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
    for name, op in sorted(methods().items()):
        if (
            is_op(op)
            and name.isidentifier()
            and not name.startswith("_")
            and name not in PLAIN
            and name not in ATTRIBUTES
        ):
            lines += definition(name, op, True, "    ")
    return "\n".join(lines) + "\n"


def source_of(name: str, value: object) -> str:
    """The module of the package that defines a public object, or ""."""
    home = (getattr(value, "__module__", None) or "").replace("torch.", "torchlite.", 1)
    if home.startswith("torchlite.") and vars(sys.modules.get(home, types)).get(name) is value:
        return home
    for path, module in sorted(sys.modules.items()):
        if path.startswith("torchlite.") and vars(module).get(name) is value:
            text = (
                pathlib.Path(getattr(module, "__file__", None) or "").suffix == ".py"
                and pathlib.Path(module.__file__).read_text()
            )
            if text and (f"\nclass {name}" in text or f"\ndef {name}(" in text):
                return path
    return ""


def package() -> str:
    """torchlite/__init__.pyi: everything torch.x may name."""
    modules, imports, values, functions = [], [], [], []
    for name in sorted(torchlite._SUBMODULES | {"nn", "optim", "utils", "ops", "autograd"}):
        importlib.import_module("torchlite." + name)
        modules.append(name)
    for name in torchlite._LAZY_NAMES:  # names that the package reads at their first use
        getattr(torchlite, name)
    for name in sorted(n for n in vars(torchlite) if not n.startswith("_") or n == "__version__"):
        value = vars(torchlite)[name]
        if isinstance(value, types.ModuleType):
            continue
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
    return "\n".join([head, *values, "", *functions, "", "def __getattr__(name: _str) -> Any: ..."]) + "\n"


def main() -> int:
    folder = op_list.ROOT / "torchlite"
    stale = []
    for name, make in (("__init__.pyi", package), ("_C.pyi", core)):
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
    print(f"torchlite/__init__.pyi and _C.pyi: {'written: ' + ', '.join(stale) if stale else 'current'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
