"""FunctionSchema and its parts: what a schema string of PyTorch says, as objects. Loaded with `torch._ops`."""

from __future__ import annotations

import re

from ..ops import _schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KINDS = {
    "Tensor": "TensorType",
    "int": "IntType",
    "float": "FloatType",
    "bool": "BoolType",
    "complex": "ComplexType",
    "str": "StringType",
    "number": "NumberType",
    "Generator": "GeneratorType",
    "Device": "DeviceObjType",
    "Any": "AnyType",
    "None": "NoneType",
    "NoneType": "NoneType",
}
# types that the schema names and whose values are of another type
_PLAIN = {
    "SymInt": "int",
    "SymBool": "bool",
    "SymFloat": "float",
    "Scalar": "number",
    "ScalarType": "int",
    "Layout": "int",
    "MemoryFormat": "int",
}


class JitType:
    """A type of the schema language: Tensor, List[int], Optional[Tensor] and the like."""

    def __init__(self, text: str, inner: JitType | None = None) -> None:
        self.annotation_str, self._inner = text, inner

    def kind(self) -> str:
        if self._inner is not None:
            return "OptionalType" if self.annotation_str.startswith("Optional") else "ListType"
        for generic in ("Tuple", "Dict"):
            if self.annotation_str.startswith(generic + "["):
                return generic + "Type"
        return _KINDS.get(self.annotation_str, self.annotation_str + "Type")

    def getElementType(self) -> JitType:
        if self._inner is None:
            raise RuntimeError("%s has no element type" % self)
        return self._inner

    def isSubtypeOf(self, other: JitType) -> bool:
        """Whether every value of this type is one of the other."""
        if self == other or other.annotation_str == "Any":
            return True
        if other.kind() == "OptionalType":
            inner = self._inner if self.kind() == "OptionalType" else self
            return inner is not None and (self.kind() == "NoneType" or inner.isSubtypeOf(other.getElementType()))
        return other.annotation_str == "number" and self.annotation_str in ("int", "float", "complex")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JitType) and self.annotation_str == other.annotation_str

    def __hash__(self) -> int:
        return hash(self.annotation_str)

    def __str__(self) -> str:
        return self.annotation_str

    __repr__ = str = __str__


_classes: dict[str, type] = {}


def type_class(kind: str) -> type:
    """The class of a kind: torch.TensorType, torch.ListType, ..."""
    found = _classes.get(kind)
    if found is None:
        found = _classes[kind] = type(kind, (JitType,), {"__module__": "torch._C"})
    return found


def _make(text: str, inner: JitType | None = None) -> JitType:
    made = JitType(text, inner)
    made.__class__ = type_class(made.kind())
    return made


def jit_type(text: str, real: bool = False) -> JitType:
    """The type that the schema writes as `text`, without its marks; real: as the schema names it."""
    if text.endswith("?"):
        inner = jit_type(text[:-1], real)
        return _make("Optional[%s]" % inner, inner)
    if text.endswith("]"):
        inner = jit_type(text[: text.rindex("[")], real)
        return _make("List[%s]" % inner, inner)
    if real and text in ("ScalarType", "Layout", "MemoryFormat"):
        return _make(text)
    return _make(_PLAIN.get(text, text))


def inferred(value: Any) -> JitType:
    """The type of a value; a TypeError where the language has none for it."""
    import torchlite as torch

    if value is None:
        return _make("NoneType")
    kinds = ((torch.Tensor, "Tensor"), ((torch.dtype, torch.layout), "int"), (torch.device, "Device"))
    for kind, name in (*kinds, (torch.Generator, "Generator")):
        if isinstance(value, kind):
            return _make(name)
    if type(value) in (bool, int, float, complex, str):
        return _make(type(value).__name__)
    if isinstance(value, tuple):
        return _make("Tuple[%s]" % (", ".join(str(inferred(x)) for x in value) or "()"))
    if isinstance(value, list):
        return _of_list(value)
    if isinstance(value, dict):
        if not value:
            raise TypeError("Dictionary inputs must have entries")
        key, item = next(iter(value.items()))
        return _make("Dict[%s, %s]" % (inferred(key), inferred(item)))
    raise TypeError(
        "Only tensors and (possibly nested) tuples of tensors, lists, or dicts are supported as inputs or outputs of "
        "traced functions, but instead got value of type %s." % type(value).__name__
    )


def _of_list(value: list[Any]) -> JitType:
    if not value:
        raise TypeError("List trace inputs must have elements")
    found = list(dict.fromkeys(inferred(x) for x in value))
    one, *more = sorted(found, key=lambda t: str(t) == "NoneType")
    if [str(t) for t in more] == ["NoneType"]:
        one = _make("Optional[%s]" % one, one)
    elif more:
        raise TypeError(
            "List inputs to traced functions must have consistent element type. Found %s and %s" % (found[0], found[1])
        )
    return _make("List[%s]" % one, one)


class AliasInfo:
    """What an argument or a result shares memory with: (a!), (a), (a -> *)."""

    def __init__(self, mark: str) -> None:
        before, _, after = mark.partition(" -> ")
        self.is_write = "!" in before
        self.before_set = set(before.replace("!", "").split("|")) - {""}
        self.after_set = set(after.replace("!", "").split("|")) if after else set(self.before_set)


class Argument:
    """One parameter or result of a schema."""

    def __init__(self, text: str, kwarg_only: bool = False, result: bool = False) -> None:
        found = re.fullmatch(r"(\w+)(?:\(([^)]*)\))?((?:\?|\[\d*\])*)(?: (\w+))?(?:\s*=\s*(.*))?", text)
        if found is None:
            raise RuntimeError("expected an argument of a schema, but found %r" % text)
        base, mark, suffix, name, default = found.groups()
        self.name = name or ""
        self.kwarg_only = kwarg_only
        self.alias_info = AliasInfo(mark) if mark else None
        if result and mark and "[" in suffix:  # the list itself shares nothing
            self.alias_info = AliasInfo("")
        plain = base + suffix
        self.type, self.real_type = jit_type(plain), jit_type(plain, True)
        size = re.search(r"\[(\d+)\]", suffix)
        self.N = int(size[1]) if size else None
        self._has_default = default is not None
        self._schema_type = plain
        self.default_value = self._value(default) if default is not None else None
        self.text = text if default is None else "%s=%s" % (text.partition("=")[0].rstrip(), self._default_text())

    def _value(self, text: str) -> Any:
        if self._schema_type in ("int", "SymInt") and text == "Mean":
            return 1
        if text in ("long", "contiguous_format", "strided", "preserve_format"):
            return {"long": 4, "contiguous_format": 0, "strided": 0, "preserve_format": 1}[text]
        p = _schema.Param()
        p.type, p.size = self._schema_type.rstrip("?"), self.N or 0
        value = _schema._value(text, p)
        if isinstance(value, tuple):
            return list(value)
        if self._schema_type == "float" and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        return value

    def _default_text(self) -> str:
        value = self.default_value
        if self.N and self.N > 1 and self._schema_type.startswith("int") and value and len(set(value)) == 1:
            return str(value[0])
        return _written(value)

    def has_default_value(self) -> bool:
        return self._has_default

    @property
    def is_out(self) -> bool:
        return self.kwarg_only and self.alias_info is not None and self.alias_info.is_write

    @property
    def is_write(self) -> bool:
        return self.alias_info is not None and self.alias_info.is_write


def _written(value: Any) -> str:
    """A default as PyTorch prints it: numbers with 17 digits, as C++ does."""
    if isinstance(value, list):
        return "[%s]" % ", ".join(map(_written, value))
    if isinstance(value, str):
        return '"%s"' % value
    if isinstance(value, float):
        text = "%.17g" % value
        return text + "." if text.lstrip("-").isdigit() else text
    return str(value)


class FunctionSchema:
    """A parsed schema: name, overload_name, arguments, returns."""

    def __init__(self, text: str) -> None:
        head, _, rest = text.partition("(")
        arrows = [*re.finditer(r"\)\s*->\s*", rest)]
        if not arrows:
            raise RuntimeError("expected a schema with a result after '->', but found %r" % text)
        arguments, result = rest[: arrows[-1].start()], rest[arrows[-1].end() :].strip()
        arguments = re.sub(r"(\]\??)(?=\w)", r"\1 ", re.sub(r"\s+\?", "?", arguments))
        self.name, _, self.overload_name = head.strip().partition(".")
        if result.endswith(")[]"):
            arguments = arguments.replace("(a)", "(a -> *)")
        self.arguments: list[Argument] = []
        kwarg_only = False
        for piece in _schema._pieces(arguments):
            if piece == "*":
                kwarg_only = True
                continue
            self.arguments.append(Argument(piece, kwarg_only))
        several = result.startswith("(")
        pieces = list(_schema._pieces(result[1:-1])) if several else [result]
        self.returns = [Argument(r, result=True) for r in pieces]
        self._returns_text = "(%s)" % ", ".join(r.text for r in self.returns) if several else result

    @property
    def is_mutable(self) -> bool:
        return any(a.is_write for a in self.arguments)

    def __str__(self) -> str:
        parts: list[str] = []
        for a in self.arguments:
            if a.kwarg_only and "*" not in parts:
                parts.append("*")
            parts.append(a.text)
        dot = "." + self.overload_name if self.overload_name else ""
        return "%s%s(%s) -> %s" % (self.name, dot, ", ".join(parts), self._returns_text)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def check_forward_compatible_with(self, old: FunctionSchema) -> tuple[bool, str]:
        """Whether `old` reads every call of this, and why not."""
        if old.is_backward_compatible_with(self):
            return True, ""
        return False, "%s cannot be called as %s" % (old, self)

    def is_backward_compatible_with(self, old: FunctionSchema) -> bool:
        """Whether every call of `old` is one of this: no argument lost, new ones with defaults."""
        mine, theirs = self.arguments, old.arguments
        same = all(a.name == b.name and b.type.isSubtypeOf(a.type) for a, b in zip(mine, theirs))
        return (
            self.name == old.name
            and len(mine) >= len(theirs)
            and same
            and all(a.has_default_value() for a in mine[len(theirs) :])
        )


FunctionSchema.__module__ = "torch._C"
Argument.__module__ = "torch"


def parse(text: str) -> FunctionSchema:
    return FunctionSchema(text)


_BASES = frozenset(
    """Any AnyEnumType Await Device Dict Dimname Future Generator Layout MemoryFormat NoneType RRef Scalar ScalarType
    Storage Stream SymBool SymFloat SymInt Tensor Tuple __torch__ bool complex float int number str""".split()
)


_NOT_CPP = {
    "int64_t": "Use `SymInt` or `int` instead of `int64_t` in an operator's schema string. `SymInt` corresponds to "
    "c10::SymInt in C++ while `int` in schema corresponds to the int64_t type in C++.",
    "double": "Use `float` instead of `double` in an operator's schema string. `float` in schema corresponds to the "
    "double type in C++",
}


def parse_checked(text: str, variables: bool = True) -> FunctionSchema:
    """The schema of somebody else: a type that the language does not have is an error that shows the place.
    variables: names in small letters may stand for any type."""
    try:
        made = FunctionSchema(text)
    except (IndexError, ValueError):
        raise RuntimeError("\ninvalid numeric default value:\n%s\n" % text) from None
    at = text.index("(")
    for argument in (*made.arguments, *made.returns):
        base = re.match(r"\w+", argument.text)
        if base is None:
            continue
        at = text.index(argument.text[: len(base[0])], at)
        if base[0] in _NOT_CPP or base[0] not in _BASES and not (variables and base[0][0].islower()):
            wrong = _NOT_CPP.get(
                base[0],
                "unknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar; "
                "for a full list, please see https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/"
                "README.md#func ",
            )
            raise RuntimeError("\n%s:\n%s\n%s%s <--- HERE\n" % (wrong, text, " " * at, "~" * len(base[0])))
        at += len(base[0])
    return made


def in_place(text: str, overload: str | None = None) -> str:
    """The schema of the in-place form of a functional one."""
    name, old, arguments, result = _schema.split(text)
    first, comma, rest = arguments.partition(",")
    kind = first.split(None, 1)[0]
    overload = old if overload is None else overload
    dot = "." + overload if overload else ""
    return "%s_%s(%s(a!) self%s%s) -> Tensor(a!)" % (name, dot, kind.partition("(")[0], comma, rest)


def with_out(text: str, overload: str, names: tuple[str, ...]) -> str:
    """The schema of the out= form."""
    name, _, arguments, result = _schema.split(text)
    pieces = list(_schema._pieces(arguments))
    options = ("ScalarType? dtype=None", "ScalarType? dtype=long")
    if any(p.startswith("Layout? layout") for p in pieces):  # what makes a tensor: out has the dtype and the device
        gone = ("Layout? layout", "Device? device", "bool? pin_memory", *options)
        pieces = [p for p in pieces if not p.startswith(gone)]
    if "*" not in pieces:
        pieces.append("*")
    elif pieces[-1] == "*":
        pass
    letters = "defgh" if "(b!)" in arguments else "abcdefgh"  # PyTorch's go on like this
    listed = "[]" if result.endswith("[]") else ""
    results = [r.partition(" ")[2] for r in _schema._pieces(result[1:-1])] if result.startswith("(") else [""]
    if len(results) == 1:
        outcome = "()" if listed else "Tensor(%s!)" % letters[0]
    else:
        outcome = "(%s)" % ", ".join(
            "Tensor(%s!)%s" % (letter, " " + r if r else "") for letter, r in zip(letters, results)
        )
    pieces += ["Tensor(%s!)%s %s" % (letter, listed, n) for letter, n in zip(letters, names)]
    return "%s.%s(%s) -> %s" % (name, overload, ", ".join(pieces), outcome)
