"""Node: one step of a Graph, linked to the steps before and after it and to those whose values it uses."""

from __future__ import annotations

import math
import operator
from typing import Any

import torchlite as torch

from ._classes import Shown
from ._compatibility import compatibility
from ._names import find_module_of_method as _find_module_of_method  # noqa: F401
from ._names import get_qualified_name as _get_qualified_name
from ._names import type_repr as _type_repr
from .immutable_collections import immutable_dict, immutable_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from .graph import Graph

__all__ = ["Node", "map_arg", "map_aggregate", "has_side_effect"]

BaseArgumentTypes = Any
Target = Argument = Any
base_types = (
    str,
    int,
    float,
    bool,
    complex,
    torch.dtype,
    torch.Tensor,
    torch.device,
    torch.memory_format,
    torch.layout,
)
_legal_ops = dict.fromkeys(["placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"])
_side_effectful_functions: set[Any] = {operator.setitem}
_side_effectful_functions |= {torch._assert, torch._assert_async}  # type: ignore[attr-defined]


def _is_random(target: Any) -> bool:
    """Whether an op of torch.ops draws random numbers."""
    from .._ops import OpOverload, OpOverloadPacket

    if isinstance(target, OpOverloadPacket):
        return any(_is_random(getattr(target, name)) for name in target.overloads())
    return isinstance(target, OpOverload) and "nondeterministic_seeded" in [tag.name for tag in target.tags]


@compatibility(is_backward_compatible=False)
def has_side_effect(fn: Any) -> Any:
    """Says that calls of a function stay in a graph though nobody uses their values."""
    _side_effectful_functions.add(fn)
    return fn


def _format_arg(arg: Any, max_list_len: float = math.inf) -> str:
    if hasattr(arg, "_custom_fx_repr_fn"):
        return arg._custom_fx_repr_fn()
    if isinstance(arg, (list, tuple)):
        items = ", ".join(_format_arg(a) for i, a in enumerate(arg) if i < max_list_len)
        more = "" if len(arg) < max_list_len + 1 else ", ...[total_len=%d]" % len(arg)
        if isinstance(arg, list):
            return "[%s%s]" % (items, more)
        return "(%s%s%s)" % (items, "," if len(arg) == 1 else "", more)
    if isinstance(arg, dict):
        return "{%s}" % ", ".join("%s: %s" % (k, _format_arg(v)) for k, v in arg.items())
    return "%" + str(arg) if isinstance(arg, Node) else str(arg)


def _made_like(kind: type, values: list[Any]) -> Any:
    """A tuple of a class with these values; named tuples take them one by one."""
    return kind(*values) if hasattr(kind, "_fields") else tuple(values)


@compatibility(is_backward_compatible=True)
def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """fn of each leaf of nested tuples, lists, dicts and slices; lists and dicts become immutable ones."""
    if isinstance(a, tuple):
        return _made_like(type(a), [map_aggregate(x, fn) for x in a])
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict([(k, map_aggregate(v, fn)) for k, v in a.items()])
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


@compatibility(is_backward_compatible=True)
def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """map_aggregate over the nodes; other leaves stay."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


@compatibility(is_backward_compatible=True)
class Node(metaclass=Shown):
    """One step of a Graph.

    op says what it does: `placeholder` is an input, `get_attr` fetches a parameter or buffer, `call_function`,
    `call_method` and `call_module` call `target` with `args` and `kwargs`, `output` is what the graph returns.
    The nodes that use its value are in `users`, in order.
    """

    _args: tuple[Any, ...]
    _kwargs: dict[str, Any]
    graph: Graph
    name: str
    op: str
    target: Any
    _input_nodes: dict[Node, None]
    users: dict[Node, None]
    type: Any
    meta: dict[str, Any]
    _prev: Node
    _next: Node
    _erased: bool
    _repr_fn: Any

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        return_type: Any = None,
    ) -> None:
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    "Node [graph = %s, name = '%s'] target %s has type %s but a Callable is expected"
                    % (graph, name, target, torch.typename(target))
                )
        elif op not in _legal_ops:
            raise AssertionError("op '%s' is not in _legal_ops" % (op,))
        elif not isinstance(target, str):
            raise ValueError(
                "Node [graph = %s, name = '%s'] target %s has type %s but a str is expected"
                % (graph, name, target, torch.typename(target))
            )
        self.__dict__.update(
            graph=graph,
            name=name,
            op=op,
            target=target,
            users={},
            type=return_type,
            meta={},
            _args=(),
            _kwargs={},
            _input_nodes={},
            _erased=False,
            _repr_fn=None,
        )
        self.__dict__["_prev"] = self.__dict__["_next"] = self
        self._set_arguments(tuple(args), kwargs)

    # ---- place in the graph ------------------------------------------------------------------------------------------
    @property
    def next(self) -> Node:
        """The node after this one; after the last comes the graph's root."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def _unlink(self) -> None:
        before, after = self.__dict__["_prev"], self.__dict__["_next"]
        before.__dict__["_next"], after.__dict__["_prev"] = after, before

    def prepend(self, x: Node) -> None:
        """Moves x (or puts it) in front of this node."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._unlink()
        before = self.__dict__["_prev"]
        before.__dict__["_next"] = self.__dict__["_prev"] = x
        x.__dict__["_prev"], x.__dict__["_next"] = before, self
        self.graph._moved(x)

    def append(self, x: Node) -> None:
        """Moves x (or puts it) behind this node."""
        self._next.prepend(x)

    @property
    def _sort_key(self) -> int:
        self.graph._number()
        return self.__dict__["_place"]

    def __lt__(self, other: Node) -> bool:
        return self._sort_key < other._sort_key

    def __gt__(self, other: Node) -> bool:
        return self._sort_key > other._sort_key

    def __le__(self, other: Node) -> bool:
        return self._sort_key <= other._sort_key

    def __ge__(self, other: Node) -> bool:
        return self._sort_key >= other._sort_key

    def _remove_from_list(self) -> None:
        self._unlink()
        self.__dict__["_prev"] = self.__dict__["_next"] = self

    # ---- arguments ---------------------------------------------------------------------------------------------------
    def _set_arguments(self, args: Any, kwargs: Any) -> None:
        for old in self._input_nodes:
            old.users.pop(self, None)
        inputs: dict[Node, None] = {}

        def seen(x: Any) -> Any:
            if isinstance(x, Node):
                inputs.setdefault(x)
                x.users.setdefault(self)
            return x

        self.__dict__["_args"] = map_aggregate(args, seen)
        self.__dict__["_kwargs"] = map_aggregate(kwargs, seen)
        self.__dict__["_input_nodes"] = inputs

    def _update_args_kwargs(self, args: Any, kwargs: Any) -> None:
        self._set_arguments(args, kwargs)

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments; to assign new ones keeps all users right."""
        return self._args

    @args.setter
    def args(self, a: tuple[Any, ...]) -> None:
        self._set_arguments(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Any]) -> None:
        self._set_arguments(self._args, k)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes whose values this one uses, each once, in order."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replaces a positional argument."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Puts a positional argument before the one at `idx`."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args), got %s" % idx)
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Sets a keyword argument."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Uses another node's value wherever this one used that of `old_input`."""
        self._tell_replaced(old_input, new_input, self)
        self._exchange(old_input, new_input)

    def _exchange(self, old: Node, new: Any) -> None:
        args, kwargs = map_arg((self._args, self._kwargs), lambda n: new if n is old else n)
        self._set_arguments(args, kwargs)

    def _tell_replaced(self, old: Node, new: Any, user: Node) -> None:
        for hook in getattr(self.graph.owning_module, "_replace_hooks", ()) or ():
            hook(old=old, new=new.name, user=user)

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Lets all users (that delete_user_cb accepts) use another node's value; gives these users."""
        if propagate_meta:
            if len(replace_with.meta) != 0:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), "
                    "but replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        done = [user for user in [*self.users] if delete_user_cb is None or delete_user_cb(user)]
        for user in done:
            self._tell_replaced(self, replace_with, user)
            user._exchange(self, replace_with)
        return done

    # ---- what it is --------------------------------------------------------------------------------------------------
    @property
    def stack_trace(self) -> str | None:
        """Where the traced program made the node, if the tracer recorded that."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node must stay though nobody uses its value: inputs, outputs, and what has side effects."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            target = self.target
            schema = getattr(target, "_schema", None)
            if schema is not None and schema.is_mutable:
                return True
            if impure_random and _is_random(target):
                return True
            return target in _side_effectful_functions
        if self.op == "call_module":
            if self.graph.owning_module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            module = self.graph.owning_module.get_submodule(self.target)
            if module is None:
                raise AssertionError("Did not find expected submodule target %s" % self.target)
            return getattr(module, "_is_impure", False)
        return False

    def normalized_arguments(
        self,
        root: Any,
        arg_types: Any = None,
        kwarg_types: Any = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """The arguments as keywords (those that have names), with defaults; None where the signature is unknown."""
        from .operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            return normalize_function(self.target, self.args, self.kwargs, arg_types, kwarg_types)
        if self.op == "call_module":
            return normalize_module(root, self.target, self.args, self.kwargs)
        return None

    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            space = self.graph._graph_namespace
            self.name = space.create_name(candidate, None)
            space._rename_object(self, self.name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "name" and "name" in self.__dict__:
            for hook in getattr(self.graph.owning_module, "_replace_hooks", ()) or ():
                for user in self.users:
                    hook(old=self, new=value, user=user)
        # the graph finds nodes by these; a root is made before the graph's table
        table = getattr(self.graph, "_find_nodes_lookup_table", None) if name in ("op", "target") else None
        if table is None or self not in table:
            object.__setattr__(self, name, value)
            return
        table.remove(self)
        object.__setattr__(self, name, value)
        table.insert(self)

    # ---- text --------------------------------------------------------------------------------------------------------
    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    @staticmethod
    def _pretty_print_target(target: Any) -> str:
        if isinstance(target, str):
            return target
        if getattr(target, "__module__", None) is not None:
            name = getattr(target, "__name__", None)
            if name is None:
                return _get_qualified_name(target)
            if target.__module__ == "builtins":
                return "builtins." + name
            if target.__module__ == "_operator":
                return "operator." + name
        return _get_qualified_name(target)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """The line of this node in a printed graph."""
        kind = "%s " % _type_repr(self.type) if self.type else ""
        if include_tensor_metadata and not kind and self.op not in ("placeholder", "get_attr", "output"):
            value = self.meta.get("val")
            if isinstance(value, torch.Tensor):
                from ._codegen import dtype_abbrs

                sizes = "%s%s%s" % (list(value.shape), list(value.stride()), value.device)
                kind = 'Tensor "%s%s"' % (dtype_abbrs[value.dtype], sizes)
        head = "%%%s : %s[num_users=%d] = %s" % (self.name, kind, len(self.users), self.op)
        if self.op == "placeholder":
            if placeholder_names:
                placeholder_names.append(self.target + (": " + _type_repr(self.type) if self.type else ""))
                return None
            default = "(default=%s)" % (self.args[0],) if self.args else ""
            return "%s[target=%s]%s" % (head, self.target, default)
        if self.op == "get_attr":
            return "%s[target=%s]" % (head, self._pretty_print_target(self.target))
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = " -> " + _type_repr(self.type)
            return "return %s" % (self.args[0],)
        return "%s[target=%s](args = %s, kwargs = %s)" % (
            head,
            self._pretty_print_target(self.target),
            _format_arg(self.args),
            _format_arg(self.kwargs),
        )

    # ---- copies and pickles: with the graph, which knows its nodes ---------------------------------------------------
    def __getstate__(self) -> dict[str, Any]:
        return {"graph": self.graph}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        import copy

        copy.deepcopy(self.graph, memo)
        return memo.get(id(self), self)
