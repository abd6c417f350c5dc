"""The Python side of the npm package: one function for each thing that JavaScript asks for.

JavaScript holds numbers (handles); `held` has the objects. A call crosses the border once, with numbers, strings and a
text that says what they are (`arguments`), and comes back as a number or a string (`values`); no PyProxy is made.
"""

import torch

from . import classes
from .calls import (
    adopt,
    get,
    has,
    index,
    invoke,
    invoke_base,
    is_instance,
    iterate,
    names,
    pack,
    put,
    run,
    settle,
    step,
    text,
)
from .classes import instance, subclass
from .data import fetch, load_file, load_state, read, save_file, tensor
from .held import LOADS_APART, describe, keep_object, memory, number_from, release, type_number

__all__ = [
    "adopt",
    "describe",
    "fetch",
    "get",
    "has",
    "index",
    "instance",
    "invoke",
    "invoke_base",
    "is_instance",
    "iterate",
    "load_file",
    "load_state",
    "memory",
    "names",
    "pack",
    "put",
    "read",
    "release",
    "run",
    "save_file",
    "settle",
    "start",
    "step",
    "subclass",
    "tensor",
    "text",
]


def start(host, load):
    """JavaScript's functions are there from now on; `load` counts the loads of the page before this one. The handle of
    torch, and the numbers of the types of tensors and modules."""
    classes.connect(host)
    number_from(load * LOADS_APART + 1)
    return f"{keep_object(torch)} {type_number(torch.Tensor)} {type_number(torch.nn.Module)}"
