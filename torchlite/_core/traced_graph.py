"""torch.jit._get_trace_graph: the operators that a module calls, as tools read them to count (fvcore).

Each call is one node, by the name under which PyTorch traces it; the operators inside are not seen. PyTorch's trace
also has arithmetic with sizes, which are plain numbers here, and one node for a custom Function, whose operators are
nodes here.
"""

from __future__ import annotations

from typing import Any

import torchlite as torch

from .. import _C, jit as _jit
from ..overrides import TorchFunctionMode
from ..utils import _pytree as pytree
from . import dispatch_modes as _modes

_CONV = {"conv%s%dd" % (t, n): bool(t) for n in (1, 2, 3) for t in ("", "_transpose")}
# of which PyTorch traces the parts
_APART = frozenset("gru_cell lstm_cell rnn_relu_cell rnn_tanh_cell".split())
_NAMES = {"float32": "Float", "float64": "Double", "float16": "Half", "int64": "Long", "int32": "Int", "bool": "Bool"}


class Type:
    """What is known of a value."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def kind(self) -> str:
        if isinstance(self._value, torch.Tensor):
            return "TensorType"
        name = type(self._value).__name__
        return {"NoneType": name, "str": "StringType"}.get(name, name.capitalize() + "Type")

    def sizes(self) -> Any:
        return list(self._value.shape) if isinstance(self._value, torch.Tensor) else None

    def strides(self) -> Any:
        return list(self._value.stride())

    def dim(self) -> int:
        return self._value.dim()

    def dtype(self) -> Any:
        return self._value.dtype

    def device(self) -> Any:
        return self._value.device

    def requires_grad(self) -> bool:
        return self._value.requires_grad

    def scalarType(self) -> str:
        name = str(self._value.dtype).rpartition(".")[2]
        return _NAMES.get(name, name.capitalize())

    def __str__(self) -> str:
        if not isinstance(self._value, torch.Tensor):
            return self.kind().replace("Type", "").lower()
        return "%s(%s)" % (self.scalarType(), ", ".join(map(str, self._value.shape)))


class Value:
    """What a node makes or takes."""

    def __init__(self, node: Any, value: Any, number: int) -> None:
        self._node, self._value, self._number = node, value, number

    def node(self) -> Any:
        return self._node

    def type(self) -> Type:
        return Type(self._value)

    def isCompleteTensor(self) -> bool:
        return isinstance(self._value, torch.Tensor)

    def toIValue(self) -> Any:
        """The value of a constant."""
        return self._value if self._node.kind() == "prim::Constant" else None

    def unique(self) -> int:
        return self._number

    def debugName(self) -> str:
        return str(self._number)

    def __repr__(self) -> str:
        return "%%%d : %s" % (self._number, self.type())


class Node:
    """A call of an operator, or what makes its arguments."""

    def __init__(self, kind: str, scope: str, inputs: list[Value]) -> None:
        self._kind, self._scope, self._inputs = kind, scope, inputs
        self._outputs: list[Value] = []

    def kind(self) -> str:
        return self._kind

    def scopeName(self) -> str:
        return self._scope

    def inputs(self) -> Any:
        return iter(self._inputs)

    def outputs(self) -> Any:
        return iter(self._outputs)

    def output(self) -> Value:
        (value,) = self._outputs
        return value

    def attributeNames(self) -> list[str]:
        return ["value"] if self._kind == "prim::Constant" and self.output().toIValue() is not None else []

    def kindOf(self, name: str) -> str:
        """Which of the methods below gives an attribute."""
        value = self.t(name)
        if isinstance(value, torch.Tensor):
            return "t"
        return {"bool": "i", "int": "i", "float": "f", "str": "s"}.get(type(value).__name__, "ival")

    def t(self, name: str) -> Any:
        return self.output().toIValue()

    i = f = s = ival = t

    def inputsSize(self) -> int:
        return len(self._inputs)

    def outputsSize(self) -> int:
        return len(self._outputs)

    def __repr__(self) -> str:
        made, given = ", ".join(map(repr, self._outputs)), ", ".join("%%%d" % v.unique() for v in self._inputs)
        constant = "[value=%r]" % self.output().toIValue() if self._kind == "prim::Constant" else ""
        return "%s = %s%s(%s), scope: %s" % (made, self._kind, constant, given, self._scope)


class Graph:
    """The nodes of a trace, in order."""

    def __init__(self) -> None:
        self._param = Node("prim::Param", "", [])
        self._return = Node("prim::Return", "", [])
        self._nodes: list[Node] = []
        self._count = 0
        self._known: dict[int, tuple[Any, Value]] = {}  # the values of tensors, which are kept alive

    def inputs(self) -> Any:
        return self._param.outputs()

    def outputs(self) -> Any:
        return self._return.inputs()

    def nodes(self) -> Any:
        return iter(self._nodes)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        return [node for node in self._nodes if node.kind() == kind]

    def __str__(self) -> str:
        lines = ["  %r" % node for node in self._nodes]
        given, made = (", ".join(map(f, v)) for f, v in ((repr, self.inputs()), (Value.debugName, self.outputs())))
        return "graph(%s):\n%s\n  return (%s)\n" % (given, "\n".join(lines), made)

    def _made(self, node: Node, value: Any) -> Value:
        self._count += 1
        made = Value(node, value, self._count)
        node._outputs.append(made)
        if isinstance(value, torch.Tensor):
            self._known[id(value)] = value, made
        return made

    def _value(self, value: Any, scope: str) -> Value:
        """The Value of an argument; what no node has made is a constant."""
        if isinstance(value, torch.Tensor) and id(value) in self._known:
            return self._known[id(value)][1]
        parts: list[Value] = []
        kind = "prim::Constant"
        if isinstance(value, (list, tuple)):
            kind, value = "prim::ListConstruct", list(value)
            parts = [self._value(v, scope) for v in value]
        return self._made(self._add(kind, scope, parts), value)

    def _add(self, kind: str, scope: str, inputs: list[Value]) -> Node:
        node = Node(kind, scope, inputs)
        self._nodes.append(node)
        return node

    def _finish(self, outputs: list[Value]) -> None:
        """Leaves out what nothing uses, but for writes."""
        self._return._inputs = outputs
        used = {v.node() for v in outputs}
        for node in reversed(self._nodes):
            if node in used or node.kind().endswith("_"):
                used |= {node, *(v.node() for v in node.inputs())}
        self._nodes = [node for node in self._nodes if node in used]


def _named(ov: Any, args: Any) -> tuple[str, Any] | None:
    """The kind and the arguments of a call as PyTorch traces it; None: not as one node."""
    name = ov.spec.name
    if name in _CONV:
        x, w, b, stride, padding, *rest = args
        if isinstance(padding, str):
            return "aten::_convolution_mode", args
        if not _CONV[name]:
            rest = [[0] * (w.dim() - 2), *reversed(rest)]
        over, groups, dilation = rest
        flags = (torch.backends.cudnn.benchmark, False, True, True)
        return "aten::_convolution", (x, w, b, stride, padding, dilation, _CONV[name], over, groups, *flags)
    if name in _APART:
        return None
    func = _modes._overload(ov, "inplace" if ov.inplace else "")
    if func is None:
        return None
    kinds = [str(p.type) for p in func._schema.arguments]
    numbers = [k == "Tensor" and isinstance(a, (int, float)) for a, k in zip(args, kinds)]
    taken = [torch.tensor(a) if number else a for a, number in zip(args, numbers)]
    return func._schema.name.replace("::_adaptive", "::adaptive"), taken


_AVERAGES = ("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")


class _Whole(TorchFunctionMode):
    """Sees einsum and adaptive averages, which are Python functions here."""

    def __init__(self, state: Any) -> None:
        super().__init__()
        self._state = state

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.einsum and len(args) > 1 and isinstance(args[0], str):
            return self._state.einsum(func, args)
        if getattr(func, "__name__", "") in _AVERAGES:
            return self._state.average(func, *args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


class TracingState:
    """A trace that runs. Whoever calls modules says which one runs."""

    def __init__(self) -> None:
        self.graph = Graph()
        self._scopes: list[str] = []

    def push_scope(self, name: str) -> None:
        self._scopes.append(name)

    def pop_scope(self) -> None:
        self._scopes.pop()

    def current_scope(self) -> str:
        return "/".join(self._scopes)

    def _switch(self, on: bool) -> None:
        _C.register("torch_dispatch", self._ask if on else _modes.ask)
        _C.dispatch_modes(1) if on else _modes.refresh()

    def __enter__(self) -> TracingState:
        _jit._tracing.append(self)
        self._switch(True)
        return self

    def __exit__(self, *exc: Any) -> None:
        _jit._tracing.remove(self)
        self._switch(False)

    def _ask(self, ov: Any, args: tuple[Any, ...], below: bool) -> Any:
        if below:
            return NotImplemented
        self._switch(False)
        try:
            named = _named(ov, args)
            if named is None:
                return NotImplemented
            return self._note(*named, lambda: _C.call_overload(ov, args), ov.schema.endswith("[]"))
        finally:
            self._switch(True)

    def _note(self, kind: str, args: Any, run: Any, listed: bool = False) -> Any:
        """Makes a node of a call, and runs it."""
        scope = self.current_scope()
        node = self.graph._add(kind, scope, [self.graph._value(a, scope) for a in args])
        result = run()
        if listed:
            node = self.graph._add("prim::ListUnpack", scope, [self.graph._made(node, list(result))])
        for r in result if isinstance(result, (list, tuple)) else (result,):
            self.graph._made(node, r)
        return result

    def average(self, func: Any, input: Any, output_size: Any) -> Any:
        dims = int(func.__name__[-2])
        sizes = [output_size] * dims if isinstance(output_size, int) else list(output_size)
        sizes = [old if new is None else new for new, old in zip(sizes, input.shape[-len(sizes) :])]
        self._switch(False)
        try:
            return self._note("aten::" + func.__name__, (input, sizes), lambda: func(input, output_size))
        finally:
            self._switch(True)

    def einsum(self, func: Any, args: Any) -> Any:
        operands = args[1] if isinstance(args[1], (list, tuple)) else args[1:]
        self._switch(False)
        try:
            return self._note("aten::einsum", (args[0], list(operands), None), lambda: func(*args))
        finally:
            self._switch(True)


def trace(f: Any, args: Any, kwargs: Any) -> tuple[Graph, Any]:
    """The graph of f(*args, **kwargs), and what that returns. The module's parameters and buffers are inputs too."""
    state = TracingState()
    own = [*f.parameters(), *f.buffers()] if isinstance(f, torch.nn.Module) else []
    for t in [*pytree.tree_leaves((args, kwargs)), *own]:
        if isinstance(t, torch.Tensor):
            state.graph._made(state.graph._param, t)
    with state, _Whole(state):
        out = f(*args, **kwargs)
    state.graph._finish([state.graph._value(t, "") for t in pytree.tree_leaves(out)])
    return state.graph, out
