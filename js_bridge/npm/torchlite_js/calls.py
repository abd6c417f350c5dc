"""What JavaScript asks of objects: calls, attributes, items."""

import json
import linecache
import types

import torch

from .arguments import decoded
from .held import gone, held, keep, object_of, parts, subclasses
from .values import answers, failed, live, result, text_of


_ListIterator = type(iter([]))
_NONE = {}


def invoke(target, name, spec, *args):
    """Calls a method of an object, or the object itself where the name is empty; 0 where it returns that object."""
    try:
        call = getattr(held[target], name) if name else held[target]
        if spec:
            args, named = decoded(spec, args)
            value = call(*args, **named) if named else call(*args)
        else:
            value = call(*args)
        if type(value) is torch.Tensor:
            return 0 if value is held[target] else keep(value)
        if isinstance(value, torch.Tensor):
            return 0 if value is held[target] else result(value)
        return value if value is None or value is True or value is False else text_of(value)
    except BaseException as error:
        if isinstance(error, KeyError) and target not in held:
            error = gone(target)
        return failed(error)


@answers
def invoke_base(target, name, spec, *args):
    """Calls the method that a JavaScript class has replaced."""
    thing = object_of(target)
    base = [kind for kind in type(thing).__mro__ if kind in subclasses][-1]
    args, named = decoded(spec, args)
    value = getattr(super(base, thing), name)(*args, **(named or {}))
    return 0 if value is thing else result(value)


@answers
def get(target, name):
    """An attribute; "u" where there is none. A dict's items can be reached like attributes."""
    thing = object_of(target)
    if isinstance(thing, torch.nn.Module):
        layer = thing.__dict__.get("_modules", _NONE).get(name)
        if layer is not None:  # what is asked for most, and found last
            return "o%d %d %d" % parts(layer)
    if isinstance(thing, dict) and name in thing:
        return live(thing[name])
    if isinstance(thing, list) and name.lstrip("-").isdigit():
        return live(thing[int(name)]) if -len(thing) <= int(name) < len(thing) else "u"
    try:
        return live(getattr(thing, name))
    except AttributeError as error:
        # classes with a __getattr__ of their own, as modules, do not name the object in their error
        missing = (error.name == name and error.obj is thing) or hasattr(type(thing), "__getattr__")
        if missing or not hasattr(type(thing), name):
            return "u"
        raise


@answers
def put(target, name, spec, *args):
    """Sets an attribute, or the item of a list or dict."""
    thing = object_of(target)
    value = decoded(spec, args)[0][0]
    if isinstance(thing, dict):
        thing[name] = value
    elif isinstance(thing, list) and name.isdigit():
        thing[int(name)] = value
    else:
        setattr(thing, name, value)
    return None


@answers
def has(target, name):
    thing = object_of(target)
    return name in thing if isinstance(thing, dict) else hasattr(thing, name)


@answers
def index(target, spec, *args):
    """`x[...]`; with one argument more than indices, which comes first, `x[...] = value`."""
    values = decoded(spec, args)[0]
    where = values[0]
    thing = object_of(target)
    if len(values) == 1:
        return result(thing[where])
    thing[where] = values[1]
    return None


@answers
def iterate(target):
    """What goes through an object; `step` gives one after the other."""
    return result(iter(object_of(target)))


@answers
def step(iterator):
    """The next one, or "u" at the end. What is in a list stays Python's, as the list does."""
    items = held[iterator]
    pack = live if type(items) is _ListIterator else result
    return next((pack(item) for item in items), "u")


async def settle(awaitable):
    """What an awaitable gives; its handle is released."""
    try:
        return result(await held.pop(awaitable))
    except BaseException as error:
        return failed(error)


def names(target):
    return json.dumps([n for n in dir(held[target]) if not n.startswith("_")])


@answers
def is_instance(handle, kind):
    return isinstance(object_of(handle), object_of(kind))


@answers
def text(target, full):
    """What print() shows of an object; with `full` its repr."""
    return (repr if full else str)(object_of(target))


@answers
def pack(spec, *args):
    """Keeps a value of JavaScript; its handle."""
    return keep(decoded(spec, args)[0][0])


@answers
def run(source, name):
    """Runs Python source as a module, whose names are the result's attributes."""
    module = types.ModuleType("__main__")
    module.__file__ = name
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), module.__dict__)
    return result(module)


def adopt(thing):
    """An object that came as a PyProxy."""
    return live(thing)
