"""PyTorch's schema strings: "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor".

Read when an overload is first called, not at import.
"""

from __future__ import annotations


from .._core import device as _device, dtypes as _dtypes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


# numbers shared with native/src/core/op.c
KINDS = {
    "Tensor": 0,
    "Tensor[]": 1,
    "Scalar": 2,
    "int": 3,
    "int[]": 4,
    "float": 5,
    "bool": 6,
    "str": 7,
    "ScalarType": 8,
    "Device": 9,
    "Generator": 10,
    "Layout": 11,
    "MemoryFormat": 12,
    "float[]": 13,
    "Scalar[]": 14,
    "Tensor?[]": 15,
    "Any": 16,
    "bool[]": 17,
}
# second keyword names that PyTorch accepts for numpy's sake
_ALIASES = {"self": "input", "dim": "axis", "keepdim": "keepdims"}
# Mean, the default of losses, is 0, no reduction, for torch.f and torch._C._nn.f of PyTorch too;
# torch.ops.functions.f means the mean
_CONSTANTS = {
    "None": None,
    "True": True,
    "False": False,
    "Mean": 0,
    "[]": (),
    "inf": float("inf"),
    "long": _dtypes.int64,
    "strided": _device.strided,
    "contiguous_format": _device.contiguous_format,
    "preserve_format": _device.preserve_format,
}
_FACTORY = ("dtype", "layout", "device", "pin_memory")


class Param:
    """One parameter: name, type text, default (NotImplemented when required), keyword-only, nullable."""

    __slots__ = ("name", "type", "default", "kwonly", "nullable", "size")
    name: str
    type: str
    default: Any
    kwonly: bool
    nullable: bool
    size: int


def split(schema: str) -> tuple[str, str, str, str]:
    """(name, overload name, argument text, result text)"""
    head, _, rest = schema.partition("(")
    args, _, result = rest.rpartition(") -> ")
    name, _, overload = head.partition(".")
    return name, overload, args, result


def _pieces(text: str) -> Iterator[Any]:
    depth = start = 0
    quoted = False
    for i, c in enumerate(text):
        if c == "'":
            quoted = not quoted
        elif quoted:
            continue
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "," and depth == 0:
            yield text[start:i].strip()
            start = i + 1
    if text[start:].strip():
        yield text[start:].strip()


def _value(text: str, p: Param | None) -> Any:
    if text in _CONSTANTS:
        value = _CONSTANTS[text]
    elif text[0] in "'\"":
        return text[1:-1]
    elif text[0] == "[":
        return tuple(_value(x, None) for x in _pieces(text[1:-1]))
    else:
        value = float(text) if "." in text or "e" in text else int(text)
    if p is not None and p.type.endswith("]") and isinstance(value, int) and not isinstance(value, bool):
        return (value,) * (p.size or 1)
    return value


def parse(schema: str) -> list[Param]:
    """The list of Param of a schema."""
    params, kwonly = [], False
    for piece in _pieces(split(schema)[2]):
        if piece == "*":
            kwonly = True
            continue
        p = Param()
        decl, eq, default = piece.partition("=")
        type_, p.name = decl.rsplit(None, 1)
        type_ = type_.replace("SymInt", "int").replace("TensorList", "Tensor[]")
        if "(" in type_:  # Tensor(a!) carries aliasing marks
            type_ = type_[: type_.index("(")] + type_[type_.index(")") + 1 :]
        p.nullable = type_.endswith("?")
        type_ = type_.rstrip("?")
        p.size = 0
        if type_.endswith("]"):
            base, _, size = type_[:-1].partition("[")
            p.size = int(size) if size else 0
            type_ = base + "[]"
        p.type, p.kwonly = type_, kwonly
        p.default = _value(default, p) if eq else NotImplemented
        params.append(p)
    names = [p.name for p in params]
    if all(n in names for n in _FACTORY) and not {"requires_grad", "non_blocking"} & {*names}:
        # the Python binding adds it
        p = Param()
        p.name, p.type, p.default, p.kwonly, p.nullable, p.size = "requires_grad", "bool", False, True, False, 0
        params.append(p)
    return params


# the ops whose tensor `self` may be a Python number, as in torch.mul(2, x)
_NUMBERS_AS_TENSORS = ("add", "sub", "mul", "div", "floor_divide")


def compile(schema: str) -> tuple[tuple[Any, ...], ...]:
    """What the native binder wants: tuples (name, alias, default, kind, nullable, keyword-only, list size;
    for a tensor, 1 when a number will do)."""
    params = parse(schema)
    if schema.partition("(")[0].partition(".")[0] in _NUMBERS_AS_TENSORS and params[0].type == "Tensor":
        params[0].size = 1
    return tuple(
        (
            p.name,
            _ALIASES.get(p.name),
            p.default,
            KINDS[p.type],
            int(p.nullable or p.default is None),
            int(p.kwonly),
            p.size,
        )
        for p in params
    )


def result_count(schema: str) -> int:
    """Number of results; 1 for a plain Tensor, -1 for Tensor[]."""
    result = split(schema)[3]
    if result.endswith("[]"):
        return -1
    return len(list(_pieces(result[1:-1]))) if result.startswith("(") else 1
