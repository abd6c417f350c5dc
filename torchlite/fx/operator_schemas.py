"""Arguments of ops in one form: by the names of their signatures, with the defaults."""

from __future__ import annotations

import inspect
import numbers
import types
import typing
import warnings
from typing import Any, NamedTuple

import torchlite as torch

from .. import _C
from .._core import homes
from ._compatibility import compatibility

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "get_signature_for_torch_op",
    "create_type_hint",
    "type_matches",
    "normalize_function",
    "normalize_module",
]


@compatibility(is_backward_compatible=False)
class ArgsKwargsPair(NamedTuple):
    """The arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


_TYPES: dict[str, Any] = {
    "Tensor": torch.Tensor,
    "Device": torch.device,
    "Layout": torch.layout,
    "number": numbers.Number,
    "Generator": torch.Generator,
    "Any": Any,
    "None": type(None),
    "NoneType": type(None),
    "int": int,
    "float": float,
    "bool": bool,
    "complex": complex,
    "str": str,
}


def _parts(text: str) -> list[str]:
    """int, List[int] -> [int, List[int]]"""
    parts, depth = [""], 0
    for c in text:
        depth += (c == "[") - (c == "]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip() not in ("", "()")]


def _torchscript_type_to_python_type(ts_type: Any) -> Any:
    """The annotation of a type of the schema language."""
    text = str(ts_type)
    if text.startswith("Tuple["):
        inner = tuple(_torchscript_type_to_python_type(part) for part in _parts(text[6:-1]))
        return typing.Tuple[inner or ()]  # noqa: UP006
    for head, generic in (("Optional[", typing.Optional), ("List[", typing.List)):  # noqa: UP006
        if text.startswith(head):
            return generic[_torchscript_type_to_python_type(text[len(head) : -1])]
    return _TYPES.get(text, Any)


_signatures: dict[str, inspect.Signature] = {}


def _torchscript_schema_to_signature(ts_schema: Any) -> inspect.Signature:
    """A schema as a Python signature. `self` is called input, as functions of torch have it."""
    known = _signatures.get(str(ts_schema))
    if known is not None:
        return known
    kinds = inspect.Parameter
    parameters: list[inspect.Parameter] = []
    for arg in ts_schema.arguments:
        name = "input" if arg.name == "self" else arg.name
        kind: Any = kinds.KEYWORD_ONLY if arg.kwarg_only else kinds.POSITIONAL_OR_KEYWORD
        if name == "from":  # a keyword: it and those before it have no names
            kind = kinds.POSITIONAL_ONLY
            parameters = [p.replace(kind=kind) for p in parameters]
        default = arg.default_value if arg.has_default_value() else kinds.empty
        annotation = _torchscript_type_to_python_type(arg.type)
        if name == "from":
            made = kinds("from_", kind, default=default, annotation=annotation)
            made._name = "from"  # type: ignore[attr-defined]
        else:
            made = kinds(name, kind, default=default, annotation=annotation)
        parameters.append(made)
    returns = [_torchscript_type_to_python_type(r.type) for r in ts_schema.returns]
    result: Any = tuple(returns) or None
    if len(returns) == 1:
        (result,) = returns
    signature = _signatures[str(ts_schema)] = inspect.Signature(
        parameters, return_annotation=result, __validate_parameters__=False
    )
    return signature


def _schemas_of(op: Any) -> list[Any] | None:
    """The schemas of an op or of its overloads; None of other functions."""
    from .._ops import OpOverload, OpOverloadPacket

    if isinstance(op, OpOverload):
        return [op._schema]
    if not isinstance(op, OpOverloadPacket):
        if isinstance(op, _C.Function) and not homes.in_cpp(op) or not isinstance(op, (_C.Op, _C.Function)):
            return None
        path = homes.path(op)
        if path is None or path.startswith(("torch.nn.functional.", "torch.functional.")):
            return None
        op = getattr(torch.ops.aten, path.rpartition(".")[2], None)
        if op is None:
            return None
    return [getattr(op, name)._schema for name in op.overloads()]


@compatibility(is_backward_compatible=False)
def get_signature_for_torch_op(op: Any, return_schemas: bool = False) -> Any:
    """The signatures of an op's overloads; None of a function that is none. With return_schemas, (these, schemas)."""
    schemas = _schemas_of(op)
    if not schemas:
        return (None, None) if return_schemas else None
    signatures = [_torchscript_schema_to_signature(s) for s in schemas]
    return (signatures, schemas) if return_schemas else signatures


def _binds(signature: inspect.Signature, args: Any, kwargs: Any) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


@compatibility(is_backward_compatible=False)
def check_for_mutable_operation(target: Any, args: Any, kwargs: Any) -> None:
    """A RuntimeError for a call that changes its arguments."""
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    if not signatures:
        return
    fits = [schema for signature, schema in zip(signatures, schemas) if _binds(signature, args, kwargs)]
    if len(fits) == 1 and fits[0].is_mutable:
        raise RuntimeError(
            "Tried to trace mutable operation %s. FX only supports functional code, so operations that mutate operands "
            "in-place (e.g. via `out` arguments) are not supported" % fits[0]
        )


@compatibility(is_backward_compatible=False)
def create_type_hint(x: Any) -> Any:
    """List[T] or Tuple[T, ...] of a list or tuple of types; T is the base of all, or Any."""
    if not isinstance(x, (list, tuple)):
        return x
    try:
        base: Any = x[0] if x else Any
        for kind in x:
            if issubclass(kind, base):
                continue
            if not issubclass(base, kind):
                base = Any
                break
            base = kind
    except Exception:
        warnings.warn("We were not able to successfully create type hint from the type %s" % (x,), stacklevel=2)
        return x
    return typing.List[base] if isinstance(x, list) else typing.Tuple[base, ...]  # noqa: UP006


@compatibility(is_backward_compatible=False)
def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether a parameter of one type takes an argument of another."""
    if signature_type is argument_type:
        return True
    origin = getattr(signature_type, "__origin__", None)
    if origin is typing.Union and signature_type != argument_type:
        return any(type_matches(inner, argument_type) for inner in signature_type.__args__)
    if origin is list:
        return _list_matches(signature_type, argument_type)
    if signature_type is int and argument_type is torch.dtype:  # as schemas have it
        return True
    if signature_type is numbers.Number and argument_type in (int, float):
        return True
    if inspect.isclass(argument_type) and inspect.isclass(signature_type):
        return issubclass(argument_type, signature_type)
    return False


def _list_matches(signature_type: Any, argument_type: Any) -> bool:
    element = signature_type.__args__[0]
    if argument_type is int and element is int:  # one number for all
        return True
    if not inspect.isclass(element):
        warnings.warn(
            "Does not support nested parametric types, got %s. Please file a bug." % (signature_type,), stacklevel=3
        )
        return False
    origin: Any = getattr(argument_type, "__origin__", None)
    inner: Any = getattr(argument_type, "__args__", ())
    if origin is list:
        return issubclass(inner[0], element)
    return origin is tuple and (inner == ((),) or all(c is ... or issubclass(c, element) for c in inner))


@compatibility(is_backward_compatible=False)
def normalize_function(
    target: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: Any = None,
    kwarg_types: Any = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call of a function of torch by the names of its parameters, with defaults. None where its
    signature is unknown, or fits not. Where several overloads fit, the types of the arguments choose."""
    from .._ops import OpOverload, OpOverloadPacket

    kwargs = kwargs or {}
    cpp = isinstance(target, (types.BuiltinFunctionType, _C.Op, _C.Function)) and (
        not isinstance(target, (_C.Op, _C.Function)) or homes.in_cpp(target)
    )
    if not cpp and not isinstance(target, (OpOverloadPacket, OpOverload)):
        signature = _python_signature(target)
        return _normalized(signature, args, kwargs, normalize_to_only_use_kwargs) if signature else None
    signatures = get_signature_for_torch_op(target) or []
    fits = [s for s in signatures if _binds(s, args, kwargs)]
    if len(fits) > 1:
        if arg_types is None and kwarg_types is None:
            raise RuntimeError(
                "Tried to normalize arguments to %s but the schema match was ambiguous! Please provide argument types "
                "to the normalize_arguments() call. Available schemas:\n%s"
                % (torch.typename(target), "\n".join(map(str, fits)))
            )
        fits = [s for s in signatures if _types_match(s, arg_types or (), kwarg_types or {})]
    return _normalized(fits[0], args, kwargs, normalize_to_only_use_kwargs) if fits else None


def _python_signature(target: Any) -> inspect.Signature | None:
    """The signature of a function that PyTorch has in Python."""
    if type(target) in (_C.Op, _C.Function):
        from .._core.override import signature_of

        return signature_of(target)
    return inspect.signature(inspect.unwrap(target)) if callable(target) else None


def _types_match(signature: inspect.Signature, arg_types: Any, kwarg_types: Any) -> bool:
    try:
        bound = signature.bind(*arg_types, **kwarg_types)
    except TypeError:
        return False
    named = signature.parameters
    return all(type_matches(named[name].annotation, kind) for name, kind in bound.arguments.items())


def _normalized(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], only_kwargs: bool
) -> ArgsKwargsPair | None:
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    listed = list(signature.parameters)
    if any(p.kind not in plain for p in signature.parameters.values()) and listed != [
        "input",
        "from",
        "to",
        "generator",
    ]:
        return None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    first = 0 if only_kwargs else len(args)
    return ArgsKwargsPair(
        tuple(bound.arguments[name] for name in listed[:first]), {n: bound.arguments[n] for n in listed[first:]}
    )


@compatibility(is_backward_compatible=False)
def normalize_module(
    root: Any,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call of a module of torch.nn by the names of its forward; None of other modules."""
    try:
        submodule = root.get_submodule(target)
    except AttributeError as e:
        raise RuntimeError("Tried to normalize node with target %s but root did not have that target!" % target) from e
    kind = submodule.__class__
    if getattr(torch.nn, getattr(kind, "__name__", ""), None) is not kind:
        return None
    signature = inspect.signature(inspect.unwrap(submodule.forward))
    return _normalized(signature, args, kwargs or {}, normalize_to_only_use_kwargs)
