"""__torch_function__: who answers a call instead of a function. Loaded with the first class or mode that overrides one.

The core finds out that there is somebody to ask (native/src/core/override.c); here is whom, in which order, and with
which arguments.
"""

from __future__ import annotations

import inspect
from types import FunctionType, GetSetDescriptorType, MethodDescriptorType, MethodWrapperType

from .. import _C
from .function_switches import DisableTorchFunctionSubclass
from .homes import in_cpp, path, torch_name
from .tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

modes: list[Any] = []  # TorchFunctionModes, the innermost last

# operators that are Python functions in PyTorch, by the names of native/src/core/number.c
_OPERATORS = {
    "rsub": "__rsub__",
    "rtruediv": "__rdiv__",
    "floordiv": "__floordiv__",
    "rfloordiv": "__rfloordiv__",
    "rpow": "__rpow__",
    "rmod": "__rmod__",
    "rlshift": "__rlshift__",
    "rrshift": "__rrshift__",
    "rmatmul": "__rmatmul__",
    "invert": "__invert__",
}
# these have a name of their own beside the method: x & y asks for Tensor.__and__, x.bitwise_and(y) and 1 & x do not
_BY_SIGN = {name: "__%s__" % name for name in ("eq", "and", "or", "xor", "lshift", "rshift")}
_IGNORED_METHODS = frozenset(
    """as_subclass reinforce to_padded_tensor to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc
    to_sparse_csr""".split()
)
_SPECIAL = frozenset(
    """__len__ __bool__ __float__ __int__ __index__ __complex__ __contains__ __reversed__ __repr__ __format__ __array__
    __array_wrap__ __deepcopy__ __reduce_ex__ __setstate__ __dlpack__ __dlpack_device__ __long__ __nonzero__
    _clear_non_serializable_cached_data _coalesced_ _dimI _dimV _indices _is_view _nnz
    _sparse_mask_projection _to_dense _values""".split()
)
_SHOWN = frozenset(
    """_base _grad _version _backward_hooks _cdata _grad_fn _post_accumulate_grad_hooks
    __cuda_array_interface__""".split()
)
_installed = [False]


def install() -> None:
    """Lets the methods and fields of Tensor ask too: once a class or a mode is there that they could ask."""
    if _installed[0]:
        return
    _installed[0] = True
    own = Tensor.__dict__
    for name, value in {**_C.TensorBase.__dict__, **own}.items():
        public = name[0] != "_" and name not in _IGNORED_METHODS
        if type(value) is _C.Function:  # it was asked for before, and asks already
            continue
        if type(value) is FunctionType and torch_name(value.__module__ or "").partition(".")[0] != "torch":
            continue  # somebody else put it there
        if isinstance(value, (FunctionType, MethodDescriptorType)):
            if public or name in _SPECIAL:
                setattr(Tensor, name, _C.Function(value))
        elif isinstance(value, (GetSetDescriptorType, property)):
            if public or name in _SHOWN:
                setattr(Tensor, name, _C.Attribute(value, name))
        elif name in _SPECIAL and callable(value):
            setattr(Tensor, name, _C.Function(value))


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        yield value
        if isinstance(value, (list, tuple)):
            yield from value


def _disabled(kind: Any) -> bool:
    return getattr(kind.__torch_function__, "_tl_plain", False)


def overloaded(values: Any, tensors: bool) -> list[Any]:
    """Of the arguments, the first of each class that overrides functions: subclasses before their bases.
    tensors: plain ones count, as they do for functions that PyTorch has in Python."""
    found: list[Any] = []
    kinds: set[type] = set()
    if _C.function_state()[0]:
        return []
    for value in values:
        kind = type(value)
        if kind in kinds or not hasattr(kind, "__torch_function__") or _disabled(kind):
            continue
        if kind is Tensor and not tensors:
            continue
        kinds.add(kind)
        at = next((i for i, old in enumerate(found) if issubclass(kind, type(old))), len(found))
        found.insert(at, value)
    return found


def mode_call(function: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: Any) -> Any:
    """What the innermost mode says; it is off while it runs."""
    mode = modes.pop()
    _C.function_modes(len(modes))
    try:
        if getattr(mode.__torch_function__, "__self__", mode) is type(mode):
            raise RuntimeError(
                "Defining your mode's `__torch_function__` as a classmethod is not supported, "
                "please make it a plain method"
            )
        if kwargs is None:
            return mode.__torch_function__(function, types, args)
        return mode.__torch_function__(function, types, args, kwargs)
    finally:
        modes.append(mode)
        _C.function_modes(len(modes))


def modes_on() -> bool:
    return bool(modes) and _C.function_state()[0] < 2


def ask(public: Any, found: list[Any], args: tuple[Any, ...], kwargs: Any) -> Any:
    """The first answer of the modes and of the arguments; NotImplemented where nobody has one."""
    types = tuple([type(x) for x in found])
    if modes_on():
        answer = mode_call(public, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
    for x in found:
        fn = x.__torch_function__
        answer = fn(public, types, args) if kwargs is None else fn(public, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
    return NotImplemented


def _refused(name: str, found: list[Any]) -> TypeError:
    lines = ["Multiple dispatch failed for '%s'; all __torch_function__ handlers returned NotImplemented:\n" % name]
    if modes_on():
        lines.append("  - mode object %r" % modes[-1])
    lines += ["  - tensor subclass %s" % (type(x),) for x in found]
    return TypeError("\n".join(lines) + "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented")


def _native(name: str, public: Any, args: tuple[Any, ...], kwargs: dict[str, Any], explicit: bool = False) -> Any:
    """For what PyTorch has in C++: keywords are left out where there are none."""
    found = overloaded(_flat((*args, *kwargs.values())), False)
    if not found and not modes_on():
        raise TypeError("%s: no argument overrides it" % name)
    answer = ask(public, found, args, kwargs if kwargs or explicit else None)
    if answer is NotImplemented:
        raise _refused(name, found)
    return answer


def _core_name(function: Any) -> str:
    """What PyTorch's core calls a function in its messages."""
    name = str(function.__name__)
    if getattr(Tensor, name, None) is function:
        return "torch.Tensor." + name
    return (path(function) or name).replace("._C._", ".")


_signatures: dict[Any, Any] = {}


def _op_signature(op: Any) -> inspect.Signature:
    """The signature of an op's first overload."""
    import torchlite as torch

    from .function_schema import parse

    empty: Any = inspect.Parameter.empty
    plain = {"Tensor": torch.Tensor, "float": float, "int": int, "bool": bool, "str": str}

    def annotation(kind: str) -> Any:
        optional = kind.startswith("Optional[")
        found = plain.get(kind[9:-1] if optional else kind, empty)
        return found | None if optional and found is not empty else found

    schema = parse(op.overloads[0].schema)
    returns = [annotation(str(r.type)) for r in schema.returns]
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return inspect.Signature(
        [
            inspect.Parameter(
                "input" if a.name == "self" else a.name,
                kinds[a.kwarg_only],
                default=a.default_value if a.has_default_value() else empty,
                annotation=annotation(str(a.type)),
            )
            for a in schema.arguments
        ],
        return_annotation=returns[0] if len(returns) == 1 else empty,
    )


def signature_of(fn: Any) -> inspect.Signature:
    """The signature of a function that PyTorch has in Python."""
    signature = _signatures.get(fn)
    if signature is None:
        op = type(fn) is _C.Op
        signature = _signatures[fn] = _op_signature(fn) if op else inspect.signature(getattr(fn, "_tl_fn", fn))
    return signature


def _sorted_arguments(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As PyTorch's functions hand their arguments on: those with defaults by name, all of them."""
    signature = signature_of(fn)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        with _C.GradMode(None, None, 2):  # an op would ask here again
            return fn(*args, **kwargs)  # which raises it in its own words
    bound.apply_defaults()
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        p = signature.parameters[name]
        if p.kind is p.VAR_POSITIONAL:
            positional += value
        elif p.kind is p.VAR_KEYWORD:
            named.update(value)
        elif p.kind is p.KEYWORD_ONLY or p.default is not p.empty:
            named[name] = value
        else:
            positional.append(value)
    return tuple(positional), named


def _python(public: Any, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """For what PyTorch has in Python. Some functions say how they hand on their arguments."""
    if hasattr(fn, "_tl_arguments"):
        args = fn._tl_arguments(args)
    sorted_ = _sorted_arguments(fn, args, kwargs)
    if not (isinstance(sorted_, tuple) and len(sorted_) == 2 and isinstance(sorted_[1], dict)):
        return sorted_
    found = overloaded(_flat((*sorted_[0], *sorted_[1].values())), True)
    answer = ask(public, found, *sorted_)
    if answer is NotImplemented:
        raise no_implementation(public, found)
    return answer


def no_implementation(public: Any, found: list[Any]) -> TypeError:
    module = str(public.__module__)
    name = "%s.%s" % ("torch" + module[9:] if module.startswith("torchlite") else module, public.__name__)
    if name.startswith("torch.nn._"):
        name = "torch.nn.functional." + public.__name__
    text = "no implementation found for '%s' on types that implement __torch_function__: %s" % (
        name,
        [type(x) for x in found],
    )
    if modes_on():
        text += " nor in mode %s" % (modes[-1],)
    return TypeError(text)


def torch_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer for a call of an Op, a Function, or a field's __get__."""
    kind = type(function)
    if kind is _C.Function:
        fn = function._tl_fn
        if type(fn) is FunctionType and not in_cpp(function):
            return _python(function, fn, args, kwargs)
        if type(fn) is FunctionType:
            return _native(_core_name(function), function, args, kwargs)
        if not isinstance(args[0] if args else None, _C.TensorBase):
            return fn(*args, **kwargs)  # an error: it is no method of that
        return _native("torch._C.TensorBase." + fn.__name__, function, args, kwargs)
    if kind is MethodWrapperType:
        return _native(
            "torch._C.TensorBase.%s.%s" % (function.__self__.__name__, function.__name__), function, args, {}
        )
    if kind is _C.Op and function.__module__ == "torch.ops":
        from .._ops import public_of

        public = public_of(function)
        return _native("torch.ops.%s" % public, public, args, kwargs, True)
    if kind is _C.OpMethod:
        return _native("torch.Tensor." + function.__name__, function, args, kwargs)
    if kind is _C.Op and not in_cpp(function):
        return _python(function, function, args, kwargs)
    if kind is _C.Op:
        return _native(_core_name(function), function, args, kwargs)
    return _native("torch.Tensor." + function.__name__, function, args, kwargs)


def absent_function(path: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer for a call of a function that torchlite lacks, with an argument whose class overrides functions."""
    return _native(path, function, args, kwargs)


def misfit(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer for a call whose arguments an Op could not bind, one of which overrides functions."""
    if type(op) is _C.OpMethod and not isinstance(args[0] if args else None, _C.TensorBase):
        raise TypeError(
            "descriptor '%s' for 'torch._C.TensorBase' objects doesn't apply to a '%s' object"
            % (op.__name__, type(args[0]).__name__ if args else "NoneType")
        )
    return torch_function(op, args, kwargs)


def operator(name: str, op: Any, this: Any, *rest: Any) -> Any:
    """The answer for an operator; NotImplemented, for Python to go on with, where it is a TypeError."""
    install()
    other = rest[0] if rest else this
    spelled = _OPERATORS.get(name) or _BY_SIGN.get(name)
    if name == "eq" and type(this) is Tensor:
        spelled = None
    public = getattr(Tensor, spelled) if spelled else op
    args = (this, *rest)
    found = overloaded(args, name in _OPERATORS or name == "pow")
    try:
        if not found and not modes_on():
            with _C.GradMode(None, None, 2):
                return public(*args)
        answer = ask(public, found, args, {} if name in _OPERATORS or name == "pow" else None)
    except TypeError:
        if not isinstance(other, _C.TensorBase):
            return NotImplemented
        raise
    if answer is NotImplemented and isinstance(other, _C.TensorBase):
        raise _refused("torch.Tensor." + public.__name__, found)
    return answer


# ---- Tensor's own ----------------------------------------------------------------------------------------------------
_nowrap: set[Any] = set()


def nowrap() -> set[Any]:
    """The functions whose results Tensor's own __torch_function__ leaves as they are."""
    if not _nowrap:
        fields: Any = Tensor
        install()
        _nowrap.update({fields._base.__get__, fields.grad.__get__, fields._grad.__get__})
    return _nowrap


def default(cls: Any, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Tensor.__torch_function__: runs the function, and gives tensors the class."""
    with DisableTorchFunctionSubclass():
        result = func(*args, **kwargs)
        _C.function_off(2)  # what conversion reads of a tensor is no call of the program's
        return result if func in nowrap() else convert(result, cls)


def convert(result: Any, cls: Any) -> Any:
    if cls is Tensor:
        return result
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        values = [convert(r, cls) for r in result]
        return type(result)(values)
    return result
