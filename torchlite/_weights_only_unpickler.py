"""The unpickler behind `torch.load(weights_only=True)`: a small pickle machine that can only build containers, numbers,
strings, tensors, and what the user allowed. It understands the opcodes that protocol 2 writes for those."""

from pickle import UnpicklingError, decode_long
from struct import unpack_from

import torchlite as torch
from torchlite import _device, _dtypes, _utils

_BLOCKED_MODULES = ("sys", "os", "posix", "nt")
# names of Python 2 that protocol 2 writes
_RENAMED = {"__builtin__": "builtins", "copy_reg": "copyreg"}

_user_allowed = []              # torch.serialization.add_safe_globals
_allowed = {}


def _public(name):
    """The path that files use: torch.x for torchlite.x."""
    return "torch" + name[9:] if name == "torchlite" or name.startswith("torchlite.") else name


def _modern(module, name):
    """Python 3's module and name for what protocol 2 wrote."""
    return _RENAMED.get(module, module), name


def _default_allowed():
    if _allowed:
        return _allowed
    from codecs import encode
    from collections import Counter, OrderedDict
    from torchlite import serialization, storage
    _allowed.update({
        "collections.OrderedDict": OrderedDict, "collections.Counter": Counter, "_codecs.encode": encode,
        "builtins.bytearray": bytearray, "builtins.set": set, "builtins.complex": complex,
        "torch.nn.parameter.Parameter": torch.nn.Parameter, "torch.Tensor": torch.Tensor, "torch.Size": torch.Size,
        "torch.device": torch.device, "torch.serialization._get_layout": serialization._get_layout,
        "torch.storage.UntypedStorage": storage.UntypedStorage, "torch.storage.TypedStorage": storage.TypedStorage,
        "torch._tensor._rebuild_from_type_v2": _utils._rebuild_from_type_v2,
    })
    for name in ("_rebuild_parameter", "_rebuild_parameter_with_state", "_rebuild_tensor", "_rebuild_tensor_v2",
                 "_rebuild_tensor_v3", "_rebuild_meta_tensor_no_storage", "_rebuild_device_tensor_from_cpu_tensor",
                 "_rebuild_device_tensor_from_numpy"):
        _allowed["torch._utils." + name] = getattr(_utils, name)
    for one in (*_dtypes.DTYPES, *_device.QSCHEMES):
        _allowed[str(one)] = one
    for name in storage._PICKLE_DTYPES:
        _allowed["torch." + name] = serialization.StorageType(name)
    return _allowed


def _user_globals():
    found = {}
    for item in _user_allowed:
        if isinstance(item, tuple):
            if len(item) != 2:
                raise ValueError("Expected tuple of length 2 (global, str of callable full path), but got tuple of "
                                 f"length: {len(item)}")
            if type(item[1]) is not str:
                raise TypeError(f"Expected second item in tuple to be str of callable full path, but got: {type(item[1])}")
            found[_public(item[1])] = item[0]
        else:
            found[_public(f"{item.__module__}.{item.__qualname__}")] = item
    return found


def _contains(values, obj):
    return any(v is obj for v in values)


class Unpickler:
    """Reads one pickle from `file`; `persistent_load` gives the storages."""

    def __init__(self, file, *, encoding="bytes"):
        self._file, self._encoding = file, encoding

    def persistent_load(self, pid):
        """Replaced by the loader."""
        raise UnpicklingError("unsupported persistent id encountered")

    def load(self):
        """The pickled object; the file is left behind it."""
        start = self._file.tell()
        data = self._file.read()
        stack, marks, memo = [], [], {}
        defaults, user = _default_allowed(), _user_globals()
        at, end = 0, len(data)

        def popped_mark():
            nonlocal stack
            items, stack = stack, marks.pop()
            return items

        while True:
            if at >= end:
                raise EOFError
            code = data[at]
            at += 1
            if code in _GET:
                n = _GET[code]
                stack.append(memo[int.from_bytes(data[at:at + n], "little")])
                at += n
            elif code in _PUT:
                n = _PUT[code]
                memo[int.from_bytes(data[at:at + n], "little")] = stack[-1]
                at += n
            elif code == 0x58:                                          # BINUNICODE
                n = int.from_bytes(data[at:at + 4], "little")
                stack.append(str(data[at + 4:at + 4 + n], "utf-8", "surrogatepass"))
                at += 4 + n
            elif code in _UNSIGNED:
                n = _UNSIGNED[code]
                stack.append(int.from_bytes(data[at:at + n], "little"))
                at += n
            elif code in _CONSTANTS:
                stack.append(_CONSTANTS[code]())
            elif code == 0x28:                                          # MARK
                marks.append(stack)
                stack = []
            elif code == 0x74:                                          # TUPLE
                items = popped_mark()
                stack.append(tuple(items))
            elif 0x85 <= code <= 0x87:                                  # TUPLE1 .. TUPLE3
                n = code - 0x84
                stack[-n:] = [tuple(stack[-n:])]
            elif code == 0x51:                                          # BINPERSID
                stack.append(self._persistent(stack.pop()))
            elif code == 0x52:                                          # REDUCE
                args, func = stack.pop(), stack[-1]
                if not _contains(defaults.values(), func) and not _contains(user.values(), func):
                    owner = f" which belongs to {func.__self__}" if hasattr(func, "__self__") else ""
                    raise UnpicklingError(f"Trying to call reduce for unrecognized function {func}{owner}")
                stack[-1] = func(*args)
            elif code == 0x63:                                          # GLOBAL
                at, found = self._global(data, at, defaults, user)
                stack.append(found)
            elif code == 0x73:                                          # SETITEM
                value, key = stack.pop(), stack.pop()
                _settable(stack[-1], "SETITEM")[key] = value
            elif code == 0x75:                                          # SETITEMS
                items = popped_mark()
                target = _settable(stack[-1], "SETITEMS")
                for i in range(0, len(items), 2):
                    target[items[i]] = items[i + 1]
            elif code == 0x61:                                          # APPEND
                item = stack.pop()
                _list(stack[-1], "append to").append(item)
            elif code == 0x65:                                          # APPENDS
                items = popped_mark()
                _list(stack[-1], "extend").extend(items)
            elif code == 0x47:                                          # BINFLOAT
                stack.append(unpack_from(">d", data, at)[0])
                at += 8
            elif code == 0x4a:                                          # BININT
                stack.append(unpack_from("<i", data, at)[0])
                at += 4
            elif code == 0x8a:                                          # LONG1
                n = data[at]
                stack.append(decode_long(data[at + 1:at + 1 + n]))
                at += 1 + n
            elif code == 0x55:                                          # SHORT_BINSTRING
                n = data[at]
                text = data[at + 1:at + 1 + n]
                stack.append(text if self._encoding == "bytes" else text.decode(self._encoding, "strict"))
                at += 1 + n
            elif code == 0x81:                                          # NEWOBJ
                args, cls = stack.pop(), stack.pop()
                if cls is torch.nn.Parameter:
                    stack.append(cls(*args))
                elif _contains(user.values(), cls) or _contains(defaults.values(), cls):
                    stack.append(cls.__new__(cls, *args))
                else:
                    raise UnpicklingError("Can only create new object for nn.Parameter or classes allowlisted via "
                                          f"`add_safe_globals` but got {cls}")
            elif code == 0x62:                                          # BUILD
                state = stack.pop()
                _build(stack[-1], state, defaults, user)
            elif code == 0x80:                                          # PROTO
                if data[at] != 2:
                    import warnings
                    warnings.warn(f"Detected pickle protocol {data[at]} in the checkpoint, which was not the default "
                                  "pickle protocol used by `torch.load` (2). The weights_only Unpickler might not "
                                  "support all instructions implemented by this protocol, please file an issue for "
                                  "adding support if you encounter this.", stacklevel=2)
                at += 1
            elif code == 0x2e:                                          # STOP
                self._file.seek(start + at)
                return stack.pop()
            else:
                raise UnpicklingError(f"Unsupported operand {code}")

    def _persistent(self, pid):
        if type(pid) is not tuple and type(pid) is not int:
            raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(pid)}")
        if type(pid) is tuple and pid and pid[0] not in ("storage", b"storage"):
            raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {type(pid[0])}")
        return self.persistent_load(pid)

    @staticmethod
    def _global(data, at, defaults, user):
        middle = data.index(b"\n", at)
        stop = data.index(b"\n", middle + 1)
        module, name = data[at:middle].decode(), data[middle + 1:stop].decode()
        module, name = _modern(module, name)
        path = _public(f"{module}.{name}")
        if module in _BLOCKED_MODULES:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked.")
        if path in defaults:
            return stop + 1, defaults[path]
        if path in user:
            return stop + 1, user[path]
        if path.startswith("builtins."):
            path = path[9:]
        raise UnpicklingError(
            f"Unsupported global: GLOBAL {path} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{path}])` or the `torch.serialization.safe_globals([{path}])` "
            "context manager to allowlist this global if you trust this class/function.")


# opcodes by what they need: number of index bytes, number of value bytes, a constant
_GET = {0x68: 1, 0x6a: 4}
_PUT = {0x71: 1, 0x72: 4}
_UNSIGNED = {0x4b: 1, 0x4d: 2}
_CONSTANTS = {0x4e: lambda: None, 0x88: lambda: True, 0x89: lambda: False, 0x29: tuple, 0x5d: list, 0x7d: dict, 0x8f: set}


def _list(target, verb):
    if type(target) is not list:
        raise UnpicklingError(f"Can only {verb} lists, but got {type(target)}")
    return target


def _settable(target, opcode):
    from collections import Counter, OrderedDict
    if type(target) not in (dict, OrderedDict, Counter):
        raise UnpicklingError(f"Can only {opcode} for dict, collections.OrderedDict, collections.Counter, but got "
                              f"{type(target)}")
    return target


def _build(obj, state, defaults, user):
    from collections import OrderedDict
    cls = type(obj)
    if cls is torch.Tensor:
        obj.set_(*state)
    elif cls is torch.nn.Parameter:
        obj.__setstate__(state)
    elif cls is OrderedDict:
        obj.__dict__.update(state)
    elif _contains(user.values(), cls) or _contains(defaults.values(), cls):
        if hasattr(obj, "__setstate__"):
            obj.__setstate__(state)
            return
        slots = None
        if isinstance(state, tuple) and len(state) == 2:
            state, slots = state
        if state:
            obj.__dict__.update(state)
        for name, value in (slots or {}).items():
            setattr(obj, name, value)
    else:
        raise UnpicklingError("Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                              f"`add_safe_globals`, but got {cls}")
