"""CustomOp: an operator whose parts are registered one by one. torch.library.custom_op is what replaced it."""

from __future__ import annotations

import inspect
import sys
import warnings
from typing import Any, NamedTuple

import torchlite as torch

from .. import library as _library
from ..library import get_ctx, infer_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CustomOp", "custom_op", "get_ctx"]

RESERVED_NS = {"prim", "prims", "aten", "at", "torch", "pytorch"}
SUPPORTED_DEVICE_TYPE_TO_KEY = {"cpu": "CPU", "cuda": "CUDA"}
global_registry: dict[str, Any] = {}
_EXISTING = " already has an implementation for this device type via a pre-existing "
_INSTEAD = (
    "registration to DispatchKey::CompositeImplicitAutograd.CompositeImplicitAutograd operators do not need an %s; "
    "instead, the operator will decompose into its constituents and those can have %ss defined on them."
)


class FuncAndLocation(NamedTuple):
    func: Any
    location: str


def parse_qualname(qualname: str) -> tuple[str, str]:
    namespace, found, name = qualname.partition("::")
    if not found:
        raise ValueError(
            f"Expected there to be a namespace in {qualname}, i.e. The operator name should look something like ns::foo"
        )
    if "." in name:
        raise ValueError(
            "The torch.custom_ops APIs do not handle overloads, i.e. operator names with '.' in them. "
            f"Please name your operator something like ns::foo. Got: {qualname}"
        )
    return namespace, name


def validate_namespace(ns: str) -> None:
    if "." in ns:
        raise ValueError(f'custom_op(..., ns="{ns}"): expected ns to not contain any . (and be a valid variable name)')
    if ns in RESERVED_NS:
        raise ValueError(f"custom_op(..., ns='{ns}'): '{ns}' is a reserved namespace, please choose something else. ")


def _check_function(func: Any, qualname: str, name: str) -> None:
    if not inspect.isfunction(func):
        raise ValueError(f"custom_op(...)(func): Expected `func` to be a Python function, got: {type(func)}")
    if func.__name__ != name:
        raise ValueError(
            f"custom_op(qualname='{qualname}', ...)(func): expected `func` to have name '{name}' but got "
            f"'{func.__name__}'. Please either change the name of `func` or the qualname that is passed to `custom_op`"
        )


def _check_same(func: Any, schema: Any) -> None:
    """Whether a function fits a schema that was given beside it."""
    signature, start = inspect.signature(func), "custom_op(..., manual_schema)(func): "
    parameters = list(signature.parameters.values())
    if any(p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in parameters):
        raise ValueError(
            f"{start}positional-only args, varargs, and kwargs are not supported. Please rewrite `func` to not have "
            f"them. Got `func` with signature: {signature}"
        )
    if any(x.annotation is not inspect.Parameter.empty for x in parameters) or (
        signature.return_annotation is not inspect.Signature.empty
    ):
        raise ValueError(
            f"{start}When passing in a manual schema, we expect `func` to have no type annotations to avoid ambiguity. "
            f"Got `func` with signature: {signature}"
        )
    both = f"func's signature: {signature}, manual_schema: {schema}"
    mine = [(p.name, p.kind is p.KEYWORD_ONLY) for p in parameters]
    if sorted(mine, key=lambda p: p[1]) != [(a.name, a.kwarg_only) for a in schema.arguments]:
        raise ValueError(
            f"{start}When passing in a manual schema, we expect `func`'s signature to match `manual_schema` (aside "
            f"from type annotations). {both}"
        )
    if any(p.default is not p.empty for p in parameters) or any(a.has_default_value() for a in schema.arguments):
        raise ValueError(f"{start}neither func nor manual_schema should have default arguments. Got {both}")


def _check_schema(schema: Any) -> None:
    if schema.is_mutable or not schema.returns or any(r.alias_info is not None for r in schema.returns):
        raise ValueError(
            "custom_op only supports functional operators (ops that do not mutate any inputs, do not return views of "
            "the inputs, and has at least one return). Got the following non-functional schema: "
            + str(schema).partition("::")[2]
        )
    if any(a.name == "self" for a in schema.arguments):
        raise ValueError(
            "custom_op does not support arguments named 'self'. Please rename your argument. Got: "
            + str(schema).partition("::")[2]
        )


def _make(namespace: str, name: str, schema: str) -> CustomOp:
    _check_schema(_library._schemas.parse("%s::%s%s" % (namespace, name, schema)))
    lib = _library.Library(namespace, "FRAGMENT")
    lib.define(name + schema)
    made = CustomOp(lib, namespace, None, name, None, _private_access=True)
    made._custom.kernels["Autograd"] = made._autograd
    made._registered_autograd_kernel_indirection = True
    made._custom.missing = made._missing
    return made


def custom_op(qualname: str, manual_schema: str | None = None) -> Callable[..., Any]:
    """Decorator that makes a CustomOp with the schema that the function's annotations say, or the one given."""
    _warn()

    def inner(func: Any) -> Any:
        namespace, name = parse_qualname(qualname) if inspect.isfunction(func) else ("", "")
        if namespace:
            validate_namespace(namespace)
        _check_function(func, qualname, name)
        schema = manual_schema or infer_schema(func, mutates_args=())
        if manual_schema is not None:
            parsed = _library._schemas.parse("%s::%s%s" % (namespace, name, schema))
            _check_schema(parsed)
            _check_same(func, parsed)
        made = _make(namespace, name, schema)
        made.__name__, made.__module__, made.__doc__ = func.__name__, func.__module__, func.__doc__
        return made

    return inner


def _custom_op_with_schema(qualname: str, schema: str) -> Any:
    _make(*parse_qualname(qualname), schema)
    return get_op(qualname)


def _warn() -> None:
    warnings.warn(
        "torch._custom_op is deprecated and will be removed in PyTorch 2.6, please use the equivalent torch.library "
        "API instead.",
        DeprecationWarning,
        stacklevel=3,
    )


class CustomOp:
    """An operator, and what is registered for it."""

    __name__: str

    def __init__(
        self, lib: Any, cpp_ns: Any, schema: Any, operator_name: Any, ophandle: Any, *, _private_access: bool = False
    ) -> None:
        _warn()
        if not _private_access:
            raise RuntimeError(
                "The CustomOp constructor is private and we do not guarantee BC for it. Please use custom_op(...) to "
                "create a CustomOp object"
            )
        self._lib, self._cpp_ns, self._opname = lib, cpp_ns, operator_name
        self._qualname = f"{cpp_ns}::{operator_name}"
        self._op = get_op(self._qualname)
        self._custom = self._op._entry
        self._schema = self._op._schema
        self._impls: dict[str, FuncAndLocation] = {}
        self._output_differentiability: Any = None
        self._registered_autograd_kernel_indirection = False
        global_registry[self._qualname] = self

    def __repr__(self) -> str:
        return f'<CustomOp(op="{self._qualname}")>'

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._op(*args, **kwargs)

    def _register_impl(self, kind: str, func: Any, stacklevel: int = 2) -> None:
        if kind in self._impls:
            raise RuntimeError(
                f"Attempting to register a {kind} impl for operator {self._qualname} that already has a {kind} impl "
                f"registered from Python at {self._impls[kind].location}. This is not supported."
            )
        frame = sys._getframe(stacklevel)
        self._impls[kind] = FuncAndLocation(func, f"{frame.f_code.co_filename}:{frame.f_lineno}")

    def _get_impl(self, kind: str) -> FuncAndLocation:
        return self._impls[kind]

    def _has_impl(self, kind: str) -> bool:
        return kind in self._impls

    def _destroy(self) -> None:
        self._lib._names.append((self._opname, "default"))
        self._lib._destroy()
        del global_registry[self._qualname]

    def _missing(self, key: str) -> NotImplementedError:
        if key == "Undefined":
            text = (
                "There were no Tensor inputs to this operator (e.g. you passed an empty list of Tensors). If your "
                "operator is a factory function (that is, it takes no Tensors and constructs a new one), then please "
                "use CustomOp.impl_factory to register an implementation for it"
            )
        else:
            kind = key.lower()
            text = (
                f"when running with device='{kind}' tensors: there is no {kind} impl registered for this CustomOp. "
                f"Please register one via CustomOp.impl(device_type='{kind}')"
            )
        return NotImplementedError(f"{self}: {text}")

    # ---- what is registered
    def impl(self, device_types: Any, _stacklevel: int = 2) -> Callable[..., Any]:
        """Decorator: what the operator does on these devices."""
        listed = [device_types] if isinstance(device_types, str) else list(device_types)
        for kind in listed:
            if kind not in SUPPORTED_DEVICE_TYPE_TO_KEY:
                raise ValueError(
                    f"CustomOp.impl(device_types=[{kind}, ...]): we only support device_type in "
                    f"{SUPPORTED_DEVICE_TYPE_TO_KEY.keys()}."
                )

        def inner(f: Any) -> Any:
            for kind in dict.fromkeys(listed):
                key = SUPPORTED_DEVICE_TYPE_TO_KEY[kind]
                has = self._custom.kernels.keys() & {key, *_library._COMPOSITE}
                if kind not in self._impls and has:
                    raise RuntimeError(
                        f"impl(..., device_types={kind}): the operator {self._qualname}{_EXISTING}torch.library or "
                        "TORCH_LIBRARY registration."
                    )
                self._register_impl(kind, f, _stacklevel)
                self._custom.kernels[key] = f
            return f

        return inner

    def impl_factory(self) -> Callable[..., Any]:
        """Decorator: what the operator does without tensors among its arguments."""

        def inner(f: Any) -> Any:
            self._register_impl("factory", f)
            self._custom.kernels["BackendSelect"] = f
            return f

        return inner

    def impl_abstract(self, _stacklevel: int = 2) -> Callable[..., Any]:
        """Decorator: what the operator does where only shapes count."""

        def inner(f: Any) -> Any:
            check_no_meta(self._qualname, self._custom, "abstract" in self._impls)
            self._register_impl("abstract", f, _stacklevel)
            self._custom.fake = f
            return f

        return inner

    def _check_can_register_backward(self) -> None:
        schema, detail = self._schema, ""
        if schema.is_mutable:
            detail = "non-functional operator"
        elif not schema.returns:
            detail = "operator with no returns"
        elif any(r.alias_info is not None for r in schema.returns):
            detail = "operator that returns views"
        if detail:
            raise RuntimeError(
                f"Cannot use torch._custom_ops APIs to register backward formula for {detail}. Got operator "
                f"{self._qualname} with schema: {schema}"
            )
        if self._registered_autograd_kernel_indirection:
            return
        start = f"impl_backward/impl_save_for_backward: the operator {self._qualname} already has an "
        for key in self._custom.kernels:
            if key == "CompositeImplicitAutograd":
                text = "implementation for this device type via a pre-existing " + _INSTEAD
                raise RuntimeError(start + text % (("autograd formula",) * 2))
            if key.startswith("Autograd"):
                raise RuntimeError(
                    f"{start}Autograd kernel registered to DispatchKey::{key} vi a pre-existing torch.library or "
                    "TORCH_LIBRARY registration. Please either remove those registrations or don't use the "
                    "torch._custom_ops APIs"
                )
        self._custom.kernels["Autograd"] = self._autograd
        self._registered_autograd_kernel_indirection = True

    def impl_save_for_backward(self, _stacklevel: int = 2) -> Callable[..., Any]:
        """Decorator: a function (inputs, output) of what backward needs."""

        def inner(f: Any) -> None:
            self._check_can_register_backward()
            self._register_impl("save_for_backward", f, _stacklevel)

        return inner

    def impl_backward(self, output_differentiability: Any = None, _stacklevel: int = 2) -> Callable[..., Any]:
        """Decorator: a function (ctx, saved, *grads) that returns the gradients by the names of the arguments."""
        given = output_differentiability
        if given is not None and not (
            isinstance(given, list)
            and all(isinstance(d, bool) for d in given)
            and len(given) == len(self._schema.returns)
        ):
            raise RuntimeError(
                "impl_backward(output_differentiability): expected output_differentiability to be a list of bools with "
                f"length equal to the number of outputs of this CustomOp got: {given}"
            )

        def inner(f: Any) -> None:
            self._check_can_register_backward()
            self._register_impl("backward", f, _stacklevel)
            self._output_differentiability = given

        return inner

    def _autograd(self, *args: Any, **kwargs: Any) -> Any:
        from .autograd import apply

        have = [kind for kind in ("backward", "save_for_backward") if kind in self._impls]
        if not have:
            raise RuntimeError("Autograd has not been implemented for operator")
        if len(have) == 1:
            missing = "save_for_backward" if have[0] == "backward" else "backward"
            raise RuntimeError(
                f"We found a '{have[0]}' registration for {self} at {self._impls[have[0]].location} but were unable to "
                f"find a '{missing}' registration. To use the CustomOp API to register a backward formula, please "
                "provide us both a backward function and a 'save for backward' function via `impl_backward` and "
                "`impl_save_for_backward` respectively."
            )
        return apply(self, args)

    _autograd.only_recorded = True  # type: ignore[attr-defined]


def check_no_meta(qualname: str, custom: Any, registered: bool) -> None:
    """An error where an operator already says what it does where only shapes count."""
    start = f"impl_abstract(...): the operator {qualname} already has "
    if registered or "CompositeExplicitAutograd" in custom.kernels and "Meta" not in custom.kernels:
        return
    if "CompositeImplicitAutograd" in custom.kernels:
        text = "an implementation for this device type via a pre-existing " + _INSTEAD
        raise RuntimeError(start + text % (("abstract impl",) * 2))
    if "Meta" in custom.kernels:
        raise RuntimeError(
            start + "a DispatchKey::Meta implementation via a pre-existing torch.library or TORCH_LIBRARY "
            "registration. Please either remove that registration or don't call impl_abstract."
        )


def get_op(qualname: str) -> Any:
    """The operator of a name."""
    namespace, name = parse_qualname(qualname)
    try:
        return getattr(getattr(torch.ops, namespace), name).default
    except AttributeError:
        raise ValueError(
            f"Could not find the operator {qualname}. Please make sure you have already registered the operator and "
            "(if registered from C++) loaded it via torch.ops.load_library."
        ) from None


def _find_custom_op(qualname: str, also_check_torch_library: bool = False) -> Any:
    if qualname in global_registry:
        return global_registry[qualname]
    if not also_check_torch_library:
        raise RuntimeError(f'Could not find custom op "{qualname}". Did you register it via the torch._custom_ops API?')
    namespace, name = parse_qualname(qualname)
    get_op(qualname)
    return CustomOp(_library.Library(namespace, "FRAGMENT"), namespace, None, name, None, _private_access=True)


def get_abstract_impl(qualname: str) -> Any:
    """The function that impl_abstract registered, or None."""
    made = global_registry.get(qualname)
    return made._impls["abstract"].func if made is not None and "abstract" in made._impls else None
