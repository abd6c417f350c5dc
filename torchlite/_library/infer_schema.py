"""Schemas of annotations."""

from __future__ import annotations

import typing
from typing import Any

import torchlite as torch

from ..library import infer_schema
from ..types import Number

__all__ = ["SUPPORTED_PARAM_TYPES", "SUPPORTED_RETURN_TYPES", "infer_schema", "tuple_to_list"]


def _param_types() -> dict[Any, str]:
    single: dict[Any, str] = {torch.Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool"}
    single |= {str: "str", Number: "Scalar", torch.dtype: "ScalarType", torch.device: "Device"}
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
