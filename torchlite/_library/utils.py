"""Operators by name."""

from __future__ import annotations

from typing import Any

import torchlite as torch

__all__ = ["is_builtin", "is_functional_schema", "lookup_op", "parse_namespace"]


def parse_namespace(qualname: str) -> tuple[str, str]:
    """Namespace and name."""
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(
            f"Expected `qualname` to be of the form "
            f'"namespace::name", but got {qualname}. The qualname passed to the torch.library APIs must consist of a '
            "namespace and a name, e.g. aten::sin"
        )
    return parts[0], parts[1]


def lookup_op(qualname: str) -> Any:
    """The overload of a name such as "aten::add.Tensor"."""
    namespace, name = parse_namespace(qualname)
    name, _, overload = name.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")


def is_builtin(op: Any) -> bool:
    """Whether an operator is PyTorch's own."""
    return op.namespace in ("aten", "prim", "prims")


def is_functional_schema(schema: Any, *, allow_valid_view: bool = False) -> bool:
    """Whether an operator writes to nothing and returns something new; or, if allowed, one view of one tensor."""
    from .._core import function_schema

    if not isinstance(schema, function_schema.FunctionSchema):
        schema = function_schema.parse(str(schema))
    if schema.is_mutable or not schema.returns:
        return False
    if not any(r.alias_info is not None for r in schema.returns):
        return True
    sides = (schema.arguments, schema.returns)
    return allow_valid_view and all(sum(str(x.type) == "Tensor" for x in side) == 1 for side in sides)
