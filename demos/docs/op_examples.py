"""Examples of the declared ops for the reference: made from the declarations' samples, run, and shown with results."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import importlib.util
import inspect
import io
import math
import warnings
from collections.abc import Iterator
from typing import Any

import op_list
import torchlite as torch
from torchlite.ops import _schema

torch.install_as_torch()  # examples import torch by its name

LITERAL = 12  # elements of a tensor that is written out; larger ones are made by torch.rand
LINES = 10  # of a result that is shown; a longer one is shown by its shape
CHARACTERS = 400
NAMES = ("x", "y", "z", "w", "v", "u")


class Maker:
    """Makes the tensors of samples, t(3, 4, lo=0), with numbers that are easy to read."""

    def __init__(self) -> None:
        self.drawn = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def __call__(self, *shape: Any, lo: Any = -2, hi: Any = 2, dtype: Any = None, **_: Any) -> Any:
        dtype = getattr(torch, dtype) if isinstance(dtype, str) else dtype or torch.float32
        values = []
        for _ in range(math.prod(shape)):
            self.drawn += 1
            part = self.drawn * 0.6180339887 % 1  # spreads over the range, without a pattern to the eye
            if dtype is torch.bool:
                values.append(part < 0.5)
            elif dtype.is_floating_point or dtype.is_complex:
                values.append(min(max(round(lo + (hi - lo) * part, 1), lo), hi))
            else:
                values.append(int(lo + (hi - lo + 1) * part) if dtype.is_signed else int((hi + 1) * part))
        return torch.tensor(values, dtype=dtype).reshape(shape)


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    return repr(round(value, 4)) if isinstance(value, float) else repr(value)


def _nested(values: Any) -> str:
    return "[" + ", ".join(map(_nested, values)) + "]" if isinstance(values, list) else _number(values)


class Unwritable(Exception):
    """A value that has no short source text."""


def _tensor(value: Any) -> str:
    plain = value.layout is torch.strided and not value.is_complex() and not value.is_conj()
    if not plain or value.dtype in (torch.float16, torch.bfloat16):
        raise Unwritable
    if 0 < value.numel() <= LITERAL:
        usual = value.dtype in (torch.float32, torch.int64, torch.bool)
        return f"torch.tensor({_nested(value.tolist())}{'' if usual else f', dtype={value.dtype}'})"
    if value.dtype is not torch.float32 or not value.numel():
        raise Unwritable
    return f"torch.rand({', '.join(map(str, value.shape))})"


def _value(value: Any, named: list[str]) -> str:
    """The source of an argument; tensors get a line and a name of their own."""
    if isinstance(value, torch.Tensor):
        if len(named) == len(NAMES):
            raise Unwritable
        named.append(f"{NAMES[len(named)]} = {_tensor(value)}")
        return NAMES[len(named) - 1]
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_value(v, named) for v in value)
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if value is None or isinstance(value, (bool, int, float, str)):
        return _number(value)
    if isinstance(value, torch.dtype):
        return str(value)
    raise Unwritable


def _call(spec: Any, where: str, args: Any) -> list[str]:
    kwargs: dict[str, Any] = {}
    if args and isinstance(args[-1], dict):
        *args, kwargs = args
    named: list[str] = []
    method = where.startswith("Tensor.")
    if method and not (args and isinstance(args[0], torch.Tensor)):
        raise Unwritable
    given = [_value(v, named) for v in args] + [f"{k}={_value(v, named)}" for k, v in kwargs.items()]
    name = where if where.startswith("torch.") else "torch." + where
    if where == op_list.public_name(spec) and op_list.place(spec) == "internal":
        name = f"torch.ops.aten.{spec.name}"
    return [*named, f"{given[0]}.{where[7:]}({', '.join(given[1:])})" if method else f"{name}({', '.join(given)})"]


def _cost(args: Any) -> tuple[int, int]:
    """Small tensors first; among them the call that says most."""
    amount = sum(v.numel() for v in args if isinstance(v, torch.Tensor))
    return (sum(max(0, v.numel() - LITERAL) for v in args if isinstance(v, torch.Tensor)), -amount)


def shown(value: Any) -> str:
    text = repr(value)
    if text.count("\n") < LINES and len(text) <= CHARACTERS:
        return text
    if isinstance(value, torch.Tensor):
        return f"# a tensor of shape {list(value.shape)}, {value.dtype}"
    if isinstance(value, (list, tuple)) and all(isinstance(v, torch.Tensor) for v in value) and len(value) < 8:
        return "# tensors of shapes " + ", ".join(str(list(v.shape)) for v in value)
    raise Unwritable


def _evaluate(line: str, mode: str, names: dict[str, Any]) -> Any:
    """One line, which may await at its top level as in a page."""
    value = eval(compile(line, "<example>", mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    return asyncio.run(value) if inspect.iscoroutine(value) else value


def run(lines: list[str]) -> str:
    """What the last line gives, after the others; what is printed is lost."""
    torch.manual_seed(0)
    names: dict[str, Any] = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    lost = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(lost), contextlib.redirect_stderr(lost):
        warnings.simplefilter("ignore")
        for line in lines[:-1]:
            _evaluate(line, "exec", names)
        return shown(_evaluate(lines[-1], "eval", names))


EXAMPLES = op_list.ROOT / "demos/docs/examples"


def written() -> dict[str, tuple[list[str], str]]:
    """The examples of the folder by public name: the lines of each program, and what the last one gives.

    public.txt and aten.txt are run here, those with numpy only where it is. Those of device.txt need a GPU; what they
    give stands beside them, and tests/webgpu runs them."""
    found = {}
    numpy = importlib.util.find_spec("numpy") is not None
    for file in ("public.txt", "aten.txt"):
        for name, code in _read(file):
            if numpy or "numpy" not in code:
                found[name] = code.split("; "), ""
    for name, text in _read("device.txt"):
        code, _, result = text.partition("  # ")
        found[name] = code.split("; "), result
    return found


def _read(file: str) -> Iterator[tuple[str, str]]:
    """(name, what follows) of each line."""
    for line in (EXAMPLES / file).read_text().splitlines():
        name, _, text = line.partition(": ")
        if not name.startswith("#"):
            yield name if file == "aten.txt" or name.startswith(("torch.", "Tensor.")) else "torch." + name, text


def finished(written: tuple[list[str], str]) -> tuple[list[str], str]:
    """An example and its result, which is found here where none is recorded."""
    lines, result = written
    return lines, result or run(lines)


def example(spec: Any, where: str) -> tuple[list[str], str] | None:
    """(lines of the program, what the last one gives), or None where the samples give none that is short."""
    if spec.samples is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            calls = sorted(spec.samples(Maker()), key=_cost)
    except Exception:  # samples that only other dtypes have
        return None
    for args in calls[:6]:
        try:
            lines = _call(spec, where, args)
            if any("torch.rand(" in line for line in lines):
                lines.insert(0, "torch.manual_seed(0)")
            return lines, run(lines)
        except Exception:  # one that cannot be written down, or that random numbers do not fit
            continue
    return None


def signature(schema: str, where: str, takes_out: bool) -> str:
    """A schema as Python writes it: torch.sum(input, dim, keepdim=False, *, dtype=None) -> Tensor."""
    pieces, star = [], False
    for i, p in enumerate(_schema.parse(schema)):
        if where.startswith("Tensor.") and i == 0:
            continue
        name = "input" if p.name == "self" else p.name
        kind = p.type.replace("ScalarType", "dtype").replace("Scalar", "Number")
        if p.size and p.type.endswith("[]"):
            kind = f"{p.type[:-2]} or {p.type}"
        text = f"{name}: {kind}{' | None' if p.nullable else ''}"
        if p.kwonly and not star:
            pieces.append("*")
            star = True
        pieces.append(text if p.default is NotImplemented else f"{text} = {p.default!r}")
    if takes_out:
        pieces += ["out=None"] if star else ["*", "out=None"]
    result = _schema.split(schema)[3].replace("(a!)", "").replace("(a)", "").replace("(b!)", "")
    name = where if where.startswith(("torch.", "Tensor.")) else f"torch.ops.aten.{where}"
    return f"{name}({', '.join(pieces)}) -> {result}"
