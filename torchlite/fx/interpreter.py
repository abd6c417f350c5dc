"""Interpreter runs a graph node by node; Transformer makes a new graph that way."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any

import torchlite as torch

from . import traceback as fx_traceback
from ._compatibility import compatibility
from ._lazy_graph_module import _make_graph_module
from ._symbolic_trace import Tracer
from .graph import Graph
from .node import Node, map_aggregate, map_arg
from .proxy import Proxy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Interpreter", "Transformer"]


def _format_fx_node(n: Node) -> str:
    return str(n.format_node())


@compatibility(is_backward_compatible=True)
class Interpreter:
    """Runs a graph. Override run_node, or the method of an op (call_function, call_module, placeholder, ...), to do
    something else for each node: all get the node's target and the values of its arguments."""

    def __init__(self, module: Any, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Any = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        if garbage_collect_values:
            seen: set[Node] = set()
            self.user_to_last_uses: dict[Node, list[Node]] = {}
            for node in reversed(self.graph.nodes):
                for used in node._input_nodes:
                    if used not in seen:
                        seen.add(used)
                        self.user_to_last_uses.setdefault(node, []).append(used)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """The output of the graph for these arguments. initial_env gives values of nodes, which then are not run."""
        self.env = initial_env if initial_env is not None else {}
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter: Iterator[Any] = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as e:
                if self.extra_traceback:
                    _explain(e, node)
                raise
            if self.garbage_collect_values:
                for used in self.user_to_last_uses.get(node, ()):
                    del self.env[used]
            if node.op == "output":
                value = self.env[node]
                return self.graph.process_outputs(value) if enable_io_processing else value
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """run of a list of arguments, which is emptied, so that nothing keeps them."""
        inputs = self.graph.find_nodes(op="placeholder")
        if len(inputs) != len(args_list):
            raise RuntimeError(
                "Interpreter.boxed_run expected %d arguments for placeholders but received %d (%s arguments)"
                % (len(inputs), len(args_list), "extra" if len(args_list) > len(inputs) else "missing")
            )
        env: dict[Node, Any] = dict(zip(inputs, args_list))
        args_list.clear()
        return self.run(initial_env=env)

    @contextlib.contextmanager
    def _set_current_node(self, node: Node) -> Iterator[None]:
        with fx_traceback.set_current_meta(node, "Interpreter_%s" % self.__class__.__name__):
            yield

    def run_node(self, n: Node) -> Any:
        """The value of a node, from those of its arguments."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The next argument of run; all that are left for *args."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if len(args) > 0:
                return args[0]
            raise RuntimeError(
                "Expected positional argument for parameter %s, but one was not passed in!" % target
            ) from None

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The value of a function."""
        if isinstance(target, str):
            raise AssertionError("Expected target to be callable, got string: %s" % target)
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The value of a method."""
        this, *rest = args
        if not isinstance(target, str):
            raise AssertionError("Expected target to be string, got %s" % type(target))
        return getattr(this, target)(*rest, **kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The value of a submodule."""
        if not isinstance(target, str):
            raise AssertionError("Expected target to be string, got %s" % type(target))
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What run returns."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """An attribute of the module by its path."""
        at = self.module
        atoms = target.split(".")
        for i, atom in enumerate(atoms):
            if not hasattr(at, atom):
                raise RuntimeError("Node referenced nonexistent target %s" % ".".join(atoms[: i + 1]))
            at = getattr(at, atom)
        return at

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The values of a node's arguments."""
        args = self.map_nodes_to_values(n.args, n)
        kwargs = self.map_nodes_to_values(n.kwargs, n)
        if not isinstance(args, tuple):
            raise AssertionError("Expected args to be tuple, got %s" % type(args))
        if not isinstance(kwargs, dict):
            raise AssertionError("Expected kwargs to be dict, got %s" % type(kwargs))
        return args, kwargs

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Nested containers with the values of nodes in the place of nodes."""

        def load(used: Node) -> Any:
            if used not in self.env:
                raise RuntimeError(
                    "Node %s referenced nonexistent value %s! Run Graph.lint() to diagnose such issues" % (n, used)
                )
            return self.env[used]

        return map_arg(args, load)


def _explain(e: Exception, node: Node) -> None:
    """Adds the node to the error's text."""
    text = "While executing %s" % _format_fx_node(node)
    text = "%s\n\n%s" % (e.args[0], text) if e.args else str(text)
    text += "\nOriginal traceback:\n%s" % node.stack_trace
    text += (
        "\nUse tlparse to see full graph. (https://github.com/pytorch/tlparse?tab=readme-ov-file"
        "#tlparse-parse-structured-pt2-logs)"
    )
    if isinstance(e, KeyError):
        raise RuntimeError(*(text, *e.args[1:])) from e
    e.args = (text, *e.args[1:])


@compatibility(is_backward_compatible=True)
class Transformer(Interpreter):
    """An Interpreter whose values are Proxies: override its methods, and transform() gives the new GraphModule."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            """Makes nodes of the new graph; all modules stay calls."""

            def __init__(self, graph: Graph) -> None:
                super().__init__()
                self.graph = graph
                self.tensor_attrs: dict[torch.Tensor, str] = {}

            def is_leaf_module(self, _: Any, __: str) -> bool:
                return True

        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        default = next(iter(args)) if args else inspect.Signature.empty
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not isinstance(target, str):
            raise AssertionError("Expected target to be string, got %s" % type(target))
        submodule = self.fetch_attr(target)
        return self.tracer.call_module(submodule, submodule.forward, args, kwargs)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not callable(target):
            raise AssertionError("Expected target to be callable, got %s" % type(target))
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> Any:
        """The new module."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            value = map_aggregate(result, lambda a: a.node if isinstance(a, Proxy) else a)
            output = self.new_graph.output(value)
            old = next(reversed(self.graph.nodes), None)
            if old is not None and old.op == "output":
                output.meta.update(old.meta)
        return _make_graph_module(self.module, self.new_graph)
