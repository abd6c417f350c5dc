"""What a hostile file is, and the list of them."""

import dataclasses
from typing import Callable

from parts import checkpoint, pickled

# what a damaged file may end in: no MemoryError, RecursionError, SystemError, OverflowError
ORDINARY = (
    "value|UnpicklingError|EOFError|RuntimeError|ValueError|KeyError|IndexError|TypeError|AttributeError|error|"
    "UnicodeDecodeError|AssertionError|NotImplementedError|SafetensorError|ReadError|SyntaxError|ModuleNotFoundError"
)
REFUSED = "UnpicklingError"
CASES = []


@dataclasses.dataclass
class Case:
    name: str
    family: str
    make: Callable[[], bytes]
    expect: str  # "value" or names of exceptions, with | between
    reader: str = "load"  # load, unsafe (weights_only=False), safetensors, globals, mmap, repr, path, numpy


def case(family, name, make, expect=REFUSED, reader="load"):
    CASES.append(Case(f"{family}-{name}", family, make, expect, reader))


def pickle_case(family, name, *body, expect=REFUSED, records=(b"\0" * 16,), reader="load", make=None):
    case(family, name, lambda: checkpoint((make or (lambda: pickled(*body)))(), *records), expect, reader)
