"""The unpickler behind `torch.load(weights_only=True)`: a small pickle machine that can only build containers, numbers,
strings, tensors, and what the user allowed. It understands the opcodes that protocol 2 writes for those."""

from __future__ import annotations


from collections import Counter, OrderedDict
from collections.abc import Callable
from io import BytesIO
from pickle import UnpicklingError, decode_long
from struct import unpack_from
from typing import Any

import torchlite as torch
from torchlite._core import device as _device, dtypes as _dtypes
from torchlite import _utils
from torchlite._files.limits import DEPTH, Budget, Keys, brief, check_shared, too_deep
from torchlite._files.allowed_calls import build, call, has_rule, late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


_BLOCKED_MODULES = ("sys", "os", "posix", "nt")
_user_allowed: list[Any] = []  # torch.serialization.add_safe_globals
_allowed: dict[str, Any] = {}


def _public(name: str) -> str:
    """The path that files use: torch.x for torchlite.x."""
    return "torch" + name[9:] if name == "torchlite" or name.startswith("torchlite.") else name


def _modern(module: str, name: str) -> tuple[str, str]:
    """Python 3's module and name for what protocol 2 wrote, in Python 2's: __builtin__.xrange is builtins.range."""
    from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING

    renamed: tuple[str, str] = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
    return renamed


def _default_allowed() -> dict[str, Any]:
    if _allowed:
        return _allowed
    from codecs import encode
    from torchlite import serialization, storage

    _allowed.update(
        {
            "collections.OrderedDict": OrderedDict,
            "collections.Counter": Counter,
            "_codecs.encode": encode,
            "builtins.bytearray": bytearray,
            "builtins.set": set,
            "builtins.complex": complex,
            "torch.nn.parameter.Parameter": torch.nn.Parameter,
            "torch.Tensor": torch.Tensor,
            "torch.Size": torch.Size,
            "torch.device": torch.device,
            "torch.serialization._get_layout": serialization._get_layout,
            "torch.storage.UntypedStorage": storage.UntypedStorage,
            "torch.storage.TypedStorage": storage.TypedStorage,
            "torch._tensor._rebuild_from_type_v2": _utils._rebuild_from_type_v2,
        }
    )
    for name in (
        "_rebuild_parameter",
        "_rebuild_parameter_with_state",
        "_rebuild_tensor",
        "_rebuild_tensor_v2",
        "_rebuild_tensor_v3",
        "_rebuild_sparse_tensor",
        "_rebuild_nested_tensor",
        "_rebuild_meta_tensor_no_storage",
        "_rebuild_wrapper_subclass",
        "_rebuild_device_tensor_from_cpu_tensor",
        "_rebuild_device_tensor_from_numpy",
    ):
        _allowed["torch._utils." + name] = getattr(_utils, name)
    _allowed["torch.nested._internal.nested_tensor._rebuild_njt"] = _utils._rebuild_njt
    for one in (*_dtypes.DTYPES, *_dtypes.NAMES_ONLY, *_device.QSCHEMES):
        _allowed[str(one)] = one
    for name in storage._PICKLE_DTYPES:
        _allowed["torch." + name] = serialization.StorageType(name)
    return _allowed


class _Unusable(dict):
    """What the user allowed, where one thing in the list has no name: an error once a name is looked up."""

    error: Exception

    def __contains__(self, path: Any) -> bool:
        raise self.error


def _user_globals_later() -> dict[Any, Any]:
    try:
        return _user_globals()
    except (AttributeError, TypeError, ValueError) as error:
        unusable = _Unusable()
        unusable.error = error
        return unusable


def _user_globals() -> dict[Any, Any]:
    found = {}
    for item in _user_allowed:
        if isinstance(item, tuple):
            if len(item) != 2:
                raise ValueError(
                    "Expected tuple of length 2 (global, str of callable full path), but got tuple of "
                    f"length: {len(item)}"
                )
            if type(item[1]) is not str:
                raise TypeError(
                    f"Expected second item in tuple to be str of callable full path, but got: {type(item[1])}"
                )
            found[_public(item[1])] = item[0]
        else:
            found[_public(f"{item.__module__}.{item.__qualname__}")] = item
    return found


# what never holds another object, so that its depth need not be looked up
_ATOMS = frozenset((str, int, float, bool, type(None), bytes, complex, bytearray))


class Unpickler:
    """Reads one pickle from `file`; `persistent_load` gives the storages.
    `budget` limits what the pickle may ask for."""

    def __init__(self, file: IO[bytes], *, encoding: str = "bytes") -> None:
        self._file, self._encoding = file, encoding
        self.budget = None

    def persistent_load(self, pid: Any) -> Any:
        """Replaced by the loader."""
        raise UnpicklingError("unsupported persistent id encountered")

    def load(self) -> Any:
        """The pickled object; the file is left behind it."""
        data, start, at = _contents(self._file)
        begin = at
        budget = self.budget or Budget(len(data) - at)
        keys = Keys(budget)
        stack: list[Any] = []
        marks: list[list[Any]] = []  # the stacks below each mark
        memo: list[Any] = []
        sparse: dict[int, Any] = {}
        end = len(data)
        defaults, user = _default_allowed(), _user_globals_later()
        allowed_by_user = {id(v) for v in user.values()}
        allowed = allowed_by_user.union(map(id, defaults.values()))
        # cost: bytes that objects took and the budget has not counted yet; most: when it must count them
        cost, most, costs = 0, budget.memory, _COSTS
        # id of a container -> how deep it is nested; negative once it is in another one.
        # Ids of objects that are gone may be in it: a new container always overwrites them.
        depths: dict[int, int] = {}
        late, shared = 0, False

        def depth_of(items: list[Any] | tuple[Any, ...]) -> int:
            """1 + the depth of the deepest of `items`, which are put into a container."""
            nonlocal shared
            deepest = 0
            for item in items:
                if item.__class__ not in _ATOMS:
                    depth = depths.get(id(item), 0)
                    if depth > 0:
                        depths[id(item)] = -depth
                    elif depth:
                        depth = -depth
                        shared = True
                    if depth > deepest:
                        deepest = depth
            if deepest + late >= DEPTH:
                raise too_deep()
            return deepest + 1

        def deepen(target: Any, items: list[Any] | tuple[Any, ...]) -> None:
            """Notes that `items` are put into `target`."""
            nonlocal late
            depth, before = depth_of(items), depths.get(id(target), 0)
            if before < 0:
                # the containers around it get deeper too, by no more than this
                if depth > -before:
                    late += depth + before
                    depths[id(target)] = -depth
                    if depth + late > DEPTH:
                        raise too_deep()
            elif depth > before:
                depths[id(target)] = depth

        def popped_mark() -> list[Any]:
            nonlocal stack
            items, stack = stack, marks.pop()
            return items

        def settle() -> None:
            nonlocal cost, most
            budget.take(cost)
            cost, most = 0, budget.memory

        while True:
            if at >= end:
                raise EOFError
            code = data[at]
            at += 1
            cost += costs[code]
            if cost > most:
                settle()
            if code == 0x71 or code == 0x68 or code == 0x72 or code == 0x6A:  # BINPUT, BINGET, LONG_BINPUT, LONG_BINGET
                if code == 0x71 or code == 0x68:
                    i = data[at]
                    at += 1
                else:
                    i = unpack_from("<I", data, at)[0]
                    at += 4
                if code == 0x68 or code == 0x6A:
                    stack.append(memo[i] if i < len(memo) else sparse[i])
                elif i == len(memo):
                    memo.append(stack[-1])
                elif i < len(memo):
                    memo[i] = stack[-1]
                else:
                    sparse[i] = stack[-1]
                    cost += 120
            elif code == 0x4B:  # BININT1
                stack.append(data[at])
                at += 1
            elif code == 0x58:  # BINUNICODE
                n = unpack_from("<I", data, at)[0]
                text = data[at + 4 : at + 4 + n]
                cost += len(text)
                if len(text) > 100:
                    if not text.isascii():
                        cost += 3 * len(text)
                    if cost > most:
                        settle()
                stack.append(str(text, "utf-8", "surrogatepass"))
                at += 4 + n
            elif code == 0x4D:  # BININT2
                stack.append(unpack_from("<H", data, at)[0])
                at += 2
            elif code in _CONSTANTS:
                stack.append(_CONSTANTS[code]())
                if code in _CONTAINERS:
                    depths[id(stack[-1])] = 1
            elif code == 0x28:  # MARK
                marks.append(stack)
                stack = []
            elif code == 0x74 or 0x85 <= code <= 0x87:  # TUPLE, TUPLE1 .. TUPLE3
                if code == 0x74:
                    item = tuple(popped_mark())
                    cost += 8 * len(item) - _MARK
                else:
                    n = code - 0x84
                    item = tuple(stack[-n:])
                    del stack[-n:]
                if item:
                    for one in item:
                        if one.__class__ not in _ATOMS:
                            depths[id(item)] = depth_of(item)
                            break
                    else:
                        depths[id(item)] = 1
                stack.append(item)
            elif code == 0x51:  # BINPERSID
                settle()
                item = self._persistent(stack.pop())
                most = budget.memory
                depths[id(item)] = 1
                stack.append(item)
            elif code == 0x52:  # REDUCE
                args, func = stack.pop(), stack[-1]
                if id(func) not in allowed:
                    owner = f" which belongs to {brief(func.__self__)}" if hasattr(func, "__self__") else ""
                    raise UnpicklingError(f"Trying to call reduce for unrecognized function {brief(func)}{owner}")
                settle()
                stack[-1] = item = call(func, args, budget, keys)
                most = budget.memory
                depth = abs(depths.get(id(args), 0)) + 1
                if depth + late > DEPTH:
                    raise too_deep()
                depths[id(item)] = depth
            elif code == 0x63:  # GLOBAL
                at, found = self._global(data, at, defaults, user)
                if has_rule(found):  # one that was loaded now
                    allowed.add(id(found))
                stack.append(found)
            elif code == 0x73:  # SETITEM
                value, key = stack.pop(), stack.pop()
                target = _settable(stack[-1], "SETITEM")
                if key.__class__ not in _ATOMS or value.__class__ not in _ATOMS:
                    deepen(target, (key, value))
                keys.set_item(target, key, value)
            elif code == 0x75:  # SETITEMS
                items = popped_mark()
                target = _settable(stack[-1], "SETITEMS")
                cost += 32 * len(items) - _MARK
                if cost > most:
                    settle()
                deepen(target, items)
                keys.set_items(target, items)
            elif code == 0x61:  # APPEND
                item = stack.pop()
                values = _list(stack[-1], "append to")
                if item.__class__ not in _ATOMS:
                    deepen(values, (item,))
                values.append(item)
            elif code == 0x65:  # APPENDS
                items = popped_mark()
                values = _list(stack[-1], "extend")
                cost -= _MARK
                deepen(values, items)
                values.extend(items)
            elif code == 0x47:  # BINFLOAT
                stack.append(unpack_from(">d", data, at)[0])
                at += 8
            elif code == 0x4A:  # BININT
                stack.append(unpack_from("<i", data, at)[0])
                at += 4
            elif code == 0x8A:  # LONG1
                n = data[at]
                stack.append(decode_long(data[at + 1 : at + 1 + n]))
                at += 1 + n
            elif code == 0x55:  # SHORT_BINSTRING
                n = data[at]
                text = data[at + 1 : at + 1 + n]
                stack.append(text if self._encoding == "bytes" else text.decode(self._encoding, "strict"))
                at += 1 + n
            elif code == 0x81:  # NEWOBJ
                args, cls = stack.pop(), stack.pop()
                if id(cls) not in allowed:
                    raise UnpicklingError(
                        "Can only create new object for nn.Parameter or classes allowlisted via "
                        f"`add_safe_globals` but got {brief(cls)}"
                    )
                settle()
                item = call(cls, args, budget, keys, new=True)
                most = budget.memory
                depths[id(item)] = depth_of((args,))
                stack.append(item)
            elif code == 0x62:  # BUILD
                state = stack.pop()
                deepen(stack[-1], (state,))
                settle()
                build(stack[-1], state, budget, allowed_by_user)
                most = budget.memory
            elif code == 0x80:  # PROTO
                if data[at] != 2 and not self._warned:
                    import warnings

                    self._warned = True
                    warnings.warn(
                        f"Detected pickle protocol {data[at]} in the checkpoint, which was not the default "
                        "pickle protocol used by `torch.load` (2). The weights_only Unpickler might not "
                        "support all instructions implemented by this protocol, please file an issue for "
                        "adding support if you encounter this.",
                        stacklevel=2,
                    )
                at += 1
            elif code == 0x2E:  # STOP
                self._file.seek(at - start)
                if shared:
                    depths.clear()
                    check_shared(stack[-1], end - begin)
                return stack.pop()
            else:
                raise UnpicklingError(f"Unsupported operand {code}")

    _warned = False

    def _persistent(self, pid: Any) -> Any:
        if type(pid) is not tuple and type(pid) is not int:
            raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(pid)}")
        if type(pid) is tuple and pid and (type(pid[0]) not in (str, bytes) or pid[0] not in ("storage", b"storage")):
            raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {type(pid[0])}")
        return self.persistent_load(pid)

    @staticmethod
    def _global(data: Any, at: int, defaults: dict[str, Any], user: dict[Any, Any]) -> tuple[int, Any]:
        at, module, name = _global_at(data, at)
        path = _public(f"{module}.{name}")
        shown = path if len(path) <= 1000 else path[:1000] + "..."
        if module in _BLOCKED_MODULES:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {shown} whose module {module} is blocked.")
        if path in defaults:
            return at, defaults[path]
        if path in user:
            return at, user[path]
        found = late(path)
        if found is not None:
            return at, found
        if path.startswith("builtins."):
            shown = shown[9:]
        raise UnpicklingError(
            f"Unsupported global: GLOBAL {shown} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{shown}])` or the `torch.serialization.safe_globals([{shown}])` "
            "context manager to allowlist this global if you trust this class/function."
        )


def _contents(file: IO[bytes]) -> tuple[bytes, int, int]:
    """(all bytes of a file from its start or from here, where the first of them is in the file, where here is)."""
    at = file.tell()
    if type(file) is BytesIO:
        return file.getvalue(), 0, at  # not a copy
    return file.read(), -at, 0


def _global_at(data: Any, at: int) -> tuple[int, str, str]:
    """(end, module, name) of the GLOBAL whose argument is at `at`."""
    middle = data.find(b"\n", at)
    stop = data.find(b"\n", middle + 1)
    if middle < 0 or stop < 0:
        raise EOFError
    return stop + 1, *_modern(data[at:middle].decode(), data[middle + 1 : stop].decode())


def globals_named(data: Any) -> list[str]:
    """The names of the globals in a pickle, in order, without loading it."""
    at, found = 0, dict[str, None]()
    while True:
        if at >= len(data):
            raise EOFError
        code = data[at]
        at += 1
        if code == 0x63:
            at, module, name = _global_at(data, at)
            found[_public(f"{module}.{name}")] = None
        elif code == 0x58:
            at += 4 + int.from_bytes(data[at : at + 4], "little")
        elif code in (0x8A, 0x55):
            at += 1 + data[at] if at < len(data) else 1
        elif code == 0x2E:
            return list(found)
        elif code in _LENGTHS:
            at += _LENGTHS[code]
        else:
            raise UnpicklingError(f"Unsupported operand {code}")


_TABLES = dict, OrderedDict, Counter
_CONSTANTS: dict[int, Callable[[], Any]] = {
    0x4E: lambda: None,
    0x88: lambda: True,
    0x89: lambda: False,
    0x29: tuple,
    0x5D: list,
    0x7D: dict,
    0x8F: set,
}
_CONTAINERS = (0x5D, 0x7D, 0x8F)
# opcodes without an argument of their own length: bytes that follow
_LENGTHS = {
    **dict.fromkeys(_CONSTANTS, 0),
    0x68: 1,
    0x71: 1,
    0x80: 1,
    0x4B: 1,
    0x4D: 2,
    0x4A: 4,
    0x6A: 4,
    0x72: 4,
    0x47: 8,
    **dict.fromkeys((0x28, 0x74, 0x85, 0x86, 0x87, 0x51, 0x52, 0x73, 0x75, 0x61, 0x65, 0x81, 0x62), 0),
}
# Bytes of memory that an opcode may cost, with what is noted about a new container; 16 for a place on the stack.
# A list that MARK began is given back when the mark goes.
_MARK = 72
_COSTS = [16] * 256
for _bytes, _codes in (
    (88, (0x28,)),
    (190, (0x5D, 0x7D)),
    (350, (0x8F,)),
    (160, (0x74, 0x85, 0x86, 0x87)),
    (500, (0x51,)),
    (700, (0x52, 0x81)),
    (300, (0x62, 0x8A, 0x55)),
    (120, (0x73,)),
    (184, (0x75,)),
    (40, (0x61, 0x47, 0x4A, 0x4D)),
    (88, (0x58,)),
    (10, (0x71, 0x72)),
):
    for _code in _codes:
        _COSTS[_code] = _bytes


def _list(target: Any, verb: str) -> list[Any]:
    if type(target) is not list:
        raise UnpicklingError(f"Can only {verb} lists, but got {type(target)}")
    return target


def _settable(target: Any, opcode: str) -> dict[Any, Any]:
    if type(target) not in _TABLES:
        raise UnpicklingError(
            f"Can only {opcode} for dict, collections.OrderedDict, collections.Counter, but got {type(target)}"
        )
    return target
