"""Writes index.d.ts of the npm package, from the op declarations and from what torchlite's modules hold.

    python js_bridge/npm/declarations.py FILE

Nothing of it is kept in the repository; `make npm` writes it into the package.
"""

from __future__ import annotations

import importlib
import inspect
import pathlib
import sys
import types
from typing import Any, Iterable, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
import torchlite
from torchlite.ops import _schema, methods

# what schema types are in arguments
ARGUMENTS = {
    "Tensor": "Tensor",
    "Tensor[]": "readonly Tensor[]",
    "Tensor?[]": "readonly (Tensor | null)[]",
    "Scalar": "Scalar",
    "int": "number",
    "float": "number",
    "bool": "boolean",
    "str": "string",
    "int[]": "number | readonly number[]",
    "float[]": "readonly number[]",
    "bool[]": "readonly boolean[]",
    "Scalar[]": "readonly Scalar[]",
    "ScalarType": "DType",
    "Device": "Device | string",
    "Generator": "unknown",
    "Layout": "unknown",
    "MemoryFormat": "unknown",
    "Any": "any",
}
RESULTS = {
    "Tensor": "Tensor",
    "Tensor[]": "Tensor[]",
    "Scalar": "any",
    "int": "number",
    "bool": "boolean",
    "float": "number",
    "ScalarType": "DType",
    "()": "null",
}
# Python's own types, in annotations and as types of defaults
PLAIN = {
    "Tensor": "Tensor",
    "torchlite.Tensor": "Tensor",
    "torch.Tensor": "Tensor",
    "bool": "boolean",
    "int": "number",
    "float": "number",
    "str": "string",
    "None": "null",
    "dtype": "DType",
    "device": "Device | string",
}
# what parameters without an annotation are, by name
BY_NAME = {"device": "Device | string | null", "dtype": "DType | null", "params": "any", "input": "Tensor"}
BY_NAME |= dict.fromkeys(
    "in_features out_features in_channels out_channels num_features num_embeddings embedding_dim embed_dim num_heads "
    "input_size hidden_size d_model nhead num_groups".split(),
    "number",
)
# sizes of one dim or of each, whatever an annotation says
SIZES = dict.fromkeys("size scale_factor output_size".split(), "number | readonly number[] | null")
SIZES |= {"seed": "number | bigint"}
BY_NAME |= dict.fromkeys("argnums in_dims out_dims".split(), "any")
BY_NAME |= {"lr": "number | Tensor", "padding": "number | readonly number[] | string"}
# and functions whose results no annotation says
MAKES_TENSORS = {"tensor", "as_tensor", "asarray", "from_numpy", "frombuffer", "einsum"}
# what the package gives another form than Python: src/tensor.ts, src/names.ts
OWN = {"data", "at", "put", "free", "no_grad", "enable_grad", "inference_mode", "scope", "keep", "memory", "slice"}
OWN |= {"load", "save", "run", "within", "Tensor"}
TENSOR = {
    "shape": "readonly number[]",
    "dtype": "DType",
    "device": "Device",
    "grad": "Tensor | null",
    "requires_grad": "boolean",
}
WRITABLE = {"grad", "requires_grad"}
METHODS = {
    "size": ["(): number[]", "(dim: number): number"],
    "stride": ["(): number[]", "(dim: number): number"],
    "dim": ["(): number"],
    "numel": ["(): number"],
    "item": ["(): any"],
    "tolist": ["(): any"],
    "backward": [
        "(gradient?: Tensor | null, options?: { retain_graph?: boolean; create_graph?: boolean; inputs?: any }): null",
        "(options: { gradient?: Tensor | null; retain_graph?: boolean; create_graph?: boolean; inputs?: any }): null",
    ],
    "norm": [
        "(p?: number | string | null, dim?: number | readonly number[] | null, keepdim?: boolean): Tensor",
        "(options: { p?: number | string | null; dim?: number | readonly number[] | null; keepdim?: boolean }): Tensor",
    ],
    "requires_grad_": ["(requires_grad?: boolean): Tensor"],
    "detach_": ["(): Tensor"],
    "is_contiguous": ["(options?: { memory_format?: unknown }): boolean"],
}
# results of a module's methods that say more than `any`
MODULE = {
    "parameters": "Iterable<Tensor>",
    "named_parameters": "Iterable<[string, Tensor]>",
    "buffers": "Iterable<Tensor>",
    "children": "Iterable<Module>",
    "modules": "Iterable<Module>",
    "state_dict": "Map<string, Tensor>",
    "train": "this",
    "eval": "this",
    "to": "this",
    "requires_grad_": "this",
}
NAMESPACES = (
    "nn nn.functional nn.init nn.utils nn.parameter optim optim.lr_scheduler linalg fft special random autograd func "
    "distributions utils utils.data accelerator webgpu"
).split()


class Param(NamedTuple):
    name: str
    type: str
    required: bool
    kwonly: bool


def tuple_type(text: str) -> str:
    """The array that a schema's several results are."""
    parts = [part.split() for part in text[1:-1].split(",")]
    names = [part[1] for part in parts if len(part) == 2]
    items = [result(part[0]) for part in parts]
    array = f"[{', '.join(items)}]"
    if len(names) != len(parts):
        return array
    return f"{array} & {{ {'; '.join(f'readonly {n}: {t}' for n, t in zip(names, items))} }}"


def result(text: str) -> str:
    for mark in ("(a!)", "(a)", "(b!)", "(a -> *)"):
        text = text.replace(mark, "")
    text = text.strip()
    return RESULTS.get(text) or (tuple_type(text) if text.startswith("(") and text != "()" else "any")


def signatures(params: list[Param], back: str, least: int = 0) -> list[str]:
    """Each number of positional arguments from `least`, with the others by name in an object."""
    positional = [p for p in params if not p.kwonly]
    out = []
    for count in range(least, len(positional) + 1):
        given = positional[:count]
        rest = positional[count:] + [p for p in params if p.kwonly]
        pieces = [f"{word(p.name)}: {p.type}" for p in given]
        if rest:
            must = any(p.required for p in rest)
            fields = "; ".join(f"{p.name}{'' if p.required else '?'}: {p.type}" for p in rest)
            pieces.append(f"options{'' if must else '?'}: {{ {fields} }}")
        out.append(f"({', '.join(pieces)}): {back}")
    return out


def word(name: str) -> str:
    return name + "_" if name in ("function", "default", "in", "var", "new", "this", "with") else name


def from_schema(schema: str, method: bool, out: bool) -> list[str]:
    found = _schema.parse(schema)
    back = result(_schema.split(schema)[3])
    params = []
    for p in found[1:] if method else found:
        kind = ARGUMENTS[p.type] + (" | number" if p.type == "Tensor" and p.size else "")
        if p.nullable or p.default is None:
            kind += " | null"
        params.append(Param("input" if p.name == "self" else p.name, kind, p.default is NotImplemented, p.kwonly))
    if out and back.startswith("Tensor"):
        params.append(Param("out", "Tensor", False, True))
    lines = signatures(params, back, 0 if method else min(1, sum(p.required and not p.kwonly for p in params)))
    first = found[int(method)] if len(found) > int(method) else None
    if first and first.type == "int[]" and not first.size and sum(not p.kwonly for p in found) == 1 + int(method):
        # f(2, 3) for f([2, 3])
        lines.append(f"(...{word(first.name)}: number[]): {back}")
        named = "; ".join(f"{p.name}?: {p.type}" for p in params if p.kwonly)
        if named:
            lines.append(f"(...args: [...{word(first.name)}: number[], options: {{ {named} }}]): {back}")
    return lines


def annotation(value: Any) -> str | None:
    """The TypeScript of an annotation that is plain."""
    text = value.__name__ if isinstance(value, type) else str(value)
    parts = [PLAIN.get(part.strip().replace("typing.", "")) for part in text.split("|")]
    return " | ".join(dict.fromkeys(p for p in parts if p)) if all(parts) else None


def type_of(p: inspect.Parameter) -> str:
    written = None if p.annotation is p.empty else annotation(p.annotation)
    if p.name in SIZES and (not written or "number" in written):
        return SIZES[p.name]
    if written:
        return written
    if p.name in BY_NAME and p.annotation is p.empty:
        return BY_NAME[p.name]
    if isinstance(p.default, bool):
        return "boolean"
    if isinstance(p.default, str):
        return "string"
    if isinstance(p.default, float):
        return "number"
    if isinstance(p.default, int):
        return "number | readonly number[] | null"  # a size may be given for each dim
    if isinstance(p.default, tuple) and p.default and all(isinstance(item, (int, float)) for item in p.default):
        return "readonly number[]"
    return "any"


def from_python(function: Any, skip: int, back: str | None = None) -> list[str]:
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return [f"(...args: any[]): {back or 'any'}"]
    if back is None:
        written = None if found.return_annotation is found.empty else annotation(found.return_annotation)
        back = written or "any"
    listed = list(found.parameters.values())[skip:]
    if any(p.kind is p.VAR_POSITIONAL for p in listed):
        return [f"(...args: any[]): {back}"]
    params = [
        Param(p.name, type_of(p), p.default is p.empty, p.kind is p.KEYWORD_ONLY)
        for p in listed
        if p.kind is not p.VAR_KEYWORD
    ]
    lines = signatures(params, back, min(1, sum(p.required and not p.kwonly for p in params)) if not skip else 0)
    if any(p.kind is p.VAR_KEYWORD for p in listed):
        lines.append(f"(...args: any[]): {back}")
    return lines


def is_op(value: object) -> bool:
    return type(value).__name__ in ("Op", "OpMethod")


def callable_lines(value: Any, method: bool = False) -> list[str]:
    value = getattr(value, "_tl_fn", value)
    if is_op(value):
        lines = [s for ov in value.overloads for s in from_schema(ov.schema, method, value.takes_out)]
    else:
        lines = from_python(value, int(method), "Tensor" if value.__name__ in MAKES_TENSORS else None)
    return list(dict.fromkeys(lines))


def members(name: str, lines: Iterable[str], indent: str) -> list[str]:
    return [f"{indent}{quoted(name)}{line};" for line in lines]


def quoted(name: str) -> str:
    return name if name.isidentifier() else repr(name)


def tensor() -> list[str]:
    lines = []
    declared = methods()
    for name in sorted(n for n in dir(torchlite.Tensor) if not n.startswith("_") and n not in OWN):
        value = inspect.getattr_static(torchlite.Tensor, name)
        op = declared.get(name)
        if name in TENSOR:
            fixed = "" if name in WRITABLE else "readonly "
            lines.append(f"  {fixed}{name}: {TENSOR[name]};")
        elif name in METHODS:
            lines += members(name, METHODS[name], "  ")
        elif op is not None and is_op(op):
            lines += members(name, callable_lines(op, True), "  ")
        elif isinstance(value, (types.GetSetDescriptorType, property)):
            kind = "boolean" if name.startswith("is_") else {"ndim": "number", "nbytes": "number"}.get(name, "any")
            kind = "Tensor" if name in ("T", "mT", "H", "mH", "real", "imag") else kind
            lines.append(f"  readonly {name}: {kind};")
        elif callable(getattr(torchlite.Tensor, name, None)):
            lines += members(name, callable_lines(getattr(torchlite.Tensor, name), True), "  ")
    return lines


class Namespaces:
    """The interfaces of modules and of the classes in them."""

    def __init__(self) -> None:
        self.classes: dict[type, str] = {torchlite.Tensor: "Tensor"}
        self.modules = {path: importlib.import_module("torchlite." + path) for path in NAMESPACES}
        for path, module in self.modules.items():
            for name, value in self.public(module):
                if isinstance(value, type) and value not in self.classes and value.__name__ == name:
                    self.classes[value] = f"{path}.{name}"

    @staticmethod
    def public(module: types.ModuleType) -> list[tuple[str, Any]]:
        names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
        found = [(name, getattr(module, name, None)) for name in sorted(set(names)) if name.isidentifier()]
        return [
            (n, v) for n, v in found if v is not None and not str(getattr(v, "__module__", "")).startswith("typing")
        ]

    def class_lines(self, kind: type, name: str) -> list[str]:
        base = next((self.classes[b] for b in kind.__mro__[1:] if b in self.classes), None)
        if issubclass(kind, torchlite.Tensor):
            base = "Tensor"
        head = f"  interface {name}{f' extends {base}' if base else ''} {{"
        lines = []
        if kind is torchlite.nn.Module:
            lines += ["    (...args: any[]): any;", "    [name: string]: any;"]
            lines += ["    load_state_dict(file: File_): Promise<any>;"]
        is_module = issubclass(kind, torchlite.nn.Module)
        own = {}  # and what it has from bases that are no names of PyTorch's
        for each in kind.__mro__[:-1]:
            if each is not kind and each in self.classes:
                break
            own |= {n: v for n, v in vars(each).items() if n not in own}
        for member, value in sorted(own.items()):
            if member.startswith("_") or (base == "Tensor" and member in OWN):
                continue
            kinds = (types.FunctionType, types.MethodDescriptorType, classmethod, staticmethod)
            if isinstance(value, kinds) or is_op(value):
                # a subclass may take what it likes; the base says what all of them have
                if kind is torchlite.nn.Module and member in MODULE:
                    lines.append(f"    {member}(...args: any[]): {MODULE[member]};")
                elif member == "step" and "optim." in self.classes.get(kind, ""):
                    lines.append("    step(closure?: () => Tensor): any;")
                elif not is_module or kind is torchlite.nn.Module:
                    lines.append(f"    {member}(...args: any[]): any;")
            elif isinstance(value, property):
                lines.append(f"    {member}: any;")
        if kind.__name__ == "Optimizer" and kind.__module__.endswith("optimizer"):
            lines.append("    param_groups: any;")
        if "__iter__" in vars(kind):
            lines.append("    [Symbol.iterator](): Iterator<any>;")
        if "__len__" in vars(kind):
            lines.append("    readonly length: number;")
        makes = kind.__new__ if isinstance(vars(kind).get("__new__"), staticmethod) else kind.__init__
        made = from_python(makes, 1, name) if makes is not object.__init__ else [f"(): {name}"]
        statics = [f"    {line};" for line in made] + [f"    new {line};" for line in made]
        statics += ["    [name: string]: any;"]
        return [head, *lines, "  }", f"  interface {name}Class {{", *statics, "  }"]

    def value_lines(self, name: str, value: Any, indent: str, path: str) -> list[str]:
        if isinstance(value, types.ModuleType):
            inner = f"{path}.{name}" if path else name
            return [f"{indent}readonly {name}: {f'{inner}.Namespace' if inner in self.modules else 'any'};"]
        if isinstance(value, type):
            known = self.classes.get(value)
            return [f"{indent}readonly {name}: {f'{known}Class' if known and known != 'Tensor' else 'any'};"]
        plain = getattr(value, "_tl_fn", value)
        if is_op(plain) or isinstance(plain, (types.FunctionType, types.BuiltinFunctionType)):
            return members(name, callable_lines(value), indent)
        kind = "DType" if isinstance(value, torchlite.dtype) else PLAIN.get(type(value).__name__, "any")
        return [f"{indent}readonly {name}: {kind};"]

    def text(self) -> list[str]:
        lines = []
        for path, module in self.modules.items():
            lines.append(f"export namespace {path} {{")
            for kind, where in self.classes.items():
                if where.rpartition(".")[0] == path:
                    lines += self.class_lines(kind, kind.__name__)
            lines.append("  interface Namespace {")
            names = dict(self.public(module))
            for inner in NAMESPACES:
                if inner.rpartition(".")[0] == path:
                    names[inner.rpartition(".")[2]] = self.modules[inner]
            for name, value in sorted(names.items()):
                lines += self.value_lines(name, value, "    ", path)
            lines += ["  }", "}"]
        return lines

    def torch(self) -> list[str]:
        lines = []
        for name in torchlite._LAZY_NAMES:
            getattr(torchlite, name)
        names = {n for n in vars(torchlite) if not n.startswith("_")} | set(torchlite._SUBMODULES) | {"nn", "optim"}
        for name in sorted(names - OWN):
            lines += self.value_lines(name, getattr(torchlite, name), "  ", "")
        return lines


def text() -> str:
    spaces = Namespaces()
    head = (pathlib.Path(__file__).resolve().parent / "own.d.ts").read_text()
    tensor_text = "\n".join(tensor())
    torch_text = "\n".join(spaces.torch())
    head = head.replace("  /* PyTorch's methods */", tensor_text).replace("  /* PyTorch's names */", torch_text)
    return head + "\n" + "\n".join(spaces.text()) + "\n"


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(text())
