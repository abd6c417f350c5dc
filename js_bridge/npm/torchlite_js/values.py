"""Values and errors on their way to JavaScript: the handle of a tensor is an int, None and booleans are themselves, and
the rest is a string whose first character says what follows."""

import functools
import itertools
import json
import os
import traceback

import torch

from .held import keep, keep_object, parts

_HERE = os.path.dirname(__file__)
recent = {}  # the last errors that JavaScript got, by number: it may throw one of them back
_RECENT = 50
_next_error = itertools.count(1).__next__


class JsError(Exception):
    """An error that JavaScript threw while Python waited for it; goes back to JavaScript as it was."""

    def __init__(self, number, message):
        super().__init__(message)
        self.number = number


def answers(function):
    """What the function raises goes to JavaScript as its answer."""

    @functools.wraps(function)
    def answer(*args):
        try:
            return function(*args)
        except BaseException as error:
            return failed(error)

    return answer


def result(value):
    if isinstance(value, torch.Tensor):
        return keep(value) if type(value) is not torch.nn.Parameter else f"p{keep_object(value)}"
    if value is None or value is True or value is False:
        return value
    return text_of(value)


def text_of(value):
    """n: a number, i: a large integer, s: text, z: a size, o: an object (parts), j: JSON (plain), p: a parameter, which
    is one object in JavaScript too, a: the handle of something that is awaited, by `settle`."""
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
        return "j" + json.dumps(plain(value))
    if hasattr(kind, "__await__"):
        return f"a{keep(value)}"
    return "o%d %d %d" % parts(value)


def _number(value):
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return repr(value)


def plain(value):
    """JSON of a value: arrays, numbers, text and null are themselves, {"t": handle} is a tensor, {"p": handle} a
    parameter, {"o": [handle, type]} an object, {"i": digits}, {"f": text}, {"m": pairs} a dict, {"n": [names, values]}
    a named tuple, {"b": bytes}."""
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if isinstance(value, torch.Tensor):
        return {"t": keep(value)} if kind is not torch.nn.Parameter else {"p": keep_object(value)}
    if isinstance(value, int):
        value = int(value)
        return value if -(2**53) < value < 2**53 else {"i": str(value)}
    if isinstance(value, float):
        value = float(value)
        return value if value - value == 0 else {"f": _number(value)}
    if isinstance(value, complex):
        return {"n": [["re", "im"], [plain(value.real), plain(value.imag)]]}
    if isinstance(value, str):
        return str(value)
    if isinstance(value, dict):
        return {"m": [[plain(k), plain(v)] for k, v in value.items()]}
    if isinstance(value, (bytes, bytearray)):
        return {"b": list(value)}
    if isinstance(value, tuple):
        names = getattr(kind, "__match_args__", ())  # of named tuples
        items = [plain(item) for item in value]
        return {"n": [names, items]} if names else items
    if isinstance(value, (list, set, frozenset)):
        return [plain(item) for item in value]
    return {"o": parts(value)}


def live(value):
    """An attribute's value: a list or dict stays Python's own, so that a change of it counts."""
    if isinstance(value, (list, dict)):
        return "o%d %d %d" % parts(value)
    return result(value)


def failed(error):
    """e: what JavaScript makes an Error of. Frames of this package say nothing to anybody."""
    if isinstance(error, JsError):
        number = error.number
        error.__traceback__ = None
        return f"x{number}"
    number = _next_error()
    recent[number] = error
    recent.pop(number - _RECENT, None)
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(_HERE):
        frames = frames.tb_next
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    text = "".join(traceback.format_exception(kind, error, frames))
    error.__traceback__ = None  # lets go of the tensors in its frames
    message = error.args[0] if isinstance(error, KeyError) and len(error.args) == 1 else error
    name = name.replace("torchlite.", "torch.", 1)
    found = {"type": name, "message": str(message), "traceback": text, "number": number}
    return "e" + json.dumps(found)
