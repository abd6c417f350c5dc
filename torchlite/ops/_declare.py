"""Declaring an op: one block gives its schema, meaning, gradient, kernel and samples;
everything public is derived here.

    @op("sin(Tensor self) -> Tensor", kernel="sin", inplace=True, out=True, tags="pointwise",
        grad={"self": lambda c, g: g * c.self.cos()}, samples=lambda t: [(t(3, 4),)])
    def sin(self):
        \"\"\"Sine of the elements of `self`, in radians.\"\"\"

A function with nothing but a docstring is a primitive: its kernel is its meaning.
Otherwise the body, written with other ops, is the meaning on every device, and the kernel only makes it faster.
The body of a "reference" op is too slow for calls: it is for tests and readers, and calls treat the op as a primitive.
"""

from __future__ import annotations


import copyreg

from .. import _C
from .._core import homes
from ._out import Out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


F_GRAD, F_NODIFF, F_INPLACE, F_FACTORY, F_VIEW, F_NO_OUT = (
    _C.F_GRAD,
    _C.F_NODIFF,
    _C.F_INPLACE,
    _C.F_FACTORY,
    _C.F_VIEW,
    _C.F_NO_OUT,
)
_TAG_FLAGS = {  # tags that the dispatcher reads
    "arithmetic": _C.F_ARITHMETIC,
    "own": _C.F_OWN,
    "ordered": _C.F_ORDERED,
    "expanded": _C.F_EXPANDED,
    "expanded_warns": _C.F_EXPANDED_WARNS,
    "expanded_rows": _C.F_EXPANDED_ROWS,
    "exact": _C.F_EXACT,
}

ANY = Out()  # out=True
_functions: dict[str, dict[str, Any]] = {}  # namespace -> {name: Op}
_methods: dict[str, Any] = {}  # name -> Op
specs: list[Spec] = []  # every declaration, in order


class Nodes:
    """What `node` is where PyTorch's graph has several nodes: the name of the last one, and for each of its edges the
    number of an edge of the node here, None, or a tuple of a name and the same again."""

    def __init__(self, name: str, *trees: Any) -> None:
        self.name, self.trees = name, trees


class Spec:
    """One declaration."""

    __slots__ = (
        "name",
        "schemas",
        "overloads",
        "body",
        "doc",
        "kernel",
        "grad",
        "node",
        "save",
        "tags",
        "view",
        "nondiff",
        "samples",
        "tol",
        "differentiable",
        "inplace",
        "out",
        "namespace",
        "alias",
        "method",
        "function",
        "recorders",
        "formal",
        "called",
    )
    name: str
    schemas: tuple[str, ...]
    overloads: list[_C.Overload]
    body: Callable[..., Any] | None
    doc: str | None
    kernel: str | None
    grad: Any
    node: Any
    save: Any
    tags: str
    view: bool
    nondiff: Any
    samples: Any
    tol: Any
    differentiable: bool
    inplace: bool | Callable[..., Any]
    out: Out | None
    namespace: str
    alias: tuple[str, ...]
    method: bool
    function: bool
    recorders: dict[Any, Any]
    formal: str
    called: Callable[..., str] | None


def _has_body(fn: Callable[..., Any]) -> bool:
    code = fn.__code__
    return not (len(code.co_code) <= 8 and code.co_consts[-1] is None and not code.co_names)


def _add(table: dict[Any, Any], kind: Any, name: Any, overload: Any, allow_out: Any, doc: Any, space: str = "") -> None:
    op = table.get(name)
    if op is None:
        home, public = homes.place(space, name) if kind is _C.Op else ("", name)
        table[name] = op = kind(public, [], allow_out)
        op.__doc__ = doc
        if "." in home:  # without one it is torch
            op.__module__ = home
        if kind is _C.Op:
            op.in_python = homes.in_python(home)
    if allow_out:
        op.takes_out = True
    op.overloads.append(overload)


def op(
    *schemas: Any,
    kernel: str | None = None,
    grad: Any = None,
    differentiable: bool = True,
    node: Any = None,
    save: Any = None,
    variants: str = "function, method",
    module: str = "",
    alias: Any = (),
    inplace: bool | Callable[..., Any] = False,
    out: bool | Out = False,
    view: bool = False,
    nondiff: Any = (),
    samples: Callable[..., Any] | None = None,
    tol: Any = None,
    tags: str = "",
    formal: str = "",
    called: Callable[..., str] | None = None,
) -> Any:
    """Decorator that declares an op; see the module's text and the contributor page for the options."""

    def declare(fn: Callable[..., Any]) -> Any:
        s = Spec()
        s.schemas, s.kernel, s.grad, s.node, s.save, s.tags, s.view = schemas, kernel, grad, node, save, tags, view
        s.nondiff, s.samples, s.tol, s.differentiable = nondiff, samples, tol, differentiable
        s.doc, s.body = fn.__doc__, fn if _has_body(fn) else None
        s.inplace, s.namespace, s.recorders, s.formal = inplace, module, {}, formal
        s.called = called
        s.out = ANY if out is True else out or None
        s.name = schemas[0].partition("(")[0].partition(".")[0]
        s.alias = (alias,) if isinstance(alias, str) else alias
        s.function = "function" in variants
        s.method = "method" in variants and not module
        flags = (
            (F_GRAD if grad is not None else 0)
            | (0 if differentiable else F_NODIFF)
            | (F_VIEW if view else 0)
            | (0 if out else F_NO_OUT)
            | (_C.F_PLAIN_OUT if s.out is not None and s.out.simple else 0)
        )
        for tag in tags.split():
            flags |= _TAG_FLAGS.get(tag, 0)
        if kernel and "(a!) self" in schemas[0]:  # exists in place only: uniform_
            flags |= F_INPLACE
        body = None if "reference" in tags else s.body
        s.overloads = [_C.Overload(schema, kernel, body, s, flags) for schema in schemas]
        takes_out = s.out is not None
        names = (s.name, *s.alias)
        for i, ov in enumerate(s.overloads):
            inplace_ov = _C.Overload(schemas[i], kernel, body, s, flags | F_INPLACE) if inplace else None
            for name in names:
                space, _, short = name.rpartition(".")
                if not space:
                    # special_entr is special.entr
                    space, short = (
                        module,
                        short.removeprefix(module + "_" if module else ""),
                    )
                if space == "Tensor":
                    space = None
                if short.startswith("__") or (space is None):
                    _add(_methods, _C.OpMethod, short, ov, takes_out, s.doc)
                    if inplace_ov is not None:
                        _add(_methods, _C.OpMethod, _inplace_name(short), inplace_ov, False, s.doc)
                    if space is None:
                        continue
                if s.function and space == "nn" and not module and short in _functions.get("", {}):
                    _functions.setdefault(space, {})[short] = _functions[""][short]  # one object in both places
                elif s.function:
                    table = _functions.setdefault(space, {})
                    _add(table, _C.Op, short, ov, takes_out, s.doc, space)
                    if inplace_ov is not None and space not in homes.PREFIXED:
                        _add(table, _C.Op, _inplace_name(short), inplace_ov, False, s.doc, space)
                if s.method and not space and not short.startswith("__"):
                    _add(_methods, _C.OpMethod, short, ov, False, s.doc)
                    if inplace_ov is not None:
                        _add(_methods, _C.OpMethod, _inplace_name(short), inplace_ov, False, s.doc)
        specs.append(s)
        if s.function:
            return _functions[module][s.name.removeprefix(module + "_" if module else "")]
        return _methods[s.name]

    return declare


def refuse_gradient(op: str, **arguments: Any) -> None:
    """PyTorch's error where an argument that has no derivative requires a gradient."""
    for name, t in arguments.items():
        if t is not None and t.requires_grad and _C.is_grad_enabled():
            raise RuntimeError(
                "The function '%s' is not differentiable with respect to argument '%s'. "
                "This input cannot have requires_grad True." % (op, name)
            )


class _Bodies:
    """The functions of a file of this folder, which is loaded when one is called."""

    def __init__(self, module: str) -> None:
        self.module = module

    def __getattr__(self, name: str) -> Any:
        from importlib import import_module

        return getattr(import_module(self.module, __package__), name)


bodies, formulas, reference = _Bodies("._bodies"), _Bodies("._formulas"), _Bodies("._reference")
recurrent = _Bodies("._recurrent")


class _Lookup(type):
    def __getattr__(cls, name: str) -> Any:
        import torchlite

        return getattr(torchlite, name)


class _VariableFunctionsClass(metaclass=_Lookup):
    """Where pickles, PyTorch's too, look for the functions of torch."""


_VariableFunctionsClass.__module__ = "torchlite._C"
_C._VariableFunctionsClass = _VariableFunctionsClass


def _aten(name: str) -> Any:
    import torchlite

    return getattr(torchlite.ops.functions, name)


def _reduce(op: Any) -> Any:
    import torchlite

    if op.is_method:
        return getattr, (torchlite.Tensor, op.__name__)
    if op.__module__ != "torch":
        return op.__name__
    if not hasattr(torchlite, op.__name__):
        return _aten, (op.__name__,)
    return getattr, (_VariableFunctionsClass, op.__name__)


copyreg.pickle(_C.Op, _reduce)
copyreg.pickle(_C.OpMethod, _reduce)


def _reduce_function(f: Any) -> str:
    return f.__qualname__


copyreg.pickle(_C.Function, _reduce_function)


def public(fn: Callable[..., Any], module: str = "", method: bool = False) -> Callable[..., Any]:
    """Makes a plain Python function public as it is, for arguments that no schema can say (f(*tensors))."""
    _functions.setdefault(module, {})[fn.__name__] = fn
    if method:
        _methods[fn.__name__] = fn
    return fn


def _inplace_name(name: str) -> str:
    return "__i" + name[2:] if name.startswith("__") else name + "_"


def namespace(module: str = "") -> Any:
    """The declared functions of a namespace: "" (torch), "nn", "linalg", "special", "fft"."""
    return _functions.get(module, {})


def tables() -> Any:
    """The declared functions of all namespaces."""
    return _functions.values()


def methods() -> Any:
    """The declared methods of Tensor."""
    return _methods


def python(*functions: Callable[..., Any], method: bool = True) -> None:
    """Makes plain Python functions part of torch (and of Tensor). Their number of results depends on the arguments."""
    for fn in functions:
        _functions.setdefault("", {})[fn.__name__] = fn
        if method:
            _methods[fn.__name__] = fn
