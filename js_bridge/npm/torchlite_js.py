"""The Python side of the npm package: one function for each thing that JavaScript asks for.

JavaScript holds numbers (handles); the objects are in `_held`. A call crosses the border once, with numbers, strings
and a text that says what they are, and comes back as a number or a string; no PyProxy is made. An argument's kind:

    v  itself   h  the object of a handle   n  None   f  a float   c  a JavaScript function   e  ...
    a  a typed array: its bytes, and the name of its class   j  a nested list of numbers, as JSON
    [kinds] list   (kinds) tuple   {kinds} dict of keys and values in turn   <kinds> slice

Names after a blank are those of the last arguments: "hvv dim keepdim". Results: the handle of a tensor is an int, None
and booleans are themselves, and the rest is a string whose first character says what follows (`_text`).
"""

import io
import json
import linecache
import sys
import traceback
import types

import torch

_Tensor = torch.Tensor
_held = {}  # handle -> object
_handles = {}  # id of an object that is no tensor -> its handle: the same object is the same one in JavaScript
_subclasses = set()  # classes whose methods are JavaScript's
_types = []  # type by number
_numbers = {}  # number by type
_plans = {}  # decoder by the text that came with arguments
_next = 1
_host = None  # JavaScript's side: call(), method(), drop(); set by start()
_failure = (0, None)  # number of the last error that JavaScript got, and that error


class JsError(Exception):
    """An error that JavaScript threw while Python waited for it; goes back to JavaScript as it was."""

    def __init__(self, number, message):
        super().__init__(message)
        self.number = number


_GONE = "this tensor was freed when its torch.scope() ended: return it from the scope, or torch.keep() it"


# ---- objects and their handles ---------------------------------------------------------------------------------------


def _keep(thing):
    global _next
    handle = _next
    _next = handle + 1
    _held[handle] = thing
    return handle


def _keep_object(thing):
    handle = _handles.get(id(thing))
    if handle is None:
        handle = _handles[id(thing)] = _keep(thing)
    return handle


def release(*handles):
    """JavaScript has let go of these; a handle that is gone already does not matter."""
    for handle in handles:
        thing = _held.pop(handle, None)
        if thing is not None and _handles.get(id(thing)) == handle:
            del _handles[id(thing)]


def memory():
    """Bytes of all tensors, and how many objects JavaScript holds."""
    live = torch._C.memory_stats()[0]
    if "torchlite.webgpu" in sys.modules:
        live += torch.webgpu.memory_allocated()
    return f"{live} {len(_held)}"


def _type_number(kind):
    number = _numbers.get(kind)
    if number is None:
        number = _numbers[kind] = len(_types)
        _types.append(kind)
    return number


_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, torch._C.Op, torch._C.Function)
_DESCRIPTORS = (types.MethodDescriptorType, types.ClassMethodDescriptorType, classmethod, staticmethod)
_METHODS = (*_FUNCTIONS, *_DESCRIPTORS, type(_Tensor.add))


def describe(number):
    """What JavaScript has to know of a type, as JSON."""
    kind = _types[number]
    what = "object"
    for name, family in _KINDS:
        if issubclass(kind, family):
            what = name
            break
    methods = [n for n in dir(kind) if not n.startswith("__") and isinstance(_static(kind, n), _METHODS)]
    return json.dumps(
        {
            "name": kind.__name__,
            "kind": what,
            "callable": _static(kind, "__call__") is not None,
            "methods": [] if what in ("class", "namespace") else methods,
            "properties": [n for n in dir(kind) if not n.startswith("_") and n not in methods],
        }
    )


_KINDS = (
    ("class", type),
    ("namespace", types.ModuleType),
    ("function", _FUNCTIONS),
    ("module", torch.nn.Module),
    ("list", list),
    ("dict", dict),
)


def _static(kind, name):
    for base in kind.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


# ---- results ---------------------------------------------------------------------------------------------------------


def _result(value):
    if isinstance(value, _Tensor):
        return _keep(value)
    if value is None or value is True or value is False:
        return value
    return _text(value)


def _text(value):
    """n: a number, i: a large integer, s: text, z: a size, o: an object (_object_parts), j: JSON (_plain),
    a: the handle of something that is awaited, by `settle`."""
    kind = type(value)
    if kind is float:
        return "n" + _number(value)
    if kind is int:
        return f"n{value}" if -(2**53) < value < 2**53 else f"i{value}"
    if kind is str:
        return "s" + value
    if kind is torch.Size:
        return "z" + ",".join(map(str, value))
    if isinstance(value, (tuple, list, dict, complex, int, float, str, set, frozenset, bytes, bytearray)):
        return "j" + json.dumps(_plain(value))
    if hasattr(kind, "__await__"):
        return f"a{_keep(value)}"
    return "o%d %d %d" % _object_parts(value)


def _object_parts(thing):
    """Handle, type, and the number of JavaScript's part, or 0."""
    kind = type(thing)
    return _keep_object(thing), _type_number(kind), thing._js.number if kind in _subclasses else 0


def _number(value):
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return repr(value)


def _plain(value):
    """JSON of a value: arrays, numbers, text and null are themselves, {"t": handle} is a tensor, {"o": [handle, type]}
    an object, {"i": digits}, {"f": text}, {"m": pairs} a dict, {"n": [names, values]} a named tuple, {"b": bytes}."""
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if isinstance(value, _Tensor):
        return {"t": _keep(value)}
    if isinstance(value, int):
        value = int(value)
        return value if -(2**53) < value < 2**53 else {"i": str(value)}
    if isinstance(value, float):
        value = float(value)
        return value if value - value == 0 else {"f": _number(value)}
    if isinstance(value, complex):
        return {"n": [["re", "im"], [_plain(value.real), _plain(value.imag)]]}
    if isinstance(value, str):
        return str(value)
    if isinstance(value, dict):
        return {"m": [[_plain(k), _plain(v)] for k, v in value.items()]}
    if isinstance(value, (bytes, bytearray)):
        return {"b": list(value)}
    if isinstance(value, tuple):
        names = getattr(kind, "__match_args__", ())  # of named tuples
        items = [_plain(item) for item in value]
        return {"n": [names, items]} if names else items
    if isinstance(value, (list, set, frozenset)):
        return [_plain(item) for item in value]
    return {"o": _object_parts(value)}


def _live(value):
    """An attribute's value: a list or dict stays Python's own, so that a change of it counts."""
    if isinstance(value, (list, dict)):
        return "o%d %d %d" % _object_parts(value)
    return _result(value)


def _failed(error):
    """e: what JavaScript makes an Error of. Frames of this file say nothing to anybody."""
    global _failure
    if isinstance(error, JsError):
        number = error.number
        error.__traceback__ = None
        return f"x{number}"
    _failure = (_failure[0] + 1, error)
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    text = "".join(traceback.format_exception(kind, error, frames))
    error.__traceback__ = None  # lets go of the tensors in its frames
    message = error.args[0] if isinstance(error, KeyError) and len(error.args) == 1 else error
    name = name.replace("torchlite.", "torch.", 1)
    found = {"type": name, "message": str(message), "traceback": text, "number": _failure[0]}
    return "e" + json.dumps(found)


# ---- arguments -------------------------------------------------------------------------------------------------------


def _object(handle):
    try:
        return _held[handle]
    except KeyError:
        raise RuntimeError(_GONE) from None


_DECODERS = {
    "v": lambda value: value,
    "h": _object,
    "n": lambda value: None,
    "f": float,
    "c": lambda number: JsFunction(number),
    "e": lambda value: ...,
    "j": json.loads,
}
_CLOSING = {"[": "]", "(": ")", "{": "}", "<": ">"}


def _plan(spec):
    """The function that makes (arguments, keyword arguments) of what came with such a text."""
    kinds, *names = spec.split(" ")
    if kinds.strip("vhnfcej"):
        found = lambda args: _nested(kinds, iter(args))
    elif kinds == "h":
        found = lambda args: (_object(args[0]),)
    elif kinds.strip("v"):
        decoders = [_DECODERS[kind] for kind in kinds]
        found = lambda args: [decode(value) for decode, value in zip(decoders, args)]
    else:
        found = lambda args: args
    if names:
        count = len(names)

        def plan(args):
            values = found(args)
            return values[:-count], dict(zip(names, values[-count:]))

    else:

        def plan(args):
            return found(args), None

    _plans[spec] = plan
    return plan


def _decoded(spec, args):
    return (_plans.get(spec) or _plan(spec))(args)


def _nested(kinds, values):
    return _sequence(iter(kinds), values, "")


def _sequence(kinds, values, end):
    out = []
    for kind in kinds:
        if kind == end:
            break
        if kind == "a":
            out.append(_from_array(next(values), next(values)))
            continue
        if kind not in _CLOSING:
            out.append(_DECODERS[kind](next(values)))
            continue
        inner = _sequence(kinds, values, _CLOSING[kind])
        if kind == "(":
            inner = tuple(inner)
        elif kind == "{":
            inner = dict(zip(inner[::2], inner[1::2]))
        elif kind == "<":
            inner = slice(*inner)
        out.append(inner)
    return out


# ---- what JavaScript calls -------------------------------------------------------------------------------------------


def invoke(target, name, spec, *args):
    """Calls a method of an object, or the object itself where the name is empty; 0 where it returns that object."""
    try:
        call = getattr(_held[target], name) if name else _held[target]
        if spec:
            args, named = _decoded(spec, args)
            result = call(*args, **named) if named else call(*args)
        else:
            result = call(*args)
        if isinstance(result, _Tensor):
            return 0 if result is _held[target] else _keep(result)
        return result if result is None or result is True or result is False else _text(result)
    except BaseException as error:
        if isinstance(error, KeyError) and target not in _held:
            error = RuntimeError(_GONE)
        return _failed(error)


def invoke_base(target, name, spec, *args):
    """Calls the method that a JavaScript class has replaced."""
    try:
        thing = _object(target)
        base = [kind for kind in type(thing).__mro__ if kind in _subclasses][-1]
        args, named = _decoded(spec, args)
        result = getattr(super(base, thing), name)(*args, **(named or {}))
        return 0 if result is thing else _result(result)
    except BaseException as error:
        return _failed(error)


def get(target, name):
    """An attribute; "u" where there is none. A dict's items can be reached like attributes."""
    try:
        thing = _object(target)
        if isinstance(thing, dict) and name in thing:
            return _live(thing[name])
        if isinstance(thing, list) and name.lstrip("-").isdigit():
            return _live(thing[int(name)]) if -len(thing) <= int(name) < len(thing) else "u"
        return _live(getattr(thing, name))
    except AttributeError as error:
        return "u" if error.name == name and error.obj is thing else _missing(thing, name, error)
    except BaseException as error:
        return _failed(error)


def _missing(thing, name, error):
    """Classes with a __getattr__ of their own, as modules, do not name the object in their AttributeError."""
    return "u" if hasattr(type(thing), "__getattr__") or not hasattr(type(thing), name) else _failed(error)


def put(target, name, spec, *args):
    """Sets an attribute, or the item of a list or dict."""
    try:
        thing = _object(target)
        value = _decoded(spec, args)[0][0]
        if isinstance(thing, dict):
            thing[name] = value
        elif isinstance(thing, list) and name.isdigit():
            thing[int(name)] = value
        else:
            setattr(thing, name, value)
        return None
    except BaseException as error:
        return _failed(error)


def has(target, name):
    thing = _held[target]
    return name in thing if isinstance(thing, dict) else hasattr(thing, name)


def index(target, spec, *args):
    """`x[...]`; with one argument more than indices, which comes first, `x[...] = value`."""
    try:
        values = _decoded(spec, args)[0]
        where = values[0]
        thing = _object(target)
        if len(values) == 1:
            return _result(thing[where])
        thing[where] = values[1]
        return None
    except BaseException as error:
        return _failed(error)


def iterate(target):
    """What goes through an object; `step` gives one after the other."""
    try:
        return _result(iter(_object(target)))
    except BaseException as error:
        return _failed(error)


def step(iterator):
    """The next one, or "u" at the end."""
    try:
        return _result(next(_held[iterator]))
    except StopIteration:
        return "u"
    except BaseException as error:
        return _failed(error)


async def settle(awaitable):
    """What an awaitable gives; its handle is released."""
    try:
        return _result(await _held.pop(awaitable))
    except BaseException as error:
        return _failed(error)


def names(target):
    return json.dumps([n for n in dir(_held[target]) if not n.startswith("_")])


def is_instance(handle, kind):
    return isinstance(_held[handle], _held[kind])


def text(target, full):
    """What print() shows of an object; with `full` its repr."""
    try:
        return (repr if full else str)(_object(target))
    except BaseException as error:
        return _failed(error)


# ---- bytes -----------------------------------------------------------------------------------------------------------

_READ_AS = {torch.bfloat16: torch.float32, torch.float16: torch.float16, torch.bool: torch.uint8}
_ARRAYS = {
    torch.float32: "Float32Array",
    torch.float64: "Float64Array",
    torch.float16: "Float16Array",
    torch.int8: "Int8Array",
    torch.int16: "Int16Array",
    torch.int32: "Int32Array",
    torch.int64: "BigInt64Array",
    torch.uint8: "Uint8Array",
    torch.uint16: "Uint16Array",
    torch.uint32: "Uint32Array",
    torch.uint64: "BigUint64Array",
}
_DTYPES = {name: dtype for dtype, name in _ARRAYS.items()} | {"Uint8ClampedArray": torch.uint8}


def read(target, halves):
    """Where a tensor's elements lie in memory: "d address bytes class handle", the handle to be released by the reader;
    "w" where the tensor is on a GPU, whose answer has to be awaited (fetch)."""
    try:
        tensor = _object(target)
        return "w" if tensor.device.type == "webgpu" else _address(tensor, halves)
    except BaseException as error:
        return _failed(error)


async def fetch(target, halves):
    """The same for a tensor on a GPU."""
    try:
        return _address(await _object(target).detach().cpu_async(), halves)
    except BaseException as error:
        return _failed(error)


def _address(tensor, halves):
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    dtype = _READ_AS.get(tensor.dtype, tensor.dtype)
    if dtype == torch.float16 and not halves:
        dtype = torch.float32
    if dtype == torch.uint8 and tensor.dtype == torch.bool:
        tensor = tensor.view(torch.uint8)
    elif dtype not in _ARRAYS:
        dtype = torch.float32
    tensor = tensor.to(dtype).contiguous()
    return f"d{tensor.data_ptr()} {tensor.nbytes} {_ARRAYS[dtype]} {_keep(tensor)}"


def load_file(array):
    """What a file holds: safetensors, or what torch.save writes."""
    try:
        return _result(_load(array))
    except BaseException as error:
        return _failed(error)


def _load(array):
    data = array.to_bytes()
    size = int.from_bytes(data[:8], "little")
    if data[8:9] == b"{" and 8 + size <= len(data):
        from torch.utils import safetensors

        return safetensors.load(data)
    return torch.load(io.BytesIO(data), map_location="cpu")


def load_state(target, array, spec, *args):
    """model.load_state_dict() from the bytes of a file."""
    try:
        rest, named = _decoded(spec, args)
        return _result(_object(target).load_state_dict(_load(array), *rest, **(named or {})))
    except BaseException as error:
        return _failed(error)


def save_file(spec, *args):
    """Where what torch.save writes lies in memory, as `read` says it."""
    try:
        file = io.BytesIO()
        torch.save(_decoded(spec, args)[0][0], file)
        return _address(torch.frombuffer(file.getbuffer(), dtype=torch.uint8), False)
    except BaseException as error:
        return _failed(error)


def _from_array(array, name):
    """A tensor with the elements of a typed array."""
    dtype = _DTYPES.get(name)
    if dtype is None:
        raise TypeError(f"no dtype has the elements of a {name}")
    return torch.frombuffer(array.to_memoryview(), dtype=dtype) if array.length else torch.empty(0, dtype=dtype)


def tensor(spec, *args):
    """torch.tensor() of a typed array, which has a dtype."""
    try:
        (data,), named = _decoded(spec, args)
        named = {"device": torch.get_default_device(), **(named or {})}
        return _keep(torch.asarray(data, **named))
    except BaseException as error:
        return _failed(error)


def pack(spec, *args):
    """Keeps a value of JavaScript; its handle."""
    try:
        return _keep(_decoded(spec, args)[0][0])
    except BaseException as error:
        return _failed(error)


# ---- Python code -----------------------------------------------------------------------------------------------------


def run(source, name):
    """Runs Python source as a module, whose names are the result's attributes."""
    try:
        module = types.ModuleType("__main__")
        module.__file__ = name
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        exec(compile(source, name, "exec"), module.__dict__)
        return _result(module)
    except BaseException as error:
        return _failed(error)


def adopt(thing):
    """An object that came as a PyProxy."""
    return _live(thing)


# ---- Python calls JavaScript -----------------------------------------------------------------------------------------


def _answer(value):
    """What JavaScript gave back: a handle, nothing, [kinds, ...values] as JSON, or an error's number."""
    if isinstance(value, int):
        return _held[value]
    if value is None:
        return None
    if value[0] == "!":
        number, _, message = value[1:].partition(" ")
        if message == "python" and _failure[0] == int(number):
            raise _failure[1]
        raise JsError(int(number), message)
    spec, *args = json.loads(value)
    return _decoded(spec, args)[0][0]


def _passed(args, named):
    return json.dumps([[_plain(a) for a in args], {k: _plain(v) for k, v in named.items()}])


class JsFunction:
    """A JavaScript function, as long as Python needs it."""

    def __init__(self, number):
        self.number = number

    def __call__(self, *args, **named):
        return _answer(_host.call(self.number, _passed(args, named)))

    def __del__(self):
        _host.drop(self.number)

    def __repr__(self):
        return "<JavaScript function>"


class _Body:
    """JavaScript's part of an object: what an instance of a JavaScript class holds beside Python's attributes."""

    def __init__(self, number):
        self.number = number

    def __del__(self):
        _host.drop(self.number)

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        raise TypeError("an object of a JavaScript class cannot be pickled: save its state_dict()")


def subclass(base, name, methods):
    """A class whose methods are JavaScript's. `methods`: their names, with blanks between."""

    def method(called):
        def call(self, *args, **named):
            return _answer(_host.method(*_object_parts(self), called, _passed(args, named)))

        call.__name__ = called
        return call

    kind = type(_held[base])
    made = kind(name, (_held[base],), {called: method(called) for called in methods.split()})
    made.__module__ = "__main__"
    _subclasses.add(made)
    return _keep_object(made)


def instance(subclass, number, spec, *args):
    """An object of such a class, with JavaScript's part, which is there before its __init__ runs."""
    try:
        kind = _held[subclass]
        body = _Body(number)
        args, named = _decoded(spec, args)
        made = kind.__new__(kind, *args, **(named or {}))
        object.__setattr__(made, "_js", body)
        made.__init__(*args, **(named or {}))
        return _result(made)
    except BaseException as error:
        return _failed(error)


def start(host):
    """The handle of torch, and the numbers of the types of tensors and modules."""
    global _host
    _host = host
    return f"{_keep_object(torch)} {_type_number(_Tensor)} {_type_number(torch.nn.Module)}"
