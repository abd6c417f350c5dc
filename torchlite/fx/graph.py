"""Graph: nodes in the order in which they run."""

from __future__ import annotations

import contextlib
import copy
import warnings
from typing import Any

from ._classes import Shown
from ._codegen import (  # noqa: F401
    CodeGen,
    PythonCode,
    _BoxedCodeGen,
    _format_target,
    _parse_stack_trace,
    _ParsedStackTrace,
    _PyTreeCodeGen,
    _PyTreeInfo,
    dtype_abbrs,
)
from ._compatibility import compatibility
from ._names import short_name
from ._namespace import (  # noqa: F401
    _custom_builtins,
    _is_magic,
    _Namespace,
    _register_custom_builtin,
    _snake_case,
    inplace_methods,
    magic_methods,
    reflectable_magic_methods,
)
from .node import Node, _get_qualified_name, _type_repr, map_arg  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from .graph_module import GraphModule

__all__ = ["PythonCode", "CodeGen", "Graph"]

_legal_ops = dict.fromkeys(["call_function", "call_method", "get_attr", "call_module", "placeholder", "output"])
_EMPTY: Any = object()


class _node_list(metaclass=Shown):
    """The nodes of a graph; to change the graph while it is iterated is fine."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        if direction not in ("_next", "_prev"):
            raise AssertionError("direction must be '_next' or '_prev', got %s" % direction)
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root, node = self.graph._root, self.graph._root
        while True:
            node = node.__dict__[self.direction]
            if node is root:
                return
            if not node._erased:
                yield node

    def __reversed__(self) -> Iterator[Node]:
        return iter(_node_list(self.graph, "_prev" if self.direction == "_next" else "_next"))


class _InsertPoint:
    """Where new nodes go; as a context manager, until its end."""

    def __init__(self, graph: Graph, new_insert: Callable[[Node], None]) -> None:
        self.graph, self.orig_insert = graph, graph._insert
        graph._insert = new_insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, type: Any, value: Any, tb: Any) -> None:
        self.graph._insert = self.orig_insert


class _FindNodesLookupTable:
    """The nodes by op, and for functions, methods and modules by target."""

    def __init__(self) -> None:
        self.table: dict[Any, dict[Node, None]] = {}

    def _key(self, node: Node) -> Any:
        return node.op, node.target if node.op == "call_function" else None

    def __contains__(self, node: Node) -> bool:
        return node in self.table.get(self._key(node), ())

    def insert(self, node: Node) -> None:
        self.table.setdefault(self._key(node), {})[node] = None

    def remove(self, node: Node) -> None:
        self.table.get(self._key(node), {}).pop(node, None)

    def find_nodes(self, *, op: str, target: Any = None) -> list[Node]:
        if op == "call_function":
            if target is None:
                raise AssertionError("target must not be None for call_function op")
            return [*self.table.get((op, target), ())]
        nodes = [*self.table.get((op, None), ())]
        return nodes if target is None else [n for n in nodes if n.target == target]


@compatibility(is_backward_compatible=True)
class Graph(metaclass=Shown):
    """What a program computes: a list of nodes, from placeholders to the output.

    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(torch.relu, (x,)))
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    """

    def __init__(
        self, owning_module: GraphModule | None = None, tracer_cls: Any = None, tracer_extras: Any = None
    ) -> None:
        self._root: Node = Node(self, "", "root", "", (), {})
        self._used_names: dict[str, int] = {}
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()
        self._co_fields: dict[str, Any] = {}
        self._find_nodes_lookup_table = _FindNodesLookupTable()

    # ---- nodes -------------------------------------------------------------------------------------------------------
    @property
    def owning_module(self) -> Any:
        """The GraphModule whose forward this is."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: Any) -> None:
        self._owning_module = mod

    @property
    def nodes(self) -> Any:
        """The nodes in order; len() and reversed() work, and so does changing the graph meanwhile."""
        return _node_list(self)

    def _moved(self, node: Node) -> None:
        self.__dict__["_numbered"] = False

    def _number(self) -> None:
        """Gives nodes numbers in their order, for comparisons."""
        if not self.__dict__.get("_numbered"):
            for i, node in enumerate(self.nodes):
                node.__dict__["_place"] = i
            self._root.__dict__["_place"] = -1
            self.__dict__["_numbered"] = True

    def output_node(self) -> Node:
        """The last node, which is the output."""
        node = next(iter(reversed(self.nodes)))
        if node.op != "output":
            raise AssertionError("Expected output node, got op=%s" % node.op)
        return node

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of an op, and of a target, without a search through all."""
        nodes = self._find_nodes_lookup_table.find_nodes(op=op, target=target)
        return sorted(nodes) if sort else nodes

    def create_node(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Puts a new node at the insert point. Its name is `name`, or one like the target's."""
        if op not in _legal_ops:
            raise AssertionError("op '%s' is not in _legal_ops" % op)
        args = () if args is None else args
        kwargs = {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError("args must be a tuple, got %s" % type(args))
        if not isinstance(kwargs, dict):
            raise AssertionError("kwargs must be a dict, got %s" % type(kwargs))
        name = self._graph_namespace.create_name(name if name is not None else self._target_to_str(target))
        node = Node(self, name, op, target, args, kwargs, type_expr)
        for hook in self._hooks("_create_node_hooks"):
            hook(node)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._find_nodes_lookup_table.insert(node)
        self._len += 1
        return node

    def _hooks(self, name: str) -> Any:
        return getattr(self._owning_module, name, None) or ()

    def _target_to_str(self, target: Any) -> str:
        name = short_name(target) if callable(target) else target
        if not isinstance(name, str):
            raise AssertionError("Expected target to be str, got %s" % type(name))
        return _snake_case(name[2:-2] if _is_magic(name) else name)

    def erase_node(self, to_erase: Node) -> None:
        """Takes a node without users out."""
        if len(to_erase.users) > 0:
            raise RuntimeError(
                "Tried to erase Node %s but it still had %d users in the graph: %s!"
                % (to_erase, len(to_erase.users), to_erase.users)
            )
        if to_erase.graph is not self:
            raise RuntimeError("Attempting to remove %s from wrong graph!" % to_erase)
        if to_erase._erased:
            warnings.warn("erase_node(%s) on an already erased node" % to_erase, stacklevel=2)
            return
        for hook in self._hooks("_erase_node_hooks"):
            hook(to_erase)
        self._find_nodes_lookup_table.remove(to_erase)
        before, after = to_erase._prev, to_erase._next  # an iterator that stands here goes on from it
        to_erase._unlink()
        to_erase.__dict__.update(_erased=True, _prev=before, _next=after)
        self._len -= 1
        to_erase._set_arguments((), {})

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """New nodes go in front of `n` (of all), for a `with` block or from now on."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """New nodes go behind `n` (behind all), for a `with` block or from now on."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return _InsertPoint(self, n.append)

    # ---- nodes of each kind ------------------------------------------------------------------------------------------
    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = _EMPTY) -> Node:
        """An input."""
        args = () if default_value is _EMPTY or isinstance(default_value, type) else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """The value of a parameter, buffer or other attribute of the module, by its path."""
        if self.owning_module and not _refers(self.owning_module, qualified_name):
            warnings.warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the "
                "necessary Parameter, or nn.Module.register_buffer to add the necessary buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """A call of a submodule."""
        if self.owning_module and self.owning_module.get_submodule(module_name) is None:
            warnings.warn(
                "Attempted to insert a call_module Node with no underlying reference in the owning GraphModule! Call "
                "GraphModule.add_submodule to add the necessary submodule",
                stacklevel=2,
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """What the graph returns."""
        return self.create_node(op="output", target="output", args=(result,), type_expr=type_expr)

    # ---- copies ------------------------------------------------------------------------------------------------------
    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """A copy of another graph's node; arg_transform gives this graph's nodes for its arguments."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        if not isinstance(args, tuple):
            raise AssertionError("Expected args to be tuple, got %s" % type(args))
        if not isinstance(kwargs, dict):
            raise AssertionError("Expected kwargs to be dict, got %s" % type(kwargs))
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Any], return_output_node: bool = False) -> Any:
        """Copies the nodes of another graph that val_map has not; gives what its output returns, if it has one."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], lambda n: val_map[n])
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        memo = memo if memo is not None else {}
        made = Graph(tracer_cls=self._tracer_cls)
        nodes: dict[Node, Node] = {}
        copied: Any = made.graph_copy(self, val_map=nodes, return_output_node=True)
        made._codegen = copy.deepcopy(self._codegen)
        if copied is not None:
            value, old = copied
            output = made.output(value, type_expr=getattr(old, "type", None))
            output.meta = copy.copy(old.meta)
        memo.update({id(old): new for old, new in nodes.items()})
        return made

    def _clear_nodes(self) -> None:
        for node in reversed(self.nodes):
            node.meta.clear()
            self.erase_node(node)

    # ---- pickling: the links between nodes as one list ---------------------------------------------------------------
    def __getstate__(self) -> dict[str, Any]:
        state = {k: v for k, v in self.__dict__.items() if k not in ("_insert", "_find_nodes_lookup_table", "_root")}
        state["_nodes"] = [(n.name, n.op, n.target, n._args, n._kwargs, n.type, n.meta, n) for n in self.nodes]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        nodes = state.pop("_nodes")
        self.__dict__.update(state)
        self._root = Node(self, "", "root", "", (), {})
        self._insert = self._root.prepend
        self._find_nodes_lookup_table = _FindNodesLookupTable()
        for name, op, target, _, _, kind, meta, node in nodes:
            node.__dict__.update(graph=self, name=name, op=op, target=target, type=kind, meta=meta, users={})
            node.__dict__.update(_args=(), _kwargs={}, _input_nodes={}, _erased=False, _repr_fn=None)
            node.__dict__["_prev"] = node.__dict__["_next"] = node
            self._root.prepend(node)
            self._find_nodes_lookup_table.insert(node)
        for _, _, _, args, kwargs, _, _, node in nodes:
            node._set_arguments(args, kwargs)

    # ---- code and text -----------------------------------------------------------------------------------------------
    def process_inputs(self, *args: Any) -> Any:
        """The values of the placeholders, from the arguments of the function that the graph stands for."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """What that function returns, from the value of the output."""
        return self._codegen.process_outputs(out)

    def python_code(
        self,
        root_module: str,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        expanded_def: bool = False,
        record_func: bool = False,
        additional_meta: list[str] | None = None,
    ) -> PythonCode:
        """A function in Python that does what the graph does; root_module is the name of the module in it."""
        namespace = _Namespace()
        saved = {node: node._repr_fn for node in self.nodes}
        try:
            for node in saved:
                node._repr_fn = lambda n: namespace.create_name(n.name, n)
            return self._python_code(
                root_module,
                namespace,
                verbose=verbose,
                include_stride=include_stride,
                include_device=include_device,
                colored=colored,
                expanded_def=expanded_def,
                record_func=record_func,
                additional_meta=additional_meta,
            )
        finally:
            for node, old in saved.items():
                node._repr_fn = old

    def _python_code(self, root_module: str, namespace: _Namespace, **options: Any) -> PythonCode:
        return self._codegen._gen_python_code(self.nodes, root_module, namespace, **options)

    def __str__(self) -> str:
        return "graph():" + "".join("\n    %s" % node.format_node() for node in self.nodes)

    def print_tabular(self) -> None:
        """Prints a table of the nodes; needs the package tabulate."""
        try:
            from tabulate import tabulate
        except ImportError:
            print(
                "`print_tabular` relies on the library `tabulate`, which could not be found on this machine. Run "
                "`pip install tabulate` to install the library."
            )
            raise
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))

    def set_codegen(self, codegen: CodeGen) -> None:
        """Lets another object write the code."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[[Any], Any]) -> Any:
        """Registers a function from lines of code to lines of code; make_transformer gets the one before it.
        As a context manager it ends with the block."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def until_the_end() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return until_the_end()

    # ---- checks ------------------------------------------------------------------------------------------------------
    def lint(self) -> None:
        """Raises where the graph is malformed: nodes used before they are made, names twice, targets that are not."""
        from ._lint import lint

        lint(self)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erases nodes that nobody uses and that have no side effects; says whether there were any."""
        self.lint()
        impure = Node.is_impure if is_impure_node is None else is_impure_node
        before = self._len
        for node in reversed(self.nodes):
            if len(node.users) == 0 and not impure(node):
                self.erase_node(node)
        return self._len != before


def _refers(module: Any, qualified_name: str) -> bool:
    """Whether a path names a parameter, buffer, submodule or attribute of a module."""
    path, _, name = qualified_name.rpartition(".")
    try:
        owner: Any = module.get_submodule(path)
    except AttributeError:
        warnings.warn("Failed to fetch module %s!" % path, stacklevel=3)
        return False
    import torchlite as torch

    if not hasattr(owner, name):
        return False
    found = getattr(owner, name)
    return isinstance(found, (torch.nn.Module, torch.Tensor)) or name in owner._buffers or found is not None
