"""Texts of TypeErrors for calls whose arguments fit no signature, worded as PyTorch's argument parser words them.

Only reached when binding has failed, so nothing here is fast.
A parameter is (name, type, kwonly, default), `type` as in schemas ("Tensor", "int[2]?", "Scalar", ...),
`default` NotImplemented when the argument is required.
"""

from __future__ import annotations


import torchlite as torch

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from .._types import Overload


_WORDS = {
    "Tensor": "Tensor",
    "Scalar": "Number",
    "number": "Number",
    "int": "int",
    "SymInt": "int",
    "float": "float",
    "complex": "complex",
    "bool": "bool",
    "str": "str",
    "ScalarType": "torch.dtype",
    "Layout": "torch.layout",
    "MemoryFormat": "torch.memory_format",
    "Device": "torch.device",
    "Generator": "torch.Generator",
    "Storage": "torch.Storage",
    "Dimname": "name",
    "QScheme": "torch.qscheme",
}
_LIST_WORDS = {
    "Tensor": "tuple of Tensors",
    "int": "tuple of ints",
    "SymInt": "tuple of ints",
    "float": "tuple of floats",
    "Scalar": "tuple of Scalars",
    "bool": "tuple of bools",
    "Dimname": "tuple of names",
    "str": "tuple of strs",
}
# functions that take a Python number where their schema says Tensor; their Scalar overloads are not listed
_NUMBER_OPS = ("add", "sub", "mul", "div", "divide", "multiply", "subtract", "true_divide", "floor_divide")
# functions with a further, unlisted signature of old (add(input, alpha, other)): too few arguments are then reported as
# an invalid combination
_DEPRECATED_OPS = ("add", "sub", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr", "baddbmm")


class _Param:
    __slots__ = ("name", "base", "size", "is_list", "nullable", "kwonly", "default", "optional", "word")

    def __init__(self, name: str, type_: str, kwonly: bool, default: int | None) -> None:
        # PyTorch's functions call their first tensor `input`; methods do not show it
        self.name = "input" if name == "self" and type_.startswith("Tensor") else name
        self.kwonly, self.default, self.optional = bool(kwonly), default, default is not NotImplemented
        self.nullable = type_.endswith("?")
        type_ = type_.rstrip("?").partition("(")[0]  # Tensor(a!) is a Tensor
        if type_ in ("TensorList", "ITensorListRef"):
            type_ = "Tensor[]"
        self.base, bracket, size = type_.partition("[")
        self.base = self.base.rstrip("?")
        self.is_list = bool(bracket)
        self.size = int(size[:-1]) if size[:-1].isdigit() else None
        self.word = (_LIST_WORDS if self.is_list else _WORDS).get(self.base, self.base)

    def text(self) -> str:
        if not self.optional:
            return f"{self.word} {self.name}"
        d = self.default
        if isinstance(d, (tuple, list)) and d and all(x == d[0] for x in d):
            d = d[0]
        if isinstance(d, str):
            shown = f'"{d}"'
        elif isinstance(d, float):
            shown = f"{d:g}"
        else:
            shown = str(d)
        return f"{self.word} {self.name} = {shown}"


class _Signature:
    def __init__(self, op_name: str, params: list[tuple[str, str, bool, int | None]], is_method: bool) -> None:
        if is_method and params and params[0][0] == "self":
            params = params[1:]
        self.name = op_name
        self.params = [_Param(name, type_, kwonly, default) for name, type_, kwonly, default in params]
        self.min_args = sum(not p.optional for p in self.params)
        self.max_args = len(self.params)
        self.max_positional = sum(not p.kwonly for p in self.params)

    def text(self) -> str:
        parts, starred = [], False
        for p in self.params:
            if p.kwonly and not starred:
                parts.append("*")
                starred = True
            parts.append(p.text())
        return f"({', '.join(parts)})"


def _type_name(value: Any) -> str:
    """The type as PyTorch prints it: its own small classes carry the module's name."""
    cls = value if isinstance(value, type) else type(value)
    if cls.__module__ in ("torchlite", "torch") and cls.__name__ in (
        "dtype",
        "device",
        "layout",
        "memory_format",
        "qscheme",
        "Size",
        "Generator",
    ):
        return "torch." + cls.__name__
    if cls.__module__.startswith("numpy"):
        return "numpy." + cls.__name__
    return cls.__name__


def _is_number_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dim() == 0 and not value.requires_grad


def _is_int(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, torch.Tensor):
        return value.dim() == 0 and not value.requires_grad and not (value.is_floating_point() or value.is_complex())
    return isinstance(value, int) or (hasattr(value, "__index__") and not isinstance(value, torch.Tensor))


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, (int, float, complex))
        or _is_number_tensor(value)
        or type(value).__module__ == "numpy"
        and hasattr(value, "__float__")
        and not getattr(value, "ndim", 0)
    )


def _element_fits(base: str, value: Any) -> bool:
    if base in ("int", "SymInt"):
        return _is_int(value)
    if base == "Tensor":
        return isinstance(value, torch.Tensor)
    return _is_number(value)


def _fits(signature: _Signature, p: _Param, value: Any) -> tuple[bool, int | None]:
    """(whether the parser accepts the value for p, index of the list element it stumbled over or None)."""
    if p.is_list:
        if p.size and p.base in ("int", "SymInt", "float") and _element_fits(p.base, value):
            return True, None  # int[2]: one number stands for all
        if not isinstance(value, (tuple, list)):
            return False, None
        # only the first element is looked at here; the others when the list is unpacked
        if p.base != "Tensor" and len(value) and not _element_fits(p.base, value[0]):
            return False, 0
        return True, None
    base = p.base
    if base == "Tensor":
        fits = isinstance(value, torch.Tensor) or signature.name.rstrip("_") in _NUMBER_OPS and _is_number(value)
    elif base in ("Scalar", "number", "complex"):
        fits = _is_number(value)
    elif base in ("int", "SymInt"):
        fits = _is_int(value)
    elif base == "float":
        fits = _is_number(value) and not isinstance(value, complex)
    elif base == "bool":
        fits = isinstance(value, bool) or _is_number_tensor(value) and value.dtype == torch.bool
    elif base == "str":
        fits = isinstance(value, str)
    elif base == "ScalarType":
        fits = isinstance(value, torch.dtype) or value in (float, int, bool, complex)
    elif base == "Device":
        fits = isinstance(value, (str, torch.device)) or _is_int(value)
    elif base in ("Layout", "MemoryFormat", "Generator"):
        fits = isinstance(value, getattr(torch, {"Layout": "layout", "MemoryFormat": "memory_format"}.get(base, base)))
    else:
        fits = True
    return fits, None


def _unpack_error(s: _Signature, p: _Param, index: int, value: Any) -> str | None:
    """The error of a list whose later elements are of a wrong type, else None."""
    if not p.is_list or not isinstance(value, (tuple, list)):
        return None
    for i, item in enumerate(value):
        if not _element_fits(p.base, item):
            if p.base == "Tensor":
                return f"expected Tensor as element {i} in argument {index}, but got {_type_name(item)}"
            return (
                f"{s.name}(): argument '{p.name}' failed to unpack the object at pos {i + 1} with error \"type must be "
                f'{p.word},but got {_type_name(item)}"'
            )
    return None


def _missing(s: _Signature, start: int) -> str:
    names = [f'"{p.name}"' for p in s.params[start:] if not p.optional]
    plural = "s" if len(names) == 1 else ""  # the wording is PyTorch's
    return f"{s.name}() missing {len(names)} required positional argument{plural}: {', '.join(names)}"


def _too_many(s: _Signature, given: Any) -> str:
    if s.min_args != s.max_positional:
        return f"{s.name}() takes from {s.min_args} to {s.max_positional} positional arguments but {given} were given"
    return (
        f"{s.name}() takes {s.max_positional} positional argument{'' if s.max_positional == 1 else 's'} but {given} "
        f"{'was' if given == 1 else 'were'} given"
    )


def _mismatch(s: _Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """(why a call does not fit one signature, whether it fails only when lists are unpacked); None when it fits."""
    given = len(args)
    varargs = s.max_positional == 1 and s.params[0].is_list and s.params[0].base in ("int", "SymInt")
    if given > s.max_positional and not varargs:
        return _too_many(s, given), False
    position, unused, late = 0, len(kwargs), None
    for i, p in enumerate(s.params):
        by_keyword = position >= given
        if not by_keyword:
            if p.kwonly:
                return _too_many(s, given), False
            value = args[position]
        elif p.name in kwargs:
            value = kwargs[p.name]
        else:
            if not p.optional:
                return _missing(s, i), False
            continue
        if not (value is None and (p.nullable or p.optional and p.default is None)):
            fits, failed = _fits(s, p, value)
            if not fits and varargs and i == 0 and not by_keyword and _element_fits(p.base, value):
                value, position, fits = args, given - 1, True
            if not fits:
                where = "" if by_keyword else f" (position {position + 1})"
                if failed is None or by_keyword:
                    if varargs and given > 1 and not by_keyword:
                        return _too_many(s, given), False
                    found = f"not {_type_name(value)}"
                else:
                    found = f"but found element of type {_type_name(value[failed])} at pos {failed}"
                return f"{s.name}(): argument '{p.name}'{where} must be {p.word}, {found}", False
            late = late or _unpack_error(s, p, i, value)
        if by_keyword:
            unused -= 1
        else:
            position += 1
    if unused > 0:
        names = [p.name for p in s.params]
        for key in kwargs:
            if key not in names:
                return f"{s.name}() got an unexpected keyword argument '{key}'", False
            if names.index(key) < given:
                return f"{s.name}() got multiple values for argument '{key}'", False
    return late and (late, True)


def _describe(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    parts = [_type_name(a) for a in args] + [f"{k}={_type_name(v)}" for k, v in reversed(kwargs.items())]
    return f"({', '.join(parts)}{'' if args or not parts else ', '})"  # the stray comma is PyTorch's


def _marked(s: _Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The given types, those that do not match between exclamation marks."""
    parts = []
    for i, value in enumerate([*args, *kwargs.values()]):
        word = s.params[i].word if i < len(s.params) else ""
        name = _type_name(value)
        if isinstance(value, (tuple, list)):
            inner = ", ".join(map(_type_name, value))
            if isinstance(value, tuple) and len(value) == 1:
                inner += ","
            name += f" of [{inner}]" if isinstance(value, list) else f" of ({inner})"
        prefix = "" if i < len(args) else s.params[i].name + "="
        same = name == word or word == "float" and name == "int"
        parts.append(prefix + name if same else f"!{prefix}{name}!")
    return f"({', '.join(parts)})"


def _combination(signatures: list[_Signature], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    head = f"{signatures[0].name}() received an invalid combination of arguments - got "
    if len(signatures) == 1:
        return f"{head}{_describe(args, kwargs)}, but expected {signatures[0].text()}"
    lines = [f"{head}{_describe(args, kwargs)}, but expected one of:"]
    for s in signatures:
        lines.append(" * " + s.text())
        pieces = s.text()[1:-1].split(", ")  # one empty piece for "()", as PyTorch counts
        if len(args) + len(kwargs) != len(pieces):
            continue
        # PyTorch reads a name off the end of each piece, so one with a default never matches a keyword
        names = [piece.rpartition(" ")[2] for piece in pieces]
        wrong = [k for k in kwargs if k not in names]
        if wrong:
            lines.append(f"      didn't match because some of the keywords were incorrect: {', '.join(wrong)}")
        elif not any("=" in piece or piece == "*" for piece in pieces) or args and not kwargs:
            lines.append(
                f"      didn't match because some of the arguments have invalid types: {_marked(s, args, kwargs)}"
            )
    return "\n".join(lines) + "\n"


def _tensors_first(signatures: list[_Signature]) -> list[_Signature]:
    """PyTorch lists an overload with a Tensor before the one that has a number in the same place."""

    def numbers(s: _Signature) -> list[tuple[str, str]]:
        return [(p.name, p.base if p.base not in ("Tensor", "Scalar") else "") for p in s.params]

    for i in range(len(signatures)):
        for j in range(i + 1, len(signatures)):
            a, b = signatures[i], signatures[j]
            if numbers(a) == numbers(b) and all(
                p.base == "Scalar" or p.base == q.base for p, q in zip(a.params, b.params)
            ):
                signatures[i], signatures[j] = b, a
    return signatures


def explain(
    op_name: str,
    overload_params: list[list[tuple[Any, Any, Any, Any]]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    is_method: bool,
) -> Any:
    """The TypeError for a call op_name(*args, **kwargs) that matches none of `overload_params` (a list of signatures,
    each a list of (name, type, kwonly, default)). `args` of a method do not include self."""
    if op_name.rstrip("_") in ("add", "sub", "mul", "div"):
        kept = [o for o in overload_params if not any(p[0] == "other" and p[1].startswith("Scalar") for p in o)]
        overload_params = kept or overload_params
    signatures = _tensors_first([_Signature(op_name, o, is_method) for o in overload_params])
    given = len(args) + len(kwargs)
    if len(signatures) == 1:
        s = signatures[0]
        if op_name.rstrip("_") in _DEPRECATED_OPS and not s.min_args <= given <= s.max_args:
            return TypeError(_combination(signatures, args, kwargs))
        if is_method and not s.params:
            if kwargs:
                return TypeError(f"TensorBase.{op_name}() takes no keyword arguments")
            return TypeError(f"TensorBase.{op_name}() takes no arguments ({len(args)} given)")
        reason = _mismatch(s, args, kwargs)
        return TypeError(reason[0] if reason else _combination(signatures, args, kwargs))
    for s in signatures:
        reason = _mismatch(s, args, kwargs)
        if reason and reason[1]:
            return TypeError(reason[0])
    plausible = [s for s in signatures if s.min_args <= given <= s.max_args]
    if len(plausible) == 1:
        reason = _mismatch(plausible[0], args, kwargs)
        if reason:
            return TypeError(reason[0])
    return TypeError(_combination(signatures, args, kwargs))


_OPTIONS = ("dtype", "layout", "device", "pin_memory", "requires_grad")


def _listed(overload: Overload, takes_out: bool) -> list[tuple[str, str, bool, int | None]]:
    """The parameters of an op's overload as PyTorch's signature has them: `out` included, options as it orders them."""
    from torchlite.ops import _schema

    found = []
    for p in _schema.parse(overload.schema):
        type_ = p.type.replace("[]", f"[{p.size}]") if p.size else p.type
        default = False if p.name == "pin_memory" and p.default is None else p.default
        found.append((p.name, type_ + ("?" if p.nullable else ""), p.kwonly, default))
    if takes_out:
        out = "out", "Tensor?" if _schema.result_count(overload.schema) == 1 else "Tensor[]?", True, None
        options = found and found[-1][0] == "requires_grad"
        found.insert(len(found) - len(_OPTIONS) if options else len(found), out)
    return found


# Signatures of old, which PyTorch still takes: numbers before the tensors they belong to. Those of functions;
# methods leave `self` out.
_OLD = {
    **dict.fromkeys(("add", "sub"), ("self alpha other",)),
    **dict.fromkeys(("addcmul", "addcdiv"), ("self value tensor1 tensor2",)),
    **{
        name: ("beta self alpha " + factors, "beta self " + factors)
        for name, factors in (
            ("addbmm", "batch1 batch2"),
            ("addmm", "mat1 mat2"),
            ("addmv", "mat vec"),
            ("addr", "vec1 vec2"),
            ("baddbmm", "batch1 batch2"),
        )
    },
}
_NUMBERS = ("alpha", "beta", "value")


def _old_call(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
    """(result,) of a call by a signature of old, else None."""
    for signature in _OLD.get(op.__name__.rstrip("_"), ()):
        names = signature.split()
        if op.is_method:
            names = ["self", *(n for n in names if n != "self")]
        if len(args) + len(kwargs) != len(names) or set(kwargs) - set(names[len(args) :]):
            continue
        given = {**dict(zip(names, args)), **kwargs}
        if all(
            _is_number(v) if n in _NUMBERS else isinstance(v, torch.Tensor) or n == "other" and _is_number(v)
            for n, v in given.items()
        ):
            _warn_old(op, names)
            numbers = {n: given.pop(n) for n in names if n in _NUMBERS}
            if out is not None:
                numbers["out"] = out
            return (op(*(given[n] for n in names if n in given), **numbers),)
    return None


def _warn_old(op: Any, names: Any) -> None:
    def text(names: Any) -> Any:
        return ", ".join(
            ("Number " if n in _NUMBERS else "Tensor ") + ("input" if n == "self" else n)
            for n in names
            if n != "self" or not op.is_method
        )

    tensors = [n for n in names if n not in _NUMBERS]
    numbers = sorted(
        (n for n in ("beta", "alpha", "value") if n in names or "beta" in names and n == "alpha"),
        key=("beta", "alpha", "value").index,
    )
    last = ["Number %s = 1" % n for n in numbers] + ([] if op.is_method else ["Tensor out = None"])
    tail = "" if op.is_method else ", *, Tensor out = None"
    lines = [
        "This overload of %s is deprecated:" % op.__name__,
        "\t%s(%s%s)" % (op.__name__, text(names), tail),
        "Consider using one of the following signatures instead:",
    ]
    for more in ("", ", torch.dtype out_dtype")[: 2 if op.__name__ in ("addmm", "baddbmm") and not op.is_method else 1]:
        lines.append("\t%s(%s%s, *, %s)" % (op.__name__, text(tensors), more, ", ".join(last)))
    _C.warn_once("\n".join(lines))


def bind_error(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any = None) -> Any:
    """The result of a call of a declared op that fits a signature of old; raises the TypeError of one that fits none.
    `args` of a method start with self."""
    old = _old_call(op, args, kwargs, out)
    if old is not None:
        return old[0]
    args = args[1:] if op.is_method else args
    spec = op.overloads[0].spec
    if out is not None and not all(o.spec.out for o in op.overloads):
        kwargs = {**kwargs, "out": out}
    # torch.fft.fft is fft_fft() here
    name = spec.name if spec.namespace in ("linalg", "special", "fft") else op.__name__
    raise explain(name, [_listed(o, op.takes_out and o.spec.out) for o in op.overloads], args, kwargs, op.is_method)
