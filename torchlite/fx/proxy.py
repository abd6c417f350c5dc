"""Proxy: stands for a value while a program is traced; what is done to it becomes nodes of a graph."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import dis
import enum
import inspect
import operator
import traceback
from collections import OrderedDict
from typing import Any

import torchlite as torch
import torchlite.overrides

from . import config, traceback as fx_traceback
from ._classes import Shown
from ._compatibility import compatibility
from .graph import Graph, magic_methods, reflectable_magic_methods
from .node import Node, base_types, map_aggregate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "TracerBase",
    "GraphAppendingTracer",
    "TraceError",
    "Proxy",
    "MetaProxy",
    "Attribute",
    "ParameterProxy",
    "Scope",
    "ScopeContextManager",
]
_COPY_META_FIELDS = [
    "nn_module_stack",
    "torch_fn",
    "source_fn_stack",
    "original_aten",
    "recompute",
    "ac_graph_id",
    "has_backward_hook",
    "from_node",
    "quantization_tag",
    "_numeric_debug_handle",
    "custom",
    "partitioner_tag",
]


@compatibility(is_backward_compatible=False)
class Scope:
    """The submodule whose forward runs: its path and its class."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


@compatibility(is_backward_compatible=False)
class ScopeContextManager:
    """Inside, one Scope says what another does; then it says what it did before."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._prev_scope = copy.copy(scope)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type
        self._scope = scope

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *args: Any) -> None:
        self._scope.module_path = self._prev_scope.module_path
        self._scope.module_type = self._prev_scope.module_type


class TraceError(ValueError):
    """A traced program does what cannot be traced."""


def assert_fn(x: Any) -> None:
    """An assert statement of a traced program."""
    if not x:
        raise AssertionError


def _in_fx(filename: str) -> bool:
    return filename.startswith(_HOME) or filename.endswith(_INNER)


_HOME = __file__.rpartition("proxy.py")[0]
_INNER = ("/nn/modules/module.py", "/_core/override.py", "/torchlite/_ops.py", "/torchlite/overrides.py")


@compatibility(is_backward_compatible=True)
class TracerBase:
    """What Proxies ask to make nodes. Tracer is the one for modules and functions."""

    graph: Graph
    record_stack_traces: bool = False
    _record_forward_stack_traces_only: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    scope: Scope
    module_stack: OrderedDict[str, tuple[str, Any]]
    node_name_to_scope: dict[str, tuple[str, type]]

    def create_node(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Puts a node into the graph; override it to see all nodes, or to change them."""
        if kind == "call_function" and self.check_mutable_operations:
            from .operator_schemas import check_for_mutable_operation

            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        meta = fx_traceback.current_meta
        if fx_traceback.has_preserved_node_meta():
            if meta.get("stack_trace"):
                node.stack_trace = meta["stack_trace"]
            for field in _COPY_META_FIELDS:
                if field in meta:
                    node.meta[field] = copy.copy(meta[field])
            if meta.get("in_grad_fn", 0) > 0:
                node.meta["seq_nr"] = meta["grad_fn_seq_nr"][-1]
        elif self.module_stack:
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        if "custom" in meta:
            node.meta["custom"] = dict(meta["custom"])
        if self.record_stack_traces and not node.stack_trace and not config.do_not_emit_stack_traces:
            self._record_stack(node)
        return node

    def _record_stack(self, node: Node) -> None:
        frames = self._filter_traceback_frames(traceback.StackSummary.from_list(traceback.extract_stack()))
        if frames:
            node.stack_trace = "".join(frames.format()).strip()

    def _filter_traceback_frames(self, user_stack_summary: traceback.StackSummary) -> traceback.StackSummary:
        """The frames of the traced program: those behind the tracer's own."""
        kept: list[traceback.FrameSummary] = []
        seen_trace = False
        for frame in user_stack_summary:
            if frame.filename.startswith(_HOME) and frame.name == "trace":
                kept, seen_trace = [], True
            elif not _in_fx(frame.filename) and (seen_trace or not self._record_forward_stack_traces_only):
                kept.append(frame)
        return traceback.StackSummary.from_list(kept)

    def proxy(self, node: Node) -> Proxy:
        """The Proxy of a node; override it for Proxies of another class."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """A node of these arguments, in which Proxies stand for their nodes, and its Proxy."""
        made_args, made_kwargs = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(made_args, tuple):
            raise AssertionError("Expected args_ to be tuple, got %s" % type(made_args))
        if not isinstance(made_kwargs, dict):
            raise AssertionError("Expected kwargs_ to be dict, got %s" % type(made_kwargs))
        node = self.create_node(kind, target, made_args, made_kwargs, name, type_expr)
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def _find_user_frame(self) -> Any:
        """The innermost frame of the traced program."""
        frame = inspect.currentframe()
        while frame is not None and _in_fx(frame.f_code.co_filename):
            frame = frame.f_back
        return frame

    def create_arg(self, a: Any) -> Any:
        """An argument as a node holds it. Classes may have `__fx_create_arg__(tracer)`."""
        kind = type(a)
        if kind in _PLAIN or a is None or a is ...:
            return a
        if isinstance(a, Proxy):
            return a.node
        if hasattr(kind, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            values = [self.create_arg(x) for x in a]
            return kind(*values) if hasattr(a, "_fields") else tuple(values)
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            return _create_arg_dict(self, a)
        if isinstance(a, (slice, range)):
            return type(a)(*map(self.create_arg, (a.start, a.stop, a.step)))
        if isinstance(a, _operators()):
            return a
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {f.name: self.create_arg(getattr(a, f.name)) for f in dataclasses.fields(a)}
            return self.create_node("call_function", a.__class__, (), fields)
        if isinstance(a, (*base_types, enum.Enum)):
            return a
        raise NotImplementedError("argument of type: %s" % (type(a),))

    def to_bool(self, obj: Proxy) -> bool:
        """What `if proxy` does; a tracer may know better."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """What `for x in proxy` does."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what "
            "types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy "
            "iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """What `**proxy` needs."""
        return Attribute(obj, "keys")()


_PLAIN = frozenset((str, int, float, bool, complex, torch.dtype, torch.device, torch.memory_format, torch.layout))


def _operators() -> tuple[type, ...]:
    from .._ops import HigherOrderOperator, OpOverload

    return OpOverload, HigherOrderOperator


def _create_arg_dict(self: TracerBase, a: dict[Any, Any]) -> dict[Any, Any]:
    made = {}
    for key, value in a.items():
        key = self.create_arg(key)

        def check(node: Any, key: Any = key) -> Any:
            if isinstance(node, Node):
                raise RuntimeError(
                    "Keys for dictionaries used as an argument cannot contain a Node. Got key: %s" % (key,)
                )
            return node

        map_aggregate(key, check)
        made[key] = self.create_arg(value)
    return made


@compatibility(is_backward_compatible=True)
class GraphAppendingTracer(TracerBase):
    """Puts nodes into a graph that is there."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = OrderedDict()
        self.node_name_to_scope = {}


@compatibility(is_backward_compatible=True)
class Proxy(metaclass=Shown):
    """Stands for the value of a node. Operators, methods and functions of torch record a node and give its Proxy."""

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return "Proxy(%s)" % self.node.name

    def __getattr__(self, k: str) -> Any:
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__ = d

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = Proxy.__new__(type(self))
        for key, value in self.__dict__.items():
            try:
                made.__dict__[key] = copy.deepcopy(value, memo)
            except Exception:
                made.__dict__[key] = copy.copy(value)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame: Any = inspect.currentframe()
        try:
            step = _instructions(frame.f_back)[0]
        finally:
            del frame
        if step.opname == "UNPACK_SEQUENCE":  # a, b = proxy
            return (self[i] for i in range(step.argval))
        return self.tracer.iter(self)

    if TYPE_CHECKING:

        def __getitem__(self, key: Any) -> Any: ...

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts:
            frame: Any = inspect.currentframe()
            try:
                following = [i.opname for i in _instructions(frame.f_back)[:6]]
            finally:
                del frame
            if _is_assertion(following):
                self.tracer.create_proxy("call_function", assert_fn, (self,), {})
                return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = None, kwargs: Any = None) -> Any:
        args, kwargs = args or (), kwargs or {}
        tracers: dict[Any, None] = {}

        def find(a: Any) -> Any:
            if isinstance(a, Proxy):
                tracers[a.tracer] = None
            return a

        map_aggregate(args, find)
        map_aggregate(kwargs, find)
        if len(tracers) > 1:
            raise RuntimeError(
                "Found multiple different tracers %s while trying to trace operations %s" % (list(tracers), orig_method)
            )
        tracer: Any = next(iter(tracers))
        if torch.overrides.is_tensor_method_or_property(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        name = tracer.graph._target_to_str(orig_method)
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name=name)


def _instructions(frame: Any) -> list[dis.Instruction]:
    """The instruction at which a frame is, and those after it."""
    steps = [i for i in dis.get_instructions(frame.f_code) if i.offset >= frame.f_lasti]
    return [i for i in steps if i.opname not in ("CACHE", "NOT_TAKEN")]


def _is_assertion(names: list[str]) -> bool:
    names = [n for n in names if n not in ("TO_BOOL", "COMPARE_OP", "COPY")]
    jump = next((i for i, n in enumerate(names) if n.startswith("POP_JUMP") and n.endswith("IF_TRUE")), None)
    return jump is not None and jump <= 1 and names[jump + 1 : jump + 2] == ["LOAD_ASSERTION_ERROR"]


@compatibility(is_backward_compatible=False)
class MetaProxy(Proxy):
    """A Proxy that also knows a value of its shape and dtype, node.meta["val"], a tensor on the meta device."""

    def __init__(self, node: Node, tracer: TracerBase | None = None, fake_mode: Any = None) -> None:
        super().__init__(node, tracer)
        self.fake_mode = fake_mode

    def __repr__(self) -> str:
        return "MetaProxy(%s)" % self.node.name

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = None, kwargs: Any = None) -> Any:
        args, kwargs = args or (), kwargs or {}
        meta = next((a for a in args if isinstance(a, MetaProxy)), None)
        if meta is None:
            raise AssertionError("No MetaProxy found in arguments, but one is expected.")
        proxy = super().__torch_function__(orig_method, types, args, kwargs)
        with meta.fake_mode if meta.fake_mode is not None else contextlib.nullcontext():
            known = map_aggregate((args, kwargs), lambda a: a.node.meta["val"] if isinstance(a, MetaProxy) else a)
            proxy.node.meta["val"] = orig_method(*known[0], **known[1])
        return MetaProxy(proxy.node, proxy.tracer, meta.fake_mode)


@compatibility(is_backward_compatible=True)
class Attribute(Proxy):
    """proxy.name: a node if it is used as a value, none if it is called as a method."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr = root, attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Any:  # type: ignore[override]
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


@compatibility(is_backward_compatible=False)
class ParameterProxy(Proxy):
    """A Proxy of a parameter, whose shape is known."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, torch.nn.Parameter):
            raise AssertionError("Expected Parameter, got %s" % type(param))
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return "ParameterProxy(%s)" % self.name

    shape = property(lambda self: self.param.shape)
    ndim = property(lambda self: self.param.ndim)

    def size(self) -> Any:
        return self.param.size()

    def dim(self) -> int:
        return self.param.dim()

    def numel(self) -> int:
        return self.param.numel()

    def nelement(self) -> int:
        return self.param.nelement()


def _define(name: str) -> None:
    def impl(*args: Any, **kwargs: Any) -> Any:
        return args[0].tracer.create_proxy("call_function", getattr(operator, name), args, kwargs)

    impl.__name__ = name
    setattr(Proxy, "__%s__" % name.strip("_"), impl)


def _define_reflectable(name: str) -> None:
    method = "__r%s__" % name.strip("_")

    def impl(self: Proxy, rhs: Any) -> Any:
        return self.tracer.create_proxy("call_function", getattr(operator, name), (rhs, self), {})

    impl.__name__ = impl.__qualname__ = method
    setattr(Proxy, method, impl)


for _name in magic_methods:
    _define(_name)
for _name in reflectable_magic_methods:
    _define_reflectable(_name)
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]  # == makes a node
