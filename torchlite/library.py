"""torch.library: operators of one's own, under torch.ops.<namespace>.<name>."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import torchlite as torch

from . import _C, _ops
from ._core import absent as _absent, dispatch_modes as _modes, function_schema as _schemas
from ._library.infer_schema import infer_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "triton_op",
    "wrap_triton",
]
_COMPOSITE = ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
_KEYS = {"cpu": "CPU", "cuda": "CUDA", "webgpu": "WEBGPU", "meta": "Meta", "default": _COMPOSITE[1], "": _COMPOSITE[0]}


def fallthrough_kernel() -> None:
    """What `impl` takes for a key that shall do nothing."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


_NO_META = (
    "%s: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel registered. You "
    "may have run into this message while using an operator with PT2 compilation APIs (torch.compile/torch.export); in "
    "order to use this operator with those APIs you'll need to add a fake impl. Please see the following for next "
    "steps:  https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
)


class _Custom:
    """An operator that was defined in Python: its schema, and what runs it."""

    def __init__(self, namespace: str, schema: Any, tags: Sequence[Any]) -> None:
        self.namespace, self.parsed, self.tags = namespace, schema, list(tags)
        self.kernels: dict[str, Any] = {}
        self.fake: Any = None
        self.vmap: Any = None
        self.backward: Any = None
        self.setup_context: Any = None
        self.missing: Any = None  # dispatch key -> the error where no kernel is for it
        self.checks_aliases = False
        self.definition: Any = None
        self.overload: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _C.overrides(*args, *kwargs.values()):
            from ._core import override

            return override._native("torch.ops.%s" % self.overload, self.overload, args, kwargs, True)
        if _modes.batching and _COMPOSITE[0] not in self.kernels:
            from ._functorch import batched, custom

            level = batched.innermost((args, tuple(kwargs.values())))
            if level is not None:
                return custom.operator(self, self.vmap, args, kwargs, level)
        values, wrong = _ops._mismatch(self.parsed, self.parsed.name, args, kwargs)
        if wrong is not None:
            raise RuntimeError(wrong)
        pairs = zip(values, self.parsed.arguments)
        bound = [a.default_value if v is _ops._DEFAULT else v for v, a in pairs]
        bound = [list(v) if isinstance(v, tuple) else v for v in bound]
        tensors = [t for v in bound for t in (v if isinstance(v, list) else [v]) if isinstance(t, torch.Tensor)]
        cast = self.autocast(tensors) if self.autocasts else None
        if cast is not None:
            return self.run(cast, bound, tensors)
        recorded = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
        if tensors and (own := self.autograd(tensors, recorded)) is not None:
            return self.run(own, bound, tensors)
        kernel = self.shown if self.asked(tensors) else self.kernel(tensors)
        if not recorded or kernel is self.kernels.get(_COMPOSITE[0]) and not self.checks_aliases:
            return self.run(kernel, bound, tensors)
        from ._core import c_names

        if self.backward is not None or self.checks_aliases:
            return self.recorded(kernel, bound, tensors)
        from ._library import no_formula

        result = self.run(kernel, bound, tensors)
        return result if c_names._fallback[0] == "nothing" else no_formula.marked(self.parsed.name, result, tensors)

    def autograd(self, tensors: list[Any], recorded: bool) -> Any:
        """The kernel for an Autograd key, which runs whether a gradient is asked for or not, or None."""
        key = "Autograd" + _KEYS.get(tensors[0].device.type, "")
        found = self.kernels.get(key, self.kernels.get("Autograd"))
        if found is None or torch.is_inference_mode_enabled():
            return None
        from ._core import dispatch_keys

        passed = dispatch_keys.below_autograd[0] or (getattr(found, "only_recorded", False) and not recorded)
        return None if passed else found

    @property
    def autocasts(self) -> bool:
        return any(key.startswith("Autocast") for key in self.kernels)

    def autocast(self, tensors: list[Any]) -> Any:
        """The kernel for autocast on the device of the arguments, where that is on and the kernel does not run yet."""
        from ._core import autocasting, dispatch_keys

        kind = tensors[0].device.type if tensors else "cpu"
        key = "Autocast" + kind.upper()
        if not autocasting.enabled(kind) or key in dispatch_keys.excluded:
            return None
        return self.kernels.get(key)

    def asked(self, tensors: list[Any]) -> bool:
        """Whether a mode, or the class of an argument, says what the operator does. What is composed has no say."""
        composed = _COMPOSITE[0] in self.kernels and not self.checks_aliases
        classes = not _modes._off[0] and any(t._dispatches for t in tensors)
        return bool(_modes.stack or classes) and not composed

    def shown(self, *args: Any, **kwargs: Any) -> Any:
        positional = [a for a in self.parsed.arguments if not a.kwarg_only]
        while args and _is_default(positional[len(args) - 1], args[-1]):
            args = args[:-1]
        named = [a for a in self.parsed.arguments if a.kwarg_only and not _is_default(a, kwargs[a.name])]
        return _modes.call(self.overload, args, {a.name: kwargs[a.name] for a in named})

    def kernel(self, tensors: list[Any]) -> Any:
        """The function for the device of the arguments."""
        device = tensors[0].device.type if tensors else "cpu"
        if not tensors and "BackendSelect" in self.kernels:
            return self.kernels["BackendSelect"]
        if device == "meta" and self.fake is not None:
            return self.fake
        if device == "meta" and self.checks_aliases and str(self.overload._schema).endswith("-> ()"):
            return lambda *args, **kwargs: None  # it only writes: its results have no geometry
        if device == "meta" and self.checks_aliases:
            raise RuntimeError(
                "There was no fake impl registered for %r. This is necessary for torch.compile/export/fx tracing to "
                "work. Please use `%s.register_fake` to add an fake impl." % (self.definition, self.definition._name)
            )
        for key in (_KEYS.get(device, device.upper()), *_COMPOSITE):
            if self.kernels.get(key, fallthrough_kernel) is not fallthrough_kernel:
                return self.kernels[key]
        if device == "meta":
            raise NotImplementedError(_NO_META % self.parsed.name)
        if self.missing is not None:
            raise self.missing(_KEYS.get(device, device) if tensors else "Undefined")
        raise NotImplementedError(
            "Could not run '%s' with arguments from the '%s' backend. torch.library.impl and register_kernel give it a "
            "kernel; it has those for: [%s]" % (self.parsed.name, _KEYS.get(device, device), ", ".join(self.kernels))
        )

    def run(self, kernel: Any, bound: list[Any], tensors: list[Any]) -> Any:
        """The kernel's result: positional arguments as the schema has them, the others by name."""
        positional = [v for v, a in zip(bound, self.parsed.arguments) if not a.kwarg_only]
        named = {a.name: v for v, a in zip(bound, self.parsed.arguments) if a.kwarg_only}
        written = [v for v, a in zip(bound, self.parsed.arguments) if a.is_write]
        changed = [t for v in written for t in (v if isinstance(v, list) else [v]) if isinstance(t, torch.Tensor)]
        result = kernel(*positional, **named)
        for t in changed:
            t._bump_version()
        if self.checks_aliases:
            self.check_aliases(result, tensors)
        return result

    def check_aliases(self, result: Any, tensors: list[Any]) -> None:
        seen = {id(t._storage) for t in tensors}
        for t in result if isinstance(result, (list, tuple)) else [result]:
            if not isinstance(t, torch.Tensor):
                continue
            if id(t._storage) in seen:
                raise RuntimeError(
                    "%s (with implementation in %s): The output of this custom operator (1) must not also be an input "
                    "to this custom operator and (2) may not alias any inputs to this custom operator or other "
                    "returns. The most common way to trigger this error is if we have y = custom_op(x) and y and x "
                    "are the same Tensor. Please instead return a clone of the offending output tensor(s) (e.g. "
                    "return x.clone()) or refactor the custom operator to not return y."
                    % (self.parsed.name, getattr(next(iter(self.kernels.values())), "__module__", "???"))
                )
            seen.add(id(t._storage))

    def recorded(self, kernel: Any, bound: list[Any], tensors: list[Any]) -> Any:
        """The result with a node of the graph."""
        op = self
        name = self.parsed.name

        class Generated(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *flat: Any) -> Any:
                values = _packed(bound, list(flat))
                result = op.run(kernel, values, tensors)
                positional = [v for v, a in zip(values, op.parsed.arguments) if not a.kwarg_only]
                named = {a.name: v for v, a in zip(values, op.parsed.arguments) if a.kwarg_only}
                if op.setup_context is not None:
                    if named:
                        op.setup_context(ctx=ctx, inputs=tuple(positional), keyword_only_inputs=named, output=result)
                    else:
                        op.setup_context(ctx=ctx, inputs=tuple(positional), output=result)
                results = result if isinstance(result, (tuple, list)) else [result]
                written = [v for v, a in zip(values, op.parsed.arguments) if a.is_write]
                ctx.mark_dirty(*(t for t in written if any(t is r for r in results)))
                return tuple(result) if isinstance(result, list) else result

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                if op.backward is None:
                    raise RuntimeError(
                        "Trying to backward through %s but no autograd formula was registered. Please use "
                        "register_autograd to add one." % op.overload
                    )
                listed = bool(op.parsed.returns) and op.parsed.returns[0].type.kind() == "ListType"
                found = op.backward(ctx, list(grads)) if listed else op.backward(ctx, *grads)
                found = list(found) if isinstance(found, (tuple, list)) else [found]
                takes = [v for v, a in zip(bound, op.parsed.arguments) if not a.kwarg_only]
                if len(found) == len(_flattened(takes, takes)):
                    return tuple(found + [None] * (len(_flattened(bound, bound)) - len(found)))
                if len(found) != len(takes):
                    raise RuntimeError(
                        "%s: the formula of register_autograd returned %d gradients for %d inputs"
                        % (name, len(found), len(takes))
                    )
                found += [None] * (len(bound) - len(takes))
                return tuple(_flattened(found, bound))

        Generated.__name__ = Generated.__qualname__ = "GeneratedBackwardFor_%s" % (str(self.overload).replace(".", "_"))
        result = Generated.apply(*_flattened(bound, bound))
        listed = len(self.parsed.returns) == 1 and self.parsed.returns[0].type.kind() == "ListType"
        return list(result) if listed and isinstance(result, tuple) else result


def _is_default(argument: Any, value: Any) -> bool:
    """Whether a value need not be shown."""
    return bool(
        argument.has_default_value() and not isinstance(value, torch.Tensor) and argument.default_value == value
    )


def _flattened(values: list[Any], like: list[Any]) -> list[Any]:
    """Lists among the arguments laid out flat."""
    flat: list[Any] = []
    for value, shape in zip(values, like):
        if isinstance(shape, list):
            flat += value if isinstance(value, (list, tuple)) else [None] * len(shape)
        else:
            flat.append(value)
    return flat


def _packed(like: list[Any], flat: list[Any]) -> list[Any]:
    values: list[Any] = []
    for shape in like:
        if isinstance(shape, list):
            values.append([flat.pop(0) for _ in shape])
        else:
            values.append(flat.pop(0))
    return values


def _define(namespace: str, schema: str, tags: Sequence[Any]) -> Any:
    _schemas.parse_checked(schema.strip(), variables=False)
    parsed = _schemas.parse("%s::%s" % (namespace, schema.strip()))
    if namespace in ("aten", "prim", "prims"):
        raise RuntimeError("torchlite has a fixed set of ops in %s; define yours in a namespace of its own" % namespace)
    name = parsed.name.partition("::")[2]
    table = _ops.defined.setdefault((namespace, name), {})
    overload = parsed.overload_name or "default"
    if overload in table:
        raise RuntimeError(
            "Tried to register an operator (%s) with the same name and overload name multiple times. Each overload's "
            "schema should only be registered with a single call to def()." % parsed
        )
    made = table[overload] = _Custom(namespace, parsed, tags)
    vars(_ops.namespace(namespace)).pop(name, None)
    made.overload = getattr(getattr(_ops.namespace(namespace), name), overload)
    made.kernels = _early.pop((namespace, name, overload), {})
    made.fake = made.kernels.pop("fake", None)
    return made


# Functions of operators that nobody has defined yet, by dispatch key. PyTorch refuses fake ones; here a package's
# compiled library, which defines its operators, is never loaded, and the package's Python registers for them when it
# is imported.
_early: dict[tuple[str, str, str], dict[str, Any]] = {}


def _kernels(op: Any) -> dict[str, Any]:
    """The functions of an operator by dispatch key."""
    key = _undefined(op)
    return _custom(op).kernels if key is None else _early.setdefault(key, {})


def _undefined(op: Any) -> tuple[str, str, str] | None:
    """Namespace, name and overload of an operator that nobody has defined yet; None of any other."""
    if not isinstance(op, str) or "::" not in op:
        return None
    namespace, _, rest = op.partition("::")
    name, _, overload = rest.partition(".")
    if namespace in ("aten", "prim", "prims") or (namespace, name) in _ops.defined:
        return None
    return namespace, name, overload or "default"


def _custom(op: Any) -> _Custom:
    """The definition behind a name, an overload or what custom_op returned."""
    if isinstance(op, CustomOpDef):
        op = op._opoverload
    if isinstance(op, _ops.OpOverloadPacket):
        op = op.default
    if isinstance(op, str):
        namespace, _, rest = op.partition("::")
        name, _, overload = rest.partition(".")
        if not rest:
            raise ValueError(
                "Expected `qualname` to be of the form "
                '"namespace::name", but got %s. The qualname passed to the torch.library APIs must consist of a '
                "namespace and a name, e.g. aten::sin" % op
            )
        op = getattr(getattr(_ops.namespace(namespace), name), overload or "default")
    if not isinstance(op, _ops.OpOverload):
        raise ValueError("expected an operator, or its name, but got %s" % type(op).__name__)
    if not isinstance(op._entry, _Custom):
        raise NotImplementedError(
            "torchlite: %s is one of its own ops, and its kernels cannot be replaced; torch.overrides and subclasses "
            "can change what a call does" % op
        )
    return op._entry


def _devices(types: Any) -> list[str]:
    listed = [types] if isinstance(types, str) or types is None else list(types)
    return [_KEYS.get(str(t or "").lower(), str(t)) for t in listed]


class Library:
    """A namespace's definitions ("DEF", "FRAGMENT") and implementations ("IMPL")."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError("Unsupported kind: %s" % kind)
        if ns in ("prim",) and kind in ("DEF", "FRAGMENT"):
            raise ValueError(ns, " is a reserved namespace. Please try creating a library with another name.")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._names: list[tuple[str, str]] = []

    def __repr__(self) -> str:
        return "Library(kind=%s, ns=%s, dispatch_key=%s)>" % (self.kind, self.ns, self.dispatch_key)

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Defines an operator; returns its name."""
        if self.kind == "IMPL":
            raise RuntimeError("define(): a Library of kind IMPL defines nothing; use DEF or FRAGMENT")
        made = _define(self.ns, schema, tags if isinstance(tags, (list, tuple)) else (tags,))
        name = made.parsed.name.partition("::")[2]
        self._names.append((name, made.parsed.overload_name or "default"))
        return name + ("." + made.parsed.overload_name if made.parsed.overload_name else "")

    def impl(
        self, op_name: Any, fn: Any, dispatch_key: str = "", *, with_keyset: bool = False, allow_override: bool = True
    ) -> None:
        """Gives an operator the function for a dispatch key."""
        if not callable(fn):
            raise TypeError("Input function is required to be a callable but found type %s" % type(fn))
        name = op_name.name() if isinstance(op_name, _ops.OpOverload) else op_name
        kernels = _kernels(name if "::" in name else "%s::%s" % (self.ns, name))
        key = dispatch_key or self.dispatch_key or _COMPOSITE[0]
        if key in kernels and not allow_override:
            raise RuntimeError(
                "This is not allowed since there's already a kernel registered from python overriding %s's behavior "
                "for %s dispatch key and %s namespace." % (name.partition("::")[2] or name, key, self.ns)
            )
        kernels[key] = fn

    def fallback(self, fn: Any, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        raise NotImplementedError(
            "Library.fallback: torchlite has no fallbacks for all operators of a dispatch key; register a kernel for "
            "each operator, or use a TorchDispatchMode"
        )

    def _register_fake(self, op_name: str, fn: Any, _stacklevel: int = 1, *, allow_override: bool = True) -> None:
        name = op_name if "::" in op_name else "%s::%s" % (self.ns, op_name)
        register_fake(name, fn, allow_override=allow_override)

    def _destroy(self) -> None:
        for name, overload in self._names:
            _ops.defined.get((self.ns, name), {}).pop(overload, None)
            vars(_ops.namespace(self.ns)).pop(name, None)
        self._names.clear()

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *exc: Any) -> None:
        self._destroy()


def define(qualname: Any, schema: Any, *, lib: Library | None = None, tags: Any = ()) -> Any:
    """Defines the operator `qualname`, "mylib::name", with a schema "(Tensor x) -> Tensor". The older form is
    a decorator: define(library, "name(Tensor x) -> Tensor")."""
    if isinstance(qualname, Library):
        library = qualname

        def register(fn: Any) -> Any:
            library.impl(library.define(schema), fn)
            return fn

        return register
    if not isinstance(qualname, str):
        raise ValueError("define(qualname, schema): expected qualname to be instance of str, got %s" % type(qualname))
    namespace, _, name = qualname.partition("::")
    if not name:
        raise ValueError(
            'Expected `qualname` to be of the form "namespace::name", but got %s. The qualname passed to the '
            "torch.library APIs must consist of a namespace and a name, e.g. aten::sin" % qualname
        )
    if not re.fullmatch(r"\(.*\) -> .*", schema):
        raise ValueError(
            'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got "%s"'
            % schema
        )
    made = _define(namespace, name + schema, tags if isinstance(tags, (list, tuple)) else (tags,))
    if lib is not None:
        lib._names.append((name, made.parsed.overload_name or "default"))


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """Gives an operator the function for devices ("cpu", "default" for all of them). The older form is a decorator:
    impl(library, "name", "CPU"); the key may be left out."""
    if isinstance(qualname, Library):
        library, name, key = qualname, types, func or ""

        def register_key(fn: Any) -> Any:
            library.impl(name, fn, key)
            return fn

        return register_key

    def register(fn: Any) -> Any:
        kernels = _kernels(qualname)
        keys = _COMPOSITE + ("CPU", "Autograd", "AutocastCPU", "AutocastCUDA", "AutocastXPU")
        for key in [types] if isinstance(types, str) and types in keys else _devices(types):
            kernels[key] = fn
        return fn

    return register if func is None else register(func) and None


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Library | None = None) -> Any:
    """Gives a custom op the function for devices; None for all of them."""

    def register(fn: Any) -> Any:
        made = _custom(op)
        for key in [_COMPOSITE[1]] if device_types is None else _devices(device_types):
            made.kernels[key] = fn
        if device_types is not None and not any("Tensor" in str(a.type) for a in made.parsed.arguments):
            made.kernels["BackendSelect"] = _by_device(made)
        return fn

    return register if func is None else register(func)


def _by_device(made: _Custom) -> Any:
    """The kernel of an operator without tensors: its argument of type Device says which one runs."""
    names = [a.name for a in made.parsed.arguments if str(a.type) == "Device"]
    if not names:
        raise ValueError("Functions without tensor inputs are required to have a `device: torch.device` argument")
    at = [a.name for a in made.parsed.arguments].index(names[0])

    def select(*args: Any, **kwargs: Any) -> Any:
        kind = torch.device(kwargs[names[0]] if names[0] in kwargs else args[at]).type
        kernel = made.kernels.get(_KEYS.get(kind, kind.upper()))
        if kernel is None:
            raise RuntimeError(
                "%s does not have a kernel registered for %s. Please use register_kernel to do so."
                % (made.parsed.name.partition("::")[2], kind)
            )
        return kernel(*args, **kwargs)

    return select


def register_fake(
    op: Any, func: Any = None, /, *, lib: Any = None, _stacklevel: int = 1, allow_override: bool = True
) -> Any:
    """Gives an operator what it does where only shapes count: on the meta device."""

    def register(fn: Any) -> Any:
        key = _undefined(op)
        if key is None:
            made = _custom(op)
            if isinstance(op, str) and made.fake is None:
                from ._custom_op.impl import check_no_meta

                check_no_meta(op, made, False)
            if made.fake is not None and not allow_override:
                raise RuntimeError(
                    "register_fake(...): the operator %s already has a fake impl registered." % made.parsed.name
                )
            made.fake = fn
        else:
            _kernels(op)["fake"] = fn
        return fn

    return register if func is None else register(func)


def _named_tensors(parsed: Any) -> bool:
    """Whether tensors are among the arguments that are given by name only."""
    return any(a.kwarg_only and str(a.type).replace("Optional[", "").startswith(_TENSORS) for a in parsed.arguments)


_TENSORS = ("Tensor", "List[Tensor", "List[Optional[Tensor", "Tensor[]", "Tensor?")


def register_autograd(op: Any, backward: Any, /, *, setup_context: Any = None, lib: Any = None) -> None:
    """Gives an operator its gradient: backward(ctx, *grads), with what setup_context(ctx, inputs, output) kept."""
    made = _custom(op)
    if made.parsed.is_mutable:
        raise RuntimeError("Cannot register autograd formula for non-functional operator %s" % made.parsed)
    if _named_tensors(made.parsed):
        raise NotImplementedError(
            "register_autograd with kwarg-only Tensor args. In the original definition of the op, please make your "
            "tensors not kwarg-only. Got: %s" % made.parsed
        )
    made.backward, made.setup_context = backward, setup_context


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> None:
    """Makes an operator take its floating-point tensors in the dtype `cast_inputs` while autocast is on."""
    if device_type not in ("cpu", "cuda"):
        raise ValueError("Unknown device type: %s" % device_type)
    made = _custom(op)
    name = "Autocast" + device_type.upper()

    def kernel(*args: Any, **kwargs: Any) -> Any:
        from .amp import _cast

        with torch.autocast(device_type, enabled=False):
            return made(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    made.kernels[name] = kernel


def register_torch_dispatch(op: Any, torch_dispatch_class: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """Gives an operator what it does where a mode or a class would be asked: func(mode or class, func, types, args,
    kwargs)."""

    def register(fn: Any) -> Any:
        _custom(op).overload.python_key_table[torch_dispatch_class] = fn
        return fn

    return register if func is None else register(func)


def register_vmap(op: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """Gives an operator a rule for vmap: func(info, in_dims, *args) returns (output, out_dims), for tensors that have
    the examples along `in_dims`. Without one the operator runs once per example."""

    def register(fn: Any) -> Any:
        made = _custom(op)
        if _named_tensors(made.parsed):
            raise NotImplementedError(
                "register_vmap with kwarg-only Tensor args. In the original definition of the op, please make your "
                "tensors not kwarg-only. Got: %s" % made.parsed
            )
        made.vmap = fn
        return fn

    return register if func is None else register(func)


class _Context:
    """What register_fake's functions ask for sizes that depend on data."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        raise NotImplementedError(
            "new_dynamic_size(): torchlite has no symbolic sizes; run this operator on tensors that have elements"
        )


def get_ctx() -> Any:
    """The context of register_fake's functions."""
    return _Context()


def get_kernel(op: Any, dispatch_key: Any) -> Any:
    """The kernel that runs an operator for a dispatch key: "aten::add.Tensor" or an overload, and "CPU" or one of
    DispatchKey. Its call_boxed(keyset, ...) calls it. RuntimeError where there is no such operator or kernel."""
    from ._library import kernels

    return kernels.find(op, dispatch_key)


def triton_op(name: str, fn: Any = None, /, *, mutates_args: Any, schema: Any = None) -> Any:
    raise NotImplementedError(
        "torchlite has no Triton; write the operator with those of torch, in torch.library.custom_op"
    )


def wrap_triton(triton_kernel: Any, /) -> Any:
    raise NotImplementedError(
        "torchlite has no Triton; write the operator with those of torch, in torch.library.custom_op"
    )


# ---- custom_op -------------------------------------------------------------------------------------------------------
def _log() -> Any:
    import logging

    return logging.getLogger("torch._library.custom_ops")


class CustomOpDef:
    """What custom_op makes of a function."""

    def __init__(self, namespace: str, name: str, schema: str, fn: Any, tags: Any = ()) -> None:
        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        parsed: Any = _schemas.parse(name + schema)
        if _named_tensors(parsed) and _ops.tags().out not in tags:
            raise NotImplementedError(
                "custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: %s" % parsed
            )
        table = _ops.defined.get((namespace, name))
        if table:
            table.pop("default", None)  # the same name again, in a notebook
        self._custom = _define(namespace, name + schema, tags)
        self._custom.checks_aliases, self._custom.definition = True, self
        self._opoverload = self._custom.overload
        self._disabled: dict[str, Any] = {}

    @property
    def _qualname(self) -> str:
        return "%s::%s" % (self._namespace, self._name)

    def __repr__(self) -> str:
        return "<CustomOpDef(%s)>" % self._qualname

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def register_kernel(self, device_types: Any, fn: Any = None, /) -> Any:
        """The function for devices; None for all of them."""
        return register_kernel(self, device_types, fn)

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Inside, the function for a device is used, or, if not enabled, the one for all devices."""
        key = _KEYS.get(device_type, device_type.upper())
        kernels, disabled = self._custom.kernels, self._disabled
        before = kernels.get(key), disabled.get(key)
        action = "enable" if enabled else "disable"
        if before == (None, None):
            _log().warning(
                "Attempted to %s kernel for %s but no kernel was registered for this device type.", action, device_type
            )
        elif enabled == (before[1] is None):
            _log().warning("Attempted to %s kernel for %s but it was already %sd.", action, device_type, action)
        elif enabled:
            kernels[key] = disabled.pop(key)
        else:
            disabled[key] = kernels.pop(key)
        try:
            yield
        finally:
            for table, value in zip((kernels, disabled), before):
                table.pop(key, None)
                if value is not None:
                    table[key] = value

    def register_fake(self, fn: Any, /) -> Any:
        """What it does where only shapes count."""
        return register_fake(self, fn)

    def register_autograd(self, backward: Any, /, *, setup_context: Any = None) -> None:
        """Its gradient."""
        register_autograd(self, backward, setup_context=setup_context)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        register_autocast(self, device_type, cast_inputs)

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Any = None, /) -> Any:
        return register_torch_dispatch(self, torch_dispatch_class, fn)

    def register_vmap(self, func: Any = None) -> Any:
        return register_vmap(self, func)


@contextlib.contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """A library whose operators are gone after `with`."""
    lib = Library(*args, **kwargs)
    try:
        yield lib
    finally:
        lib._destroy()


def custom_op(
    name: str,
    fn: Any = None,
    /,
    *,
    mutates_args: Any,
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Decorator: makes an operator "mylib::name" of a function, whose schema follows from its annotations."""

    def inner(fn: Any) -> CustomOpDef:
        if schema is None:
            text = infer_schema(fn, mutates_args=mutates_args)
        else:
            text = schema
        namespace, _, short = name.partition("::")
        if not short:
            raise ValueError(
                'Expected `qualname` to be of the form "namespace::name", but got %s. The qualname passed to the '
                "torch.library APIs must consist of a namespace and a name, e.g. aten::sin" % name
            )
        made = CustomOpDef(namespace, short, text, fn, tags or ())
        if schema is not None:
            written = {a.name for a in made._custom.parsed.arguments if a.is_write}
            if mutates_args != "unknown" and written != set(mutates_args):
                raise ValueError(
                    "Attempted to create a custom op with `mutates_args=%s` and `schema=%s. The schema suggests that "
                    "the op mutates %s which is different from what was provided to us in `mutates_args`. Please make "
                    "these consistent." % (mutates_args, schema, written)
                )
        made.register_kernel(device_types)(fn)
        return made

    return inner if fn is None else inner(fn)


def opcheck(
    op: Any,
    args: Sequence[Any],
    kwargs: Any = None,
    *,
    test_utils: Any = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"),
    raise_exception: bool = True,
    atol: Any = None,
    rtol: Any = None,
) -> dict[str, Any]:
    """Calls an operator and looks whether it is what it says.

    test_schema: arguments that are not marked stay as they are, and results share no memory with them.
    test_autograd_registration: gradients are registered as such, and not made by the kernel. test_faketensor: what
    register_fake says of shapes and dtypes is true. test_aot_dispatch_static, test_aot_dispatch_dynamic: its traced
    graph gives the same results and gradients; both trace for the sizes given. Returns "SUCCESS" or the error of each;
    with raise_exception the first error is an OpCheckError."""
    from ._library import opchecks

    return opchecks.run(op, args, kwargs or {}, test_utils, raise_exception, atol, rtol)


def impl_abstract(qualname: Any, func: Any = None, *, lib: Any = None, _stacklevel: int = 1) -> Any:
    """register_fake by its older name."""
    return register_fake(qualname, func, lib=lib)


for _class in (Library, CustomOpDef):
    _class.__module__ = "torch.library" if _class is Library else "torch._library.custom_ops"

__getattr__ = _absent.of(__name__)
