"""torch.overrides: classes and modes that stand in for PyTorch's functions."""

from __future__ import annotations

import contextlib
import functools
import inspect
from typing import Any

import torchlite as torch

from . import _C
from ._core import absent as _absent, override as _override

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "resolve_name",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "wrap_torch_function",
    "enable_reentrant_dispatch",
]
_override.install()


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether an argument has a __torch_function__ of its own, or a mode is on."""
    return not _asked_once() and _C.overrides(*relevant_args)


def has_torch_function_unary(obj: Any) -> bool:
    """has_torch_function for one argument."""
    return not _asked_once() and _C.overrides(obj)


def has_torch_function_variadic(*args: Any) -> bool:
    """has_torch_function for several arguments."""
    return not _asked_once() and _C.overrides(*args)


def _get_overloaded_args(relevant_args: Iterable[Any], get_type_fn: Callable[[Any], type] | None = None) -> list[Any]:
    return _override.overloaded(relevant_args, True)


def handle_torch_function(public_api: Any, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """What the modes and the arguments' classes say to a call of public_api(*args, **kwargs)."""
    found = _get_overloaded_args(relevant_args)
    answer = _override.ask(public_api, found, args, kwargs)
    if answer is NotImplemented:
        raise _override.no_implementation(public_api, found)
    return answer


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the function asks the arguments that dispatcher(*args, **kwargs) names."""

    def inner(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant_args = dispatcher(*args, **kwargs)
            if has_torch_function(relevant_args):
                return handle_torch_function(wrapped, relevant_args, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return inner


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor, or its class has a __torch_function__."""
    return type(inp) is torch.Tensor or hasattr(inp, "__torch_function__")


# ---- modes -----------------------------------------------------------------------------------------------------------
class TorchFunctionMode:
    """Inside `with` it sees all calls of functions of torch; derive from it, and define __torch_function__."""

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        _push_mode(self)
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        _pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        import warnings

        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """Sees calls and lets them go on."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _push_mode(mode: Any) -> None:
    _override.modes.append(mode)
    _C.function_modes(len(_override.modes))


def _pop_mode() -> Any:
    mode = _override.modes.pop()
    _C.function_modes(len(_override.modes))
    return mode


_push_on_torch_function_stack, _pop_torch_function_stack = _push_mode, _pop_mode


def _get_current_function_mode() -> Any:
    return _override.modes[-1] if _override.modes else None


def _get_current_function_mode_stack() -> list[Any]:
    return list(_override.modes)


def _len_torch_function_stack() -> int:
    return len(_override.modes)


def _get_function_stack_at(i: int) -> Any:
    return _override.modes[i]


def _is_torch_function_mode_enabled() -> bool:
    return _override.modes_on()


@contextlib.contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    old = _pop_mode()
    try:
        yield old
    finally:
        _push_mode(old)


class _EnableTorchFunction:
    """Inside, __torch_function__ is called again where it was off."""

    def __enter__(self) -> None:
        self._old = _C.function_off(0)

    def __exit__(self, *exc: Any) -> None:
        _C.function_off(self._old)


_enable_torch_function = _EnableTorchFunction


@contextlib.contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Inside a __torch_dispatch__ every op may be called; there is nothing to turn on."""
    yield


_skipped: list[bool] = []


def redispatch_function(func: Any, types: Any, args: Any, kwargs: Any = None) -> Any:
    """Calls a function itself: it asks nobody, and what it calls asks again."""
    kwargs, raw = kwargs or {}, getattr(func, "_tl_fn", None)
    if inspect.isfunction(raw):
        return raw(*args, **kwargs)
    if inspect.isfunction(func):  # its own has_torch_function is False once
        _skipped.append(True)
        try:
            return func(*args, **kwargs)
        finally:
            _skipped.clear()
    old = _C.function_off(max(1, _C.function_state()[0]))
    try:
        return func(*args, **kwargs)
    finally:
        _C.function_off(old)


def _asked_once() -> bool:
    return bool(_skipped) and _skipped.pop()


# ---- lists -----------------------------------------------------------------------------------------------------------
def get_default_nowrap_functions() -> set[Any]:
    """The functions whose results Tensor.__torch_function__ leaves as they are."""
    return _override.nowrap()


_IGNORED = """arange are_deterministic_algorithms_enabled as_strided as_tensor asarray bartlett_window blackman_window
    broadcast_shapes can_cast compile empty empty_permuted empty_strided eye fill from_dlpack from_file from_numpy
    frombuffer full get_default_device get_default_dtype get_deterministic_debug_mode get_float32_matmul_precision
    get_num_interop_threads get_num_threads get_rng_state hamming_window hann_window inference_mode initial_seed
    is_anomaly_enabled is_grad_enabled is_inference_mode_enabled is_storage is_tensor is_warn_always_enabled
    kaiser_window linspace load logspace manual_seed normal ones promote_types rand rand_like randint randint_like randn
    randn_like randperm range result_type save scalar_tensor seed set_default_device set_default_tensor_type
    set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal set_grad_enabled
    set_num_interop_threads set_num_threads set_printoptions set_rng_state set_warn_always tensor tril_indices
    triu_indices typename unsupported use_deterministic_algorithms vander vmap zeros explain self_test
    install_as_torch""".split()
_IGNORED_FUNCTIONAL = """hardsigmoid hardswish sigmoid tanh upsample upsample_bilinear upsample_nearest""".split()
_IGNORED_TENSOR = """__class__ __delattr__ __delitem__ __dir__ __getattribute__ __hash__ __init__ __iter__ __new__
    __setattr__ __torch_dispatch__ __torch_function__ __init_subclass__ __subclasshook__ _make_subclass
    _make_wrapper_subclass as_subclass new new_empty new_empty_strided new_full new_ones new_tensor new_zeros reinforce
    stride unflatten to_sparse_coo to_sparse_csc to_sparse_csr""".split()


@functools.lru_cache(None)
def get_ignored_functions() -> set[Any]:
    """Public functions that do not look for a __torch_function__."""
    torch.ops.load_all()
    found = {getattr(torch, n) for n in _IGNORED if hasattr(torch, n)}
    found |= {getattr(torch.nn.functional, n) for n in _IGNORED_FUNCTIONAL}
    for n in _IGNORED_TENSOR:
        value = getattr(torch.Tensor, n, None)
        if value is not None:
            found.add(value)
    return found


# operators, which Python calls by slots
_OPERATORS = """__add__ __and__ __bool__ __complex__ __eq__ __float__ __floordiv__ __ge__ __getitem__ __gt__ __iadd__
    __iand__ __ifloordiv__ __ilshift__ __imod__ __imul__ __index__ __int__ __invert__ __ior__ __irshift__ __isub__
    __itruediv__ __ixor__ __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __or__ __radd__ __rand__
    __rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rmul__ __ror__ __rpow__ __rrshift__ __rshift__ __rsub__ __rxor__
    __setitem__ __sub__ __truediv__ __xor__""".split()


# functions of torch with an underscore that PyTorch lets classes override
_PRIVATE = """_assert_async _conj_copy _functional_assert_async _fused_rms_norm _fw_primal_copy _indices_copy
    _make_dual_copy _native_batch_norm_legit _neg_view_copy _reshape_alias_copy _rowwise_prune _sparse_broadcast_to_copy
    _sym_acos _sym_asin _sym_atan _sym_cos _sym_cosh _sym_sin _sym_sinh _sym_sqrt _sym_tan _sym_tanh _values_copy
    _wrapped_linear_prepack _wrapped_quantized_linear_prepacked""".split()


def _asks(value: Any) -> bool:
    absent = _absent.is_absent(value) and inspect.isfunction(value)
    return isinstance(value, (_C.Op, _C.OpMethod, _C.Function)) or absent


@functools.lru_cache(None)
def _table() -> dict[str, tuple[Any, list[Any], dict[Any, str]]]:
    """namespace name -> (namespace, functions, {function: resolved name})."""
    torch.ops.load_all()
    ignored = get_ignored_functions()
    found: dict[str, Any] = {}
    spaces = (
        ("torch", torch, [n for n in (*vars(torch), *_absent.names("torchlite")) if not n.startswith("_")] + _PRIVATE),
        ("torch.functional", torch.functional, [n for n in torch.functional.__all__ if not n.startswith("_")]),
        ("torch.nn.functional", torch.nn.functional, dir(torch.nn.functional)),
        ("torch.Tensor", torch.Tensor, dir(torch.Tensor)),
        ("torch.linalg", torch.linalg, dir(torch.linalg)),
        ("torch.fft", torch.fft, dir(torch.fft)),
        ("torch.special", torch.special, dir(torch.special)),
    )
    for title, space, names in spaces:
        functions, resolved = [], {}
        for name in names:
            if space is not torch.Tensor and (name.startswith("_") or name.endswith("_") and space is torch):
                if name not in _PRIVATE:
                    continue
            value = getattr(space, name, None)
            if space is torch.Tensor and isinstance(value, _C.Attribute):
                for part in ("__get__", "__set__") if name in ("grad", "data") else ("__get__",):
                    functions.append(getattr(value, part))
                    resolved[functions[-1]] = "%s.%s.%s" % (title, name, part)
            elif (_asks(value) or space is torch.Tensor and name in _OPERATORS) and value not in ignored:
                functions.append(value)
                resolved[value] = "%s.%s" % (title, name)
        found[title] = space, functions, resolved
    return found


def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions that look for a __torch_function__, by namespace."""
    return {space: functions for space, functions, _ in _table().values()}


def resolve_name(f: Any) -> str | None:
    """The dotted name of an overridable function."""
    from ._ops import OpOverload, OpOverloadPacket

    if isinstance(f, (OpOverload, OpOverloadPacket)):
        return str(f)
    for _, _, resolved in _table().values():
        if f in resolved:
            return resolved[f]
    return None


@functools.lru_cache(None)
def _tensor_methods() -> set[Any]:
    return set(_table()["torch.Tensor"][1])


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether the function is a method of Tensor, or a field's __get__."""
    name = getattr(func, "__name__", None)
    if name == "__get__":
        return True
    if func in _tensor_methods():
        return True
    return isinstance(name, str) and name.startswith("__") and getattr(torch.Tensor, name, None) is func


def _parameters(func: Any) -> list[inspect.Parameter]:
    """The parameters of an overridable function: of an op, those of its first overload, with `out`."""
    kinds = inspect.Parameter
    if isinstance(func, (_C.Op, _C.OpMethod)):
        found = []
        for name, alias, default, _, _, kwonly, _ in func.overloads[0].params:
            name = alias if alias == "input" and not func.is_method else name
            name = name + "_" if name in ("from", "lambda") else name
            kind = kinds.KEYWORD_ONLY if kwonly else kinds.POSITIONAL_OR_KEYWORD
            value = kinds.empty if default is NotImplemented else default
            found.append(kinds(name, kind, default=value))
        if func.takes_out and not func.is_method:
            found.append(kinds("out", kinds.KEYWORD_ONLY, default=None))
        return found
    try:
        return list(inspect.signature(getattr(func, "_tl_fn", func)).parameters.values())
    except (TypeError, ValueError):
        return [kinds("self", kinds.POSITIONAL_OR_KEYWORD)]


def _dummy(func: Any) -> Any:
    """A function of the same signature that returns -1."""
    parts, defaults, star, required = [], {}, False, True
    for p in _parameters(func):
        if p.kind is p.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        if p.kind is p.VAR_POSITIONAL:
            parts.append("*" + p.name)
            star = True
        elif p.kind is p.VAR_KEYWORD:
            parts.append("**" + p.name)
        elif p.default is p.empty and (required or star):
            parts.append(p.name)
        else:
            required = False
            defaults[p.name] = None if p.default is p.empty else p.default
            parts.append("%s=_defaults[%r]" % (p.name, p.name))
    return eval("lambda %s: -1" % ", ".join(parts), {"_defaults": defaults})


@functools.lru_cache(None)
def get_testing_overrides() -> dict[Any, Any]:
    """{overridable function: a function of the same signature}, for tests of classes that override everything."""
    found = {}
    for _, functions, _ in _table().values():
        for func in functions:
            found[func] = (lambda self: -1) if getattr(func, "__name__", "") == "__get__" else _dummy(func)
    return found
