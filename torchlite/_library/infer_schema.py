"""The schema of a function, from its annotations."""

from __future__ import annotations

import inspect
import typing
from types import NoneType, UnionType
from typing import Any

import torchlite as torch

from ..types import Number

__all__ = ["SUPPORTED_PARAM_TYPES", "SUPPORTED_RETURN_TYPES", "infer_schema", "tuple_to_list"]

_SIMPLE: dict[Any, str] = {torch.Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str"}


def _param_types() -> dict[Any, str]:
    single = {**_SIMPLE, Number: "Scalar", torch.dtype: "ScalarType", torch.device: "Device"}
    found: dict[Any, str] = {}
    for kind, text in single.items():
        found |= {kind: text, typing.Optional[kind]: text + "?"}
        if kind not in (str, torch.dtype, torch.device):
            for many in (typing.Sequence[kind], typing.List[kind]):  # type: ignore[valid-type]  # noqa: UP006
                found |= {many: text + "[]", typing.Optional[many]: text + "[]?"}
    for many in (typing.Sequence, typing.List):  # noqa: UP006
        found[many[typing.Optional[torch.Tensor]]] = "Tensor?[]"
    return found


SUPPORTED_PARAM_TYPES = _param_types()
SUPPORTED_RETURN_TYPES = {
    torch.Tensor: "Tensor",
    typing.List[torch.Tensor]: "Tensor[]",  # noqa: UP006
    list[torch.Tensor]: "Tensor[]",
    int: "SymInt",
    float: "float",
    bool: "bool",
    Number: "Scalar",
}


def tuple_to_list(tuple_type: Any) -> Any:
    """The list that is meant by a tuple's annotation, where there is one for all its parts."""
    parts = typing.get_args(tuple_type)
    if tuple_type is tuple or not parts:
        return list
    if len(parts) == 1 or len(parts) == 2 and parts[1] is Ellipsis:
        return list[parts[0]]  # type: ignore[valid-type]
    return list[typing.Union[parts]]  # type: ignore[valid-type]


_RESULTS = {torch.Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool"}


def _type_text(annotation: Any) -> str | None:
    """An annotation in the schema's words; None where it has none."""
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    if annotation is torch.dtype:
        return "ScalarType"
    if annotation is torch.device:
        return "Device"
    if annotation is complex:
        return None
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, UnionType):
        if NoneType in inner and len(inner) == 2:
            text = _type_text(next(a for a in inner if a is not NoneType))
            return text and text + "?"
        return "Scalar" if set(inner) == {int, float, bool} else None
    import collections.abc

    if origin in (list, collections.abc.Sequence) and len(inner) == 1:
        text = _type_text(inner[0])
        return text and text + "[]"
    return None


def infer_schema(prototype_function: Any, /, *, mutates_args: Any, op_name: str | None = None, tags: Any = ()) -> str:
    """The schema that a function's annotations say."""
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated or the string "
            "'unknown'. "
        )
    signature = inspect.signature(prototype_function)
    hints = typing.get_type_hints(prototype_function)

    def wrong(text: str) -> ValueError:
        return ValueError("infer_schema(func): %s Got func with signature %s)" % (text, signature))

    parts, starred, seen = [], False, set()
    for i, (name, p) in enumerate(signature.parameters.items()):
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise wrong("We do not support *args or **kwargs.")
        if p.kind is p.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        if p.annotation is p.empty:
            raise wrong("Parameter %s must have a type annotation." % name)
        text = _type_text(hints[name])
        if text is None:
            raise wrong("Parameter %s has unsupported type %s." % (name, p.annotation))
        if (
            mutates_args == "unknown"
            and text.startswith("Tensor")
            or mutates_args != "unknown"
            and name in mutates_args
        ):
            if not text.startswith("Tensor"):
                raise wrong(
                    "Parameter %s is in mutable_args but only Tensors or collections of Tensors can be mutated" % name
                )
            text = "Tensor(a%d!)%s" % (i, text[6:])
        seen.add(name)
        default = ""
        if p.default is not p.empty:
            value = p.default
            if value is not None and not isinstance(value, (int, float, bool, str, torch.device, torch.dtype)):
                raise wrong(
                    "Parameter %s has an unsupported default value type %s. Please file an issue on GitHub so we can "
                    "prioritize this." % (name, type(value))
                )
            written = '"%s"' % value if isinstance(value, str) else str(value)
            default = "=" + (written.partition(".")[2] if isinstance(value, torch.dtype) else written)
        parts.append("%s %s%s" % (text, name, default))
    if mutates_args != "unknown" and set(mutates_args) - seen:
        raise wrong("%s in mutates_args were not found in the custom op's signature." % (set(mutates_args) - seen))
    result = hints.get("return", signature.return_annotation)
    if signature.return_annotation is signature.empty:
        raise wrong("No return type annotation was provided. Please add one.")
    return "%s(%s) -> %s" % (op_name or "", ", ".join(parts), _result_text(result, wrong))


def _result_text(result: Any, wrong: Any) -> str:
    if result is None or result is NoneType:
        return "()"
    if result in _RESULTS:
        return _RESULTS[result]
    origin, inner = typing.get_origin(result), typing.get_args(result)
    if origin is list and inner == (torch.Tensor,):
        return "Tensor[]"
    if origin is tuple and inner and all(a is not NoneType and typing.get_origin(a) is not tuple for a in inner):
        texts = [_result_text(a, wrong) for a in inner]
        return texts[0] if len(texts) == 1 else "(%s)" % ", ".join(texts)
    raise wrong("Return has unsupported type %s." % (result,))
