"""Python calls JavaScript: functions, and classes whose methods are JavaScript's."""

import json
import types

import torch

from . import arguments
from .held import held, keep, keep_object, parts, subclasses
from .values import JsError, answers, plain, recent, result

js = types.SimpleNamespace()


@answers
def connect(host):
    """JavaScript's functions. They are kept, as looking a method up would make an object for it each time."""
    js.call, js.method, js.drop, js.copy = host.call, host.method, host.drop, host.copy


def _answer(value):
    """What JavaScript gave back: a handle, nothing, [kinds, ...values] as JSON, or an error's number."""
    if isinstance(value, int):
        return held[value]
    if value is None:
        return None
    if value[0] == "!":
        number, _, message = value[1:].partition(" ")
        if message.startswith("python ") and int(message[7:]) in recent:
            raise recent[int(message[7:])]
        raise JsError(int(number), message)
    spec, *args = json.loads(value)
    return arguments.decoded(spec, args)[0][0]


def _passed(args, named):
    """Arguments for JavaScript: handles with blanks between where all are tensors, else JSON."""
    if args and not named and all(type(a) is torch.Tensor for a in args):
        return " ".join([str(keep(a)) for a in args])
    return json.dumps([[plain(a) for a in args], {k: plain(v) for k, v in named.items()}])


class JsFunction:
    """A JavaScript function, as long as Python needs it."""

    def __init__(self, number):
        self.number = number

    def __call__(self, *args, **named):
        return _answer(js.call(self.number, _passed(args, named)))

    def __del__(self):
        js.drop(self.number)

    def __repr__(self):
        return "<JavaScript function>"


class _Body:
    """JavaScript's part of an object: what an instance of a JavaScript class holds beside Python's attributes."""

    def __init__(self, number):
        self.number = number

    def __del__(self):
        js.drop(self.number)

    def __deepcopy__(self, memo):
        return _Body(js.copy(self.number))

    def __reduce__(self):
        raise TypeError("an object of a JavaScript class cannot be pickled: save its state_dict()")


def _layers(thing):
    """A number that is another one when a module has got other layers: JavaScript keeps those that it has found."""
    modules = thing.__dict__.get("_modules")
    return float(hash((*modules, *map(id, modules.values())))) if modules else 0.0


def subclass(base, name, methods):
    """A class whose methods are JavaScript's. `methods`: their names, with blanks between."""

    def method(called):
        def call(self, *args, **named):
            return _answer(js.method(*parts(self), called, _passed(args, named), _layers(self)))

        call.__name__ = called
        return call

    kind = type(held[base])
    made = kind(name, (held[base],), {called: method(called) for called in methods.split()})
    made.__module__ = "__main__"
    subclasses.add(made)
    return keep_object(made)


@answers
def instance(subclass, number, spec, *args):
    """An object of such a class, with JavaScript's part, which is there before its __init__ runs."""
    kind = held[subclass]
    body = _Body(number)
    args, named = arguments.decoded(spec, args)
    made = kind.__new__(kind, *args, **(named or {}))
    object.__setattr__(made, "_js", body)
    made.__init__(*args, **(named or {}))
    return result(made)
