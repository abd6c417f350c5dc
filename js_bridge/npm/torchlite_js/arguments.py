"""Arguments on their way from JavaScript: numbers, strings, handles, and a text that says what they are.

    v  itself   h  the object of a handle   n  None   f  a float   c  a JavaScript function   e  ...
    a  a typed array: its bytes, and the name of its class   j  a nested list of numbers, as JSON
    z  a complex number: its parts   g  what a JavaScript iterator gives
    [kinds] list   (kinds) tuple   {kinds} dict of keys and values in turn   <kinds> slice

Names after a blank are those of the last arguments: "hvv dim keepdim".
"""

import json

import torch

from . import classes
from .held import object_of

ARRAYS = {
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
_DTYPES = {name: dtype for dtype, name in ARRAYS.items()} | {"Uint8ClampedArray": torch.uint8}
LONG = 64  # characters of a text that is not kept: arrays come in all lengths
_plans = {}  # decoder by the text that came with arguments
_DECODERS = {
    "v": lambda value: value,
    "h": object_of,
    "n": lambda value: None,
    "f": float,
    "c": lambda number: classes.JsFunction(number),
    "e": lambda value: ...,
    "j": json.loads,
    "g": lambda number: (item for (item,) in iter(classes.JsFunction(number), None)),
}
_CLOSING = {"[": "]", "(": ")", "{": "}", "<": ">"}


def _plan(spec):
    """The function that makes (arguments, keyword arguments) of what came with such a text."""
    kinds, *names = spec.split(" ")
    if kinds.strip("vhnfcejg"):
        found = lambda args: _nested(kinds, iter(args))
    elif kinds == "h":
        found = lambda args: (object_of(args[0]),)
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

    if len(spec) < LONG:
        _plans[spec] = plan
    return plan


def decoded(spec, args):
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
        if kind == "z":
            out.append(complex(next(values), next(values)))
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


def _from_array(array, name):
    """A tensor with the elements of a typed array."""
    dtype = _DTYPES.get(name)
    if dtype is None:
        raise TypeError(f"no dtype has the elements of a {name}")
    return torch.frombuffer(array.to_memoryview(), dtype=dtype) if array.length else torch.empty(0, dtype=dtype)
