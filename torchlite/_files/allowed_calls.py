"""The calls that a file loaded with weights_only=True may make, each with what it takes for arguments: what pickles of
PyTorch hold, and nothing that makes much out of little."""

from __future__ import annotations


from collections import Counter, OrderedDict
from codecs import encode
from pickle import UnpicklingError
import itertools
import math

import torchlite as torch
from torchlite import _utils, serialization as _s, storage as _storage
from torchlite._files.limits import brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from .._types import Device, Layout, Size, Tensor
    from .._files.limits import Budget, Keys


# bytes are written as text with one character for each; the other codecs may be slow, or make much of it
_ENCODINGS = ("latin1", "latin-1", "iso-8859-1", "iso8859-1", "ascii", "utf-8", "utf8")
_TABLES = (dict, OrderedDict, Counter)
_NUMBERS = (int, float, bool)
_FLAGS = (bool, int, type(None))


def _need(good: bool, func: Callable[..., Any] | type, args: tuple[Any, ...]) -> None:
    if not good:
        kinds = ", ".join(type(a).__name__ for a in args[:10])
        raise UnpicklingError(f"{brief(func)} was called with arguments that no file of PyTorch has: ({kinds})")


def _shape(value: tuple[Any, ...], func: Callable[..., Any], args: tuple[Any, ...]) -> None:
    good = isinstance(value, (tuple, list)) and len(value) <= 64
    if good:
        for n in value:
            if n.__class__ is not int:
                good = False
    if not good:
        _need(False, func, args)


def _ordered_dict(func: type, args: tuple[Any, ...], budget: Budget, keys: Keys) -> dict[Any, Any]:
    result: OrderedDict[Any, Any] = OrderedDict()
    if args:
        _need(len(args) == 1 and type(args[0]) in (list, tuple), func, args)
        _need(all(type(pair) in (list, tuple) and len(pair) == 2 for pair in args[0]), func, args)
        _sized(args[0], 200, budget)
        keys.set_items(result, [x for pair in args[0] for x in pair])
    return result


def _counter(func: type, args: tuple[Any, ...], budget: Budget, keys: Keys) -> Any:
    result: Counter[Any] = Counter()
    if args:
        _need(len(args) == 1 and type(args[0]) in _TABLES, func, args)
        _sized(args[0], 150, budget)
        keys.set_items(result, [x for pair in args[0].items() for x in pair])
    return result


def _set(func: type, args: tuple[Any, ...], budget: Budget, keys: Keys) -> set[Any]:
    result: set[Any] = set()
    if args:
        _need(len(args) == 1 and type(args[0]) in (list, tuple), func, args)
        _sized(args[0], 100, budget)
        keys.add(result, args[0])
    return result


def _sized(value: Any, each: int, budget: Budget) -> None:
    budget.spend(len(value))
    budget.take(len(value) * each)


def _encode(func: Callable[..., Any], args: tuple[Any, ...], budget: Budget, keys: Keys) -> bytes:
    _need(len(args) == 2 and type(args[0]) is str and type(args[1]) is str, func, args)
    if args[1].lower().replace("_", "-") not in _ENCODINGS:
        raise UnpicklingError(f"the codec {brief(args[1])} is not used: bytes are written with latin1")
    budget.take(3 * len(args[0]))
    return encode(*args)


def _bytearray(func: type, args: tuple[Any, ...], budget: Budget, keys: Keys) -> bytearray:
    if args and type(args[0]) is str:
        return bytearray(_encode(func, args, budget, keys))
    _need(not args or len(args) == 1 and type(args[0]) in (bytes, bytearray), func, args)
    if args:
        budget.take(len(args[0]))
    return bytearray(*args)


def _complex(func: type, args: tuple[Any, ...], budget: Budget, keys: Keys) -> complex:
    _need(len(args) <= 2 and all(type(a) in _NUMBERS for a in args), func, args)
    _need(all(type(a) is not int or a.bit_length() < 1024 for a in args), func, args)
    return complex(*args)


def _size(func: type, args: tuple[Any, ...], budget: Budget, keys: Keys) -> Size:
    _need(len(args) <= 1 and all(isinstance(a, (tuple, list)) for a in args), func, args)
    for a in args:
        _sized(a, 8, budget)
    return torch.Size(*args)


def _named(func: Callable[..., Any] | type, args: tuple[Any, ...], budget: Budget, keys: Keys) -> Device | Layout:
    _need(len(args) <= 2 and all(type(a) in (str, int) for a in args), func, args)
    _need(not args or type(args[0]) is int or len(args[0]) < 100, func, args)
    return func(*args)


def _tensor(func: Any, args: tuple[Any, ...], budget: Any, keys: Any) -> Any:
    _need(not args, func, args)  # its storage comes with BUILD
    return torch.Tensor()


def _parameter(func: Any, args: tuple[Any, ...], budget: Any, keys: Any) -> Any:
    _need(
        len(args) <= 2
        and all(isinstance(a, torch.Tensor) for a in args[:1])
        and all(type(a) in _FLAGS for a in args[1:]),
        func,
        args,
    )
    return torch.nn.Parameter(*args)


# number of arguments without the metadata that may come last
_COUNTS = {_utils._rebuild_tensor: 4, _utils._rebuild_tensor_v2: 6, _utils._rebuild_tensor_v3: 7}


def _rebuild(func: Callable[..., Any], args: tuple[Any, ...], budget: Budget, keys: Any) -> Tensor:
    """(storage, offset, size, stride), then requires_grad and hooks, in v3 a dtype, then perhaps metadata."""
    count = _COUNTS[func]
    _need(len(args) == count or len(args) == count + 1 and count > 4, func, args)
    storage, offset, size, stride, *rest = args
    _need(type(storage) is _storage.TypedStorage and type(offset) is int, func, args)
    _shape(size, func, args)
    _shape(stride, func, args)
    if rest:
        _need(type(rest[0]) in _FLAGS and (rest[1] is None or type(rest[1]) in _TABLES), func, args)
        _need(count < 7 or type(rest[2]) is torch.dtype, func, args)
        if len(args) > count:
            _need(rest[-1] is None or type(rest[-1]) in _TABLES, func, args)
    return func(*args)


def _dense(size: Any, budget: Any) -> None:
    count = 16
    for n in size:
        count *= max(n, 0)
    budget.take(count)


def _meta(func: Any, args: tuple[Any, ...], budget: Any, keys: Any) -> Any:
    _need(len(args) == 4, func, args)
    _shape(args[1], func, args)
    _shape(args[2], func, args)
    return func(*args)


def _wrapper(func: Any, args: tuple[Any, ...], budget: Any, keys: Any) -> Any:
    """(class, dtype, size, strides, offset, layout, device, whether it requires a gradient); the user allowed the
    class."""
    _need(len(args) == 8 and isinstance(args[0], type) and issubclass(args[0], torch.Tensor), func, args)
    _need(type(args[1]) is torch.dtype and type(args[4]) is int and 0 <= args[4] < 2**63, func, args)
    _need(type(args[5]) is torch.layout and type(args[6]) is torch.device and type(args[7]) in _FLAGS, func, args)
    _shape(args[2], func, args)
    _shape(args[3], func, args)
    _need(len(args[2]) == len(args[3]) and all(0 <= n < 2**40 for n in (*args[2], *args[3])), func, args)
    _need(
        math.prod(n or 1 for n in args[2]) < 2**40 and sum(n * s for n, s in zip(args[2], args[3])) < 2**50, func, args
    )
    return func(*args)


def _sparse(func: Any, args: tuple[Any, ...], budget: Budget, keys: Any) -> Any:
    """(layout, (its tensors, size, perhaps whether it is coalesced)); the indices are looked at as it is made."""
    _need(len(args) == 2 and type(args[0]) is torch.layout and type(args[1]) is tuple, func, args)
    tensors = 2 if args[0] is torch.sparse_coo else 3
    parts = args[1]
    _need(tensors < len(parts) < tensors + 3, func, args)
    _need(all(isinstance(t, torch.Tensor) for t in parts[:tensors]), func, args)
    read = _utils._unread.get() is None
    for indices in (
        parts[: tensors - 1] if read else ()
    ):  # each is looked at, and may have more elements than its storage
        budget.take(16 * indices.numel())
        budget.spend(4 * indices.numel())
    _shape(parts[tensors], func, args)
    _need(all(type(flag) in _FLAGS for flag in parts[tensors + 1 :]), func, args)
    return func(*args)


def _plain(t: Any) -> bool:
    return isinstance(t, torch.Tensor) and t.layout is torch.strided and not t.is_nested


def _table(t: Any, dims: int, kinds: tuple[Any, ...], budget: Budget) -> bool:
    """Whether an argument can be a table of integers. Its numbers become objects of Python, and a tensor of the file
    can have many more elements than its storage."""
    if not _plain(t) or t.dim() != dims or t.dtype not in kinds or not t.is_cpu:
        return False
    budget.take(80 * t.numel())
    budget.spend(8 * t.numel())
    return True


def _nested(func: Any, args: tuple[Any, ...], budget: Budget, keys: Any) -> Any:
    """(values, sizes, strides, offsets); the tables are looked at as it is made."""
    _need(len(args) == 4 and _plain(args[0]) and args[0].dim() == 1, func, args)
    tables = zip(args[1:], (2, 2, 1))
    _need(all(_table(t, dims, (torch.int64,), budget) for t, dims in tables), func, args)
    return func(*args)


def _fit(total: int, offsets: list[int], lengths: list[int] | None = None) -> bool:
    """Whether parts lie within `total` rows."""
    if not offsets:
        return False
    if lengths is None:
        lengths = [b - a for a, b in itertools.pairwise(offsets)]
    return len(lengths) == len(offsets) - 1 and all(0 <= a <= total - n <= total for a, n in zip(offsets, lengths))


_JAGGED = {"values", "offsets", "lengths", "_ragged_idx", "_metadata_cache", "requires_grad"}


def _jagged(func: Any, args: tuple[Any, ...], budget: Budget, keys: Any) -> Any:
    """({values, offsets, lengths, the ragged dim, the longest and the shortest part},)"""
    _need(len(args) == 1 and type(args[0]) is dict and _JAGGED.issuperset(args[0]), func, args)
    given = args[0]
    values, ragged = given.get("values"), given.get("_ragged_idx", 1)
    _need(_plain(values) and type(ragged) is int and 0 < ragged <= values.dim(), func, args)
    tables = [given.get("offsets"), *(t for t in [given.get("lengths")] if t is not None)]
    _need(all(_table(t, 1, (torch.int32, torch.int64), budget) for t in tables), func, args)
    if not _fit(values.shape[ragged - 1], *(t.tolist() for t in tables)):
        raise UnpicklingError("the parts of a nested tensor lie outside of its values")
    cache = given.get("_metadata_cache")
    _need(cache is None or type(cache) in _TABLES, func, args)
    _need(type(given.get("requires_grad")) in _FLAGS, func, args)
    _need(all(type(n) is int or isinstance(n, torch.Tensor) for n in (cache or {}).values()), func, args)
    return func(*args)


def _to_device(func: Any, args: tuple[Any, ...], budget: Any, keys: Any) -> Any:
    _need(len(args) == 4 and type(args[1]) is torch.dtype and type(args[3]) in _FLAGS, func, args)
    if func is _utils._rebuild_device_tensor_from_cpu_tensor:
        _need(isinstance(args[0], torch.Tensor), func, args)
    _dense(args[0].shape, budget)
    return func(*args)


def _rebuild_parameter(func: Callable[..., Any], args: tuple[Any, ...], budget: Budget, keys: Keys) -> Tensor:
    with_state = func is _utils._rebuild_parameter_with_state
    _need(
        len(args) == 3 + with_state
        and isinstance(args[0], torch.Tensor)
        and type(args[1]) in _FLAGS
        and (args[2] is None or type(args[2]) in _TABLES),
        func,
        args,
    )
    if with_state:
        _state(args[3], func, args, budget)
    return func(*args)


def _state(state: Any, func: Callable[..., Any], args: tuple[Any, ...], budget: Budget) -> None:
    for part in state if type(state) is tuple else (state,):
        _need(part is None or type(part) in _TABLES and all(type(name) is str for name in part), func, args)
        _sized(part or (), 100, budget)
        for name in part or ():
            # such an attribute is never part of a state, and setting it may copy a whole tensor
            if hasattr(type(getattr(torch.Tensor, name, None)), "__set__"):
                raise UnpicklingError(f"the state of a tensor names its attribute {brief(name)}")


def _mark(func: Any, args: tuple[Any, ...], budget: Any, keys: Any) -> Any:
    """torch._dynamo.decorators._DimRange, whose state follows."""
    _need(not args, func, args)
    return func.__new__(func)


def late(path: str) -> Any:
    """Classes that PyTorch's own files name, loaded when a file does; None for other paths."""
    if path == "torch.nested._internal.nested_tensor.NestedTensor":
        from ..nested._tensor import NestedTensor

        return NestedTensor
    if path == "torch._dynamo.decorators._DimRange":
        from .._dynamo.decorators import _DimRange

        _RULES[id(_DimRange)] = _mark
        return _DimRange
    return None


def _from_type(func: Callable[..., Any], args: tuple[Any, ...], budget: Budget, keys: Keys) -> Tensor:
    _need(len(args) == 4 and isinstance(args[1], type) and type(args[2]) is tuple, func, args)
    build, cls, inner, state = args
    if build is _utils._rebuild_njt:
        result = _jagged(build, inner, budget, keys)
        _need(cls is type(result) and type(state) is dict, func, args)
        _state(state, func, args, budget)
        return func(lambda: result, cls, (), state)
    if getattr(cls, "__setstate__", None) is getattr(torch.Tensor, "__setstate__", None):
        _state(state, func, args, budget)
    if id(build) in _RULES:
        _need(_RULES[id(build)] in (_rebuild, _rebuild_parameter, _to_device, _meta, _wrapper), func, args)
        result = _RULES[id(build)](build, inner, budget, keys)
        return func(lambda: result, cls, (), state)
    return func(build, cls, inner, state)  # one that the user allowed; the unpickler has looked


def _never(func: Any, args: tuple[Any, ...], budget: Any, keys: Any) -> Any:
    raise UnpicklingError(f"a file cannot make {brief(func)} by a call: storages are records of it")


_RULES = {
    id(func): rule
    for func, rule in (
        (OrderedDict, _ordered_dict),
        (Counter, _counter),
        (set, _set),
        (encode, _encode),
        (bytearray, _bytearray),
        (complex, _complex),
        (torch.Size, _size),
        (torch.device, _named),
        (_s._get_layout, _named),
        (torch.Tensor, _tensor),
        (torch.nn.Parameter, _parameter),
        (_storage.UntypedStorage, _never),
        (_storage.TypedStorage, _never),
        (_utils._rebuild_tensor, _rebuild),
        (_utils._rebuild_tensor_v2, _rebuild),
        (_utils._rebuild_tensor_v3, _rebuild),
        (_utils._rebuild_meta_tensor_no_storage, _meta),
        (_utils._rebuild_wrapper_subclass, _wrapper),
        (_utils._rebuild_device_tensor_from_cpu_tensor, _to_device),
        (_utils._rebuild_device_tensor_from_numpy, _to_device),
        (_utils._rebuild_sparse_tensor, _sparse),
        (_utils._rebuild_nested_tensor, _nested),
        (_utils._rebuild_njt, _jagged),
        (_utils._rebuild_parameter, _rebuild_parameter),
        (_utils._rebuild_parameter_with_state, _rebuild_parameter),
        (_utils._rebuild_from_type_v2, _from_type),
    )
}


def has_rule(func: Any) -> bool:
    """Whether it is one that a file may call."""
    return id(func) in _RULES


def _objects(kind: Any) -> bool:
    """Whether a dtype of numpy is one of Python objects, or has such a field."""
    parts = [field[0] for field in (getattr(kind, "fields", None) or {}).values()]
    if getattr(kind, "subdtype", None):
        parts.append(kind.subdtype[0])
    return getattr(kind, "kind", "") == "O" or any(map(_objects, parts))


def _numpy(func: Any, args: Any, budget: Any, new: bool) -> Any:
    """What the user allowed of numpy: memory in proportion to the file, errors of some lines."""
    name = getattr(func, "__name__", "")
    if name in ("_reconstruct", "ndarray"):
        shapes = [a for a in args if type(a) in (tuple, int, list)]
        _need(all(a in ((0,), 0, (), []) for a in shapes), func, args)  # the elements come with BUILD
    if name == "scalar" and args:
        _need(not _objects(args[0]), func, args)  # bytes would be taken for pointers
        budget.take(getattr(args[0], "itemsize", 0))
    if name == "dtype" and args:
        _need(type(args[0]) is not str or len(args[0]) < 1000, func, args)  # thousands of fields take seconds
    if name == "dtype" and len(args) > 2:
        args = (*args[:2], True)  # a copy: BUILD would change numpy's own
    try:
        return func.__new__(func, *args) if new else func(*args)
    except Exception as error:
        text = str(error)
        raise UnpicklingError(f"{name}: {text[:200]}{'...' if len(text) > 200 else ''}") from None


def call(func: Any, args: Any, budget: Any, keys: Any, new: Any = False) -> Any:
    """func(*args) for a function or class that the file may call;
    with `new` only func.__new__, where the user allowed it."""
    if type(args) is not tuple:
        raise UnpicklingError(f"the arguments of a call are {brief(args)}, not a tuple")
    rule = _RULES.get(id(func))
    if rule is not None:
        return rule(func, args, budget, keys)
    if (getattr(func, "__module__", None) or "").startswith("numpy"):
        return _numpy(func, args, budget, new)
    return func.__new__(func, *args) if new else func(*args)


def build(obj: Any, state: Any, budget: Budget, user: set[int]) -> Any:
    """BUILD: gives an object its state; `user` holds the ids of what the user allowed."""
    cls = type(obj)
    if cls is torch.Tensor or cls is torch.nn.Parameter:
        _need(type(state) is tuple and len(state) == 4, cls, state if type(state) is tuple else (state,))
        whole = _rebuild(_utils._rebuild_tensor, state, budget, None)  # checks the bounds, which set_ would stretch
        obj.set_(whole.untyped_storage(), *state[1:])
    elif cls is OrderedDict or cls is Counter:
        _need(type(state) is dict and all(type(name) is str for name in state), cls, (state,))
        _sized(state, 100, budget)
        obj.__dict__.update(state)
    elif _RULES.get(id(cls)) is _mark:
        _need(type(state) is list and [type(n) in (int, type(None)) for n in state] == [True] * 3, cls, (state,))
        obj.__setstate__(state)
    elif id(cls) in user:
        if hasattr(obj, "__setstate__"):
            obj.__setstate__(state)
            _need(getattr(obj, "hasobject", True) or not _objects(obj), cls, (state,))  # numpy believes the file
            return
        slots = None
        if isinstance(state, tuple) and len(state) == 2:
            state, slots = state
        for part in (state, slots):
            _need(not part or type(part) in _TABLES and all(type(name) is str for name in part), cls, (part,))
            _sized(part or (), 100, budget)
        if state:
            obj.__dict__.update(state)
        for name, value in (slots or {}).items():
            setattr(obj, name, value)
    else:
        raise UnpicklingError(
            f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got {cls}"
        )
