"""torch.ops: every op by PyTorch's name and overload, torch.ops.aten.add.Tensor. All follow from the declarations.

An OpOverload binds its arguments to one schema; an OpOverloadPacket to the first of its overloads that they fit. Both
call an Op of the core; where that does not fit the arguments, `_bind` below looks at them as TorchScript does, and
words the error.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Sequence as _Sequence
from typing import Any

from . import _C, ops as _declared
from ._core import absent as _absent, absent_ops as _absent_ops, function_schema as _schemas
from ._core.function_schema import FunctionSchema
from ._core.overload_names import ALIAS_FORMS, INPLACE_NAMES, OUT_NAMES, OWN, PRIVATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SPACES = ("aten", "", "_nn", "linalg", "special", "fft", "_hidden", "nn")  # the first that has an overload counts


class _Entry:
    """One overload of an op: its schema's text and how it is called."""

    __slots__ = ("schema", "overload", "outs", "inplace", "mean")

    def __init__(self, schema: str, overload: Any, outs: tuple[str, ...] = (), inplace: bool = False) -> None:
        self.schema, self.overload, self.outs, self.inplace = schema, overload, outs, inplace
        self.mean = "reduction=Mean" in schema


_index: dict[str, dict[str, _Entry]] = {}  # aten name -> overload name -> entry
_indexed = [0]


def _results(schema: str) -> tuple[str, ...]:
    result = schema.rpartition(" -> ")[2]
    if not result.startswith("("):
        return ("out",)
    names = tuple(r.partition(" ")[2] for r in result[1:-1].split(", "))
    return names if all(names) else ()


def _add(schema: str, *args: Any) -> None:
    name, _, overload = schema.partition("(")[0].partition(".")
    _index.setdefault(name, {}).setdefault(overload or "default", _Entry(schema, *args))


def _without_generator(schema: str) -> str:
    """A factory with a generator is an overload of its own; this is the one without it."""
    if schema.startswith("normal"):
        return schema
    return schema.replace("*, Generator? generator=None, ", "*, ")


def _add_declaration(spec: Any) -> None:
    for i, ov in enumerate(spec.overloads):
        schema = ov.schema
        head = schema.partition("(")[0]
        name, _, overload = head.partition(".")
        own = name.startswith("_") and (name not in PRIVATE if spec.namespace else name in OWN)
        if own or "python" in spec.tags.split() and head != "copy_":
            continue
        if "*, Generator? generator=None, ScalarType" in schema and name != "normal":
            _add(_without_generator(schema), ov)
            more = {"low": "low_generator", "low_dtype": "low_generator_dtype"}.get(overload, "generator")
            schema = schema.replace(head + "(", "%s.%s(" % (name, more), 1).replace("generator=None", "generator")
        _add(schema, ov)
        first = schema[len(head) + 1 :]
        if spec.inplace and first.startswith("Tensor"):
            short = INPLACE_NAMES.get(head, overload)
            if short is not None:
                table = _declared.methods() if spec.method else _declared.namespace(spec.namespace)
                op = table.get(name.removeprefix(spec.namespace + "_" if spec.namespace else "") + "_")
                for form in getattr(op, "overloads", ()):
                    if form.schema == ov.schema and form.inplace:
                        _add(_schemas.in_place(ov.schema, short), form, (), True)


def _add_out(spec: Any) -> None:
    for ov in spec.overloads:
        head = ov.schema.partition("(")[0]
        name, _, overload = head.partition(".")
        if spec.out is None or name not in _index or "python" in spec.tags.split():
            continue
        form, *names = OUT_NAMES.get(head, overload + "_out" if overload else "out").split() or [""]
        outs = tuple(names) or _results(ov.schema)
        if form and outs:
            _add(_schemas.with_out(_without_generator(ov.schema), form, outs), ov, outs)


def _add_aliases(spec: Any) -> None:
    """Other names of the same overloads: multiply, special_erf. A name with a namespace has no form in place."""
    for alias in spec.alias:
        space, _, short = alias.rpartition(".")
        if space in ("Tensor", "_nn", "nn") or short in ("swapaxes", "swapdims"):  # the latter have axes, not dims
            continue
        for mark in ("",) if space else ("", "_"):
            name = (space + "_" if space else "") + short + mark
            for form, entry in list(_index.get(spec.name + mark, {}).items()):
                if (
                    entry.overload.spec is not spec
                    or "arithmetic" in spec.tags
                    and form.endswith(("r_out", "mode_out"))
                ):
                    continue  # PyTorch has no out= for numbers under the second name
                own = ALIAS_FORMS.get(name, {}).get(form, form)
                if own is not None:
                    head = name if own == "default" else "%s.%s" % (name, own)
                    _add(head + entry.schema[entry.schema.index("(") :], entry.overload, entry.outs, entry.inplace)


def _refresh() -> None:
    specs = _declared.specs[_indexed[0] :]
    _indexed[0] = len(_declared.specs)
    for add in (_add_declaration, _add_out, _add_aliases):
        for space in _SPACES:
            for spec in specs:
                if spec.namespace == space:
                    add(spec)


def _entries(name: str) -> dict[str, _Entry]:
    """The overloads of an aten op by name; declares what waits for its first use."""
    while True:
        if _indexed[0] != len(_declared.specs):
            _refresh()
        if name in _index:
            return _index[name]
        if not _declared.load_next():
            return {}


# ---- what an argument must be ----------------------------------------------------------------------------------------
class _Misfit(Exception):
    """An argument does not fit its parameter; the detail."""


_PYBIND = (
    "Unable to cast Python instance of type %s to C++ type '?' "
    "(#define PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details)"
)


def _misfit(value: Any) -> _Misfit:
    return _Misfit("\nCast error details: " + _PYBIND % (type(value),))


def _integer(value: Any) -> bool:
    if isinstance(value, _C.TensorBase):
        return value.numel() == 1 and not (value.dtype.is_floating_point or value.dtype.is_complex)
    return not isinstance(value, (float, complex, str)) and hasattr(value, "__index__")


_NUMBERS = frozenset("add sub mul div true_divide floor_divide remainder rsub pow".split())


def _cast(a: Any, text: str, value: Any, numbers: bool) -> Any:
    """`value` as a parameter of the type `text` takes it; _Misfit where it does not."""
    if text.endswith("?"):
        return None if value is None else _cast(a, text[:-1], value, numbers)
    if text.endswith("]"):
        element = text[: text.rindex("[")]
        if a.N and (_integer(value) or isinstance(value, (int, float)) and element == "float"):
            return (value,) * a.N
        if not isinstance(value, (list, tuple)) and isinstance(value, _Sequence) and not isinstance(value, str):
            value = list(value)
        if not isinstance(value, (list, tuple)):
            if element in ("SymInt", "int") and not isinstance(value, _C.TensorBase):
                detail = "TypeError: '%s' object is not iterable" % type(value).__name__
                raise _Misfit("\n Python error details: " + detail)
            raise _misfit(value)
        try:
            return tuple(_cast(a, element, v, False) for v in value)
        except _Misfit:
            raise _misfit(value) from None
    if text == "Tensor":
        if isinstance(value, _C.TensorBase):
            return value
        if numbers and isinstance(value, (bool, int, float, complex)):
            import torchlite

            wrapped = torchlite.scalar_tensor(value, dtype=torchlite.result_type(value, value))
            return wrapped
        raise _Misfit("\nCast error details: Unable to cast %s to Tensor" % (value,))
    if text == "Scalar":
        if _C.is_number(value):
            return value
        if isinstance(value, _C.TensorBase) and value.dim() == 0 and not value.requires_grad:
            return value
        raise _Misfit("\nCast error details: Cannot cast %s to number" % (value,))
    fits = True
    if text in ("int", "SymInt"):
        fits = _integer(value)
    elif text == "float":
        fits = isinstance(value, (int, float)) or isinstance(value, _C.TensorBase) and value.dim() == 0
    elif text == "bool":
        fits = isinstance(value, bool)
    elif text == "str":
        fits = isinstance(value, str)
    elif text in ("ScalarType", "Layout", "MemoryFormat"):
        fits = not isinstance(value, (_C.TensorBase, str, float, list, tuple))
    if not fits:
        raise _misfit(value)
    return value


def _mismatch(schema: FunctionSchema, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """(values, None) in the order of the schema, or (None, PyTorch's text for what does not fit)."""
    takes = [a for a in schema.arguments if not a.kwarg_only]
    text = str(schema)
    if len(args) + len(kwargs) > len(schema.arguments):
        return None, "%s() expected at most %d argument(s) but received %d argument(s). Declaration: %s" % (
            name,
            len(schema.arguments),
            len(args) + len(kwargs),
            text,
        )
    if len(args) > len(takes):
        return None, "%s() takes %d positional argument(s) but %d was/were given.  Declaration: %s" % (
            name,
            len(takes),
            len(args),
            text,
        )
    rest, values = dict(kwargs), list[Any]()
    numbers = name.removeprefix("aten::").rstrip("_") in _NUMBERS
    for i, a in enumerate(schema.arguments):
        if i < len(args):
            value = args[i]
        elif a.name in rest:
            value = rest.pop(a.name)
        elif a.has_default_value():
            values.append(_DEFAULT)
            continue
        else:
            return None, "%s() is missing value for argument '%s'. Declaration: %s" % (name, a.name, text)
        try:
            values.append(_cast(a, a._schema_type, value, numbers))
        except _Misfit as wrong:
            return None, (
                "%s() Expected a value of type '%s' for argument '%s' but instead found type '%s'.\n"
                "Position: %d\nValue: %r\nDeclaration: %s%s"
                % (name, a.type, a.name, type(value).__name__, i, value, text, wrong)
            )
    if rest:
        return None, "Unknown keyword argument '%s' for operator '%s'. Schema: %s" % (next(iter(rest)), name, text)
    return values, None


_DEFAULT: Any = object()


# ---- overloads and packets -------------------------------------------------------------------------------------------
class OperatorBase:
    """What can be called by name: an overload, or a higher order operator."""

    def __init__(self) -> None:
        self.py_kernels: dict[Any, Any] = {}
        self.python_key_table: dict[Any, Any] = {}
        self.functorch_table: dict[Any, Any] = {}

    def has_kernel_for_dispatch_key(self, k: Any) -> bool:
        return k in self.py_kernels

    def has_kernel_for_any_dispatch_key(self, ks: Any) -> bool:
        return any(k in self.py_kernels for k in ks)

    def py_impl(self, k: Any) -> Callable[..., Any]:
        """Decorator: the implementation for a dispatch key, a mode or a subclass."""

        def register(fn: Any) -> Any:
            if "TransformType" in type(k).__name__:
                self.functorch_table[k.name] = fn
            elif isinstance(k, type):
                if k in self.python_key_table:
                    raise AssertionError("%s already registered for %s" % (k, self))
                self.python_key_table[k] = fn
            else:
                self.py_kernels[k] = fn
            return fn

        return register

    def py_functionalize_impl(self, fn: Any) -> Any:
        return fn

    def name(self) -> str:
        raise NotImplementedError


class OpOverload(OperatorBase):
    """torch.ops.aten.add.Tensor: one schema of an op."""

    def __init__(self, packet: OpOverloadPacket, entry: Any, schema: FunctionSchema, tags: list[Any]) -> None:
        super().__init__()
        self._packet, self._entry, self._schema, self._tags = packet, entry, schema, tags
        self._opname, self._overloadname = packet.__name__, schema.overload_name or "default"
        self._namespace = packet._namespace
        self._name = schema.name + ("." + schema.overload_name if schema.overload_name else "")
        self.__name__ = "%s.%s" % (self._opname, self._overloadname)
        self.__qualname__ = self._name
        self.__module__ = packet.__module__
        self.__doc__: Any = None
        self._defined_in_python = callable(entry)
        self._op: Any = entry if callable(entry) else _caller(self, entry)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._op(*args, **kwargs)

    def redispatch(self, /, keyset: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls the op for the keys of `keyset`; there is one table of kernels here, so all of them."""
        return self._op(*args, **kwargs)

    @functools.cached_property
    def is_view(self) -> bool:
        infos = [a.alias_info for a in self._schema.arguments if a.alias_info is not None]
        return bool(infos) and not any(info.is_write for info in infos)

    op = property(lambda self: self._op)
    namespace = property(lambda self: self._namespace)
    overloadpacket = _overloadpacket = property(lambda self: self._packet)
    tags = property(lambda self: self._tags)

    def name(self) -> str:
        return self._name

    def has_kernel_for_dispatch_key(self, k: Any) -> bool:
        return super().has_kernel_for_dispatch_key(k) or getattr(k, "name", k) in ("CPU", "Autograd", "AutogradCPU")

    def has_kernel_for_any_dispatch_key(self, ks: Any) -> bool:
        return any(self.has_kernel_for_dispatch_key(k) for k in ks)

    def _can_decompose(self) -> bool:
        entry = self._entry
        if callable(entry) or entry.outs or entry.inplace:
            return False
        ov = entry.overload
        return ov.body is not None and ov.spec.grad is None and ov.spec.differentiable

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """The result by other ops, or NotImplemented where the op is none of those that PyTorch composes."""
        if not self._can_decompose():
            return NotImplemented
        values, wrong = _mismatch(self._schema, self._name, args, kwargs)
        if wrong is not None:
            raise RuntimeError(wrong)
        ov = self._entry.overload
        given = [p[2] if v is _DEFAULT else v for v, p in zip(values, ov.params)]
        return ov.body(*given, *(p[2] for p in ov.params[len(given) :]))

    def __str__(self) -> str:
        return "%s.%s.%s" % (self._namespace, self._opname, self._overloadname)

    def __repr__(self) -> str:
        return "<OpOverload(op='%s.%s', overload='%s')>" % (self._namespace, self._opname, self._overloadname)

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self

    __copy__ = lambda self: self

    def __reduce__(self) -> Any:
        return _by_name, (self._namespace, self._opname, self._overloadname)


class OpOverloadPacket:
    """torch.ops.aten.add: all schemas of an op."""

    def __init__(self, namespace: str, name: str, entries: dict[str, Any]) -> None:
        self._namespace, self.__name__, self._entries = namespace, name, entries
        self._qualified_op_name = "%s::%s" % (namespace, name)
        self.__qualname__, self.__module__ = name, "torch._ops." + namespace
        self._dir: list[str] = []
        self._packet_op: Any = None

    def __getattr__(self, key: str) -> OpOverload:
        if key.startswith("__") or key.startswith("_tl"):
            raise AttributeError(
                "'%s' can't have an overload name beginning with '__' and the underlying op %s has no attribute %s "
                "either." % (self, self._qualified_op_name, key)
            )
        entry = self._entries.get(key)
        if entry is None:
            raise AttributeError("The underlying op of '%s' has no overload name '%s'" % (self, key))
        made = (
            _overload(self, entry) if isinstance(entry, _Entry) else OpOverload(self, entry, entry.parsed, entry.tags)
        )
        setattr(self, key, made)
        self._dir.append(key)
        return made

    def overloads(self) -> list[str]:
        return list(self._entries)

    def op_overloads(self) -> list[Any]:
        return [getattr(self, name) for name in self.overloads()]

    @property
    def _overload_names(self) -> list[str]:
        return ["" if name == "default" else name for name in self._entries]

    @property
    def _schemas(self) -> dict[str, FunctionSchema]:
        return {name: getattr(self, name or "default")._schema for name in self._overload_names}

    @property
    def _op(self) -> Any:
        if self._packet_op is None:
            self._packet_op = _packet_caller(self)
        return self._packet_op

    op = property(lambda self: self._op)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._op(*args, **kwargs)

    def __iter__(self) -> Iterator[str]:
        return iter(self._dir)

    def __str__(self) -> str:
        return "%s.%s" % (self._namespace, self.__name__)

    def __repr__(self) -> str:
        return "<OpOverloadPacket(op='%s.%s')>" % (self._namespace, self.__name__)

    def __hash__(self) -> int:
        return hash(self._qualified_op_name)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self

    __copy__ = lambda self: self

    def __reduce__(self) -> Any:
        return _by_name, (self._namespace, self.__name__)


def _by_name(namespace: str, name: str, overload: str | None = None) -> Any:
    packet = getattr(getattr(ops, namespace), name)
    return packet if overload is None else getattr(packet, overload)


def _overload(packet: OpOverloadPacket, entry: _Entry) -> OpOverload:
    return OpOverload(packet, entry, _schemas.parse("%s::%s" % (packet._namespace, entry.schema)), _tags(entry))


_NAMES_OF_TAGS = """core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated
    inplace inplace_view maybe_aliasing_or_mutating needs_contiguous_strides needs_exact_strides
    needs_fixed_stride_order nondeterministic_bitwise nondeterministic_seeded out out_variant pointwise
    pt2_compliant_tag reduction view_copy""".split()


@functools.cache
def tags() -> Any:
    """torch.Tag, made when it is asked for."""
    import enum

    make: Any = enum.Enum  # its functional form
    made = make("Tag", {n: i for i, n in enumerate(_NAMES_OF_TAGS)})
    made.__module__ = "torch"
    return made


# ops that draw random numbers, and take no generator
_DRAWING = frozenset(
    """alpha_dropout dropout feature_alpha_dropout feature_dropout gru lstm native_dropout rand rand_like randint
    randint_like randn randn_like randperm rnn_relu rnn_tanh scaled_dot_product_attention""".split()
)


def _tags(entry: _Entry) -> list[Any]:
    own = entry.overload.spec.tags.split()
    name = entry.schema.partition("(")[0].partition(".")[0]
    draws = "Generator?" in entry.schema or name.removesuffix("_") in _DRAWING
    found = ["nondeterministic_seeded"] if draws else []
    found += ["pointwise"] if "pointwise" in own else []
    return [tags()[n] for n in (*found, "pt2_compliant_tag")]


_functions: dict[Any, Any] = {}  # Op of the core -> the overload or packet whose it is


def public_of(op: Any) -> Any:
    """The overload or packet that an Op of the core belongs to."""
    return _functions[op]


def _core_op(owner: Any, name: str, overloads: list[Any], takes_out: bool) -> Any:
    op = _C.Op(name, overloads, takes_out)
    op.__module__ = "torch.ops"  # bind_error and the hooks tell it by this
    _functions[op] = owner
    return op


def _plain(result: Any, listed: bool = False) -> Any:
    """Ops by name give tuples without field names, and lists where the schema says Tensor[]."""
    if isinstance(result, tuple):
        return list(result) if listed else tuple(result)
    return result


def _caller(owner: OpOverload, entry: _Entry) -> Any:
    """What runs one overload."""
    schema = owner._schema
    op = _core_op(owner, owner._opname, [entry.overload], bool(entry.outs))
    takes = sum(not a.kwarg_only for a in schema.arguments)
    names = {a.name for a in schema.arguments}
    outs, inplace = entry.outs, entry.inplace
    listed = entry.schema.endswith("[]")
    several = entry.schema.rpartition(" -> ")[2].startswith("(") or listed
    at = next((i for i, a in enumerate(schema.arguments) if a.name == "reduction"), 0) if entry.mean else -1
    need = [a.name for a in schema.arguments if a.kwarg_only and not a.has_default_value()]
    twin: Any = None
    if entry.overload.spec.name in ("add", "sub", "mul", "div") and not outs:  # a number counts as one, not as a tensor
        form = {"Tensor": "Scalar", "Tensor_mode": "Scalar_mode"}.get(owner._overloadname)
        twin = form and owner._packet._entries.get(form) and getattr(owner._packet, form)

    def call(*args: Any, **kwargs: Any) -> Any:
        if twin and len(args) > 1 and isinstance(args[1], (bool, int, float, complex)):
            return twin(*args, **kwargs)
        if len(args) > takes or kwargs and not kwargs.keys() <= names or need and not kwargs.keys() >= set(need):
            return _bind(op, args, kwargs, None)
        if at >= 0 and len(args) <= at:
            kwargs.setdefault("reduction", 1)
        if outs:
            given = tuple([kwargs.pop(n) for n in outs])
            kwargs["out"] = given[0] if len(outs) == 1 else given
        result = op(*args, **kwargs)
        if inplace and args:
            return args[0]
        return _plain(result, listed) if several else result

    call.__name__ = call.__qualname__ = owner._name
    return call


def _packet_caller(packet: OpOverloadPacket) -> Any:
    """What runs the first overload that fits."""
    overloads = [getattr(packet, name) for name in packet.overloads()]
    plain = [o for o in overloads if isinstance(o._entry, _Entry) and not o._entry.outs]
    if not plain or any(o._defined_in_python for o in overloads):
        return _first_fit(packet, overloads)
    with_out = any(isinstance(o._entry, _Entry) and o._entry.outs == ("out",) for o in overloads)
    unique: list[Any] = []
    for o in plain:
        if o._entry.overload not in unique:
            unique.append(o._entry.overload)
    op = _core_op(packet, packet.__name__, unique, with_out)
    names = {a.name for o in overloads for a in o._schema.arguments}
    several = any(o._entry.schema.rpartition(" -> ")[2].startswith("(") for o in plain)
    listed = any(o._entry.schema.endswith("[]") for o in plain)
    mean = any(o._entry.mean for o in plain)
    takes = max(sum(not a.kwarg_only for a in o._schema.arguments) for o in plain)

    def call(*args: Any, **kwargs: Any) -> Any:
        if mean or len(args) > takes or kwargs and not kwargs.keys() <= names or any(n in _OUTS for n in kwargs):
            return first(*args, **kwargs)
        result = op(*args, **kwargs)
        return _plain(result, listed) if several or listed else result

    first = _first_fit(packet, overloads)
    call.__name__ = call.__qualname__ = packet._qualified_op_name
    return call


_OUTS = frozenset(n for rule in OUT_NAMES.values() for n in rule.split()[1:])


def _first_fit(packet: OpOverloadPacket, overloads: list[OpOverload]) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        problems = []
        found = _function_hook(packet, args, kwargs)
        if found is not NotImplemented:
            return found
        if len(overloads) == 1:
            return overloads[0](*args, **kwargs)
        for o in overloads:
            values, wrong = _mismatch(o._schema, o._schema.name, args, kwargs)
            if wrong is None:
                return _run(o, values)
            problems.append(wrong)
        raise RuntimeError(
            "Overloaded torch operator invoked from Python failed to match any schema:\n%s\n\n" % "\n\n".join(problems)
        )

    return call


def _function_hook(public: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a __torch_function__ among the arguments; NotImplemented where there is none."""
    from .overrides import handle_torch_function, has_torch_function

    several = (list, tuple)
    relevant = [v for a in (*args, *kwargs.values()) for v in (a if isinstance(a, several) else (a,))]
    if not has_torch_function(relevant):
        return NotImplemented
    return handle_torch_function(public, relevant, *args, **kwargs)


def _run(overload: OpOverload, values: list[Any]) -> Any:
    """Runs an overload with arguments that were looked at."""
    entry = overload._entry
    arguments = overload._schema.arguments
    named = {a.name: v for a, v in zip(arguments, values) if v is not _DEFAULT}
    if not isinstance(entry, _Entry):
        return overload._op(**named)
    out = None
    if entry.outs:
        given = tuple(named.pop(n) for n in entry.outs)
        out = given[0] if len(given) == 1 else given
    if entry.mean:
        named.setdefault("reduction", 1)
    ov = entry.overload
    bound = tuple([named[p[0]] if p[0] in named else p[2] for p in ov.params])
    if out is not None:
        from ._core.dispatch import call_out

        return _plain(call_out(ov, bound, out))
    result = _C.call_overload(ov, bound)
    return bound[0] if entry.inplace else _plain(result, entry.schema.endswith("[]"))


def _bind(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
    """What the core could not bind: arguments that TorchScript converts, and PyTorch's errors for the rest."""
    public = _functions[op]
    if out is not None:
        kwargs = {**kwargs, "out": out}
    if isinstance(public, OpOverloadPacket):
        return _first_fit(public, [getattr(public, name) for name in public.overloads()])(*args, **kwargs)
    entry = public._entry
    if entry.outs and isinstance(kwargs.get("out"), tuple) and entry.outs != ("out",):
        kwargs = {**{k: v for k, v in kwargs.items() if k != "out"}, **dict(zip(entry.outs, kwargs["out"]))}
    values, wrong = _mismatch(public._schema, public._schema.name, args, kwargs)
    if wrong is not None:
        raise RuntimeError(wrong)
    return _run(public, values)


# ---- namespaces ------------------------------------------------------------------------------------------------------
class _OpNamespace(types.ModuleType):
    """torch.ops.aten: packets as attributes."""

    def __init__(self, name: str) -> None:
        super().__init__("torch.ops." + name)
        self.name, self._dir = name, list[str]()
        self.__file__ = "torch.ops"

    def __iter__(self) -> Iterator[str]:
        return iter(self._dir)

    def __getattr__(self, op_name: str) -> Any:
        if op_name in ("__origin__", "__self__"):
            raise AttributeError("Invalid attribute '%s' for '_OpNamespace' '%s'" % (op_name, self.name))
        entries = {} if op_name.startswith("__") and op_name not in _index else self._find(op_name)
        if not entries:
            raise AttributeError("'_OpNamespace' '%s' object has no attribute '%s'" % (self.name, op_name))
        packet = OpOverloadPacket(self.name, op_name, entries)
        setattr(self, op_name, packet)
        self._dir.append(op_name)
        return packet

    def _find(self, name: str) -> dict[str, Any]:
        entries: dict[str, Any] = dict(_entries(name)) if self.name == "aten" else {}
        entries.update(defined.get((self.name, name), {}))
        if not entries and self.name == "aten":
            return _absent_ops.entries(name)
        return entries

    def __repr__(self) -> str:
        return "<module 'torch.ops.%s' from 'torch.ops'>" % self.name


defined: dict[tuple[str, str], dict[str, Any]] = {}  # (namespace, op) -> overload name -> what torch.library defined
_spaces: dict[str, _OpNamespace] = {}


def namespace(name: str) -> _OpNamespace:
    """torch.ops.<name>."""
    if name not in _spaces:
        _spaces[name] = made = _OpNamespace(name)
        if name == "mkldnn":
            from ._core.mkldnn import ANSWERS

            vars(made).update(ANSWERS)
        elif name == "profiler":
            from ._core.c_profiler import OPERATORS

            vars(made).update(OPERATORS)
    return _spaces[name]


ops = _declared  # torch.ops is the package of the declarations, which has the namespaces as attributes


class HigherOrderOperator(OperatorBase):
    """An operator over functions. PyTorch's own ones do not exist here; subclasses may define theirs."""

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        super().__init__()
        if type(self) is HigherOrderOperator:
            raise RuntimeError(
                "Direct instantiation of HigherOrderOperator is not allowed. Please subclass it instead."
            )
        self._name = self.__name__ = name
        self._ns, self._cacheable = "higher_order", cacheable
        self.non_fallthrough_keys: Any = None

    namespace = property(lambda self: self._ns)

    def name(self) -> str:
        return self._name

    def cacheable(self) -> bool:
        return self._cacheable

    def fallthrough(self, dispatch_key: Any) -> None:
        """Nothing to do: there is one table of kernels."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        from ._core import dispatch_modes

        if dispatch_modes.batching:
            from ._functorch import custom

            result = custom.higher_order(self, args, kwargs)
            if result is not NotImplemented:
                return result
        mode = dispatch_modes.stack[-1] if dispatch_modes.stack else None
        if mode is not None and type(mode) in self.python_key_table:
            return self.python_key_table[type(mode)](mode, *args, **kwargs)
        for key in ("CompositeExplicitAutograd", "CPU", "AutogradCPU", "Autograd", "CompositeImplicitAutograd"):
            for k, fn in self.py_kernels.items():
                if getattr(k, "name", k) == key:
                    return fn(*args, **kwargs)
        raise NotImplementedError("%s has no implementation on the CPU" % self._name)

    def __str__(self) -> str:
        return self._name


__getattr__ = _absent.of(__name__)

for _class in (OpOverload, OpOverloadPacket, HigherOrderOperator, OperatorBase, _OpNamespace):
    _class.__module__ = "torch._ops"
