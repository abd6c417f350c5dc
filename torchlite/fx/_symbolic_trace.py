"""Tracer and symbolic_trace: run a module's forward, or a function, with Proxies, and give the graph."""

from __future__ import annotations

import copy
import functools  # noqa: F401 tracers of other packages take it from here
import inspect
import math
import types
import warnings
from collections import OrderedDict, defaultdict
from typing import Any

import torchlite as torch

from .. import _C
from .._core import homes
from ..nn.modules.module import _getattr as _module_getattr
from ..utils import _pytree as pytree
from ._compatibility import compatibility
from ._lazy_graph_module import _LazyGraphModule, _make_graph_module
from ._names import torch_name
from ._patching import (  # noqa: F401
    _autowrap_check,
    _create_wrapped_func,
    _create_wrapped_method,
    _find_proxy,
    _maybe_revert_all_patches,
    _new_patcher,
    _patch_wrapped_functions,
    _Patcher,
    _wrapped_fns_to_patch,
    _wrapped_methods_to_patch,
    wrap,
)
from .graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from .node import base_types
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

HAS_VARSTUFF = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_proxyable_classes: dict[type, None] = {}
_is_fx_tracing_flag = False
_constant_attribute_types: tuple[type, ...] = (torch.Tensor,)
# tracers of other packages build on these names
FunctionType = types.FunctionType
_orig_module_call = torch.nn.Module.__call__
_orig_module_getattr = _module_getattr


def __getattr__(name: str) -> Any:
    if name == "ScriptObject":
        return torch.ScriptObject  # type: ignore[attr-defined]
    raise AttributeError("module 'torch.fx._symbolic_trace' has no attribute '%s'" % name)


def is_fx_tracing() -> bool:
    """Whether a Tracer runs."""
    return _is_fx_tracing_flag


is_fx_symbolic_tracing = is_fx_tracing


@compatibility(is_backward_compatible=True)
class ProxyableClassMeta(type):
    """Metaclass of classes whose construction is a node if an argument is a Proxy."""

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if is_fx_tracing():
            found = _find_proxy(args, kwargs)
            if found is not None:
                return found.tracer.create_proxy("call_function", cls, args, kwargs)
        instance = cls.__new__(cls)  # type: ignore[call-overload]
        cls.__init__(instance, *args, **kwargs)  # type: ignore[misc]
        return instance


@compatibility(is_backward_compatible=False)
class PHBase:
    """In concrete_args: an input of the graph."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


@compatibility(is_backward_compatible=False)
class PHWithMeta(PHBase):
    """An input whose attributes go to its node."""

    def __init__(self, ph_key: str | None = None) -> None:
        super().__init__()
        self.ph_key = ph_key


def _transfer_attrs(fr: Any, to: Any) -> None:
    for name in dir(fr):
        value = getattr(fr, name)
        if not callable(value) and not name.startswith("__") and not hasattr(to, name):
            setattr(to, name, value)


def _patch_function(fn: Any, nargs: int) -> Any:
    """The function with *args, **kwargs and keyword-only parameters as ordinary ones."""
    code = fn.__code__.replace(
        co_argcount=nargs,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=fn.__code__.co_flags & ~HAS_VARSTUFF,
    )
    return types.FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)


def _python_function(function: Any) -> Any:
    """A function of torch that PyTorch has in Python, as one: its body is a call of it."""
    if type(function) not in (_C.Op, _C.Function) or homes.in_cpp(function):
        return function
    from .._core.override import signature_of

    signature = signature_of(function)
    args = ", ".join(_handed_on(p) for p in signature.parameters.values())
    names = {"_function": function, "_defaults": {n: p.default for n, p in signature.parameters.items()}}
    kept = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    shown = [p if p.default is p.empty else p.replace(default=_Default(p.name)) for p in kept]
    head = str(inspect.Signature(shown))
    exec("def %s%s:\n    return _function(%s)\n" % (function.__name__, head, args), names)
    return names[function.__name__]


def _handed_on(p: inspect.Parameter) -> str:
    """The text that hands a parameter on to a function of the same parameters."""
    starred: Any = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind)  # type: ignore[call-overload]
    if starred:
        return starred + p.name
    return p.name if p.default is p.empty and p.kind is not p.KEYWORD_ONLY else "%s=%s" % (p.name, p.name)


class _Default:
    """A default value, which a text names by the parameter."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return "_defaults[%r]" % self.name


def _assert_is_none(value: Any, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


_wrapped_fns_to_patch[(id(globals()), "_assert_is_none")] = globals()


@compatibility(is_backward_compatible=True)
class Tracer(TracerBase):
    """Traces modules and functions. Override is_leaf_module to say which submodules stay calls, and any of the other
    methods to see or change what is recorded. Functions of autowrap_modules and autowrap_functions are recorded as
    calls; with param_shapes_constant the shapes of parameters are known in the traced program."""

    def __init__(
        self,
        autowrap_modules: tuple[Any, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        super().__init__()
        self._autowrap_function_ids: set[int] = {
            id(value)
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        }
        self._autowrap_function_ids.update(map(id, autowrap_functions))
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Any, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}

    _qualname_counter: dict[str, int] = defaultdict(int)

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name like prefix0 that no attribute of the root has."""
        number = 0
        while hasattr(self.root, "%s%d" % (prefix, number)):
            number += 1
        return "%s%d" % (prefix, number)

    def create_arg(self, a: Any) -> Any:
        """An argument as a node holds it: parameters, buffers and modules by their path in the root, other tensors as
        new attributes of it."""
        if isinstance(a, torch.nn.Parameter):
            for name, parameter in self.root.named_parameters():
                if a is parameter:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, (torch.Tensor, torch.nn.Module)):
            named = self.root.named_buffers() if isinstance(a, torch.Tensor) else self.root.named_modules()
            for name, value in named:
                if a is value:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", a.__class__, tuple(map(self.create_arg, a)), {})
        if isinstance(a, _constant_attribute_types):
            path = self.tensor_attrs.get(a)
            if not path:
                path = self.get_fresh_qualname("_tensor_constant")
                self.tensor_attrs[a] = path
                setattr(self.root, path, a)
            return self.create_node("get_attr", path, (), {})
        if type(a) in _proxyable_classes:
            path = self.get_fresh_qualname("_%s_constant_" % a.__class__.__name__)
            setattr(self.root, path, a)
            return self.create_node("get_attr", path, (), {})
        return super().create_arg(a)

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Whether a call of a submodule is one node; else its forward is traced. By default modules of torch.nn are."""
        module = torch_name(m.__module__)
        return module.startswith(("torch.nn", "torch.ao.nn")) and not isinstance(m, torch.nn.Sequential)

    def path_of_module(self, mod: Any) -> str:
        """The path of a submodule in the root."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
        else:
            path = next((name for name, m in self.root.named_modules() if m is mod), None)
        if path is None:
            raise NameError("module is not installed as a submodule")
        return path

    def call_module(self, m: Any, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call of a submodule does: a node for a leaf, else forward(*args, **kwargs)."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as scope:
            calls = self.num_calls.get(path, 0)
            key = "%s@%d" % (scope.module_path, calls) if calls else scope.module_path
            self.module_stack[key] = (path, scope.module_type)
            self.num_calls[path] = calls + 1
            if self.is_leaf_module(m, path):
                result: Any = self.create_proxy("call_module", path, args, kwargs)
            else:
                result = forward(*args, **kwargs)
            last, _ = self.module_stack.popitem(last=True)
            if last != key:
                raise AssertionError("Unexpected key %s" % last)
        return result

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What a module's parameter, buffer or submodule is in the traced program."""
        if isinstance(attr_val, torch.nn.Parameter):
            found = self._attribute_proxy(attr_val, self.root.named_parameters(), parameter_proxy_cache)
            if found is not None:
                return found
        if self.proxy_buffer_attributes and isinstance(attr_val, torch.Tensor):
            found = self._attribute_proxy(attr_val, self.root.named_buffers(), parameter_proxy_cache)
            if found is not None:
                return found
        return attr_val

    def _attribute_proxy(self, value: Any, named: Any, cache: dict[str, Any]) -> Any:
        for name, other in named:
            if value is not other:
                continue
            if name not in cache:
                options: dict[str, Any] = {}
                if "proxy_factory_fn" in inspect.signature(self.create_proxy).parameters:
                    options["proxy_factory_fn"] = (
                        (lambda node: ParameterProxy(self, node, name, value))
                        if self.param_shapes_constant and isinstance(value, torch.nn.Parameter)
                        else None
                    )
                cache[name] = self.create_proxy("get_attr", name, (), {}, **options)
            return cache[name]
        return None

    def create_args_for_root(self, root_fn: Any, is_module: bool, concrete_args: Any = None) -> Any:
        """(function to run, its arguments): a placeholder for each parameter, or for each leaf of concrete_args."""
        fn = inspect.unwrap(root_fn)
        code = fn.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        names = iter(code.co_varnames)
        args: list[Any] = []
        if is_module:
            if total == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            next(names)
            args.append(self.root)
        if isinstance(concrete_args, tuple) and concrete_args and code.co_flags & HAS_VARSTUFF and total == 1:
            return root_fn, [*args, *map(self._numbered_input, range(len(concrete_args)), concrete_args)]
        listed = [next(names) for _ in range(total - len(args))]
        if isinstance(concrete_args, tuple):
            if len(listed) != len(concrete_args):
                raise RuntimeError(
                    "Tracing expected %d arguments but got %d concrete arguments" % (len(listed), len(concrete_args))
                )
            concrete_args = dict(zip(listed, concrete_args))
        signature = inspect.signature(fn)
        if code.co_flags & inspect.CO_VARARGS:
            listed.append("*" + next(names))
        if code.co_flags & inspect.CO_VARKEYWORDS:
            listed.append("**" + next(names))
        args += [self._proxy_placeholder(name, concrete_args, signature, fn) for name in listed]
        if code.co_kwonlyargcount or code.co_flags & HAS_VARSTUFF:
            root_fn = _patch_function(root_fn, len(args))
        flat_args, in_spec = pytree.tree_flatten(tuple(args))
        if all(child.is_leaf() for child in in_spec.children_specs):
            return root_fn, args
        self.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(list(code.co_varnames[:total]), in_spec, None))

        def flatten_fn(*args):  # its annotations would be the graph's
            leaves, out_spec = pytree.tree_flatten(root_fn(*pytree.tree_unflatten(list(args), in_spec)))
            codegen: Any = self.graph._codegen
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return leaves

        return flatten_fn, flat_args

    def _numbered_input(self, number: int, concrete: Any) -> Any:
        made = self.create_proxy("placeholder", "input_%d" % number, (), {})
        if isinstance(concrete, PHBase) and concrete is not PH:
            _transfer_attrs(concrete, made.node)
        return made

    def _proxy_placeholder(self, name: str, concrete_args: Any, sig: inspect.Signature, fn_for_analysis: Any) -> Any:
        parameter = sig.parameters.get(name)
        default = () if parameter is None or parameter.default is parameter.empty else (parameter.default,)
        if concrete_args is None or name not in concrete_args:
            kind = fn_for_analysis.__annotations__.get(name, None)
            return self.create_proxy("placeholder", name, default, {}, type_expr=kind)
        count = 0

        def leaf(x: Any) -> Any:
            nonlocal count
            count += 1
            made = self.create_proxy("placeholder", "%s_%d" % (name, count), default, {})
            if isinstance(x, PHBase):
                if x is not PH:
                    _transfer_attrs(x, made.node)
                return made
            text = "%s has been specialized to have value %s but got another value" % (name, x)
            if type(x) in base_types and type(x) is not torch.Tensor:
                torch._assert(made == x, text)  # type: ignore[attr-defined]
            elif x is None:
                self.create_proxy("call_function", _assert_is_none, (made, text), {})
            else:
                warnings.warn(
                    "Was not able to add assertion to guarantee correct input %s to specialized function. It is up to "
                    "the user to make sure that your inputs match the inputs you specialized the function with." % name,
                    stacklevel=2,
                )
            return x

        return pytree.tree_map(leaf, concrete_args[name])

    def trace(self, root: Any, concrete_args: Any = None) -> Graph:
        """The graph of a module's forward, or of a function. concrete_args gives values of parameters, which are then
        constants; in containers, PH stands for leaves that stay inputs."""
        global _is_fx_tracing_flag
        before = _is_fx_tracing_flag
        _is_fx_tracing_flag = True
        try:
            return self._trace(root, concrete_args)
        finally:
            _is_fx_tracing_flag = before

    def _trace(self, root: Any, concrete_args: Any) -> Graph:
        is_module = isinstance(root, torch.nn.Module)
        if is_module:
            _LazyGraphModule.force_recompile(root)
            self.root = root
            name = self.traced_func_name
            if not hasattr(type(root), name):
                raise AssertionError("traced_func_name=%s doesn't exist in %s" % (name, type(root).__name__))
            fn: Any = getattr(type(root), name)
            self.root_module_name = root._get_name()
            self.submodule_paths = {mod: name for name, mod in root.named_modules()}
        else:
            self.root = torch.nn.Module()
            fn = _python_function(root)
        self.graph = Graph(tracer_cls=getattr(self, "__class__", None))
        code = getattr(fn, "__code__", None)
        if code is not None:
            self.graph._co_fields = {k: getattr(code, k) for k in ("co_name", "co_filename", "co_firstlineno")}
        self.tensor_attrs: dict[Any, str] = {}
        for prefix, module in self.root.named_modules():
            for key, value in vars(module).items():
                if isinstance(value, _constant_attribute_types):
                    self.tensor_attrs[value] = prefix + "." + key if prefix else key
        if not isinstance(fn, types.FunctionType):
            raise AssertionError("Expected FunctionType, got %s" % type(fn))
        names = fn.__globals__
        fn, args = self.create_args_for_root(fn, is_module, concrete_args)
        with _new_patcher() as patcher:
            self._patch_modules(patcher)
            _patch_wrapped_functions(patcher)
            _autowrap_check(patcher, names, self._autowrap_function_ids)
            for module in self._autowrap_search:
                _autowrap_check(patcher, module.__dict__, self._autowrap_function_ids)
            result = self.create_arg(fn(*args))
            self.create_node("output", "output", (result,), {}, type_expr=fn.__annotations__.get("return", None))
        self.submodule_paths = None
        return self.graph

    def _patch_modules(self, patcher: _Patcher) -> None:
        """Calls of modules, and their parameters, buffers and submodules, go through this tracer."""
        cache: dict[str, Any] = {}

        def __call__(mod: Any, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return _orig_module_call(mod, *args, **kwargs)

            names = getattr(getattr(mod, "forward", mod), "__globals__", {})
            _autowrap_check(patcher, names, self._autowrap_function_ids)
            return self.call_module(mod, forward, args, kwargs)

        def __getattr__(mod: Any, attr: str) -> Any:
            return self.getattr(attr, _orig_module_getattr(mod, attr), cache)

        patcher.patch_method(torch.nn.Module, "__getattr__", __getattr__, deduplicate=False)
        patcher.patch_method(torch.nn.Module, "__call__", __call__, deduplicate=False)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = Tracer.__new__(type(self))
        for key, value in self.__dict__.items():
            made.__dict__[key] = copy.copy(value) if key == "_autowrap_search" else copy.deepcopy(value, memo)
        return made


@compatibility(is_backward_compatible=True)
def symbolic_trace(root: Any, concrete_args: Any = None) -> Any:
    """A GraphModule that does what a module's forward, or a function, does for any tensors.

        gm = torch.fx.symbolic_trace(model)
        print(gm.code)

    Control flow that depends on values cannot be traced, and is a TraceError; concrete_args fixes arguments on which
    it depends. Submodules of torch.nn stay calls of modules.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = root.__class__.__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return _make_graph_module(tracer.root, graph, name)
