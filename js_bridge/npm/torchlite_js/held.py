"""The objects that JavaScript holds, by their handles, and what their types are."""

import functools
import itertools
import json
import sys
import types

import torch

LOADS_APART = 2**40  # handles
held = {}  # handle -> object
subclasses = set()  # classes whose methods are JavaScript's
_handles = {}  # id of an object that is no tensor -> its handle: the same object is the same one in JavaScript
_types = []  # type by number
_numbers = {}  # number by type
_new_handle = itertools.count(1).__next__  # never used twice
_first = 1
GONE = "this tensor was freed when its torch.scope() ended: return it from the scope, or torch.keep() it"
ANOTHER = "this object is of another load(): each has a Python of its own"


def number_from(first):
    """Handles from here on: those of two loads are different numbers."""
    global _new_handle, _first
    _first = first
    _new_handle = itertools.count(first).__next__


def gone(handle):
    return RuntimeError(ANOTHER if handle and not _first <= handle < _first + LOADS_APART else GONE)


def keep(thing):
    handle = _new_handle()
    held[handle] = thing
    return handle


def keep_object(thing):
    handle = _handles.get(id(thing))
    if handle is None:
        handle = _handles[id(thing)] = keep(thing)
    return handle


def object_of(handle):
    try:
        return held[handle]
    except KeyError:
        raise gone(handle) from None


def release(*handles):
    """JavaScript has let go of these; a handle that is gone already does not matter."""
    for handle in handles:
        thing = held.pop(handle, None)
        if thing is not None and _handles.get(id(thing)) == handle:
            del _handles[id(thing)]


def memory():
    """Bytes of all tensors, and how many objects JavaScript holds."""
    live = torch._C.memory_stats()[0]
    if "torchlite.webgpu" in sys.modules:
        live += torch.webgpu.memory_allocated()
    return f"{live} {len(held)}"


def type_number(kind):
    number = _numbers.get(kind)
    if number is None:
        number = _numbers[kind] = len(_types)
        _types.append(kind)
    return number


def parts(thing):
    """Handle, type, and the number of JavaScript's part, or 0."""
    kind = type(thing)
    return keep_object(thing), type_number(kind), thing._js.number if _is_javascript(kind) else 0


@functools.cache
def _is_javascript(kind):
    """Also of what Python derives from such a class, as parametrizations do."""
    return not subclasses.isdisjoint(kind.__mro__)


_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, torch._C.Op, torch._C.Function)
_DESCRIPTORS = (types.MethodDescriptorType, types.ClassMethodDescriptorType, classmethod, staticmethod)
_METHODS = (*_FUNCTIONS, *_DESCRIPTORS, type(torch.Tensor.add))
_KINDS = (
    ("class", type),
    ("namespace", types.ModuleType),
    ("function", _FUNCTIONS),
    ("module", torch.nn.Module),
    ("list", list),
    ("dict", dict),
)


def describe(number):
    """What JavaScript has to know of a type, as JSON."""
    kind = _types[number]
    what = next((name for name, family in _KINDS if issubclass(kind, family)), "object")
    methods = [n for n in dir(kind) if not n.startswith("__") and isinstance(_static(kind, n), _METHODS)]
    return json.dumps(
        {
            "name": kind.__name__,
            "kind": what,
            "callable": _static(kind, "__call__") is not None,
            "sized": _static(kind, "__len__") is not None,
            "methods": [] if what in ("class", "namespace") else methods,
            "properties": [n for n in dir(kind) if not n.startswith("_") and n not in methods],
        }
    )


def _static(kind, name):
    return next((base.__dict__[name] for base in kind.__mro__ if name in base.__dict__), None)
